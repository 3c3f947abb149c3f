//! Network namespaces of a test bed.
//!
//! They are created and removed by `ip` (iproute2), so that a user can repeat the steps by hand.

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Prefix of the names of all namespaces and devices created by rtether.
pub const PREFIX: &str = "rtether-";

/// A named network namespace, removed with its devices when dropped.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

/// A command with its arguments, as run and as shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine(Vec<String>);

impl CommandLine {
    /// Returns the command in `text`, whose words are separated by single spaces.
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
    /// It runs in a separate process group: Ctrl-C at a terminal must reach only this program,
    /// which then removes what has been created, and not a command halfway through its work.
    pub fn run(&self) -> Result<String, CommandError> {
        let failed = |message: String| self.failed(message);
        let (program, arguments) = self.0.split_first().ok_or_else(|| failed("empty".into()))?;
        let mut command = Command::new(program);
        command.args(arguments).process_group(0);
        let mut output = command.output();
        // The child is briefly in our group. If a signal ends it then, it has done nothing yet.
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

    /// Runs `tc` commands without spaces in arguments, one after another up to the first failure,
    /// in one process: on a busy machine separate processes may take seconds.
    pub fn run_batch(commands: &[Self]) -> Result<(), CommandError> {
        let Some(first) = commands.first() else {
            return Ok(());
        };
        let lines = commands.iter().map(|command| command.0[1..].join(" "));
        let lines: Vec<String> = lines.collect();
        let mut batch = Command::new("tc");
        batch.args(["-batch", "-"]).process_group(0);
        let pipes = batch.stdin(Stdio::piped()).stdout(Stdio::null());
        let done = pipes.stderr(Stdio::piped()).spawn().and_then(|mut child| {
            let mut input = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
            // After a failure the process stops reading.
            let _ = writeln!(input, "{}", lines.join("\n"));
            drop(input);
            child.wait_with_output()
        });
        let output = done.map_err(|error| first.failed(error.to_string()))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let which = said.rsplit_once("failed -:").map(|(_, number)| number);
        let which = which.and_then(|number| number.parse::<usize>().ok()?.checked_sub(1));
        let command = which.and_then(|index| commands.get(index));
        Err(command.unwrap_or(first).failed(said))
    }

    fn failed(&self, message: String) -> CommandError {
        CommandError { command: self.to_string(), message }
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, word) in self.0.iter().enumerate() {
            let space = if index > 0 { " " } else { "" };
            let is_plain = !word.is_empty()
                && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./:@,+=%".contains(&b));
            if is_plain {
                write!(f, "{space}{word}")?;
            } else {
                write!(f, "{space}'{}'", word.replace('\'', "'\\''"))?;
            }
        }
        Ok(())
    }
}

/// Moves the calling thread into a namespace created by `ip netns`, for sockets opened from now on.
pub fn enter(name: &str) -> io::Result<()> {
    let file = File::open(format!("{FOLDER}/{name}"))?;
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
    Ok(())
}

/// Where `ip netns` keeps namespaces.
const FOLDER: &str = "/run/netns";

/// Returns the names of all namespaces with this prefix.
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
    /// Its error output.
    pub message: String,
}

impl Namespace {
    /// Creates a namespace with its loopback device up.
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

    /// Runs a command inside.
    pub fn run(&self, command: &str) -> Result<String, CommandError> {
        run(&format!("ip netns exec {} {command}", self.name))
    }

    /// Moves the calling thread inside, for sockets opened from now on.
    pub fn enter(&self) -> io::Result<()> {
        enter(&self.name)
    }
}

/// Connects two namespaces by a pair of devices of the same name, each with its address.
pub fn join(device: &str, [near, far]: [(&Namespace, Ipv4Addr); 2]) -> Result<(), CommandError> {
    run(&format!(
        "ip link add {device} netns {} type veth peer name {device} netns {}",
        near.0.name, far.0.name
    ))?;
    for (host, address) in [near, far] {
        host.run(&format!("ip address add {address}/24 dev {device}"))?;
        host.run(&format!("ip link set {device} up"))?;
    }
    Ok(())
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // A failure is ignored; the next start removes what is left.
        let _ = run(&format!("ip netns delete {}", self.name));
    }
}

/// Runs a command whose words are separated by spaces, and returns its output.
pub fn run(command: &str) -> Result<String, CommandError> {
    CommandLine::words(command).run()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: `tc` shows the queue of a loopback device without set-up; by hand, the second line
    /// fails.
    #[test]
    fn a_batch_names_the_command_that_failed() {
        let words = |text: &&str| CommandLine::words(text);
        let good = ["tc qdisc show dev lo", "tc class show dev lo"].map(|text| words(&text));
        assert!(CommandLine::run_batch(&good).is_ok());
        assert!(CommandLine::run_batch(&[]).is_ok());
        let bad = ["tc qdisc show dev lo", "tc qdisc show dev rtether-none", "tc nonsense"];
        let error = CommandLine::run_batch(&bad.map(|text| words(&text))).unwrap_err();
        let said = error.to_string();
        assert!(said.starts_with("`tc qdisc show dev rtether-none`"), "{said}");
    }

    /// Oracle: `/proc/PID/stat` (proc(5)): the first field is the process, the fifth its group.
    #[test]
    fn what_a_terminal_signals_is_not_a_command() {
        let stat = CommandLine::words("cat /proc/self/stat").run().unwrap();
        let fields: Vec<&str> = stat.split(' ').collect();
        assert_eq!(fields[0], fields[4], "{stat}");
    }
}
