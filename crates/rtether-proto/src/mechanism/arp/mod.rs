//! Address resolution for IPv4 over Ethernet (RFC 826): the table of a station and the packets that
//! wait for an address.
//!
//! A packet to a neighbor that is not known is held, and a request broadcast; [`Resolver::handle`]
//! takes the reply, and the packets held go in their order. A request that is not answered within
//! [`Arp::retry`] is repeated, [`Arp::attempts`] times in all; after one more such time the packets
//! held are dropped, and the next packet begins anew. Of packets that are more than [`Arp::hold`]
//! the oldest go: RFC 1122, 2.3.2.2 wants the latest to be kept, and Linux drops in this order too.
//!
//! An address is known for [`Arp::lifetime`] after the last request or reply of its station: one
//! addressed to this station, and any other one if the address is in the table (the merge of RFC
//! 826). Packets of other protocols do not count. A request after the lifetime is a broadcast, like
//! the first.

mod message;

use alloc::collections::{BTreeMap, VecDeque};
use core::net::Ipv4Addr;

use rtether_model::arp::Arp;
use rtether_model::mac::MacAddress;
use rtether_model::quantity::{Bytes, Instant};

use super::Offer;

pub use message::{Address, MESSAGE_SIZE, Message, Operation};

/// Something to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transmit<F> {
    /// A request, broadcast, for a neighbor; the packet for which it is sent may tell the VLAN.
    Request(Message, F),
    /// A packet that was held.
    Packet(F, MacAddress),
}

/// Counters of a resolver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Requests sent, repeated ones included.
    pub requests: u64,
    /// Packets held.
    pub held: u64,
    /// Packets held and then dropped.
    pub dropped: u64,
    /// Neighbors given up after the last attempt.
    pub failures: u64,
}

/// One neighbor.
#[derive(Debug)]
enum Neighbor<F> {
    Known {
        hardware: MacAddress,
        since: Instant,
    },
    Asked {
        /// Requests sent.
        attempts: u32,
        /// When the last one has not been answered.
        due: Instant,
        packets: VecDeque<(F, Bytes)>,
        octets: Bytes,
    },
}

/// The table of neighbors of a station; `F` names a packet.
#[derive(Debug)]
pub struct Resolver<F> {
    config: Arp,
    own: Address,
    /// Most neighbors in the table.
    room: usize,
    neighbors: BTreeMap<Ipv4Addr, Neighbor<F>>,
    transmits: VecDeque<Transmit<F>>,
    dropped: VecDeque<F>,
    /// The earliest [`Neighbor::Asked::due`].
    next: Option<Instant>,
    waiting: usize,
    counters: Counters,
}

impl<F: Copy> Resolver<F> {
    /// Creates an empty table with room for this many neighbors, at least one. In a full one the
    /// neighbor that was confirmed first is forgotten; if all have been asked, a packet is dropped.
    pub fn new(config: Arp, own: Address, room: usize) -> Self {
        Self {
            config,
            own,
            room: room.max(1),
            neighbors: BTreeMap::new(),
            transmits: VecDeque::new(),
            dropped: VecDeque::new(),
            next: None,
            waiting: 0,
            counters: Counters::default(),
        }
    }

    /// Offers a packet whose frame has `size` octets for the neighbor `to`. One that passes may go
    /// to the address that is [known](Self::known).
    pub fn offer(&mut self, now: Instant, packet: F, size: Bytes, to: Ipv4Addr) -> Offer {
        if self.known(now, to).is_some() {
            return Offer::Pass;
        }
        match self.neighbors.get_mut(&to) {
            Some(Neighbor::Asked { packets, octets, .. }) => {
                self.counters.held += 1;
                self.waiting += 1;
                while *octets + size > self.config.hold
                    && let Some((oldest, left)) = packets.pop_front()
                {
                    *octets -= left;
                    self.waiting -= 1;
                    self.counters.dropped += 1;
                    self.dropped.push_back(oldest);
                }
                *octets += size;
                packets.push_back((packet, size));
                return Offer::Hold;
            }
            Some(Neighbor::Known { .. }) | None => {}
        }
        self.counters.held += 1;
        if !self.make_room(to) {
            self.counters.dropped += 1;
            self.dropped.push_back(packet);
            return Offer::Hold;
        }
        let asked = Neighbor::Asked {
            attempts: 1,
            due: now + self.config.retry,
            packets: VecDeque::from([(packet, size)]),
            octets: size,
        };
        self.neighbors.insert(to, asked);
        self.waiting += 1;
        self.request(to, packet);
        self.set_next();
        Offer::Hold
    }

    /// Returns the address of a neighbor, if it is known.
    pub fn known(&self, now: Instant, of: Ipv4Addr) -> Option<MacAddress> {
        match self.neighbors.get(&of)? {
            Neighbor::Known { hardware, since } if now - *since < self.config.lifetime => {
                Some(*hardware)
            }
            Neighbor::Known { .. } | Neighbor::Asked { .. } => None,
        }
    }

