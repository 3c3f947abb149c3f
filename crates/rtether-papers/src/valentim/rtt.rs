//! `valentim-rtt`: half round trips over three networks (004 Valentim III.A, table II, figure 5).

use super::{
    Medium, Points, Protocol, SIZES, Times, half_round_trips, keys, largest_distance, quantity,
    simulate_all,
};
use crate::prelude::*;

pub(crate) fn run(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("Round trips of UDP and raw frames over hubs and a switch");
    let [hub, switch, slow] = Medium::ALL.map(|medium| simulate_all(medium, progress));
    let all = [hub?, switch?, slow?];
    for (medium, points) in Medium::ALL.into_iter().zip(&all) {
        let theirs = comparable(medium);
        for (key, found) in points {
            let quantity = quantity(medium.name(), *key);
            let paper = theirs.get(key).map(ToString::to_string);
            let paper = paper.unwrap_or_else(|| "lost in print".into());
            page.row(quantity, paper, found.half, "004 Valentim Table II");
        }
    }
    judge(page, &all);
    draw(page, &all);
    let distances = [0, 1, 2].map(|at| {
        let theirs = comparable(Medium::ALL[at]);
        largest_distance(&all[at], &theirs).unwrap_or_default()
    });
    let lost: usize = all.iter().flat_map(Points::values).map(|found| found.lost).sum();
    page.note(format!(
        "Stacks are fitted to loopback, network cards to the 100 Mbit/s hub (largest \
         residue {}). Predicted are the switch (largest distance {}, 4 us accepted), whose \
         latency comes from the row of 64 B, and the 10 Mbit/s hub ({}, 10 us accepted). \
         Lost: {lost}.",
        distances[0], distances[1], distances[2]
    ));
    page.note(
        "In print the rows of the 10 Mbit/s hub are shifted and that of 128 B is lost. The \
         values for 256 and 512 B are those printed one row above; nothing is fitted to them.",
    );
    Ok(())
}

/// Returns the paper's values with the rows of the 10 Mbit/s hub restored to their place.
pub(super) fn comparable(medium: Medium) -> Times {
    let mut all = half_round_trips(medium);
    for value in reference::printed("valentim-rtt") {
        for (protocol, size) in keys() {
            let subject = format!("{}, {}, {size}", medium.key(), protocol.name());
            let is_reconstructed = value.subject == subject && value.flag == "derived";
            if let (true, Some(time)) = (is_reconstructed, value.time()) {
                all.insert((protocol, size), time);
            }
        }
    }
    all
}

fn judge(page: &mut Page, all: &[Points; 3]) {
    let gaps = all.each_ref().map(|points| {
        let of = |protocol, size| points[&(protocol, size)].half;
        extremes(SIZES.map(|size| of(Protocol::Udp, size) - of(Protocol::Raw, size)))
    });
    let smallest = gaps.iter().map(|gap| gap.0).fold(Duration::MAX, Ord::min);
    page.judge(
        "C083",
        smallest > Duration::ZERO,
        format!("UDP takes at least {smallest} longer"),
        "RAW is not faster somewhere",
    );
    let in_order = keys().all(|key| {
        let [hub, switch, slow] = all.each_ref().map(|points| points[&key].half);
        hub < switch && switch < slow
    });
    let ends = |size| listed(all.each_ref().map(|of| of[&(Protocol::Udp, size)].half), " < ");
    page.judge(
        "C084",
        in_order,
        format!("UDP: {} at 64 B, {} at 1024 B", ends(64), ends(1024)),
        "the order is another one for some payload",
    );
    let us = Duration::from_us;
    let within = |(low, high), from, to| low >= us(from) && high <= us(to);
    let [hub, switch, slow] = gaps.map(|(low, high)| format!("{low} to {high}"));
    page.judge(
        "C085",
        within(gaps[0], 5, 12) && within(gaps[1], 5, 12) && within(gaps[2], 25, 33),
        format!("hub {hub}, switch {switch}, 10 Mbit/s {slow}"),
        "a gap is outside its range",
    );
}

fn draw(page: &mut Page, all: &[Points; 3]) {
    let series = Medium::ALL.iter().zip(all).flat_map(|(&medium, points)| {
        let theirs = comparable(medium);
        let udp = |size| (Protocol::Udp, size);
        let ours = SIZES.map(|size| (size, points[&udp(size)].half));
        let paper = SIZES.map(|size| (size, theirs.get(&udp(size)).copied()));
        [
            curve(medium.name(), Style::Line, ours),
            curve(format!("paper, {}", medium.name()), Style::Markers, paper),
        ]
    });
    page.lines(
        "The counterpart of figure 5, with the misplaced rows where they belong.",
        ["Half a round trip of UDP", "mean"],
        [Axis::number("payload, octets"), Axis::time("half round trip")],
        series.collect(),
    );
}
