//! Address resolution of an end station: the table of [`rtether_proto::mechanism::arp`] with a timer.

use core::net::Ipv4Addr;

use rtether_model::arp::Arp;
use rtether_model::mac::MacAddress;
use rtether_model::network::NodeId;
use rtether_model::quantity::Instant;
use rtether_model::record::ArpRecord;
use rtether_proto::mechanism::arp::{Address, Message, Resolver, Transmit};
use rtether_proto::mechanism::{Offer, Work};

use super::Frame;
use crate::trace::frame;

/// One station: its addresses and, if it resolves those of others, the table.
pub(crate) struct ArpState {
    own: Address,
    resolver: Option<Resolver<u32>>,
    replies: u64,
    handled: u64,
}

/// Returns the addresses of a station, as captures show them.
pub(crate) fn address_of(node: NodeId) -> Address {
    Address {
        hardware: MacAddress(frame::mac(2, node.0)),
        protocol: Ipv4Addr::from(frame::ipv4(10, node.0)),
    }
}

impl ArpState {
    /// Creates the state of a station in a plant of `stations`; all of them fit into the table.
    pub(crate) fn new(node: NodeId, config: Option<Arp>, stations: usize) -> Self {
        let own = address_of(node);
        Self {
            own,
            resolver: config.map(|config| Resolver::new(config, own, stations)),
            replies: 0,
            handled: 0,
        }
    }

    /// Returns whether it resolves addresses, and so needs a timer.
    pub(crate) const fn resolves(&self) -> bool {
        self.resolver.is_some()
    }

    /// Takes a packet on its way down.
    pub(crate) fn offer(&mut self, now: Instant, frame: &Frame) -> Offer {
        match (&mut self.resolver, frame.neighbor) {
            (Some(resolver), Some(to)) => {
                resolver.offer(now, frame.id, frame.size, address_of(to).protocol)
            }
            _ => Offer::Pass,
        }
    }

    /// Takes a message that has left the stack; returns whether the station answers it.
    pub(crate) fn handle(&mut self, now: Instant, message: &Message) -> bool {
        self.handled += 1;
        if let Some(resolver) = &mut self.resolver {
            resolver.handle(now, message);
        }
        let answers = message.answer(self.own).is_some();
        self.replies += u64::from(answers);
        answers
    }

    /// Handles the timer.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if let Some(resolver) = &mut self.resolver {
            resolver.handle_timeout(now);
        }
    }

    /// Returns what is to be done now with a packet that it holds.
    pub(crate) fn poll(&mut self) -> Option<Work<u32>> {
        let resolver = self.resolver.as_mut()?;
        match resolver.poll_transmit() {
            Some(Transmit::Request(_, id)) => Some(Work::Ask(id)),
            Some(Transmit::Packet(id, _)) => Some(Work::Release(id)),
            None => resolver.poll_dropped().map(Work::Drop),
        }
    }

    /// Returns when [`Self::handle_timeout`] has something to do.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.resolver.as_ref()?.next_timeout()
    }

    /// Returns the packets held.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = u32> {
        self.resolver.iter().flat_map(Resolver::waiting)
    }

    /// Returns its counters.
    pub(crate) fn record(&self) -> ArpRecord {
        let counters = self.resolver.as_ref().map(Resolver::counters);
        let counters = counters.unwrap_or_default();
        ArpRecord {
            requests: counters.requests,
            replies: self.replies,
            handled: self.handled,
            held: counters.held,
            dropped: counters.dropped,
            waiting: self.waiting().count() as u64,
            failures: counters.failures,
        }
    }

    /// Checks the books of the table.
    ///
    /// # Panics
    /// If they do not balance.
    pub(crate) fn invariants(&self) {
        if let Some(resolver) = &self.resolver {
            resolver.invariants();
        }
    }
}
