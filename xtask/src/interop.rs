//! Programs for interoperability tests: ours for the suite of the OMG, and the peers in `interop/`.
//!
//! The suite itself must be fetched separately: its license allows its use for tests, but no copies
//! elsewhere.

mod suite;

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::repo::Repo;
pub(crate) use suite::Suite;

const FOLDER: &str = "target/interop";

/// Builds our program and runs the suite with it, or builds all programs and explains how to run
/// them.
pub(crate) fn run(repo: &Repo, suite: Option<&Suite>) -> Result<bool> {
    let folder = repo.root.join(FOLDER);
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let program = shape_main(repo)?;
    if let Some(suite) = suite {
        return suite::run(suite, &folder.join(program));
    }
    let script = repo.root.join("interop/build.sh");
    let status = Command::new(&script).arg(&folder).status();
    let has_peers = status.with_context(|| format!("running {}", script.display()))?.success();
    println!("in {FOLDER}: {program}\n{}", how_to(&program));
    Ok(has_peers)
}

/// Builds our program; returns its name, from which the suite derives product and version.
fn shape_main(repo: &Repo) -> Result<String> {
    let example = ["--package", "rtether-live", "--example", "shape_main"];
    let built = repo
        .cargo(&["build", "--release"])
        .args(example)
        .args(["--message-format", "json-render-diagnostics"])
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("running `cargo build`")?;
    if !built.status.success() {
        bail!("shape_main does not build; see above");
    }
    let text = String::from_utf8_lossy(&built.stdout);
    let from = executable(&text).context("`cargo build` does not say where shape_main is")?;
    let metadata = repo.metadata()?;
    let version = version(&metadata).context("rtether-live has no version")?;
    let name = format!("rtether-{version}_shape_main_linux");
    let to = repo.root.join(FOLDER).join(&name);
    fs::copy(&from, &to).with_context(|| format!("copying {from} to {}", to.display()))?;
    Ok(name)
}

/// Returns the path of the executable of a build.
fn executable(messages: &str) -> Option<String> {
    let messages = messages.lines().rev().map(serde_json::from_str::<Value>);
    let mut paths = messages.filter_map(|message| {
        let path = message.ok()?["executable"].as_str()?.to_owned();
        Some(path)
    });
    paths.next()
}

fn version(metadata: &Value) -> Option<&str> {
    let packages = metadata["packages"].as_array()?;
    let live = packages.iter().find(|one| one["name"] == "rtether-live")?;
    live["version"].as_str()
}

fn how_to(program: &str) -> String {
    format!(
        "\
the peers against ours: interop/README.md
the suite of the OMG, whose license allows its use for tests only:
  git clone https://github.com/omg-dds/dds-rtps && cd dds-rtps
  python3 -m venv venv && venv/bin/pip install -r requirements.txt
  cargo xtask interop --suite PATH_OF_THE_SUITE [--peer PROGRAM] [-- -t CASE ...]
which runs {FOLDER}/{program} against itself, or in both roles against
the program of another implementation"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_is_the_last_that_was_built() {
        // Oracle: the documented format of `cargo build --message-format json`.
        let messages = "{\"reason\":\"compiler-artifact\",\"executable\":null}\n\
            {\"reason\":\"compiler-artifact\",\"executable\":\"/t/shape_main\"}\n\
            {\"reason\":\"build-finished\",\"success\":true}\n";
        assert_eq!(executable(messages).as_deref(), Some("/t/shape_main"));
        assert_eq!(executable("no json"), None);
    }
}
