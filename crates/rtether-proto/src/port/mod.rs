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

mod credit;
mod deficit;
mod round_robin;

use alloc::boxed::Box;

use rtether_model::network::Selection;
use rtether_model::quantity::Instant;

use credit::Credit;
use deficit::Deficit;
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

/// What a port does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It sends the oldest frame of this queue.
    Send(u8),
    /// Frames wait, but none may be sent before this time.
    NotBefore(Instant),
    /// No frame waits.
    Empty,
}

/// The transmission selection of one port.
#[derive(Clone, Debug)]
pub struct Selector {
    queues: u8,
    rule: Rule,
}

#[derive(Clone, Debug)]
enum Rule {
    /// The highest non-empty queue; with one queue, order of arrival, or of local deadlines if the
    /// host sorts by them ([`Selection::EarliestDeadline`]).
    Strict,
    RoundRobin(RoundRobin),
    Deficit(Deficit),
    /// Boxed, so that ports without a shaper stay small.
    Credit(Box<Credit>),
}

impl Selector {
    /// Creates the selection of a port with `queues` queues, at least one. A selection that does
    /// not use them has one ([`Selection::uses_queues`]).
    pub fn new(selection: Selection, queues: u8) -> Self {
        let queues = if selection.uses_queues() { queues } else { 1 };
        let rule = match selection {
            Selection::Fcfs | Selection::EarliestDeadline | Selection::StrictPriority => {
                Rule::Strict
            }
            Selection::Wrr { weights } => Rule::RoundRobin(RoundRobin::new(weights, queues)),
            Selection::StrictWrr { weights } => {
                Rule::RoundRobin(RoundRobin::below_strict(weights, queues))
            }
            Selection::Drr { quanta } => Rule::Deficit(Deficit::new(quanta, queues)),
            Selection::Cbs { idle_slopes } => {
                Rule::Credit(Box::new(Credit::new(idle_slopes, queues)))
            }
        };
        Self { queues, rule }
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
            Rule::Deficit(_) | Rule::Credit(_) => true,
        }
    }

    /// Returns what the port does at `now`, when it could send; see [Calls](self#calls).
    #[inline]
    pub fn poll(&mut self, now: Instant, waiting: &impl Waiting) -> Decision {
        let queue = match &mut self.rule {
            Rule::Strict => waiting.highest(self.queues),
            Rule::RoundRobin(turns) => turns.next(waiting),
            Rule::Deficit(turns) => turns.next(waiting),
            Rule::Credit(credit) => return credit.next(now, waiting),
        };
        queue.map_or(Decision::Empty, Decision::Send)
    }
}
