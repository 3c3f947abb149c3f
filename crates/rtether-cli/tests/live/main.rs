//! The verbs that use this host, as their users meet them.
//!
//! Oracle: the documented exit codes, and what is left behind.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod doctor;
mod load;

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
