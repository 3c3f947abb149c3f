//! The checkout: where it is, which files belong to it, and how to run `cargo` in it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// One text file of the checkout.
pub(crate) struct TextFile {
    /// Relative to the root, with `/` between its parts.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// A checkout of the workspace.
pub(crate) struct Repo {
    pub(crate) root: PathBuf,
}

impl Repo {
    /// Finds the checkout in which `cargo xtask` was called.
    pub(crate) fn find() -> Result<Self> {
        let start = match env::var_os("CARGO_MANIFEST_DIR") {
            Some(dir) => PathBuf::from(dir),
            None => env::current_dir().context("reading the current directory")?,
        };
        let root = start.ancestors().find(|dir| dir.join("xtask/Cargo.toml").is_file());
        match root {
            Some(root) => Ok(Self { root: root.to_owned() }),
            None => bail!("no workspace found; call `cargo xtask` inside the checkout"),
        }
    }

    /// Returns the text of a file; `None` if it does not exist.
    pub(crate) fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }

    /// Returns the folder of what a verb makes, which clears it: the usual one, or that of the user if
    /// there is nothing in it.
    pub(crate) fn output(&self, named: Option<&str>, usual: &str) -> Result<PathBuf> {
        let Some(named) = named else {
            return Ok(self.root.join(usual));
        };
        let folder = self.root.join(named);
        let is_empty = || fs::read_dir(&folder).map(|mut entries| entries.next().is_none());
        if folder.exists() && !is_empty().with_context(|| format!("reading {named}"))? {
            bail!("`{named}` is not empty; name a new folder, or remove what is in it");
        }
        Ok(folder)
    }

    /// Returns a `cargo` command of the pinned toolchain, to be run at the root.
    pub(crate) fn cargo(&self, args: &[&str]) -> Command {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(args).current_dir(&self.root);
        command
    }

    /// Returns the `cargo metadata` of the workspace members.
    pub(crate) fn metadata(&self) -> Result<Value> {
        let output = self
            .cargo(&["metadata", "--no-deps", "--format-version", "1"])
            .output()
            .context("running `cargo metadata`")?;
        if !output.status.success() {
            bail!("`cargo metadata` failed:\n{}", String::from_utf8_lossy(&output.stderr));
        }
        serde_json::from_slice(&output.stdout).context("reading the output of `cargo metadata`")
    }

    /// Returns every text file that is tracked or could be added, ordered by path.
    ///
    /// Outside a git checkout (an unpacked archive), walks the tree itself.
    pub(crate) fn text_files(&self) -> Result<Vec<TextFile>> {
        let files = self.paths()?.into_iter().filter_map(|path| {
            let text = self.read(&path)?;
            Some(TextFile { path, text })
        });
        Ok(files.collect())
    }

    /// Returns the paths of all files that are tracked or could be added, in order.
    pub(crate) fn paths(&self) -> Result<Vec<String>> {
        let mut paths = match self.git_files() {
            Some(paths) => paths,
            None => walk(&self.root)?,
        };
        paths.sort();
        paths.dedup();
        Ok(paths)
    }

    /// Returns the files of the scenarios, ordered by name.
    pub(crate) fn scenarios(&self) -> Result<Vec<PathBuf>> {
        let listing = fs::read_dir(self.root.join("scenarios")).context("listing scenarios")?;
        let paths = listing.flatten().map(|entry| entry.path());
        let is_scenario = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "yaml");
        let mut found: Vec<PathBuf> = paths.filter(is_scenario).collect();
        found.sort();
        Ok(found)
    }

    fn git_files(&self) -> Option<Vec<String>> {
        let output = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(&self.root)
            .output()
            .ok()?;
        if !output.status.success() {
            return None;
        }
        let listing = String::from_utf8_lossy(&output.stdout);
        Some(listing.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
    }
}

/// Lists the files under `root`, without hidden folders and build output.
fn walk(root: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut pending = vec![root.to_owned()];
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(&dir).with_context(|| format!("listing {}", dir.display()))? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                if name != "target" && name != ".git" {
                    pending.push(path);
                }
            } else if let Ok(relative) = path.strip_prefix(root) {
                found.push(relative.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_checkout_is_found_with_its_files() {
        let repo = Repo::find().unwrap();
        let files = repo.text_files().unwrap();
        assert!(files.iter().any(|file| file.path == "xtask/src/repo.rs"));
        assert!(files.is_sorted_by(|a, b| a.path < b.path));
        let walked = walk(&repo.root.join("xtask")).unwrap();
        assert!(walked.contains(&"src/repo.rs".to_owned()));
    }

    #[test]
    fn a_folder_with_files_of_the_user_is_refused() {
        let repo = Repo::find().unwrap();
        let own = env::temp_dir().join(format!("output-{}", std::process::id()));
        let named = own.to_str();
        assert_eq!(repo.output(named, "target/x").unwrap(), own);
        fs::create_dir(&own).unwrap();
        assert_eq!(repo.output(named, "target/x").unwrap(), own);
        fs::write(own.join("thesis.tex"), "").unwrap();
        assert!(repo.output(named, "target/x").is_err());
        let usual = repo.root.join("target/x");
        assert_eq!(repo.output(None, "target/x").unwrap(), usual);
        fs::remove_dir_all(&own).unwrap();
    }
}
