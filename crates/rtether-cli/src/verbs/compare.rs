//! `compare`: the same plant under several access schemes.

use std::path::PathBuf;

use clap::Args;
use rtether::compare::{self, ByFlow, Candidate};

use crate::drafts;
use crate::exit::Exit;
use crate::format::FormatArgs;
use crate::progress::{Pace, with_progress};
use crate::scenario::{self, RunOverrides};
use crate::stop::Care;
use crate::terminal;

/// Arguments of `compare`.
#[derive(Args, Debug)]
#[command(after_help = NOTES)]
pub(crate) struct CompareArgs {
    /// Scenario file with a hub, or `-` for standard input
    pub(crate) scenario: PathBuf,
    /// Access schemes, separated by commas: `all`, or names as of `scheme` in scenarios; `afdx` puts
    /// switches with virtual links in place of hubs
    #[arg(long, value_name = "NAMES", default_value = "all", value_parser = schemes)]
    pub(crate) access: Schemes,
    #[command(flatten)]
    pub(crate) overrides: RunOverrides,
    /// Show each stream under each scheme
    #[arg(long)]
    pub(crate) by_flow: bool,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    /// Write one self-contained HTML page with charts
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) pace: Pace,
}

/// Access schemes of the command line.
#[derive(Clone, Debug)]
pub(crate) struct Schemes(Vec<Candidate>);

const NOTES: &str = "Example: rtether compare hub.yaml --access csma-cd,tdma\n\nExit codes: 0 some \
scheme keeps every deadline, 1 none does.";

fn schemes(text: &str) -> Result<Schemes, String> {
    if text == "all" {
        return Ok(Schemes(Candidate::all()));
    }
    let names = text.split(',').map(str::trim);
    let found = names.map(Candidate::named);
    found.collect::<Result<_, _>>().map(Schemes)
}

/// Runs `compare`.
pub(crate) fn run(arguments: &CompareArgs) -> Exit {
    let loaded = match scenario::load_for_run(&arguments.scenario, &arguments.overrides) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let report = arguments.report.as_deref();
    let report = match drafts::open_apart(&arguments.scenario, "--report", report) {
        Ok(report) => report,
        Err(exit) => return exit,
    };
    let candidates = &arguments.access.0;
    let found = with_progress(arguments.pace, 0, Care::None, |progress| {
        compare::compare(&loaded.scenario, candidates, progress)
    });
    let comparison = match found {
        Ok(Ok(comparison)) => comparison,
        Ok(Err(error)) => {
            terminal::complain(&error.to_string());
            return Exit::WrongInput;
        }
        Err(message) => return terminal::fail(&message),
    };
    let written = report.map_or(Ok(()), |draft| draft.write(&compare::html(&comparison)));
    let printed = if arguments.by_flow {
        arguments.format.print(&ByFlow(&comparison))
    } else {
        arguments.format.print(&comparison)
    };
    if let Err(message) = written {
        return terminal::fail(&message);
    }
    if printed != Exit::Ok {
        return printed;
    }
    comparison.conclusion().into()
}
