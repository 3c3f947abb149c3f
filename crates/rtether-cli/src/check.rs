//! `check` and `sim`: run a scenario and judge it.

use std::io;
use std::path::Path;

use rtether::bound;
use rtether::report::{self, Outcome};
use rtether::run::{self, Progress, Results};
use rtether::scenario::Scenario;
use rtether::trace::{CaptureLog, PacketLog};
use rtether::verdict;

use crate::args::{CheckArgs, Format, Global, Output, SimArgs};
use crate::exit::{self, Exit};
use crate::progress::with_progress;
use crate::{files, scenario, terminal};

/// Runs `check`.
pub(crate) fn check(arguments: &CheckArgs, global: &Global) -> Exit {
    judge(arguments, global, 0, true, |_, _| Ok(()))
}

/// Runs `sim`.
pub(crate) fn sim(arguments: &SimArgs, global: &Global) -> Exit {
    let traces = u32::from(arguments.pcap.is_some()) + u32::from(arguments.packets.is_some());
    judge(
        &arguments.check,
        global,
        traces,
        false,
        |scenario, progress| {
            if let Some(path) = &arguments.pcap {
                capture(scenario, progress, path)?;
            }
            if let Some(path) = &arguments.packets {
                list_packets(scenario, progress, path)?;
            }
            Ok(())
        },
    )
}

/// Simulates, traces and judges; `traces` is the number of runs that `trace` adds. `proves` says
/// whether bounds are computed, too.
fn judge(
    arguments: &CheckArgs,
    global: &Global,
    traces: u32,
    proves: bool,
    trace: impl FnOnce(&Scenario, &Progress) -> Result<(), String> + Send,
) -> Exit {
    terminal::choose_color(global);
    let loaded = match scenario::load(&arguments.scenario, &arguments.overrides) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let scenario = &loaded.scenario;
    let plan = scenario.run;
    let runs = i64::from(plan.runs) + i64::from(traces);
    let total = plan.duration.as_ps() / 1_000_000_000 * runs;
    let run = with_progress(global, u64::try_from(total).unwrap_or(0), |progress| {
        let results = run::simulate(scenario, progress);
        let traced = trace(scenario, progress);
        // A trace that was cut short makes the results partial, too.
        results.map(|results| {
            (
                Results {
                    partial: progress.is_cancelled(),
                    ..results
                },
                traced,
            )
        })
    });
    let results = match run {
        Ok(Ok((results, Ok(())))) => results,
        Ok(Err(error)) => {
            terminal::complain(&error.to_string());
            return Exit::WrongInput;
        }
        Ok(Ok((_, Err(message)))) | Err(message) => return exit::fail(&message),
    };
    let analysis = proves.then(|| bound::analyze(scenario));
    let bounds = analysis.as_ref().map(bound::latencies);
    let assessments = verdict::assess_with(scenario, &results, bounds.as_deref());
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
    let outcome = match &analysis {
        Some(analysis) => outcome.with_analysis(analysis, &statistical),
        None => outcome,
    };
    let contradicted = analysis.as_ref().map_or_else(Vec::new, |analysis| {
        bound::contradictions(analysis, &results)
    });
    if !proves && scenario.accept.iter().any(|line| line.bound.is_some()) {
        terminal::tell("requirements of `bound` are not judged here; `rtether check` does");
    }
    match deliver(&outcome, &arguments.output) {
        Ok(Exit::Ok) if !contradicted.is_empty() => {
            let lost = bound::broken_assumption(scenario, &results);
            contradiction(&outcome, &contradicted, lost.as_deref());
            match (lost, conclude(&outcome, &results)) {
                (None, _) => Exit::Contradiction,
                (Some(_), Exit::Ok) if requires_bounds(scenario) => Exit::NoAnswer,
                (Some(_), exit) => exit,
            }
        }
        Ok(Exit::Ok) => conclude(&outcome, &results),
        Ok(other) => other,
        Err(message) => exit::fail(&message),
    }
}

/// Writes and prints what was asked for.
fn deliver(outcome: &Outcome<'_>, output: &Output) -> Result<Exit, String> {
    let json = report::json::Options {
        buckets: output.buckets,
        histogram: output.histogram,
    };
    if let Some(path) = &output.report {
        files::write(path, &report::html::render(outcome))?;
    }
    if let Some(directory) = &output.out {
        files::make_directory(directory)?;
        for (name, text) in report::csv::files(outcome) {
            files::write(&directory.join(name), &text)?;
        }
        let everything = report::json::Options {
            buckets: true,
            histogram: true,
        };
        files::write(
            &directory.join("result.json"),
            &report::json::text(outcome, everything),
        )?;
        files::write(
            &directory.join("report.html"),
            &report::html::render(outcome),
        )?;
    }
    if output.quiet {
        return Ok(terminal::print(&format!("{}\n", outcome.summary())));
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
    if let Some(path) = &output.report {
        terminal::tell(&format!("report written to {}", path.display()));
    }
    Ok(exit)
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

fn conclude(outcome: &Outcome<'_>, results: &Results) -> Exit {
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

fn capture(scenario: &Scenario, progress: &Progress, path: &Path) -> Result<(), String> {
    files::write_with(path, |file| {
        let mut log = CaptureLog::new(scenario, file);
        let run = run::simulate_seed(scenario, scenario.run.seed, progress, &mut log);
        log.finish().and(run.map(drop).map_err(io::Error::other))
    })
}

fn list_packets(scenario: &Scenario, progress: &Progress, path: &Path) -> Result<(), String> {
    files::write_with(path, |file| {
        let mut log = PacketLog::new(scenario, file);
        let run = run::simulate_seed(scenario, scenario.run.seed, progress, &mut log);
        log.finish().and(run.map(drop).map_err(io::Error::other))
    })
}
