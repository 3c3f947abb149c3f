//! The wheel on an older system: the C library and the Python that it promises to work with.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::{PACKAGE, Proved};
use crate::bare_root::{Root, mirror};
use crate::child::succeeds;
use crate::needs::{is_root, provide_one};
use crate::repo::Repo;

/// A release of Debian with the oldest Python that the wheel supports, 3.9, and version 2.31 of the
/// C library.
const SUITE: &str = "bullseye";
/// What is tried there, without any other package.
const TESTS: [&str; 3] = ["test_rtether.py", "test_live.py", "test_sweep.py"];

/// Installs the wheel in a new root of that release, and runs the command and tests there.
pub(super) fn prove(repo: &Repo, wheel: &Path) -> Result<Proved> {
    if !is_root() {
        return Ok(skipped("needs root"));
    }
    let purpose = "to make a system of an older release";
    if provide_one(&["debootstrap"], &["debootstrap"], purpose).is_none() {
        return Ok(skipped("needs debootstrap"));
    }
    let Some((mirror, _)) = mirror() else {
        return Ok(skipped("needs a Debian system whose package lists say where packages are"));
    };
    let root = Root::make(repo, "older-root")?;
    println!("{SUITE} in {}", root.path("/").display());
    let mut make = Command::new("debootstrap");
    make.args(["--variant=minbase", "--include=python3,python3-venv"]);
    make.arg(SUITE).arg(root.path("/")).arg(&mirror);
    if !succeeds(make.stdout(std::process::Stdio::null()))? {
        return Ok(skipped(&format!("debootstrap failed with {mirror}, see above")));
    }
    let name = wheel.file_name().context("a wheel without a name")?;
    let there = root.path("/opt").join(name);
    std::fs::copy(wheel, &there).with_context(|| format!("writing {}", there.display()))?;
    let inside = Path::new("/opt").join(name);
    let venv = "python3 -m venv /opt/venv && /opt/venv/bin/pip install --quiet --no-index \"$0\"";
    let install = [Path::new("sh"), "-c".as_ref(), venv.as_ref(), &inside];
    let version = ["/opt/venv/bin/rtether", "--version"].map(Path::new);
    let mut commands = vec![install.to_vec(), version.to_vec()];
    let tests = TESTS.map(|name| Path::new(SOURCES).join(PACKAGE).join("tests").join(name));
    for test in &tests {
        commands.push(vec![Path::new("/opt/venv/bin/python"), test]);
    }
    for command in &commands {
        if !succeeds(&mut within(&root, repo, command))? {
            return Ok(Proved { is_good: false, skipped: None });
        }
    }
    Ok(Proved { is_good: true, skipped: None })
}

fn skipped(reason: &str) -> Proved {
    Proved { is_good: true, skipped: Some(format!("the wheel on Debian {SUITE}: {reason}")) }
}

/// Where the sources are inside, as nobody may change them.
const SOURCES: &str = "/opt/sources";

/// Returns a command that runs in the root. Its mounts are only visible there, and all its
/// processes end with the first one.
fn within(root: &Root, repo: &Repo, command: &[&Path]) -> Command {
    let script = r#"
set -e
root=$1 sources=$2 inside=$3
shift 3
mount -t proc proc "$root/proc"
mkdir -p "$root$inside"
mount --bind "$sources" "$root$inside"
mount -o remount,bind,ro "$root$inside"
exec chroot "$root" "$@"
"#;
    let mut within = Command::new("unshare");
    within.args(["--mount", "--pid", "--fork", "--kill-child"]);
    within.args(["--propagation", "private", "sh", "-c", script, "sh"]);
    within.arg(root.path("/")).arg(&repo.root).arg(SOURCES);
    within.args(command).env_clear();
    within
        .env("HOME", "/root")
        .env("LANG", "C.UTF-8")
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("RTETHER_ROOT", SOURCES);
    within
}
