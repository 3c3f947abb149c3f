//! `valentim-loopback`: cost of the stacks without a network (004 Valentim III.A, figure 6).
//!
//! The simulator has no loopback device. A loopback round trip is taken as the sum of all passes
//! through the stacks in simulated round trips over the switch.

use rtether_model::quantity::Duration;

use super::super::observe::{count_f64, ratio};
use super::super::{Comparison, Figure, Judge, ReproduceError, Reproduction};
use super::{Medium, Points, Protocol, SIZES, loopbacks, simulate_all};
use rtether::report::chart::{Axis, LineChart, Series, Style};
use rtether::run::Progress;

pub(in super::super) fn run(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let found = simulate_all(Medium::FastSwitch, progress)?;
    let of = |protocol: Protocol| SIZES.map(|size| found[&(protocol, size)].stack);
    let [udp, raw] = Protocol::ALL.map(of);
    let mut judge = Judge::new("valentim-loopback");
    let spread = ratio(raw[4], raw[0]).max(ratio(raw[0], raw[4]));
    judge.judge(
        "C086",
        spread <= 1.5,
        format!("{} to {}: {spread:.2}", raw[0], raw[4]),
        "RAW depends on the size",
    );
    let factors = udp.iter().zip(&raw).map(|(&udp, &raw)| ratio(udp, raw));
    let least = factors.fold(f64::INFINITY, f64::min);
    judge.judge(
        "C087",
        least >= 1.5 && udp.is_sorted(),
        format!("at least {least:.2}; UDP from {} to {}", udp[0], udp[4]),
        "UDP is not dearer everywhere, or does not grow",
    );
    Ok(Reproduction {
        id: "valentim-loopback",
        title: "Round trips over loopback",
        mode: "sim",
        comparisons: comparisons(&found),
        claims: judge.finish(),
        figures: vec![figure(&found)],
        notes: vec![
            "Stacks are straight lines fitted to these very values, so that the simulation can only \
             show that a line suits them; loopback itself is a matter for live measurement. The UDP \
             value at 512 B is misprinted: neither fitted nor compared."
                .into(),
        ],
    })
}

fn comparisons(found: &Points) -> Vec<Comparison> {
    let rows = loopbacks().into_iter().map(|(key, paper)| Comparison {
        quantity: format!("{}, {} B", key.0.name(), key.1),
        paper: paper.to_string(),
        ours: found[&key].stack.to_string(),
        source: "004 Valentim Table II".into(),
    });
    rows.collect()
}

fn figure(found: &Points) -> Figure {
    let paper = loopbacks();
    let series = Protocol::ALL.iter().flat_map(|&protocol| {
        let point = |size: u64, time: Duration| (count_f64(size), time.as_secs_f64());
        let ours = SIZES.map(|size| point(size, found[&(protocol, size)].stack));
        let theirs = SIZES.iter().filter_map(|&size| {
            let time = paper.get(&(protocol, size))?;
            Some(point(size, *time))
        });
        [
            Series {
                name: protocol.name().into(),
                points: ours.into(),
                style: Style::Line,
            },
            Series {
                name: format!("paper, {}", protocol.name()),
                points: theirs.collect(),
                style: Style::Markers,
            },
        ]
    });
    let chart = LineChart {
        title: "Stacks, there and back".into(),
        note: "mean".into(),
        x: Axis::number("payload, octets"),
        y: Axis::time("round trip"),
        series: series.collect(),
        ..LineChart::default()
    };
    Figure {
        caption: "The counterpart of figure 6.".into(),
        drawing: chart.render(),
    }
}
