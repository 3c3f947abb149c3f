//! Requirements over several flows: the sum of their delays.
//!
//! The largest latencies of the flows are added, whichever packets they belong to: the sum is at least
//! that of any packets that follow each other, and can be larger. The sum of bounds is one for all of
//! them.

use rtether_model::quantity::Duration;
use schemars::JsonSchema;
use serde::Serialize;

use super::checked::{Checked, Stream};
use super::table::{Cell, Table};
use super::text::{percent, plural, share, time};
use crate::scenario::Sum;
use crate::sums::Added;
use crate::sums::MaxOfSum;
use crate::verdict::{Blame, Column, Conclusion, Standing, Verdict};
use rtether_report::number::Ns;

/// A sum of delays, judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Summed {
    /// `sum of request, reply`.
    pub name: String,
    /// The flows.
    pub flows: Vec<String>,
    /// Upper limit.
    pub limit: Duration,
    /// Sum of the largest simulated latencies.
    pub simulated: Added,
    /// Sum of the bounds.
    pub bound: Added,
    /// Sum of the largest measured latencies.
    pub measured: Added,
    /// The verdict on what was simulated and measured.
    pub verdict: Verdict,
    /// The column that failed.
    pub failed: Option<Column>,
    /// Limit minus the sum that failed, else minus the simulated one.
    pub margin: Option<Duration>,
    /// The flow with the largest part.
    pub responsible: Option<Responsible>,
}

/// The flow with the largest part of a sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Responsible {
    /// Its name.
    pub flow: String,
    /// Its largest latency in the column that failed, else the simulated one.
    pub delay: Duration,
    /// The sum.
    pub of: Duration,
    /// Where most of it was spent, if it was simulated.
    pub hop: Option<Blame>,
}

impl Summed {
    fn new(checked: &Checked, sum: &Sum) -> Self {
        let find = |name: &String| {
            let mut streams = checked.streams();
            streams.find(|stream| stream.flow.name == *name)
        };
        // After a failure a flow may be absent.
        let streams: Option<Vec<Stream<'_>>> = sum.flows.iter().map(find).collect();
        let streams = streams.unwrap_or_default();
        let simulated =
            observed(&streams, sum.max, simulated_max, |stream| stream.record.delivered);
        let bound = if let Some(analysis) = &checked.analysis {
            let conditions = streams.iter();
            let conditions = conditions.filter_map(|stream| analysis.condition(stream.index));
            let condition = conditions.map(|own| own.effect).max();
            Added::proved(values(&streams, |stream| stream.bound), sum.max, condition)
        } else {
            Added::default()
        };
        let measured = if checked.has_measured() {
            observed(&streams, sum.max, measured_max, |stream| {
                stream.measured.map_or(0, |measured| measured.released - measured.lost)
            })
        } else {
            Added::default()
        };
        let columns = [(Column::Simulated, simulated), (Column::Measured, measured)];
        let mut late = columns.iter().filter(|(_, sum)| sum.standing == Standing::Late);
        let failed = late.next().map(|(column, _)| *column);
        let is_open = columns.iter().any(|(_, sum)| sum.standing == Standing::NoAnswer);
        let value = match failed {
            Some(Column::Measured) => measured.value,
            Some(Column::Simulated | Column::Bound) | None => simulated.value,
        };
        Self {
            name: crate::sums::name(&sum.flows),
            flows: sum.flows.clone(),
            limit: sum.max,
            simulated,
            bound,
            measured,
            verdict: match (failed, is_open) {
                (Some(_), _) => Verdict::Late,
                (None, true) => Verdict::NoAnswer,
                (None, false) => Verdict::Ok,
            },
            failed,
            margin: value.map(|value| sum.max - value),
            responsible: value.and_then(|of| responsible(&streams, failed, of)),
        }
    }

    /// Returns what the verdict rests on.
    pub const fn standing(&self) -> Standing {
        match (self.verdict, self.bound.standing) {
            (Verdict::Late, _) => Standing::Late,
            (Verdict::NoAnswer, _) => Standing::NoAnswer,
            (_, Standing::Proved) => Standing::Proved,
            _ => self.simulated.standing,
        }
    }
}

fn simulated_max(stream: &Stream<'_>) -> Option<Duration> {
    stream.max()
}

