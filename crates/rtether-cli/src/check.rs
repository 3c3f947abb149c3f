//! `check` and `sim`: run a scenario and judge it.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

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
    judge(arguments, global, |_, _| Ok(()))
}

/// Runs `sim`.
pub(crate) fn sim(arguments: &SimArgs, global: &Global) -> Exit {
    judge(&arguments.check, global, |scenario, progress| {
        if let Some(path) = &arguments.pcap {
            capture(scenario, progress, path)?;
        }
        if let Some(path) = &arguments.packets {
            list_packets(scenario, progress, path)?;
        }
        Ok(())
    })
}

fn judge(
    arguments: &CheckArgs,
    global: &Global,
    trace: impl FnOnce(&Scenario, &Progress) -> Result<(), String>,
) -> Exit {
    terminal::choose_color(global);
    let loaded = match scenario::load(&arguments.scenario, &arguments.overrides) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let scenario = &loaded.scenario;
    let plan = scenario.run;
    let total = plan.duration.as_ps() / 1_000_000_000 * i64::from(plan.runs);
    let run = with_progress(global, u64::try_from(total).unwrap_or(0), |progress| {
        run::simulate(scenario, progress).map(|results| (results, progress.is_cancelled()))
    });
    let results = match run {
        Ok(Ok((results, _))) => results,
        Ok(Err(error)) => {
            terminal::complain(&error.to_string());
            return Exit::WrongInput;
        }
        Err(message) => return exit::fail(&message),
    };
    if let Err(message) = trace(scenario, &Progress::default()) {
        return exit::fail(&message);
    }
    let assessments = verdict::assess(scenario, &results);
    let outcome = Outcome::new(scenario, &results, &assessments).with_source(&loaded.text);
    match deliver(&outcome, &arguments.output) {
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
    let mut log = CaptureLog::new(scenario, create(path)?);
    let run = run::simulate_seed(scenario, scenario.run.seed, progress, &mut log);
    finish(path, run.map_err(|error| error.to_string()), log.finish())
}

fn list_packets(scenario: &Scenario, progress: &Progress, path: &Path) -> Result<(), String> {
    let mut log = PacketLog::new(scenario, create(path)?);
    let run = run::simulate_seed(scenario, scenario.run.seed, progress, &mut log);
    finish(path, run.map_err(|error| error.to_string()), log.finish())
}

fn create(path: &Path) -> Result<BufWriter<File>, String> {
    let file = File::create(path);
    file.map(BufWriter::new)
        .map_err(|error| format!("writing `{}`: {error}", path.display()))
}

fn finish<T>(path: &Path, run: Result<T, String>, log: std::io::Result<()>) -> Result<(), String> {
    run?;
    log.map_err(|error| format!("writing `{}`: {error}", path.display()))
}
