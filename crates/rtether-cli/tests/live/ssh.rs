//! `rtether live --backend ssh`: hosts that do not take part, and whole runs between network
//! namespaces with an OpenSSH daemon in each.
//!
//! Whole runs need root, iproute2 and OpenSSH (client and server); a test that cannot run prints
//! why, and is counted.

mod bed;
mod refused;
mod runs;

use std::process::Command;

use crate::rtether;

/// Returns the command that runs a scenario between these hosts.
pub(super) fn live(scenario: &str, hosts: &[&str]) -> Command {
    let mut command = rtether();
    command.args(["live", "--no-progress", "--backend", "ssh"]);
    command.args(hosts.iter().flat_map(|host| ["--host", host]));
    command.arg(scenario);
    command
}
