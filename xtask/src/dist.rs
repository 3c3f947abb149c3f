//! What is given to users: programs for each system, Debian packages, what they are made of, and
//! the sums of all that.
//!
//! The same commit gives the same octets on every machine with this toolchain, wherever it is
//! checked out: no path, name or time of the machine gets into a file.

mod debian;
mod installed;
mod library;
mod materials;
mod prove;
mod target;
mod tree;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::args;
use crate::child::heed_signals;
use crate::profile::PACKAGE;
use crate::repo::Repo;
use library::Library;
pub(crate) use prove::{Proof, prove};
use target::{Built, TARGETS, Target};

/// Default folder of the packages.
const FOLDER: &str = "target/packages";
/// Name of the file with the sums.
const SUMS: &str = "SHA256SUMS";

/// Makes everything in a folder; with `proves`, tries and repeats it, too.
pub(crate) fn run(repo: &Repo, options: &args::Dist) -> Result<bool> {
    heed_signals()?;
    let folder = repo.output(options.folder.as_deref(), FOLDER)?;
    let choice = Choice::of(options.only.as_deref())?;
    if !options.proves {
        let counts = options.profile.as_deref().map(Path::new);
        let made = make(repo, &folder, &epoch(repo), &choice, counts)?;
        print!("{}", made.list()?);
        return Ok(true);
    }
    let proofs = prove(repo, &folder, &choice)?;
    Ok(proofs.iter().all(Proof::is_good))
}

/// What to make: programs for these systems, and the C library or not.
#[derive(Debug)]
pub(crate) struct Choice {
    targets: Vec<&'static Target>,
    has_library: bool,
}

impl Choice {
    /// Returns all, or that of a name.
    pub(crate) fn of(only: Option<&str>) -> Result<Self> {
        let is_wanted = |own: &str| only.is_none_or(|name| own == name);
        let targets = TARGETS.iter().filter(|own| is_wanted(own.name));
        let this = Self { targets: targets.collect(), has_library: is_wanted(library::NAME) };
        if this.targets.is_empty() && !this.has_library {
            let names = TARGETS.iter().map(|own| own.name);
            let names: Vec<&str> = names.chain([library::NAME]).collect();
            bail!("there are {}", names.join(", "));
        }
        Ok(this)
    }
}

/// What [`make`] has made.
struct Made {
    folder: PathBuf,
    version: String,
    built: Vec<Built>,
    /// Counts by which the program that runs here was arranged.
    counts: Option<PathBuf>,
    /// Names of all files but that with their sums.
    names: Vec<String>,
    /// What could not be made here, with what it needs.
    missing: Vec<String>,
}

/// Makes everything that can be made here; `epoch` is the time of files in packages, in seconds since
/// 1970. The program that runs here is arranged by `counts`, made here if none are given.
fn make(
    repo: &Repo,
    folder: &Path,
    epoch: &str,
    choice: &Choice,
    counts: Option<&Path>,
) -> Result<Made> {
    let metadata = repo.metadata()?;
    let version = version(&metadata).with_context(|| format!("{PACKAGE} has no version"))?;
    // They may be in the folder that is cleared now.
    let read = |path: &Path| fs::read(path).with_context(|| format!("reading {}", path.display()));
    let counts = counts.map(read).transpose()?;
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("clearing {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    let mut made = Made {
        folder: folder.to_owned(),
        version,
        built: Vec::new(),
        counts: None,
        names: Vec::new(),
        missing: Vec::new(),
    };
    for &target in &choice.targets {
        if target.runs_here() {
            made.count(repo, target, counts.as_deref())?;
        }
        let own = made.counts.as_deref().filter(|_| target.runs_here());
        match target.build(repo, own)? {
            Ok(file) => made.add_program(Built { target, file })?,
            Err(lack) => made.missing.push(format!("{}: {lack}", target.triple)),
        }
    }
    if !choice.targets.is_empty() {
        made.add_packages(repo, epoch)?;
    }
    if choice.has_library {
        made.add_library(repo, epoch)?;
    }
    let materials = materials::list(repo, &made.version)?;
    made.add(&format!("rtether-{}.cdx.json", made.version), &materials)?;
    made.add_sums()?;
    for lack in &made.missing {
        println!("not made: {lack}");
    }
    Ok(made)
}

