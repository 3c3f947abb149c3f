//! `sim`: simulates a scenario, with traces on request.

use std::path::PathBuf;

use clap::Args;

use rtether::discovery::discovery;

use super::check::{CheckArgs, judge};
use crate::exit::Exit;
use crate::outputs::OwnFiles;
use crate::progress::with_progress;
use crate::scenario;
use crate::stop::Care;
use crate::terminal;

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
    /// Tell what discovery over RTPS takes in the first seed, in place of delays
    #[arg(long, conflicts_with_all = ["pcap", "packets"])]
    pub(crate) discovery: bool,
}

/// Tells what discovery takes.
fn discover(arguments: &CheckArgs) -> Result<Exit, Exit> {
    let loaded = scenario::load_for_run(&arguments.scenario, &arguments.overrides)?;
    let scenario = &loaded.scenario;
    let total = u64::try_from(scenario.run.duration.as_ps() / 1_000_000_000).unwrap_or(0);
    let (found, is_cancelled) = with_progress(arguments.pace, total, Care::None, |progress| {
        (discovery(scenario, progress), progress.is_cancelled())
    })
    .map_err(|message| terminal::fail(&message))?;
    let found = found.map_err(|error| {
        terminal::complain(&error.to_string());
        Exit::WrongInput
    })?;
    if is_cancelled {
        return Err(Exit::Interrupted);
    }
    let Some(found) = found else {
        terminal::complain("no flow of the scenario is `over: rtps`");
        return Err(Exit::NoAnswer);
    };
    Ok(arguments.output.format.print(&found))
}

/// Runs `sim`.
pub(crate) fn run(arguments: &SimArgs) -> Exit {
    if arguments.discovery {
        return match discover(&arguments.check) {
            Ok(exit) | Err(exit) => exit,
        };
    }
    let own = OwnFiles {
        pcap: arguments.pcap.as_deref(),
        packets: arguments.packets.as_deref(),
        ..OwnFiles::default()
    };
    judge(&arguments.check, own, false)
}
