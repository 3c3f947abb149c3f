//! Closed forms of shared Ethernet: longest access times and probabilities of repeated collisions
//! (IEEE 802.3, clause 4.2.3.2; R22, R26).
//!
//! After the n-th collision in a row a station waits a random number of slot times, uniform in
//! `0..2^min(n, 10)`; after the sixteenth it gives up the frame. 003 Dolejs prints ranges that
//! include the upper end, `0..=2^n`; both are implemented.

use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::wire::{GAP, MIN_FRAME, occupancy, wire_time};
use rtether_report::text::real;

/// Attempts after which a frame is given up.
pub const ATTEMPTS_MAX: u32 = 16;

/// Collisions after which the range stops growing.
const DOUBLINGS_MAX: u32 = 10;

/// Ranges from which stations draw their back-off, in slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranges {
    /// `0..2^n`, as in the standard.
    Standard,
    /// `0..=2^n`, as printed in 003 Dolejs.
    Printed,
}

impl Ranges {
    /// Returns the largest back-off, in slots, after `collisions` collisions in a row.
    pub const fn longest(self, collisions: u32) -> i64 {
        let doublings = if collisions < DOUBLINGS_MAX { collisions } else { DOUBLINGS_MAX };
        match self {
            Self::Standard => (1 << doublings) - 1,
            Self::Printed => 1 << doublings,
        }
    }

    /// Returns the largest total back-off, in slots, over `collisions` collisions in a row.
    fn longest_sum(self, collisions: u32) -> i64 {
        (1..=collisions).map(|n| self.longest(n)).sum()
    }

    /// Returns the probability that two stations that wait for the same moment draw equal numbers
    /// `collisions` times in a row.
    pub fn repeated(self, collisions: u32) -> f64 {
        let choices = (1..=collisions).map(|n| self.longest(n) + 1);
        choices.fold(1.0, |probability, choices| probability / real(choices.unsigned_abs()))
    }

    /// Returns the longest time from the request to send to the last bit if two stations collide
    /// `collisions` times and no other station sends: the longest back-offs, a slot and a gap lost
    /// per collision, and the frame.
    pub fn longest_access(self, collisions: u32, frame: Bytes, rate: BitRate) -> Duration {
        let lost = (slot_time(rate) + rate.time_ceil(GAP)) * i64::from(collisions);
        slot_time(rate) * self.longest_sum(collisions) + lost + wire_time(frame, rate)
    }

    /// Returns the two parts of the worst case of a frame that gets through at the last of
    /// `trials`: the longest back-offs after the earlier collisions; and for each trial a full
    /// frame of another station (in the last one its own), the gap and a slot of contention.
    pub fn worst_case(self, trials: u32, frame: Bytes, rate: BitRate) -> (Duration, Duration) {
        let back_off = slot_time(rate) * self.longest_sum(trials.saturating_sub(1));
        let trial = occupancy(frame, rate) + slot_time(rate);
        (back_off, trial * i64::from(trials))
    }

    /// Returns the least number of collisions after which the deadline can be missed; sixteen if
    /// only a frame that is given up misses it.
    pub fn least_collisions(self, deadline: Duration, frame: Bytes, rate: BitRate) -> u32 {
        let can_miss = |&n: &u32| self.longest_access(n, frame, rate) > deadline;
        (0..ATTEMPTS_MAX).find(can_miss).unwrap_or(ATTEMPTS_MAX)
    }
}

/// Returns the slot time, 512 bit times.
pub fn slot_time(rate: BitRate) -> Duration {
    rate.time_ceil(MIN_FRAME)
}

/// Returns [`Ranges::worst_case`] of the standard.
pub fn worst_case(trials: u32, frame: Bytes, rate: BitRate) -> (Duration, Duration) {
    Ranges::Standard.worst_case(trials, frame, rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: BitRate = BitRate::from_mbps(10);
    const FAST: BitRate = BitRate::from_mbps(100);

    #[test]
    fn ten_trials_by_hand() {
        // Slots: 1 + 3 + 7 + ... + 511 = 1022 - 9 = 1013, each 51.2 us: 51.8656 ms.
        // A trial: (1518 + 20) * 0.8 us + 51.2 us = 1281.6 us; ten are 12.816 ms.
        let (back_off, trials) = worst_case(10, Bytes::new(1518), SLOW);
        assert_eq!(back_off, Duration::from_ns(51_865_600));
        assert_eq!(trials, Duration::from_us(12_816));
        // The first trial has no collision before it.
        let (back_off, _) = worst_case(1, Bytes::new(1518), SLOW);
        assert_eq!(back_off, Duration::ZERO);
    }

    #[test]
    fn the_range_stops_growing_after_ten_collisions() {
        assert_eq!(Ranges::Standard.longest(10), 1023);
        assert_eq!(Ranges::Standard.longest(15), 1023);
        assert_eq!(Ranges::Printed.longest(2), 4);
    }

    #[test]
    fn a_deadline_becomes_a_number_of_collisions() {
        // By hand, 174 octets at 100 Mbit/s: frame 182 * 0.08 = 14.56 us, slot 5.12, gap 0.96 us.
        // Six collisions: 120 * 5.12 + 6 * 6.08 + 14.56 = 665.44 us; seven: 247 * 5.12 + ... =
        // 1321.76 us. The printed ranges wait one slot more each time: 126 and 254 slots.
        let frame = Bytes::new(174);
        let access = |ranges: Ranges, n| ranges.longest_access(n, frame, FAST);
        assert_eq!(access(Ranges::Standard, 6), Duration::from_ns(665_440));
        assert_eq!(access(Ranges::Standard, 7), Duration::from_ns(1_321_760));
        assert_eq!(access(Ranges::Printed, 6), Duration::from_ns(696_160));
        let least = |deadline| Ranges::Standard.least_collisions(deadline, frame, FAST);
        assert_eq!(least(Duration::from_ms(1)), 7);
        assert_eq!(least(Duration::from_ns(665_440)), 7);
        assert_eq!(least(Duration::from_ns(665_439)), 6);
        assert_eq!(least(Duration::from_us(10)), 0);
        assert_eq!(least(Duration::from_secs(10)), ATTEMPTS_MAX);
    }
}
