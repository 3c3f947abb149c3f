//! `kweon-linux-nongreedy`: two to ten PCs send files at random times (3.2, figures 6 and 7).

use std::sync::Arc;

use super::figure::Drawing;
use super::{Case, Point, Scheme, find, greedy, grid, measure, scheme_of};
use crate::judge::all_of;
use crate::prelude::*;

const ACTIVE: [u16; 5] = [2, 4, 6, 8, 10];
const SCHEMES: [Scheme; 3] = [Scheme::None, Scheme::Fixed, Scheme::Himd];

pub(crate) fn run(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("Files at random times beside real-time messages on a hub");
    let cases = grid(Case::nongreedy, &SCHEMES, &ACTIVE);
    let mut all = cases.clone();
    all.extend([Scheme::Fine, Scheme::Coarse].map(|scheme| Case::nongreedy(scheme, 10)));
    all.extend(greedy::ACTIVE.map(|active| Case::greedy(Scheme::Himd, active)));
    let measured = measure(&all, progress)?;
    let own = &measured.pooled[..cases.len()];
    compare(page, own);
    measured.judge(page, |page, points| {
        judge_misses(page, points);
        judge_bursts(page, points);
    });
    draw(page, own);
    page.note(
        "A file takes its time from the opening of its connection to its last octet; files \
         that wait for their predecessor are not yet counted, as in the paper.",
    );
    page.note(
        "The hosts take no time. The paper's floor of about 1e-4 misses comes from its end \
         systems and is not there.",
    );
    page.note(measured.ranges(&cases));
    Ok(())
}

/// Shows what was simulated or measured next to the paper's values.
pub(super) fn compare(page: &mut Page, points: &[Arc<Point>]) {
    page.compare(reference::values("kweon-linux-nongreedy"), |value| {
        let scheme = scheme_of(value, &SCHEMES)?;
        let active = value.subject.split(", ").nth(3)?;
        let shown: fn(&Point) -> String = match &*value.statistic {
            "deadline_miss_ratio" => Point::miss_words,
            "burst_transmission_time" => |point| match point.burst() {
                Some(time) => format!("{:.2} s", time.as_secs_f64()),
                None => "none".into(),
            },
            _ => return None,
        };
        let own = points.iter().filter(|point| point.case.scheme == scheme);
        let own =
            own.filter(|point| active.contains("..") || active == point.case.active.to_string());
        let ours =
            listed(own.map(|point| format!("{}: {}", point.case.active, shown(point))), "; ");
        let statistic = value.statistic.replace('_', " ");
        let quantity = format!("{statistic}, {}, {active} active", scheme.name());
        (!ours.is_empty()).then_some((quantity, ours))
    });
}

fn judge_bursts(page: &mut Page, points: &[Arc<Point>]) {
    let at = |scheme, active| find(points, Case::nongreedy(scheme, active));
    let burst = |scheme, active| at(scheme, active).burst_seconds();
    let [none, fixed, himd] = SCHEMES.map(|scheme| ACTIVE.map(|active| burst(scheme, active)));
    let series = |scheme: Scheme| {
        let times = ACTIVE.map(|active| format!("{:.2}", burst(scheme, active)));
        format!("{} {} s", scheme.name(), times.join(", "))
    };
    let is_ordered = |at: usize| none[at] < himd[at] && himd[at] < fixed[at];
    let holds = (0..ACTIVE.len()).all(is_ordered);
    page.judge("C052", holds, SCHEMES.map(series).join("; "), "another order");
    let ends = |times: [f64; 5]| format!("{:.2} s with 2, {:.2} s with 10", times[0], times[4]);
    page.judge(
        "C053",
        (2.0..=2.9).contains(&himd[0]) && (3.5..=10.5).contains(&himd[4]),
        ends(himd),
        "a burst time is outside its range",
    );
    let words = format!("{:.2} s with a receive latency of 0", himd[4]);
    page.check("C054", [himd[4]], words);
    let is_near = |time: f64, end| (time / paper(Scheme::None, end) - 1.0).abs() <= 0.3;
    page.judge(
        "C055",
        is_near(none[0], "range_low") && is_near(none[4], "range_high"),
        ends(none),
        "more than 30 % away",
    );
    page.check("C056", fixed, series(Scheme::Fixed));
    let [fine, coarse] = [Scheme::Fine, Scheme::Coarse].map(|scheme| {
        let messages = &at(scheme, 10).messages;
        messages.quantile(99, 100).unwrap_or_default()
    });
    let words = format!("{fine} against {coarse}");
    page.judge("C064", fine <= coarse, words, "the coarser bucket delays less");
}

