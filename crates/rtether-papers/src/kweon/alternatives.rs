//! `kweon-linux-alternatives`: other laws for the smoother's period (2.2, 3.2).

use std::sync::Arc;

use super::{Case, Point, Scheme, find, measure};
use crate::judge::all_of;
use crate::prelude::*;

const LAWS: [Scheme; 4] = [Scheme::Himd, Scheme::SlowStart, Scheme::Linear, Scheme::Rtether];
/// The paper's laws.
const PAPER: [Scheme; 3] = [Scheme::Himd, Scheme::SlowStart, Scheme::Linear];
const ACTIVE: u16 = 10;

/// Parameters that trade misses for throughput, by family.
fn frontier() -> [(&'static str, [Scheme; 6]); 3] {
    [
        ("HIMD", [50, 100, 200, 400, 800, 1600].map(Scheme::HimdBy)),
        ("linear increase", [20, 40, 80, 120, 160, 240].map(Scheme::LinearBy)),
        ("rtether", [45, 50, 55, 65, 70, 75].map(Scheme::RtetherBy)),
    ]
}

pub(crate) fn run(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("Laws for the period of the smoother");
    let random = LAWS.map(|law| Case::nongreedy(law, ACTIVE));
    let greedy = LAWS.map(|law| Case::greedy(law, ACTIVE));
    let swept = frontier().into_iter().flat_map(|(_, schemes)| schemes);
    let swept = swept.map(|scheme| Case::greedy(scheme, ACTIVE));
    let cases: Vec<_> = random.into_iter().chain(greedy).chain(swept).collect();
    let measured = measure(&cases, progress)?;
    let points = &measured.pooled;
    let at = |scheme| find(points, Case::greedy(scheme, ACTIVE));
    for law in LAWS {
        let (greedy, random) = (at(law), find(points, Case::nongreedy(law, ACTIVE)));
        let ours = format!(
            "miss {}, throughput {:.3}; files at random times: miss {}, {:.2} s each",
            greedy.miss_words(),
            greedy.throughput,
            random.miss_words(),
            random.burst_seconds()
        );
        let quantity = format!("{}, {ACTIVE} greedy nodes", law.name());
        page.row(quantity, "no numbers", ours, "002 Kweon 3.2");
    }
    measured.judge(page, judge);
    page.note("A point without a miss counts as one miss in the product.");
    let (mut words, mut series) = (Vec::new(), Vec::new());
    for (name, schemes) in frontier() {
        let mut own = schemes.map(at);
        let of = |point: &&Point| format!("{:.3} with {}", point.throughput, point.messages.missed);
        words.push(format!("{name} {}", listed(own.iter().map(of), ", ")));
        own.sort_by(|a, b| a.throughput.total_cmp(&b.throughput));
        let line = own.map(|point| (point.throughput, point.miss_at_most()));
        series.push(curve(name, Style::LineAndMarkers, line));
    }
    page.note(format!(
        "The frontier, throughput with missed messages of about {}: {}.",
        points[0].messages.released,
        words.join("; ")
    ));
    page.note(measured.ranges(&greedy));
    page.lines(
        "How much throughput each law gives for which miss ratio: HIMD by its decrement, \
         linear increase by its step, rtether by its shortest period and gain.",
        ["The frontier", "ten greedy nodes, parameters varied"],
        [
            Axis::number("throughput, part of 10 Mbit/s"),
            Axis::number("miss ratio").log().between(1e-5, 1.0),
        ],
        series,
    );
    Ok(())
}

/// Judges the trade-off under both loads. With greedy files the transfer time is inversely
/// proportional to throughput, so the product is misses over throughput.
fn judge(page: &mut Page, points: &[Arc<Point>]) {
    let random: fn(&Point) -> f64 = |point| point.miss_at_most() * point.burst_seconds();
    let greedy: fn(&Point) -> f64 = |point| point.miss_at_most() * (1.0 / point.throughput);
    let (mut verdicts, mut words) = (Vec::new(), Vec::new());
    for (files, case, product) in [
        ("random", Case::nongreedy as fn(Scheme, u16) -> Case, random),
        ("greedy", Case::greedy, greedy),
    ] {
        let himd = product(find(points, case(Scheme::Himd, ACTIVE)));
        for law in PAPER {
            let other = find(points, case(law, ACTIVE));
            let product = product(other);
            let (name, miss) = (law.name(), other.miss_words());
            words.push(format!("{files} files, {name}: miss {miss}, product {product:.2e}"));
            // With equal misses, the law with more throughput is better; laws without a miss count
            // as one miss each.
            verdicts.push(Some(himd <= product));
        }
    }
    page.judge(
        "C063",
        all_of(&verdicts),
        words.join("; "),
        "the paper gives no parameters for the other laws; with ours, which reach the shortest \
         period in the same time as HIMD, another law has the smaller product: linear increase under \
         greedy files misses as little and lets more through",
    );
}
