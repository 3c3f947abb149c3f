//! `kweon-linux-alternatives`: other laws for the period of the smoother (2.2, 3.2).

use std::sync::Arc;

use super::super::{Comparison, Figure, Judge, ReproduceError, Reproduction};
use super::{Point, Scheme, find, greedy, measure, nongreedy};
use crate::report::chart::{Axis, LineChart, Series, Style};
use crate::run::Progress;

const LAWS: [Scheme; 4] = [
    Scheme::Himd,
    Scheme::SlowStart,
    Scheme::Linear,
    Scheme::Rtether,
];
const ACTIVE: u16 = 10;

pub(in super::super) fn run(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let random = LAWS.map(|law| nongreedy::case(law, ACTIVE));
    let greedy = LAWS.map(|law| greedy::case(law, ACTIVE));
    let cases: Vec<_> = random.into_iter().chain(greedy).collect();
    let points = measure(&cases, progress)?;
    let at = |law| find(&points, nongreedy::case(law, ACTIVE));
    let cost = |law| at(law).miss_at_most() * at(law).burst_seconds();
    let paper_laws = &LAWS[..3];
    let best = paper_laws
        .iter()
        .all(|&law| cost(Scheme::Himd) <= cost(law));
    let observed = paper_laws.iter().map(|&law| {
        format!(
            "{}: miss {}, burst {:.2} s, product {:.2e}",
            law.name(),
            at(law).miss_words(),
            at(law).burst_seconds(),
            cost(law)
        )
    });
    let mut judge = Judge::new("kweon-linux-alternatives");
    judge.judge(
        "C063",
        best,
        observed.collect::<Vec<_>>().join("; "),
        "the paper gives no parameters for the other laws; with ours, which reach the shortest \
         period in the same time as HIMD, another law has the smaller product",
    );
    let comparisons = LAWS.map(|law| Comparison {
        quantity: format!("{}, {ACTIVE} greedy nodes", law.name()),
        paper: "no numbers".into(),
        ours: {
            let point = find(&points, greedy::case(law, ACTIVE));
            format!(
                "miss {}, throughput {:.3}",
                point.miss_words(),
                point.throughput
            )
        },
        source: "002 Kweon 3.2".into(),
    });
    Ok(Reproduction {
        id: "kweon-linux-alternatives",
        title: "Laws for the period of the smoother",
        mode: "sim",
        comparisons: comparisons.into(),
        claims: judge.finish(),
        figures: vec![figure(&points)],
        notes: vec![
            "A run without a miss counts as one miss in the product, so that burst time decides \
             between laws that miss nothing."
                .into(),
        ],
    })
}

fn figure(points: &[Arc<Point>]) -> Figure {
    let series = LAWS.map(|law| {
        let point = find(points, greedy::case(law, ACTIVE));
        Series {
            name: law.name().into(),
            points: vec![(point.throughput, point.miss_at_most())],
            style: Style::Markers,
        }
    });
    let chart = LineChart {
        title: "Misses against throughput".into(),
        note: "ten greedy nodes".into(),
        x: Axis::number("throughput, part of 10 Mbit/s"),
        y: Axis::number("miss ratio").log(),
        series: series.into(),
        rules: Vec::new(),
        bands: Vec::new(),
    };
    Figure {
        caption: "Each law at ten greedy nodes; no misses in a run are drawn as one.".into(),
        drawing: chart.render(),
    }
}
