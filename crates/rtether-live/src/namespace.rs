//! Network namespaces of a test bed.
//!
//! They are made and removed by `ip` (iproute2), so that a user can repeat by hand what was done.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Command;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Begins the names of all namespaces and devices that rtether makes.
pub const PREFIX: &str = "rtether-";

/// A named network namespace, removed with its devices when dropped.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

/// A command with its arguments, as it is run and as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine(Vec<String>);

impl CommandLine {
    /// Returns the command of words that are separated by single spaces.
    pub fn words(text: &str) -> Self {
        Self(text.split(' ').map(str::to_owned).collect())
    }

    /// Adds one argument, which may contain spaces.
    #[must_use]
    pub fn argument(mut self, argument: String) -> Self {
        self.0.push(argument);
        self
    }

    /// Runs it and returns its output.
    ///
    /// It is in a process group of its own: Ctrl-C at a terminal is for us, who then remove what has
    /// been made, and not for a command that is halfway through making or removing it.
    pub fn run(&self) -> Result<String, CommandError> {
        let failed = |message: String| CommandError {
            command: self.to_string(),
            message,
        };
        let (program, arguments) = self.0.split_first().ok_or_else(|| failed("empty".into()))?;
        let mut command = Command::new(program);
        command.args(arguments).process_group(0);
        let mut output = command.output();
        // It is in our group for a moment. What a signal ends then has done nothing yet.
        if output.as_ref().is_ok_and(|o| o.status.signal().is_some()) {
            output = command.output();
        }
        let output = output.map_err(|error| failed(error.to_string()))?;
        let text = |octets: &[u8]| String::from_utf8_lossy(octets).trim().to_owned();
        if output.status.success() {
            Ok(text(&output.stdout))
        } else {
            Err(failed(text(&output.stderr)))
        }
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, word) in self.0.iter().enumerate() {
            let space = if index > 0 { " " } else { "" };
            let is_plain = !word.is_empty()
                && word
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"-_./:@,+=%".contains(&b));
            if is_plain {
                write!(f, "{space}{word}")?;
            } else {
                write!(f, "{space}'{}'", word.replace('\'', "'\\''"))?;
            }
        }
        Ok(())
    }
}

/// Moves the calling thread into a namespace made by `ip netns`, for sockets that it opens from now
/// on.
pub fn enter(name: &str) -> io::Result<()> {
    let file = File::open(format!("{FOLDER}/{name}"))?;
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
    Ok(())
}

/// Where `ip netns` keeps namespaces.
const FOLDER: &str = "/run/netns";

/// Returns the names of all namespaces that begin so.
pub fn list(prefix: &str) -> Vec<String> {
    let entries = std::fs::read_dir(FOLDER).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(prefix)).collect();
    names.sort();
    names
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
        enter(&self.name)
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
    CommandLine::words(command).run()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: `/proc/PID/stat` (proc(5)): the first field is the process, the fifth its group.
    #[test]
    fn what_a_terminal_signals_is_not_a_command() {
        let stat = CommandLine::words("cat /proc/self/stat").run().unwrap();
        let fields: Vec<&str> = stat.split(' ').collect();
        assert_eq!(fields[0], fields[4], "{stat}");
    }
}
