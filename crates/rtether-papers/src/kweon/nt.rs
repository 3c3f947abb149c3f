//! `kweon-nt-greedy`: four PCs, the NT variant of the smoother (4.2, figures 12 and 13).

use std::sync::Arc;

use super::super::{Comparison, Judge, Judgement, ReproduceError, Reproduction, reference};
use super::figure::{Drawing, over_active};
use super::{Case, Platform, Point, Scheme, find, measure};
use rtether::run::Progress;

const ACTIVE: [u16; 4] = [1, 2, 3, 4];
const SCHEMES: [Scheme; 2] = [Scheme::None, Scheme::Nt];

pub(in super::super) fn run(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let mut cases: Vec<Case> = SCHEMES
        .into_iter()
        .flat_map(|scheme| ACTIVE.map(|active| Case::nt(scheme, active)))
        .collect();
    cases.extend([Scheme::None, Scheme::Himd].map(|scheme| Case::greedy(scheme, 10)));
    let measured = measure(&cases, progress)?;
    let own: Vec<Arc<Point>> = measured.pooled[..SCHEMES.len() * ACTIVE.len()].to_vec();
    let misses = Drawing::misses(
        "The counterpart of figure 12; no misses in a run are drawn as one.",
        vec![("paper, adaptive (largest)", vec![(4.0, 0.000_35)])],
    );
    let throughput = Drawing::throughput(
        "The counterpart of figure 13: application data in parts of 10 Mbit/s.",
        Vec::new(),
    );
    Ok(Reproduction {
        id: "kweon-nt-greedy",
        title: "The NT variant of the smoother, four nodes",
        mode: "sim",
        comparisons: comparisons(&own),
        claims: measured.judge(judge),
        figures: vec![
            over_active(&own, Platform::Nt, &SCHEMES, misses),
            over_active(&own, Platform::Nt, &SCHEMES, throughput),
        ],
        notes: vec![
            "Where Jain's index is low some nodes starve at long periods while others run at the \
             shortest: the throughput is that of all together."
                .into(),
            measured.ranges(&cases[..SCHEMES.len() * ACTIVE.len()]),
        ],
    })
}

fn comparisons(points: &[Arc<Point>]) -> Vec<Comparison> {
    let values = reference::values("kweon-nt-greedy").into_iter();
    let values = values.filter(|value| value.statistic == "deadline_miss_ratio");
    let compare = |value: reference::Value| {
        let own = points
            .iter()
            .filter(|point| point.case.scheme == Scheme::Nt);
        let shown = own.map(|point| format!("{}: {}", point.case.active, point.miss_words()));
        Comparison {
            quantity: "miss ratio, adaptive".into(),
            paper: value.words(),
            ours: shown.collect::<Vec<_>>().join("; "),
            source: value.source,
        }
    };
    values.map(compare).collect()
}

fn judge(points: &[Arc<Point>]) -> Vec<Judgement> {
    let at = |scheme, active| find(points, Case::nt(scheme, active));
    let list = |value: &dyn Fn(u16) -> String| ACTIVE.map(value).join(", ");
    let mut judge = Judge::new("kweon-nt-greedy");
    let worst = ACTIVE.map(|active| at(Scheme::Nt, active).miss());
    judge.judge(
        "C065",
        worst.iter().all(|&miss| miss <= 1e-3),
        list(&|active| at(Scheme::Nt, active).miss_words()),
        "more misses",
    );
    judge.judge(
        "C066",
        at(Scheme::Nt, 1).messages.missed == 0,
        at(Scheme::Nt, 1).miss_words(),
        "misses with one active node",
    );
    let gain = |active| at(Scheme::None, active).miss() / at(Scheme::Nt, active).miss_at_most();
    judge.judge(
        "C067",
        ACTIVE.iter().all(|&active| gain(active) >= 100.0),
        list(&|active| format!("{:.0}", gain(active))),
        "less than two orders of magnitude",
    );
    let ratio = |active| at(Scheme::Nt, active).throughput / at(Scheme::None, active).throughput;
    judge.judge(
        "C068",
        (0.5..=0.95).contains(&ratio(4)),
        format!(
            "{:.2}; by active nodes {}",
            ratio(4),
            list(&|n| format!("{:.2}", ratio(n)))
        ),
        "outside the range",
    );
    let single = at(Scheme::Nt, 1).throughput * 10.0;
    judge.judge(
        "C069",
        single <= 3.6,
        format!("{single:.2} Mbit/s"),
        "more than the law permits",
    );
    let greedy = |scheme| find(points, Case::greedy(scheme, 10)).throughput;
    let linux = greedy(Scheme::Himd) / greedy(Scheme::None);
    judge.judge(
        "C070",
        ratio(4) >= linux,
        format!(
            "NT with 4 nodes {:.2}, Linux with 10 nodes {linux:.2}",
            ratio(4)
        ),
        "the NT law costs more",
    );
    judge.finish()
}
