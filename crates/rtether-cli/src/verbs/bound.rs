//! `bound`: proved bounds of a scenario, without simulation.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use rtether::adversary::{Effort, Progress};
use rtether::bound::{self, Bounds, ByDiameter, Duration, Places, SensitivityError, Waits};
use rtether::report::format::Render;
use rtether::tightness;

use super::certify::certify;
use super::strict::Strict;
use crate::exit::Exit;
use crate::format::FormatArgs;
use crate::progress::{Pace, searching, with_steps};
use crate::scenario::{self, Overrides};
use crate::{drafts, terminal};

/// Arguments of `bound`.
#[derive(Args, Debug)]
#[command(after_help = BOUND_NOTES)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct BoundArgs {
    /// Scenario file, or `-` for standard input
    pub(crate) scenario: PathBuf,
    /// Show the effect of changing a value of the scenario, for example `flows.setpoint.pcp=6` or
    /// `links[3].rate=1Gbit/s`; may be given several times
    #[arg(long, value_name = "PATH=VALUE", conflicts_with_all = ["sensitivity", "ports"])]
    pub(crate) what_if: Vec<String>,
    /// Try single changes and rank them by their gain for the stream with the least slack
    #[arg(long, conflicts_with_all = ["ports", "strict"])]
    pub(crate) sensitivity: bool,
    /// Rank them for this flow instead
    #[arg(long, value_name = "NAME", requires = "sensitivity")]
    pub(crate) flow: Option<String>,
    /// No progress on standard error (the default if it is not a terminal)
    #[arg(long)]
    pub(crate) no_progress: bool,
    /// Show ports and stacks instead of streams: utilization, longest wait, memory
    #[arg(long)]
    pub(crate) ports: bool,
    /// Show what the plant's longest way and busiest place alone prove, beside the bounds
    #[arg(long, conflicts_with_all = ["what_if", "sensitivity", "ports"])]
    pub(crate) diameter: bool,
    /// Show instead how likely frames of aperiodic flows wait longer than this at ports of
    /// switches: 50us; a model, not a bound
    #[arg(
        long,
        value_name = "TIME",
        value_parser = wait,
        conflicts_with_all = ["what_if", "sensitivity", "ports", "diameter", "report", "methods", "strict"]
    )]
    pub(crate) waits: Option<Duration>,
    /// Show instead how near the largest delay that a search finds comes to each bound, and what makes the
    /// difference, which has half of that time besides; search for this real time, or this many plants
    /// [default: 60 s]
    #[arg(
        long,
        value_name = "TIME|N",
        num_args = 0..=1,
        default_missing_value = "60 s",
        value_parser = Effort::parse,
        conflicts_with_all = ["what_if", "sensitivity", "ports", "diameter", "waits", "methods", "certificate"]
    )]
    pub(crate) tightness: Option<Effort>,
    #[command(flatten)]
    pub(crate) strict: Strict,
    #[command(flatten)]
    pub(crate) overrides: Overrides,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    /// Write one self-contained HTML page with the parts of each bound
    #[arg(long, value_name = "FILE", conflicts_with_all = ["what_if", "sensitivity"])]
    pub(crate) report: Option<PathBuf>,
    /// Write claims about every packet's way, which `python3 verify FILE` checks without rtether
    #[arg(long, value_name = "FILE", conflicts_with_all = ["what_if", "sensitivity", "diameter", "waits"])]
    pub(crate) certificate: Option<PathBuf>,
    /// Analysis methods
    #[arg(long, value_name = "WHICH", value_enum, default_value_t, conflicts_with_all = ["what_if", "sensitivity"])]
    pub(crate) methods: MethodChoice,
}

const BOUND_NOTES: &str = "Example: rtether bound plant.yaml --what-if 'links[3].rate=1Gbit/s'\n\nExit codes: 0 every bound and every sum of bounds meets its limit, 1 one does not, 3 a flow \
with a deadline has no bound, or one that is a proof only if nothing is dropped; the reason is given. With --what-if they tell of the scenario after the \
change, with --diameter of what the diameter proves; --sensitivity ends with 0, or with 3 if there is no bound to lower, --waits with 3 if no port has a model, --tightness also with 5 if a packet is found \
beyond its bound.";

/// Analysis methods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum MethodChoice {
    /// All; the smallest bound of each stream counts.
    #[default]
    All,
    /// Total flow analysis only, which is faster.
    TotalFlow,
}

impl From<MethodChoice> for rtether::bound::Methods {
    fn from(choice: MethodChoice) -> Self {
        match choice {
            MethodChoice::All => Self::All,
            MethodChoice::TotalFlow => Self::TotalFlow,
        }
    }
}

/// Parses a wait of at most a second.
fn wait(text: &str) -> Result<Duration, String> {
    let time = rtether::scenario::time(text)?;
    if !Waits::takes(time) {
        return Err("write at most a second, for example 50 us".into());
    }
    Ok(time)
}

