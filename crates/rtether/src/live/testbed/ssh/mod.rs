//! A scenario on real hosts: an agent of rtether on each, started by ssh, plays an end station;
//! links and switches are whatever is between them.
//!
//! The coordinator ([`run`]) starts `rtether live-agent` on every host, tells it its station and
//! where the others are, compares clocks, names the time at which all begin, and collects what they
//! saw. An agent ([`serve`]) ends when its connection does, however that happens; it makes nothing
//! on its host that would stay.

mod agent;
mod clocks;
mod coordinator;
mod heard;
mod hosts;
mod merge;
mod output;
mod party;
mod records;
mod session;
mod station;
#[cfg(test)]
mod tests;
mod wire;

use rtether_model::network::NodeId;

use super::measured::Measured;
use super::{Options, Progress, TestbedError};
use crate::live::doctor::RemoteError;
use crate::scenario::{Override, Scenario};

pub use agent::{AgentError, serve};
pub use clocks::{Basis, HostClock};
// For tests and fuzz targets alone.
#[doc(hidden)]
pub use heard::{Heard, heard};
pub use hosts::{Plan, Remote};
pub(super) use output::{json, leave_open, lines};

/// The verb of the command line that is an agent.
pub const VERB: &str = "live-agent";

/// A real host, as it took part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostReport {
    /// The node that it played.
    pub node: NodeId,
    /// What ssh calls it.
    pub target: String,
    /// Its device.
    pub device: String,
    /// The device's address for IP and for Ethernet.
    pub addresses: [String; 2],
    /// Its clock; none if it fell out.
    pub clock: Option<HostClock>,
}

/// Why a host cannot take part, or fell out.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// There is no way to it, or no rtether.
    #[error(transparent)]
    Ssh(#[from] RemoteError),
    /// It has another rtether.
    #[error(
        "{host} has another rtether ({theirs}, here {ours}); copy this one there, for example \
         `scp $(command -v rtether) {target}:/usr/local/bin/`"
    )]
    Version {
        /// The host.
        host: String,
        /// What ssh calls it.
        target: String,
        /// Its version.
        theirs: String,
        /// Our version.
        ours: &'static str,
    },
    /// It says something else.
    #[error(
        "what {host} says is not that of an agent of rtether: {what}; `ssh {target} true` must not \
         print anything"
    )]
    Malformed {
        /// The host.
        host: String,
        /// What ssh calls it.
        target: String,
        /// What is wrong.
        what: String,
    },
    /// The agent cannot do it.
    #[error("{host}: {why}")]
    Refused {
        /// The host.
        host: String,
        /// Why, with the remedy.
        why: String,
        /// Whether what was asked for is wrong, and not the host.
        is_input: bool,
    },
    /// What is to be said is too long.
    #[error("{0} is longer than the {max} KiB that are sent at once; write it into the scenario",
        max = wire::LINE_MAX >> 10)]
    TooLong(&'static str),
    /// No answer.
    #[error("{host} does not answer ({doing}); is it suspended, or the way to it interrupted?")]
    Silent {
        /// The host.
        host: String,
        /// What was going on.
        doing: &'static str,
    },
    /// The connection is over.
    #[error("the connection to {host} ended{}", said(.message))]
    Closed {
        /// The host.
        host: String,
        /// What ssh or the agent said last; may be empty.
        message: String,
    },
    /// Two stations that talk with each other are on one host.
    #[error(
        "`{a}` and `{b}` are in the same network namespace of one host, so that packets between \
         them would never be on a wire; give one of them another host"
    )]
    SameHost {
        /// A station.
        a: String,
        /// Another one.
        b: String,
    },
    /// Ended before the run.
    #[error("interrupted before anything was measured")]
    Interrupted,
}

fn said(message: &str) -> String {
    if message.is_empty() {
        String::new()
    } else {
        format!(": {message}")
    }
}

impl HostError {
    /// Returns whether what was asked for is wrong, and not a host.
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

/// What agents are told of a scenario: they read it themselves.
#[derive(Clone, Copy, Debug)]
pub struct Source<'s> {
    /// The file.
    pub text: &'s str,
    /// Values that were replaced in it.
    pub changes: &'s [Override],
}

/// Runs the flows of a scenario between real hosts and returns what was measured; no agent is left
/// behind. `source` is what `scenario` was read from.
///
/// # Errors
/// If a host cannot take part, or the run was ended before it began. Hosts that fall out later are
/// errors in what is returned.
pub fn run(
    scenario: &Scenario,
    source: Source<'_>,
    plan: &Plan,
    options: &Options,
    progress: &Progress,
) -> Result<Measured, TestbedError> {
    Ok(coordinator::run(scenario, source, plan, options, progress)?)
}
