//! `kweon-linux-sequence`: individual round trips with ten active nodes (3.2, figure 8).

use std::sync::Arc;

use super::{Case, Point, Scheme, WARMUP, find, measure, plant, scheme_of};
use crate::observe::{Sampler, distribution, run_one};
use crate::prelude::*;

const SCHEMES: [Scheme; 3] = [Scheme::None, Scheme::Fixed, Scheme::Himd];
const ACTIVE: u16 = 10;
/// Time in which the messages of the sequence are sent: 33 a second.
const SHOWN: Duration = Duration::from_secs(60);

pub(crate) fn run(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("Round trips with ten nodes that send files at random times");
    let measured = measure(&SCHEMES.map(|scheme| Case::nongreedy(scheme, ACTIVE)), progress)?;
    let points = &measured.pooled;
    compare(page, points);
    measured.judge(page, |page, points| {
        for (claim, scheme) in [("C057", Scheme::Himd), ("C058", Scheme::None)] {
            let longest = longest(points, scheme);
            page.check(claim, [longest], format!("{:.1} ms", longest * 1e3));
        }
    });
    let mut sequences = Vec::new();
    for scheme in SCHEMES {
        let times = sequence(scheme, progress)?;
        let numbered = (1_u64..).zip(times);
        sequences.push(curve(scheme.name(), Style::Markers, numbered));
    }
    page.lines(
        "The counterpart of figure 8: messages in the order in which they were sent, one seed.",
        ["Consecutive round trips", "one mark for each message"],
        [Axis::number("message"), Axis::time("round trip").log()],
        sequences,
    );
    let series = points.iter().map(|point| {
        let shares = distribution(&point.messages.histogram).into_iter();
        let longer = shares.map(|(upper, share)| (upper, 1.0 - share));
        let drawn = longer.filter(|(_, share)| *share > 0.0);
        curve(point.case.scheme.name(), Style::Steps, drawn)
    });
    page.lines(
        "All messages of all seeds.",
        ["Round trips", "share that takes longer"],
        [Axis::time("round trip").log(), Axis::number("share of messages").log()],
        series.collect(),
    );
    page.note(format!(
        "The paper plots 50 000 messages one after the other; the first figure has those of {SHOWN}, the \
         second the share of all that took longer."
    ));
    Ok(())
}

/// Returns the round trips of all messages in the order of their release, without those that never came
/// back.
fn sequence(scheme: Scheme, progress: &Progress) -> Result<Vec<Duration>, ReproduceError> {
    let (scenario, _) = plant::lasting(Case::nongreedy(scheme, ACTIVE), SHOWN);
    let window = (WARMUP, WARMUP + SHOWN);
    let mut sampler = Sampler::new(&scenario, &["messages"], &[window]);
    run_one(&scenario, 1, progress, &mut sampler)?;
    let mut samples = sampler.samples;
    samples.sort_by_key(|sample| (sample.released_at, sample.stream));
    Ok(samples.into_iter().map(|sample| sample.latency).collect())
}

/// Shows what was simulated or measured next to the paper's values.
pub(super) fn compare(page: &mut Page, points: &[Arc<Point>]) {
    page.compare(reference::values("kweon-linux-sequence"), |value| {
        let scheme = scheme_of(value, &SCHEMES)?;
        let ours = format!("{:.1} ms", longest(points, scheme) * 1e3);
        let quantity = format!("longest round trip, {}", scheme.name());
        (value.statistic == "round_trip_delay").then_some((quantity, ours))
    });
}

/// Returns the longest round trip in seconds.
fn longest(points: &[Arc<Point>], scheme: Scheme) -> f64 {
    let point = find(points, Case::nongreedy(scheme, ACTIVE));
    point.messages.latency.max.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: the rate of the messages, ten every 300 ms: 2000 in a minute, 45 of them one standard
    /// deviation; those smoothed stay below the 300 ms of figure 8.
    #[test]
    fn messages_stand_in_their_order() {
        let times = sequence(Scheme::Himd, &Progress::default()).expect("runs");
        assert!((1_800..2_200).contains(&times.len()), "{}", times.len());
        let most = times.iter().max().expect("messages");
        assert!(*most < Duration::from_ms(300), "{most}");
    }
}
