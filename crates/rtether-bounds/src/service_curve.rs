//! The service curve of a server: what its queues can count on.
//!
//! **Service.** A server works at a rate, begins to do so after a latency, and may pause while
//! packets wait. A queue that has the curve with share `r` and latency `D` can count on this: let 0
//! be the last time before which none of its packets was there and nothing of the past held it back;
//! the packet behind the work `w` of the queue begins at `D + w / r` at the latest.
//!
//! **Theorem.** With at most `a(t)` work in a closed window of length `t`, a packet of work `c` in
//! such a queue waits for at most `D + sup_t (a(t) / r - t) - c / r`. *Proof.* Let it arrive at `t`.
//! The work in front of it and its own have arrived in `[0, t]`, so `w <= a(t) - c`. QED
//!
//! So a share is the same as a server of full rate to which every packet brings `1 / r` of its work,
//! and everything that [`crate::wait`] proves of order of arrival holds for it. A queue below others
//! counts the work that these bring in the same way. What does not hold is that a queue is served
//! without a pause once it has begun: limits on the packets under way ([`crate::window`]), which
//! count from any moment, are not used where there is a share.

use crate::curve::{Excess, Load, ONE};
use crate::source::{INFINITE, add};

/// What a server guarantees to a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServiceCurve {
    /// Time per octet on the wire; zero for a processor, whose work is given as time.
    pub(crate) octet: i64,
    /// Part of that rate which the queue gets.
    pub(crate) share: Share,
    /// Longest time before it gets it.
    pub(crate) latency: i64,
    /// Whether the server may be idle while a packet waits.
    pub(crate) pauses: bool,
}

impl ServiceCurve {
    /// Returns the curve of a server that does `octet` picoseconds of work per octet, without
    /// latency.
    pub(crate) const fn new(octet: i64, pauses: bool) -> Self {
        Self { octet, share: Share::WHOLE, latency: 0, pauses }
    }

    /// Returns the curve behind `work` that the server does first.
    pub(crate) fn behind(self, work: i64) -> Self {
        Self { latency: add(self.latency, work), ..self }
    }
}

/// A part of the rate of a server, in bits on the wire of [`Share::DENOMINATOR`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share(i64);

impl Share {
    /// Picoseconds in a second, times bits in an octet: a rate in bit/s times the time per octet is
    /// a whole number of these parts.
    pub(crate) const DENOMINATOR: i64 = 8_000_000_000_000;
    /// The full rate.
    pub(crate) const WHOLE: Self = Self(Self::DENOMINATOR);

    /// Returns a share of this number of parts; `None` unless it is above zero and at most the whole.
    pub(crate) fn of(parts: i128) -> Option<Self> {
        let parts = i64::try_from(parts).ok()?;
        (1..=Self::DENOMINATOR).contains(&parts).then_some(Self(parts))
    }

    /// Returns the time that work takes, rounded up.
    pub(crate) fn time(self, work: i64) -> i64 {
        let time = self.stretch(i128::from(work));
        i64::try_from(time).unwrap_or(INFINITE).min(INFINITE)
    }

    /// Returns the time that work takes, rounded down.
    pub(crate) fn time_at_least(self, work: i64) -> i64 {
        let time = i128::from(work) * i128::from(Self::DENOMINATOR) / i128::from(self.0);
        i64::try_from(time).unwrap_or(INFINITE).min(INFINITE)
    }

    /// Returns a load as it is at a server with this share of the rate.
    pub(crate) fn slow_down(self, load: &Load) -> Load {
        if self == Self::WHOLE {
            return *load;
        }
        let parts = i128::from(load.excess.of);
        let (cost, excess) = Excess::round_up(
            load.exact(parts).saturating_mul(i128::from(Self::DENOMINATOR)),
            parts.saturating_mul(self.0.into()),
        );
        Load {
            cost,
            excess,
            // It is subtracted.
            least: self.time_at_least(load.least),
            ratio: self.stretch(load.ratio),
            in_flight: 0,
            ..*load
        }
    }

    /// Returns a number divided by the share, rounded up.
    fn stretch(self, number: i128) -> i128 {
        let share = i128::from(self.0);
        let stretched = number.saturating_mul(i128::from(Self::DENOMINATOR));
        stretched.saturating_add(share - 1) / share
    }

    /// Returns a rate of arrivals, with [`crate::curve::PLACES`] binary places, in parts, rounded up.
    pub(crate) fn parts(rate: i128) -> i128 {
        let parts = rate.saturating_mul(i128::from(Self::DENOMINATOR));
        parts.saturating_add(ONE - 1) / ONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: by hand. A quarter of 100 Mbit/s: work takes four times as long, on a third of it
    /// everything is rounded up but the own work that is subtracted.
    #[test]
    fn a_share_stretches_work() {
        let load = Load {
            least: 100,
            ratio: ONE,
            spacing: 100,
            in_flight: 7,
            ..Load::periodic(1_000, 1_000_000)
        };
        let quarter = Share::of(25_000_000 * 80_000).unwrap();
        let slow = quarter.slow_down(&load);
        assert_eq!((slow.cost, slow.least, slow.ratio), (4_000, 400, 4 * ONE));
        assert_eq!(slow.in_flight, 0);
        let third = Share::of(i128::from(Share::DENOMINATOR) * 3 / 10).unwrap();
        let slow = third.slow_down(&load);
        assert_eq!((slow.cost, slow.least), (3_334, 333));
        let whole = Share::WHOLE.slow_down(&load);
        assert_eq!((whole.cost, whole.least, whole.in_flight), (1_000, 100, 7));
        assert_eq!(Share::parts(ONE / 4), i128::from(Share::DENOMINATOR) / 4);
        assert_eq!(Share::of(0), None);
        assert_eq!(Share::of(i128::from(Share::DENOMINATOR) + 1), None);
    }
}
