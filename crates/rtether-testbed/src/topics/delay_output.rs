//! Delays in words and numbers.

use std::fmt::Write;

use rtether_model::quantity::Duration;
use rtether_rtps::guid::Guid;
use schemars::JsonSchema;
use serde::Serialize;

use super::delay::{Clocks, Delay, Delays};
use rtether::report::table::{Screen, Table};
use rtether::report::text::{plural, time};

/// Returns a table, and what the figures mean.
pub(super) fn text(delays: &Delays) -> String {
    let mut text = String::from("\nDelay from the time stamp of the writer until read here:\n\n");
    let at = |part, whole| move |one: &Delay| one.quantile(part, whole);
    let rows = Table::of(delays.iter().map(|(_, one)| one))
        .shown("writer", |one| &one.who)
        .amount("samples", |one| one.samples())
        .amount("least", |one| known(one, one.least))
        .amount("median", |one| at(50, 100)(one))
        .amount("99 %", |one| at(99, 100)(one))
        .amount("most", |one| known(one, one.most))
        .amount("spread", |one| known(one, one.spread()))
        .shown("clocks", |one| clocks(one.clocks))
        .done();
    text.push_str(&rows.draw(Screen::default()));
    text.push('\n');
    for (_, one) in delays.iter() {
        if let Some(ahead) = one.ahead() {
            _ = writeln!(
                text,
                "\nthe clock of {} is at least {} ahead: no sample is read before it is written",
                one.who,
                time(ahead)
            );
        }
        if one.unstamped > 0 {
            let count = usize::try_from(one.unstamped).unwrap_or(usize::MAX);
            _ = writeln!(text, "\n{} of {} without a time stamp", plural(count, "sample"), one.who);
        }
    }
    if delays.iter().any(|(_, one)| one.clocks == Clocks::Unknown) {
        text.push_str(UNKNOWN);
        text.push_str(&own(delays));
    }
    text
}

/// What figures of two clocks mean.
const UNKNOWN: &str = "
Writers of other hosts stamp by their own clocks: each figure contains the difference of both
clocks, except the spread, as long as they run alike. `--clock-error` says how large it can be.
";

/// Returns what is known of the clock of this host.
fn own(delays: &Delays) -> String {
    match delays.clock {
        Some(clock) if clock.is_synchronized => format!(
            "The clock of this host is synchronized, and at most {} off by its kernel; add that of \
             the writer.\n",
            time(clock.error_max)
        ),
        Some(_) => "The clock of this host is not synchronized by any program.\n".to_owned(),
        None => String::new(),
    }
}

fn known(one: &Delay, figure: Duration) -> Option<Duration> {
    (one.samples() > 0).then_some(figure)
}

fn clocks(clocks: Clocks) -> String {
    match clocks {
        Clocks::One => "one, exact".to_owned(),
        Clocks::Within(error) => format!("two, \u{b1} {}", time(error)),
        Clocks::Unknown => "two, difference unknown".to_owned(),
    }
}

/// Delays from the time stamp of the writer until the sample is read.
#[derive(Serialize, JsonSchema)]
pub(super) struct DelaysJson<'a> {
    /// Each writer.
    writers: Vec<DelayJson<'a>>,
    /// Samples of writers beyond the number that is counted.
    uncounted: u64,
    /// Whether the clock of this host is synchronized; `null` if the kernel does not say.
    clock_synchronized: Option<bool>,
    /// How far the kernel holds it to be off at most; `null` likewise.
    clock_max_error_ns: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
struct DelayJson<'a> {
    /// Identity (GUID) of the writer.
    writer: String,
    /// Name and place of its participant.
    participant: &'a str,
    /// Samples with a time stamp; without any, the delays are `null`.
    samples: u64,
    /// Samples without a time stamp.
    unstamped: u64,
    /// The least; below zero if the clock of the writer is ahead.
    min_ns: Option<i64>,
    /// The median.
    median_ns: Option<i64>,
    /// The 99th percentile.
    p99_ns: Option<i64>,
    /// The largest.
    max_ns: Option<i64>,
    /// The largest less the least, which no difference of the clocks changes.
    spread_ns: Option<i64>,
    /// Whether writer and reader are on one host, and have one clock.
    one_clock: bool,
    /// How far the delays may be off because of the clocks; `null` if that is not known.
    clock_error_ns: Option<i64>,
    /// How far the clock of the writer is certainly ahead; `null` if no delay shows it.
    clock_ahead_ns: Option<i64>,
}

impl<'a> DelaysJson<'a> {
    pub(super) fn of(delays: &'a Delays) -> Self {
        Self {
            writers: delays.iter().map(|(guid, one)| DelayJson::of(guid, one)).collect(),
            uncounted: delays.uncounted,
            clock_synchronized: delays.clock.map(|clock| clock.is_synchronized),
            clock_max_error_ns: delays.clock.map(|clock| clock.error_max.as_ns_floor()),
        }
    }
}

impl<'a> DelayJson<'a> {
    fn of(guid: Guid, one: &'a Delay) -> Self {
        Self {
            writer: guid.to_string(),
            participant: &one.who,
            samples: one.samples(),
            unstamped: one.unstamped,
            min_ns: ns(known(one, one.least)),
            median_ns: ns(one.quantile(50, 100)),
            p99_ns: ns(one.quantile(99, 100)),
            max_ns: ns(known(one, one.most)),
            spread_ns: ns(known(one, one.spread())),
            one_clock: one.clocks == Clocks::One,
            clock_error_ns: ns(one.clocks.error()),
            clock_ahead_ns: ns(one.ahead()),
        }
    }
}

fn ns(figure: Option<Duration>) -> Option<i64> {
    figure.map(Duration::as_ns_floor)
}
