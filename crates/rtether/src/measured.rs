//! Measured results of a stream, for comparison with simulation and bounds.

use rtether_model::histogram::Histogram;
pub use rtether_model::quantity::Duration;
use rtether_model::record::Summary;
use rtether_report::text::percent;
use schemars::JsonSchema;
use serde::Serialize;

use crate::verdict::Assessment;

/// Share of stalled packets from which figures without them are no evidence, as one in this number. The
/// longer a packet is under way, the surer it meets a stall, so those left are the quick ones.
const FEW_STALLED: u64 = 20;

/// One stream as measured on a test bed. Times cover packets that no stall of the host affected, but
/// for those with stalls.
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
    /// Packets lost, and packets later than the deadline even without the time for which stalls were
    /// felt on their way; zero without a deadline.
    pub missed: u64,
    /// Median latency.
    pub p50: Option<Duration>,
    /// 99th percentile of latency.
    pub p99: Option<Duration>,
    /// 99.9th percentile of latency.
    pub p999: Option<Duration>,
    /// Largest latency.
    pub max: Option<Duration>,
    /// Largest latency of packets for which the host stayed inside its profile, without those held up.
    pub max_inside: Option<Duration>,
    /// Largest latency of all delivered packets, without the time for which stalls were felt on their
    /// way.
    pub max_less_stalls: Option<Duration>,
    /// Figures of all delivered packets, as they were measured.
    pub with_stalls: WithStalls,
}

/// Figures of a stream with the packets that a stall of the host affected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WithStalls {
    /// Packets lost, and packets later than the deadline; zero without a deadline.
    pub missed: u64,
    /// Median latency.
    pub p50: Option<Duration>,
    /// 99th percentile of latency.
    pub p99: Option<Duration>,
    /// 99.9th percentile of latency.
    pub p999: Option<Duration>,
    /// Largest latency.
    pub max: Option<Duration>,
}

/// Latency distribution of packets of one stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    /// Count, extremes and mean.
    pub latency: Summary,
    /// Histogram of latency.
    pub histogram: Histogram,
}

impl Distribution {
    /// Records a packet.
    pub fn record(&mut self, latency: Duration) {
        self.latency.record(latency);
        self.histogram.record(latency);
    }

    /// Returns a quantile, at most 0.8 % too high and never above the maximum.
    pub fn quantile(&self, part: u64, whole: u64) -> Option<Duration> {
        let quantile = self.histogram.quantile(part, whole)?;
        Some(Ord::min(quantile, self.latency.max))
    }

    /// Returns the largest latency.
    pub fn max(&self) -> Option<Duration> {
        (self.latency.count > 0).then_some(self.latency.max)
    }
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
    /// What of the figures cannot be compared with those simulated.
    pub apart: Option<&'static str>,
}

impl Measurement {
    /// Returns the share of delivered packets that a stall of the host affected, in thousandths, if it
    /// is so large that the others are a biased sample.
    pub fn much_stalled(&self) -> Option<u32> {
        much_stalled(self.stalled, self.released - self.lost)
    }

    /// Returns the largest latency that a sum may count on, less stalls; `None` if nothing was delivered,
    /// or the stalls touched a share of packets so large that the largest depends on what they are held to have cost.
    pub fn summand(&self) -> Option<Duration> {
        let is_certain = self.with_stalls.max == self.max_less_stalls;
        let is_known = is_certain || self.much_stalled().is_none();
        self.max_less_stalls.filter(|_| is_known)
    }
}

/// A measurement as documents have it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MeasuredJson {
    /// Packets sent.
    released: u64,
    /// Packets lost.
    lost: u64,
    /// Delivered packets that a stall of the host touched.
    stalled: u64,
    /// Delivered packets that took longer in the host's end nodes than the scenario allows.
    outside_profile: u64,
    /// Delivered packets that were under way while the emulator stood still.
    held_up: u64,
    /// Packets lost, and packets later than the deadline even without the time for which stalls were
    /// felt on their way.
    missed: u64,
    #[serde(flatten)]
    quantiles: QuantilesJson,
    /// The largest latency with the host inside its stated profile and the emulator running.
    max_inside_ns: Option<i64>,
    /// The largest of all delivered packets, less the time for which stalls were felt on their way.
    max_less_stalls_ns: Option<i64>,
    /// The same of all delivered packets.
    with_stalls: WithStallsJson,
}

