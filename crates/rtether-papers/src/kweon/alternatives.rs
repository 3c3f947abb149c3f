//! `kweon-linux-alternatives`: other laws for the smoother's period (2.2, 3.2).

use std::sync::Arc;

use super::super::judge::all_of;
use super::super::{Comparison, Figure, Judge, Judgement, ReproduceError, Reproduction};
use super::{Case, Point, Scheme, find, measure};
use rtether::report::chart::{Axis, LineChart, Series, Style};
use rtether::run::Progress;

const LAWS: [Scheme; 4] = [
    Scheme::Himd,
    Scheme::SlowStart,
    Scheme::Linear,
    Scheme::Rtether,
];
/// The paper's laws.
const PAPER: [Scheme; 3] = [Scheme::Himd, Scheme::SlowStart, Scheme::Linear];
const ACTIVE: u16 = 10;

/// Parameters that trade misses for throughput, by family.
const FRONTIER: [(&str, [Scheme; 6]); 3] = [
    (
        "HIMD",
        [
            Scheme::HimdBy(50),
            Scheme::HimdBy(100),
            Scheme::HimdBy(200),
            Scheme::HimdBy(400),
            Scheme::HimdBy(800),
            Scheme::HimdBy(1600),
        ],
    ),
    (
        "linear increase",
        [
            Scheme::LinearBy(20),
            Scheme::LinearBy(40),
            Scheme::LinearBy(80),
            Scheme::LinearBy(120),
            Scheme::LinearBy(160),
            Scheme::LinearBy(240),
        ],
    ),
    (
        "rtether",
        [
            Scheme::RtetherBy(45),
            Scheme::RtetherBy(50),
            Scheme::RtetherBy(55),
            Scheme::RtetherBy(65),
            Scheme::RtetherBy(70),
            Scheme::RtetherBy(75),
        ],
    ),
];

pub(in super::super) fn run(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let random = LAWS.map(|law| Case::nongreedy(law, ACTIVE));
    let greedy = LAWS.map(|law| Case::greedy(law, ACTIVE));
    let swept = FRONTIER.iter().flat_map(|(_, schemes)| schemes);
    let swept = swept.map(|&scheme| Case::greedy(scheme, ACTIVE));
    let cases: Vec<_> = random.into_iter().chain(greedy).chain(swept).collect();
    let measured = measure(&cases, progress)?;
    let points = &measured.pooled;
    let at = |law| find(points, Case::nongreedy(law, ACTIVE));
    let comparisons = LAWS.map(|law| Comparison {
        quantity: format!("{}, {ACTIVE} greedy nodes", law.name()),
        paper: "no numbers".into(),
        ours: {
            let point = find(points, Case::greedy(law, ACTIVE));
            format!(
                "miss {}, throughput {:.3}; files at random times: miss {}, {:.2} s each",
                point.miss_words(),
                point.throughput,
                at(law).miss_words(),
                at(law).burst_seconds()
            )
        },
        source: "002 Kweon 3.2".into(),
    });
    Ok(Reproduction {
        id: "kweon-linux-alternatives",
        title: "Laws for the period of the smoother",
        mode: "sim",
        comparisons: comparisons.into(),
        claims: measured.judge(judge),
        figures: vec![frontier(points)],
        notes: vec![
            "A point without a miss counts as one miss in the product.".into(),
            frontier_words(points),
            measured.ranges(&LAWS.map(|law| Case::greedy(law, ACTIVE))),
        ],
    })
}

/// Judges the trade-off under both loads. With greedy files the transfer time is inversely
/// proportional to throughput, so the product is misses over throughput.
fn judge(points: &[Arc<Point>]) -> Vec<Judgement> {
    let mut verdicts = Vec::new();
    let mut words = Vec::new();
    for is_greedy in [false, true] {
        let at = |law| {
            let case = if is_greedy {
                Case::greedy
            } else {
                Case::nongreedy
            };
            find(points, case(law, ACTIVE))
        };
        let product = |point: &Point| {
            let time = if is_greedy {
                1.0 / point.throughput
            } else {
                point.burst_seconds()
            };
            point.miss_at_most() * time
        };
        let himd = at(Scheme::Himd);
        for law in PAPER {
            let other = at(law);
            words.push(format!(
                "{} files, {}: miss {}, product {:.2e}",
                if is_greedy { "greedy" } else { "random" },
                law.name(),
                other.miss_words(),
                product(other)
            ));
            if law != Scheme::Himd {
                // With equal misses, the law with more throughput is better; laws without a miss
                // count as one miss each.
                verdicts.push(Some(product(himd) <= product(other)));
            }
        }
    }
    let mut judge = Judge::new("kweon-linux-alternatives");
    judge.decide(
        "C063",
        all_of(&verdicts),
        words.join("; "),
        "the paper gives no parameters for the other laws; with ours, which reach the shortest \
         period in the same time as HIMD, another law has the smaller product: linear increase under \
         greedy files misses as little and lets more through",
    );
    judge.finish()
}

/// Formats the points of the frontier: throughput and missed messages.
fn frontier_words(points: &[Arc<Point>]) -> String {
    let families = FRONTIER.iter().map(|(name, schemes)| {
        let words = schemes.iter().map(|&scheme| {
            let point = find(points, Case::greedy(scheme, ACTIVE));
            format!("{:.3} with {}", point.throughput, point.messages.missed)
        });
        format!("{name} {}", words.collect::<Vec<_>>().join(", "))
    });
    let released = points[0].messages.released;
    format!(
        "The frontier, throughput with missed messages of about {released}: {}.",
        families.collect::<Vec<_>>().join("; ")
    )
}

/// Draws misses over throughput for several parameters of each law.
fn frontier(points: &[Arc<Point>]) -> Figure {
    let series = FRONTIER.map(|(name, schemes)| {
        let at = |scheme| find(points, Case::greedy(scheme, ACTIVE));
        let mut line: Vec<(f64, f64)> = schemes
            .map(|scheme| (at(scheme).throughput, at(scheme).miss_at_most()))
            .into();
        line.sort_by(|a, b| a.0.total_cmp(&b.0));
        Series {
            name: name.into(),
            points: line,
            style: Style::LineAndMarkers,
        }
    });
    let chart = LineChart {
        title: "The frontier".into(),
        note: "ten greedy nodes, parameters varied".into(),
        x: Axis::number("throughput, part of 10 Mbit/s"),
        y: Axis::number("miss ratio").log().between(1e-5, 1.0),
        series: series.into(),
        rules: Vec::new(),
        bands: Vec::new(),
    };
    Figure {
        caption: "How much throughput each law gives for which miss ratio: HIMD by its decrement, \
                  linear increase by its step, rtether by its shortest period and gain."
            .into(),
        drawing: chart.render(),
    }
}
