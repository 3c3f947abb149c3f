//! Observations of the network, and the detector that they feed.

use rtether_model::endnode::Detector;
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_proto::smoother::congestion::{
    Backlog, CongestionSignal, Marked, MarkedShare, OwnCollisions, Signal, Utilization,
};

/// What was seen since the previous observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// When it was made, by the clock of the run.
    pub at: Instant,
    /// Packets that left the smoother.
    pub sent: u64,
    /// Collisions of this station.
    pub collisions: u64,
    /// Whether bulk packets are waiting or have left.
    pub has_bulk: bool,
    /// Octets waiting behind the smoother now.
    pub behind: Bytes,
    /// Wire octets of all frames sent or heard.
    pub heard: Bytes,
    /// Start of the interval of `heard`: when the counters were read for the previous observation.
    pub heard_since: Instant,
    /// Octets of TCP segments received, to which `marked` is compared.
    pub returned: Bytes,
    /// Those in segments that echo a mark; at most `returned`.
    pub marked: Bytes,
}

/// A detector, as this back end feeds it.
#[derive(Debug)]
pub(super) enum Watch {
    Collisions(OwnCollisions),
    Backlog(Backlog),
    Utilization(Medium),
    Marks(MarkedShare),
    /// Refused by the checks before.
    Nothing,
}

impl Watch {
    #[allow(
        clippy::wildcard_enum_match_arm,
        clippy::match_wildcard_for_single_variants,
        reason = "what is not fed here is refused before"
    )]
    pub(super) fn new(now: Instant, detector: Detector, rate: BitRate, seed: u64) -> Self {
        match detector {
            Detector::OwnCollisions { visibility_per_million } => {
                Self::Collisions(OwnCollisions::with_visibility(visibility_per_million, seed))
            }
            Detector::Backlog { low, high } => Self::Backlog(Backlog::new(low, high)),
            Detector::Utilization { threshold_percent, window } => Self::Utilization(Medium {
                detector: Utilization::new(now, rate, threshold_percent, window),
                start: now,
                window: window.max(Duration::from_ps(1)),
                last: now,
            }),
            Detector::Marks { threshold_percent, window } => {
                Self::Marks(MarkedShare::new(now, threshold_percent, window))
            }
            _ => Self::Nothing,
        }
    }

    pub(super) fn observe(&mut self, seen: &Observation) -> Option<Signal> {
        match self {
            // The engine expects attempts: more than one means a collision.
            Self::Collisions(collisions) if seen.collisions > 0 => {
                Some(collisions.observe(seen.at, 2))
            }
            Self::Collisions(collisions) if seen.sent > 0 => Some(collisions.observe(seen.at, 1)),
            Self::Backlog(backlog) => Some(backlog.observe(seen.at, seen.behind)),
            Self::Utilization(medium) => Some(medium.hear(seen)),
            Self::Marks(share) => came_back(share, seen),
            Self::Collisions(_) | Self::Nothing => None,
        }
    }
}

/// Feeds the octets that came back since the previous observation as two packets. Returns a signal
/// once per window, as in the engines' own composition.
fn came_back(share: &mut MarkedShare, seen: &Observation) -> Option<Signal> {
    let is_new = share.is_complete(seen.at);
    let plain = Bytes::new(seen.returned.get().saturating_sub(seen.marked.get()));
    let parts = [(plain, false), (seen.marked, true)];
    let mut signal = None;
    for (size, is_marked) in parts.into_iter().filter(|(size, _)| *size > Bytes::ZERO) {
        signal = Some(share.observe(seen.at, Marked { size, is_marked }));
    }
    signal.filter(|_| is_new)
}

/// A detector that counts in windows, with the state to divide the octets counted between two
/// observations, which may be late, among the windows.
#[derive(Debug)]
pub(super) struct Medium {
    detector: Utilization,
    /// Start of the first window; the others follow without gaps.
    start: Instant,
    window: Duration,
    last: Instant,
}

/// Windows before the last three have no influence.
const WINDOWS: i64 = 3;

impl Medium {
    /// Processes what was heard, assuming it arrived evenly. If the thread is interrupted between
    /// reading the counters and the clock, the load is underestimated, never overestimated.
    fn hear(&mut self, seen: &Observation) -> Signal {
        let now = seen.at;
        let mut from = seen.heard_since.max(self.last);
        let mut left = share(seen.heard.get(), now - from, now - seen.heard_since);
        self.last = now;
        let horizon = Duration::from_ps(self.window.as_ps().saturating_mul(WINDOWS));
        if now - from > horizon {
            left = share(left, horizon, now - from);
            from = now - horizon;
        }
        while left > 0 {
            let window = (from - self.start).as_ps() / self.window.as_ps();
            let end = self.start + self.window * (window + 1);
            if end > now {
                self.detector.observe(now, Bytes::new(left));
                break;
            }
            let part = share(left, end - from, now - from);
            self.detector.observe(end - Duration::from_ps(1), Bytes::new(part));
            left -= part;
            from = end;
        }
        self.detector.signal(now)
    }
}

/// Returns `amount` times `part` / `whole`.
fn share(amount: u64, part: Duration, whole: Duration) -> u64 {
    let [part, whole] = [part, whole].map(|span| u128::try_from(span.as_ps()).unwrap_or(0));
    let share = u128::from(amount) * part / whole.max(1);
    u64::try_from(share).unwrap_or(u64::MAX).min(amount)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    /// Oracle: shares by hand, for a thread that observes every millisecond, and for one that is
    /// late.
    #[test]
    fn windows_get_their_share_however_late() {
        // At 10 Mbit/s, 10 ms are 12 500 octets; the threshold of 50 % is 6250.
        let medium = || Medium {
            detector: Utilization::new(at(0), BitRate::from_mbps(10), 50, Duration::from_ms(10)),
            start: at(0),
            window: Duration::from_ms(10),
            last: at(0),
        };
        let seen = |from, to, octets| Observation {
            at: at(to),
            sent: 0,
            collisions: 0,
            has_bulk: true,
            behind: Bytes::ZERO,
            heard: Bytes::new(octets),
            heard_since: at(from),
            returned: Bytes::ZERO,
            marked: Bytes::ZERO,
        };
        for (octets_each_ms, expected) in [(620, Signal::Clear), (630, Signal::Congestion)] {
            for steps in [1_u32, 3, 7, 45, 1_000] {
                let (mut medium, mut now) = (medium(), 0);
                let mut last = Signal::Clear;
                while now < 1_500 {
                    let (from, octets) = (now, octets_each_ms * u64::from(steps));
                    now += i64::from(steps);
                    last = medium.hear(&seen(from, now, octets));
                }
                assert_eq!(last, expected, "{octets_each_ms} each ms in {steps}");
            }
        }
        // Silence is not congestion, and traffic heard long ago does not count.
        let mut medium = medium();
        assert_eq!(medium.hear(&seen(0, 10, 10_000)), Signal::Congestion);
        assert_eq!(medium.hear(&seen(10, 30, 0)), Signal::Clear);
        assert_eq!(medium.hear(&seen(30, 10_030, 1_000_000)), Signal::Clear);
        // Interrupted for 20 ms between counters and clock: the traffic of 30 ms must not count as
        // that of 10 ms.
        assert_eq!(medium.hear(&seen(10_030, 10_060, 6_000)), Signal::Clear);
        assert_eq!(medium.hear(&seen(10_040, 10_070, 18_000)), Signal::Clear);
    }
}
