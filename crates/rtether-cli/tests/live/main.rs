//! The verbs that use this host, as their users see them.
//!
//! Oracle: the documented exit codes, and what is left behind.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod awake;
mod calibrate;
mod doctor;
mod linger;
mod load;
mod services;
mod shim;
#[path = "../common/skip.rs"]
mod skip;
mod ssh;
mod stop;
mod testbed;
mod topic;
mod topic_tools;

use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use skip::skip;

pub(crate) fn rtether() -> Command {
    Command::new(env!("CARGO_BIN_EXE_rtether"))
}

/// Runs the command as a user without rights; the test itself needs root for that.
pub(crate) fn without_rights(arguments: &[&str]) -> Output {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    // Readable by others: the build folder may not be.
    let name = format!("rtether-rights-{}-{number}", std::process::id());
    let program = std::env::temp_dir().join(name);
    // Not by this process: a child of another test holding the open file would keep it from
    // running.
    let copied = Command::new("cp")
        .arg(env!("CARGO_BIN_EXE_rtether"))
        .arg(&program)
        .status();
    assert!(copied.unwrap().success());
    let output = Command::new("setpriv")
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
        .arg(&program)
        .args(arguments)
        .output();
    std::fs::remove_file(&program).unwrap();
    output.unwrap()
}

/// Repeats a call interrupted by a signal, such as at the end of any child: the kernel does not
/// restart calls with a time-out.
pub(crate) fn repeated<T>(mut call: impl FnMut() -> std::io::Result<T>) -> std::io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
