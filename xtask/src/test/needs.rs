//! Programs of the system that some tests need: found, installed, or asked for.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::repo::{Repo, TextFile};

/// A program that tests call.
struct Tool {
    /// Names under which it may be installed.
    names: &'static [&'static str],
    /// Tests find its path in this variable, and skip themselves if it is not set.
    variable: &'static str,
    packages: &'static [&'static str],
    /// What it is needed for.
    purpose: &'static str,
}

const TOOLS: &[Tool] = &[
    Tool {
        names: &["chromium", "chromium-browser", "google-chrome"],
        variable: "RTETHER_CHROMIUM",
        packages: &["chromium", "fonts-liberation"],
        purpose: "to look at the report in a browser",
    },
    Tool {
        names: &["tshark"],
        variable: "RTETHER_TSHARK",
        packages: &["tshark"],
        purpose: "to read captures with another decoder",
    },
    Tool {
        names: &["ip"],
        variable: "RTETHER_IP",
        packages: &["iproute2"],
        purpose: "to make hosts on this machine, as root",
    },
    Tool {
        names: &["idlc"],
        variable: "RTETHER_IDLC",
        packages: &[
            "g++",
            "cyclonedds-dev",
            "cyclonedds-tools",
            "libfastrtps-dev",
            "libfastcdr-dev",
        ],
        purpose: "to exchange samples with other implementations of RTPS",
    },
];

/// Returns the variables to set for the tests: one for each tool that is here in the end.
///
/// A tool that no test asks for is neither looked up nor installed.
pub(super) fn provide(repo: &Repo) -> Result<Vec<(&'static str, PathBuf)>> {
    let files = repo.text_files()?;
    let mut found = Vec::new();
    for tool in TOOLS.iter().filter(|tool| is_wanted(tool.variable, &files)) {
        if let Some(path) = tool.find().or_else(|| tool.install()) {
            println!("{}: {}", tool.names[0], path.display());
            found.push((tool.variable, path));
        } else {
            let name = tool.names[0];
            println!("{name} is missing; it is needed {}", tool.purpose);
            println!(
                "help: on Debian or Ubuntu: sudo apt-get install {}",
                tool.packages.join(" ")
            );
            println!(
                "help: elsewhere install {name} and set {} to its path",
                tool.variable
            );
        }
    }
    Ok(found)
}

/// Tells whether a source file of a crate names the variable.
fn is_wanted(variable: &str, files: &[TextFile]) -> bool {
    files
        .iter()
        .any(|file| file.path.starts_with("crates/") && file.text.contains(variable))
}

impl Tool {
    fn find(&self) -> Option<PathBuf> {
        let given = env::var_os(self.variable).map(PathBuf::from);
        let search = env::var_os("PATH").unwrap_or_default();
        given
            .filter(|path| path.is_file())
            .or_else(|| find_in(&search, self.names))
    }

    /// Installs the packages where that needs no question: as root on Debian and its kin.
    fn install(&self) -> Option<PathBuf> {
        if !Path::new("/etc/debian_version").exists() || !is_root() {
            return None;
        }
        println!("installing {}", self.packages.join(" "));
        // An outdated package list may still do, so a failed update is not the end.
        apt_get(&["update", "-q"]);
        let args = [
            &["install", "-y", "-q", "--no-install-recommends"],
            self.packages,
        ]
        .concat();
        if apt_get(&args) { self.find() } else { None }
    }
}

fn find_in(search: &OsStr, names: &[&str]) -> Option<PathBuf> {
    let candidates = names
        .iter()
        .flat_map(|name| env::split_paths(search).map(move |folder| folder.join(name)));
    candidates.into_iter().find(|path| path.is_file())
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn apt_get(args: &[&str]) -> bool {
    let mut command = Command::new("apt-get");
    command.args(args).env("DEBIAN_FRONTEND", "noninteractive");
    let Ok(output) = command.output() else {
        return false;
    };
    if !output.status.success() {
        println!(
            "apt-get {}:\n{}",
            args.join(" "),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    output.status.success()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_wanted_when_a_crate_names_its_variable() {
        let file = |path: &str| TextFile {
            path: path.to_owned(),
            text: "env::var_os(\"RTETHER_TSHARK\")".to_owned(),
        };
        assert!(is_wanted(
            "RTETHER_TSHARK",
            &[file("crates/rtether/tests/trace.rs")]
        ));
        assert!(!is_wanted("RTETHER_TSHARK", &[file("CONTRIBUTING.md")]));
        assert!(!is_wanted(
            "RTETHER_CHROMIUM",
            &[file("crates/rtether/tests/trace.rs")]
        ));
    }

    #[test]
    fn the_first_name_that_exists_is_found() {
        let repo = Repo::find().unwrap();
        let search = env::join_paths([repo.root.join("docs"), repo.root.clone()]).unwrap();
        let found = find_in(&search, &["no-such-file", "Cargo.toml"]);
        assert_eq!(found, Some(repo.root.join("Cargo.toml")));
        assert_eq!(find_in(&search, &["no-such-file"]), None);
    }
}