impl Made {
    fn add(&mut self, name: &str, text: &str) -> Result<()> {
        let path = self.folder.join(name);
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        self.names.push(name.to_owned());
        Ok(())
    }

    /// Adds the counts of the program that runs here, those given or new ones: a second build needs
    /// them.
    fn count(&mut self, repo: &Repo, target: &Target, given: Option<&[u8]>) -> Result<()> {
        let counts = match given {
            Some(given) => given.to_vec(),
            None => match target.count(repo)? {
                Ok(counts) => {
                    fs::read(&counts).with_context(|| format!("reading {}", counts.display()))?
                }
                Err(lack) => {
                    self.missing.push(format!("counts of typical work: {lack}"));
                    return Ok(());
                }
            },
        };
        let name = format!("rtether-{}-{}.profdata", self.version, target.name);
        let to = self.folder.join(&name);
        fs::write(&to, counts).with_context(|| format!("writing {}", to.display()))?;
        self.names.push(name);
        self.counts = Some(to);
        Ok(())
    }

    fn add_program(&mut self, built: Built) -> Result<()> {
        let name = built.target.program(&self.version);
        let to = self.folder.join(&name);
        fs::copy(&built.file, &to).with_context(|| format!("writing {}", to.display()))?;
        self.names.push(name);
        self.built.push(built);
        Ok(())
    }

    /// Adds a Debian package of each program that has one. Its pages come from the program that runs
    /// here.
    fn add_packages(&mut self, repo: &Repo, epoch: &str) -> Result<()> {
        let Some(own) = self.built.iter().find(|built| built.target.runs_here()) else {
            self.missing
                .push("Debian packages: their pages come from a program that runs here".to_owned());
            return Ok(());
        };
        let pages = debian::Pages::of(repo, &own.file)?;
        let mut names = Vec::new();
        for built in &self.built {
            let Some(architecture) = built.target.debian else {
                continue;
            };
            let package = debian::Package {
                version: &self.version,
                architecture,
                program: &built.file,
                pages: &pages,
                epoch,
            };
            match package.make(&self.folder)? {
                Ok(name) => names.push(name),
                Err(lack) => self.missing.push(format!("Debian package: {lack}")),
            }
        }
        self.names.extend(names);
        Ok(())
    }

    /// Adds the packages of the C library for this machine.
    fn add_library(&mut self, repo: &Repo, epoch: &str) -> Result<()> {
        match Library::build(repo, &self.version)? {
            Ok(library) => self.names.extend(library.make(repo, &self.folder, epoch)?),
            Err(lack) => self.missing.push(format!("the C library: {lack}")),
        }
        Ok(())
    }

    /// Writes the sums of all files, in the form that `sha256sum --check` reads.
    fn add_sums(&mut self) -> Result<()> {
        self.names.sort();
        let mut command = Command::new("sha256sum");
        command.arg("--binary").args(&self.names);
        let output = command.current_dir(&self.folder).output();
        let output = output.context("running sha256sum")?;
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stderr));
        }
        let path = self.folder.join(SUMS);
        fs::write(&path, output.stdout).with_context(|| format!("writing {}", path.display()))
    }

    /// Returns the files with their sizes.
    fn list(&self) -> Result<String> {
        let mut lines = vec![format!("in {}:\n", self.folder.display())];
        for name in &self.names {
            let path = self.folder.join(name);
            let known = fs::metadata(&path).with_context(|| path.display().to_string())?;
            lines.push(format!("{:>11}  {name}\n", known.len()));
        }
        Ok(lines.concat())
    }
}

fn version(metadata: &Value) -> Option<String> {
    let packages = metadata["packages"].as_array()?;
    let command = packages.iter().find(|one| one["name"] == PACKAGE)?;
    command["version"].as_str().map(str::to_owned)
}

/// Returns the time that files in packages bear: that of the commit, in seconds since 1970; without
/// git it is 0 unless the variable says it.
fn epoch(repo: &Repo) -> String {
    if let Ok(given) = std::env::var("SOURCE_DATE_EPOCH") {
        return given;
    }
    let mut git = Command::new("git");
    git.args(["log", "-1", "--format=%ct"]).current_dir(&repo.root);
    let output = git.output().ok().filter(|output| output.status.success());
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.filter(|text| !text.is_empty()).unwrap_or_else(|| "0".to_owned())
}
