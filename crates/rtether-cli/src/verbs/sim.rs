//! `sim`: simulates a scenario, with traces on request.

use std::path::PathBuf;

use clap::Args;

use super::check::{CheckArgs, judge};
use crate::exit::Exit;
use crate::outputs::Traces;

/// Arguments of `sim`.
#[derive(Args, Debug)]
pub(crate) struct SimArgs {
    #[command(flatten)]
    pub(crate) check: CheckArgs,
    /// Write every frame of the first seed as pcapng, one interface per port
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<PathBuf>,
    /// Write one CSV line per delivered packet of the first seed
    #[arg(long, value_name = "FILE")]
    pub(crate) packets: Option<PathBuf>,
}

/// Runs `sim`.
pub(crate) fn run(arguments: &SimArgs) -> Exit {
    let traces = Traces {
        pcap: arguments.pcap.as_deref(),
        packets: arguments.packets.as_deref(),
        ..Traces::default()
    };
    judge(&arguments.check, traces, false)
}