fn measured_max(stream: &Stream<'_>) -> Option<Duration> {
    stream.measured?.summand()
}

/// Returns a value of each stream; `None` if one lacks it.
fn values(
    streams: &[Stream<'_>],
    value: impl Fn(&Stream<'_>) -> Option<Duration>,
) -> Option<Vec<Duration>> {
    streams.iter().map(value).collect()
}

/// Judges what was observed.
fn observed(
    streams: &[Stream<'_>],
    limit: Duration,
    value: fn(&Stream<'_>) -> Option<Duration>,
    packets: fn(&Stream<'_>) -> u64,
) -> Added {
    let packets = streams.iter().map(packets).sum();
    Added::observed(values(streams, value), limit, packets)
}

fn responsible(
    streams: &[Stream<'_>],
    failed: Option<Column>,
    of: Duration,
) -> Option<Responsible> {
    let is_measured = failed == Some(Column::Measured);
    let value = if is_measured { measured_max } else { simulated_max };
    let delay = |stream: &&Stream<'_>| value(stream);
    let stream = streams.iter().rev().max_by_key(delay)?;
    let worst = stream.record.worst.as_ref().filter(|_| !is_measured);
    Some(Responsible {
        flow: stream.flow.name.clone(),
        delay: delay(&stream)?,
        of,
        hop: worst.map(|worst| Blame {
            column: Column::Simulated,
            place: worst.responsible.0,
            delay: worst.responsible.1,
            of: worst.latency,
        }),
    })
}

impl Checked {
    /// Judges the requirements over several flows.
    pub fn sums(&self) -> Vec<Summed> {
        let sums = self.scenario.sums.iter();
        sums.map(|sum| Summed::new(self, sum)).collect()
    }

    /// Returns the conclusion from the requirements alone.
    pub fn required(&self) -> Conclusion {
        let streams = self.judged.iter().map(|judged| judged.assessment.verdict);
        let sums = self.sums().into_iter().map(|sum| sum.verdict);
        Conclusion::of(streams.chain(sums), self.results.partial)
    }

    /// Returns the sums in a sentence; empty without one.
    pub(super) fn sums_words(&self) -> String {
        let sums = self.sums();
        let count =
            |standing: Standing| sums.iter().filter(|sum| sum.standing() == standing).count();
        let Some(first) = sums.first() else {
            return String::new();
        };
        let mut late = sums.iter().filter(|sum| sum.failed.is_some());
        if let Some(sum) = late.next() {
            let value = self.of_sum(sum);
            let others = match late.count() {
                0 => String::new(),
                others => format!(" So are {others} more."),
            };
            return format!(" The {} is late: {value}.{others}", sum.name);
        }
        match count(Standing::NoAnswer) {
            0 if sums.len() == 1 => format!(" The {} holds: {}.", first.name, self.of_sum(first)),
            0 => {
                let proved = count(Standing::Proved);
                format!(
                    " All {} of delays hold, {proved} of them proved.",
                    plural(sums.len(), "sum")
                )
            }
            open => format!(" {} of delays without an answer.", plural(open, "sum")),
        }
    }

    /// Returns `up to 2.1 ms of 2 ms; 62 % of it request`.
    fn of_sum(&self, sum: &Summed) -> String {
        let Some(responsible) = &sum.responsible else {
            return "no answer".to_owned();
        };
        let (of, limit) = (time(responsible.of), time(sum.limit));
        format!("up to {of} of {limit}; {}", self.most_of(responsible))
    }

    /// Returns `62 % of it request, most in the driver queue of plc`.
    fn most_of(&self, responsible: &Responsible) -> String {
        let part = percent(share(responsible.delay, responsible.of));
        let hop = responsible.hop.map_or_else(String::new, |hop| {
            format!(", most in the {}", self.place_name(hop.place))
        });
        format!("{part} of it {}{hop}", responsible.flow)
    }
}

/// Returns a row per sum, with the columns of a stream.
pub fn table(checked: &Checked) -> Table {
    let shown = |standing: Standing| match standing.said() {
        None => Cell::default(),
        Some(word) if standing == Standing::Late => Cell::from(word).shown(word.to_uppercase()),
        Some(word) => Cell::from(word).shown(word.replace('-', " ")),
    };
    Table::of(checked.sums())
        .both("sum", "flow", |sum| sum.name.clone())
        .number("bound", "bound_ns", |sum| sum.bound.value)
        .rank(2)
        .optional()
        .both("proof", "bound_basis", |sum| shown(sum.bound.standing))
        .rank(4)
        .optional()
        .number("max", "delay_max_ns", |sum| sum.simulated.value)
        .number("live max", "measured_max_ns", |sum| sum.measured.value)
        .rank(2)
        .optional()
        .number("limit", "deadline_ns", |sum| sum.limit)
        .number("margin", "margin_ns", |sum| sum.margin)
        .rank(3)
        .both("verdict", "basis", |sum| shown(sum.standing()))
        .shown("most of it", |sum| {
            let responsible = sum.responsible.as_ref();
            responsible.map(|responsible| checked.most_of(responsible))
        })
        .rank(5)
        .file("verdict", |sum| sum.verdict.name())
        .file("sim_basis", |sum| sum.simulated.standing.said())
        .file("measured_basis", |sum| sum.measured.standing.said())
        .file("failed_column", |sum| sum.failed.map(Column::name))
        .done()
}

/// A sum as documents have it, with the members of a stream where they apply.
#[derive(Serialize, JsonSchema)]
pub(super) struct SummedJson {
    /// `sum of request, reply`.
    name: String,
    /// Names of the flows.
    flows: Vec<String>,
    /// The limit.
    deadline_ns: Ns,
    /// Sum of the bounds; `null` if one is missing.
    bound_ns: Option<Ns>,
    /// What was simulated.
    sim: MaxOfSum,
    /// What was measured; `null` if nothing was.
    measured: Option<MaxOfSum>,
    /// `ok`, `late` or `no-answer`.
    verdict: &'static str,
    /// What it rests on, as of a flow.
    basis: BasisJson,
    /// `sim`, `measured` or `null`.
    failed: Option<&'static str>,
    /// The limit minus the sum that failed, else minus the simulated one.
    margin_ns: Option<Ns>,
    /// The flow with the largest part.
    responsible: Option<ResponsibleJson>,
}

#[derive(Serialize, JsonSchema)]
struct BasisJson {
    /// The verdict rests on this.
    word: &'static str,
    /// Packets in which it held.
    packets: Option<u64>,
    /// The same of what was simulated.
    sim: Option<&'static str>,
    /// The same of the bounds.
    bound: Option<&'static str>,
    /// The same of what was measured.
    measured: Option<&'static str>,
}

#[derive(Serialize, JsonSchema)]
struct ResponsibleJson {
    /// Its name.
    flow: String,
    /// Its part.
    delay_ns: Ns,
    /// Its share of the sum.
    share: f64,
    /// Where its slowest simulated packet spent most time.
    place: Option<String>,
    /// How long that was.
    place_delay_ns: Option<Ns>,
}

/// Returns an object per sum.
pub(super) fn json(checked: &Checked) -> Vec<SummedJson> {
    let max = |sum: Added| MaxOfSum { max_ns: sum.value.map(Ns) };
    let sums = checked.sums().into_iter().map(|sum| SummedJson {
        deadline_ns: Ns(sum.limit),
        bound_ns: sum.bound.value.map(Ns),
        sim: max(sum.simulated),
        measured: checked.has_measured().then(|| max(sum.measured)),
        verdict: sum.verdict.name(),
        basis: BasisJson {
            word: sum.standing().name(),
            packets: sum.standing().packets(),
            sim: sum.simulated.standing.said(),
            bound: sum.bound.standing.said(),
            measured: sum.measured.standing.said(),
        },
        failed: sum.failed.map(Column::name),
        margin_ns: sum.margin.map(Ns),
        responsible: sum.responsible.as_ref().map(|own| ResponsibleJson::of(checked, own)),
        name: sum.name,
        flows: sum.flows,
    });
    sums.collect()
}

impl ResponsibleJson {
    fn of(checked: &Checked, own: &Responsible) -> Self {
        Self {
            flow: own.flow.clone(),
            delay_ns: Ns(own.delay),
            share: share(own.delay, own.of),
            place: own.hop.map(|hop| checked.place_name(hop.place)),
            place_delay_ns: own.hop.map(|hop| Ns(hop.delay)),
        }
    }
}
