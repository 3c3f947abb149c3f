//! Transmission selection at a port: which queue sends its next frame, and when (IEEE 802.1Q-2022,
//! 8.6.8).
//!
//! A selection holds no frames and has no clock. Its host keeps the queues, shows them as
//! [`Waiting`], and does what [`Selector::poll`] says. The same engine decides at the ports of
//! simulated and emulated switches, at those of stations, and in the shim. One file for each rule;
//! `rtether_bounds::discipline` has the proofs under the same names.
//!
//! # Calls
//!
//! The host calls `poll` whenever the port could send: it has finished a frame, or it is idle and a
//! frame has been queued. After [`Decision::Send`] it takes the head of this queue and sends it.
//! After [`Decision::NotBefore`] it asks again at that time, or as soon as another frame is queued.
//! Where [`Selector::is_asked_when_idle`] returns `false`, a frame that finds port and queues empty
//! may go at once, which is faster and changes no later decision.
//!
//! # Windows
//!
//! The host says until when each queue may send ([`Windows`]). A queue whose oldest frame would not
//! be out by then counts as empty (IEEE 802.1Q-2022, 8.6.8); what stands behind this frame waits,
//! too. After [`Decision::Empty`] the host asks again when a queue gets a new window.

mod credit;
mod deficit;
mod mixed;
mod round_robin;

use alloc::boxed::Box;

use rtether_model::network::{Algorithm, Feature, PortPlan};
use rtether_model::quantity::{BitRate, Bytes, Instant};
use rtether_model::wire::wire_time;

use credit::Credit;
use deficit::Deficit;
use mixed::Mixed;
use round_robin::RoundRobin;

/// The waiting frames of a port, as a selection sees them.
pub trait Waiting {
    /// Returns whether a queue has a frame.
    fn has_frame(&self, queue: u8) -> bool;

    /// Returns the octets of the oldest frame of a queue, addresses to FCS; zero without a frame.
    fn head_size(&self, queue: u8) -> u32;

    /// Returns when the oldest frame of a queue came to it; the start of the run without a frame.
    fn head_since(&self, queue: u8) -> Instant;

    /// Returns the highest non-empty queue below `end`.
    fn highest(&self, end: u8) -> Option<u8> {
        (0..end).rev().find(|&queue| self.has_frame(queue))
    }
}

/// Until when the queues of a port may send.
pub trait Windows {
    /// Returns the time by which the last bit of a queue has to be out; `None` if nothing ends its
    /// window.
    fn end(&self, queue: u8) -> Option<Instant>;
}

/// The windows of a port whose queues may always send.
pub struct Unlimited;

impl Windows for Unlimited {
    #[inline]
    fn end(&self, _: u8) -> Option<Instant> {
        None
    }
}

/// What a port does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It sends the oldest frame of this queue.
    Send(u8),
    /// Frames wait, but none may be sent before this time.
    NotBefore(Instant),
    /// No frame waits, or none ends within its window.
    Empty,
}

/// The transmission selection of one port.
#[derive(Clone, Debug)]
pub struct Selector {
    queues: u8,
    /// Rate of the line; `None` above a ring.
    rate: Option<BitRate>,
    rule: Rule,
}

#[derive(Clone, Debug)]
enum Rule {
    /// The highest non-empty queue; with one queue, order of arrival, or of local deadlines if the
    /// host sorts by them ([`Algorithm::EarliestDeadline`]).
    Strict,
    RoundRobin(RoundRobin),
    Deficit(Deficit),
    /// Boxed, so that ports without a shaper stay small.
    Credit(Box<Credit>),
    Mixed(Box<Mixed>),
}

impl Selector {
    /// Creates the selection of a port with this plan on a line of this rate; `None` above a ring,
    /// where the selection does not see when a frame begins on the line.
    pub fn new(plan: &PortPlan, rate: Option<BitRate>) -> Self {
        let queues = plan.queues();
        let rule = if plan.needs(Feature::Credits) && plan.needs(Feature::OctetTurns) {
            Rule::Mixed(Box::new(Mixed::new(plan)))
        } else if plan.needs(Feature::Credits) {
            Rule::Credit(Box::new(Credit::new(plan.idle_slopes(), 0..queues)))
        } else if plan.needs(Feature::OctetTurns) {
            Rule::Deficit(Deficit::new(plan.quanta(), queues))
        } else if !plan.needs(Feature::FrameTurns) {
            Rule::Strict
        } else if plan.algorithm(queues - 1) == Algorithm::Strict {
            Rule::RoundRobin(RoundRobin::below_strict(plan.weights(), queues))
        } else {
            Rule::RoundRobin(RoundRobin::new(plan.weights(), queues))
        };
        Self { queues, rate, rule }
    }

    /// Returns the number of queues.
    #[inline]
    pub const fn queues(&self) -> u8 {
        self.queues
    }

    /// Returns whether the host has to ask also about a frame that finds port and queues empty.
    pub const fn is_asked_when_idle(&self) -> bool {
        match self.rule {
            Rule::Strict | Rule::RoundRobin(_) => false,
            Rule::Deficit(_) | Rule::Credit(_) | Rule::Mixed(_) => true,
        }
    }

    /// Returns what the port does at `now`, when it could send; see [Calls](self#calls).
    #[inline]
    pub fn poll(
        &mut self,
        now: Instant,
        windows: &impl Windows,
        waiting: &impl Waiting,
    ) -> Decision {
        let waiting = &Fitting { now, rate: self.rate, windows, waiting };
        let queue = match &mut self.rule {
            Rule::Strict => waiting.highest(self.queues),
            Rule::RoundRobin(turns) => turns.next(waiting),
            Rule::Deficit(turns) => turns.next(waiting),
            Rule::Credit(credit) => return credit.next(now, waiting),
            Rule::Mixed(mixed) => return mixed.next(now, waiting),
        };
        queue.map_or(Decision::Empty, Decision::Send)
    }
}

/// Waiting frames without the queues whose oldest one does not end within its window.
struct Fitting<'a, N, W> {
    now: Instant,
    rate: Option<BitRate>,
    windows: &'a N,
    waiting: &'a W,
}

impl<N: Windows, W: Waiting> Waiting for Fitting<'_, N, W> {
    #[inline]
    fn has_frame(&self, queue: u8) -> bool {
        self.waiting.has_frame(queue)
            && self.windows.end(queue).is_none_or(|end| self.is_out_by(end, queue))
    }

    #[inline]
    fn head_size(&self, queue: u8) -> u32 {
        self.waiting.head_size(queue)
    }

    #[inline]
    fn head_since(&self, queue: u8) -> Instant {
        self.waiting.head_since(queue)
    }
}

impl<N, W: Waiting> Fitting<'_, N, W> {
    /// Returns whether the oldest frame of a queue has left by `end` if it begins now. The gap
    /// behind it may be outside the window.
    fn is_out_by(&self, end: Instant, queue: u8) -> bool {
        let size = Bytes::new(self.waiting.head_size(queue).into());
        // Above a ring a frame is out at once as far as the selection can see.
        self.rate.map_or(self.now, |rate| self.now + wire_time(size, rate)) <= end
    }
}

#[cfg(test)]
mod tests;
