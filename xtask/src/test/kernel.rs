//! A kernel for machines that tests emulate: a package of Debian, unpacked and not installed, since an
//! installed one would be what this machine starts next.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::needs::{apt_get, is_root};
use crate::repo::Repo;

/// Tests find the folder in this variable, and skip themselves without it.
const VARIABLE: &str = "RTETHER_LINUX";
/// Depends on the smallest of Debian's kernels that have all queueing disciplines.
const PACKAGE: &str = "linux-image-cloud-amd64";
/// Written last, so that an interrupted run leaves no half of a kernel.
const COMPLETE: &str = "complete";

/// Returns the variable and the folder with `boot/vmlinuz-VERSION` and `lib/modules`; tells why there
/// is none otherwise.
pub(super) fn provide(repo: &Repo) -> Option<(&'static str, PathBuf)> {
    if let Some(given) = env::var_os(VARIABLE) {
        return Some((VARIABLE, given.into()));
    }
    let folder = repo.root.join("target/linux");
    if !folder.join(COMPLETE).exists() {
        println!("fetching the kernel of {PACKAGE}");
        let mut fetched = fetch(&folder);
        // Lists of packages that are old or empty name no version that still exists.
        if fetched.is_err() && is_root() && apt_get(&["update", "-q"]) {
            fetched = fetch(&folder);
        }
        if let Err(error) = fetched {
            println!("a kernel is missing; it is needed to try settings in an emulated machine");
            println!("{error:#}");
            println!(
                "help: unpack the kernel that Debian's {PACKAGE} depends on, and set {VARIABLE} to \
                 the folder"
            );
            return None;
        }
    }
    println!("kernel: {}", folder.display());
    Some((VARIABLE, folder))
}

fn fetch(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    let depends = output(Command::new("apt-cache").args(["depends", PACKAGE]))?;
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
