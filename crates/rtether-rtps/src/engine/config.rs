//! What a participant is told, and what it tells.

use alloc::string::String;
use alloc::vec::Vec;

use crate::discovery::ParticipantData;
use crate::guid::{EntityId, Guid, GuidPrefix};
use crate::locator::{Locator, Origin};
use crate::matching::Mismatch;
use crate::reader::ReaderTiming;
use crate::time::Duration;
use crate::wire::{VENDOR, VERSION};
use crate::writer::WriterTiming;

/// Built-in endpoints that this participant has (table 9.13): announcer and detector of participants,
/// publications, subscriptions, and the participant messages.
const ENDPOINTS: u32 = 0x0000_0C3F;

/// What a host sends datagrams by. Places of another kind are never chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// UDP over IP.
    #[default]
    Udp,
    /// Frames on one device: stations are on its link by nature.
    Ethernet,
}

/// The parameters of a participant.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its name, unlike that of any other in the domain.
    pub prefix: GuidPrefix,
    /// The domain.
    pub domain: u16,
    /// A name for people.
    pub name: String,
    /// Where others are to send discovery.
    pub metatraffic_unicast: Vec<Locator>,
    /// Groups for discovery.
    pub metatraffic_multicast: Vec<Locator>,
    /// Where others are to send data.
    pub default_unicast: Vec<Locator>,
    /// Groups for data.
    pub default_multicast: Vec<Locator>,
    /// Where to announce itself: the group of the domain, and peers that are known by address.
    pub announce_to: Vec<Locator>,
    /// How long the others wait for its next announcement.
    pub lease: Duration,
    /// Between announcements; less than a third of the lease.
    pub announce_period: Duration,
    /// Octets of a datagram at most; samples that need more are sent in fragments.
    pub datagram_max: usize,
    /// Octets of a sample at most, with its encapsulation header.
    pub sample_max: usize,
    /// Octets of samples of which fragments are missing, of all readers together. One sixteenth is for
    /// discovery alone; with less than the longest sample and that, the longest samples never come.
    pub fragments_max: usize,
    /// Other participants that are kept account of.
    pub participants_max: usize,
    /// The longest lease that is granted to a participant that has not answered: that has never named this
    /// one as the destination of a datagram.
    pub lease_unanswered_max: Duration,
    /// The longest lease that is granted to one that has.
    pub lease_max: Duration,
    /// Writers of each of them, readers of each of them, and own endpoints.
    pub endpoints_max: u32,
    /// Endpoints of all of them together.
    pub remote_endpoints_max: usize,
    /// Whether samples may go to groups.
    pub may_multicast: bool,
    /// What the host sends by.
    pub transport: Transport,
    /// Networks of UDP to which is sent what others ask for: address and length of the prefix in bits. A
    /// participant that names places elsewhere is not answered there. None: everywhere.
    pub networks: Vec<(core::net::Ipv4Addr, u8)>,
    /// Addresses of this host beside those of the participant: from any of them, and from loopback, may
    /// come what others of this host say.
    pub own_addresses: Vec<core::net::IpAddr>,
    /// Whether anybody may speak for a participant, from any address; otherwise only the addresses that it
    /// has announced.
    pub any_source: bool,
    /// Times of writers.
    pub writer: WriterTiming,
    /// Times of readers.
    pub reader: ReaderTiming,
}

impl Config {
    /// Returns the usual parameters; the host has to add where the participant is.
    pub fn new(prefix: GuidPrefix, domain: u16) -> Self {
        Self {
            prefix,
            domain,
            name: String::new(),
            metatraffic_unicast: Vec::new(),
            metatraffic_multicast: Vec::new(),
            default_unicast: Vec::new(),
            default_multicast: Vec::new(),
            announce_to: Vec::new(),
            lease: Duration::from_s(10),
            announce_period: Duration::from_s(3),
            datagram_max: 1_472,
            sample_max: 16 << 20,
            fragments_max: 64 << 20,
            participants_max: 256,
            lease_unanswered_max: Duration::from_s(30),
            lease_max: Duration::from_s(300),
            endpoints_max: 512,
            remote_endpoints_max: 16_384,
            may_multicast: true,
            transport: Transport::default(),
            networks: Vec::new(),
            own_addresses: Vec::new(),
            any_source: false,
            writer: WriterTiming::default(),
            reader: ReaderTiming::default(),
        }
    }

