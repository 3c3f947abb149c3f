//! `check --adversarial`: searches for releases that delay streams most.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use rtether::adversary::{self, Effort, Found};
use rtether::bound::Duration;
use rtether::check;
use rtether::report::Checked;
use rtether::scenario::Written;
use rtether::verdict::Conclusion;

use crate::drafts::Draft;
use crate::progress::{Pace, searching};
use crate::terminal;

/// Arguments of the search.
#[derive(Args, Debug)]
pub(crate) struct AdversaryArgs {
    /// Search for phases and other releases that the file allows and that delay streams most: for this
    /// real time, or this many plants, which find the same on any machine [default: 60 s]
    #[arg(
        long,
        value_name = "TIME|N",
        num_args = 0..=1,
        default_missing_value = "60 s",
        value_parser = effort
    )]
    pub(crate) adversarial: Option<Effort>,
    /// Write the worst plant that was found as a scenario file, which `sim` shows to be as late
    #[arg(long, value_name = "FILE", requires = "adversarial")]
    pub(crate) adversarial_out: Option<PathBuf>,
}

impl AdversaryArgs {
    /// Opens the file for what is found.
    pub(crate) fn open(&self) -> Result<Option<Draft>, String> {
        self.adversarial_out.as_deref().map(Draft::open).transpose()
    }
}

fn effort(text: &str) -> Result<Effort, String> {
    Effort::parse(text).map_err(|why| {
        format!("{why}, or a number of plants; the scenario stands before `--adversarial`")
    })
}

/// Searches, and adds what was found to the result. An interrupted run is not searched.
pub(crate) fn search(arguments: &AdversaryArgs, pace: Pace, checked: &mut Checked) {
    let Some(effort) = arguments.adversarial else {
        return;
    };
    if checked.conclusion == Conclusion::Interrupted {
        return;
    }
    let (bounds, seen) = check::known(checked);
    let scenario = &checked.scenario;
    let progress = Arc::new(adversary::Progress::begin(effort));
    let work = || adversary::attack(scenario, (&bounds, &seen), &progress);
    let outcome = match searching(pace, &progress, work) {
        Ok(outcome) => outcome,
        Err(message) => {
            terminal::complain(&message);
            return;
        }
    };
    terminal::detail(|| {
        let plants = outcome.search.tried;
        format!("{plants} plants tried in {:.1} s", progress.elapsed().as_secs_f64())
    });
    check::add_found(checked, outcome);
}

/// Writes the plant in which a packet is nearest to its deadline, or furthest beyond it; returns why it
/// could not be written.
pub(crate) fn write(draft: Draft, checked: &Checked, written: &Written) -> Option<String> {
    let worst = worst(checked);
    let text = worst.and_then(|found| found.file(&checked.scenario, written));
    match text {
        Some(text) => draft.write(&text).err(),
        None => Some("no plant was found that could be written".to_owned()),
    }
}

fn worst(checked: &Checked) -> Option<&Found> {
    let mut worst: Option<(i128, &Found)> = None;
    for stream in checked.streams() {
        let Some(found) = stream.found else { continue };
        let part = |deadline: Duration| {
            i128::from(found.latency.as_ps()) * 1_000_000_000 / i128::from(deadline.as_ps().max(1))
        };
        let nearness = stream.flow.deadline.map_or(0, part);
        if worst.is_none_or(|(most, _)| nearness > most) {
            worst = Some((nearness, found));
        }
    }
    worst.map(|(_, found)| found)
}
