//! Address resolution of an end station: the table of [`rtether_proto::arp`] with a timer.

use core::net::Ipv4Addr;

use rtether_model::arp::Arp;
use rtether_model::mac::MacAddress;
use rtether_model::network::NodeId;
use rtether_model::quantity::{Bytes, Instant};
use rtether_model::record::ArpRecord;
use rtether_proto::arp::{Address, Message, Offered, Resolver, Transmit};

use crate::agenda::{Agenda, NEVER};
use crate::packet::NONE;
use crate::trace::frame;

/// One station: its addresses and, if it resolves those of others, the table.
pub(crate) struct ArpState {
    own: Address,
    resolver: Option<Resolver<u32>>,
    slot: u32,
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
            slot: NONE,
            replies: 0,
            handled: 0,
        }
    }

    /// Returns its addresses.
    pub(crate) const fn address(&self) -> Address {
        self.own
    }

    /// Returns whether it resolves addresses, and so needs a timer.
    pub(crate) const fn resolves(&self) -> bool {
        self.resolver.is_some()
    }

    /// Gives it the timer.
    pub(crate) const fn set_slot(&mut self, slot: u32) {
        self.slot = slot;
    }

    /// Offers a packet for a neighbor; returns whether it is held.
    pub(crate) fn holds(&mut self, now: Instant, id: u32, size: Bytes, to: Ipv4Addr) -> bool {
        let offered = self.resolver.as_mut();
        let offered = offered.map(|resolver| resolver.offer(now, id, size, to));
        offered == Some(Offered::Held)
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

    /// Returns the next packet that is dropped.
    pub(crate) fn poll_dropped(&mut self) -> Option<u32> {
        self.resolver.as_mut()?.poll_dropped()
    }

    /// Returns the next frame to send.
    pub(crate) fn poll_transmit(&mut self) -> Option<Transmit<u32>> {
        self.resolver.as_mut()?.poll_transmit()
    }

    /// Sets the timer.
    pub(crate) fn set_timer(&self, agenda: &mut Agenda) {
        if let Some(resolver) = &self.resolver {
            let next = resolver.next_timeout();
            let next = next.map_or(NEVER, |at| (at - Instant::ZERO).as_ps());
            agenda.set(self.slot, next);
        }
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
