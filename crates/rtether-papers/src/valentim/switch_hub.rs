//! `valentim-switch-hub`: cost of a switch compared with a hub (004 Valentim III.B, figure 8).

use rtether_model::wire::wire_time;

use super::{
    FAST, Key, Medium, Points, Protocol, SIZES, half_round_trips, keys, simulate_all,
    switch_latency,
};
use crate::prelude::*;

pub(crate) fn run(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("A hub against a switch, without contention");
    let hub = simulate_all(Medium::FastHub, progress)?;
    let switch = simulate_all(Medium::FastSwitch, progress)?;
    let times = |key| (hub[&key].half, switch[&key].half);
    for key in keys() {
        if let Some(paper) = paper(key) {
            let quantity = format!("switch minus hub, {}, {} B", key.0.name(), key.1);
            let words =
                |(hub, switch)| format!("{} ({:.0} %)", switch - hub, advantage((hub, switch)));
            page.row(quantity, words(paper), words(times(key)), "004 Valentim Table II");
        }
    }
    judge(page, times);
    draw(page, &hub, &switch);
    page.note(format!(
        "The paper does not name the latency of its switch. {} follow from its row of 64 B \
         (hub delay of 46 bit times included) and hold for the other sizes: what grows with the \
         size is the second transmission of a store-and-forward switch.",
        switch_latency()
    ));
    Ok(())
}

/// Returns how much slower the switch is than the hub, in percent.
fn advantage((hub, switch): (Duration, Duration)) -> f64 {
    (ratio(switch, hub) - 1.0) * 100.0
}

/// Returns the paper's hub and switch values for a point.
fn paper(key: Key) -> Option<(Duration, Duration)> {
    let of = |medium| half_round_trips(medium).get(&key).copied();
    Some((of(Medium::FastHub)?, of(Medium::FastSwitch)?))
}

fn judge(page: &mut Page, times: impl Fn(Key) -> (Duration, Duration)) {
    let rests = keys().map(|key| {
        let (hub, switch) = times(key);
        switch - hub - wire_time(key.0.frame(key.1), FAST)
    });
    let rests: Vec<Duration> = rests.collect();
    let low = rests.iter().copied().fold(Duration::MAX, Ord::min);
    let high = rests.into_iter().reduce(Ord::max).unwrap_or_default();
    page.check("C089", [low, high], format!("{low} to {high}"));
    let of = |size| Protocol::ALL.map(|protocol| advantage(times((protocol, size))));
    let (small, large) = (of(64), of(1024));
    let is_near =
        |values: [f64; 2], paper: f64| values.iter().all(|value| (value - paper).abs() <= 10.0);
    let words = |[udp, raw]: [f64; 2]| format!("UDP {udp:.0} %, RAW {raw:.0} %");
    page.judge(
        "C090",
        is_near(small, 25.0) && is_near(large, 67.0),
        format!("1024 B: {}; 64 B: {}", words(large), words(small)),
        "an advantage is further than 10 points from the paper's",
    );
}

fn draw(page: &mut Page, hub: &Points, switch: &Points) {
    let series = Protocol::ALL.iter().flat_map(|&of| {
        let ours = SIZES.map(|size| (size, switch[&(of, size)].half - hub[&(of, size)].half));
        let more = |(hub, switch)| switch - hub;
        let theirs = SIZES.map(|size| (size, paper((of, size)).map(more)));
        [
            curve(of.name(), Style::Line, ours),
            curve(format!("paper, {}", of.name()), Style::Markers, theirs),
        ]
    });
    page.lines(
        "The counterpart of figure 8.",
        ["What the switch takes longer than the hub", "half a round trip"],
        [Axis::number("payload, octets"), Axis::time("switch minus hub")],
        series.collect(),
    );
}
