//! `dolejs-sim-4nodes`: pure communication time of two pairs (003 Dolejs, 4.1, figure 11).

use rtether_model::quantity::Duration;

use super::observe::{load, merge, ratio};
use super::{Comparison, Figure, Judge, ReproduceError, Reproduction, reference};
use rtether::report::chart::{Axis, LineChart, Rule, RuleKind, Series, Style};
use rtether::run::{self, Progress};

const SCENARIO: &str = include_str!("../../../scenarios/publish-subscribe.yaml");

pub(super) fn run_four_nodes(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let scenario = load("publish-subscribe.yaml", SCENARIO, &[])?;
    let results = run::simulate(&scenario, progress)
        .map_err(|error| ReproduceError::Scenario(error.to_string()))?;
    // The paper halves the round trip; so does this experiment.
    let all = merge(&results.record.streams);
    let one_way = all.latency.mean().map(|trip| trip / 2);
    let one_way = one_way.ok_or_else(|| ReproduceError::Scenario("no issue came back".into()))?;
    let max = all.latency.max / 2;
    let mut judge = Judge::new("dolejs-sim-4nodes");
    let accepted = Duration::from_us(160)..=Duration::from_us(220);
    judge.judge(
        "C076",
        accepted.contains(&one_way),
        format!("{one_way}"),
        "half the mean round trip is outside the range",
    );
    let values = reference::values("dolejs-sim-4nodes");
    let comparisons = values.into_iter().map(|value| Comparison {
        quantity: "communication time, mean".into(),
        paper: value.words(),
        ours: format!("{one_way} (largest {max})"),
        source: value.source,
    });
    let paper = reference::times("dolejs-sim-4nodes", "mean");
    let paper = paper.into_values().next().unwrap_or_default();
    Ok(Reproduction {
        id: "dolejs-sim-4nodes",
        title: "Communication time of two pairs over a switch",
        mode: "sim",
        comparisons: comparisons.collect(),
        claims: judge.finish(),
        figures: vec![figure(distribution(&all.histogram), paper)],
        notes: vec![format!(
            "Ours is {:.2} of the paper's: two serializations of 1024 octets over RTPS 2.5, whose headers \
             and HEARTBEAT are 96 octets, and a switch that adds nothing. With the 48 octets of \
             RTPS 1.0 they are 180.2 us, over UDP alone 172.5 us (`scenarios/dolejs-4nodes.yaml`); \
             what the paper's switch adds is not known.",
            ratio(one_way, paper)
        )],
    })
}

/// Returns the distribution of half the round trip, in seconds.
fn distribution(histogram: &rtether_model::histogram::Histogram) -> Vec<(f64, f64)> {
    let mut seen = 0.0;
    let total = super::observe::count_f64(histogram.total());
    let mut points = Vec::new();
    for (upper, count) in histogram.bins() {
        seen += super::observe::count_f64(count);
        points.push((upper.as_secs_f64() / 2.0, seen / total));
    }
    points
}

fn figure(points: Vec<(f64, f64)>, paper: Duration) -> Figure {
    let chart = LineChart {
        title: "Communication time".into(),
        note: "half of the round trip".into(),
        x: Axis::time("one way").between(0.0, 300e-6),
        y: Axis::share("packets"),
        series: vec![Series {
            name: "simulated".into(),
            points,
            style: Style::Steps,
        }],
        rules: vec![Rule {
            at: paper.as_secs_f64(),
            label: "paper, mean".into(),
            kind: RuleKind::Bound,
        }],
        bands: Vec::new(),
    };
    Figure {
        caption: "The counterpart of figure 11.".into(),
        drawing: chart.render(),
    }
}
