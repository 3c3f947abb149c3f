//! `check` and `sim`: run a scenario and judge it.

use std::io;

use rtether::bound;
use rtether::report::{self, Outcome};
use rtether::run::{self, Progress, Results};
use rtether::scenario::Scenario;
use rtether::trace::{CaptureLog, PacketLog};
use rtether::verdict;

use crate::args::{CheckArgs, Format, Global, Output, SimArgs};
use crate::drafts::Draft;
use crate::exit::{self, Exit};
use crate::live::{Live, TestBed};
use crate::outputs::{Outputs, Traces};
use crate::progress::with_progress;
use crate::scenario::{self, Loaded};
use crate::stop::Care;
use crate::terminal;

/// Runs `check`.
pub(crate) fn check(arguments: &CheckArgs, global: &Global) -> Exit {
    let traces = Traces {
        #[cfg(target_os = "linux")]
        live_packets: arguments.live.live_packets.as_deref(),
        ..Traces::default()
    };
    judge(arguments, global, traces, true)
}

/// Runs `sim`.
pub(crate) fn sim(arguments: &SimArgs, global: &Global) -> Exit {
    let traces = Traces {
        pcap: arguments.pcap.as_deref(),
        packets: arguments.packets.as_deref(),
        ..Traces::default()
    };
    judge(&arguments.check, global, traces, false)
}

/// Simulates, traces and judges. `proves` says whether bounds are computed, too.
fn judge(arguments: &CheckArgs, global: &Global, traces: Traces<'_>, proves: bool) -> Exit {
    terminal::choose_color(global);
    let loaded = match scenario::load_for_run(&arguments.scenario, &arguments.overrides) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let test_bed = match TestBed::plan(arguments, &loaded.scenario, proves) {
        Ok(test_bed) => test_bed,
        Err(exit) => return exit,
    };
    let mut outputs = match Outputs::open(&arguments.scenario, &arguments.output, traces) {
        Ok(outputs) => outputs,
        Err(exit) => return exit,
    };
    match observe(&loaded.scenario, global, traces, &mut outputs, test_bed) {
        Ok(observed) => conclude(arguments, &loaded, outputs, observed, proves),
        Err(exit) => exit,
    }
}

/// What was seen of a scenario.
struct Observed {
    results: Results,
    traced: Traced,
    live: Live,
}

/// Simulates, and measures if a test bed was asked for.
fn observe(
    scenario: &Scenario,
    global: &Global,
    traces: Traces<'_>,
    outputs: &mut Outputs,
    test_bed: TestBed,
) -> Result<Observed, Exit> {
    let (results, traced) = simulate(scenario, global, traces, outputs)?;
    // Who ended the simulation does not want to wait for a measurement.
    let live = if results.partial {
        Live::default()
    } else {
        test_bed.measure(scenario, outputs.live_packets.take(), global)?
    };
    Ok(Observed {
        results,
        traced,
        live,
    })
}

/// Judges what was observed, and writes and prints it.
fn conclude(
    arguments: &CheckArgs,
    loaded: &Loaded,
    outputs: Outputs,
    observed: Observed,
    proves: bool,
) -> Exit {
    let scenario = &loaded.scenario;
    let Observed {
        results,
        traced,
        live,
    } = observed;
    let traced = traced.into_iter().flatten();
    let mut failed: Vec<String> = traced.filter_map(Result::err).collect();
    failed.extend(live.unwritten.clone());
    // Who ended the run does not wait for proofs.
    let proved = proves && !results.partial;
    let analysis = proved.then(|| bound::analyze(scenario));
    let bounds = analysis.as_ref().map(bound::latencies);
    let mut assessments = verdict::assess_with(scenario, &results, analysis.as_ref());
    verdict::add_measured(&mut assessments, &live.assessments);
    // A column without a number says nothing.
    let shown = bounds.as_deref().unwrap_or_default();
    let shown = if shown.iter().any(Option::is_some) {
        shown
    } else {
        &[]
    };
    let outcome = Outcome::new(scenario, &results, &assessments)
        .with_source(&loaded.text)
        .with_bounds(shown);
    let statistical = bound::statistical(scenario);
    let outcome = outcome
        .with_measured(&live.streams)
        .with_distributions(&live.distributions);
    let outcome = match &analysis {
        Some(analysis) => outcome.with_analysis(analysis, &statistical),
        None => outcome,
    };
    let contradicted = analysis.as_ref().map_or_else(Vec::new, |analysis| {
        bound::contradictions(analysis, &results)
    });
    let ending = Ending {
        scenario,
        results: &results,
        outcome: &outcome,
        contradicted: &contradicted,
        exceeded: live.exceeded(bounds.as_deref()),
        live: &live,
    };
    if !proves && scenario.accept.iter().any(|line| line.bound.is_some()) {
        terminal::tell("requirements of `bound` are not judged here; `rtether check` does");
    }
    failed.extend(outputs.write(&outcome));
    let printed = print(&outcome, &arguments.output, failed.is_empty());
    for message in &failed {
        terminal::complain(message);
    }
    if printed == Exit::Ok {
        ending.exit(!failed.is_empty())
    } else {
        printed
    }
}

/// What came of each trace that was asked for.
type Traced = [Option<Result<(), String>>; 2];

