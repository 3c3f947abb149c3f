//! Counts of what the program does on typical work, by which the compiler arranges its code.
//!
//! The program is built with counters, runs simulations, bounds and whole checks, and the counts
//! become one file. A build with the same file gives the same octets, so it is part of what users get.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::child::{Group, heed_signals, succeeds};
use crate::repo::Repo;

/// The package whose command is given out.
pub(crate) const PACKAGE: &str = "rtether-cli";
/// Folder of the counts, below that of what is built.
const FOLDER: &str = "profile";

/// Builds the program of this machine with counts made here.
pub(crate) fn run(repo: &Repo) -> Result<bool> {
    heed_signals()?;
    let host = host(repo)?;
    let counts = match count(repo, &host, "")? {
        Ok(counts) => counts,
        Err(lack) => bail!("{lack}"),
    };
    let build = Build { triple: &host, flags: "", counts: Some(&counts) };
    println!("{}", build.run(repo)?.display());
    Ok(true)
}

/// A build of the program for a system, by the compiler's name of it.
pub(crate) struct Build<'a> {
    pub(crate) triple: &'a str,
    /// Arguments of the compiler for this target only: programs that run during the build are built
    /// as usual.
    pub(crate) flags: &'a str,
    /// Counts by which the code is arranged.
    pub(crate) counts: Option<&'a Path>,
}

impl Build<'_> {
    /// Builds the program, and returns its file.
    pub(crate) fn run(&self, repo: &Repo) -> Result<PathBuf> {
        let mut flags = self.flags.to_owned();
        if let Some(counts) = self.counts {
            flags = format!("{flags} -Cprofile-use={}", counts.display());
        }
        self.build_in(repo, &target_folder(repo)?, &flags)
    }

    fn build_in(&self, repo: &Repo, folder: &Path, flags: &str) -> Result<PathBuf> {
        let mut command = repo.cargo(&["build", "--locked", "--profile", "dist"]);
        command.args(["--package", PACKAGE, "--target", self.triple]);
        command.env(self.flags_variable(), flags.trim());
        // These would take the place of the flags above.
        command.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
        command.env("CARGO_TARGET_DIR", folder).env("CARGO_INCREMENTAL", "0");
        if !succeeds(&mut command)? {
            bail!("the program for {} does not build; see above", self.triple);
        }
        let name = if self.triple.contains("windows") { "rtether.exe" } else { "rtether" };
        Ok(folder.join(self.triple).join("dist").join(name))
    }

    /// Returns the variable with flags for this target only.
    fn flags_variable(&self) -> String {
        let name = self.triple.to_uppercase().replace('-', "_");
        format!("CARGO_TARGET_{name}_RUSTFLAGS")
    }
}

/// Counts what the program for a system that runs here does on typical work, and returns the file;
/// inside, what is missing here. Counts are for the same system and arguments only.
pub(crate) fn count(repo: &Repo, triple: &str, flags: &str) -> Result<Result<PathBuf, String>> {
    let Some(merger) = provide_merger(repo)? else {
        return Ok(Err("needs `rustup component add llvm-tools`".to_owned()));
    };
    let folder = target_folder(repo)?.join(FOLDER);
    let raw = folder.join("raw");
    drop(fs::remove_dir_all(&raw));
    fs::create_dir_all(&raw).with_context(|| format!("making {}", raw.display()))?;
    println!("building the program with counters");
    let build = Build { triple, flags, counts: None };
    // A folder of its own: what was built without counters stays.
    let flags = format!("{flags} -Cprofile-generate");
    let program = build.build_in(repo, &folder.join("target"), &flags)?;
    work(repo, &program, &raw)?;
    let counts = folder.join(format!("{triple}.profdata"));
    let mut merge = Command::new(merger);
    merge.args(["merge", "--output"]).arg(&counts).arg(&raw);
    if !succeeds(&mut merge)? {
        bail!("the counts cannot be merged; see above");
    }
    Ok(Ok(counts))
}

/// Lets the program do typical work: one that waits, one that collides, everything of each scenario of
/// this repository, and the bounds of 6000 flows.
fn work(repo: &Repo, program: &Path, raw: &Path) -> Result<()> {
    let mut all = vec![
        "sim benches/scenarios/star.yaml --for 2s --json".to_owned(),
        "sim benches/scenarios/hub.yaml --for 1s --json".to_owned(),
    ];
    for file in repo.scenarios()? {
        let path = file.strip_prefix(&repo.root).unwrap_or(&file).display();
        all.push(format!("check {path} --runs 1 --json"));
    }
    for line in &all {
        println!("rtether {line}");
        let mut command = Command::new(program);
        command.args(line.split(' ')).args(["--jobs", "1"]);
        observe(&mut command, repo, raw)?;
    }
    println!("benches/bounds.sh");
    let mut bounds = Command::new("bash");
    bounds.arg("benches/bounds.sh").env("RTETHER", program).env("RUNS", "1");
    observe(&mut bounds, repo, raw)
}

/// Runs a command whose counts go to a folder. Requirements that are not met, and slowness, do not
/// matter here.
fn observe(command: &mut Command, repo: &Repo, raw: &Path) -> Result<()> {
    command
        .current_dir(&repo.root)
        .env("LLVM_PROFILE_FILE", raw.join("%p.profraw"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let status = Group::start(command)?.wait()?;
    if status.code().is_none_or(|code| code > 1) {
        bail!("{command:?} ended with {status}");
    }
    Ok(())
}

/// Finds or installs the program that merges counts, which has to be that of the compiler.
fn provide_merger(repo: &Repo) -> Result<Option<PathBuf>> {
    let libraries = say(repo, &["--print", "target-libdir"])?;
    let merger = Path::new(&libraries).with_file_name("bin").join("llvm-profdata");
    if !merger.is_file() {
        println!("installing llvm-tools");
        let mut install = Command::new("rustup");
        install.args(["component", "add", "llvm-tools"]).current_dir(&repo.root);
        drop(succeeds(&mut install));
    }
    Ok(merger.is_file().then_some(merger))
}

/// Returns the compiler's name of this machine.
fn host(repo: &Repo) -> Result<String> {
    let version = say(repo, &["--version", "--verbose"])?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc names no host")
}

fn target_folder(repo: &Repo) -> Result<PathBuf> {
    let metadata = repo.metadata()?;
    let folder = metadata["target_directory"].as_str();
    Ok(PathBuf::from(folder.context("no target directory")?))
}

/// Returns what the compiler says.
fn say(repo: &Repo, arguments: &[&str]) -> Result<String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .args(arguments)
        .current_dir(&repo.root)
        .output()
        .context("running rustc")?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_for_the_target_only() {
        let build = Build { triple: "x86_64-unknown-linux-musl", flags: "", counts: None };
        assert_eq!(build.flags_variable(), "CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_RUSTFLAGS");
    }
}
