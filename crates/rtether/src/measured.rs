//! Measured results of a stream, for comparison with simulation and bounds.

use rtether_model::histogram::Histogram;
pub use rtether_model::quantity::Duration;
use rtether_model::record::Summary;
use serde_json::{Value, json};

use crate::verdict::Assessment;

/// One stream as measured on a test bed. Times cover packets that no stall of the host affected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measurement {
    /// Packets sent.
    pub released: u64,
    /// Of these, lost.
    pub lost: u64,
    /// Delivered packets that a stall of the host affected.
    pub stalled: u64,
    /// Delivered packets that took longer in the host's end nodes than the scenario allows.
    pub outside: u64,
    /// Delivered packets that were under way while the emulator of the network stood still: measured,
    /// but no evidence against a bound.
    pub held_up: u64,
    /// Median latency.
    pub p50: Option<Duration>,
    /// 99.9th percentile of latency.
    pub p999: Option<Duration>,
    /// Largest latency.
    pub max: Option<Duration>,
    /// Largest latency of packets for which the host stayed inside its profile, without those held up.
    pub max_inside: Option<Duration>,
}

/// Latency distribution of one stream, without packets that a stall of the host affected.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    /// Count, extremes and mean.
    pub latency: Summary,
    /// Histogram of latency.
    pub histogram: Histogram,
}

/// A measurement as input of a check.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// One entry per stream, in the order of the record; empty without a measurement.
    pub streams: Vec<(Measurement, Distribution)>,
    /// Verdicts on them, one per stream.
    pub assessments: Vec<Assessment>,
    /// What the test bed itself may add to a packet.
    pub tolerance: Duration,
    /// Why the measurement ended early.
    pub error: Option<String>,
    /// Whether the user interrupted it.
    pub is_partial: bool,
    /// Names of the stations that were emulated.
    pub emulated: Vec<String>,
}

impl Measurement {
    /// Returns the measurement as JSON, times in nanoseconds.
    pub fn json(&self) -> Value {
        let ns = |time: Option<Duration>| time.map(Duration::as_ns_floor);
        json!({
            "released": self.released,
            "lost": self.lost,
            "stalled": self.stalled,
            "outside_profile": self.outside,
            "held_up": self.held_up,
            "p50_ns": ns(self.p50),
            "p999_ns": ns(self.p999),
            "max_ns": ns(self.max),
            "max_inside_ns": ns(self.max_inside),
        })
    }
}

/// Returns the streams with a packet measured above its proved bound although the host was inside
/// the profile that the bound assumes.
///
/// `tolerance` is what the test bed itself may add to any packet.
pub fn contradictions(
    bounds: &[Option<Duration>],
    measured: &[(Measurement, Distribution)],
    tolerance: Duration,
) -> Vec<usize> {
    let streams = bounds.iter().zip(measured).enumerate();
    let found = streams.filter(|(_, (bound, (stream, _)))| {
        let both = bound.zip(stream.max_inside);
        both.is_some_and(|(bound, max)| max > bound + tolerance)
    });
    found.map(|(index, _)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: by hand.
    #[test]
    fn only_what_was_inside_the_profile_contradicts_a_bound() {
        let us = Duration::from_us;
        let stream = |max_inside| Measurement {
            max: Some(us(500)),
            max_inside,
            ..Measurement::default()
        };
        let bounds = [Some(us(100)), Some(us(100)), Some(us(100)), None];
        let measured = [Some(us(99)), Some(us(120)), None, Some(us(300))];
        let measured = measured.map(|max| (stream(max), Distribution::default()));
        assert_eq!(contradictions(&bounds, &measured, Duration::ZERO), [1]);
        assert_eq!(contradictions(&bounds, &measured, us(20)), [0usize; 0]);
    }
}
