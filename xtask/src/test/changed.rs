//! What a change can affect: from changed files to packages and test programs.
//!
//! A file belongs to the package whose folder it is in. A change of a package affects the packages
//! that use it. A change of a test program affects only itself. Files outside of packages affect
//! whatever names them in its sources, such as `"../../scenarios/hub.yaml"`, and the program that
//! runs README and guides. What all packages have in common affects everything.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::args::Since;
use crate::repo::{Repo, TextFile};

/// Files and folders that every package depends on.
const COMMON: &[&str] = &[
    ".cargo/",
    ".ci/",
    "Cargo.lock",
    "Cargo.toml",
    "clippy.toml",
    "rust-toolchain.toml",
    "rustfmt.toml",
    "xtask/",
];
/// What the program that runs README and guides reads, beside the files that its sources name.
const SHOWN: &[&str] = &["README.md", "docs/", "scenarios/"];
/// That program: its package and name.
const SHOWS: (&str, &str) = ("rtether-cli", "docs");

/// Programs to run; what each entry maps to is the reason for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Choice {
    /// Set if everything has to run.
    everything: Option<String>,
    /// Packages with all their programs.
    packages: BTreeMap<String, String>,
    /// Single programs of other packages: package and label.
    programs: BTreeMap<(String, String), String>,
}

impl Choice {
    /// Chooses everything.
    pub(super) fn everything(reason: &str) -> Self {
        Self { everything: Some(reason.to_owned()), ..Self::default() }
    }

    /// Returns whether no program was chosen.
    pub(super) fn is_empty(&self) -> bool {
        self.everything.is_none() && self.packages.is_empty() && self.programs.is_empty()
    }

    /// Returns the arguments with which cargo builds what was chosen.
    pub(super) fn arguments(&self) -> Vec<String> {
        if self.everything.is_some() {
            return vec!["--workspace".to_owned()];
        }
        let packages = self.packages.keys();
        let packages = packages.chain(self.programs.keys().map(|(package, _)| package));
        let packages: BTreeSet<&String> = packages.collect();
        let arguments =
            packages.into_iter().flat_map(|name| ["--package".to_owned(), name.clone()]);
        arguments.collect()
    }

    /// Returns the packages whose examples in the documentation may have changed, as arguments of
    /// cargo; none if there are none.
    pub(super) fn documented(&self) -> Vec<String> {
        let whole = Self { programs: BTreeMap::new(), ..self.clone() };
        whole.arguments()
    }

    /// Returns whether a program is to run.
    pub(super) fn has(&self, package: &str, label: &str) -> bool {
        self.everything.is_some()
            || self.packages.contains_key(package)
            || self.programs.contains_key(&(package.to_owned(), label.to_owned()))
    }

    /// Prints what was chosen, and why.
    fn print(&self) {
        if let Some(reason) = &self.everything {
            println!("chosen: everything ({reason})");
            return;
        }
        for (package, reason) in &self.packages {
            println!("chosen: {package} ({reason})");
        }
        for ((package, label), reason) in &self.programs {
            println!("chosen: {package} {label} ({reason})");
        }
        if self.is_empty() {
            println!("chosen: no package; no program depends on what has changed");
        }
    }

    /// Returns whether a package was chosen as a whole.
    pub(super) fn has_package(&self, package: &str) -> bool {
        self.everything.is_some() || self.packages.contains_key(package)
    }
}

/// Chooses what changes can affect, and prints it.
pub(super) fn choose(repo: &Repo, since: &Since) -> Result<Choice> {
    let (base, name) = base(repo, since)?;
    let mut changed = lines(repo, &["diff", "--name-only", "--no-renames", "-z", &base])?;
    let untracked = ["ls-files", "--others", "--exclude-standard", "-z"];
    changed.extend(lines(repo, &untracked)?);
    let short = base.get(..12).unwrap_or(&base);
    println!("{} files changed since {name} ({short})", changed.len());
    let plan = Plan::new(&repo.metadata()?, &repo.text_files()?);
    let choice = plan.choose(&changed);
    choice.print();
    Ok(choice)
}

