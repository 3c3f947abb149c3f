//! What holds for the packages: built again elsewhere they are the same octets, they run where
//! there is nothing else, their results are those of this machine's own build, and crates can be
//! published.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::target::{Built, cargo_home};
use super::{Choice, Made, debian, installed, make};
use crate::child::succeeds;
use crate::generate;
use crate::needs::{is_root, provide_one};
use crate::repo::Repo;

/// Scenarios that also slow machines run: emulated processors, and other systems.
const FEW: &[&str] = &["bottling-line", "hub", "publish-subscribe", "substation"];
/// Time of a run on those.
const SHORT: &[&str] = &["--runs", "1", "--for", "2s"];
/// Verbs that need Linux.
const OF_LINUX: &str = "ping";

/// One statement, and whether it holds.
pub(crate) struct Proof {
    what: String,
    outcome: Outcome,
}

/// Whether it holds.
enum Outcome {
    Good,
    /// It does not; why.
    Bad(String),
    /// What is missing to say.
    Skipped(String),
}

impl Proof {
    /// Returns whether nothing speaks against it.
    pub(crate) const fn is_good(&self) -> bool {
        !matches!(self.outcome, Outcome::Bad(_))
    }

    /// Returns what is missing to say whether it holds.
    pub(crate) fn skipped(&self) -> Option<String> {
        match &self.outcome {
            Outcome::Skipped(reason) => Some(format!("{}: {reason}", self.what)),
            Outcome::Good | Outcome::Bad(_) => None,
        }
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            Outcome::Good => write!(f, "ok: {}", self.what),
            Outcome::Bad(why) => write!(f, "FAILED: {}: {why}", self.what),
            Outcome::Skipped(why) => write!(f, "skipped: {}: {why}", self.what),
        }
    }
}

/// Makes the packages, and tries all of them.
pub(crate) fn prove(repo: &Repo, folder: &Path, choice: &Choice) -> Result<Vec<Proof>> {
    let made = make(repo, folder, &super::epoch(repo), choice, None)?;
    print!("{}", made.list()?);
    let mut proofs = Proofs(Vec::new());
    for lack in &made.missing {
        proofs.skip("a package for every system", lack);
    }
    if !made.built.is_empty() {
        proofs.programs(repo, &made)?;
    }
    if choice.has_library {
        let what = "programs in C and C++98 are built with the installed library, and run";
        match installed::try_out(repo, &made.folder, &made.names)? {
            Ok(held) => proofs.add(what, held),
            Err(lack) => proofs.skip(what, &lack),
        }
    }
    let what = "built again in another folder, all files have the same octets";
    proofs.add(what, repeat(repo, &made, choice));
    if !made.built.is_empty() {
        proofs.add("every crate can be published", publish(repo));
    }
    Ok(proofs.0)
}

/// What was found so far.
struct Proofs(Vec<Proof>);

impl Proofs {
    /// Tries the programs, their packages, and the action that takes them.
    fn programs(&mut self, repo: &Repo, made: &Made) -> Result<()> {
        let reference = generate::build(repo)?;
        for built in &made.built {
            let name = built.target.program(&made.version);
            let what = format!("{name} says the same as this machine's build");
            match Place::of(repo, built)? {
                Ok(place) => self.add(&what, place.agrees(repo, &reference)),
                Err(lack) => self.skip(&what, &lack),
            }
        }
        for name in &made.names {
            if !name.starts_with(debian::PREFIX) {
                continue;
            }
            let what = format!("{name} is installed in an empty root");
            if is_root() {
                self.add(&what, install(repo, &made.folder.join(name)));
            } else {
                self.skip(&what, "needs root");
            }
        }
        let what = "the action takes a program whose sum is right, and no other";
        if !made.built.iter().any(|built| built.target.runs_here()) {
            self.skip(what, "needs a program that runs here");
        } else if provide_one(&["curl"], &["curl"], "to fetch the program of a release").is_some() {
            self.add(what, fetch(repo, made));
        } else {
            self.skip(what, "needs curl");
        }
        Ok(())
    }

    fn add(&mut self, what: &str, held: Result<()>) {
        let outcome = match held {
            Ok(()) => Outcome::Good,
            Err(error) => Outcome::Bad(format!("{error:#}")),
        };
        self.put(what, outcome);
    }

    fn skip(&mut self, what: &str, why: &str) {
        self.put(what, Outcome::Skipped(why.to_owned()));
    }

    fn put(&mut self, what: &str, outcome: Outcome) {
        let what = what.to_owned();
        let proof = Proof { what, outcome };
        // All of them take an hour.
        println!("{proof}");
        self.0.push(proof);
    }
}

/// A folder of its own, removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Result<Self> {
        let name = format!("rtether-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Processes of an emulator may still have files there for a moment.
        drop(fs::remove_dir_all(&self.0));
    }
}

/// Where a program is tried.
struct Place {
    folder: Scratch,
    /// Words before those of the program's arguments.
    words: Vec<String>,
    /// Whether the whole set of scenarios is run.
    is_fast: bool,
    /// Whether the verbs of Linux are there.
    is_linux: bool,
}

