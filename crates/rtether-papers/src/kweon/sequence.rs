//! `kweon-linux-sequence`: individual round trips with ten active nodes (3.2, figure 8).

use std::sync::Arc;

use super::{Case, Point, Scheme, find, measure, scheme_of};
use crate::observe::distribution;
use crate::prelude::*;

const SCHEMES: [Scheme; 3] = [Scheme::None, Scheme::Fixed, Scheme::Himd];
const ACTIVE: u16 = 10;

pub(crate) fn run(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("Round trips with ten nodes that send files at random times");
    let measured = measure(
        &SCHEMES.map(|scheme| Case::nongreedy(scheme, ACTIVE)),
        progress,
    )?;
    let points = &measured.pooled;
    compare(page, points);
    measured.judge(page, |page, points| {
        for (claim, scheme) in [("C057", Scheme::Himd), ("C058", Scheme::None)] {
            let longest = longest(points, scheme);
            page.check(claim, [longest], format!("{:.1} ms", longest * 1e3));
        }
    });
    let series = points.iter().map(|point| {
        let shares = distribution(&point.messages.histogram).into_iter();
        let longer = shares.map(|(upper, share)| (upper, 1.0 - share));
        let drawn = longer.filter(|(_, share)| *share > 0.0);
        curve(point.case.scheme.name(), Style::Steps, drawn)
    });
    page.lines(
        "The counterpart of figure 8.",
        ["Round trips", "share that takes longer"],
        [
            Axis::time("round trip").log(),
            Axis::number("share of messages").log(),
        ],
        series.collect(),
    );
    page.note(
        "Where the paper plots one message after the other, the figure shows what \
         share of them took longer.",
    );
    Ok(())
}

/// Shows what was simulated or measured next to the paper's values.
pub(super) fn compare(page: &mut Page, points: &[Arc<Point>]) {
    page.compare(reference::values("kweon-linux-sequence"), |value| {
        let scheme = scheme_of(value, &SCHEMES)?;
        let ours = format!("{:.1} ms", longest(points, scheme) * 1e3);
        let quantity = format!("longest round trip, {}", scheme.name());
        (value.statistic == "round_trip_delay").then_some((quantity, ours))
    });
}

/// Returns the longest round trip in seconds.
fn longest(points: &[Arc<Point>], scheme: Scheme) -> f64 {
    let point = find(points, Case::nongreedy(scheme, ACTIVE));
    point.messages.latency.max.as_secs_f64()
}
