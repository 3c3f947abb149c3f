//! Mechanisms on a frame's way: what may hold, drop, mark or copy it between two queues.
//!
//! A station and a port of a switch are ordered lists of mechanisms. Each is an engine of one
//! contract, in a file of the name that model, simulator, proof and page use as well:
//!
//! - a host offers each frame that comes by, and does what [`Offer`] says;
//! - a mechanism that holds frames is polled when its timer is due, and says which [`Work`] there
//!   is;
//! - what was offered has passed, was dropped, or is held: the host checks it.
//!
//! An engine names frames by a number or handle of its host and never reads them; its host passes
//! what the mechanism needs to know.

pub mod arp;
mod filter;
pub mod gap;
pub mod ingress;
mod police;

use alloc::vec::Vec;

use rtether_model::ingress::{Cause, IngressRule};
use rtether_model::network::Pcp;
use rtether_model::quantity::Instant;

use filter::Filter;
use ingress::Arrival;
use police::Policer;

/// What becomes of a frame that a mechanism is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// It goes on as it is.
    Pass,
    /// It goes on with these values.
    Mark(Marks),
    /// The mechanism holds it until [`Work::Release`] or [`Work::Drop`].
    Hold,
    /// It is dropped.
    Drop,
    /// It goes on once for each network of its station.
    Copy,
}

/// New values in a frame; what is none stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Priority.
    pub pcp: Option<Pcp>,
    /// Code point of differentiated services, which only a packet of IP has.
    pub dscp: Option<u8>,
}

/// What a mechanism has its host do with a frame that it held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work<F> {
    /// It goes on.
    Release(F),
    /// It is dropped.
    Drop(F),
    /// A message of the mechanism is sent because of it; it stays held.
    Ask(F),
}

/// A mechanism of a rule of a switch port. A rule has those that it names, in the order of IEEE
/// 802.1Q-2022, 8.6.5: filter, gate, meter.
#[derive(Clone, Debug)]
enum RuleStep {
    Filter(Filter),
    Police(Policer),
}

impl RuleStep {
    /// Returns those of a rule, in order.
    fn all_of(rule: &IngressRule) -> Vec<Self> {
        let filter = rule.filter.map(|filter| Self::Filter(Filter::new(filter)));
        let police = rule.police.map(|police| Self::Police(Policer::new(police)));
        filter.into_iter().chain(police).collect()
    }

    /// Takes a frame that its rule matches; returns what becomes of one that it does not let pass.
    fn offer(&mut self, now: Instant, frame: &Arrival) -> Option<(Cause, Offer)> {
        match self {
            Self::Filter(own) => own.offer(frame),
            Self::Police(own) => own.offer(now, frame.size),
        }
    }
}
