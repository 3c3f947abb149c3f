//! Arguments of `live`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rtether_testbed::testbed::Backend;

use super::RunOverrides;
use super::number;

/// Default real-time priority of stations: above the kernel's ordinary threads, below those of
/// interrupts (50 on kernels with threaded interrupts).
const PRIORITY: u8 = 40;

/// Arguments of `live`.
#[derive(Args, Debug)]
#[command(after_help = LIVE_CODES)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct LiveArgs {
    /// Scenario file, or `-` for standard input
    #[arg(required_unless_present = "clean")]
    pub(crate) scenario: Option<PathBuf>,
    /// What carries frames between the stations
    #[arg(long, value_name = "WHICH", value_enum, default_value_t)]
    pub(crate) backend: LiveBackend,
    /// Play an end station on another host, by `ssh TARGET`, optionally on this device; once per
    /// end station, with `--backend ssh`
    #[arg(long, value_name = "NODE=TARGET[%DEVICE]")]
    pub(crate) host: Vec<String>,
    /// Real-time priority of the stations (`SCHED_FIFO`, 1 to 80), memory locked; 0 for none
    #[arg(
        long,
        value_name = "N",
        default_value_t = PRIORITY,
        value_parser = number::within(0_u8..=80)
    )]
    pub(crate) priority: u8,
    /// Print the commands that create and remove the test bed, and do nothing
    #[arg(long, conflicts_with_all = ["json", "csv", "report", "packets"])]
    pub(crate) dry_run: bool,
    /// Remove what test beds, `calibrate` and `doctor` of ended processes left behind
    #[arg(
        long,
        conflicts_with_all = ["scenario", "dry_run", "host", "json", "csv", "report", "packets"]
    )]
    pub(crate) clean: bool,
    #[command(flatten)]
    pub(crate) overrides: RunOverrides,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub(crate) json: bool,
    /// Print one CSV row per stream
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Write one self-contained HTML page with the distribution of each flow
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Write one CSV line per measured packet, at most a million
    #[arg(long, value_name = "FILE")]
    pub(crate) packets: Option<PathBuf>,
    /// No progress on standard error (the default if it is not a terminal)
    #[arg(long)]
    pub(crate) no_progress: bool,
}

const LIVE_CODES: &str = "Exit codes: 0 every requirement holds as measured, 1 one does not, \
2 wrong input or a scenario that a test bed cannot have, 3 nothing arrived, 4 the machine cannot \
do it, 130 interrupted. --runs is that of the simulation and does nothing here. --warmup, or what the \
scenario says, is the start that does not count; without it, a tenth of the run and a second at most.";

/// What carries frames between the stations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LiveBackend {
    /// Virtual Ethernet, bridges and queueing disciplines of the kernel.
    #[default]
    Kernel,
    /// The switches and hubs of the simulator in real time.
    Emulated,
    /// The network between real hosts.
    Ssh,
}

impl From<LiveBackend> for Backend {
    fn from(choice: LiveBackend) -> Self {
        match choice {
            LiveBackend::Kernel => Self::Kernel,
            LiveBackend::Emulated => Self::Emulated,
            LiveBackend::Ssh => Self::Ssh,
        }
    }
}

/// What carries frames between the stations on this host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendChoice {
    /// Virtual Ethernet, bridges and queueing disciplines of the kernel.
    #[default]
    Kernel,
    /// The switches and hubs of the simulator in real time.
    Emulated,
}

impl From<BackendChoice> for Backend {
    fn from(choice: BackendChoice) -> Self {
        match choice {
            BackendChoice::Kernel => Self::Kernel,
            BackendChoice::Emulated => Self::Emulated,
        }
    }
}

/// Arguments of `check` for measurements.
#[derive(Args, Clone, Debug)]
pub(crate) struct CheckLive {
    /// Also run the scenario on this host and show measurements beside simulation and bound; see
    /// `rtether live`
    #[arg(
        long,
        value_name = "BACKEND",
        value_enum,
        num_args = 0..=1,
        default_missing_value = "kernel"
    )]
    pub(crate) live: Option<BackendChoice>,
    /// Real-time priority of the stations with `--live`; 0 for none
    #[arg(
        long,
        requires = "live",
        value_name = "N",
        default_value_t = PRIORITY,
        value_parser = number::within(0_u8..=80)
    )]
    pub(crate) priority: u8,
    /// Write one CSV line per packet measured with `--live`, at most a million
    #[arg(long, value_name = "FILE", requires = "live")]
    pub(crate) live_packets: Option<PathBuf>,
}