impl Place {
    /// Puts a program into an empty root, or under the emulator of its system; inside, what is
    /// missing for that.
    fn of(repo: &Repo, built: &Built) -> Result<Result<Self, String>> {
        let target = built.target;
        let folder = Scratch::new(target.triple)?;
        let program = folder.0.join("rtether.exe");
        fs::copy(&built.file, &program).context("copying the program")?;
        for file in repo.scenarios()? {
            let name = file.file_name().context("a file without a name")?;
            fs::copy(&file, folder.0.join(name)).context("copying a scenario")?;
        }
        let mut place = Self {
            words: vec!["chroot".to_owned(), folder.0.display().to_string()],
            folder,
            is_fast: target.runs_here(),
            is_linux: target.debian.is_some(),
        };
        if !place.is_linux {
            let Some(wine) =
                provide_one(&["wine"], &["wine", "wine64"], "to run programs for Windows")
            else {
                return Ok(Err("needs wine".to_owned()));
            };
            let mut library = Command::new("x86_64-w64-mingw32-gcc");
            library.args(["-shared", "-o"]).arg(place.folder.0.join("bcryptprimitives.dll"));
            library.arg(repo.root.join("xtask/src/dist/prng.c")).arg("-ladvapi32");
            if !succeeds(&mut library)? {
                bail!("the library for Wine does not build; see above");
            }
            place.words = vec![wine.display().to_string(), program.display().to_string()];
            return Ok(Ok(place));
        }
        if !is_root() {
            return Ok(Err("needs root".to_owned()));
        }
        if !target.runs_here() {
            let purpose = "to run programs for other processors";
            let names = &["qemu-aarch64-static"];
            let Some(emulator) = provide_one(names, &["qemu-user-static"], purpose) else {
                return Ok(Err("needs qemu-aarch64-static".to_owned()));
            };
            fs::copy(&emulator, place.folder.0.join("emulator")).context("copying it")?;
            place.words.push("/emulator".to_owned());
        }
        place.words.push("/rtether.exe".to_owned());
        Ok(Ok(place))
    }

    /// Compares results of scenarios with those of another program.
    fn agrees(&self, repo: &Repo, reference: &Path) -> Result<()> {
        let has = self.say(&[OF_LINUX, "--help"])?.0;
        if has != self.is_linux {
            bail!("`{OF_LINUX}` is there: {has}");
        }
        let mut count = 0;
        for file in repo.scenarios()? {
            let stem = file.file_stem().unwrap_or_default().to_string_lossy();
            let is_chosen = FEW.contains(&&*stem);
            if !self.is_fast && !is_chosen {
                continue;
            }
            let name = format!("{stem}.yaml");
            let mut arguments = vec!["check", &name, "--json"];
            if !self.is_fast {
                arguments.extend(SHORT);
            }
            let mut command = Command::new(reference);
            command.args(&arguments).current_dir(repo.root.join("scenarios"));
            let expected = outcome(&mut command)?;
            if self.say(&arguments)? != expected {
                bail!("`rtether {}` says something else", arguments.join(" "));
            }
            count += 1;
        }
        println!("{count} scenarios: the same results");
        Ok(())
    }

    /// Runs the program; returns whether it succeeded, and what it printed.
    fn say(&self, arguments: &[&str]) -> Result<(bool, String)> {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).args(arguments).current_dir(&self.folder.0);
        if !self.is_linux {
            // A system of its own, without the windows that it would ask for.
            let prefix = self.folder.0.join("wine");
            command.env("WINEPREFIX", prefix).env("WINEDEBUG", "-all");
            command.env("WINEDLLOVERRIDES", "mscoree,mshtml=").env_remove("DISPLAY");
        }
        outcome(&mut command)
    }
}

fn outcome(command: &mut Command) -> Result<(bool, String)> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let output = output.output().with_context(|| format!("running {command:?}"))?;
    // Exit code 1 is the verdict; an error prints nothing.
    let text = String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n");
    Ok((output.status.success(), text))
}

/// Installs a package where there is nothing, and looks for what it brings.
fn install(repo: &Repo, package: &Path) -> Result<()> {
    let root = Scratch::new("root")?;
    for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates"] {
        fs::create_dir_all(root.0.join(folder)).with_context(|| format!("making {folder}"))?;
    }
    fs::write(root.0.join("var/lib/dpkg/status"), "").context("making the list of packages")?;
    let mut install = Command::new("dpkg");
    install.arg(format!("--root={}", root.0.display()));
    install.args(["--force-architecture", "--log=/dev/null", "--install"]);
    if !succeeds(install.arg(package).stdout(Stdio::null()))? {
        bail!("dpkg refuses it; see above");
    }
    let units = fs::read_dir(repo.root.join("packaging/systemd")).context("listing units")?;
    let units = units.flatten().map(|unit| {
        let name = unit.file_name().to_string_lossy().into_owned();
        format!("usr/lib/systemd/system/{name}")
    });
    let fixed = [
        "usr/bin/rtether",
        "usr/share/bash-completion/completions/rtether",
        "usr/share/doc/rtether/copyright",
        "usr/share/man/man1/rtether.1.gz",
        "usr/share/man/man1/rtether-check.1.gz",
    ];
    for path in fixed.into_iter().map(str::to_owned).chain(units) {
        if !root.0.join(&path).is_file() {
            bail!("it brings no {path}");
        }
    }
    if package.to_string_lossy().ends_with("_amd64.deb") {
        let mut inside = Command::new("chroot");
        let (is_good, text) = outcome(inside.arg(&root.0).args(["/usr/bin/rtether", "--version"]))?;
        if !is_good || !text.starts_with("rtether ") {
            bail!("its program says `{text}`");
        }
    }
    Ok(())
}

