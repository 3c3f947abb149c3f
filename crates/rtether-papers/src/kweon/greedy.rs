//! `kweon-linux-greedy`: one to ten PCs send files without pause (3.2, figures 9 and 10).

use std::sync::Arc;

use super::super::{Comparison, Figure, Judge, Judgement, ReproduceError, Reproduction, reference};
use super::figure::{Drawing, over_active};
use super::{Case, Platform, Point, Scheme, find, measure};
use rtether::run::Progress;

pub(super) const ACTIVE: [u16; 6] = [1, 2, 4, 6, 8, 10];
/// The paper leaves out the fixed rate; `rtether` is our own law.
const SCHEMES: [Scheme; 3] = [Scheme::None, Scheme::Himd, Scheme::Rtether];

pub(in super::super) fn run(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let mut cases: Vec<Case> = SCHEMES
        .into_iter()
        .flat_map(|scheme| ACTIVE.map(|active| Case::greedy(scheme, active)))
        .collect();
    cases.extend([10, 2].map(|active| Case::nongreedy(Scheme::Himd, active)));
    let nt = [Scheme::None, Scheme::Nt].map(|scheme| Case::nt(scheme, 4));
    cases.extend(nt);
    let measured = measure(&cases, progress)?;
    let own: Vec<Arc<Point>> = measured.pooled[..SCHEMES.len() * ACTIVE.len()].to_vec();
    Ok(Reproduction {
        id: "kweon-linux-greedy",
        title: "Files without a pause beside real-time messages on a hub",
        mode: "sim",
        comparisons: comparisons(&own),
        claims: measured.judge(judge),
        figures: vec![figure_misses(&own), figure_throughput(&own)],
        notes: vec![
            ours(&own),
            collisions(&own),
            measured.ranges(&cases[..SCHEMES.len() * ACTIVE.len()]),
        ],
    })
}

/// Describes the results of our own law.
fn ours(points: &[Arc<Point>]) -> String {
    let words = ACTIVE.map(|active| {
        let at = |scheme| find(points, Case::greedy(scheme, active));
        let (point, none) = (at(Scheme::Rtether), at(Scheme::None));
        format!(
            "{active}: {:.3} ({:.2}), {} missed",
            point.throughput,
            point.throughput / none.throughput,
            point.messages.missed
        )
    });
    format!(
        "Mode rtether, which is ours, by active nodes: throughput (its part of that without \
         smoothing) and messages missed of about {}: {}.",
        points[0].messages.released,
        words.join("; ")
    )
}

fn collisions(points: &[Arc<Point>]) -> String {
    let words = points.iter().map(|point| {
        format!(
            "{} {}: {:.2} ({} given up)",
            point.case.scheme.name(),
            point.case.active,
            point.collisions,
            point.given_up
        )
    });
    format!(
        "Collided transmissions per frame sent: {}.",
        words.collect::<Vec<_>>().join("; ")
    )
}

fn comparisons(points: &[Arc<Point>]) -> Vec<Comparison> {
    let values = reference::values("kweon-linux-greedy").into_iter();
    let compare = |value: reference::Value| {
        let scheme = SCHEMES.into_iter().find(|scheme| {
            let name = value.subject.split(", ").nth(2);
            name == Some(scheme.name())
        })?;
        let own = points.iter().filter(|point| point.case.scheme == scheme);
        let shown = own.map(|point| {
            let active = point.case.active;
            match value.statistic.as_str() {
                "deadline_miss_ratio" => format!("{active}: {}", point.miss_words()),
                "nonrt_throughput_relative_to_none" => {
                    let none = find(points, Case::greedy(Scheme::None, active));
                    format!("{active}: {:.2}", point.throughput / none.throughput)
                }
                "nonrt_throughput" if value.unit == "Mbit/s" => {
                    format!("{active}: {:.2} Mbit/s", point.throughput * 10.0)
                }
                _ => format!("{active}: {:.3}", point.throughput),
            }
        });
        Some(Comparison {
            quantity: format!("{}, {}", value.statistic.replace('_', " "), scheme.name()),
            paper: value.words(),
            ours: shown.collect::<Vec<_>>().join("; "),
            source: value.source.clone(),
        })
    };
    values.filter_map(compare).collect()
}

fn judge(points: &[Arc<Point>]) -> Vec<Judgement> {
    let at = |scheme, active| find(points, Case::greedy(scheme, active));
    let list = |value: &dyn Fn(u16) -> String| ACTIVE.map(value).join(", ");
    let mut judge = Judge::new("kweon-linux-greedy");
    let adaptive = points
        .iter()
        .filter(|point| point.case.scheme == Scheme::Himd);
    let worst = adaptive.map(|point| point.miss()).fold(0.0, f64::max);
    judge.judge(
        "C050",
        worst < 1e-3,
        format!("at most {worst:.1e}"),
        "more misses",
    );
    let gain = |active| at(Scheme::None, active).miss() / at(Scheme::Himd, active).miss_at_most();
    judge.judge(
        "C059",
        ACTIVE.iter().all(|&active| gain(active) >= 100.0),
        list(&|active| format!("{:.0}", gain(active))),
        "less than two orders of magnitude",
    );
    let none = |active| at(Scheme::None, active);
    judge.judge(
        "C060",
        ACTIVE
            .iter()
            .all(|&active| (3e-2..=3e-1).contains(&none(active).miss())),
        list(&|active| format!("{:.1e}", none(active).miss())),
        "outside the range",
    );
    let ratio = |active| at(Scheme::Himd, active).throughput / none(active).throughput;
    judge.judge(
        "C061",
        ACTIVE
            .iter()
            .all(|&active| (0.4..=0.8).contains(&ratio(active))),
        list(&|active| format!("{:.2}", ratio(active))),
        "outside the range",
    );
    judge.judge(
        "C062",
        ACTIVE
            .iter()
            .all(|&active| (0.6..=0.78).contains(&none(active).throughput)),
        list(&|active| format!("{:.3}", none(active).throughput)),
        "outside the range",
    );
    let nt = |scheme| find(points, Case::nt(scheme, 4)).throughput;
    let (linux, nt) = (ratio(10), nt(Scheme::Nt) / nt(Scheme::None));
    judge.judge(
        "C070",
        nt >= linux,
        format!("NT with 4 nodes {nt:.2}, Linux with 10 nodes {linux:.2}"),
        "the NT law costs more",
    );
    judge.finish()
}

fn figure_misses(points: &[Arc<Point>]) -> Figure {
    over_active(
        points,
        Platform::Linux,
        &SCHEMES,
        Drawing::misses(
            "The counterpart of figure 9; no misses in a run are drawn as one.",
            vec![
                ("paper, none (order)", vec![(1.0, 0.1), (10.0, 0.1)]),
                (
                    "paper, adaptive (range)",
                    vec![(1.0, 0.000_154), (10.0, 0.000_578)],
                ),
            ],
        ),
    )
}

fn figure_throughput(points: &[Arc<Point>]) -> Figure {
    over_active(
        points,
        Platform::Linux,
        &SCHEMES,
        Drawing::throughput(
            "The counterpart of figure 10: application data in parts of 10 Mbit/s.",
            vec![("paper, none (largest)", vec![(10.0, 0.74)])],
        ),
    )
}