    pub(super) fn participant_data(&self) -> ParticipantData {
        ParticipantData {
            prefix: self.prefix,
            version: VERSION,
            vendor: VENDOR,
            lease: self.lease,
            domain: Some(u32::from(self.domain)),
            domain_tag: String::new(),
            metatraffic_unicast: self.metatraffic_unicast.clone(),
            metatraffic_multicast: self.metatraffic_multicast.clone(),
            default_unicast: self.default_unicast.clone(),
            default_multicast: self.default_multicast.clone(),
            endpoints: ENDPOINTS,
            expects_inline_qos: false,
            name: self.name.clone(),
            user_data: Vec::new(),
        }
    }

    /// Returns whether something may be sent there on somebody else's word: to a group only where they
    /// name groups, for otherwise one datagram would make all of a network send to all of it.
    pub(super) fn may_send_to(&self, to: &Locator, is_group: bool) -> bool {
        if to.is_multicast() != is_group {
            return false;
        }
        match (self.transport, to) {
            (Transport::Udp, Locator::Udp(address)) => self.may_send_by_udp(*address, is_group),
            // Groups of Ethernet belong to spanning trees, clocks and others, too; those this
            // participant is in itself are its own business.
            (Transport::Ethernet, Locator::Ethernet { address, .. }) => {
                !is_group || self.is_own_group(*address)
            }
            _ => false,
        }
    }

    fn is_own_group(&self, group: [u8; 6]) -> bool {
        let own = self.metatraffic_multicast.iter();
        let mut own = own.chain(&self.default_multicast);
        own.any(|own| matches!(own, Locator::Ethernet { address, .. } if *address == group))
    }

    fn may_send_by_udp(&self, to: core::net::SocketAddr, is_group: bool) -> bool {
        let core::net::IpAddr::V4(address) = to.ip() else {
            return self.networks.is_empty() && !to.ip().is_unspecified();
        };
        if is_group {
            return true;
        }
        let is_in = |(network, bits): &(core::net::Ipv4Addr, u8)| {
            let bits = u32::from(*bits).min(32);
            let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
            let is_broadcast = bits < 31 && address.to_bits() | mask == u32::MAX;
            address.to_bits() & mask == network.to_bits() & mask && !is_broadcast
        };
        let is_somebody = !address.is_unspecified() && !address.is_broadcast();
        is_somebody && (self.networks.is_empty() || self.networks.iter().any(is_in))
    }
}

/// The topic of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopicName<'a> {
    /// Its name.
    pub topic: &'a str,
    /// The name of its type.
    pub type_name: &'a str,
}

/// Names a writer of this participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WriterId(pub(crate) usize);

/// Names a reader of this participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReaderId(pub(crate) usize);

