//! A scenario on real hosts: an agent of rtether on each, started by ssh, plays an end station;
//! links and switches are those of the real network.
//!
//! The coordinator ([`run`]) starts `rtether live-agent` on every host, assigns its station,
//! distributes the addresses, compares clocks, sets the start time, and collects the reports. An
//! agent ([`serve`]) ends with its connection, however that ends; it leaves nothing on its host.

mod agent;
mod agents;
mod clocks;
mod coordinator;
mod heard;
mod hosts;
mod merge;
mod output;
mod records;
mod session;
mod station;
#[cfg(test)]
mod tests;
mod wire;

use super::measured::Measured;
use super::{Options, Progress, TestbedError};
use crate::doctor::RemoteError;
use rtether::scenario::{Override, Scenario};

pub use agent::{AgentError, serve};
// For tests and fuzz targets only.
pub use super::host_report::{Basis, HostClock, HostReport};
#[doc(hidden)]
pub use heard::{Heard, heard};
pub use hosts::{Deployment, Remote};
pub(super) use output::{HostJson, json, leave_open, lines};

/// The command-line verb that runs an agent.
pub const VERB: &str = "live-agent";

/// Why a host cannot take part, or dropped out.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// It cannot be reached, or has no rtether.
    #[error(transparent)]
    Ssh(#[from] RemoteError),
    /// Its rtether is different.
    #[error(
        "{host} has another rtether ({theirs}, here {ours}); copy this one there, for example \
         `scp $(command -v rtether) {target}:/usr/local/bin/`"
    )]
    Version {
        /// The host.
        host: String,
        /// Name of the host for ssh.
        target: String,
        /// Its version.
        theirs: String,
        /// Our version.
        ours: &'static str,
    },
    /// Its output is not that of an agent.
    #[error(
        "what {host} says is not that of an agent of rtether: {what}; `ssh {target} true` must not \
         print anything"
    )]
    Malformed {
        /// The host.
        host: String,
        /// Name of the host for ssh.
        target: String,
        /// What is wrong with it.
        what: String,
    },
    /// The agent cannot carry out an order.
    #[error("{host}: {why}")]
    Refused {
        /// The host.
        host: String,
        /// The reason, with a remedy.
        why: String,
        /// Whether the input is wrong, rather than the host.
        is_input: bool,
    },
    /// An order is too long.
    #[error("{0} is longer than the {max} KiB that are sent at once; write it into the scenario",
        max = wire::LINE_MAX >> 10)]
    TooLong(&'static str),
    /// No answer.
    #[error("{host} does not answer ({doing}); is it suspended, or the way to it interrupted?")]
    Silent {
        /// The host.
        host: String,
        /// What was in progress.
        doing: &'static str,
    },
    /// The connection ended.
    #[error("the connection to {host} ended{}", said(.message))]
    Closed {
        /// The host.
        host: String,
        /// Last message of ssh or the agent; may be empty.
        message: String,
    },
    /// Two communicating stations are on one host.
    #[error(
        "`{a}` and `{b}` are in the same network namespace of one host, so that packets between \
         them would never be on a wire; give one of them another host"
    )]
    SameHost {
        /// A station.
        a: String,
        /// The other station.
        b: String,
    },
    /// Stopped before the run.
    #[error("interrupted before anything was measured")]
    Interrupted,
}

fn said(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}

impl HostError {
    /// Returns whether the input is wrong, rather than a host.
    pub const fn is_input(&self) -> bool {
        match self {
            Self::Ssh(RemoteError::NoSsh(_)) => false,
            Self::Refused { is_input, .. } => *is_input,
            Self::Ssh(_)
            | Self::Version { .. }
            | Self::Malformed { .. }
            | Self::TooLong(_)
            | Self::SameHost { .. } => true,
            Self::Silent { .. } | Self::Closed { .. } | Self::Interrupted => false,
        }
    }
}

/// The scenario as sent to the agents, which parse it themselves.
#[derive(Clone, Copy, Debug)]
pub struct Source<'s> {
    /// Text of the file.
    pub text: &'s str,
    /// Overrides of its values.
    pub changes: &'s [Override],
}

/// Runs the flows of a scenario between real hosts and returns the measurement; leaves no agent
/// behind. `source` is what `scenario` was read from.
///
/// # Errors
/// If a host cannot take part, or the run was stopped before it began. Hosts that drop out later
/// are errors in the result.
pub fn run(
    scenario: &Scenario,
    source: Source<'_>,
    deployment: &Deployment,
    options: &Options,
    progress: &Progress,
) -> Result<Measured, TestbedError> {
    Ok(coordinator::run(scenario, source, deployment, options, progress)?)
}
