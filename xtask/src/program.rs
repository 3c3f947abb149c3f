//! Test programs of the workspace, and how each uses the machine.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::child::succeeds;
use crate::repo::Repo;

/// Option of cargo for programs that are to be fast.
pub(crate) const RELEASE: &str = "--release";

/// Metadata table in which packages state how their test programs use the machine:
/// `[package.metadata.tests]`.
const TABLE: &str = "tests";

/// How a test program uses the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// Mostly waits, for time to pass or for other processes; several run beside all others.
    Waits,
    /// Keeps a core busy; as many run at once as there are cores.
    Computes,
    /// Its results depend on the load of the machine; it runs alone.
    Measures,
}

impl Class {
    const ALL: [Self; 3] = [Self::Waits, Self::Computes, Self::Measures];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Waits => "waits",
            Self::Computes => "computes",
            Self::Measures => "measures",
        }
    }
}

/// A run of a test program, or of some of its tests.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// `package target`, followed by `::prefix` if these are only some of its tests.
    pub(crate) name: String,
    pub(crate) class: Class,
    pub(crate) executable: PathBuf,
    /// The folder in which it runs.
    pub(crate) folder: PathBuf,
    /// Arguments that select its tests.
    pub(crate) arguments: Vec<String>,
    /// Command that repeats it.
    pub(crate) repeat: String,
}

impl Program {
    /// Returns its package, and the label of its target.
    pub(crate) fn target(&self) -> (&str, &str) {
        let (package, label) = self.name.split_once(' ').unwrap_or((&self.name, ""));
        let label = label.split_once("::").map_or(label, |(label, _)| label);
        (package, label)
    }

    /// Returns a run of the tests whose names begin with a prefix, also of those in other runs.
    pub(crate) fn only(&self, prefix: &str) -> Result<Self> {
        let names = names_in(&self.executable.to_string_lossy())?;
        let chosen = names.into_iter().filter(|name| name.starts_with(prefix));
        let chosen: Vec<String> = chosen.collect();
        if chosen.is_empty() {
            bail!("no test of `{}` begins with `{prefix}`", self.name);
        }
        let exact = std::iter::once("--exact".to_owned());
        Ok(Self {
            arguments: exact.chain(chosen).collect(),
            repeat: format!("RTETHER_NIGHTLY=1 {} -- --include-ignored {prefix}", self.repeat),
            ..self.clone()
        })
    }
}

/// One line of a package's table: all tests of a target, or those whose names start with a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    target: String,
    prefix: Option<String>,
    class: Class,
}

/// Builds the test programs of the packages that these options of cargo name; `None` if one fails
/// to build. The output of cargo goes to a file in the folder.
pub(crate) fn build(
    repo: &Repo,
    folder: &Path,
    options: &[String],
    examples: bool,
) -> Result<Option<Vec<Program>>> {
    let metadata = repo.metadata()?;
    let mut command = repo.cargo(&["test", "--no-run"]);
    command.args(options);
    if examples {
        command.args(["--lib", "--bins", "--tests", "--examples"]);
    }
    command.args(["--message-format", "json-render-diagnostics"]);
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    let messages = folder.join("build.json");
    let file = File::create(&messages).context("making a file for messages of cargo")?;
    if !succeeds(command.stdout(file))? {
        return Ok(None);
    }
    let text = fs::read_to_string(&messages).context("reading messages of cargo")?;
    let mut programs = Vec::new();
    for line in text.lines() {
        let message: Value = serde_json::from_str(line).unwrap_or_default();
        programs.extend(runs_of(&metadata, &message)?);
    }
    if options.iter().any(|option| option == RELEASE) {
        for own in &mut programs {
            own.repeat = own.repeat.replacen("cargo test", "cargo test --release", 1);
        }
    }
    Ok(Some(programs))
}

/// Returns the runs of the test program reported by a message of cargo, if it reports one.
fn runs_of(metadata: &Value, message: &Value) -> Result<Vec<Program>> {
    let is_test = message["reason"] == "compiler-artifact" && message["profile"]["test"] == true;
    let Some(executable) = message["executable"].as_str().filter(|_| is_test) else {
        return Ok(Vec::new());
    };
    let target = message["target"]["name"].as_str().unwrap_or_default();
    let kind = message["target"]["kind"][0].as_str().unwrap_or_default();
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let package = packages
        .clone()
        .find(|package| package["id"] == message["package_id"])
        .with_context(|| format!("{executable} is of no package"))?;
    let name = package["name"].as_str().unwrap_or_default();
    let manifest = package["manifest_path"].as_str().unwrap_or_default();
    // Unit tests are named by their kind, since targets may share a name.
    let (label, selector) = match kind {
        "test" => (target.to_owned(), format!("--test {target}")),
        "example" => (format!("example-{target}"), format!("--example {target}")),
        "bin" => ("bin".to_owned(), format!("--bin {target}")),
        _ => ("lib".to_owned(), "--lib".to_owned()),
    };
    let whole = Program {
        name: format!("{name} {label}"),
        class: Class::Computes,
        executable: PathBuf::from(executable),
        folder: Path::new(manifest).parent().unwrap_or(Path::new("")).into(),
        arguments: Vec::new(),
        repeat: format!("cargo test -p {name} {selector}"),
    };
    let entries = entries(&package["metadata"][TABLE])
        .with_context(|| format!("[package.metadata.{TABLE}] of {name}"))?;
    split(&whole, &label, &entries, || names_in(executable))
}