/// Figures with stalls, as documents have them.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WithStallsJson {
    /// Packets lost, and packets later than the deadline.
    missed: u64,
    #[serde(flatten)]
    quantiles: QuantilesJson,
}

#[derive(Debug, Serialize, JsonSchema)]
#[allow(clippy::struct_field_names, reason = "members name their unit")]
struct QuantilesJson {
    /// Median latency.
    p50_ns: Option<i64>,
    /// 99th percentile of latency.
    p99_ns: Option<i64>,
    /// 99.9th percentile of latency.
    p999_ns: Option<i64>,
    /// Largest latency.
    max_ns: Option<i64>,
}

impl QuantilesJson {
    fn of(all: [Option<Duration>; 4]) -> Self {
        let [p50_ns, p99_ns, p999_ns, max_ns] = all.map(whole);
        Self { p50_ns, p99_ns, p999_ns, max_ns }
    }
}

impl MeasuredJson {
    pub(crate) fn of(own: &Measurement) -> Self {
        Self {
            released: own.released,
            lost: own.lost,
            stalled: own.stalled,
            outside_profile: own.outside,
            held_up: own.held_up,
            missed: own.missed,
            quantiles: QuantilesJson::of([own.p50, own.p99, own.p999, own.max]),
            max_inside_ns: whole(own.max_inside),
            max_less_stalls_ns: whole(own.max_less_stalls),
            with_stalls: own.with_stalls.json(),
        }
    }
}

impl WithStalls {
    /// Returns the figures as documents have them, times in nanoseconds.
    pub fn json(&self) -> WithStallsJson {
        let quantiles = QuantilesJson::of([self.p50, self.p99, self.p999, self.max]);
        WithStallsJson { missed: self.missed, quantiles }
    }
}

/// Returns whole nanoseconds.
fn whole(time: Option<Duration>) -> Option<i64> {
    time.map(Duration::as_ns_floor)
}

/// Returns the share of stalled packets in thousandths, if it is one in [`FEW_STALLED`] or more.
pub fn much_stalled(stalled: u64, delivered: u64) -> Option<u32> {
    let is_much = stalled > 0 && stalled.saturating_mul(FEW_STALLED) >= delivered;
    let share = stalled.saturating_mul(1_000).checked_div(delivered)?;
    u32::try_from(share).ok().filter(|_| is_much)
}

/// Returns thousandths as a percentage.
pub fn thousandths(share: u32) -> String {
    percent(f64::from(share) / 1_000.0)
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
        let stream =
            |max_inside| Measurement { max: Some(us(500)), max_inside, ..Measurement::default() };
        let bounds = [Some(us(100)), Some(us(100)), Some(us(100)), None];
        let measured = [Some(us(99)), Some(us(120)), None, Some(us(300))];
        let measured = measured.map(|max| (stream(max), Distribution::default()));
        assert_eq!(contradictions(&bounds, &measured, Duration::ZERO), [1]);
        assert_eq!(contradictions(&bounds, &measured, us(20)), [0usize; 0]);
    }

    /// Oracle: by hand; a warning from one packet in twenty on.
    #[test]
    fn the_more_packets_are_stalled_the_less_is_known() {
        let us = Duration::from_us;
        let stream = |stalled, with_stalls| Measurement {
            released: 21,
            lost: 1,
            stalled,
            max_less_stalls: Some(us(500)),
            with_stalls: WithStalls { max: Some(us(with_stalls)), ..WithStalls::default() },
            ..Measurement::default()
        };
        let few = Measurement { lost: 0, ..stream(1, 600) };
        assert_eq!((few.much_stalled(), few.summand()), (None, Some(us(500))));
        let many = stream(1, 600);
        assert_eq!((many.much_stalled(), many.summand()), (Some(50), None));
        assert_eq!(stream(1, 500).summand(), Some(us(500)));
        assert_eq!(thousandths(50), "5.0 %");
        assert_eq!(Measurement::default().much_stalled(), None);
        assert_eq!(stream(20, 600).much_stalled(), Some(1_000));
    }
}
