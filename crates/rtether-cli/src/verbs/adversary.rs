//! `check --adversarial`: searches for releases that delay streams most.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration as WallDuration, Instant as WallInstant};

use clap::Args;
use rtether::adversary::{self, Found, Hunt};
use rtether::bound::Duration;
use rtether::check;
use rtether::report::Checked;
use rtether::scenario::Written;
use rtether::verdict::Conclusion;

use crate::drafts::Draft;
use crate::progress::{Pace, searching};
use crate::terminal;

/// How long to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// This much real time.
    Time(WallDuration),
    /// This many plants.
    Plants(u64),
}

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
    if let Ok(plants) = text.parse() {
        return Ok(Effort::Plants(plants));
    }
    let time = rtether::scenario::time(text).map_err(|why| {
        format!("{why}, or a number of plants; the scenario stands before `--adversarial`")
    })?;
    let time = u64::try_from(time.as_ps() / 1_000).unwrap_or(0);
    Ok(Effort::Time(WallDuration::from_nanos(time)))
}

/// Searches, and adds what was found to the result. An interrupted run is not searched.
pub(crate) fn search(arguments: &AdversaryArgs, pace: Pace, checked: &mut Checked) {
    let Some(effort) = arguments.adversarial else {
        return;
    };
    if checked.conclusion == Conclusion::Interrupted {
        return;
    }
    let bounds: Vec<Option<Duration>> = checked.streams().map(|stream| stream.bound).collect();
    let seen: Vec<Duration> = checked
        .streams()
        .map(|stream| stream.record.latency.max)
        .collect();
    let begun = WallInstant::now();
    let (most, limit) = match effort {
        Effort::Time(limit) => (u64::MAX, Some(limit)),
        Effort::Plants(plants) => (plants, None),
    };
    let scenario = &checked.scenario;
    let work = |is_cancelled: &AtomicBool, tell: &(dyn Fn(u64, usize) + Sync)| {
        let goes_on = |hunt: &Hunt<'_>| {
            tell(hunt.tried(), hunt.late());
            limit.is_none_or(|limit| begun.elapsed() < limit)
        };
        adversary::attack(scenario, (&bounds, &seen), most, is_cancelled, goes_on)
    };
    let outcome = match searching(pace, work) {
        Ok(outcome) => outcome,
        Err(message) => {
            terminal::complain(&message);
            return;
        }
    };
    terminal::detail(|| {
        let plants = outcome.search.tried;
        format!(
            "{plants} plants tried in {:.1} s",
            begun.elapsed().as_secs_f64()
        )
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