    /// Takes a message that the station has received. A request for it has to be answered
    /// ([`Message::answer`]), whether it resolves addresses or not.
    pub fn handle(&mut self, now: Instant, message: &Message) {
        let Address { hardware, protocol } = message.sender;
        if protocol == self.own.protocol {
            return;
        }
        let is_known = self.neighbors.contains_key(&protocol);
        let is_mine = message.target.protocol == self.own.protocol;
        let is_taken = is_known || (is_mine && self.make_room(protocol));
        if !is_taken {
            return;
        }
        let since = now;
        let before = self.neighbors.insert(protocol, Neighbor::Known { hardware, since });
        if let Some(Neighbor::Asked { packets, .. }) = before {
            self.waiting -= packets.len();
            let packets = packets.into_iter();
            self.transmits.extend(packets.map(|(packet, _)| Transmit::Packet(packet, hardware)));
            self.set_next();
        }
    }

    /// Repeats the requests that are due, and gives up neighbors that have not answered the last
    /// one.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.next.is_none_or(|next| next > now) {
            return;
        }
        let mut again = VecDeque::new();
        let mut lost = VecDeque::new();
        for (&to, neighbor) in &mut self.neighbors {
            let Neighbor::Asked { attempts, due, packets, .. } = neighbor else {
                continue;
            };
            if *due > now {
                continue;
            }
            if *attempts < self.config.attempts {
                *attempts += 1;
                *due = now + self.config.retry;
                again.extend(packets.front().map(|&(packet, _)| (to, packet)));
            } else {
                lost.push_back(to);
            }
        }
        for (to, packet) in again {
            self.request(to, packet);
        }
        for to in lost {
            let Some(Neighbor::Asked { packets, .. }) = self.neighbors.remove(&to) else {
                continue;
            };
            self.counters.failures += 1;
            self.counters.dropped += u64::try_from(packets.len()).unwrap_or(u64::MAX);
            self.waiting -= packets.len();
            self.dropped.extend(packets.into_iter().map(|(packet, _)| packet));
        }
        self.set_next();
    }

    /// Returns the next frame to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit<F>> {
        self.transmits.pop_front()
    }

    /// Returns the next packet that is dropped.
    pub fn poll_dropped(&mut self) -> Option<F> {
        self.dropped.pop_front()
    }

    /// Returns when [`Self::handle_timeout`] has something to do.
    pub const fn next_timeout(&self) -> Option<Instant> {
        self.next
    }

    /// Returns the counters.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// Returns the packets held, by neighbor, the oldest first.
    pub fn waiting(&self) -> impl Iterator<Item = F> {
        self.neighbors.values().flat_map(|neighbor| {
            let packets = match neighbor {
                Neighbor::Asked { packets, .. } => Some(packets),
                Neighbor::Known { .. } => None,
            };
            packets.into_iter().flatten().map(|&(packet, _)| packet)
        })
    }

    /// Checks its own books: the packets that wait, their octets, and the timer.
    ///
    /// # Panics
    /// If they do not add up.
    pub fn invariants(&self) {
        let mut waiting = 0;
        let mut next: Option<Instant> = None;
        for neighbor in self.neighbors.values() {
            let Neighbor::Asked { due, packets, octets, .. } = neighbor else {
                continue;
            };
            waiting += packets.len();
            next = Some(next.map_or(*due, |next| next.min(*due)));
            let sum = packets.iter().map(|&(_, size)| size.get()).sum();
            assert_eq!(Bytes::new(sum), *octets, "octets held");
            assert!(packets.len() == 1 || *octets <= self.config.hold, "more held than allowed");
        }
        assert_eq!(waiting, self.waiting, "packets held");
        assert_eq!(next, self.next, "the timer");
        assert!(self.neighbors.len() <= self.room, "more neighbors than room");
    }

    fn request(&mut self, to: Ipv4Addr, packet: F) {
        self.counters.requests += 1;
        let message = Message::request(self.own, to);
        self.transmits.push_back(Transmit::Request(message, packet));
    }

    /// Makes room for a neighbor, unless it is there; `false` if all others have been asked.
    fn make_room(&mut self, for_one: Ipv4Addr) -> bool {
        if self.neighbors.len() < self.room || self.neighbors.contains_key(&for_one) {
            return true;
        }
        let known = self.neighbors.iter();
        let known = known.filter_map(|(&to, neighbor)| match neighbor {
            Neighbor::Known { since, .. } => Some((*since, to)),
            Neighbor::Asked { .. } => None,
        });
        let Some((_, oldest)) = known.min() else {
            return false;
        };
        self.neighbors.remove(&oldest);
        true
    }

    fn set_next(&mut self) {
        let dues = self.neighbors.values();
        let dues = dues.filter_map(|neighbor| match neighbor {
            Neighbor::Asked { due, .. } => Some(*due),
            Neighbor::Known { .. } => None,
        });
        self.next = dues.min();
    }
}

#[cfg(test)]
mod tests;
