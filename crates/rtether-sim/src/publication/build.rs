//! Participants, writers and readers of flows over RTPS.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use rtether_model::flow::{Delivery, Flow, Traffic};
use rtether_model::network::{Network, NodeId};
use rtether_model::quantity::Bytes;
use rtether_model::wire::RtpsVersion;
use rtether_rtps::cdr::{Encoding, to_payload};
use rtether_rtps::discovery::v1;
use rtether_rtps::engine::{Config, Participant, Protocol};
use rtether_rtps::guid::GuidPrefix;
use rtether_rtps::locator::{DISCOVERY_GROUP, Locator, Ports};
use rtether_rtps::time::Instant;
use rtether_rtps::types::Octets;
use rtether_rtps::wire::VENDOR;
use rtether_rtps::wire::v1::{Role as RoleV1, Source};

use super::naming::{kind, named};
use super::series::Series;
use super::{AnswerOf, Habit, Listener, Party, Publications, Reader, Role, Topic};
use crate::packet::NONE;
use crate::thinking::Thinking;
use crate::topic::{self, policies};
use crate::trace::frame;

/// Largest datagram that fits a frame, in octets: 1500 less the headers of IPv4 and UDP.
const DATAGRAM_MAX: usize = 1_472;

/// Largest sample that the engine accepts, less a margin for headers, in octets.
const MAX_SAMPLE: Bytes = Bytes::new((16 << 20) - 1_024);

/// Where the stations are.
pub(crate) struct Plant<'a> {
    /// Names of the nodes.
    pub(crate) network: &'a Network,
    /// Nodes of the stations.
    pub(crate) nodes: &'a [NodeId],
    /// Of what is drawn.
    pub(crate) seed: u64,
}

impl Plant<'_> {
    /// Returns how long a station takes to answer.
    fn thinking(&self, flow: &Flow, station: u32) -> Thinking {
        let name = &self.network.node(self.nodes[station as usize]).name;
        let own = flow.reply.map(|reply| Thinking::new(&reply, name, self.seed));
        own.unwrap_or_default()
    }
}

/// Port of the application of a station in RTPS 1.0, the first that is free for any use.
const APPLICATION_PORT: u16 = 49_152;

fn largest(flow: &Flow) -> Bytes {
    flow.reply.map_or(Bytes::ZERO, |reply| reply.payload).max(flow.payload)
}

/// Returns the largest sample of a flow: in 1.0, one that fits a datagram of one frame.
fn largest_sample(flow: &Flow) -> Bytes {
    match kind(flow) {
        Some((RtpsVersion::V1_0, _)) => flow.encapsulation.max_payload(),
        _ => MAX_SAMPLE,
    }
}

/// Returns why a flow cannot be published, if it cannot.
fn obstacle(flow: &Flow) -> Option<&'static str> {
    if matches!(flow.traffic, Traffic::Bulk(_)) {
        Some("it is bulk traffic")
    } else if flow.delivery == Delivery::Multicast {
        Some("it is multicast; samples are sent to each reader")
    } else if flow.listeners.contains(&flow.talker) {
        Some("it goes to its own station, whose participant keeps samples for its own readers")
    } else if largest(flow) > largest_sample(flow) {
        Some("its samples exceed the limit of the RTPS engine")
    } else {
        None
    }
}

fn version(flow: &Flow) -> Option<RtpsVersion> {
    kind(flow).map(|(version, _)| version)
}

fn payload(size: Bytes) -> Option<Vec<u8>> {
    let octets = vec![0; usize::try_from(size.get()).ok()?];
    let mut payload = Vec::new();
    to_payload(&Octets { octets }, Encoding::Xcdr1, &mut payload).ok()?;
    Some(payload)
}

/// Returns the address of a station.
pub(super) fn address_of(node: NodeId) -> Ipv4Addr {
    Ipv4Addr::from(frame::ipv4(10, node.0))
}

