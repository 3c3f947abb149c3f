//! Kernels for machines that tests emulate: packages of Debian, unpacked and not installed, since an
//! installed one would be what this machine starts next.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::needs::{apt_get, is_root};
use crate::repo::Repo;

/// A kernel.
pub(super) struct Kernel {
    /// Tests find the folder in this variable, and skip themselves without it.
    variable: &'static str,
    /// Depends on the package with the kernel.
    package: &'static str,
    /// Where it is, below `target`.
    folder: &'static str,
}

/// The smallest of Debian's kernels that have all queueing disciplines.
pub(super) const USUAL: Kernel =
    Kernel { variable: "RTETHER_LINUX", package: "linux-image-cloud-amd64", folder: "linux" };
/// Debian's kernel with `PREEMPT_RT`.
pub(super) const REAL_TIME: Kernel =
    Kernel { variable: "RTETHER_LINUX_RT", package: "linux-image-rt-amd64", folder: "linux-rt" };
/// Written last, so that an interrupted run leaves no half of a kernel.
const COMPLETE: &str = "complete";

/// Returns the variable and the folder with `boot/vmlinuz-VERSION` and `lib/modules`; tells why there
/// is none otherwise.
pub(super) fn provide(repo: &Repo, kernel: &Kernel) -> Option<(&'static str, PathBuf)> {
    let Kernel { variable, package, folder } = kernel;
    if let Some(given) = env::var_os(variable) {
        return Some((variable, given.into()));
    }
    let folder = repo.root.join("target").join(folder);
    if !folder.join(COMPLETE).exists() {
        println!("fetching the kernel of {package}");
        let mut fetched = fetch(package, &folder);
        // Lists of packages that are old or empty name no version that still exists.
        if fetched.is_err() && is_root() && apt_get(&["update", "-q"]) {
            fetched = fetch(package, &folder);
        }
        if let Err(error) = fetched {
            println!("a kernel is missing, which tests start in an emulated machine");
            println!("{error:#}");
            println!(
                "help: unpack the kernel that Debian's {package} depends on, and set {variable} to \
                 the folder"
            );
            return None;
        }
    }
    println!("kernel: {}", folder.display());
    Some((variable, folder))
}

fn fetch(package: &str, folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    let depends = output(Command::new("apt-cache").args(["depends", package]))?;
    let mut words = depends.split_whitespace().skip_while(|word| *word != "Depends:");
    let package = words.nth(1).context("no such package")?;
    output(Command::new("apt-get").args(["download", "-q", package]).current_dir(folder))?;
    let mut files = fs::read_dir(folder)?.flatten().map(|entry| entry.path());
    let file = files.next().context("apt-get has left no package")?;
    output(Command::new("dpkg-deb").arg("-x").arg(&file).arg(folder))?;
    fs::remove_file(file)?;
    fs::write(folder.join(COMPLETE), "")?;
    Ok(())
}

fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    ensure!(output.status.success(), "{command:?}: {}", text(&output.stderr));
    Ok(text(&output.stdout))
}
