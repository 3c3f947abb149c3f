//! Verbs on a Linux host, and what `check` has from them. `no_host` stands in for all of it
//! elsewhere.

mod agent;
mod awake;
mod calibrate;
mod confine;
mod doctor;
mod domain;
mod echo;
mod identify;
mod live;
mod load;
mod manager;
mod messages;
mod ping;
mod progress;
mod publish;
mod quantity;
mod read;
mod shim;
mod socket;
mod spy;
mod stop;
mod subscribe;
mod test_bed;
mod topic;
mod types;
mod watch;

use clap::Subcommand;

use crate::deferred::Deferred;
use crate::exit::Exit;

pub(crate) use rtether_testbed::is_output_closed;
pub(crate) use test_bed::{CheckLive, Measured, TestBed};

/// A verb on this host.
#[derive(Debug, Subcommand)]
pub(crate) enum HostVerb {
    /// Measure round trips to a host
    Ping(Deferred<ping::PingArgs>),
    /// Answer the requests of `ping`, or act as a controller board
    Echo(Deferred<echo::EchoArgs>),
    /// Publish samples of a topic over RTPS
    Pub(Deferred<publish::PubArgs>),
    /// Subscribe to a topic over RTPS and show its samples
    Sub(Deferred<subscribe::SubArgs>),
    /// List the participants of an RTPS domain and what does not match
    Spy(Deferred<spy::SpyArgs>),
    /// Manage the applications of this host in a domain of RTPS 1.0
    Manager(Deferred<manager::ManagerArgs>),
    /// Compare what comes at a device with a plan, frame by frame
    Watch(Deferred<watch::WatchArgs>),
    /// Run a scenario in network namespaces or on hosts, and measure it
    Live(Deferred<live::LiveArgs>),
    /// Play an end station for `live --backend ssh` of another host, over standard input and output
    #[command(hide = true)]
    LiveAgent,
    /// Generate background load, or receive it
    Load(Deferred<load::LoadArgs>),
    /// Measure the cost of this host's network stack, for scenarios
    Calibrate(Deferred<calibrate::CalibrateArgs>),
    /// Measure what a device costs, by requests that only read
    Identify(Deferred<identify::IdentifyArgs>),
    /// Check whether this host is fit for measurements, with remedies
    Doctor(Deferred<doctor::DoctorArgs>),
    /// Put queues, tags and smoother between the stack and a device
    Shim(Deferred<shim::ShimArgs>),
}

/// Words that name verbs which may handle signals themselves.
pub(crate) const HANDLES_SIGNALS: &[&str] = &["shim", "live-agent"];

impl HostVerb {
    /// Runs it.
    pub(crate) fn run(&self) -> Exit {
        match self {
            Self::Ping(arguments) => ping::run(arguments),
            Self::Echo(arguments) => echo::run(arguments),
            Self::Pub(arguments) => publish::run(arguments),
            Self::Sub(arguments) => subscribe::run(arguments),
            Self::Spy(arguments) => spy::run(arguments),
            Self::Manager(arguments) => manager::run(arguments),
            Self::Watch(arguments) => watch::run(arguments),
            Self::Live(arguments) => live::run(arguments),
            Self::LiveAgent => agent::run(),
            Self::Load(arguments) => load::run(arguments),
            Self::Calibrate(arguments) => calibrate::run(arguments),
            Self::Identify(arguments) => identify::run(arguments),
            Self::Doctor(arguments) => doctor::run(arguments),
            Self::Shim(arguments) => shim::run(arguments),
        }
    }

    /// Returns whether it ends in its own way when signalled: a shim does, and an agent ends with
    /// its coordinator.
    pub(crate) const fn handles_signals(&self) -> bool {
        matches!(self, Self::Shim(_) | Self::LiveAgent)
    }
}
