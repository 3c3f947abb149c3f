//! `limit`: finds how much other traffic is possible while flows keep their deadlines.

use std::path::PathBuf;

use clap::Args;
use rtether::limit::{self, Answer, Question};

use crate::drafts;
use crate::exit::Exit;
use crate::format::FormatArgs;
use crate::number::{share, tolerance};
use crate::progress::{Pace, with_progress};
use crate::scenario::{self, RunOverrides};
use crate::stop::Care;
use crate::terminal;

/// Arguments of `limit`.
#[derive(Args, Debug)]
#[command(after_help = LIMIT_NOTES)]
pub(crate) struct LimitArgs {
    /// Scenario file, or `-` for standard input
    pub(crate) scenario: PathBuf,
    /// Flows whose load is scaled: name, class or a pattern with `*` [default: all without deadline]
    #[arg(long, value_name = "PATTERN")]
    pub(crate) flows: Option<String>,
    /// Largest ratio of late or lost packets of each flow with a deadline
    #[arg(long, value_name = "RATIO", default_value = "1e-3", value_parser = share)]
    pub(crate) miss: f64,
    /// Confidence of the answer
    #[arg(long, value_name = "RATIO", default_value = "95%", value_parser = share)]
    pub(crate) confidence: f64,
    /// Distance between the load that passes and the load that fails
    #[arg(long, value_name = "RATIO", default_value = "2%", value_parser = tolerance)]
    pub(crate) tolerance: f64,
    #[command(flatten)]
    pub(crate) overrides: RunOverrides,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    /// Print the answer as one line only
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Write one self-contained HTML page with charts
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) pace: Pace,
}

const LIMIT_NOTES: &str = "Example: rtether limit plant.yaml --flows 'setpoint*' --miss 1e-2\n\nExit codes: 0 the present load is within the limit, 1 it is not, \
3 neither is shown: it needs more runs.";

/// Runs `limit`.
pub(crate) fn run(arguments: &LimitArgs) -> Exit {
    let loaded = match scenario::load_for_run(&arguments.scenario, &arguments.overrides) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let report = arguments.report.as_deref();
    let report = match drafts::open_apart(&arguments.scenario, "--report", report) {
        Ok(report) => report,
        Err(exit) => return exit,
    };
    let scenario = &loaded.scenario;
    let question = Question {
        flows: arguments.flows.clone(),
        miss_ratio: arguments.miss,
        confidence: arguments.confidence,
        tolerance: arguments.tolerance,
    };
    // The number of loads is not known in advance.
    let found = with_progress(arguments.pace, 0, Care::None, |progress| {
        limit::find(scenario, &question, progress)
    });
    let limit = match found {
        Ok(Ok(limit)) => limit,
        Ok(Err(error)) => {
            terminal::complain(&error.to_string());
            return Exit::WrongInput;
        }
        Err(message) => return terminal::fail(&message),
    };
    let written = report.map_or(Ok(()), |draft| draft.write(&limit::html(scenario, &limit)));
    let printed = if arguments.quiet {
        terminal::print(&limit::summary(&limit))
    } else {
        let limit = &limit;
        arguments.format.print(&Answer { scenario, limit })
    };
    match written {
        Err(message) => terminal::fail(&message),
        Ok(()) if printed == Exit::Ok => limit.conclusion().into(),
        Ok(()) => printed,
    }
}
