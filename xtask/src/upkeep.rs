//! Smaller commands: snapshots, benchmarks, fuzzing.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::child::succeeds;
use crate::generate;
use crate::needs::provide_one;
use crate::repo::Repo;

/// Accepts every new snapshot and generated page; review them with `git diff`.
pub(crate) fn bless(repo: &Repo) -> Result<bool> {
    generate::write(repo)?;
    let status = repo
        .cargo(&["test", "--workspace", "--no-fail-fast"])
        .env("INSTA_UPDATE", "always")
        .env("INSTA_FORCE_PASS", "1")
        .env("TRYCMD", "overwrite")
        .status()
        .context("running `cargo test`")?;
    println!("read every changed snapshot with `git diff` before you commit it");
    Ok(status.success())
}

/// Runs the benchmarks of all crates.
pub(crate) fn bench(repo: &Repo, rest: &[String]) -> Result<bool> {
    provide_instruction_counter(repo)?;
    let status = repo.cargo(&["bench", "--workspace"]).args(rest).status();
    Ok(status.context("running `cargo bench`")?.success())
}

/// Compares the program with an older one, both built here.
pub(crate) fn compare(repo: &Repo, revision: &str) -> Result<bool> {
    provide_one(&["valgrind"], &["valgrind", "libc6-dbg"], "to count instructions");
    let status = Command::new("bash")
        .args(["benches/compare.sh", revision])
        .current_dir(&repo.root)
        .status();
    Ok(status.context("running benches/compare.sh")?.success())
}

/// Installs the program that counts instructions, in the version linked by the benchmarks.
pub(crate) fn provide_instruction_counter(repo: &Repo) -> Result<()> {
    const PROGRAM: &str = "gungraun-runner";
    let lock = repo.read("Cargo.lock").context("reading Cargo.lock")?;
    let version = locked_version(&lock, "gungraun").context("gungraun is not in Cargo.lock")?;
    let installed = Command::new(PROGRAM).arg("--version").output();
    let text = installed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    if text.is_ok_and(|text| text.split_whitespace().any(|word| word == version)) {
        return Ok(());
    }
    let purpose = "to count instructions";
    if provide_one(&["valgrind"], &["valgrind", "libc6-dbg"], purpose).is_none() {
        bail!("the instruction counts need valgrind");
    }
    println!("installing {PROGRAM} {version}");
    let status = repo.cargo(&["install", "--locked", PROGRAM, "--version", version]).status();
    if !status.context("running `cargo install`")?.success() {
        bail!("{PROGRAM} {version} cannot be installed; see above");
    }
    Ok(())
}

/// Finds or installs the standard library for a target.
pub(crate) fn provide_target(repo: &Repo, target: &str) -> bool {
    let rustup = |arguments: &[&str]| {
        let mut command = Command::new("rustup");
        command.args(arguments).current_dir(&repo.root);
        command
    };
    let list = rustup(&["target", "list", "--installed"]).output();
    let list = list.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    if list.is_ok_and(|list| list.lines().any(|line| line.trim() == target)) {
        return true;
    }
    println!("installing the standard library for {target}");
    succeeds(&mut rustup(&["target", "add", target])).is_ok_and(|added| added)
}

/// Finds or installs a cargo command; advises how to get it otherwise.
pub(crate) fn provide_cargo_command(repo: &Repo, name: &str) -> bool {
    let is_there = || {
        let version = repo.cargo(&[name, "--version"]).output();
        version.is_ok_and(|output| output.status.success())
    };
    if is_there() {
        return true;
    }
    let package = format!("cargo-{name}");
    println!("installing {package}");
    let installed = succeeds(&mut repo.cargo(&["install", "--quiet", "--locked", &package]));
    let is_ready = installed.is_ok_and(|installed| installed) && is_there();
    if !is_ready {
        println!("help: cargo install --locked {package}");
    }
    is_ready
}

/// Returns the version of a package in a lock file.
fn locked_version<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let entry = format!("name = \"{package}\"\nversion = \"");
    let (_, rest) = lock.split_once(&entry)?;
    rest.split('"').next()
}

/// Fuzz targets available here.
pub(crate) enum FuzzTargets {
    Ready(Vec<String>),
    /// How to get what is missing.
    Missing(String),
}

/// Runs every fuzz target for some seconds each.
pub(crate) fn fuzz(repo: &Repo, seconds: u32) -> Result<bool> {
    match fuzz_targets(repo)? {
        FuzzTargets::Ready(names) => fuzz_each(repo, &names, seconds),
        FuzzTargets::Missing(how) => bail!("{how}"),
    }
}

/// Lists the fuzz targets, or returns what is missing to run them.
pub(crate) fn fuzz_targets(repo: &Repo) -> Result<FuzzTargets> {
    if !repo.root.join("fuzz/Cargo.toml").is_file() {
        println!("there are no fuzz targets yet");
        return Ok(FuzzTargets::Ready(Vec::new()));
    }
    let listing = cargo_fuzz(repo, &["list"]).output();
    let Some(listing) = listing.ok().filter(|output| output.status.success()) else {
        let how = "needs cargo-fuzz and a nightly compiler; run \
                   `rustup toolchain install nightly` and `cargo install --locked cargo-fuzz`";
        return Ok(FuzzTargets::Missing(how.to_owned()));
    };
    let text = String::from_utf8(listing.stdout).context("reading the list of fuzz targets")?;
    Ok(FuzzTargets::Ready(text.split_whitespace().map(str::to_owned).collect()))
}

/// Runs the named targets one after another; continues after a failed one.
fn fuzz_each(repo: &Repo, names: &[String], seconds: u32) -> Result<bool> {
    let mut all_good = true;
    for name in names {
        println!("fuzz {name} for {seconds} s");
        let limit = format!("-max_total_time={seconds}");
        all_good &= succeeds(&mut cargo_fuzz(repo, &["run", name, "--", &limit]))?;
    }
    Ok(all_good)
}

/// Returns a `cargo fuzz` command; it needs the nightly compiler, hence rustup's `cargo`.
pub(crate) fn cargo_fuzz(repo: &Repo, args: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(["+nightly", "fuzz"]).args(args).current_dir(&repo.root);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_the_lock_file() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.2.3\"\n\n[[package]]\nname = \"ab\"\nversion = \"4.5.6\"\n";
        assert_eq!(locked_version(lock, "ab"), Some("4.5.6"));
        assert_eq!(locked_version(lock, "b"), None);
    }
}
