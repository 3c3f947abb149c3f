//! `design`: settings under which every deadline is proved, with the fewest edits.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use rtether::design::{self, Answer, DesignError, Outcome, Progress, Question};

use crate::drafts::{self, Draft};
use crate::exit::Exit;
use crate::format::FormatArgs;
use crate::number;
use crate::progress::{Pace, designing};
use crate::scenario::{self, Loaded, Overrides};
use crate::terminal;

/// Arguments of `design`.
#[derive(Args, Debug)]
#[command(after_help = DESIGN_NOTES)]
pub(crate) struct DesignArgs {
    /// Scenario file, or `-` for standard input
    pub(crate) scenario: PathBuf,
    /// Write the scenario with the edits; comments are kept
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Instead, say why the deadline of a flow, or of `FLOW to LISTENER`, cannot be proved: flows and
    /// costs that prevent it, none of which can be left out
    #[arg(long, value_name = "FLOW", conflicts_with_all = ["out", "report"])]
    pub(crate) explain: Option<String>,
    /// Designs to search through at most, each of which is bounded; to take edits back needs some
    /// more, and at most 4096 are all tried [default: 300 to 4000, by the number of streams; with
    /// `--explain` 40 to 250 for each set of flows and costs]
    #[arg(long, value_name = "N", value_parser = number::within(1..=1_000_000u32))]
    pub(crate) trials: Option<u32>,
    #[command(flatten)]
    pub(crate) overrides: Overrides,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    /// Write one self-contained HTML page with the bounds before and after
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) pace: Pace,
}

const DESIGN_NOTES: &str = "Example: rtether design plant.yaml -o better.yaml\n\nWhat may change \
is said by the section `design` of the scenario; without it, all that costs no hardware. Exit codes: \
0 every deadline is proved, 1 that is impossible with what may change, 3 the best design found does \
not prove all; 130 ended by Ctrl-C, with the best design so far. With --explain: 0 the deadline can \
be proved, by the edits that are shown, 1 no design proves it with the flows and costs that are named, \
3 none was found.";

/// Runs `design`.
pub(crate) fn run(arguments: &DesignArgs) -> Exit {
    designed(arguments).unwrap_or_else(|exit| exit)
}

fn designed(arguments: &DesignArgs) -> Result<Exit, Exit> {
    let loaded = scenario::load(&arguments.scenario, &arguments.overrides)?;
    if let Some(flow) = &arguments.explain {
        return explained(arguments, &loaded, flow);
    }
    check_folder(arguments, &loaded)?;
    let outputs = [("--out", &arguments.out), ("--report", &arguments.report)];
    let named: Vec<(&str, PathBuf)> =
        outputs.into_iter().filter_map(|(flag, path)| Some((flag, path.clone()?))).collect();
    drafts::check_distinct(&arguments.scenario, &named).map_err(|message| {
        terminal::complain(&message);
        Exit::WrongInput
    })?;
    let out = open(arguments.out.as_deref())?;
    let report = open(arguments.report.as_deref())?;
    let progress = Arc::new(Progress::default());
    let found = designing(arguments.pace, &progress, || {
        design::design(&loaded.scenario, &loaded.written, question(arguments), &progress)
    });
    let outcome = found.map_err(|message| terminal::fail(&message))?.map_err(|error| {
        terminal::complain(&error.to_string());
        match error {
            DesignError::NoDeadline => Exit::WrongInput,
            DesignError::Unwritten(_) => Exit::Unfit,
        }
    })?;
    let written = write(&outcome, out, report);
    let printed = arguments.format.print(&Answer { outcome: &outcome });
    written.map_err(|message| terminal::fail(&message))?;
    if printed == Exit::Ok { Ok(outcome.conclusion().into()) } else { Err(printed) }
}

fn question(arguments: &DesignArgs) -> Question {
    let trials = arguments.trials.and_then(|most| usize::try_from(most).ok());
    Question { trials, ..Question::default() }
}

/// Says what prevents the deadline of a flow.
fn explained(arguments: &DesignArgs, loaded: &Loaded, flow: &str) -> Result<Exit, Exit> {
    let progress = Arc::new(Progress::default());
    let found = designing(arguments.pace, &progress, || {
        design::explain(&loaded.scenario, &loaded.written, flow, question(arguments), &progress)
    });
    let explained = found.map_err(|message| terminal::fail(&message))?.map_err(|error| {
        terminal::complain(&error.to_string());
        Exit::WrongInput
    })?;
    let printed = arguments.format.print(&explained);
    if printed == Exit::Ok { Ok(explained.conclusion().into()) } else { Err(printed) }
}

fn open(path: Option<&Path>) -> Result<Option<Draft>, Exit> {
    let draft = path.map(Draft::open).transpose();
    draft.map_err(|message| terminal::fail(&message))
}

/// Refuses to write a scenario where it would include other files than it does now.
fn check_folder(arguments: &DesignArgs, loaded: &Loaded) -> Result<(), Exit> {
    let Some(out) = arguments.out.as_deref().filter(|_| !loaded.written.included.is_empty()) else {
        return Ok(());
    };
    if out.parent() == arguments.scenario.parent() {
        return Ok(());
    }
    terminal::complain(
        "the scenario includes other files, by paths from where it is: write the new one beside it",
    );
    Err(Exit::WrongInput)
}

fn write(outcome: &Outcome, out: Option<Draft>, report: Option<Draft>) -> Result<(), String> {
    if let Some(draft) = out {
        draft.write(&outcome.text)?;
    }
    report.map_or(Ok(()), |draft| draft.write(&design::html(outcome)))
}
