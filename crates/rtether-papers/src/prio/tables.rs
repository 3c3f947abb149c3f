//! `skeie-prio-baseline` and `skeie-prio-table1` to `-table3`.

use super::plant::{Load, Setup};
use super::{Case, SAMPLES, SERIES, ablation, measure, parts};
use crate::observe::Known;
use crate::prelude::*;
use rtether::profiles::VXWORKS_DATAGRAM as PASSAGE;

/// A table of the paper, by the stack and the tags of its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Table {
    One,
    Two,
    Three,
}

impl Table {
    const ALL: [Self; 3] = [Self::One, Self::Two, Self::Three];

    /// Returns the table that an experiment repeats.
    pub(crate) fn of(page: &Page) -> Self {
        let own = Self::ALL.into_iter().find(|table| table.id() == page.id());
        own.expect("an experiment about a table")
    }

    const fn id(self) -> &'static str {
        match self {
            Self::One => "skeie-prio-table1",
            Self::Two => "skeie-prio-table2",
            Self::Three => "skeie-prio-table3",
        }
    }

    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Three => 3,
        }
    }

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::One => "Untagged messages, FIFO stack, FTP load",
            Self::Two => "Tagged messages, FIFO stack, FTP load",
            Self::Three => "Tagged messages, priority queues in the nodes, FTP load",
        }
    }

    pub(crate) const fn setup(self, load: Load) -> Setup {
        match self {
            Self::One => Setup::plain(load),
            Self::Two => Setup { is_tagged: true, ..Setup::plain(load) },
            Self::Three => Setup::prioritized(load),
        }
    }
}

/// Returns the number that a claim is about, and the reason shown if it is out of range; `case`
/// measures a table under a load, without load for the baseline.
pub(super) fn value(
    claim: &str,
    case: &dyn Fn(Table, Load) -> Result<Case, ReproduceError>,
) -> Result<Option<(f64, &'static str)>, ReproduceError> {
    use Load::{Receive, Transmit};
    use Table::{One, Three, Two};
    let mean = |table, load| case(table, load).map(|case| case.mean_us());
    let deviation = |table, load| case(table, load).map(|case| case.deviation_us);
    let larger = |of: &dyn Fn(Load) -> Result<f64, ReproduceError>| {
        Ok::<_, ReproduceError>(of(Receive)?.max(of(Transmit)?))
    };
    Ok(Some(match claim {
        "C023" => (mean(One, Transmit)? / mean(One, Receive)?, "transmit load hurts less"),
        "C024" => (
            deviation(One, Transmit)? / deviation(One, Receive)?,
            "transmit load brings less jitter",
        ),
        "C025" => (
            larger(&|load| Ok((mean(Two, load)? / mean(One, load)? - 1.0).abs()))?,
            "tags change more",
        ),
        "C026" => {
            (deviation(Three, Transmit)? / deviation(One, Transmit)?, "priority queues cut less")
        }
        "C027" => {
            let (receive, transmit) = (mean(Three, Receive)?, mean(Three, Transmit)?);
            let apart = (transmit - receive).abs() / f64::midpoint(receive, transmit);
            (apart, "the direction of the load matters")
        }
        "C028" => (
            larger(&|load| Ok(mean(Three, load)? / mean(One, Load::None)?))?,
            "more than 5 % above the baseline",
        ),
        "C029" => (
            (deviation(Three, Receive)? / deviation(Two, Receive)? - 1.0).abs(),
            "the jitter under receive load changes more",
        ),
        "C030" => (
            larger(&|load| Ok(case(Three, load)?.max_us() - case(One, Load::None)?.max_us()))?,
            "the largest round trip is further above that of the baseline",
        ),
        _ => return Ok(None),
    }))
}

/// Rows simulated so far; a received file arrives at its fitted rate, or as fast as possible.
static KNOWN: Known<(Table, Load, bool), Case> = Known::new();

fn simulated(
    table: Table,
    load: Load,
    is_saturated: bool,
    progress: &Progress,
) -> Result<Case, ReproduceError> {
    let is_saturated = is_saturated && load == Load::Receive;
    let setup = Setup { is_saturated, ..table.setup(load) };
    KNOWN.get((table, load, is_saturated), || measure(&setup, progress))
}

