//! The Debian package: the program, its pages, what completes its words in shells, and units of
//! services, none of which is started by installing it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::child::succeeds;
use crate::generate::verbs_in;
use crate::repo::Repo;
use crate::test::needs::provide_one;

/// How names of packages begin; those of programs do not.
pub(super) const PREFIX: &str = "rtether_";
/// Folder of the units in the repository.
const UNITS: &str = "packaging/systemd";
/// Where each shell looks for completions.
const SHELLS: &[(&str, &str)] = &[
    ("bash", "usr/share/bash-completion/completions/rtether"),
    ("fish", "usr/share/fish/vendor_completions.d/rtether.fish"),
    ("zsh", "usr/share/zsh/vendor-completions/_rtether"),
];

/// Files that are text, the same for all machines: where they go, and what they say.
pub(super) struct Pages(Vec<(String, String)>);

impl Pages {
    /// Collects what the program says of itself, the units, and the licenses.
    pub(super) fn of(repo: &Repo, program: &Path) -> Result<Self> {
        let mut all = vec![(page_of("rtether"), say(program, &["man"])?)];
        for verb in verbs_in(&say(program, &["--help"])?) {
            let page = say(program, &["man", &verb])?;
            all.push((page_of(&format!("rtether-{verb}")), page));
        }
        for (shell, place) in SHELLS {
            all.push(((*place).to_owned(), say(program, &["completions", shell])?));
        }
        let read = |path: &str| repo.read(path).with_context(|| format!("reading {path}"));
        for file in repo.text_files()? {
            if let Some(unit) = file.path.strip_prefix(&format!("{UNITS}/")) {
                all.push((format!("usr/lib/systemd/system/{unit}"), file.text));
            }
        }
        let licenses = format!(
            "rtether is under MIT or Apache-2.0, as the user chooses.\n\n{}\n\n{}",
            read("LICENSE-MIT")?,
            read("LICENSE-APACHE")?
        );
        let documents = "usr/share/doc/rtether";
        all.push((format!("{documents}/copyright"), licenses));
        all.push((format!("{documents}/changelog.gz"), read("CHANGELOG.md")?));
        Ok(Self(all))
    }
}

fn page_of(name: &str) -> String {
    format!("usr/share/man/man1/{name}.1.gz")
}

/// Returns what the program prints; the width of help does not depend on a terminal.
fn say(program: &Path, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("COLUMNS", "100")
        .env("NO_COLOR", "1");
    let output = command.stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("running {}", program.display()))?;
    if !output.status.success() {
        bail!("`rtether {}` failed", arguments.join(" "));
    }
    String::from_utf8(output.stdout).context("reading what the program prints")
}

/// A package for one kind of machine.
pub(super) struct Package<'a> {
    pub(super) version: &'a str,
    pub(super) architecture: &'a str,
    pub(super) program: &'a Path,
    pub(super) pages: &'a Pages,
    /// Time of its files, in seconds since 1970.
    pub(super) epoch: &'a str,
}

impl Package<'_> {
    /// Makes the package and returns its name; inside, what is missing here.
    pub(super) fn make(&self, folder: &Path) -> Result<Result<String, String>> {
        let purpose = "to make Debian packages";
        if provide_one(&["dpkg-deb"], &["dpkg"], purpose).is_none() {
            return Ok(Err("needs dpkg-deb".to_owned()));
        }
        let tree = Tree(folder.join("tree"));
        tree.write("usr/bin/rtether", &fs::read(self.program)?, "755")?;
        for (path, text) in &self.pages.0 {
            let plain = path.strip_suffix(".gz");
            tree.write(plain.unwrap_or(path), text.as_bytes(), "644")?;
            if let Some(plain) = plain {
                // Neither name nor time in its head.
                let mut pack = Command::new("gzip");
                pack.args(["-9", "-n"]).arg(tree.0.join(plain));
                tree.run(&mut pack)?;
            }
        }
        tree.write(
            "DEBIAN/control",
            self.control(&tree.size()?).as_bytes(),
            "644",
        )?;
        let name = format!("{PREFIX}{}_{}.deb", self.version, self.architecture);
        let mut pack = Command::new("dpkg-deb");
        pack.args([
            "--build",
            "--root-owner-group",
            "--uniform-compression",
            "-Zxz",
            "--threads-max=1",
        ]);
        pack.arg(&tree.0)
            .arg(folder.join(&name))
            .stdout(Stdio::null());
        tree.run(pack.env("SOURCE_DATE_EPOCH", self.epoch))?;
        Ok(Ok(name))
    }

    /// Returns the control file; `size` is that of the installed files in KiB.
    fn control(&self, size: &str) -> String {
        format!(
            "Package: rtether\nVersion: {}\nArchitecture: {}\nSection: net\nPriority: optional\n\
             Maintainer: The developers of rtether <https://github.com/rtether/rtether>\n\
             Installed-Size: {size}\nHomepage: https://github.com/rtether/rtether\n\
             Description: delays over standard Ethernet: predicted, proved and measured\n \
             From one scenario file rtether simulates a plant, proves bounds, and gives a\n \
             verdict for each flow: in time or not, by what margin, and which hop is\n \
             responsible. The program is one static file.\n",
            self.version, self.architecture
        )
    }
}

/// The files of a package, removed on drop.
struct Tree(PathBuf);

impl Tree {
    fn write(&self, path: &str, octets: &[u8], mode: &str) -> Result<()> {
        let path = self.0.join(path);
        if let Some(folder) = path.parent() {
            let mut make = Command::new("mkdir");
            self.run(make.args(["-p", "-m", "755"]).arg(folder))?;
        }
        fs::write(&path, octets).with_context(|| format!("writing {}", path.display()))?;
        self.run(Command::new("chmod").arg(mode).arg(&path))
    }

    #[allow(clippy::unused_self, reason = "what runs here is about this tree")]
    fn run(&self, command: &mut Command) -> Result<()> {
        if !succeeds(command)? {
            bail!("{command:?} failed; see above");
        }
        Ok(())
    }

    /// Returns the size of all files in KiB, each rounded up, as Debian counts.
    fn size(&self) -> Result<String> {
        let mut pending = vec![self.0.clone()];
        let mut size = 0;
        while let Some(folder) = pending.pop() {
            for entry in fs::read_dir(folder)? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    pending.push(entry.path());
                }
                size += entry.metadata()?.len().div_ceil(1024);
            }
        }
        Ok(size.to_string())
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // What is left is cleared by the next run.
        drop(fs::remove_dir_all(&self.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_file_has_what_dpkg_asks_for() {
        let package = Package {
            version: "1.2.3",
            architecture: "arm64",
            program: Path::new("x"),
            pages: &Pages(Vec::new()),
            epoch: "0",
        };
        let text = package.control("9");
        for field in [
            "Version: 1.2.3\n",
            "Architecture: arm64\n",
            "Installed-Size: 9\n",
        ] {
            assert!(text.contains(field), "{text}");
        }
        // Lines of the description after the first are indented.
        let (_, rest) = text.split_once("Description: ").unwrap();
        assert!(
            rest.lines().skip(1).all(|line| line.starts_with(' ')),
            "{text}"
        );
    }
}
