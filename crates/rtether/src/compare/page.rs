//! A comparison as one self-contained page.

use rtether_model::quantity::Duration;
use rtether_report::bars::{self, Bar, Part};
use rtether_report::chart::{Axis, Rule, RuleKind, Tail, TailChart};
use rtether_report::markup::{Markup, element};
use rtether_report::page::{self, Page, Tone};
use rtether_report::table::Table;
use rtether_report::text::{percent, time};

use super::output::megabits;
use super::{Comparison, Fault, Row};
use crate::words::Conclusion;

/// Schemes that keep their distributions apart in one chart.
const CURVES: usize = 8;
/// From this quotient of longest and shortest latency on, their axis is logarithmic.
const LOG_FROM: f64 = 20.0;

/// Returns the page.
pub fn html(comparison: &Comparison) -> String {
    let run: Vec<&Row> = comparison.rows.iter().filter(|row| row.is_run()).collect();
    let judged = comparison.judged;
    let keeping = run.iter().filter(|row| row.kept == judged).count();
    let proving = run.iter().filter(|row| row.proved == judged).count();
    let (tone, word) = match keeping {
        _ if comparison.partial => (Tone::Neutral, ""),
        0 if comparison.conclusion() == Conclusion::NoAnswer => {
            (Tone::Neutral, ": ? nothing was delivered or due")
        }
        0 => (Tone::Bad, ": \u{2717} no scheme keeps every deadline"),
        _ => (Tone::Good, ": \u{2713} some scheme keeps every deadline"),
    };
    let word = format!("{}{word}", comparison.conclusion().word());
    let schemes = comparison.rows.len();
    let mut page = Page::new(&comparison.scenario)
        .kicker("Access schemes on the hubs of this plant")
        .lead(page::banner(tone, &word, &comparison.said()))
        .lead(page::figures(&[
            (judged.to_string(), "streams with a deadline".into()),
            (schemes.to_string(), "ways of access".into()),
            (format!("{keeping} of {schemes}"), "keep every deadline".into()),
            (format!("{proving} of {schemes}"), "are proved to".into()),
        ]));
    let bad = |row: usize| comparison.rows[row].kept < judged;
    page = page.section("schemes", "Schemes", SCHEMES_NOTE, comparison.table(false).html(bad));
    if !run.is_empty() {
        let mut body = page::wide_grid([delays(comparison, &run)]);
        body.push(times(&run));
        page = page.section("delays", "Delays and the medium", DELAYS_NOTE, body);
        let mut body = faults(&run).html(|row| is_hurt(run[row]));
        let lines = comparison.losses();
        let lines: Markup = lines.iter().map(|line| element("p").text(line)).collect();
        body.push(lines);
        page = page.section("faults", "When something fails", FAULTS_NOTE, body);
        let streams: Vec<Option<bool>> = comparison
            .rows
            .iter()
            .flat_map(|row| row.streams.iter().map(super::Stream::is_kept))
            .collect();
        let flows = comparison.by_flow().html(|row| streams[row] == Some(false));
        page = page.section("flows", "Flows", FLOWS_NOTE, flows);
    }
    page.render()
}

const SCHEMES_NOTE: &str = "The same releases under each scheme. Worst, mean and jitter are of \
    real-time packets, from the release to the delivery; bulk is what files and floods got.";
const DELAYS_NOTE: &str = "Real-time packets of all flows, and what the busiest medium does: frames \
    with data, control frames of the scheme, transmissions that collided, and the rest with all gaps.";
const FAULTS_NOTE: &str = "Short runs in the middle of which one control frame is lost, the worst of \
    four, or the master dies; the first station where no station is master. Streams from and to a dead \
    station do not count. Silence is the longest time beyond the period in which a listener of a \
    periodic stream got nothing.";
const FLOWS_NOTE: &str = "Each stream under each scheme. A scheme without a bound has none that \
    holds whatever the other stations send.";

