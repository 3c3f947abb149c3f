//! The verbs that use this host, as their users see them.
//!
//! Oracle: the documented exit codes, and what is left behind.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod awake;
mod calibrate;
mod doctor;
mod hosts;
mod identify;
mod linger;
mod load;
mod ping;
mod real_time;
mod rtps1;
mod services;
mod shim;
mod ssh;
mod stop;
mod testbed;
mod topic;
mod topic_tools;
mod watch;

use std::process::Command;

use rtether_testkit::{Ended, Folder, Run};

pub(crate) fn rtether() -> Command {
    Command::new(env!("CARGO_BIN_EXE_rtether"))
}

/// Copies `rtether` to a place that other users can read.
///
/// Another program copies: a test that forks meanwhile would hold the copy open for writing, and
/// such a file cannot be run.
pub(crate) fn copy_program(to: &str) {
    let copied = Command::new("cp").args([env!("CARGO_BIN_EXE_rtether"), to]).status();
    assert!(copied.is_ok_and(|status| status.success()), "{to}");
}

/// Runs the command as a user without rights; the test itself needs root for that.
pub(crate) fn without_rights(arguments: &[&str]) -> Ended {
    // Readable by others: the build folder may not be.
    let folder = Folder::new("rights");
    let program = folder.file("rtether");
    // Not by this process: a child of another test holding the open file would keep it from
    // running.
    let mut copy = Command::new("cp");
    copy.args([env!("CARGO_BIN_EXE_rtether"), &program]);
    copy.run().exits(0);
    Command::new("setpriv")
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
        .arg(&program)
        .args(arguments)
        .run()
}
