//! Participants, writers and readers of flows over RTPS.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use rtether_model::flow::{Delivery, Flow, Traffic};
use rtether_model::network::NodeId;
use rtether_model::quantity::Bytes;
use rtether_model::wire::Encapsulation;
use rtether_rtps::cdr::{Encoding, to_payload};
use rtether_rtps::engine::{Config, Participant, TopicName};
use rtether_rtps::guid::GuidPrefix;
use rtether_rtps::locator::{DISCOVERY_GROUP, Locator, Ports};
use rtether_rtps::qos::{History, Qos, Reliability};
use rtether_rtps::time::Instant;
use rtether_rtps::types::Octets;
use rtether_rtps::wire::VENDOR;

use super::series::Series;
use super::{AnswerOf, Listener, Party, Role, Topic};
use crate::kernel::{BuildError, Carrier, Simulation};
use crate::packet::NONE;
use crate::trace::frame;

/// Type name of all samples.
const TYPE: &str = "rtether::Octets";
/// Largest datagram that fits a frame, in octets: 1500 less the headers of IPv4 and UDP.
const DATAGRAM_MAX: usize = 1_472;

/// Largest sample that the engine accepts, less a margin for headers, in octets.
const MAX_SAMPLE: Bytes = Bytes::new((16 << 20) - 1_024);

/// Returns whether lost samples of a flow are sent again; `None` if it is not published.
const fn is_reliable(flow: &Flow) -> Option<bool> {
    if let Encapsulation::Rtps { is_reliable } = flow.encapsulation {
        Some(is_reliable)
    } else {
        None
    }
}

fn largest(flow: &Flow) -> Bytes {
    flow.reply
        .map_or(Bytes::ZERO, |reply| reply.payload)
        .max(flow.payload)
}

/// Returns why a flow cannot be published, if it cannot.
fn obstacle(flow: &Flow) -> Option<&'static str> {
    if matches!(flow.traffic, Traffic::Bulk(_)) {
        Some("it is bulk traffic")
    } else if flow.delivery == Delivery::Multicast {
        Some("it is multicast; samples are sent to each reader")
    } else if largest(flow) > MAX_SAMPLE {
        Some("its samples exceed the limit of the RTPS engine")
    } else {
        None
    }
}

fn qos(is_reliable: bool, dscp: u8, is_writer: bool) -> Qos {
    let mut qos = if is_writer {
        Qos::writer()
    } else {
        Qos::reader()
    };
    (qos.reliability, qos.history) = if is_reliable {
        (Reliability::Reliable, History::KeepAll)
    } else {
        (Reliability::BestEffort, History::KeepLast(1))
    };
    if !is_writer {
        // Readers take samples at once.
        qos.history = History::KeepAll;
    }
    qos.transport_priority = i32::from(dscp);
    qos
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

const fn named(topic: &str) -> TopicName<'_> {
    TopicName {
        topic,
        type_name: TYPE,
    }
}

impl Simulation {
    /// Creates the participants, writers and readers of all flows over RTPS.
    pub(crate) fn add_publications(&mut self, flows: &[Flow]) -> Result<(), BuildError> {
        if !flows.iter().any(|flow| is_reliable(flow).is_some()) {
            return Ok(());
        }
        // Each participant has a discovery group, numbered after the groups of the flows.
        self.broadcasts_from = u32::try_from(self.flows.len()).map_err(|_| BuildError::TooLarge)?;
        self.publications.by_station = vec![NONE; self.stations.len()];
        for (index, flow) in (0u32..).zip(flows) {
            let Some(is_reliable) = is_reliable(flow) else {
                continue;
            };
            let refused = |reason| BuildError::Publication {
                flow: flow.name.clone(),
                reason,
            };
            if let Some(reason) = obstacle(flow) {
                return Err(refused(reason));
            }
            self.add_topic(index, flow, is_reliable)
                .ok_or_else(|| refused("it exceeds the limits of the RTPS engine"))?;
        }
        self.add_groups(flows);
        Ok(())
    }

    /// Adds the discovery group of each participant to switches with managed multicast, along the
    /// paths to the other participants: flooding would loop in a ring of switches.
    fn add_groups(&mut self, flows: &[Flow]) {
        let parties = self.publications.parties.iter();
        let nodes = parties.map(|party| self.stations[party.station as usize].node);
        let nodes: Vec<NodeId> = nodes.collect();
        for (party, &talker) in nodes.iter().enumerate() {
            let group = self.broadcasts_from + u32::try_from(party).unwrap_or(0);
            let flow = &flows[self.publications.parties[party].flow as usize];
            let mut said = Flow {
                talker,
                listeners: nodes
                    .iter()
                    .copied()
                    .filter(|&other| other != talker)
                    .collect(),
                delivery: Delivery::Multicast,
                ..flow.clone()
            };
            let (routing, network) = (&self.routing, &self.network);
            let all = said.listeners.iter().copied();
            said.listeners = all
                .filter(|&other| routing.path(network, talker, other).is_ok())
                .collect();
            for hop in routing.flow_hops(network, &said).unwrap_or_default() {
                let mut switches = self.switches.iter_mut();
                let switch = switches.find(|switch| switch.node == hop.egress.node);
                if let Some(switch) = switch
                    && let Some(groups) = &mut switch.groups
                {
                    let port = switch.first_port + u32::from(hop.egress.port);
                    groups.entry(group).or_default().push(port);
                }
            }
        }
    }

