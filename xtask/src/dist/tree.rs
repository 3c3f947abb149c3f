//! The files of a Debian package on their way into it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::child::succeeds;
use crate::needs::provide_one;

/// Fields that all packages have.
pub(super) const COMMON: &str = "Priority: optional\n\
     Maintainer: The developers of rtether <https://github.com/rtether/rtether>\n\
     Homepage: https://github.com/rtether/rtether\n";

/// Returns what is missing here to make packages.
pub(super) fn lack() -> Option<String> {
    let purpose = "to make Debian packages";
    let found = provide_one(&["dpkg-deb"], &["dpkg"], purpose);
    found.is_none().then(|| "needs dpkg-deb".to_owned())
}

/// The files of a package, removed on drop.
pub(super) struct Tree(PathBuf);

impl Tree {
    /// Begins a package below a folder.
    pub(super) fn new(folder: &Path) -> Self {
        Self(folder.join("tree"))
    }

    /// Writes a text, packed if its name ends so.
    pub(super) fn write_text(&self, path: &str, text: &str) -> Result<()> {
        let plain = path.strip_suffix(".gz");
        self.write(plain.unwrap_or(path), text.as_bytes(), "644")?;
        if let Some(plain) = plain {
            // Neither name nor time in its head.
            let mut pack = Command::new("gzip");
            pack.args(["-9", "-n"]).arg(self.0.join(plain));
            self.run(&mut pack)?;
        }
        Ok(())
    }

    /// Makes a link to a name in the same folder.
    pub(super) fn link(&self, path: &str, to: &str) -> Result<()> {
        let path = self.0.join(path);
        let linked = std::os::unix::fs::symlink(to, &path);
        linked.with_context(|| format!("linking {}", path.display()))
    }

    /// Makes the package, with files of this time.
    pub(super) fn pack(&self, to: &Path, epoch: &str) -> Result<()> {
        let mut pack = Command::new("dpkg-deb");
        pack.args([
            "--build",
            "--root-owner-group",
            "--uniform-compression",
            "-Zxz",
            "--threads-max=1",
        ]);
        pack.arg(&self.0).arg(to).stdout(Stdio::null());
        self.run(pack.env("SOURCE_DATE_EPOCH", epoch))
    }

    pub(super) fn write(&self, path: &str, octets: &[u8], mode: &str) -> Result<()> {
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
    pub(super) fn size(&self) -> Result<String> {
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
