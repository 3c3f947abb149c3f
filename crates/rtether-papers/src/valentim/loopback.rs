//! `valentim-loopback`: cost of the stacks without a network (004 Valentim III.A, figure 6).
//!
//! The simulator has no loopback device. A loopback round trip is taken as the sum of all passes
//! through the stacks in simulated round trips over the switch.

use super::{Medium, Protocol, SIZES, judge_loopback, loopbacks, quantity, simulate_all};
use crate::prelude::*;

pub(crate) fn run(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("Round trips over loopback");
    let found = simulate_all(Medium::FastSwitch, progress)?;
    let paper = loopbacks();
    for (key, paper) in &paper {
        page.row(quantity("loopback", *key), paper, found[key].stack, "004 Valentim Table II");
    }
    let times = Protocol::ALL.map(|of| SIZES.map(|size| found[&(of, size)].stack));
    let udp = format!("from {} to {}", times[0][0], times[0][4]);
    let reasons = ["RAW depends on the size", "UDP is not dearer everywhere, or does not grow"];
    judge_loopback(page, times, &udp, reasons);
    let series = Protocol::ALL.iter().zip(times).flat_map(|(&protocol, times)| {
        let theirs = SIZES.map(|size| (size, paper.get(&(protocol, size)).copied()));
        [
            curve(protocol.name(), Style::Line, SIZES.into_iter().zip(times)),
            curve(format!("paper, {}", protocol.name()), Style::Markers, theirs),
        ]
    });
    page.lines(
        "The counterpart of figure 6.",
        ["Stacks, there and back", "mean"],
        [Axis::number("payload, octets"), Axis::time("round trip")],
        series.collect(),
    );
    page.note(
        "Stacks are straight lines fitted to these very values, so that the simulation can only \
         show that a line suits them; loopback itself is a matter for live measurement. The UDP \
         value at 512 B is misprinted: neither fitted nor compared.",
    );
    Ok(())
}