/// Returns the parameters of a participant of RTPS 2.5.
fn config(plant: &Plant<'_>, node: NodeId) -> Config {
    let address = address_of(node);
    let mut prefix = [0; 12];
    prefix[..2].copy_from_slice(&VENDOR);
    prefix[8..].copy_from_slice(&node.0.to_be_bytes());
    let mut config = config_of_both(plant, node, GuidPrefix(prefix));
    if let Some(ports) = Ports::new(0)
        && let Some(port) = ports.discovery_unicast(0)
    {
        config.metatraffic_unicast = vec![Locator::udp(address, port)];
        config.default_unicast.clone_from(&config.metatraffic_unicast);
        let group = Locator::udp(DISCOVERY_GROUP, ports.discovery_multicast());
        config.announce_to = vec![group];
    }
    config
}

/// Returns the parameters of a participant of RTPS 1.0 at a port: applications announce themselves
/// to the manager of their station, managers to the group of managers.
fn config_v1(plant: &Plant<'_>, node: NodeId, role: RoleV1, (port, manager): (u16, u16)) -> Config {
    let address = address_of(node);
    // The number of an application is its port, as that of a process is unique on its host.
    let source = Source::new(address.to_bits(), port.into(), role);
    let mut config = config_of_both(plant, node, source.prefix());
    config.protocol = Protocol::Rtps1(role);
    config.metatraffic_unicast = vec![Locator::udp(address, port)];
    match role {
        RoleV1::Application => {
            config.default_unicast.clone_from(&config.metatraffic_unicast);
            config.announce_to = vec![Locator::udp(Ipv4Addr::LOCALHOST, manager)];
        }
        RoleV1::Manager => {
            let group = Locator::udp(DISCOVERY_GROUP, manager);
            config.announce_to = vec![group];
            config.metatraffic_multicast = vec![group];
        }
    }
    config
}

fn config_of_both(plant: &Plant<'_>, node: NodeId, prefix: GuidPrefix) -> Config {
    // Nobody guesses here.
    let mut config = Config::new(prefix, 0, [0; 16]);
    config.name.clone_from(&plant.network.node(node).name);
    config.networks = vec![(Ipv4Addr::new(10, 0, 0, 0), 8)];
    config.datagram_max = DATAGRAM_MAX;
    config.may_multicast = false;
    // A plant may exceed the default limits, which protect against unknown peers on a real
    // network.
    config.participants_max = config.participants_max.max(plant.nodes.len() * 2);
    config.endpoints_max = u32::MAX >> 8;
    config.remote_endpoints_max = usize::MAX;
    config
}

impl Publications {
    /// Creates the list for a plant with this many stations.
    pub(crate) fn new(stations: usize) -> Self {
        Self { by_station: vec![NONE; stations], ..Self::default() }
    }

