//! `kweon-nt-greedy`: four PCs, the NT variant of the smoother (4.2, figures 12 and 13).

use std::sync::Arc;

use super::figure::Drawing;
use super::{Case, Point, Scheme, find, grid, measure};
use crate::prelude::*;

const ACTIVE: [u16; 4] = [1, 2, 3, 4];
const SCHEMES: [Scheme; 2] = [Scheme::None, Scheme::Nt];

pub(crate) fn run(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("The NT variant of the smoother, four nodes");
    let cases = grid(Case::nt, &SCHEMES, &ACTIVE);
    let linux = [Scheme::None, Scheme::Himd].map(|scheme| Case::greedy(scheme, 10));
    let measured = measure(&[&cases[..], &linux].concat(), progress)?;
    let own = &measured.pooled[..cases.len()];
    compare(page, own);
    measured.judge(page, judge);
    let misses = Drawing {
        paper: vec![("paper, adaptive (largest)", vec![(4.0, 0.000_35)])],
        ..Drawing::misses("The counterpart of figure 12; no misses in a run are drawn as one.")
    };
    misses.draw(page, own, &SCHEMES);
    let caption = "The counterpart of figure 13: application data in parts of 10 Mbit/s.";
    Drawing::throughput(caption).draw(page, own, &SCHEMES);
    page.note(
        "Where Jain's index is low some nodes starve at long periods while others run at the \
         shortest: the throughput is that of all together.",
    );
    page.note(measured.ranges(&cases));
    Ok(())
}

/// Shows what was simulated or measured next to the paper's values.
pub(super) fn compare(page: &mut Page, points: &[Arc<Point>]) {
    page.compare(reference::values("kweon-nt-greedy"), |value| {
        let adaptive = points.iter().filter(|point| point.case.scheme == Scheme::Nt);
        let shown = adaptive.map(|point| format!("{}: {}", point.case.active, point.miss_words()));
        let is_miss = value.statistic == "deadline_miss_ratio";
        is_miss.then(|| ("miss ratio, adaptive", listed(shown, "; ")))
    });
}

fn judge(page: &mut Page, points: &[Arc<Point>]) {
    let none = |active| find(points, Case::nt(Scheme::None, active));
    let adaptive = |active| find(points, Case::nt(Scheme::Nt, active));
    let misses = ACTIVE.map(|n| adaptive(n).miss);
    page.check("C065", misses, listed(ACTIVE.map(|n| adaptive(n).miss_words()), ", "));
    page.check("C066", [adaptive(1).messages.missed], adaptive(1).miss_words());
    let gains = ACTIVE.map(|n| none(n).miss / adaptive(n).miss_at_most());
    page.check("C067", gains, listed(gains.map(|gain| format!("{gain:.0}")), ", "));
    let ratios = ACTIVE.map(|n| adaptive(n).throughput / none(n).throughput);
    let four = ratios[3];
    let words = listed(ratios.map(|ratio| format!("{ratio:.2}")), ", ");
    page.check("C068", [four], format!("{four:.2}; by active nodes {words}"));
    let single = adaptive(1).throughput * 10.0;
    page.check("C069", [single], format!("{single:.2} Mbit/s"));
    judge_platforms(page, points);
}

/// Judges that the NT law costs less throughput than the Linux law (C070).
pub(super) fn judge_platforms(page: &mut Page, points: &[Arc<Point>]) {
    let part = |scheme: Case, none| find(points, scheme).throughput / find(points, none).throughput;
    let linux = part(Case::greedy(Scheme::Himd, 10), Case::greedy(Scheme::None, 10));
    let nt = part(Case::nt(Scheme::Nt, 4), Case::nt(Scheme::None, 4));
    let words = format!("NT with 4 nodes {nt:.2}, Linux with 10 nodes {linux:.2}");
    page.judge("C070", nt >= linux, words, "the NT law costs more");
}
