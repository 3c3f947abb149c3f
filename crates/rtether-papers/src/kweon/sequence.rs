//! `kweon-linux-sequence`: individual round trips with ten active nodes (3.2, figure 8).

use std::sync::Arc;

use super::super::{Comparison, Figure, Judge, Judgement, ReproduceError, Reproduction, reference};
use super::{Case, Point, Scheme, find, measure};
use rtether::report::chart::{Axis, LineChart, Series, Style};
use rtether::run::Progress;

const SCHEMES: [Scheme; 3] = [Scheme::None, Scheme::Fixed, Scheme::Himd];
const ACTIVE: u16 = 10;
/// The paper's threshold between short and long round trips, in seconds.
const LONG: f64 = 0.3;

pub(in super::super) fn run(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let cases = SCHEMES.map(|scheme| Case::nongreedy(scheme, ACTIVE));
    let measured = measure(&cases, progress)?;
    let points = &measured.pooled;
    let longest = |scheme| longest(points, scheme);
    let values = reference::values("kweon-linux-sequence").into_iter();
    let values = values.filter(|value| value.statistic == "round_trip_delay");
    let compare = |value: reference::Value| {
        let scheme = SCHEMES
            .into_iter()
            .find(|scheme| value.subject.split(", ").nth(2) == Some(scheme.name()))?;
        Some(Comparison {
            quantity: format!("longest round trip, {}", scheme.name()),
            paper: value.words(),
            ours: format!("{:.1} ms", longest(scheme) * 1e3),
            source: value.source.clone(),
        })
    };
    Ok(Reproduction {
        id: "kweon-linux-sequence",
        title: "Round trips with ten nodes that send files at random times",
        mode: "sim",
        comparisons: values.filter_map(compare).collect(),
        claims: measured.judge(judge),
        figures: vec![figure(points)],
        notes: vec![
            "Where the paper plots one message after the other, the figure shows what \
                     share of them took longer."
                .into(),
        ],
    })
}

/// Returns the longest round trip in seconds.
fn longest(points: &[Arc<Point>], scheme: Scheme) -> f64 {
    let point = find(points, Case::nongreedy(scheme, ACTIVE));
    point.messages.latency.max.as_secs_f64()
}

fn judge(points: &[Arc<Point>]) -> Vec<Judgement> {
    let mut judge = Judge::new("kweon-linux-sequence");
    let adaptive = longest(points, Scheme::Himd);
    judge.judge(
        "C057",
        adaptive < LONG,
        format!("{:.1} ms", adaptive * 1e3),
        "a longer round trip",
    );
    let none = longest(points, Scheme::None);
    judge.judge(
        "C058",
        none > LONG,
        format!("{:.1} ms", none * 1e3),
        "no long round trip",
    );
    judge.finish()
}

/// Draws the share of messages that take longer than a time.
fn figure(points: &[Arc<Point>]) -> Figure {
    let series = points.iter().map(|point| {
        let histogram = &point.messages.histogram;
        let total = super::count_f64(histogram.total().max(1));
        let mut left = total;
        let points = histogram.bins().filter_map(|(upper, count)| {
            left -= super::count_f64(count);
            (left > 0.0).then(|| (upper.as_secs_f64(), left / total))
        });
        Series {
            name: point.case.scheme.name().into(),
            points: points.collect(),
            style: Style::Steps,
        }
    });
    let chart = LineChart {
        title: "Round trips".into(),
        note: "share that takes longer".into(),
        x: Axis::time("round trip").log(),
        y: Axis::number("share of messages").log(),
        series: series.collect(),
        rules: Vec::new(),
        bands: Vec::new(),
    };
    Figure {
        caption: "The counterpart of figure 8.".into(),
        drawing: chart.render(),
    }
}
