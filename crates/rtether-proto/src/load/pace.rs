//! Pacing of packets at a given rate.

use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};

/// Paces packets at a rate by virtual scheduling (GCRA of ITU-T I.371).
///
/// A late sender may catch up by at most `slack`; the rest is lost. Packets are never early, and
/// late by less than a picosecond each.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    rate: BitRate,
    slack: Duration,
    next: Instant,
}

impl Pacer {
    /// Returns a pacer whose first packet is due at once; `None` for a rate of zero.
    pub fn new(rate: BitRate, slack: Duration, now: Instant) -> Option<Self> {
        (rate.as_bps() > 0).then_some(Self { rate, slack, next: now })
    }

    /// Returns when a packet of `size` may be sent, and counts it as sent then.
    pub fn reserve(&mut self, now: Instant, size: Bytes) -> Instant {
        let due = self.next.max(now - self.slack);
        self.next = due + self.rate.time_ceil(size);
        due.max(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: i64) -> Instant {
        Instant::ZERO + Duration::from_us(us)
    }

    /// 1000 octets at 8 Mbit/s take 1 ms.
    fn pacer(slack_us: i64) -> Pacer {
        let rate = BitRate::from_mbps(8);
        Pacer::new(rate, Duration::from_us(slack_us), at(0)).expect("the rate is not zero")
    }

    const SIZE: Bytes = Bytes::new(1_000);

    #[test]
    fn packets_are_due_at_the_rate() {
        // Oracle: multiples of a millisecond.
        let mut pacer = pacer(0);
        for number in 0..5 {
            assert_eq!(pacer.reserve(at(0), SIZE), at(number * 1_000));
        }
    }

    #[test]
    fn who_is_late_catches_up_within_the_slack() {
        // Oracle: by hand. Of the packets due by 5 ms, the slack leaves two and the current one.
        let mut pacer = pacer(2_000);
        let times = [(); 5].map(|()| pacer.reserve(at(5_000), SIZE));
        assert_eq!(times, [5_000, 5_000, 5_000, 6_000, 7_000].map(at));
    }

    #[test]
    fn a_rate_that_divides_nothing_is_never_exceeded() {
        // Oracle: the rate itself, over a million packets.
        let rate = BitRate::from_bps(333_333_333);
        let mut pacer = Pacer::new(rate, Duration::ZERO, at(0)).expect("not zero");
        let size = Bytes::new(84);
        let mut last = at(0);
        for _ in 0..=1_000_000 {
            last = pacer.reserve(at(0), size);
        }
        let exact = 84 * 8 * 1_000_000_i128 * 1_000_000_000_000 / 333_333_333;
        let over = i128::from(last.as_ps()) - exact;
        assert!((0..=1_000_000).contains(&over), "{over} ps");
    }

    #[test]
    fn a_rate_of_zero_is_refused() {
        assert!(Pacer::new(BitRate::from_bps(0), Duration::ZERO, at(0)).is_none());
    }
}
