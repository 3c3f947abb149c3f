//! `valentim-rtt`: half round trips over three networks (004 Valentim III.A, table II, figure 5).

use std::collections::BTreeMap;

use rtether_model::quantity::Duration;

use super::super::{Comparison, Figure, Judge, ReproduceError, Reproduction, reference};
use super::{Medium, Points, Protocol, SIZES, half_round_trips, largest_distance, simulate_all};
use rtether::report::chart::{Axis, LineChart, Series, Style};
use rtether::run::Progress;

/// Simulated points in the order of [`Medium::ALL`].
type All = [Points; 3];

pub(in super::super) fn run(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let [hub, switch, slow] = Medium::ALL;
    let all = [
        simulate_all(hub, progress)?,
        simulate_all(switch, progress)?,
        simulate_all(slow, progress)?,
    ];
    let mut judge = Judge::new("valentim-rtt");
    judge_order(&mut judge, &all);
    judge_gap(&mut judge, &all);
    let lost: usize = all
        .iter()
        .flat_map(Points::values)
        .map(|found| found.lost)
        .sum();
    let distance = |at: usize| {
        let theirs = comparable(Medium::ALL[at]);
        largest_distance(&all[at], &theirs).unwrap_or_default()
    };
    Ok(Reproduction {
        id: "valentim-rtt",
        title: "Round trips of UDP and raw frames over hubs and a switch",
        mode: "sim",
        comparisons: comparisons(&all),
        claims: judge.finish(),
        figures: vec![figure(&all)],
        notes: vec![
            format!(
                "Stacks are fitted to loopback, network cards to the 100 Mbit/s hub (largest \
                 residue {}). Predicted are the switch (largest distance {}, 4 us accepted), whose \
                 latency comes from the row of 64 B, and the 10 Mbit/s hub ({}, 10 us accepted). \
                 Lost: {lost}.",
                distance(0),
                distance(1),
                distance(2)
            ),
            "In print the rows of the 10 Mbit/s hub are shifted and that of 128 B is lost. The \
             values for 256 and 512 B are those printed one row above; nothing is fitted to them."
                .into(),
        ],
    })
}

/// Returns the paper's values with the rows of the 10 Mbit/s hub restored to their place.
pub(super) fn comparable(medium: Medium) -> BTreeMap<(Protocol, u64), Duration> {
    let mut all = half_round_trips(medium);
    for value in reference::printed("valentim-rtt") {
        let points = Protocol::ALL
            .iter()
            .flat_map(|&protocol| SIZES.map(|size| (protocol, size)));
        for (protocol, size) in points {
            let subject = format!("{}, {}, {size}", medium.key(), protocol.name());
            let is_reconstructed = value.subject == subject && value.flag == "derived";
            if let (true, Some(time)) = (is_reconstructed, value.time()) {
                all.insert((protocol, size), time);
            }
        }
    }
    all
}

fn judge_order(judge: &mut Judge, all: &All) {
    let mut smallest = Duration::MAX;
    for points in all {
        for size in SIZES {
            let [udp, raw] = Protocol::ALL.map(|protocol| points[&(protocol, size)].half);
            smallest = Ord::min(smallest, udp - raw);
        }
    }
    judge.judge(
        "C083",
        smallest > Duration::ZERO,
        format!("UDP takes at least {smallest} longer"),
        "RAW is not faster somewhere",
    );
    let [hub, switch, slow] = all;
    let in_order = hub
        .keys()
        .all(|key| hub[key].half < switch[key].half && switch[key].half < slow[key].half);
    let ends = |size: u64| {
        let of = |points: &Points| points[&(Protocol::Udp, size)].half;
        format!("{} < {} < {}", of(hub), of(switch), of(slow))
    };
    judge.judge(
        "C084",
        in_order,
        format!("UDP: {} at 64 B, {} at 1024 B", ends(64), ends(1024)),
        "the order is another one for some payload",
    );
}

fn judge_gap(judge: &mut Judge, all: &All) {
    let gaps = |points: &Points| {
        let gaps = SIZES
            .map(|size| points[&(Protocol::Udp, size)].half - points[&(Protocol::Raw, size)].half);
        (
            gaps.into_iter().fold(Duration::MAX, Ord::min),
            gaps.into_iter().fold(Duration::ZERO, Ord::max),
        )
    };
    let us = Duration::from_us;
    let [hub, switch, slow] = all;
    let (fast, slow) = ([gaps(hub), gaps(switch)], gaps(slow));
    let holds = fast.iter().all(|gap| gap.0 >= us(5) && gap.1 <= us(12))
        && (slow.0 >= us(25) && slow.1 <= us(33));
    let words = |(low, high): (Duration, Duration)| format!("{low} to {high}");
    judge.judge(
        "C085",
        holds,
        format!(
            "hub {}, switch {}, 10 Mbit/s {}",
            words(fast[0]),
            words(fast[1]),
            words(slow)
        ),
        "a gap is outside its range",
    );
}

fn comparisons(all: &All) -> Vec<Comparison> {
    let rows = Medium::ALL.iter().zip(all).flat_map(|(&medium, points)| {
        let theirs = comparable(medium);
        points.iter().map(move |(&(protocol, size), found)| {
            let paper = theirs.get(&(protocol, size));
            Comparison {
                quantity: format!("{}, {}, {size} B", medium.name(), protocol.name()),
                paper: paper.map_or_else(|| "lost in print".into(), ToString::to_string),
                ours: found.half.to_string(),
                source: "004 Valentim Table II".into(),
            }
        })
    });
    rows.collect()
}

fn figure(all: &All) -> Figure {
    let place = |size: u64| super::super::observe::count_f64(size);
    let series = Medium::ALL.iter().zip(all).flat_map(|(&medium, points)| {
        let theirs = comparable(medium);
        let udp = |(&(protocol, size), half): (&(Protocol, u64), Duration)| {
            (protocol == Protocol::Udp).then(|| (place(size), half.as_secs_f64()))
        };
        let ours = points
            .iter()
            .filter_map(|(key, found)| udp((key, found.half)));
        let paper = theirs.iter().filter_map(|(key, &half)| udp((key, half)));
        [
            Series {
                name: medium.name().into(),
                points: ours.collect(),
                style: Style::Line,
            },
            Series {
                name: format!("paper, {}", medium.name()),
                points: paper.collect(),
                style: Style::Markers,
            },
        ]
    });
    let chart = LineChart {
        title: "Half a round trip of UDP".into(),
        note: "mean".into(),
        x: Axis::number("payload, octets"),
        y: Axis::time("half round trip"),
        series: series.collect(),
        ..LineChart::default()
    };
    Figure {
        caption: "The counterpart of figure 5, with the misplaced rows where they belong.".into(),
        drawing: chart.render(),
    }
}
