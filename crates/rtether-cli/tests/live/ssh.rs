//! `rtether live --backend ssh`: hosts that do not take part, and whole runs between network
//! namespaces with an OpenSSH daemon in each.
//!
//! Whole runs need root, iproute2 and OpenSSH (client and server); a test that cannot run prints
//! why, and is counted.

mod bed;
mod refused;
mod runs;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::rtether;

/// A folder of one test, removed at the end.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    pub(super) fn new(test: &str) -> Self {
        let name = format!("rtether-live-ssh-{test}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(super) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Creates a program `ssh` from this shell script; returns a path that finds it first.
    pub(super) fn ssh(&self, script: &str) -> String {
        let folder = self.0.join("bin");
        std::fs::create_dir_all(&folder).unwrap();
        let program = folder.join("ssh");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Returns the command that runs a scenario between these hosts.
pub(super) fn live(scenario: &Path, hosts: &[&str]) -> Command {
    let mut command = rtether();
    command.args(["live", "--no-progress", "--backend", "ssh"]);
    command.args(hosts.iter().flat_map(|host| ["--host", host]));
    command.arg(scenario);
    command
}

pub(super) fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}