    /// Returns the participant of a station; creates it if needed.
    fn party(&mut self, station: u32, flow: u32) -> u32 {
        if let Some(party) = self.publications.party_of(station) {
            return party;
        }
        let node = self.stations[station as usize].node;
        let address = address_of(node);
        let mut prefix = [0; 12];
        prefix[..2].copy_from_slice(&VENDOR);
        prefix[8..].copy_from_slice(&node.0.to_be_bytes());
        let mut config = Config::new(GuidPrefix(prefix), 0);
        config.name.clone_from(&self.network.node(node).name);
        if let Some(ports) = Ports::new(0)
            && let Some(port) = ports.discovery_unicast(0)
        {
            config.metatraffic_unicast = vec![Locator::udp(address, port)];
            config
                .default_unicast
                .clone_from(&config.metatraffic_unicast);
            let group = Locator::udp(DISCOVERY_GROUP, ports.discovery_multicast());
            config.announce_to = vec![group];
        }
        config.networks = vec![(Ipv4Addr::new(10, 0, 0, 0), 8)];
        config.datagram_max = DATAGRAM_MAX;
        config.may_multicast = false;
        // A plant may exceed the default limits, which protect against unknown peers on a real
        // network.
        config.participants_max = config.participants_max.max(self.stations.len());
        config.endpoints_max = u32::MAX >> 8;
        config.remote_endpoints_max = usize::MAX;
        let party = u32::try_from(self.publications.parties.len()).unwrap_or(NONE);
        self.publications.parties.push(Party {
            participant: Participant::new(config, Instant::from_ns(0)),
            station,
            slot: NONE,
            flow,
            readers: Vec::new(),
            number: 0,
            due: BTreeMap::new(),
            planned: 0,
        });
        self.publications.by_station[station as usize] = party;
        self.publications.by_address.insert(address, station);
        party
    }

    fn add_topic(&mut self, index: u32, flow: &Flow, is_reliable: bool) -> Option<()> {
        let state = &self.flows[index as usize];
        let (talker, first_stream) = (state.talker, state.first_stream);
        let stations: Vec<u32> = state.listeners.all().into();
        let now = Instant::from_ns(0);
        let position = u32::try_from(self.publications.topics.len()).ok()?;
        let party = self.party(talker, index);
        let offered = qos(is_reliable, flow.dscp, true);
        let participant = self.participant(party);
        let writer = participant.create_writer(now, named(&flow.name), false, offered)?;
        self.note_writer(party, writer, position, None)?;
        let mut listeners = Vec::new();
        for (place, station) in (0u32..).zip(stations) {
            let own = self.party(station, index);
            let mut listener = self.add_listener([party, own], (position, place), flow)?;
            listener.stream = first_stream + place;
            listeners.push(listener);
        }
        let answer = match flow.reply {
            Some(reply) => Some(AnswerOf {
                payload: payload(reply.payload)?,
                after: reply.after.as_ps(),
            }),
            None => None,
        };
        self.flows[index as usize].carrier = Carrier::Publication(position);
        self.publications.topics.push(Topic {
            flow: index,
            talker,
            party,
            writer,
            payload: payload(flow.payload)?,
            listeners,
            answer,
            is_matched: false,
        });
        Some(())
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
        let is_reliable = is_reliable(flow)?;
        let offered = || qos(is_reliable, flow.dscp, true);
        let requested = || qos(is_reliable, flow.dscp, false);
        let participant = self.participant(own);
        let reader = participant.create_reader(now, named(&flow.name), None, requested())?;
        let role = Role {
            topic,
            answers: None,
        };
        self.note_reader(own, role, place);
        let mut back = None;
        if flow.reply.is_some() {
            let name: String = format!("{}/answer/{place}", flow.name);
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
            back,
            answers: Series::default(),
        })
    }

    fn participant(&mut self, party: u32) -> &mut Participant {
        &mut self.publications.parties[party as usize].participant
    }

    fn note_reader(&mut self, party: u32, role: Role, place: u32) {
        let readers = &mut self.publications.parties[party as usize].readers;
        readers.push((role, place));
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
        self.publications.by_writer.insert(guid, role);
        Some(())
    }
}