/// Returns the commit to compare with, and its name for people.
fn base(repo: &Repo, since: &Since) -> Result<(String, String)> {
    let names = match since {
        Since::Branch => vec!["main", "origin/main"],
        Since::Revision(name) => vec![name.as_str()],
    };
    for name in &names {
        let output = git(repo, &["merge-base", name, "HEAD"])?;
        if let Some(text) = output {
            return Ok((text.trim().to_owned(), (*name).to_owned()));
        }
    }
    bail!("no commit in common with {}; name one with `--since REV`", names.join(" or "))
}

fn lines(repo: &Repo, arguments: &[&str]) -> Result<Vec<String>> {
    let text = git(repo, arguments)?.with_context(|| format!("git {} failed", arguments[0]))?;
    let names = text.split('\0').filter(|name| !name.is_empty());
    Ok(names.map(str::to_owned).collect())
}

/// Returns what git prints; `None` if it fails.
fn git(repo: &Repo, arguments: &[&str]) -> Result<Option<String>> {
    let mut git = Command::new("git");
    let output = git.args(arguments).current_dir(&repo.root).output();
    let output = output.context("running git, which tells what has changed")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(output.status.success().then_some(text))
}

/// A package of the workspace.
struct Package {
    name: String,
    /// Its folder, with `/` at the end, relative to the root.
    folder: String,
    /// Packages of the workspace that it uses, and whether only its tests do.
    uses: Vec<(String, bool)>,
    /// Labels and main files of its test programs.
    programs: Vec<(String, String)>,
}

/// What the choice depends on.
struct Plan {
    packages: Vec<Package>,
    /// Paths outside of packages that sources name: the source, and the path.
    named: Vec<(String, String)>,
}

impl Plan {
    fn new(metadata: &Value, files: &[TextFile]) -> Self {
        let root = metadata["workspace_root"].as_str().unwrap_or_default();
        let packages = metadata["packages"].as_array().into_iter().flatten();
        let packages = packages.map(|package| Package::read(root, package));
        let sources =
            files.iter().filter(|file| file.path.starts_with("crates/") && is_rust(&file.path));
        let named = sources.flat_map(|file| {
            let paths = named_paths(&file.text);
            paths.map(|path| (file.path.clone(), path.to_owned()))
        });
        Self { packages: packages.collect(), named: named.collect() }
    }

    fn choose(&self, changed: &[String]) -> Choice {
        let mut choice = Choice::default();
        for path in changed {
            if let Some(common) = COMMON.iter().find(|common| is_within(path, common)) {
                return Choice::everything(&format!("{path}: all packages use {common}"));
            }
            self.add(&mut choice, path, path);
            for (source, named) in &self.named {
                if is_within(path, named) && !path.starts_with("crates/") {
                    self.add(&mut choice, source, &format!("{path}, named in {source}"));
                }
            }
            if SHOWN.iter().any(|shown| is_within(path, shown)) {
                let (package, label) = SHOWS;
                let program = (package.to_owned(), label.to_owned());
                choice.programs.entry(program).or_insert(path.clone());
            }
        }
        self.add_dependents(&mut choice);
        let packages = &choice.packages;
        choice.programs.retain(|(package, _), _| !packages.contains_key(package));
        choice
    }

    /// Adds what a file of a package belongs to: a test program, or the package.
    fn add(&self, choice: &mut Choice, path: &str, reason: &str) {
        for package in &self.packages {
            for label in package.programs_of(path) {
                let program = (package.name.clone(), label);
                choice.programs.entry(program).or_insert_with(|| reason.to_owned());
            }
            if package.is_changed_by(path) {
                choice.packages.entry(package.name.clone()).or_insert_with(|| reason.to_owned());
            }
        }
    }

    /// Adds the packages that use chosen ones. What only tests use goes no further.
    fn add_dependents(&self, choice: &mut Choice) {
        let mut pending: VecDeque<String> = choice.packages.keys().cloned().collect();
        let mut only_tests = BTreeMap::new();
        while let Some(used) = pending.pop_front() {
            for package in &self.packages {
                let edge = package.uses.iter().find(|(name, _)| *name == used);
                let Some((_, is_for_tests)) = edge else {
                    continue;
                };
                let reason = format!("uses {used}");
                if *is_for_tests {
                    only_tests.entry(package.name.clone()).or_insert(reason);
                } else if !choice.has_package(&package.name) {
                    choice.packages.insert(package.name.clone(), reason);
                    pending.push_back(package.name.clone());
                }
            }
        }
        for (name, reason) in only_tests {
            choice.packages.entry(name).or_insert(reason);
        }
    }
}

