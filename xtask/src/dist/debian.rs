//! The Debian package: the program, its pages, what completes its words in shells, and units of
//! services, none of which is started by installing it.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::tree::{COMMON, Tree, lack};
use crate::generate::verbs_in;
use crate::repo::Repo;

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
        for file in repo.text_files()? {
            if let Some(unit) = file.path.strip_prefix(&format!("{UNITS}/")) {
                all.push((format!("usr/lib/systemd/system/{unit}"), file.text));
            }
        }
        all.extend(documents(repo, "rtether")?);
        Ok(Self(all))
    }
}

/// Returns license and history, which each package has.
pub(super) fn documents(repo: &Repo, package: &str) -> Result<[(String, String); 2]> {
    let read = |path: &str| repo.read(path).with_context(|| format!("reading {path}"));
    let licenses = format!(
        "rtether is under MIT or Apache-2.0, as the user chooses.\n\n{}\n\n{}",
        read("LICENSE-MIT")?,
        read("LICENSE-APACHE")?
    );
    let folder = format!("usr/share/doc/{package}");
    Ok([
        (format!("{folder}/copyright"), licenses),
        (format!("{folder}/changelog.gz"), read("CHANGELOG.md")?),
    ])
}

fn page_of(name: &str) -> String {
    format!("usr/share/man/man1/{name}.1.gz")
}

/// Returns what the program prints; the width of help does not depend on a terminal.
fn say(program: &Path, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new(program);
    command.args(arguments).env("COLUMNS", "100").env("NO_COLOR", "1");
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
        if let Some(lack) = lack() {
            return Ok(Err(lack));
        }
        let tree = Tree::new(folder);
        tree.write("usr/bin/rtether", &fs::read(self.program)?, "755")?;
        for (path, text) in &self.pages.0 {
            tree.write_text(path, text)?;
        }
        tree.write("DEBIAN/control", self.control(&tree.size()?).as_bytes(), "644")?;
        let name = format!("{PREFIX}{}_{}.deb", self.version, self.architecture);
        tree.pack(&folder.join(&name), self.epoch)?;
        Ok(Ok(name))
    }

    /// Returns the control file; `size` is that of the installed files in KiB.
    fn control(&self, size: &str) -> String {
        format!(
            "Package: rtether\nVersion: {}\nArchitecture: {}\nSection: net\n{}\
             Installed-Size: {size}\n\
             Description: delays over standard Ethernet: predicted, proved and measured\n \
             From one scenario file rtether simulates a plant, proves bounds, and gives a\n \
             verdict for each flow: in time or not, by what margin, and which hop is\n \
             responsible. The program is one static file.\n",
            self.version, self.architecture, COMMON
        )
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
        for field in ["Version: 1.2.3\n", "Architecture: arm64\n", "Installed-Size: 9\n"] {
            assert!(text.contains(field), "{text}");
        }
        // Lines of the description after the first are indented.
        let (_, rest) = text.split_once("Description: ").unwrap();
        assert!(rest.lines().skip(1).all(|line| line.starts_with(' ')), "{text}");
    }
}
