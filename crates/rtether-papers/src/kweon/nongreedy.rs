//! `kweon-linux-nongreedy`: two to ten PCs send files at random times (3.2, figures 6 and 7).

use std::sync::Arc;

use rtether_model::quantity::Duration;

use super::super::judge::all_of;
use super::super::{Comparison, Figure, Judge, Judgement, ReproduceError, Reproduction, reference};
use super::figure::{Drawing, over_active};
use super::{Case, Platform, Point, Scheme, find, measure};
use rtether::report::chart::Axis;
use rtether::run::Progress;

const ACTIVE: [u16; 5] = [2, 4, 6, 8, 10];
const SCHEMES: [Scheme; 3] = [Scheme::None, Scheme::Fixed, Scheme::Himd];

pub(in super::super) fn run(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let mut cases: Vec<Case> = SCHEMES
        .into_iter()
        .flat_map(|scheme| ACTIVE.map(|active| Case::nongreedy(scheme, active)))
        .collect();
    cases.extend([
        Case::nongreedy(Scheme::Fine, 10),
        Case::nongreedy(Scheme::Coarse, 10),
    ]);
    cases.extend(super::greedy::ACTIVE.map(|active| Case::greedy(Scheme::Himd, active)));
    let measured = measure(&cases, progress)?;
    let own: Vec<Arc<Point>> = measured.pooled[..SCHEMES.len() * ACTIVE.len()].to_vec();
    Ok(Reproduction {
        id: "kweon-linux-nongreedy",
        title: "Files at random times beside real-time messages on a hub",
        mode: "sim",
        comparisons: comparisons(&own),
        claims: measured.judge(judge),
        figures: vec![figure_misses(&own), figure_bursts(&own)],
        notes: vec![
            "A file takes its time from the opening of its connection to its last octet; files \
             that wait for their predecessor are not yet counted, as in the paper."
                .into(),
            "The hosts take no time. The paper's floor of about 1e-4 misses comes from its end \
             systems and is not there."
                .into(),
            measured.ranges(&cases[..SCHEMES.len() * ACTIVE.len()]),
        ],
    })
}

fn comparisons(points: &[Arc<Point>]) -> Vec<Comparison> {
    let values = reference::values("kweon-linux-nongreedy").into_iter();
    let compare = |value: reference::Value| {
        let mut parts = value.subject.split(", ").skip(2);
        let scheme = SCHEMES.into_iter().find(|scheme| {
            let name = value.subject.split(", ").nth(2);
            name == Some(scheme.name())
        })?;
        let active = parts.nth(1)?;
        let ours: Vec<String> = points
            .iter()
            .filter(|point| point.case.scheme == scheme)
            .filter(|point| active.contains("..") || active == point.case.active.to_string())
            .map(|point| {
                let shown = match value.statistic.as_str() {
                    "deadline_miss_ratio" => point.miss_words(),
                    "burst_transmission_time" => words(point.burst()),
                    _ => return String::new(),
                };
                format!("{}: {shown}", point.case.active)
            })
            .filter(|text| !text.is_empty())
            .collect();
        (!ours.is_empty()).then(|| Comparison {
            quantity: format!(
                "{}, {}, {active} active",
                value.statistic.replace('_', " "),
                scheme.name()
            ),
            paper: value.words(),
            ours: ours.join("; "),
            source: value.source.clone(),
        })
    };
    values.filter_map(compare).collect()
}

fn words(time: Option<Duration>) -> String {
    time.map_or_else(
        || "none".into(),
        |time| format!("{:.2} s", time.as_secs_f64()),
    )
}

fn judge(points: &[Arc<Point>]) -> Vec<Judgement> {
    let at = |scheme, active| find(points, Case::nongreedy(scheme, active));
    let mut judge = Judge::new("kweon-linux-nongreedy");
    judge_misses(&mut judge, points);
    let burst = |scheme, active| at(scheme, active).burst_seconds();
    let ordered = ACTIVE.iter().all(|&active| {
        burst(Scheme::None, active) < burst(Scheme::Himd, active)
            && burst(Scheme::Himd, active) < burst(Scheme::Fixed, active)
    });
    let series = |scheme| {
        let times = ACTIVE.map(|active| format!("{:.2}", burst(scheme, active)));
        format!("{} {} s", scheme.name(), times.join(", "))
    };
    let all = SCHEMES.map(series).join("; ");
    judge.judge("C052", ordered, all, "another order");
    let (two, ten) = (burst(Scheme::Himd, 2), burst(Scheme::Himd, 10));
    judge.judge(
        "C053",
        (2.0..=2.9).contains(&two) && (3.5..=10.5).contains(&ten),
        format!("{two:.2} s with 2, {ten:.2} s with 10"),
        "a burst time is outside its range",
    );
    judge.judge(
        "C054",
        (ten / paper(Scheme::Himd, "range_high") - 1.0).abs() <= 0.25,
        format!("{ten:.2} s with a receive latency of 0"),
        "more than 25 % away from the paper's",
    );
    let (two, ten) = (burst(Scheme::None, 2), burst(Scheme::None, 10));
    judge.judge(
        "C055",
        (two / paper(Scheme::None, "range_low") - 1.0).abs() <= 0.3
            && (ten / paper(Scheme::None, "range_high") - 1.0).abs() <= 0.3,
        format!("{two:.2} s with 2, {ten:.2} s with 10"),
        "more than 30 % away",
    );
    let fixed = ACTIVE.map(|active| burst(Scheme::Fixed, active));
    judge.judge(
        "C056",
        fixed
            .iter()
            .all(|time| (time / paper(Scheme::Fixed, "approx") - 1.0).abs() <= 0.1),
        series(Scheme::Fixed),
        "more than 10 % away from 25 s",
    );
    let p99 = |scheme| {
        at(scheme, 10)
            .messages
            .quantile(99, 100)
            .unwrap_or_default()
    };
    let (fine, coarse) = (p99(Scheme::Fine), p99(Scheme::Coarse));
    judge.judge(
        "C064",
        fine <= coarse,
        format!("{fine} against {coarse}"),
        "the coarser bucket delays less",
    );
    judge.finish()
}