impl Package {
    fn read(root: &str, package: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let relative = |path: &Value| {
            let path = text(path);
            let path = path.strip_prefix(root).unwrap_or(&path);
            plain(path.trim_start_matches('/'))
        };
        let manifest = relative(&package["manifest_path"]);
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let ours = dependencies.filter(|used| used["path"].is_string());
        // A package that is used twice is used by more than tests.
        let mut uses: Vec<(String, bool)> =
            ours.map(|used| (text(&used["name"]), used["kind"] == "dev")).collect();
        uses.sort();
        uses.dedup_by(|later, first| later.0 == first.0);
        let targets = package["targets"].as_array().into_iter().flatten();
        let tests = targets.filter(|target| target["kind"][0] == "test");
        Self {
            name: text(&package["name"]),
            folder: manifest.trim_end_matches("Cargo.toml").to_owned(),
            uses,
            programs: tests
                .map(|target| (text(&target["name"]), relative(&target["src_path"])))
                .collect(),
        }
    }

    /// Returns the labels of the programs that a file of tests, examples or benchmarks belongs to.
    fn programs_of(&self, path: &str) -> Vec<String> {
        let own = self.programs.iter().find(|(_, main)| {
            let folder = main.strip_suffix("main.rs");
            path == main || folder.is_some_and(|folder| path.starts_with(folder))
        });
        if let Some((label, _)) = own {
            return vec![label.clone()];
        }
        let Some(file) = path.strip_prefix(&self.folder) else {
            return Vec::new();
        };
        if is_unit_test(file) {
            return vec!["lib".to_owned()];
        }
        if !is_beside(file) {
            return Vec::new();
        }
        // Several programs may share it, or run it.
        let labels = self.programs.iter().map(|(label, _)| label.clone());
        labels.chain(["lib".to_owned()]).collect()
    }

    /// Returns whether a file is of the package itself.
    fn is_changed_by(&self, path: &str) -> bool {
        let file = path.strip_prefix(&self.folder);
        file.is_some_and(|file| !is_unit_test(file) && !is_beside(file))
    }
}

/// Returns whether a file of a package holds unit tests.
fn is_unit_test(file: &str) -> bool {
    let mut parts = file.split('/');
    let is_source = parts.next() == Some("src") && is_rust(file);
    is_source && parts.any(|part| part == "tests" || part == "tests.rs")
}

/// Returns whether a file of a package is not part of what others use.
fn is_beside(file: &str) -> bool {
    ["tests", "examples", "benches"].iter().any(|folder| is_within(file, folder))
}

fn is_rust(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, ending)| ending == "rs")
}

