//! `why`: the timeline of one packet and the frames that it waited for, or the parts of a bound.

use std::path::PathBuf;

use clap::Args;
use rtether::report::text::plural;
use rtether::run::Progress;
use rtether::scenario::Scenario;
use rtether::why::{self, Choice, Explainer, Stream};

use crate::drafts;
use crate::exit::Exit;
use crate::format::FormatArgs;
use crate::progress::{Pace, with_progress};
use crate::scenario::{self, RunOverrides};
use crate::stop::Care;
use crate::terminal;

/// Arguments of `why`.
#[derive(Args, Debug)]
#[command(after_help = NOTES)]
pub(crate) struct WhyArgs {
    /// Scenario file, or `-` for standard input
    pub(crate) scenario: PathBuf,
    /// Name of the flow; of one with several listeners, 'FLOW > LISTENER'
    pub(crate) flow: String,
    /// Which packet: the slowest of all runs (`worst`), the first one behind its deadline (`late`),
    /// or the one with this number in the first run, from 0
    #[arg(long, value_name = "WHICH", default_value = "worst", value_parser = choice)]
    pub(crate) packet: Choice,
    /// Explain the proved bound instead of a packet: what each flow adds to the wait at each place
    #[arg(long, conflicts_with = "packet")]
    pub(crate) bound: bool,
    /// Write the timeline as SVG
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) overrides: RunOverrides,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    #[command(flatten)]
    pub(crate) pace: Pace,
}

const NOTES: &str = "Example: rtether why plant.yaml 'setpoint 1' --packet 3\n\nThe parts \
follow each other without a gap and add up to the latency, or to the bound. Exit codes: 0 explained, 3 \
there is no such packet, or no bound.";

fn choice(text: &str) -> Result<Choice, String> {
    match text {
        "worst" => Ok(Choice::Worst),
        "late" => Ok(Choice::Late),
        number => number
            .parse()
            .map(Choice::Number)
            .map_err(|_| "expected `worst`, `late` or the number of a packet, from 0".to_owned()),
    }
}

/// Runs `why`.
pub(crate) fn run(arguments: &WhyArgs) -> Exit {
    let done = if arguments.bound { explain_bound(arguments) } else { explain(arguments) };
    match done {
        Ok(exit) | Err(exit) => exit,
    }
}

/// Returns the stream that is meant.
fn stream(scenario: &Scenario, arguments: &WhyArgs) -> Result<Stream, Exit> {
    Stream::named(scenario, &arguments.flow).ok_or_else(|| {
        terminal::complain(&unknown(scenario, &arguments.flow));
        Exit::WrongInput
    })
}

fn explain_bound(arguments: &WhyArgs) -> Result<Exit, Exit> {
    let loaded = scenario::load_for_run(&arguments.scenario, &arguments.overrides)?;
    let scenario = &loaded.scenario;
    let stream = stream(scenario, arguments)?;
    let svg = arguments.svg.as_deref();
    let draft = drafts::open_apart(&arguments.scenario, "--svg", svg)?;
    terminal::detail(|| format!("bounding {} flows", scenario.flows.len()));
    let Some(mut found) = Explainer::new(scenario).explain(stream) else {
        return Err(Exit::NoAnswer);
    };
    found.look_for_pattern();
    if let Some((draft, svg)) = draft.zip(found.draw()) {
        let text = format!("{}\n", svg.as_str());
        draft.write(&text).map_err(|message| terminal::fail(&message))?;
    }
    let printed = arguments.format.print(&found);
    Ok(if printed == Exit::Ok && found.found.is_err() { Exit::NoAnswer } else { printed })
}

fn explain(arguments: &WhyArgs) -> Result<Exit, Exit> {
    let loaded = scenario::load_for_run(&arguments.scenario, &arguments.overrides)?;
    let scenario = &loaded.scenario;
    let stream = stream(scenario, arguments)?;
    let svg = arguments.svg.as_deref();
    let draft = drafts::open_apart(&arguments.scenario, "--svg", svg)?;
    let plan = scenario.run;
    // The run with the packet is repeated.
    let runs = match arguments.packet {
        Choice::Worst | Choice::Late => i64::from(plan.runs) + 1,
        Choice::Number(_) => 2,
    };
    let total = plan.duration.as_ps() / 1_000_000_000 * runs;
    let total = u64::try_from(total).unwrap_or(0);
    let (found, is_cancelled) = with_progress(arguments.pace, total, Care::None, |progress| {
        let found = why::explain(scenario, stream, arguments.packet, progress);
        (found, progress.is_cancelled())
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
        terminal::complain(&nothing(scenario, stream, arguments));
        return Err(Exit::NoAnswer);
    };
    if let Some(draft) = draft {
        let svg = found.draw();
        draft.write(&format!("{}\n", svg.as_str())).map_err(|message| terminal::fail(&message))?;
    }
    Ok(arguments.format.print(&found))
}

/// Says which names there are.
fn unknown(scenario: &Scenario, name: &str) -> String {
    let flow = scenario.flows.iter().find(|flow| flow.name == name);
    let node = |id| scenario.network.node(id).name.as_str();
    if let Some(flow) = flow {
        let listeners = flow.listeners.iter();
        let names: Vec<String> = listeners.map(|&id| format!("'{name} > {}'", node(id))).collect();
        return format!(
            "flow `{name}` has {}: give {}",
            plural(names.len(), "listener"),
            list(&names)
        );
    }
    let names: Vec<String> = scenario.flows.iter().map(|flow| format!("`{}`", flow.name)).collect();
    format!("there is no flow `{name}`; there are {}", list(&names))
}

/// Joins names; of many, the first ones.
fn list(names: &[String]) -> String {
    const MOST: usize = 12;
    let shown = names[..names.len().min(MOST)].join(", ");
    match names.len().saturating_sub(MOST) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Says that the packet does not exist.
fn nothing(scenario: &Scenario, stream: Stream, arguments: &WhyArgs) -> String {
    let flow = &arguments.flow;
    match arguments.packet {
        Choice::Worst => {
            format!("no packet of `{flow}` arrived; `rtether check` says where they are lost")
        }
        Choice::Late => format!(
            "no packet of `{flow}` was late in {}",
            plural(scenario.run.runs as usize, "run")
        ),
        Choice::Number(number) => {
            let fate = why::fate(scenario, stream, number, &Progress::default());
            let fate = fate.map_or_else(|error| error.to_string(), |fate| fate.words(scenario));
            format!(
                "packet {number} of `{flow}` did not arrive in the run with seed {}: {fate}",
                scenario.run.seed
            )
        }
    }
}
