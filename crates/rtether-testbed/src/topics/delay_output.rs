//! Delays in words and numbers.

use std::fmt::Write;

use rtether_model::quantity::Duration;
use serde_json::{Value, json};

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

/// Returns the delays as a JSON object.
pub(super) fn json(delays: &Delays) -> Value {
    let ns = |figure: Option<Duration>| figure.map(Duration::as_ns_floor);
    let writers = delays.iter().map(|(guid, one)| {
        json!({
            "writer": guid.to_string(),
            "participant": one.who,
            "samples": one.samples(),
            "unstamped": one.unstamped,
            "min_ns": ns(known(one, one.least)),
            "median_ns": ns(one.quantile(50, 100)),
            "p99_ns": ns(one.quantile(99, 100)),
            "max_ns": ns(known(one, one.most)),
            "spread_ns": ns(known(one, one.spread())),
            "one_clock": one.clocks == Clocks::One,
            "clock_error_ns": ns(one.clocks.error()),
            "clock_ahead_ns": ns(one.ahead()),
        })
    });
    json!({
        "writers": writers.collect::<Vec<_>>(),
        "uncounted": delays.uncounted,
        "clock_synchronized": delays.clock.map(|clock| clock.is_synchronized),
        "clock_max_error_ns": delays.clock.map(|clock| clock.error_max.as_ns_floor()),
    })
}