fn judge_misses(judge: &mut Judge, points: &[Arc<Point>]) {
    let at = |scheme, active| find(points, Case::nongreedy(scheme, active));
    let miss = |scheme, active| at(scheme, active).miss();
    let busy = ACTIVE.iter().filter(|&&active| active >= 4);
    let ordered: Vec<Option<bool>> = busy
        .flat_map(|&active| {
            let (fixed, adaptive) = (at(Scheme::Fixed, active), at(Scheme::Himd, active));
            // The order of two ratios below the resolution of the runs is unknown.
            let is_told = fixed.messages.missed > 0 || adaptive.messages.missed > 0;
            [
                Some(miss(Scheme::None, active) > fixed.miss()),
                is_told.then_some(fixed.miss() >= adaptive.miss()),
            ]
        })
        .collect();
    let series = |scheme| {
        let ratios = ACTIVE.map(|active| format!("{:.1e}", miss(scheme, active)));
        format!("{} {}", scheme.name(), ratios.join(", "))
    };
    let all = SCHEMES.map(series).join("; ");
    judge.decide(
        "C048",
        all_of(&ordered),
        all,
        "another order, or neither fixed nor adaptive misses anything",
    );
    let none = ACTIVE.map(|active| miss(Scheme::None, active));
    judge.judge(
        "C049",
        none.iter().all(|miss| (1e-3..=5e-2).contains(miss))
            && none.windows(2).all(|pair| pair[0] < pair[1]),
        series(Scheme::None),
        "outside the range, or not growing",
    );
    let adaptive = points
        .iter()
        .filter(|point| point.case.scheme == Scheme::Himd);
    let worst = adaptive.map(|point| point.miss()).fold(0.0, f64::max);
    judge.judge(
        "C050",
        worst < 1e-3,
        format!("at most {worst:.1e}, random and greedy files"),
        "more misses",
    );
    let worst = ACTIVE.map(|active| miss(Scheme::Fixed, active));
    judge.judge(
        "C051",
        worst.iter().all(|&miss| miss < 1e-3),
        series(Scheme::Fixed),
        "more misses",
    );
}

fn figure_misses(points: &[Arc<Point>]) -> Figure {
    over_active(
        points,
        Platform::Linux,
        &SCHEMES,
        Drawing::misses(
            "The counterpart of figure 6; no misses in a run are drawn as one.",
            vec![
                ("paper, none", vec![(2.0, 0.002_356), (10.0, 0.016_82)]),
                ("paper, adaptive", vec![(10.0, 0.000_248)]),
            ],
        ),
    )
}

/// Returns a file transfer time printed in the paper, in seconds.
fn paper(scheme: Scheme, qualifier: &str) -> f64 {
    let statistic = "burst_transmission_time";
    super::printed("kweon-linux-nongreedy", scheme, statistic, qualifier)
}

fn figure_bursts(points: &[Arc<Point>]) -> Figure {
    let ends = |scheme| {
        let (low, high) = (paper(scheme, "range_low"), paper(scheme, "range_high"));
        vec![(2.0, low), (10.0, high)]
    };
    let fixed = paper(Scheme::Fixed, "approx");
    over_active(
        points,
        Platform::Linux,
        &SCHEMES,
        Drawing {
            title: "Time of a file of 1 MB",
            caption: "The counterpart of figure 7.",
            y: Axis::number("seconds").log(),
            value: Point::burst_seconds,
            paper: vec![
                ("paper, none", ends(Scheme::None)),
                ("paper, adaptive", ends(Scheme::Himd)),
                ("paper, fixed", vec![(2.0, fixed), (10.0, fixed)]),
            ],
        },
    )
}
