//! Network namespaces of a test bed.
//!
//! They are made and removed by `ip` (iproute2), so that a user can repeat by hand what was done.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::process::Command;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Begins the names of all namespaces and devices that rtether makes.
pub const PREFIX: &str = "rtether-";

/// A named network namespace, removed with its devices when dropped.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

/// A command that failed.
#[derive(Debug, thiserror::Error)]
#[error("`{command}`: {message}")]
pub struct CommandError {
    /// What was run.
    pub command: String,
    /// What it said.
    pub message: String,
}

impl Namespace {
    /// Makes a namespace with its loopback device up.
    pub fn create(name: &str) -> Result<Self, CommandError> {
        let name = format!("{PREFIX}{name}");
        run(&format!("ip netns add {name}"))?;
        let this = Self { name };
        this.run("ip link set lo up")?;
        Ok(this)
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs an `ip` command inside.
    pub fn run(&self, command: &str) -> Result<String, CommandError> {
        run(&format!("ip netns exec {} {command}", self.name))
    }

    /// Moves the calling thread inside, for sockets that it opens from now on.
    pub fn enter(&self) -> io::Result<()> {
        let file = File::open(format!("/run/netns/{}", self.name))?;
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
        Ok(())
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // Nothing can be done about a failure here; the next start removes what is left.
        let _ = run(&format!("ip netns delete {}", self.name));
    }
}

/// Runs a command of words separated by spaces and returns its output.
pub fn run(command: &str) -> Result<String, CommandError> {
    let failed = |message: String| CommandError {
        command: command.to_owned(),
        message,
    };
    let mut words = command.split_whitespace();
    let program = words.next().unwrap_or_default();
    let output = Command::new(program).args(words).output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).trim().to_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(failed(text(&output.stderr)))
    }
}