/// What has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Another participant has announced itself.
    ParticipantFound {
        /// Its name.
        prefix: GuidPrefix,
        /// Its name for people.
        name: String,
    },
    /// It has gone, or has been silent for longer than its lease.
    ParticipantLost {
        /// Its name.
        prefix: GuidPrefix,
        /// Whether it has said good-bye.
        has_left: bool,
    },
    /// A reader of somebody gets what this writer writes.
    ReaderMatched {
        /// The writer.
        writer: WriterId,
        /// The reader.
        reader: Guid,
    },
    /// It no longer does.
    ReaderUnmatched {
        /// The writer.
        writer: WriterId,
        /// The reader.
        reader: Guid,
    },
    /// This reader gets what somebody writes.
    WriterMatched {
        /// The reader.
        reader: ReaderId,
        /// The writer.
        writer: Guid,
    },
    /// It no longer does.
    WriterUnmatched {
        /// The reader.
        reader: ReaderId,
        /// The writer.
        writer: Guid,
    },
    /// A reader asks for more than this writer offers.
    OfferedIncompatible {
        /// The writer.
        writer: WriterId,
        /// The reader.
        reader: Guid,
        /// In what.
        policies: Vec<Mismatch>,
    },
    /// A writer offers less than this reader asks for.
    RequestedIncompatible {
        /// The reader.
        reader: ReaderId,
        /// The writer.
        writer: Guid,
        /// In what.
        policies: Vec<Mismatch>,
    },
    /// A writer has not said for longer than its lease that it is alive.
    WriterSilent {
        /// The reader.
        reader: ReaderId,
        /// The writer.
        writer: Guid,
    },
    /// Instances have had no sample within the deadline. Told again after each further deadline.
    DeadlineMissed {
        /// The reader.
        reader: ReaderId,
        /// How many.
        overdue: u32,
    },
    /// There was no room for a participant. Told at most once in ten seconds.
    Refused {
        /// The address that it announced itself from.
        origin: Origin,
        /// Participants and endpoints that were refused, with this one.
        refused: u64,
    },
    /// A datagram of a writer or reader was not sent, since nobody has answered from the address that it was
    /// for. Told at most once in ten seconds.
    Withheld {
        /// Where it was to go.
        to: Locator,
    },
    /// This writer has not written instances within the deadline that it offers.
    OfferedDeadlineMissed {
        /// The writer.
        writer: WriterId,
        /// How many instances.
        overdue: u32,
    },
}

/// What a participant has seen that its endpoints have not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Datagrams that came in.
    pub datagrams: u64,
    /// Datagrams or parts of them that make no sense.
    pub malformed: u64,
    /// Parts that name endpoints which nobody has matched.
    pub strangers: u64,
    /// Participants and endpoints for which there was no room.
    pub refused: u64,
    /// Participants that had not answered and made room for others.
    pub evicted: u64,
    /// Announcements of new participants that were not answered: the host has not decided on those before,
    /// or they name places elsewhere.
    pub unanswered: u64,
    /// Datagrams that were not sent, since nobody has answered from the address that they were for.
    pub withheld: u64,
    /// Participants and endpoints that claim another's name, or speak for another.
    pub forged: u64,
    /// Parts and announcements that came from addresses which the participant that they name has not
    /// announced.
    pub impostors: u64,
    /// Fragments for which readers had no room together, and samples that were given up for others.
    pub crowded: u64,
    /// Events that the host has not taken in time.
    pub events_dropped: u64,
}

impl Config {
    /// Returns the full name of an endpoint of this participant.
    pub(super) fn guid(&self, entity: EntityId) -> Guid {
        Guid::new(self.prefix, entity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATION: [u8; 6] = [2, 0, 0, 0, 0, 1];

    fn frames(address: [u8; 6]) -> Locator {
        Locator::Ethernet {
            address,
            vid: 0,
            port: 7_400,
        }
    }

    #[test]
    fn places_are_of_the_kind_that_the_host_sends_by() {
        let udp = Locator::udp(core::net::Ipv4Addr::new(10, 0, 0, 1), 7_410);
        let mut config = Config::new(GuidPrefix([1; 12]), 0);
        assert!(config.may_send_to(&udp, false));
        assert!(!config.may_send_to(&frames(STATION), false));
        config.transport = Transport::Ethernet;
        assert!(!config.may_send_to(&udp, false));
        assert!(config.may_send_to(&frames(STATION), false));
    }

    #[test]
    fn nobody_makes_a_participant_send_to_a_group_that_it_is_not_in() {
        let mut config = Config::new(GuidPrefix([1; 12]), 0);
        config.transport = Transport::Ethernet;
        let (group, spanning_tree) = (crate::locator::ETHERNET_GROUP, [1, 0x80, 0xC2, 0, 0, 0]);
        assert!(!config.may_send_to(&frames(group), true));
        config.metatraffic_multicast = alloc::vec![frames(group)];
        assert!(config.may_send_to(&frames(group), true));
        assert!(!config.may_send_to(&frames(group), false));
        assert!(!config.may_send_to(&frames(spanning_tree), true));
        assert!(!config.may_send_to(&frames([0xFF; 6]), true));
    }
}
