//! Which crate may use which: an allow-list, so that a new edge is a decision and not an accident.
//!
//! Edges between our crates are checked for all kinds of dependency, since a bound and its check
//! must not share code in tests either. External crates are checked only for normal and build
//! dependencies.

use serde_json::Value;

use crate::finding::Finding;

/// External crates that a crate may use.
enum Outside {
    /// All that have a reason in `docs/dependencies.md`.
    WithReason,
    /// These and no other.
    Only(&'static [&'static str]),
}

/// What one crate may use.
struct Room {
    name: &'static str,
    ours: &'static [&'static str],
    outside: Outside,
}

/// What tests share; no crate may be built with it.
const KIT: &str = "rtether-testkit";

/// The arrows of `ARCHITECTURE.md`. A new crate needs a line here and a decision record.
const ROOMS: &[Room] = &[
    Room { name: "rtether-model", ours: &[], outside: Outside::Only(&[]) },
    Room {
        name: "rtether-proto",
        ours: &["rtether-model"],
        outside: Outside::Only(&["libm", "thiserror"]),
    },
    Room {
        name: "rtether-rtps",
        ours: &["rtether-rtps-derive"],
        outside: Outside::Only(&["md-5", "thiserror"]),
    },
    Room {
        name: "rtether-rtps-derive",
        ours: &[],
        outside: Outside::Only(&["proc-macro2", "quote", "syn"]),
    },
    Room { name: "rtether-bounds", ours: &["rtether-model"], outside: Outside::Only(&[]) },
    Room {
        name: "rtether-sim",
        ours: &["rtether-model", "rtether-proto", "rtether-rtps"],
        outside: Outside::Only(&["etherparse", "libm", "rand_core", "rand_xoshiro", "thiserror"]),
    },
    Room {
        name: "rtether-live",
        ours: &["rtether-model", "rtether-proto", "rtether-rtps", "rtether-sim"],
        outside: Outside::WithReason,
    },
    Room {
        name: "rtether-scenario",
        ours: &["rtether-model", "rtether-proto"],
        outside: Outside::WithReason,
    },
    Room {
        name: "rtether-import",
        ours: &["rtether-model"],
        outside: Outside::Only(&["csv", "flate2", "roxmltree", "serde_json", "thiserror"]),
    },
    Room { name: "rtether-report", ours: &["rtether-model"], outside: Outside::WithReason },
    Room {
        name: "rtether",
        ours: &[
            "rtether-bounds",
            "rtether-import",
            "rtether-model",
            "rtether-proto",
            "rtether-report",
            "rtether-scenario",
            "rtether-sim",
        ],
        outside: Outside::WithReason,
    },
    Room {
        name: "rtether-testbed",
        ours: &[
            "rtether",
            "rtether-live",
            "rtether-model",
            "rtether-proto",
            "rtether-rtps",
            "rtether-sim",
        ],
        outside: Outside::WithReason,
    },
    Room {
        name: "rtether-papers",
        ours: &[
            "rtether",
            "rtether-bounds",
            "rtether-live",
            "rtether-model",
            "rtether-proto",
            "rtether-sim",
            "rtether-testbed",
        ],
        outside: Outside::WithReason,
    },
    Room {
        name: "rtether-cli",
        // The last for tests: both answer alike.
        ours: &["rtether", "rtether-papers", "rtether-testbed", "rtether-wasm"],
        outside: Outside::WithReason,
    },
    Room {
        name: "rtether-wasm",
        ours: &["rtether"],
        outside: Outside::Only(&["lzma-rust2", "serde_json"]),
    },
    Room {
        name: "rtether-python",
        ours: &["rtether", "rtether-cli", "rtether-testbed"],
        outside: Outside::WithReason,
    },
    Room { name: KIT, ours: &[], outside: Outside::Only(&["jsonschema", "serde_json"]) },
    Room {
        name: "xtask",
        ours: &[],
        outside: Outside::Only(&[
            "anyhow",
            "cbindgen",
            "csv",
            "ctrlc",
            "pulldown-cmark",
            "serde_json",
        ]),
    },
];

/// Compares the edges in `cargo metadata` with the allow-list.
pub(super) fn check(metadata: &Value) -> Vec<Finding> {
    let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    let members: Vec<&str> = packages.iter().filter_map(|p| p["name"].as_str()).collect();
    let mut findings = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let Some(room) = ROOMS.iter().find(|room| room.name == name) else {
            findings.push(finding(name, "is not in the list of crates; a new crate needs a decision record and a line in `xtask/src/tidy/edges.rs`"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let used = dependency["name"].as_str().unwrap_or_default();
            if !room.may_use(used, dependency["kind"].as_str(), &members) {
                findings.push(finding(
                    name,
                    &format!(
                        "may not use `{used}`; the allowed edges are in `xtask/src/tidy/edges.rs`"
                    ),
                ));
            }
        }
    }
    findings
}

impl Room {
    fn may_use(&self, used: &str, kind: Option<&str>, members: &[&str]) -> bool {
        if used == KIT {
            return kind == Some("dev");
        }
        if members.contains(&used) {
            return self.ours.contains(&used);
        }
        match self.outside {
            Outside::WithReason => true,
            Outside::Only(list) => kind == Some("dev") || list.contains(&used),
        }
    }
}

fn finding(package: &str, what: &str) -> Finding {
    Finding { path: "Cargo.toml".to_owned(), line: None, message: format!("`{package}` {what}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn workspace(package: &str, used: &str, kind: Option<&str>) -> Value {
        json!({"packages": [
            {"name": package, "dependencies": [{"name": used, "kind": kind}]},
            {"name": "rtether-model", "dependencies": []},
            {"name": "rtether", "dependencies": []},
        ]})
    }

    #[test]
    fn an_edge_in_the_list_passes() {
        assert_eq!(check(&workspace("rtether-sim", "rtether-model", None)), []);
        assert_eq!(check(&workspace("rtether-sim", "libm", None)), []);
        assert_eq!(check(&workspace("rtether-cli", "clap", None)), []);
    }

    #[test]
    fn an_edge_outside_the_list_is_found() {
        let found = check(&workspace("rtether-sim", "rtether", None));
        assert_eq!(found.len(), 1);
        assert!(found[0].message.contains("`rtether-sim` may not use `rtether`"));
        assert_eq!(check(&workspace("rtether-sim", "clap", None)).len(), 1);
    }

    #[test]
    fn a_test_may_use_an_outside_crate_but_not_another_room() {
        assert_eq!(check(&workspace("rtether-sim", "proptest", Some("dev"))), []);
        assert_eq!(check(&workspace("rtether-sim", "rtether", Some("dev"))).len(), 1);
        assert_eq!(check(&workspace("rtether-sim", "cc", Some("build"))).len(), 1);
    }

    #[test]
    fn the_test_kit_is_for_tests() {
        assert_eq!(check(&workspace("rtether-sim", KIT, Some("dev"))), []);
        assert_eq!(check(&workspace("rtether-sim", KIT, None)).len(), 1);
    }

    #[test]
    fn an_unknown_crate_is_found() {
        let found = check(&workspace("rtether-utils", "libm", None));
        assert!(found[0].message.contains("decision record"));
    }
}
