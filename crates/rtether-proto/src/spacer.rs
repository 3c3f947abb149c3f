//! The gap of a flow: its frames leave their station at least this far apart, as those of a virtual
//! link do by its bandwidth allocation gap (ARINC 664, part 7).
//!
//! A spacer holds no frames. Its host keeps those of the flow in order, and lets each go at the time
//! that [`Spacer::leave_at`] says. `rtether_bounds` proves how long they wait, and what arrives behind
//! it, in `discipline::spacer`.

use rtether_model::quantity::{Duration, Instant};

/// Decides when the frames of one flow leave.
#[derive(Clone, Copy, Debug)]
pub struct Spacer {
    gap: Duration,
    /// The next frame leaves no earlier.
    next: Instant,
}

impl Spacer {
    /// Creates the spacer of a flow that has sent nothing.
    pub const fn new(gap: Duration) -> Self {
        Self { gap, next: Instant::ZERO }
    }

    /// Returns when the next frame would leave if it came at `now`.
    pub fn leave_at(&self, now: Instant) -> Instant {
        now.max(self.next)
    }

    /// Takes a frame that comes at `now`, and returns when it leaves.
    pub fn take(&mut self, now: Instant) -> Instant {
        let leaves_at = self.leave_at(now);
        self.next = leaves_at + self.gap;
        leaves_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn us(us: i64) -> Instant {
        Instant::ZERO + Duration::from_us(us)
    }

    /// Oracle: by hand. Three frames at once, one after a pause, one a gap later to the picosecond,
    /// one 1 us too early.
    #[test]
    fn frames_leave_a_gap_apart() {
        let mut spacer = Spacer::new(Duration::from_us(100));
        let come = [0, 0, 0, 500, 600, 699];
        let leave = [0, 100, 200, 500, 600, 700];
        for (come, leave) in come.into_iter().zip(leave) {
            assert_eq!(spacer.leave_at(us(come)), us(leave));
            assert_eq!(spacer.take(us(come)), us(leave));
        }
    }

    proptest! {
        /// Oracle: the closed form `max over k <= n of (a_k + (n - k) gap)`, the earliest times in
        /// order at which frames can leave a gap apart and after they came.
        #[test]
        fn no_frame_leaves_later_than_it_has_to(
            gap in 1i64..200,
            pauses in prop::collection::vec(0i64..150, 1..60),
        ) {
            let gap = Duration::from_us(gap);
            let mut spacer = Spacer::new(gap);
            let mut now = Instant::ZERO;
            let mut come: Vec<Instant> = Vec::new();
            for pause in pauses {
                now += Duration::from_us(pause);
                come.push(now);
                let earliest = (0i64..).zip(come.iter().rev());
                let earliest = earliest.map(|(behind, &at)| at + gap * behind).max();
                prop_assert_eq!(Some(spacer.take(now)), earliest);
            }
        }
    }
}
