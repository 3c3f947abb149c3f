//! The credit-based shaper (IEEE 802.1Q-2022, 8.6.8.2), strict priority among the queues that may
//! send.
//!
//! The credit of a shaped queue rises by its idle slope while frames wait, or while it is below
//! zero; it falls by the rate of the link less the idle slope while a frame of the queue is sent,
//! preamble and gap included; above zero it is lost when the queue is empty and nothing of it is
//! being sent. A frame may leave at a credit of zero or more.
//!
//! # How the engine counts
//!
//! From the beginning to the end of a frame the credit changes by the idle slope times the duration,
//! less the bits of the frame. So the whole frame is charged when it begins, and the credit rises
//! all the time: at each time at which the port could send, this is the same number, and the rate
//! of the link is not needed. The state of a queue is the time at which its credit is zero, times
//! its slope. That time moves when a frame is sent, and when a frame comes to the empty queue after
//! that: a credit above zero was lost then. A frame that comes at the very end of the frame before
//! it finds no credit. A port is asked again at the end of a frame or, if nothing waits then, when
//! the next one comes to any of its queues, which is as good: until then no queue gains anything.

use core::ops::Range;

use rtether_model::quantity::{BitRate, Bytes, Instant};
use rtether_model::wire::wire_size;

use super::{Decision, Waiting};

/// Slopes are in bit/s, times in picoseconds.
const BITS: i128 = 1_000_000_000_000;
/// Faster than any link (1 Tbit/s), so that no product overflows.
const SLOPE_MAX: i128 = 1_000_000_000_000;

#[derive(Clone, Debug)]
pub(super) struct Credit {
    queues: [Shaped; 8],
    /// Those that it decides about.
    own: Range<u8>,
    /// Queue whose frame is being sent, until the port is asked again.
    sending: Option<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Shaped {
    /// Bit/s; zero without a shaper.
    slope: i128,
    /// Slope times the time at which the credit is zero: the credit at `t` is `slope * t - zero`.
    zero: i128,
    /// First time after the last frame of this queue at which the port could send.
    sent_until: Instant,
}

impl Credit {
    /// Creates the rule of these queues; it does not look at others.
    pub(super) fn new(slopes: [BitRate; 8], own: Range<u8>) -> Self {
        Self {
            queues: slopes.map(|slope| Shaped {
                slope: i128::from(slope.as_bps()).min(SLOPE_MAX),
                zero: 0,
                sent_until: Instant::ZERO,
            }),
            own,
            sending: None,
        }
    }

    /// Returns what the port does at `now`.
    pub(super) fn next(&mut self, now: Instant, waiting: &impl Waiting) -> Decision {
        if let Some(queue) = self.sending.take() {
            self.queues[usize::from(queue)].sent_until = now;
        }
        let mut wake: Option<Instant> = None;
        for queue in self.own.clone().rev().filter(|&queue| waiting.has_frame(queue)) {
            let shaped = &mut self.queues[usize::from(queue)];
            let ready_at = shaped.ready_at(waiting.head_since(queue));
            if ready_at <= now {
                shaped.charge(waiting.head_size(queue));
                self.sending = Some(queue);
                return Decision::Send(queue);
            }
            wake = Some(wake.map_or(ready_at, |wake| wake.min(ready_at)));
        }
        wake.map_or(Decision::Empty, Decision::NotBefore)
    }
}

impl Shaped {
    /// Returns the first time at which the oldest frame, here since `since`, has a credit of zero.
    fn ready_at(&mut self, since: Instant) -> Instant {
        if self.slope == 0 {
            return since;
        }
        if since >= self.sent_until {
            self.zero = self.zero.max(self.slope * i128::from(since.as_ps()));
        }
        // Rounded up; beyond the end of time it is never.
        let time = (self.zero + self.slope - 1).div_euclid(self.slope);
        Instant::from_ps(i64::try_from(time).unwrap_or(i64::MAX))
    }

    fn charge(&mut self, octets: u32) {
        self.zero += i128::from(wire_size(Bytes::new(octets.into())).bits()) * BITS;
    }
}

#[cfg(test)]
mod tests;