/// Returns whether a fault lets packets miss their deadline.
fn is_hurt(row: &Row) -> bool {
    let faults = [row.faults.loss, row.faults.death];
    faults.iter().flatten().any(|fault| fault.missed > 0)
}

/// Draws the distribution of latencies under each scheme.
fn delays(comparison: &Comparison, run: &[&Row]) -> Markup {
    let shown = run.iter().filter(|row| row.latency.count > 0).take(CURVES);
    let tails: Vec<Tail<'_>> = shown
        .map(|row| Tail {
            name: row.scheme.into(),
            histogram: &row.histogram,
            latency: &row.latency,
        })
        .collect();
    let rules: Vec<Rule> = tightest(comparison)
        .map(|deadline| Rule {
            at: deadline.as_secs_f64(),
            label: format!("deadline {}", time(deadline)),
            kind: RuleKind::Deadline,
        })
        .into_iter()
        .collect();
    let ends = tails.iter().flat_map(|tail| [tail.latency.min, tail.latency.max]);
    let ends = ends.map(Duration::as_secs_f64).chain(rules.iter().map(|rule| rule.at));
    let ends: Vec<f64> = ends.collect();
    let low = ends.iter().copied().fold(f64::INFINITY, f64::min);
    let high = ends.iter().copied().fold(0.0, f64::max);
    let axis = Axis::time("latency");
    let x = if low > 0.0 && high / low > LOG_FROM {
        axis.log().between(low / 1.1, high * 2.0)
    } else {
        axis.between(0.0, high.max(1e-9) * 1.15)
    };
    let chart = TailChart {
        title: "Packets that take longer".into(),
        note: "real-time packets of all flows".into(),
        x,
        tails,
        rules,
    };
    chart.render()
}

/// Returns the smallest deadline.
fn tightest(comparison: &Comparison) -> Option<Duration> {
    let streams = comparison.rows.iter().flat_map(|row| &row.streams);
    streams.filter_map(|own| own.deadline).min()
}

/// Draws what the medium spends its time on.
fn times(run: &[&Row]) -> Markup {
    let kinds = [
        ("t3", "frames with data"),
        ("t1", "control frames"),
        ("t2", "collisions"),
        ("idle", "gaps and silence"),
    ];
    let bar = |row: &&Row| {
        let own = row.shares;
        let idle = (1.0 - own.carried() - own.wasted).max(0.0);
        let sizes = [own.data, own.control, own.wasted, idle];
        let parts = kinds.iter().zip(sizes).map(|((class, name), size)| Part {
            class: (*class).into(),
            name: (*name).into(),
            size,
            value: percent(size),
        });
        Bar {
            name: row.scheme.into(),
            note: format!("bulk {}", megabits(row.bulk)),
            total: format!("{} control", percent(own.control)),
            parts: parts.collect(),
        }
    };
    let rows: Vec<Bar> = run.iter().map(bar).collect();
    let mut all = bars::shares(&rows);
    let legend = kinds.map(|(class, name)| (class.to_owned(), name.to_owned()));
    all.push(bars::legend(&legend));
    all
}

/// Returns what faults do under each scheme.
fn faults(run: &[&Row]) -> Table {
    let of = |fault: Option<Fault>| fault.map(|fault| fault.worst);
    let silence = |fault: Option<Fault>| fault.and_then(|fault| fault.silence);
    let missed = |fault: Option<Fault>| fault.map(|fault| fault.missed);
    Table::of(run)
        .shown("access", |row| row.scheme)
        .amount("worst", |row| of(row.faults.none))
        .amount("silence", |row| silence(row.faults.none))
        .amount("frame lost: worst", |row| of(row.faults.loss))
        .amount("silence", |row| silence(row.faults.loss))
        .amount("missed", |row| missed(row.faults.loss))
        .shown("dead station", |row| row.faults.dead.join(", "))
        .amount("silence", |row| silence(row.faults.death))
        .amount("missed", |row| missed(row.faults.death))
        .done()
}
