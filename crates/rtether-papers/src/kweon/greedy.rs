//! `kweon-linux-greedy`: one to ten PCs send files without pause (3.2, figures 9 and 10).

use std::sync::Arc;

use super::figure::Drawing;
use super::{Case, Point, Scheme, find, grid, measure, nt, scheme_of};
use crate::prelude::*;

pub(super) const ACTIVE: [u16; 6] = [1, 2, 4, 6, 8, 10];
/// The paper leaves out the fixed rate; `rtether` is our own law.
const SCHEMES: [Scheme; 3] = [Scheme::None, Scheme::Himd, Scheme::Rtether];

pub(crate) fn run(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("Files without a pause beside real-time messages on a hub");
    let cases = grid(Case::greedy, &SCHEMES, &ACTIVE);
    let mut all = cases.clone();
    all.extend([10, 2].map(|active| Case::nongreedy(Scheme::Himd, active)));
    all.extend([Scheme::None, Scheme::Nt].map(|scheme| Case::nt(scheme, 4)));
    let measured = measure(&all, progress)?;
    let own = &measured.pooled[..cases.len()];
    compare(page, own);
    measured.judge(page, judge);
    let misses = Drawing {
        paper: vec![
            ("paper, none (order)", vec![(1.0, 0.1), (10.0, 0.1)]),
            ("paper, adaptive (range)", vec![(1.0, 0.000_154), (10.0, 0.000_578)]),
        ],
        ..Drawing::misses("The counterpart of figure 9; no misses in a run are drawn as one.")
    };
    misses.draw(page, own, &SCHEMES);
    let caption = "The counterpart of figure 10: application data in parts of 10 Mbit/s.";
    let throughput = Drawing {
        paper: vec![("paper, none (largest)", vec![(10.0, 0.74)])],
        ..Drawing::throughput(caption)
    };
    throughput.draw(page, own, &SCHEMES);
    let words = ACTIVE.map(|active| {
        let at = |scheme| find(own, Case::greedy(scheme, active));
        let (point, none) = (at(Scheme::Rtether), at(Scheme::None));
        let part = point.throughput / none.throughput;
        let missed = point.messages.missed;
        format!("{active}: {:.3} ({part:.2}), {missed} missed", point.throughput)
    });
    page.note(format!(
        "Mode rtether, which is ours, by active nodes: throughput (its part of that without \
         smoothing) and messages missed of about {}: {}.",
        own[0].messages.released,
        words.join("; ")
    ));
    let collisions = own.iter().map(|point| {
        let Case { scheme, active, .. } = point.case;
        let (rate, given_up) = (point.collisions, point.given_up);
        format!("{} {active}: {rate:.2} ({given_up} given up)", scheme.name())
    });
    let collisions = listed(collisions, "; ");
    page.note(format!("Collided transmissions per frame sent: {collisions}."));
    page.note(measured.ranges(&cases));
    Ok(())
}

/// Shows what was simulated or measured next to the paper's values.
pub(super) fn compare(page: &mut Page, points: &[Arc<Point>]) {
    page.compare(reference::values("kweon-linux-greedy"), |value| {
        let scheme = scheme_of(value, &SCHEMES)?;
        let own = points.iter().filter(|point| point.case.scheme == scheme);
        let shown = own.map(|point| {
            let active = point.case.active;
            let ours = match &*value.statistic {
                "deadline_miss_ratio" => point.miss_words(),
                "nonrt_throughput_relative_to_none" => {
                    let none = find(points, Case::greedy(Scheme::None, active));
                    format!("{:.2}", point.throughput / none.throughput)
                }
                "nonrt_throughput" if value.unit == "Mbit/s" => {
                    format!("{:.2} Mbit/s", point.throughput * 10.0)
                }
                _ => format!("{:.3}", point.throughput),
            };
            format!("{active}: {ours}")
        });
        let quantity = format!("{}, {}", value.statistic.replace('_', " "), scheme.name());
        Some((quantity, listed(shown, "; ")))
    });
}

fn judge(page: &mut Page, points: &[Arc<Point>]) {
    let none = |active| find(points, Case::greedy(Scheme::None, active));
    let adaptive = |active| find(points, Case::greedy(Scheme::Himd, active));
    let himd = points.iter().filter(|point| point.case.scheme == Scheme::Himd);
    let worst = himd.map(|point| point.miss).fold(0.0, f64::max);
    page.check("C050", [worst], format!("at most {worst:.1e}"));
    let gains = ACTIVE.map(|n| none(n).miss / adaptive(n).miss_at_most());
    page.check("C059", gains, listed(gains.map(|gain| format!("{gain:.0}")), ", "));
    let misses = ACTIVE.map(|n| none(n).miss);
    page.check("C060", misses, listed(misses.map(|miss| format!("{miss:.1e}")), ", "));
    let ratios = ACTIVE.map(|n| adaptive(n).throughput / none(n).throughput);
    page.check("C061", ratios, listed(ratios.map(|ratio| format!("{ratio:.2}")), ", "));
    let unsmoothed = ACTIVE.map(|n| none(n).throughput);
    page.check("C062", unsmoothed, listed(unsmoothed.map(|part| format!("{part:.3}")), ", "));
    nt::judge_platforms(page, points);
}
