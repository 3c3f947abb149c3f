//! What rtether writes, read by the programs that it is for. Oracle: these programs, installed with pip
//! from lists in `validation/` into virtual environments of their own.

mod reports;
mod saihu;
mod tsnkit;

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use rtether_testkit::skip;

/// Plants that each reader reads.
const PLANTS: u64 = 30;

/// Held by the test that installs readers.
static INSTALLS: Mutex<()> = Mutex::new(());

/// Returns Python with the readers of a list installed; `None` if that cannot be.
fn python(list: &str) -> Option<PathBuf> {
    let Some(python) = env::var_os("RTETHER_PYTHON") else {
        skip("needs Python, whose path is in RTETHER_PYTHON");
        return None;
    };
    let _alone = INSTALLS.lock();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(list);
    let own = folder.join("bin/python");
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../validation/{list}.txt"));
    let make = try_to(Command::new(python).args(["-m", "venv"]).arg(&folder));
    let pip = ["-m", "pip", "install", "--quiet", "-r"];
    let made = make.and_then(|_| try_to(Command::new(&own).args(pip).arg(list)));
    if let Err(why) = made {
        skip(&format!("needs packages of Python: {why}"));
        return None;
    }
    Some(own)
}

/// Runs a program, and returns what it printed, or else its last words.
fn try_to(command: &mut Command) -> Result<String, String> {
    let output = command.output().expect("a program that can be started");
    let errors = String::from_utf8_lossy(&output.stderr);
    let last = errors.lines().last().unwrap_or("no reason");
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(last.to_owned())
    }
}

/// Runs a program that must succeed, and returns what it printed.
fn run(command: &mut Command) -> String {
    let output = command.output().expect("a program that can be started");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{text}\n{errors}");
    text
}
