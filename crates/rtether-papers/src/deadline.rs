//! `kweon-deadline`: longest delay of a frame that succeeds at the tenth attempt (002 Kweon 3.1,
//! footnote 3; R22).

use rtether_model::quantity::{BitRate, Bytes, Duration};

use super::observe::count_f64;
use super::{Comparison, Figure, Judge, ReproduceError, Reproduction, reference};
use rtether::csma::{ATTEMPTS_MAX, slot_time, worst_case};
use rtether::report::chart::{Axis, LineChart, Series, Style};
use rtether::run::Progress;

const RATE: BitRate = BitRate::from_mbps(10);

/// The largest frame.
const FRAME: Bytes = Bytes::new(1518);

/// Attempts after which the paper counts a message as lost.
const TRIALS: u32 = 10;

fn longest(trials: u32) -> Duration {
    let (back_off, sending) = worst_case(trials, FRAME, RATE);
    back_off + sending
}

#[allow(
    clippy::unnecessary_wraps,
    reason = "all experiments have this signature"
)]
pub(super) fn run(_: &Progress) -> Result<Reproduction, ReproduceError> {
    let one_way = longest(TRIALS);
    let mut judge = Judge::new("kweon-deadline");
    let accepted = Duration::from_us(64_000)..=Duration::from_us(65_600);
    judge.judge(
        "C046",
        accepted.contains(&one_way),
        one_way.to_string(),
        "the sum is outside the range",
    );
    let ours = |parameter: &str| match parameter {
        "rt_worst_case_one_way_10_trials" => Some(("longest one-way delay, ten trials", one_way)),
        "rt_deadline_round_trip" => Some(("round-trip deadline", one_way * 2)),
        _ => None,
    };
    let comparisons = reference::values("kweon-linux")
        .into_iter()
        .filter_map(|value| {
            let (quantity, ours) = ours(&value.statistic)?;
            Some(Comparison {
                quantity: quantity.into(),
                paper: value.words(),
                ours: ours.to_string(),
                source: value.source,
            })
        });
    let (back_off, sending) = worst_case(TRIALS, FRAME, RATE);
    let collisions = TRIALS - 1;
    Ok(Reproduction {
        id: "kweon-deadline",
        title: "Longest delay on shared Ethernet with ten trials",
        mode: "analysis",
        comparisons: comparisons.collect(),
        claims: judge.finish(),
        figures: vec![figure()],
        notes: vec![format!(
            "{one_way} = {back_off} of longest back-offs after {collisions} collisions, with slots \
             of {}, and {sending} for {TRIALS} full frames with gap and one slot each. The paper \
             takes its number from an earlier one and shows no sum.",
            slot_time(RATE)
        )],
    })
}

fn figure() -> Figure {
    let points = (1..=ATTEMPTS_MAX).map(|trials| {
        let trials_drawn = count_f64(u64::from(trials));
        (trials_drawn, longest(trials).as_ns_f64() / 1e6)
    });
    let mut printed = reference::values("kweon-linux").into_iter();
    let printed = printed.find(|value| value.statistic == "rt_worst_case_one_way_10_trials");
    let printed = printed.and_then(|value| value.time());
    let paper = Series {
        name: "paper".into(),
        points: printed
            .map(|time| (count_f64(u64::from(TRIALS)), time.as_ns_f64() / 1e6))
            .into_iter()
            .collect(),
        style: Style::Markers,
    };
    let chart = LineChart {
        title: "Longest delay by number of trials".into(),
        note: "10 Mbit/s, in ms".into(),
        x: Axis::number("trials").between(0.0, count_f64(u64::from(ATTEMPTS_MAX))),
        y: Axis::number("ms"),
        series: vec![
            Series {
                name: "sum of longest back-offs and trials".into(),
                points: points.collect(),
                style: Style::LineAndMarkers,
            },
            paper,
        ],
        rules: Vec::new(),
        bands: Vec::new(),
    };
    Figure {
        caption: "Back-offs stop growing after the tenth collision.".into(),
        drawing: chart.render(),
    }
}
