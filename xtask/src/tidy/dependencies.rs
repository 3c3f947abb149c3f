//! Every dependency has a line that gives its reason.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::finding::Finding;
use crate::repo::Repo;

const REASONS: &str = "docs/dependencies.md";

/// Checks that each external crate has a row in a table of `docs/dependencies.md`.
pub(super) fn check(repo: &Repo, metadata: &Value) -> Vec<Finding> {
    let reasons = repo.read(REASONS).unwrap_or_default();
    let manifest = repo.read("Cargo.toml").unwrap_or_default();
    let mut names = used_by_members(metadata);
    names.extend(listed_in_workspace(&manifest));
    let missing = names.into_iter().filter(|name| !has_row(&reasons, name));
    let finding = |name: String| Finding {
        path: REASONS.to_owned(),
        line: None,
        message: format!("`{name}` has no row; say what it is needed for"),
    };
    missing.map(finding).collect()
}

/// Returns the external crates of all members and all kinds; our own have no source.
fn used_by_members(metadata: &Value) -> BTreeSet<String> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let dependencies = packages.filter_map(|p| p["dependencies"].as_array()).flatten();
    let outside = dependencies.filter(|dependency| !dependency["source"].is_null());
    outside.filter_map(|dependency| dependency["name"].as_str()).map(str::to_owned).collect()
}

/// Returns the crates in `[workspace.dependencies]` of the root manifest, without our own.
fn listed_in_workspace(manifest: &str) -> BTreeSet<String> {
    let section = manifest.lines().skip_while(|line| line.trim() != "[workspace.dependencies]");
    let entries = section.skip(1).take_while(|line| !line.starts_with('['));
    let outside = entries.filter(|line| !line.contains("path = "));
    let names = outside.filter_map(|line| line.split_once('=')).map(|(name, _)| name.trim());
    names.filter(|name| !name.is_empty() && !name.starts_with('#')).map(str::to_owned).collect()
}

/// Returns whether a table row of the page names the crate.
fn has_row(page: &str, name: &str) -> bool {
    let continues = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let rows = page.lines().filter(|line| line.trim_start().starts_with('|'));
    rows.flat_map(|row| row.split(|c| !continues(c))).any(|word| word == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_row_must_name_the_crate_exactly() {
        let page =
            "serde_json is nice\n| JSON | `serde-saphyr` | why |\n| rand_core 0.10 | why |\n";
        assert!(has_row(page, "serde-saphyr"));
        assert!(has_row(page, "rand_core"));
        assert!(!has_row(page, "serde"));
        assert!(!has_row(page, "serde_json"));
    }

    #[test]
    fn the_workspace_list_ends_with_its_section() {
        let manifest = "[workspace.dependencies]\nours = { path = \"a\" }\n\nlibm = \"0.2\"\n\
                        # note = 1\nserde = { version = \"1\" }\n[workspace.lints.rust]\nx = 1\n";
        let names: Vec<String> = listed_in_workspace(manifest).into_iter().collect();
        assert_eq!(names, ["libm", "serde"]);
    }

    #[test]
    fn our_own_crates_need_no_reason() {
        let metadata = json!({"packages": [{"dependencies": [
            {"name": "rtether-model", "source": null},
            {"name": "libm", "source": "registry+somewhere"},
        ]}]});
        assert_eq!(used_by_members(&metadata).into_iter().collect::<Vec<_>>(), ["libm"]);
    }
}
