//! `valentim-switch-hub`: cost of a switch compared with a hub (004 Valentim III.B, figure 8).

use rtether_model::quantity::Duration;
use rtether_model::wire::wire_time;

use super::super::observe::{count_f64, ratio};
use super::super::{Comparison, Figure, Judge, ReproduceError, Reproduction};
use super::{
    FAST, Medium, Points, Protocol, SIZES, half_round_trips, simulate_all, switch_latency,
};
use rtether::report::chart::{Axis, LineChart, Series, Style};
use rtether::run::Progress;

pub(in super::super) fn run(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let hub = simulate_all(Medium::FastHub, progress)?;
    let switch = simulate_all(Medium::FastSwitch, progress)?;
    let mut judge = Judge::new("valentim-switch-hub");
    let rests: Vec<Duration> = hub
        .iter()
        .map(|(key, found)| switch[key].half - found.half - wire_time(key.0.frame(key.1), FAST))
        .collect();
    let low = rests.iter().copied().fold(Duration::MAX, Ord::min);
    let high = rests.into_iter().reduce(Ord::max).unwrap_or_default();
    judge.judge(
        "C089",
        low >= Duration::ZERO && high <= Duration::from_us(4),
        format!("{low} to {high}"),
        "the rest is outside the range",
    );
    judge_advantage(&mut judge, &hub, &switch);
    Ok(Reproduction {
        id: "valentim-switch-hub",
        title: "A hub against a switch, without contention",
        mode: "sim",
        comparisons: comparisons(&hub, &switch),
        claims: judge.finish(),
        figures: vec![figure(&hub, &switch)],
        notes: vec![format!(
            "The paper does not name the latency of its switch. {} follow from its row of 64 B \
             (hub delay of 46 bit times included) and hold for the other sizes: what grows with the \
             size is the second transmission of a store-and-forward switch.",
            switch_latency()
        )],
    })
}

/// Returns how much slower the switch is than the hub, in percent.
fn advantage(hub: Duration, switch: Duration) -> f64 {
    (ratio(switch, hub) - 1.0) * 100.0
}

fn judge_advantage(judge: &mut Judge, hub: &Points, switch: &Points) {
    let of = |size: u64| {
        Protocol::ALL.map(|protocol| {
            let key = (protocol, size);
            advantage(hub[&key].half, switch[&key].half)
        })
    };
    let (small, large) = (of(64), of(1024));
    let is_near = |values: [f64; 2], paper: f64| {
        let mut all = values.into_iter();
        all.all(|value| (value - paper).abs() <= 10.0)
    };
    judge.judge(
        "C090",
        is_near(small, 25.0) && is_near(large, 67.0),
        format!(
            "1024 B: UDP {:.0} %, RAW {:.0} %; 64 B: UDP {:.0} %, RAW {:.0} %",
            large[0], large[1], small[0], small[1]
        ),
        "an advantage is further than 10 points from the paper's",
    );
}

/// Returns the paper's hub and switch values for a point.
fn paper(protocol: Protocol, size: u64) -> Option<(Duration, Duration)> {
    let of = |medium| half_round_trips(medium).get(&(protocol, size)).copied();
    Some((of(Medium::FastHub)?, of(Medium::FastSwitch)?))
}

fn comparisons(hub: &Points, switch: &Points) -> Vec<Comparison> {
    let rows = hub.iter().filter_map(|(&(protocol, size), found)| {
        let (paper_hub, paper_switch) = paper(protocol, size)?;
        let ours = switch[&(protocol, size)].half;
        Some(Comparison {
            quantity: format!("switch minus hub, {}, {size} B", protocol.name()),
            paper: format!(
                "{} ({:.0} %)",
                paper_switch - paper_hub,
                advantage(paper_hub, paper_switch)
            ),
            ours: format!(
                "{} ({:.0} %)",
                ours - found.half,
                advantage(found.half, ours)
            ),
            source: "004 Valentim Table II".into(),
        })
    });
    rows.collect()
}

fn figure(hub: &Points, switch: &Points) -> Figure {
    let series = Protocol::ALL.iter().flat_map(|&protocol| {
        let ours = SIZES.map(|size| {
            let more = switch[&(protocol, size)].half - hub[&(protocol, size)].half;
            (count_f64(size), more.as_secs_f64())
        });
        let theirs = SIZES.iter().filter_map(|&size| {
            let (hub, switch) = paper(protocol, size)?;
            Some((count_f64(size), (switch - hub).as_secs_f64()))
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
        title: "What the switch takes longer than the hub".into(),
        note: "half a round trip".into(),
        x: Axis::number("payload, octets"),
        y: Axis::time("switch minus hub"),
        series: series.collect(),
        ..LineChart::default()
    };
    Figure {
        caption: "The counterpart of figure 8.".into(),
        drawing: chart.render(),
    }
}
