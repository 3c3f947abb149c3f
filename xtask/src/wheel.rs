//! The wheel for Python: module and command, built by maturin in an environment of its own; tried in
//! an empty one, and on an older system.

mod old;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::args;
use crate::child::{heed_signals, succeeds};
use crate::needs::provide_one;
use crate::repo::Repo;

/// The package, and the folder of the wheel.
const PACKAGE: &str = "crates/rtether-python";
const FOLDER: &str = "target/wheels";
/// What builds the wheel; the second links it with an older C library than this machine has.
const BUILDERS: &[&str] = &["maturin>=1.16,<2", "ziglang>=0.17,<0.18"];
/// Systems on which it runs: those with glibc 2.17 or later, the oldest that the compiler supports.
const SYSTEMS: &str = "manylinux_2_17";
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
    "test_questions.py",
    "test_live.py",
    "test_sweep.py",
    "test_plot.py",
    "test_notebooks.py",
    "test_recipes.py",
];
/// A plant that is certified as a whole.
const CERTIFIED: &str = "benches/scenarios/star.yaml";
/// Measures what it adds; tried in short, so that it keeps running.
const BENCH: &str = "benches/python.py";

/// Builds the wheel; with `proves`, tries it, too.
pub(crate) fn run(repo: &Repo, options: &args::Wheel) -> Result<bool> {
    heed_signals()?;
    let folder = repo.output(options.folder.as_deref(), FOLDER)?;
    let wheel = build(repo, &folder)?;
    println!("{}", wheel.display());
    if !options.proves {
        return Ok(true);
    }
    let proved = prove(repo, &wheel)?;
    if let Some(reason) = &proved.skipped {
        println!("skipped: {reason}");
    }
    Ok(proved.is_good)
}

/// Outcome of a trial.
pub(crate) struct Proved {
    /// Whether all that was tried holds.
    pub(crate) is_good: bool,
    /// What could not be tried, and why.
    pub(crate) skipped: Option<String>,
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
    build.args(["build", "--locked"]);
    if cfg!(target_os = "linux") {
        // It finds what links as a module of the first `python3`.
        let path = std::env::var_os("PATH").unwrap_or_default();
        let own = std::iter::once(environment.0.join("bin"));
        let path = std::env::join_paths(own.chain(std::env::split_paths(&path)));
        build.env("PATH", path.context("a folder with a colon")?);
        build.args(["--zig", "--compatibility", SYSTEMS]);
    }
    build.arg("--manifest-path");
    build.arg(repo.root.join(PACKAGE).join("Cargo.toml"));
    must(build.arg("--out").arg(folder).current_dir(&repo.root))?;
    let files = std::fs::read_dir(folder).context("listing wheels")?;
    let mut wheels = files.flatten().map(|entry| entry.path());
    wheels.next().context("maturin has left no wheel")
}

/// Installs the wheel in an empty environment, and runs all tests of the module on it, without and
/// with what reads Arrow; checks the types; then tries it on an older system.
fn prove(repo: &Repo, wheel: &Path) -> Result<Proved> {
    let environment = Environment::new(repo, "wheel-tests")?;
    let path = wheel.to_str().context("a path that is not UTF-8")?;
    environment.install(&["--no-index", path])?;
    must(environment.program("rtether").arg("--version"))?;
    let certificate = environment.0.join("certificate.json");
    let mut bound = environment.program("rtether");
    bound.arg("bound").arg(repo.root.join(CERTIFIED)).arg("--certificate").arg(&certificate);
    must(&mut bound)?;
    must(environment.program("rtether-verify").arg(&certificate))?;
    environment.install(READERS)?;
    let package = repo.root.join(PACKAGE);
    let mut types = environment.program("mypy");
    types.args(["--strict", "python/rtether", "tests"]);
    types.arg(repo.root.join(BENCH));
    must(types.current_dir(&package))?;
    for name in TESTS {
        let mut tests = environment.program("python");
        tests.arg(package.join("tests").join(name));
        tests.env("RTETHER_ROOT", &repo.root).env("RTETHER_NIGHTLY", "1");
        if !succeeds(&mut tests)? {
            return Ok(Proved { is_good: false, skipped: None });
        }
    }
    let mut bench = environment.program("python");
    must(bench.arg(repo.root.join(BENCH)).arg("--quick"))?;
    old::prove(repo, wheel)
}

/// Builds the wheel where builds go, and tries it.
pub(crate) fn build_and_prove(repo: &Repo) -> Result<Proved> {
    let wheel = build(repo, &repo.root.join(FOLDER))?;
    prove(repo, &wheel)
}