/// Runs all replications, then the traces.
fn simulate(
    scenario: &Scenario,
    global: &Global,
    traces: Traces<'_>,
    outputs: &mut Outputs,
) -> Result<(Results, Traced), Exit> {
    let plan = scenario.run;
    let runs = i64::from(plan.runs) + traces.count();
    let total = plan.duration.as_ps() / 1_000_000_000 * runs;
    let (pcap, packets) = (outputs.pcap.take(), outputs.packets.take());
    let run = with_progress(
        global,
        u64::try_from(total).unwrap_or(0),
        Care::None,
        |progress| {
            let results = run::simulate(scenario, progress);
            let traced = [
                pcap.map(|draft| capture(scenario, progress, draft)),
                packets.map(|draft| list_packets(scenario, progress, draft)),
            ];
            // A trace that was cut short makes the results partial, too.
            results.map(|results| {
                let results = Results {
                    partial: progress.is_cancelled(),
                    ..results
                };
                (results, traced)
            })
        },
    );
    match run {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(error)) => {
            terminal::complain(&error.to_string());
            Err(Exit::WrongInput)
        }
        Err(message) => Err(exit::fail(&message)),
    }
}

/// All that decides how the command ends.
struct Ending<'a> {
    scenario: &'a Scenario,
    results: &'a Results,
    outcome: &'a Outcome<'a>,
    /// Streams simulated beyond their bounds.
    contradicted: &'a [usize],
    /// Streams measured beyond them.
    exceeded: Vec<usize>,
    live: &'a Live,
}

impl Ending<'_> {
    fn exit(&self, is_unwritten: bool) -> Exit {
        let concluded = requirements(self.outcome, self.results);
        let ended = self.live.note(self.outcome, &self.exceeded);
        if !self.exceeded.is_empty() && self.contradicted.is_empty() {
            return Exit::Contradiction;
        }
        if !self.contradicted.is_empty() {
            let lost = bound::broken_assumption(self.scenario, self.results);
            contradiction(self.outcome, self.contradicted, lost.as_deref());
            match lost {
                None => Exit::Contradiction,
                Some(_) if concluded == Exit::Ok && requires_bounds(self.scenario) => {
                    Exit::NoAnswer
                }
                Some(_) => concluded,
            }
        } else if is_unwritten {
            Exit::Unfit
        } else if let Some(exit) = ended {
            exit
        } else {
            concluded
        }
    }
}

/// Prints what was asked for; `is_written` says whether all files are there.
fn print(outcome: &Outcome<'_>, output: &Output, is_written: bool) -> Exit {
    let json = report::json::Options {
        buckets: output.buckets,
        histogram: output.histogram,
    };
    if output.quiet {
        return terminal::print(&format!("{}\n", outcome.summary()));
    }
    let text = match output.format() {
        Format::Json => report::json::text(outcome, json),
        Format::Csv => report::csv::flows(outcome),
        Format::Md => report::table::markdown(outcome, output.all),
        Format::Table => report::table::render(
            outcome,
            report::table::Options {
                width: terminal_width(),
                all: output.all,
                color: terminal::has_color(),
                ascii: false,
            },
        ),
    };
    let exit = terminal::print(&text);
    if let Some(path) = output.report.as_ref().filter(|_| is_written) {
        terminal::remark(&format!("report written to {}", path.display()));
    }
    exit
}

/// Returns the columns of the terminal, or `None` for a pipe or file.
fn terminal_width() -> Option<u16> {
    console::Term::stdout()
        .size_checked()
        .map(|(_, columns)| columns)
}

/// Says which stream was simulated beyond its bound, and whose fault that is: `lost` says where
/// frames were dropped.
fn contradiction(outcome: &Outcome<'_>, streams: &[usize], lost: Option<&str>) {
    for &index in streams {
        let stream = outcome.stream(index);
        let why = match lost {
            Some(lost) => format!("which assumes that nothing is lost, but {lost}"),
            None => "this is a defect of rtether, please report it with the scenario".into(),
        };
        let separator = if lost.is_some() { "," } else { ";" };
        terminal::complain(&format!(
            "`{}`: a simulated delay of {} exceeds its proved bound{separator} {why}",
            stream.flow.name, stream.record.latency.max
        ));
    }
}

/// Returns whether a requirement is about a bound, which losses deprive of its ground.
fn requires_bounds(scenario: &Scenario) -> bool {
    let requirements = &scenario.accept;
    requirements
        .iter()
        .any(|requirement| requirement.bound.is_some())
}

/// Returns how the command ends by the requirements alone.
fn requirements(outcome: &Outcome<'_>, results: &Results) -> Exit {
    let counts = outcome.counts();
    if results.partial {
        Exit::Interrupted
    } else if counts.failed() > 0 {
        Exit::Failed
    } else if counts.no_answer > 0 {
        Exit::NoAnswer
    } else {
        Exit::Ok
    }
}

fn capture(scenario: &Scenario, progress: &Progress, draft: Draft) -> Result<(), String> {
    draft.fill(|file| {
        let mut log = CaptureLog::new(scenario, file);
        let run = run::simulate_seed(scenario, scenario.run.seed, progress, &mut log);
        log.finish().and(run.map(drop).map_err(io::Error::other))
    })
}

fn list_packets(scenario: &Scenario, progress: &Progress, draft: Draft) -> Result<(), String> {
    draft.fill(|file| {
        let mut log = PacketLog::new(scenario, file);
        let run = run::simulate_seed(scenario, scenario.run.seed, progress, &mut log);
        log.finish().and(run.map(drop).map_err(io::Error::other))
    })
}