/// Fetches the program as the action for continuous integration does, from the folder; then with
/// another sum.
fn fetch(repo: &Repo, made: &Made) -> Result<()> {
    let scratch = Scratch::new("release")?;
    for name in made.names.iter().map(String::as_str).chain([super::SUMS]) {
        fs::copy(made.folder.join(name), scratch.0.join(name)).context("copying the release")?;
    }
    let provide = |to: &str| {
        let mut provide = Command::new("bash");
        provide.arg(repo.root.join("packaging/ci/provide.sh"));
        provide.arg(&made.version).arg(scratch.0.join(to));
        let place = format!("file://{}", scratch.0.display());
        provide.env("RTETHER_RELEASES", place).stderr(Stdio::null());
        Ok::<bool, anyhow::Error>(
            succeeds(&mut provide)? && scratch.0.join(to).join("rtether").is_file(),
        )
    };
    if !provide("good")? {
        bail!("the program is not provided");
    }
    let sums = fs::read_to_string(scratch.0.join(super::SUMS)).context("reading the sums")?;
    let other = sums.replace(['1', '2'], "3");
    fs::write(scratch.0.join(super::SUMS), other).context("writing other sums")?;
    if provide("bad")? {
        bail!("a program with another sum is taken");
    }
    Ok(())
}

/// Makes everything again, of a copy of the sources in another folder.
fn repeat(repo: &Repo, made: &Made, choice: &Choice) -> Result<()> {
    let scratch = Scratch::new("again")?;
    for path in repo.paths()? {
        let to = scratch.0.join(&path);
        let folder = to.parent().context("a file without a folder")?;
        fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        let from = repo.root.join(&path);
        // What is deleted, but not yet for git, is not there.
        if from.is_file() {
            fs::copy(&from, &to).with_context(|| format!("copying {path}"))?;
        }
    }
    let copy = Repo { root: scratch.0.clone() };
    let (folder, epoch) = (scratch.0.join("packages"), super::epoch(repo));
    let again = make(&copy, &folder, &epoch, choice, made.counts.as_deref())?;
    if made.names != again.names {
        bail!("these are other files: {}", again.names.join(", "));
    }
    for name in &made.names {
        let read = |made: &Made| fs::read(made.folder.join(name));
        if read(made)? != read(&again)? {
            bail!("{name} differs");
        }
    }
    Ok(())
}

/// Packs every crate, and builds it of what was packed.
///
/// Cargo takes crates with one name and version for the same: where an earlier run has packed them,
/// it would build those.
fn publish(repo: &Repo) -> Result<()> {
    let scratch = Scratch::new("publish")?;
    let registries = Registries::of(cargo_home()?);
    let arguments = ["publish", "--workspace", "--dry-run", "--allow-dirty"];
    let mut publish = repo.cargo(&arguments);
    let is_good = succeeds(publish.arg("--quiet").env("CARGO_TARGET_DIR", &scratch.0))?;
    drop(registries);
    if !is_good {
        bail!("`cargo {}` fails; see above", arguments.join(" "));
    }
    Ok(())
}

/// What Cargo keeps of each registry. On drop, it forgets those that have come since and have no
/// host: they were folders that are gone.
struct Registries {
    cargo: PathBuf,
    before: BTreeSet<PathBuf>,
}

impl Registries {
    fn of(cargo: PathBuf) -> Self {
        let before = Self::all(&cargo);
        Self { cargo, before }
    }

    fn all(cargo: &Path) -> BTreeSet<PathBuf> {
        let kinds = ["cache", "index", "src"].map(|kind| cargo.join("registry").join(kind));
        let entries = kinds.into_iter().flat_map(fs::read_dir).flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    }
}

impl Drop for Registries {
    fn drop(&mut self) {
        for folder in Self::all(&self.cargo).difference(&self.before) {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            // It begins with the host.
            if name.starts_with('-') {
                drop(fs::remove_dir_all(folder));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registries_in_folders_are_forgotten() {
        let cargo = Scratch::new("registries").unwrap();
        let source = |name: &str| cargo.0.join("registry/src").join(name);
        let make = |name: &str| fs::create_dir_all(source(name).join("crate-1.0.0")).unwrap();
        make("-before");
        let registries = Registries::of(cargo.0.clone());
        make("-since");
        make("index.crates.io-since");
        drop(registries);
        assert!(source("-before").exists());
        assert!(!source("-since").exists());
        assert!(source("index.crates.io-since").exists());
    }
}
