//! The systems for which there is a program, and how it is built for each.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::needs::provide_one;
use crate::profile::{self, Build};
use crate::repo::Repo;
use crate::upkeep::provide_target;

/// A system, by the compiler's name of it.
#[derive(Debug)]
pub(crate) struct Target {
    pub(super) triple: &'static str,
    /// How files of it are called, and what their names end with.
    pub(super) name: &'static str,
    suffix: &'static str,
    /// Arguments of the compiler beyond those of all targets.
    flags: &'static [&'static str],
    /// The linker, and the Debian package that has it; empty for those that the toolchain's own
    /// links: they need no compiler of C.
    linker: [&'static [&'static str]; 2],
    /// Its name in Debian.
    pub(super) debian: Option<&'static str>,
}

/// A program as it was built.
#[derive(Debug)]
pub(super) struct Built {
    pub(super) target: &'static Target,
    pub(super) file: PathBuf,
}

/// All systems.
pub(super) const TARGETS: &[Target] = &[
    Target {
        triple: "x86_64-unknown-linux-musl",
        name: "linux-x86_64",
        suffix: "",
        flags: &["-Clinker=rust-lld"],
        linker: [&[], &[]],
        debian: Some("amd64"),
    },
    Target {
        triple: "aarch64-unknown-linux-musl",
        name: "linux-aarch64",
        suffix: "",
        flags: &["-Clinker=rust-lld"],
        linker: [&[], &[]],
        debian: Some("arm64"),
    },
    Target {
        triple: "x86_64-pc-windows-gnu",
        name: "windows-x86_64",
        suffix: ".exe",
        // Otherwise the file has the time of the build.
        flags: &["-Clink-arg=-Wl,--no-insert-timestamp"],
        linker: [&["x86_64-w64-mingw32-gcc"], &["gcc-mingw-w64-x86-64"]],
        debian: None,
    },
];

impl Target {
    /// Returns the name of its program among the packages.
    pub(super) fn program(&self, version: &str) -> String {
        format!("rtether-{version}-{}{}", self.name, self.suffix)
    }

    /// Returns whether its programs run on this machine.
    pub(super) fn runs_here(&self) -> bool {
        let system = format!("{}-{}", env::consts::OS, env::consts::ARCH);
        self.name == system
    }

    /// Builds the program, arranged by counts if there are some, and returns its file; inside, what is
    /// missing here.
    pub(super) fn build(
        &self,
        repo: &Repo,
        counts: Option<&Path>,
    ) -> Result<Result<PathBuf, String>> {
        if let Some(lack) = self.lack(repo) {
            return Ok(Err(lack));
        }
        let build = Build { triple: self.triple, flags: &self.all_flags(repo)?, counts };
        build.run(repo).map(Ok)
    }

    /// Counts what the program does, if it runs here, and returns the file; inside, what is missing.
    pub(super) fn count(&self, repo: &Repo) -> Result<Result<PathBuf, String>> {
        match self.lack(repo) {
            Some(lack) => Ok(Err(lack)),
            None => profile::count(repo, self.triple, &self.all_flags(repo)?),
        }
    }

    /// Returns what is missing here to build the program.
    fn lack(&self, repo: &Repo) -> Option<String> {
        if !provide_target(repo, self.triple) {
            return Some(format!("needs `rustup target add {}`", self.triple));
        }
        let [linker, packages] = self.linker;
        let purpose = "to link programs for Windows";
        if !linker.is_empty() && provide_one(linker, packages, purpose).is_none() {
            return Some(format!("needs {}", linker.join(" ")));
        }
        None
    }

    /// Returns its flags; none of the folders of this machine is named in the program.
    fn all_flags(&self, repo: &Repo) -> Result<String> {
        let mut flags = vec![no_paths(repo)?];
        flags.extend(self.flags.iter().map(|flag| (*flag).to_owned()));
        if !self.linker[0].is_empty() {
            // By themselves these tools let paths of this machine into the program.
            for tool in ["linker", "dlltool"] {
                let script = repo.root.join(format!("xtask/src/dist/{tool}.sh"));
                flags.push(format!("-C{tool}={}", script.display()));
            }
        }
        if let Some(spaced) = flags[1..].iter().find(|flag| flag.contains(' ')) {
            bail!("a folder of this machine has a blank in its name: {spaced}");
        }
        Ok(flags.join(" "))
    }
}

/// Returns the flags with which no folder of this machine is named in what is built.
pub(super) fn no_paths(repo: &Repo) -> Result<String> {
    let registry = cargo_home()?.join("registry/src");
    let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    let flags = [remap(&repo.root, "/rtether"), remap(&registry, "/registry")];
    if let Some(spaced) = flags.iter().find(|flag| flag.contains(' ')) {
        bail!("a folder of this machine has a blank in its name: {spaced}");
    }
    Ok(flags.join(" "))
}

/// Returns the folder of Cargo.
pub(super) fn cargo_home() -> Result<PathBuf> {
    let home = || env::home_dir().map(|home| home.join(".cargo"));
    let cargo = env::var_os("CARGO_HOME").map(PathBuf::from);
    cargo.or_else(home).context("there is no CARGO_HOME")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_named_by_version_and_system() {
        let names: Vec<String> = TARGETS.iter().map(|own| own.program("1.2.3")).collect();
        assert_eq!(names[0], "rtether-1.2.3-linux-x86_64");
        assert_eq!(names[2], "rtether-1.2.3-windows-x86_64.exe");
    }

    #[test]
    fn flags_name_no_folder_of_the_machine_in_the_program() {
        let repo = Repo::find().unwrap();
        let flags = TARGETS[0].all_flags(&repo).unwrap();
        let root = format!("--remap-path-prefix={}=/rtether", repo.root.display());
        assert!(flags.contains(&root), "{flags}");
    }
}
