//! Examines another host through ssh.

use std::fmt::Write as _;
use std::io;
use std::process::{Command, Stdio};

use super::{DoctorOptions, Report, parse};
use crate::ssh::{NO_COMMAND, OPTIONS, SSH_FAILED, drain, is_host, last_line};

/// Why another host could not be examined.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// Not a host name.
    #[error("`{0}` is not a host; write a name, an address, or USER@HOST")]
    NoHost(String),
    /// No ssh on this host.
    #[error("cannot run ssh: {0}; install an ssh client")]
    NoSsh(io::Error),
    /// No connection.
    #[error(
        "ssh cannot connect to `{host}`: {message}; try `ssh {host} true`, which must not ask for \
         anything"
    )]
    NoConnection {
        /// The host.
        host: String,
        /// What ssh reported.
        message: String,
    },
    /// The host has no rtether.
    #[error(
        "`{0}` has no rtether in the path of ssh; copy the program there, for example \
         `scp $(command -v rtether) {0}:/usr/local/bin/`"
    )]
    NoProgram(String),
    /// The output is not a report.
    #[error("`{host}` did not answer with a list of findings: {message}")]
    BadAnswer {
        /// The host.
        host: String,
        /// What is wrong.
        message: String,
    },
}

/// Examines another host by `ssh HOST rtether doctor --json`.
///
/// # Errors
/// If rtether on the host gives no answer.
pub fn examine_remote(host: &str, options: &DoctorOptions) -> Result<Report, RemoteError> {
    if !is_host(host) {
        return Err(RemoteError::NoHost(host.to_owned()));
    }
    let mut command =
        format!("rtether doctor --json --watch {}ms", options.watch.as_ps() / 1_000_000_000);
    if !options.probe {
        command.push_str(" --no-probe");
    }
    if let Some(size) = options.sample {
        _ = write!(command, " --sample {size}B");
    }
    let mut child = Command::new("ssh")
        .args(OPTIONS)
        .args(["--", host])
        .arg(command)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(RemoteError::NoSsh)?;
    let (answer, complaint) = std::thread::scope(|scope| {
        let complaint = child.stderr.take();
        let complaint = scope.spawn(move || drain(complaint));
        let answer = drain(child.stdout.take());
        (answer, complaint.join().unwrap_or_default())
    });
    let status = child.wait().map_err(RemoteError::NoSsh)?;
    let message = || last_line(&complaint);
    match status.code() {
        Some(SSH_FAILED) => {
            Err(RemoteError::NoConnection { host: host.to_owned(), message: message() })
        }
        Some(code) if NO_COMMAND.contains(&code) => Err(RemoteError::NoProgram(host.to_owned())),
        _ => parse(&answer).map_err(|problem| RemoteError::BadAnswer {
            host: host.to_owned(),
            message: match message() {
                said if said.is_empty() => problem,
                said => format!("{problem}; it said: {said}"),
            },
        }),
    }
}
