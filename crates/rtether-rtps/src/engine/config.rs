//! Parameters and events of a participant.

use alloc::string::String;
use alloc::vec::Vec;

use super::versions::Versions;
use crate::discovery::ParticipantData;
use crate::guid::{EntityId, Guid, GuidPrefix};
use crate::locator::{Locator, Origin};
use crate::matching::Mismatch;
use crate::reader::ReaderTiming;
use crate::time::Duration;
#[cfg(doc)]
use crate::wire::v1::Source;
use crate::wire::v1::{self, Role};
use crate::wire::{VENDOR, VERSION};
use crate::writer::WriterTiming;

/// Built-in endpoints of this participant (table 9.13): announcer and detector of participants,
/// publications, subscriptions, and participant messages.
const ENDPOINTS: u32 = 0x0000_0C3F;
/// Those of the type lookup service (table 62 of DDS-XTypes 1.3).
const SERVICE: u32 = 0b1111 << 12;

/// Transport of the host. Locators of another kind are never chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// UDP over IP.
    #[default]
    Udp,
    /// Frames on one device: stations are on its link.
    Ethernet,
}

/// How a participant discovers the endpoints of others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Discovery {
    /// All of them.
    #[default]
    All,
    /// On demand: announcements name the own topics, and endpoints are exchanged only with
    /// participants that share one, or that name none, as those of other implementations and those
    /// that discover all. [`Participant::endpoints`] has only those then. All match that would match
    /// otherwise. In RTPS 1.0 as `All`.
    ///
    /// [`Participant::endpoints`]: super::Participant::endpoints
    OnDemand,
}

/// Version of the protocol that a participant speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// 2.5, with all peers of version 2.
    #[default]
    Rtps2,
    /// 1.0, as ORTE. Topics have no keys, samples no fragments, and each publication a strength and
    /// a persistence; of the other policies only reliability, minimum separation and, within this
    /// participant, deadlines have a meaning. The prefix is that of a [`Source`].
    Rtps1(Role),
}

impl Protocol {
    /// Returns the role in RTPS 1.0.
    pub const fn role(self) -> Option<Role> {
        match self {
            Self::Rtps2 => None,
            Self::Rtps1(role) => Some(role),
        }
    }
}

/// The parameters of a participant.
#[derive(Clone, Debug)]
pub struct Config {
    /// GUID prefix, unique in the domain.
    pub prefix: GuidPrefix,
    /// Random number that nobody else knows: what proves that a participant receives at its address
    /// is derived from it.
    pub secret: [u8; 16],
    /// The domain.
    pub domain: u16,
    /// Version of the protocol.
    pub protocol: Protocol,
    /// Human-readable name.
    pub name: String,
    /// Unicast locators for discovery.
    pub metatraffic_unicast: Vec<Locator>,
    /// Multicast locators for discovery.
    pub metatraffic_multicast: Vec<Locator>,
    /// Unicast locators for data.
    pub default_unicast: Vec<Locator>,
    /// Multicast locators for data.
    pub default_multicast: Vec<Locator>,
    /// Destinations of announcements: the group of the domain, and peers known by address.
    pub announce_to: Vec<Locator>,
    /// Lease announced to others: how long they wait for the next announcement.
    pub lease: Duration,
    /// Announcement period; less than a third of the lease.
    pub announce_period: Duration,
    /// Maximum size of a datagram, in octets; larger samples are sent in fragments.
    pub datagram_max: usize,
    /// Maximum size of a sample with its encapsulation header, in octets.
    pub sample_max: usize,
    /// Maximum octets of incomplete samples, of all readers together. One sixteenth is reserved for
    /// discovery; if the rest is less than the longest sample, the longest samples never arrive.
    pub fragments_max: usize,
    /// Maximum number of other participants.
    pub participants_max: usize,
    /// Longest lease granted to a participant that has not answered, that is, has never proved that
    /// it receives at its address.
    pub lease_unanswered_max: Duration,
    /// Longest lease granted to one that has answered.
    pub lease_max: Duration,
    /// Maximum number of writers and of readers of each of them, and of own endpoints.
    pub endpoints_max: u32,
    /// Maximum number of endpoints of all other participants together.
    pub remote_endpoints_max: usize,
    /// Whether samples may be sent to multicast groups.
    pub may_multicast: bool,
    /// Transport of the host.
    pub transport: Transport,
    /// UDP networks to which requested data may be sent: address and prefix length in bits.
    /// Participants with locators elsewhere are not answered there. Empty: everywhere.
    pub networks: Vec<(core::net::Ipv4Addr, u8)>,
    /// Addresses of this host in addition to those of the participant: participants of this host
    /// may send from any of them, and from loopback.
    pub own_addresses: Vec<core::net::IpAddr>,
    /// Whether a participant may send from any address; otherwise only from addresses that it has
    /// announced.
    pub any_source: bool,
    /// How endpoints are discovered.
    pub discovery: Discovery,
    /// Whether it asks others for descriptions of types, and answers them: four endpoints more for
    /// each participant that has them.
    pub type_lookup: bool,
    /// Timing of writers.
    pub writer: WriterTiming,
    /// Timing of readers.
    pub reader: ReaderTiming,
}