pub(crate) fn run(arguments: &BoundArgs) -> Exit {
    let done = if let Some(time) = arguments.waits {
        waits(arguments, time)
    } else if let Some(effort) = arguments.tightness {
        tightness(arguments, effort)
    } else if !arguments.what_if.is_empty() {
        what_if(arguments)
    } else if arguments.sensitivity {
        sensitivity(arguments)
    } else {
        bounds(arguments)
    };
    done.unwrap_or_else(|exit| exit)
}

/// Prints a result and returns `exit`, unless printing fails.
fn print(arguments: &BoundArgs, result: &impl Render, exit: Exit) -> Exit {
    let printed = arguments.format.print(result);
    if printed == Exit::Ok { exit } else { printed }
}

fn bounds(arguments: &BoundArgs) -> Result<Exit, Exit> {
    let mut loaded = scenario::load(&arguments.scenario, &arguments.overrides)?;
    arguments.strict.ask(&mut loaded.scenario);
    let scenario = &loaded.scenario;
    let report = arguments.report.as_deref();
    let draft = drafts::open_apart(&arguments.scenario, "--report", report)?;
    let certificate =
        drafts::open_apart(&arguments.scenario, "--certificate", arguments.certificate.as_deref())?;
    terminal::detail(|| format!("bounding {} flows", scenario.flows.len()));
    let analysis = bound::analyze_with(scenario, arguments.methods.into());
    if let Some(draft) = draft {
        let page = bound::html(scenario, &analysis);
        draft.write(&page).map_err(|message| terminal::fail(&message))?;
    }
    let analysis = &analysis;
    if let Some(draft) = certificate {
        certify(scenario, analysis, draft)?;
    }
    let bounds = Bounds { scenario, analysis };
    let own = bounds.conclusion().into();
    if arguments.diameter {
        let found = ByDiameter::new(scenario, analysis);
        return Ok(print(arguments, &found, found.conclusion().into()));
    }
    Ok(if arguments.ports {
        print(arguments, &Places { scenario, analysis }, own)
    } else {
        print(arguments, &bounds, own)
    })
}

fn waits(arguments: &BoundArgs, time: Duration) -> Result<Exit, Exit> {
    let loaded = scenario::load(&arguments.scenario, &arguments.overrides)?;
    let waits = bound::waits(&loaded.scenario, time);
    let has_model = waits.ports.iter().any(|port| port.model.is_ok());
    let exit = if has_model { Exit::Ok } else { Exit::NoAnswer };
    Ok(print(arguments, &waits, exit))
}

fn tightness(arguments: &BoundArgs, effort: Effort) -> Result<Exit, Exit> {
    let mut loaded = scenario::load(&arguments.scenario, &arguments.overrides)?;
    arguments.strict.ask(&mut loaded.scenario);
    let scenario = &loaded.scenario;
    let report = arguments.report.as_deref();
    let draft = drafts::open_apart(&arguments.scenario, "--report", report)?;
    let progress = Arc::new(Progress::begin(effort));
    let pace = Pace::shown(!arguments.no_progress);
    let found = searching(pace, &progress, || tightness::tightness(scenario, &progress));
    let found = found.map_err(|message| terminal::fail(&message))?;
    if let Some(draft) = draft {
        let page = tightness::page(&found);
        draft.write(&page).map_err(|message| terminal::fail(&message))?;
    }
    let exit = if found.is_cut { Exit::Interrupted } else { found.conclusion().into() };
    Ok(print(arguments, &found, exit))
}

fn what_if(arguments: &BoundArgs) -> Result<Exit, Exit> {
    let (before, mut after, changes) =
        scenario::load_both(&arguments.scenario, &arguments.overrides, &arguments.what_if)?;
    arguments.strict.ask(&mut after);
    let found = bound::what_if(&before, &after, &changes);
    Ok(print(arguments, &found, found.conclusion.into()))
}

fn sensitivity(arguments: &BoundArgs) -> Result<Exit, Exit> {
    let loaded = scenario::load(&arguments.scenario, &arguments.overrides)?;
    let scenario = &loaded.scenario;
    let flow = arguments.flow.as_deref();
    let found = with_steps(Pace::shown(!arguments.no_progress), |steps| {
        bound::sensitivity(scenario, flow, steps)
    });
    let mut found = found.map_err(|error| {
        terminal::complain(&error.to_string());
        match error {
            SensitivityError::NoFlow { .. } => Exit::WrongInput,
            SensitivityError::NoBound { .. } | SensitivityError::Nothing => Exit::NoAnswer,
        }
    })?;
    let exit = if found.partial {
        Exit::Interrupted
    } else {
        found.find_edits(scenario, &loaded.written);
        Exit::Ok
    };
    Ok(print(arguments, &found, exit))
}
