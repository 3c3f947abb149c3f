//! The gap of a flow: its frames leave their station at least this far apart, as those of a virtual
//! link do by its bandwidth allocation gap (ARINC 664, part 7).
//!
//! `rtether_bounds` proves how long frames wait, and what arrives behind it, in
//! `discipline::gap`.

use alloc::collections::VecDeque;

use rtether_model::quantity::{Duration, Instant};

use super::{Offer, Work};

/// Spaces the frames of one flow; `F` names a frame.
#[derive(Clone, Debug)]
pub struct Gap<F> {
    least: Duration,
    /// The next frame leaves no earlier.
    next: Instant,
    /// Frames that wait, each with the time at which it leaves.
    held: VecDeque<(F, Instant)>,
    /// Most of them.
    room: usize,
}

impl<F> Gap<F> {
    /// Creates the gap of a flow that has sent nothing, with room for as many frames.
    pub const fn new(gap: Duration, room: usize) -> Self {
        Self { least: gap, next: Instant::ZERO, held: VecDeque::new(), room }
    }

    /// Takes a frame that comes at `now`.
    pub fn offer(&mut self, now: Instant, frame: F) -> Offer {
        if self.held.len() >= self.room {
            return Offer::Drop;
        }
        let leaves_at = now.max(self.next);
        self.next = leaves_at + self.least;
        if leaves_at == now {
            return Offer::Pass;
        }
        self.held.push_back((frame, leaves_at));
        Offer::Hold
    }

    /// Returns the next frame that leaves by `now`.
    pub fn poll(&mut self, now: Instant) -> Option<Work<F>> {
        let (frame, _) = self.held.pop_front_if(|(_, leaves_at)| *leaves_at <= now)?;
        Some(Work::Release(frame))
    }

    /// Returns when [`Self::poll`] has something to do.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.held.front().map(|(_, leaves_at)| *leaves_at)
    }

    /// Returns the frames held, the first to leave first.
    pub fn held(&self) -> impl Iterator<Item = &F> {
        self.held.iter().map(|(frame, _)| frame)
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

    /// Offers frames at these times; returns when each leaves.
    fn leave(gap: &mut Gap<usize>, come: &[Instant]) -> Vec<Instant> {
        let mut left = Vec::new();
        for (number, &now) in come.iter().enumerate() {
            release(gap, now, &mut left);
            if gap.offer(now, number) == Offer::Pass {
                left.push(now);
            }
        }
        release(gap, Instant::from_ps(i64::MAX), &mut left);
        left
    }

    fn release(gap: &mut Gap<usize>, until: Instant, left: &mut Vec<Instant>) {
        while let Some(at) = gap.next_timeout().filter(|&at| at <= until) {
            assert_eq!(gap.poll(at), Some(Work::Release(left.len())));
            left.push(at);
        }
    }

    /// Oracle: by hand. Three frames at once, one after a pause, one a gap later to the picosecond,
    /// one 1 us too early; then one more than there is room for.
    #[test]
    fn frames_leave_a_gap_apart() {
        let mut gap = Gap::new(Duration::from_us(100), 2);
        let come = [0, 0, 0, 500, 600, 699].map(us);
        assert_eq!(leave(&mut gap, &come), [0, 100, 200, 500, 600, 700].map(us));
        let offers = [(); 4].map(|()| gap.offer(us(900), 9));
        assert_eq!(offers, [Offer::Pass, Offer::Hold, Offer::Hold, Offer::Drop]);
        assert_eq!(gap.held().count(), 2);
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
            let mut now = Instant::ZERO;
            let mut come: Vec<Instant> = Vec::new();
            let mut earliest = Vec::new();
            for pause in pauses {
                now += Duration::from_us(pause);
                come.push(now);
                let times = (0i64..).zip(come.iter().rev());
                earliest.extend(times.map(|(behind, &at)| at + gap * behind).max());
            }
            prop_assert_eq!(leave(&mut Gap::new(gap, usize::MAX), &come), earliest);
        }
    }
}