impl Config {
    /// Returns default parameters; the host has to draw `secret` at random, and to add the locators.
    pub fn new(prefix: GuidPrefix, domain: u16, secret: [u8; 16]) -> Self {
        Self {
            prefix,
            secret,
            domain,
            protocol: Protocol::default(),
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
            discovery: Discovery::default(),
            type_lookup: false,
            writer: WriterTiming::default(),
            reader: ReaderTiming::default(),
        }
    }

    pub(super) fn participant_data(&self) -> ParticipantData {
        let (version, vendor) = match self.protocol {
            Protocol::Rtps2 => (VERSION, VENDOR),
            Protocol::Rtps1(_) => (v1::VERSION, v1::VENDOR),
        };
        ParticipantData {
            prefix: self.prefix,
            version,
            vendor,
            lease: self.lease,
            domain: Some(u32::from(self.domain)),
            domain_tag: String::new(),
            metatraffic_unicast: self.metatraffic_unicast.clone(),
            metatraffic_multicast: self.metatraffic_multicast.clone(),
            default_unicast: self.default_unicast.clone(),
            default_multicast: self.default_multicast.clone(),
            endpoints: ENDPOINTS | if self.type_lookup { SERVICE } else { 0 },
            expects_inline_qos: false,
            name: self.name.clone(),
            user_data: Vec::new(),
            interests: None,
        }
    }

    /// Returns whether data may be sent to a locator that a peer announced. Groups are accepted
    /// only in multicast locators: otherwise one datagram could make an entire network send to all
    /// of it.
    pub(super) fn may_send_to(&self, to: &Locator, is_group: bool) -> bool {
        if to.is_multicast() != is_group {
            return false;
        }
        match (self.transport, to) {
            (Transport::Udp, Locator::Udp(address)) => self.may_send_by_udp(*address, is_group),
            // Ethernet groups are also used by spanning tree, clock synchronization and others, so
            // only groups of this participant are allowed.
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

/// Topic and type of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopicName<'a> {
    /// Name of the topic.
    pub topic: &'a str,
    /// Name of its type.
    pub type_name: &'a str,
}

/// Identifies a writer of this participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WriterId(pub(crate) usize);

/// Identifies a reader of this participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReaderId(pub(crate) usize);

/// Why a participant is forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parting {
    /// It has said good-bye.
    Left,
    /// Its lease has expired.
    Silent,
    /// Its host has answered that nobody listens at its address (port unreachable), and it has proved
    /// none.
    Closed,
    /// The table was full, and it made room for one that has proved its address after it had been silent
    /// for this long.
    MadeRoom(Duration),
    /// It had not answered, and made room for a newcomer.
    Unanswered,
    /// It has answered, and the table is full of others that have.
    NoRoom,
    /// The host of this participant ignores it.
    Ignored,
}

/// Notification to the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Another participant has announced itself.
    ParticipantFound {
        /// Its GUID prefix.
        prefix: GuidPrefix,
        /// Its human-readable name.
        name: String,
    },
    /// A participant is forgotten.
    ParticipantLost {
        /// Its GUID prefix.
        prefix: GuidPrefix,
        /// Why.
        why: Parting,
    },
    /// A remote reader is matched with this writer.
    ReaderMatched {
        /// The writer.
        writer: WriterId,
        /// The reader.
        reader: Guid,
    },
    /// A remote reader is no longer matched.
    ReaderUnmatched {
        /// The writer.
        writer: WriterId,
        /// The reader.
        reader: Guid,
    },
    /// A remote writer is matched with this reader.
    WriterMatched {
        /// The reader.
        reader: ReaderId,
        /// The writer.
        writer: Guid,
    },
    /// A remote writer is no longer matched.
    WriterUnmatched {
        /// The reader.
        reader: ReaderId,
        /// The writer.
        writer: Guid,
    },
    /// A reader requests more than this writer offers.
    OfferedIncompatible {
        /// The writer.
        writer: WriterId,
        /// The reader.
        reader: Guid,
        /// Incompatible policies.
        policies: Vec<Mismatch>,
    },
    /// A writer offers less than this reader requests.
    RequestedIncompatible {
        /// The reader.
        reader: ReaderId,
        /// The writer.
        writer: Guid,
        /// Incompatible policies.
        policies: Vec<Mismatch>,
    },
    /// The liveliness lease of a writer has expired.
    WriterSilent {
        /// The reader.
        reader: ReaderId,
        /// The writer.
        writer: Guid,
    },
    /// Instances have had no sample within the deadline. Reported again after each further
    /// deadline.
    DeadlineMissed {
        /// The reader.
        reader: ReaderId,
        /// Count of instances.
        overdue: u32,
    },
    /// There was no room for a participant. Reported at most once in ten seconds.
    Refused {
        /// Address from which it announced itself.
        origin: Origin,
        /// Participants and endpoints refused so far, including this one.
        refused: u64,
    },
    /// A datagram of a writer or reader was withheld because its destination has not answered.
    /// Reported at most once in ten seconds.
    Withheld {
        /// Its destination.
        to: Locator,
    },
    /// This writer has not written instances within the deadline that it offers.
    OfferedDeadlineMissed {
        /// The writer.
        writer: WriterId,
        /// Count of instances.
        overdue: u32,
    },
}

