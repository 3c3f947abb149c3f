//! The wheel for Python: module and command, built by maturin in an environment of its own; tried in
//! an empty one.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::args;
use crate::child::{heed_signals, succeeds};
use crate::repo::Repo;
use crate::test::needs::provide_one;

/// The package, and the folder of the wheel.
const PACKAGE: &str = "crates/rtether-python";
const FOLDER: &str = "target/wheels";
/// What builds the wheel.
const BUILDERS: &[&str] = &["maturin>=1.16,<2"];
/// What its tests use with it; none of it is needed by the wheel.
const READERS: &[&str] = &[
    "distributed>=2024.1",
    "ipykernel>=6",
    "kubernetes>=30",
    "matplotlib>=3.8",
    "mypy>=2",
    "nbclient>=0.10",
    "polars>=1",
    "pyarrow>=20",
];
const TESTS: &[&str] = &[
    "test_rtether.py",
    "test_live.py",
    "test_sweep.py",
    "test_plot.py",
    "test_notebooks.py",
    "test_recipes.py",
];

/// Builds the wheel; with `proves`, tries it, too.
pub(crate) fn run(repo: &Repo, options: &args::Wheel) -> Result<bool> {
    heed_signals()?;
    let folder = repo.output(options.folder.as_deref(), FOLDER)?;
    let wheel = build(repo, &folder)?;
    println!("{}", wheel.display());
    Ok(!options.proves || prove(repo, &wheel)?)
}

/// An environment of Python, removed on drop.
struct Environment(PathBuf);

impl Environment {
    fn new(repo: &Repo, name: &str) -> Result<Self> {
        let packages = &["python3", "python3-venv"];
        let python = provide_one(&["python3"], packages, "to build and try the wheel");
        let python = python.context("needs python3 with venv")?;
        let metadata = repo.metadata()?;
        let target = metadata["target_directory"].as_str();
        let folder = Path::new(target.context("no target directory")?).join(name);
        let mut make = Command::new(python);
        must(make.args(["-m", "venv", "--clear"]).arg(&folder))?;
        Ok(Self(folder))
    }

    /// Returns a program of the environment.
    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.0.join("bin").join(name));
        // Nothing of this machine's own packages.
        command.env_remove("PYTHONPATH").env_remove("PYTHONHOME");
        command.env("PYTHONNOUSERSITE", "1");
        command
    }

    fn install(&self, arguments: &[&str]) -> Result<()> {
        let quiet = ["install", "--quiet", "--disable-pip-version-check"];
        must(self.program("pip").args(quiet).args(arguments))
    }
}

impl Drop for Environment {
    fn drop(&mut self) {
        // What is left is cleared by the next run.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn must(command: &mut Command) -> Result<()> {
    if !succeeds(command)? {
        bail!("{command:?} failed; see above");
    }
    Ok(())
}

fn build(repo: &Repo, folder: &Path) -> Result<PathBuf> {
    let environment = Environment::new(repo, "wheel-builders")?;
    environment.install(BUILDERS)?;
    // Only the new one is there afterwards.
    drop(std::fs::remove_dir_all(folder));
    let mut build = environment.program("maturin");
    build.args(["build", "--locked", "--manifest-path"]);
    build.arg(repo.root.join(PACKAGE).join("Cargo.toml"));
    must(build.arg("--out").arg(folder).current_dir(&repo.root))?;
    let files = std::fs::read_dir(folder).context("listing wheels")?;
    let mut wheels = files.flatten().map(|entry| entry.path());
    wheels.next().context("maturin has left no wheel")
}

/// Installs the wheel in an empty environment, and runs all tests of the module on it, without and
/// with what reads Arrow; then checks the types.
pub(crate) fn prove(repo: &Repo, wheel: &Path) -> Result<bool> {
    let environment = Environment::new(repo, "wheel-tests")?;
    let path = wheel.to_str().context("a path that is not UTF-8")?;
    environment.install(&["--no-index", path])?;
    must(environment.program("rtether").arg("--version"))?;
    environment.install(READERS)?;
    let package = repo.root.join(PACKAGE);
    let mut types = environment.program("mypy");
    types.args(["--strict", "python/rtether", "tests"]);
    must(types.current_dir(&package))?;
    for name in TESTS {
        let mut tests = environment.program("python");
        tests.arg(package.join("tests").join(name));
        tests
            .env("RTETHER_ROOT", &repo.root)
            .env("RTETHER_NIGHTLY", "1");
        if !succeeds(&mut tests)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Builds the wheel where builds go, and tries it.
pub(crate) fn build_and_prove(repo: &Repo) -> Result<bool> {
    let wheel = build(repo, &repo.root.join(FOLDER))?;
    prove(repo, &wheel)
}