/// Returns a path without `..`.
fn plain(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

/// Returns whether a path is a file, or lies in a folder. A folder may lack its final `/`.
fn is_within(path: &str, place: &str) -> bool {
    let rest = path.strip_prefix(place.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the paths in strings that begin by leaving the folder, without the `..`. One that is
/// completed at run time counts up to there.
fn named_paths(text: &str) -> impl Iterator<Item = &str> {
    let strings = text.split('"').filter_map(|part| {
        let part = part.strip_prefix("{}/").unwrap_or(part);
        let path = part.trim_start_matches('/').strip_prefix("../")?;
        let path = path.trim_start_matches("../");
        let fixed = path.split_once('{').map_or(path, |(fixed, _)| fixed);
        let is_one = !fixed.is_empty() && !fixed.contains(char::is_whitespace);
        is_one.then_some(fixed)
    });
    strings.filter(|path| *path != "..")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::LazyLock;

    /// This workspace as it is.
    static PLAN: LazyLock<Plan> = LazyLock::new(|| {
        let repo = Repo::find().unwrap();
        Plan::new(&repo.metadata().unwrap(), &repo.text_files().unwrap())
    });

    fn chosen(paths: &[&str]) -> Choice {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        PLAN.choose(&paths)
    }

    fn packages(choice: &Choice) -> Vec<&str> {
        choice.packages.keys().map(String::as_str).collect()
    }

    #[test]
    fn a_source_affects_its_package_and_all_that_use_it() {
        // Oracle: the arrows of ARCHITECTURE.md.
        let choice = chosen(&["crates/rtether-testbed/src/lib.rs"]);
        let expected = ["rtether-cli", "rtether-papers", "rtether-python", "rtether-testbed"];
        assert_eq!(packages(&choice), expected);
        assert!(choice.has("rtether-cli", "docs") && !choice.has("rtether-sim", "lib"));
        let choice = chosen(&["crates/rtether-rtps-derive/src/lib.rs"]);
        assert!(choice.has("rtether-sim", "it") && !choice.has("rtether-bounds", "lib"));
        let choice = chosen(&["crates/rtether-model/src/lib.rs"]);
        for user in ["rtether-bounds", "rtether-scenario", "rtether-sim", "rtether-cli"] {
            assert!(choice.packages.contains_key(user), "{user}");
        }
        assert!(!choice.packages.contains_key("rtether-rtps"));
    }

    #[test]
    fn a_test_affects_only_itself() {
        let program = |package: &str, label: &str| (package.to_owned(), label.to_owned());
        for (path, expected) in [
            ("crates/rtether-sim/tests/hub.rs", vec![program("rtether-sim", "it")]),
            ("crates/rtether-sim/src/agenda/tests.rs", vec![program("rtether-sim", "lib")]),
            ("validation/bounds.rs", vec![program("rtether", "it")]),
        ] {
            let choice = chosen(&[path]);
            assert!(choice.packages.is_empty(), "{path}: {choice:?}");
            assert_eq!(choice.programs.keys().cloned().collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn a_page_affects_the_programs_that_read_it() {
        let choice = chosen(&["docs/guides/bounds.md"]);
        assert!(choice.packages.is_empty());
        assert_eq!(choice.arguments(), ["--package".to_owned(), "rtether-cli".to_owned()]);
        assert!(choice.has("rtether-cli", "docs") && !choice.has("rtether-cli", "it"));
        assert!(choice.documented().is_empty());
        assert!(chosen(&["docs/reference/results.md"]).has("rtether", "it"));
        assert!(chosen(&["CHANGELOG.md"]).is_empty());
    }

    #[test]
    fn a_scenario_affects_what_names_it() {
        let choice = chosen(&["crates/rtether-rtps/tests/common/mod.rs"]);
        assert!(choice.has("rtether-rtps", "it") && !choice.has("rtether-sim", "it"));
        let choice = chosen(&["scenarios/skeie-flat.yaml"]);
        // Included in a source of the papers; read by a test of the scenarios' fingerprints.
        let expected = ["rtether-cli", "rtether-papers", "rtether-python"];
        assert_eq!(packages(&choice), expected);
        assert!(choice.has("rtether", "it") && !choice.has("rtether", "lib"));
        assert!(chosen(&["fuzz/corpus/rtps/a"]).has("rtether-rtps", "it"));
    }

    #[test]
    fn what_all_have_in_common_affects_everything() {
        for path in ["Cargo.lock", "xtask/src/main.rs", "rust-toolchain.toml"] {
            let choice = chosen(&["docs/guides/bounds.md", path]);
            assert_eq!(choice.arguments(), ["--workspace"], "{path}");
            assert!(choice.has("rtether", "lib") && choice.everything.is_some());
        }
        assert!(chosen(&["Cargo.toml.old"]).is_empty());
    }

    #[test]
    fn a_use_by_tests_goes_no_further() {
        let metadata = serde_json::json!({"workspace_root": "/w", "packages": [
            {"name": "a", "manifest_path": "/w/a/Cargo.toml"},
            {"name": "b", "manifest_path": "/w/b/Cargo.toml",
             "dependencies": [{"name": "a", "kind": "dev", "path": "/w/a"}]},
            {"name": "c", "manifest_path": "/w/c/Cargo.toml",
             "dependencies": [{"name": "b", "kind": null, "path": "/w/b"}]},
        ]});
        let choice = Plan::new(&metadata, &[]).choose(&["a/src/lib.rs".to_owned()]);
        assert_eq!(packages(&choice), ["a", "b"]);
    }

    #[test]
    fn named_paths_are_those_outside() {
        let text = r#"join("../../docs/x.md"); "{}/../../scenarios/{name}.yaml" ".." "a/../b""#;
        let found: Vec<&str> = named_paths(text).collect();
        assert_eq!(found, ["docs/x.md", "scenarios/"]);
    }
}