/// Parses a package's table.
fn entries(table: &Value) -> Result<Vec<Entry>> {
    let mut found = Vec::new();
    let Some(table) = table.as_object() else {
        return Ok(found);
    };
    for (key, value) in table {
        let class = Class::ALL.into_iter().find(|class| class.name() == key);
        let Some(class) = class else {
            bail!("`{key}` is none of waits, computes, measures");
        };
        for text in value.as_array().into_iter().flatten() {
            let text = text.as_str().context("names are strings")?;
            let (target, prefix) = match text.split_once("::") {
                Some((target, prefix)) => (target, Some(prefix.to_owned())),
                None => (text, None),
            };
            found.push(Entry { target: target.to_owned(), prefix, class });
        }
    }
    Ok(found)
}

/// Splits a program: the tests of each prefix form a separate run, the rest another.
fn split(
    whole: &Program,
    label: &str,
    entries: &[Entry],
    names: impl FnOnce() -> Result<Vec<String>>,
) -> Result<Vec<Program>> {
    let own: Vec<&Entry> = entries.iter().filter(|own| own.target == label).collect();
    let mut rest = whole.clone();
    if let Some(entry) = own.iter().find(|entry| entry.prefix.is_none()) {
        rest.class = entry.class;
    }
    let prefixes = own.iter().filter_map(|own| Some((own.prefix.as_ref()?, own.class)));
    let prefixes: Vec<_> = prefixes.collect();
    if prefixes.is_empty() {
        return Ok(vec![rest]);
    }
    let names = names()?;
    let mut runs = Vec::new();
    // By whole names, since test programs select by any part of a name.
    rest.arguments.push("--exact".to_owned());
    for (prefix, class) in prefixes {
        let chosen: Vec<&String> = names.iter().filter(|name| name.starts_with(prefix)).collect();
        if chosen.is_empty() {
            bail!("no test of `{label}` begins with `{prefix}`");
        }
        let exact = std::iter::once("--exact".to_owned());
        runs.push(Program {
            name: format!("{}::{prefix}", whole.name),
            class,
            arguments: exact.chain(chosen.iter().copied().cloned()).collect(),
            repeat: format!("{} -- {prefix}", whole.repeat),
            ..whole.clone()
        });
        let skipped = chosen.iter().flat_map(|name| ["--skip".to_owned(), (*name).clone()]);
        rest.arguments.extend(skipped);
    }
    runs.push(rest);
    Ok(runs)
}

/// Returns the names of the tests in a test program.
fn names_in(executable: &str) -> Result<Vec<String>> {
    let output = Command::new(executable).args(["--list", "--format", "terse"]).output();
    let output = output.with_context(|| format!("running {executable}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
    Ok(names.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn metadata() -> Value {
        json!({"packages": [{
            "id": "path+file:///w/a#0.1.0",
            "name": "a",
            "manifest_path": "/w/a/Cargo.toml",
            "metadata": {"tests": {"waits": ["live"]}},
        }]})
    }

    fn message(kind: &str, target: &str) -> Value {
        json!({
            "reason": "compiler-artifact",
            "package_id": "path+file:///w/a#0.1.0",
            "target": {"kind": [kind], "name": target},
            "profile": {"test": true},
            "executable": "/t/a-1",
        })
    }

    #[test]
    fn a_program_computes_unless_its_package_says_otherwise() {
        let runs = runs_of(&metadata(), &message("lib", "a")).unwrap();
        assert_eq!(runs.len(), 1);
        assert_eq!((runs[0].name.as_str(), runs[0].class), ("a lib", Class::Computes));
        assert_eq!(runs[0].folder, Path::new("/w/a"));
        assert_eq!(runs[0].target(), ("a", "lib"));
        assert_eq!(runs[0].repeat, "cargo test -p a --lib");
    }

    #[test]
    fn some_tests_of_a_program_may_be_of_another_class() {
        let table = json!({"waits": ["live"], "measures": ["live::load"]});
        let entries = entries(&table).unwrap();
        let whole = Program {
            name: "a live".to_owned(),
            class: Class::Computes,
            executable: "x".into(),
            folder: ".".into(),
            arguments: Vec::new(),
            repeat: "cargo test -p a --test live".to_owned(),
        };
        let names = ["load::rate", "reload::load", "topic::load::x"].map(str::to_owned);
        let runs = split(&whole, "live", &entries, || Ok(names.to_vec())).unwrap();
        let [load, rest] = &runs[..] else {
            panic!("{runs:?}");
        };
        assert_eq!(load.name, "a live::load");
        assert_eq!(load.target(), ("a", "live"));
        assert_eq!(load.class, Class::Measures);
        assert_eq!(load.arguments, ["--exact", "load::rate"]);
        assert_eq!((rest.name.as_str(), rest.class), ("a live", Class::Waits));
        assert_eq!(rest.arguments, ["--exact", "--skip", "load::rate"]);
        let none = split(&whole, "live", &entries, || Ok(Vec::new()));
        assert!(none.unwrap_err().to_string().contains("`load`"));
    }

    #[test]
    fn what_is_no_test_program_is_passed_over() {
        let mut library = message("lib", "a");
        library["profile"]["test"] = json!(false);
        assert!(runs_of(&metadata(), &library).unwrap().is_empty());
        assert!(runs_of(&metadata(), &json!({"reason": "build-finished"})).unwrap().is_empty());
    }

    #[test]
    fn an_unknown_class_is_an_error() {
        assert!(entries(&json!({"sleeps": ["live"]})).is_err());
    }
}