    /// Creates participants, writers and readers of the flow at `index`; returns the index of its
    /// topic.
    ///
    /// # Errors
    /// Why the flow cannot be published.
    pub(crate) fn add(
        &mut self,
        plant: &Plant<'_>,
        (index, flow): (u32, &Flow),
        talker: u32,
        listeners: &[u32],
        first_stream: u32,
    ) -> Result<u32, &'static str> {
        if let Some(reason) = obstacle(flow) {
            return Err(reason);
        }
        let other_version = |&station: &u32| {
            let party = self.party_of(station);
            party.is_some_and(|party| Some(self.parties[party as usize].version) != version(flow))
        };
        if listeners.iter().chain([&talker]).any(other_version) {
            return Err("a station of it speaks another version of RTPS in another flow");
        }
        self.add_topic(plant, (index, flow), talker, listeners, first_stream)
            .ok_or("it exceeds the limits of the RTPS engine")
    }

    fn add_topic(
        &mut self,
        plant: &Plant<'_>,
        (index, flow): (u32, &Flow),
        talker: u32,
        listeners: &[u32],
        first_stream: u32,
    ) -> Option<u32> {
        let (version, is_reliable) = kind(flow)?;
        let now = Instant::from_ns(0);
        let position = u32::try_from(self.topics.len()).ok()?;
        let party = self.party(plant, talker, (index, version));
        let offered = policies(is_reliable, flow.dscp, true);
        let participant = self.participant(party);
        let writer = participant.create_writer(now, named(&flow.name), false, offered)?;
        self.note_writer(party, writer, position, None)?;
        let mut all = Vec::new();
        for (place, &station) in (0u32..).zip(listeners) {
            let own = self.party(plant, station, (index, version));
            let mut listener = self.add_listener([party, own], (position, place), flow)?;
            listener.stream = first_stream + place;
            listener.thinking = plant.thinking(flow, station);
            all.push(listener);
        }
        let answer = match flow.reply {
            Some(reply) => Some(AnswerOf { payload: payload(reply.payload)? }),
            None => None,
        };
        self.topics.push(Topic {
            flow: index,
            talker,
            party,
            writer,
            payload: payload(flow.payload)?,
            listeners: all,
            answer,
            is_matched: false,
            written: 0,
            has_left: false,
        });
        Some(position)
    }

    /// Returns the participant of a station; creates it if needed.
    fn party(
        &mut self,
        plant: &Plant<'_>,
        station: u32,
        (flow, version): (u32, RtpsVersion),
    ) -> u32 {
        if let Some(party) = self.party_of(station) {
            return party;
        }
        let node = plant.nodes[station as usize];
        let address = address_of(node);
        let party = u32::try_from(self.parties.len()).unwrap_or(NONE);
        let mut add = |config: Config, companion: u32, port: u16| {
            self.parties.push(Party {
                participant: Participant::new(config, Instant::from_ns(0)),
                station,
                address,
                version,
                port,
                companion,
                slot: NONE,
                flow,
                readers: Vec::new(),
                number: 0,
                due: BTreeMap::new(),
                planned: 0,
            });
        };
        match version {
            RtpsVersion::V2_5 => add(config(plant, node), NONE, 0),
            RtpsVersion::V1_0 => {
                let manager = v1::Ports::new(0).map_or(0, |ports| ports.manager);
                for (role, companion, port) in [
                    (RoleV1::Application, party + 1, APPLICATION_PORT),
                    (RoleV1::Manager, party, manager),
                ] {
                    add(config_v1(plant, node, role, (port, manager)), companion, port);
                }
            }
        }
        self.by_station[station as usize] = party;
        self.by_address.insert(address, station);
        party
    }

    /// Creates the endpoints of a listener for a topic, and those of the talker for its answers;
    /// the stream is set later.
    fn add_listener(
        &mut self,
        [talker, own]: [u32; 2],
        (topic, place): (u32, u32),
        flow: &Flow,
    ) -> Option<Listener> {
        let now = Instant::from_ns(0);
        let (_, is_reliable) = kind(flow)?;
        let offered = || policies(is_reliable, flow.dscp, true);
        let requested = || policies(is_reliable, flow.dscp, false);
        let participant = self.participant(own);
        let reader = participant.create_reader(now, named(&flow.name), None, requested())?;
        let role = Role { topic, answers: None };
        self.note_reader(own, role, place);
        let mut back = None;
        if flow.reply.is_some() {
            let name = topic::answers(&flow.name, place);
            let participant = self.participant(own);
            let writer = participant.create_writer(now, named(&name), false, offered())?;
            let participant = self.participant(talker);
            let reader = participant.create_reader(now, named(&name), None, requested())?;
            let answers = Some(place);
            self.note_writer(own, writer, topic, answers)?;
            self.note_reader(talker, Role { answers, ..role }, place);
            back = Some((writer, reader));
        }
        Some(Listener {
            party: own,
            stream: NONE,
            reader,
            samples: Series::default(),
            habit: Habit::default(),
            taken: 0,
            thinking: Thinking::default(),
            back,
            answers: Series::default(),
        })
    }

    fn participant(&mut self, party: u32) -> &mut Participant {
        &mut self.parties[party as usize].participant
    }

    fn note_reader(&mut self, party: u32, role: Role, place: u32) {
        let readers = &mut self.parties[party as usize].readers;
        readers.push(Reader { role, place });
    }

    fn note_writer(
        &mut self,
        party: u32,
        writer: rtether_rtps::engine::WriterId,
        topic: u32,
        answers: Option<u32>,
    ) -> Option<()> {
        let guid = self.participant(party).writer_guid(writer)?;
        let role = Role { topic, answers };
        self.by_writer.insert(guid, role);
        Some(())
    }
}
