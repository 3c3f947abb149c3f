//! `check --fail`: judges a scenario again for every single failure.

use std::path::Path;

use clap::{Args, ValueEnum};
use rtether::fail::{self, Duration, Element, Failures, Question, Which};
use rtether::scenario::Scenario;
use rtether::verdict::Conclusion;

use super::strict::Strict;
use crate::exit::Exit;
use crate::outputs::Output;
use crate::progress::{Pace, with_progress};
use crate::scenario::{self, RunOverrides};
use crate::stop::Care;
use crate::terminal;

/// Arguments of `check` for failures.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct FailArgs {
    /// Repeat the judgment for every single failure, with the element absent and the network
    /// reconverged: a row for each
    #[arg(
        long,
        value_name = "WHAT",
        value_enum,
        conflicts_with_all = [
            "baseline", "report", "playground", "out", "all", "histogram", "buckets", "adversarial"
        ]
    )]
    #[cfg_attr(target_os = "linux", arg(conflicts_with = "live"))]
    fail: Option<FailChoice>,
    /// Time until the network has reconverged, during which packets are lost: 200ms
    #[arg(long, value_name = "TIME", requires = "fail", value_parser = recovery)]
    recovery: Option<Duration>,
}

/// What fails.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum FailChoice {
    /// Every link in use
    Links,
    /// Every link between switches or hubs
    Trunks,
    /// Every switch and hub
    Switches,
    /// Every link, switch and hub
    Both,
}

impl From<FailChoice> for Which {
    fn from(choice: FailChoice) -> Self {
        match choice {
            FailChoice::Links => Self::Links,
            FailChoice::Trunks => Self::Trunks,
            FailChoice::Switches => Self::Switches,
            FailChoice::Both => Self::Both,
        }
    }
}

/// Parses a time of at most an hour.
fn recovery(text: &str) -> Result<Duration, String> {
    let time = rtether::scenario::time(text)?;
    if time > Question::MOST_RECOVERY {
        return Err("write at most an hour, for example 200 ms".into());
    }
    Ok(time)
}

impl FailArgs {
    /// Returns what is asked, if failures are.
    pub(crate) fn question(self) -> Option<Question> {
        Some(Question { which: self.fail?.into(), recovery: self.recovery })
    }
}

/// Judges every single failure of a scenario and prints the result; otherwise an error has been
/// printed.
pub(crate) fn run(
    question: Question,
    (path, overrides): (&Path, &RunOverrides),
    (pace, strict): (Pace, Strict),
    output: &Output,
) -> Result<Conclusion, Exit> {
    let mut loaded = scenario::load_for_run(path, overrides)?;
    strict.ask(&mut loaded.scenario);
    let scenario = &loaded.scenario;
    let expected = simulated_ms(scenario, question.which);
    let found = with_progress(pace, expected, Care::None, |progress| {
        fail::judge(scenario, question, progress)
    });
    match found {
        Ok(Ok(failures)) => print(output, &failures),
        Ok(Err(error)) => {
            terminal::complain(&error.to_string());
            Err(Exit::WrongInput)
        }
        Err(message) => Err(terminal::fail(&message)),
    }
}

/// Returns the simulated time over all failures and runs.
fn simulated_ms(scenario: &Scenario, which: Which) -> u64 {
    let plan = scenario.run;
    let failures = u64::try_from(Element::all(&scenario.network, which).len()).unwrap_or(0);
    let run = u64::try_from(plan.duration.as_ps() / 1_000_000_000).unwrap_or(0);
    let runs = u64::from(plan.runs).saturating_mul(failures + 1);
    run.saturating_mul(runs)
}

fn print(output: &Output, failures: &Failures) -> Result<Conclusion, Exit> {
    let printed = if output.quiet {
        terminal::print(&format!("{}\n", failures.summary()))
    } else {
        output.format.print(failures)
    };
    if printed == Exit::Ok { Ok(failures.conclusion()) } else { Err(printed) }
}