pub(crate) fn baseline(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("Round trip without load: the calibration of the stack");
    let case = simulated(Table::One, Load::None, false, progress)?;
    page.compare(reference::values("skeie-prio-baseline"), |value| {
        let ours = case.statistic(&value.statistic)?;
        let quantity = format!("round trip without load, {}", value.statistic);
        let is_whole = value.subject.starts_with("rtt");
        is_whole.then(|| (quantity, format!("{ours:.1} us")))
    });
    parts::show(page, progress)?;
    page.note(format!(
        "Calibrated here: four passages of a stack of {PASSAGE} each with a uniform jitter. {}.",
        case.words()
    ));
    Ok(())
}

pub(crate) fn run(page: &mut Page, progress: &Progress) -> Outcome {
    let table = Table::of(page);
    page.title(table.title());
    for claim in page.claims() {
        let of = |is_saturated| {
            value(&claim, &|table, load| simulated(table, load, is_saturated, progress))
        };
        let Some(((own, reason), (other, _))) = of(false)?.zip(of(true)?) else {
            continue;
        };
        let holds = |value: f64| match claim.as_str() {
            // One full frame on the wire, and one service.
            "C030" => Some(value <= 122.08 + PASSAGE.as_us_f64()),
            _ => page.accepts(&claim, [value]),
        };
        let verdict = match holds(other) {
            Some(true) => "holds",
            _ => "does not hold",
        };
        let words = format!(
            "{own:.3}; with a received file that is not throttled {other:.3}, which {verdict}"
        );
        page.judge(&claim, holds(own), words, reason);
    }
    let case = |table, load| simulated(table, load, false, progress);
    let (receive, transmit) = (case(table, Load::Receive)?, case(table, Load::Transmit)?);
    compare(page, &receive, &transmit);
    page.note(
        "Not reproduced: receive load adds about 50 us to every round trip of tables 1 \
         and 2, also to the shortest, so it is not queueing.",
    );
    page.note(format!(
        "receive: {}; transmit: {}. Standard deviations are the root mean square of those of the \
         series, as in the paper; {SERIES} series of {SAMPLES} samples where the paper has 4.",
        receive.words(),
        transmit.words()
    ));
    if table == Table::Three {
        draw(page, &case)?;
        ablation::show(page, progress)?;
    }
    Ok(())
}

/// Returns the paper's combined values of a table under a load.
fn combined(id: &str, load: Load) -> Vec<Value> {
    let ends = format!("{}, combined, 800", load.name());
    let mut values = reference::values(id);
    values.retain(|value| value.subject.ends_with(&ends));
    values
}

/// Compares the paper's combined values of a table with ours.
pub(super) fn compare(page: &mut Page, receive: &Case, transmit: &Case) {
    let id = page.id();
    let is_combined = |value: &Value| value.subject.ends_with(", combined, 800");
    page.compare(reference::values(id), |value| {
        let is_received = value.subject.ends_with("receive, combined, 800");
        let case = if is_received { receive } else { transmit };
        let ours = case.statistic(&value.statistic)?;
        let quantity = format!("{}, {}", value.subject, value.statistic);
        is_combined(value).then(|| (quantity, format!("{ours:.1} us")))
    });
}

/// Draws the means of all three tables next to the paper's.
fn draw(page: &mut Page, case: &dyn Fn(Table, Load) -> Result<Case, ReproduceError>) -> Outcome {
    let mean = |values: Vec<Value>| {
        let mean = values.iter().find(|value| value.statistic == "mean");
        mean.and_then(Value::time)
    };
    let of = |table, load, paper| {
        Ok::<_, ReproduceError>(column(case(table, load)?.mean_us() * 1e-6, paper))
    };
    let mut quiet = reference::values("skeie-prio-baseline");
    quiet.retain(|value| value.subject.starts_with("rtt"));
    let baseline = of(Table::One, Load::None, mean(quiet))?;
    let mut groups = vec![("baseline".to_owned(), vec![baseline, None])];
    for table in Table::ALL {
        let [receive, transmit] =
            Load::BOTH.map(|load| of(table, load, mean(combined(table.id(), load))));
        groups.push((format!("table {}", table.number()), vec![receive?, transmit?]));
    }
    page.columns(
        "Tables 1 to 3: means under FTP load in either direction.",
        ["Mean round trip", ""],
        Axis::time("round trip"),
        Load::BOTH.map(|load| format!("{} load", load.name())),
        groups,
    );
    Ok(())
}
