//! Mechanisms of an end station between its stack and its port: the engines of
//! [`rtether_proto::mechanism`] with a timer and the books that all of them keep.
//!
//! A new one is a variant of [`Engine`] and of [`Level`], in a file of its own.

pub(crate) mod arp;
pub(crate) mod redundancy;

use alloc::vec::Vec;

use rtether_model::flow::Flow;
use rtether_model::network::NodeId;
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_model::record::NodeRecord;
use rtether_proto::mechanism::gap::Gap;
use rtether_proto::mechanism::{Offer, Work};

use crate::agenda::{Agenda, NEVER};
use crate::observe::DropReason;
use crate::packet::NONE;
use arp::ArpState;
use redundancy::Redundant;

/// The order of the mechanisms of a station, from its stack down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Packets wait for the address of their destination.
    Arp,
    /// Frames of a flow leave a gap apart. Above it is the layer, if the station has one.
    Gap,
    /// Frames leave by both ports.
    Redundancy,
}

impl Level {
    pub(crate) const ALL: [Self; 3] = [Self::Arp, Self::Gap, Self::Redundancy];

    /// Returns its bit in the levels that a station has.
    pub(crate) const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// What a mechanism may know of a frame.
pub(crate) struct Frame {
    /// Its number in the pool.
    pub(crate) id: u32,
    pub(crate) size: Bytes,
    /// The neighbor whose address it needs; none if it is to a group, or not of IP.
    pub(crate) neighbor: Option<NodeId>,
}

enum Engine {
    Arp(ArpState),
    Gap(Gap<u32>),
    Redundancy(Redundant),
}

/// Frames that a mechanism was offered, and what became of them.
#[derive(Default)]
struct Counts {
    offered: u64,
    passed: u64,
    released: u64,
    dropped: u64,
}

/// One mechanism of a station.
pub(crate) struct Mechanism {
    pub(crate) station: u32,
    pub(crate) level: Level,
    /// The flow that it is for; zero if it is for all.
    pub(crate) flow: u32,
    slot: u32,
    engine: Engine,
    counts: Counts,
}

impl Mechanism {
    const fn new(station: u32, level: Level, flow: u32, engine: Engine) -> Self {
        let counts = Counts { offered: 0, passed: 0, released: 0, dropped: 0 };
        Self { station, level, flow, slot: NONE, engine, counts }
    }

    pub(crate) const fn arp(station: u32, state: ArpState) -> Self {
        Self::new(station, Level::Arp, 0, Engine::Arp(state))
    }

    pub(crate) const fn gap(station: u32, flow: u32, gap: Duration) -> Self {
        let gap = Gap::new(gap, Flow::HELD_MAX as usize);
        Self::new(station, Level::Gap, flow, Engine::Gap(gap))
    }

    pub(crate) const fn redundancy(station: u32, state: Redundant) -> Self {
        Self::new(station, Level::Redundancy, 0, Engine::Redundancy(state))
    }

    /// Returns what they are found by, in order.
    pub(crate) const fn key(&self) -> (u32, Level, u32) {
        (self.station, self.level, self.flow)
    }

    /// Returns whether packets on their way down have to be offered to it.
    pub(crate) const fn concerns_packets(&self) -> bool {
        self.holds() || matches!(self.engine, Engine::Redundancy(_))
    }

    /// Returns whether it ever holds a frame, and so needs a timer.
    pub(crate) const fn holds(&self) -> bool {
        match &self.engine {
            Engine::Arp(state) => state.resolves(),
            Engine::Gap(_) => true,
            Engine::Redundancy(_) => false,
        }
    }

    /// Gives it the timer.
    pub(crate) const fn set_slot(&mut self, slot: u32) {
        self.slot = slot;
    }

    pub(crate) const fn as_arp(&mut self) -> Option<&mut ArpState> {
        match &mut self.engine {
            Engine::Arp(state) => Some(state),
            Engine::Gap(_) | Engine::Redundancy(_) => None,
        }
    }

    pub(crate) const fn as_redundancy(&self) -> Option<&Redundant> {
        match &self.engine {
            Engine::Redundancy(state) => Some(state),
            Engine::Arp(_) | Engine::Gap(_) => None,
        }
    }

    pub(crate) const fn as_redundancy_mut(&mut self) -> Option<&mut Redundant> {
        match &mut self.engine {
            Engine::Redundancy(state) => Some(state),
            Engine::Arp(_) | Engine::Gap(_) => None,
        }
    }

    /// Takes a frame on its way down.
    pub(crate) fn offer(&mut self, now: Instant, frame: &Frame) -> Offer {
        let offer = match &mut self.engine {
            Engine::Arp(state) => state.offer(now, frame),
            Engine::Gap(gap) => gap.offer(now, frame.id),
            Engine::Redundancy(_) => Offer::Copy,
        };
        self.counts.offered += 1;
        match offer {
            Offer::Pass | Offer::Mark(_) | Offer::Copy => self.counts.passed += 1,
            Offer::Drop => self.counts.dropped += 1,
            Offer::Hold => {}
        }
        offer
    }

    /// Does what its timer was set for.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if let Engine::Arp(state) = &mut self.engine {
            state.handle_timeout(now);
        }
    }

    /// Returns what is to be done now with a frame that it holds.
    pub(crate) fn poll(&mut self, now: Instant) -> Option<Work<u32>> {
        let work = match &mut self.engine {
            Engine::Arp(state) => state.poll(),
            Engine::Gap(gap) => gap.poll(now),
            Engine::Redundancy(_) => None,
        }?;
        match work {
            Work::Release(_) => self.counts.released += 1,
            Work::Drop(_) => self.counts.dropped += 1,
            Work::Ask(_) => {}
        }
        Some(work)
    }

    /// Returns why it drops frames that it held.
    pub(crate) const fn reason(&self) -> DropReason {
        match self.level {
            Level::Arp => DropReason::Unresolved,
            Level::Gap | Level::Redundancy => DropReason::StackFull,
        }
    }

    /// Sets its timer.
    pub(crate) fn set_timer(&self, agenda: &mut Agenda) {
        let next = match &self.engine {
            Engine::Arp(state) => state.next_timeout(),
            Engine::Gap(gap) => gap.next_timeout(),
            Engine::Redundancy(_) => None,
        };
        if self.holds() {
            agenda.set(self.slot, next.map_or(NEVER, Instant::as_ps));
        }
    }

    /// Returns the frames that it holds.
    pub(crate) fn held(&self) -> Vec<u32> {
        match &self.engine {
            Engine::Arp(state) => state.waiting().collect(),
            Engine::Gap(gap) => gap.held().copied().collect(),
            Engine::Redundancy(_) => Vec::new(),
        }
    }

    /// Enters its counters in the record of its node.
    pub(crate) fn count_in(&self, record: &mut NodeRecord) {
        match &self.engine {
            Engine::Arp(state) => record.arp = Some(state.record()),
            Engine::Gap(gap) => record.in_stack += gap.held().count() as u64,
            Engine::Redundancy(state) => record.copied = state.copied,
        }
    }

    /// Checks that what it was offered has passed, was released or dropped, or is held.
    pub(crate) fn invariants(&self) -> Result<(), &'static str> {
        if let Engine::Arp(state) = &self.engine {
            state.invariants();
        }
        let Counts { offered, passed, released, dropped } = self.counts;
        if offered == passed + released + dropped + self.held().len() as u64 {
            Ok(())
        } else {
            Err("frames of a mechanism")
        }
    }
}