fn judge_misses(page: &mut Page, points: &[Arc<Point>]) {
    let at = |scheme, active| find(points, Case::nongreedy(scheme, active));
    let [none, fixed, _] = SCHEMES.map(|scheme| ACTIVE.map(|active| at(scheme, active).miss));
    let busy = ACTIVE.iter().filter(|&&active| active >= 4);
    let ordered = busy.flat_map(|&active| {
        let [none, fixed, adaptive] = SCHEMES.map(|scheme| at(scheme, active));
        // The order of two ratios below the resolution of the runs is unknown.
        let is_told = fixed.messages.missed > 0 || adaptive.messages.missed > 0;
        [Some(none.miss > fixed.miss), is_told.then_some(fixed.miss >= adaptive.miss)]
    });
    let series = |scheme: Scheme| {
        let ratios = ACTIVE.map(|active| format!("{:.1e}", at(scheme, active).miss));
        format!("{} {}", scheme.name(), ratios.join(", "))
    };
    page.judge(
        "C048",
        all_of(&ordered.collect::<Vec<_>>()),
        SCHEMES.map(series).join("; "),
        "another order, or neither fixed nor adaptive misses anything",
    );
    let grows = none.is_sorted_by(|a, b| a < b);
    page.judge(
        "C049",
        page.accepts("C049", none) == Some(true) && grows,
        series(Scheme::None),
        "outside the range, or not growing",
    );
    let himd = points.iter().filter(|point| point.case.scheme == Scheme::Himd);
    let worst = himd.map(|point| point.miss).fold(0.0, f64::max);
    page.check("C050", [worst], format!("at most {worst:.1e}, random and greedy files"));
    page.check("C051", fixed, series(Scheme::Fixed));
}

/// Returns a file transfer time printed in the paper, in seconds.
fn paper(scheme: Scheme, qualifier: &str) -> f64 {
    let statistic = "burst_transmission_time";
    super::printed("kweon-linux-nongreedy", scheme, statistic, qualifier)
}

fn draw(page: &mut Page, points: &[Arc<Point>]) {
    let misses = Drawing {
        paper: vec![
            ("paper, none", vec![(2.0, 0.002_356), (10.0, 0.016_82)]),
            ("paper, adaptive", vec![(10.0, 0.000_248)]),
        ],
        ..Drawing::misses("The counterpart of figure 6; no misses in a run are drawn as one.")
    };
    misses.draw(page, points, &SCHEMES);
    let ends = |scheme| {
        let (low, high) = (paper(scheme, "range_low"), paper(scheme, "range_high"));
        vec![(2.0, low), (10.0, high)]
    };
    let fixed = paper(Scheme::Fixed, "approx");
    let bursts = Drawing {
        title: "Time of a file of 1 MB",
        caption: "The counterpart of figure 7.",
        y: Axis::number("seconds").log(),
        value: Point::burst_seconds,
        paper: vec![
            ("paper, none", ends(Scheme::None)),
            ("paper, adaptive", ends(Scheme::Himd)),
            ("paper, fixed", vec![(2.0, fixed), (10.0, fixed)]),
        ],
    };
    bursts.draw(page, points, &SCHEMES);
}
