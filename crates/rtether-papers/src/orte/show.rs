//! Tables and figures.

use rtether_model::quantity::Duration;

use super::super::judge::Judge;
use super::super::observe::count_f64;
use super::super::{Comparison, Figure, Reproduction};
use super::{Point, SIZES, Series, printed};
use rtether::meter::Statistics;
use rtether::report::chart::{Axis, Column, ColumnChart, LineChart, Series as Curve, Style};

/// How close a prediction must be to the paper's mean (catalogue 4c).
const NEAR: Duration = Duration::from_us(50);

/// Compares the paper's values with ours.
pub(super) fn rows(id: &'static str, own: &Statistics) -> Vec<Comparison> {
    let source = if id.ends_with("loopback") {
        "003 Dolejs Fig. 10"
    } else {
        "003 Dolejs Fig. 9"
    };
    let row = |name: &str, metric: &str, ours: Duration| Comparison {
        quantity: format!("response time, {name}"),
        paper: printed(id, metric).map_or_else(|| "not printed".into(), |time| time.to_string()),
        ours: ours.to_string(),
        source: source.into(),
    };
    vec![
        row("least", "min", own.min),
        row("mean", "mean", own.mean),
        row("most", "max", own.max),
        row("standard deviation", "std", own.standard_deviation),
    ]
}

pub(super) fn values(id: &'static str, own: &Statistics, found: &Series) -> Vec<Comparison> {
    let mut all = rows(id, own);
    all.push(Comparison {
        quantity: "communication time, mean".into(),
        paper: "0.17 ms (difference of the means), 0.19 ms (simulated)".into(),
        ours: found.communication.mean.to_string(),
        source: "003 Dolejs 4.1".into(),
    });
    all
}

/// Reports how close the prediction is.
pub(super) fn note(found: &Series) -> String {
    let paper = printed("dolejs-orte-4nodes", "mean").unwrap_or_default();
    let off = (found.response.mean - paper).as_ps().abs();
    let verdict = if off <= NEAR.as_ps() { "" } else { "not " };
    format!(
        "A stack that suits loopback predicts {} for four nodes, {verdict}within {NEAR} of the paper's \
         {paper}. The engine of RTPS is the real one, with HEARTBEAT and ACKNACK; the paper's spoke \
         version 1.0, with 48 octets of headers where there are 96 now.",
        found.response.mean
    )
}

pub(super) fn decomposition(found: &Series) -> Figure {
    let column = |time: Duration, reference: Option<Duration>| {
        Some(Column {
            value: time.as_secs_f64(),
            reference: reference.map(Duration::as_secs_f64),
            accepted: None,
        })
    };
    let group = |name: &str, part: &Statistics, paper: Option<Duration>| {
        let columns = vec![
            column(part.mean, paper),
            column(part.standard_deviation, None),
        ];
        (name.to_owned(), columns)
    };
    let chart = ColumnChart {
        title: "Where the response time goes".into(),
        note: "simulated".into(),
        y: Axis::time("one way"),
        series: vec!["mean".into(), "standard deviation".into()],
        groups: vec![
            group(
                "processing",
                &found.processing,
                printed("dolejs-orte-loopback", "mean"),
            ),
            group(
                "communication",
                &found.communication,
                printed("dolejs-sim-4nodes", "mean"),
            ),
            group(
                "response",
                &found.response,
                printed("dolejs-orte-4nodes", "mean"),
            ),
        ],
        reference_name: "paper, mean".into(),
    };
    Figure {
        caption: "The counterpart of figures 9 to 11.".into(),
        drawing: chart.render(),
    }
}

/// Reports points as a table and a figure.
pub(super) fn reproduction(
    id: &'static str,
    title: &'static str,
    mode: &'static str,
    (points, judge): (&[Point], Judge),
) -> Reproduction {
    let what = if mode == "live" { "median" } else { "mean" };
    let comparisons = points.iter().map(|point| Comparison {
        quantity: format!("{what}, {} B every {}", point.size, point.repetition),
        paper: "drawn, not printed".into(),
        ours: point.mean.to_string(),
        source: "003 Dolejs Fig. 12 to 14".into(),
    });
    Reproduction {
        id,
        title,
        mode,
        comparisons: comparisons.collect(),
        claims: judge.finish(),
        figures: vec![figure(title, what, points)],
        notes: Vec::new(),
    }
}

fn figure(title: &str, what: &str, points: &[Point]) -> Figure {
    let is_over_size = points
        .windows(2)
        .all(|pair| pair[0].repetition == pair[1].repetition);
    let curve = |name: String, points: Vec<(f64, f64)>| Curve {
        name,
        points,
        style: Style::Line,
    };
    let (x, series) = if is_over_size {
        let all = points.iter();
        let all = all.map(|one| (count_f64(one.size), one.mean.as_secs_f64()));
        (
            Axis::number("payload, octets"),
            vec![curve(what.into(), all.collect())],
        )
    } else {
        let of_size = |size: u64| {
            let own = points.iter().filter(|one| one.size == size);
            let own: Vec<(f64, f64)> = own
                .map(|one| (one.repetition.as_secs_f64(), one.mean.as_secs_f64()))
                .collect();
            (!own.is_empty()).then(|| curve(format!("{size} B"), own))
        };
        (
            Axis::time("repetition time"),
            SIZES.into_iter().filter_map(of_size).collect(),
        )
    };
    let chart = LineChart {
        title: title.into(),
        note: what.into(),
        x,
        y: Axis::time("one way"),
        series,
        ..LineChart::default()
    };
    Figure {
        caption: "The counterpart of figures 12 to 14.".into(),
        drawing: chart.render(),
    }
}
