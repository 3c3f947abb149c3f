//! The verbs that use this host, as their users meet them.
//!
//! Oracle: the documented exit codes, and what is left behind.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod calibrate;
mod doctor;
mod load;
mod shim;
mod testbed;

use std::fs::OpenOptions;
use std::io::Write;
use std::process::{Command, Output};

pub(crate) fn rtether() -> Command {
    Command::new(env!("CARGO_BIN_EXE_rtether"))
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Says why a test does not run (`CONTRIBUTING.md`).
#[allow(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn skip(test: &str, reason: &str) {
    let line = format!("SKIP: {test}: {}\n", reason.replace('\n', " "));
    eprint!("{line}");
    if let Some(path) = std::env::var_os("RTETHER_SKIP_LOG") {
        let log = OpenOptions::new().append(true).create(true).open(path);
        let written = log.and_then(|mut log| log.write_all(line.as_bytes()));
        written.expect("the log of skipped tests can be written");
    }
}