/// Counters of a participant, apart from those of its endpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Datagrams received.
    pub datagrams: u64,
    /// Malformed datagrams or submessages.
    pub malformed: u64,
    /// Datagrams of protocol versions that this participant does not speak.
    pub versions: Versions,
    /// Submessages of endpoints that are not matched.
    pub strangers: u64,
    /// Participants and endpoints refused for lack of room.
    pub refused: u64,
    /// Unanswered or silent participants that made room for others.
    pub evicted: u64,
    /// Announcements of new participants that were not answered: too many earlier ones await the
    /// host's decision, or their locators are not allowed.
    pub unanswered: u64,
    /// Datagrams withheld because their destination has not proved its address.
    pub withheld: u64,
    /// Locators that hosts called closed before anybody had proved to be there.
    pub closed: u64,
    /// Participants and endpoints that claim the GUID of another or speak for another.
    pub forged: u64,
    /// Submessages and announcements from addresses that the participant named has not announced.
    pub impostors: u64,
    /// Fragments refused because the shared room was used up, and samples given up for others.
    pub crowded: u64,
    /// Events dropped because the host did not take them in time.
    pub events_dropped: u64,
}

impl Config {
    /// Returns the GUID of an endpoint of this participant.
    pub(super) fn guid(&self, entity: EntityId) -> Guid {
        Guid::new(self.prefix, entity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATION: [u8; 6] = [2, 0, 0, 0, 0, 1];

    fn frames(address: [u8; 6]) -> Locator {
        Locator::Ethernet { address, vid: 0, port: 7_400 }
    }

    #[test]
    fn places_are_of_the_kind_that_the_host_sends_by() {
        let udp = Locator::udp(core::net::Ipv4Addr::new(10, 0, 0, 1), 7_410);
        let mut config = Config::new(GuidPrefix([1; 12]), 0, [7; 16]);
        assert!(config.may_send_to(&udp, false));
        assert!(!config.may_send_to(&frames(STATION), false));
        config.transport = Transport::Ethernet;
        assert!(!config.may_send_to(&udp, false));
        assert!(config.may_send_to(&frames(STATION), false));
    }

    #[test]
    fn nobody_makes_a_participant_send_to_a_group_that_it_is_not_in() {
        let mut config = Config::new(GuidPrefix([1; 12]), 0, [7; 16]);
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
