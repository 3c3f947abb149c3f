//! Nodes, as participants tell them.
//!
//! `rmw_dds_common/msg/ParticipantEntitiesInfo` names the nodes of a participant with the GUIDs of
//! their endpoints. A GUID has 16 octets since ROS 2 Iron, and had 24 before.

use std::collections::BTreeMap;

use rtether_live::rtps::Domain;
use rtether_rtps::cdr::{CdrError, CdrErrorKind, Decoder, Encoding, Representation};
use rtether_rtps::engine::{NewReader, ReaderId, TopicName};
use rtether_rtps::guid::{EntityId, Guid, GuidPrefix};
use rtether_rtps::qos::{Durability, History, Qos, Reliability, Representation as Encoded};
use rtether_rtps::qos::{Liveliness, ResourceLimits};
use rtether_rtps::time;

use super::super::text::clean;

/// The topic of nodes.
pub(super) const TOPIC: &str = "ros_discovery_info";
const TYPE: &str = "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_";
/// Sizes of a GUID.
const GUID_LENS: [usize; 2] = [16, 24];
/// Limits on participants, on nodes of one, and on endpoints of a node.
const PARTICIPANTS_MAX: usize = 1_024;
const NODES_MAX: usize = 1_024;
const ENDPOINTS_MAX: usize = 16_384;
/// Samples that wait for the next look.
const WAITING_MAX: u32 = 4_096;

/// A node and its endpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its full name, such as `/plant/talker`.
    pub name: String,
    /// What it writes and reads.
    pub endpoints: Vec<Guid>,
}

/// The nodes that participants have told.
#[derive(Clone, Debug, Default)]
pub struct Nodes {
    reader: Option<ReaderId>,
    told: BTreeMap<GuidPrefix, Vec<Node>>,
    /// Samples that were not of the type.
    pub malformed: u64,
}

impl Nodes {
    /// Subscribes to the topic; without room in the participant, no nodes are known.
    pub fn open(domain: &mut Domain) -> Self {
        let now = domain.now();
        let qos = Qos {
            reliability: Reliability::Reliable,
            durability: Durability::TransientLocal,
            // The topic has no key: with a depth, one participant would displace another.
            history: History::KeepAll,
            latency_budget: time::Duration::INFINITE,
            liveliness: Liveliness::default(),
            representations: vec![Encoded::Xcdr1, Encoded::Xcdr2],
            limits: ResourceLimits { samples: Some(WAITING_MAX), ..ResourceLimits::default() },
            ..Qos::reader()
        };
        let new = NewReader {
            name: TopicName { topic: TOPIC, type_name: TYPE },
            key_of: None,
            qos,
            filter: None,
            subscriber: None,
        };
        Self { reader: domain.participant_mut().add_reader(now, new).ok(), ..Self::default() }
    }

    /// Takes what participants have told.
    pub fn look(&mut self, domain: &mut Domain) {
        let Some(reader) = self.reader else {
            return;
        };
        let now = domain.now();
        let participant = domain.participant_mut();
        while let Some((writer, nodes)) = participant.take(now, reader, |info, payload, _| {
            let nodes = info.is_valid.then(|| decode(payload));
            (info.writer, nodes)
        }) {
            match nodes {
                Some(Ok(nodes)) => self.tell(writer.prefix, nodes),
                Some(Err(_)) => self.malformed += 1,
                None => {}
            }
        }
    }

    /// Notes the nodes of the participant that sent them: nobody can name another's endpoints.
    pub(super) fn tell(&mut self, of: GuidPrefix, mut nodes: Vec<Node>) {
        if self.told.len() >= PARTICIPANTS_MAX && !self.told.contains_key(&of) {
            return;
        }
        for node in &mut nodes {
            node.endpoints.retain(|guid| guid.prefix == of);
        }
        self.told.insert(of, nodes);
    }

    /// Returns the nodes with their participants.
    pub fn iter(&self) -> impl Iterator<Item = (GuidPrefix, &Node)> {
        let told = self.told.iter();
        told.flat_map(|(prefix, nodes)| nodes.iter().map(|node| (*prefix, node)))
    }

    /// Returns the node of each endpoint.
    pub fn by_endpoint(&self) -> BTreeMap<Guid, &str> {
        let each = self.iter().flat_map(|(_, node)| {
            let guids = node.endpoints.iter();
            guids.map(|guid| (*guid, node.name.as_str()))
        });
        each.collect()
    }
}

/// Reads the nodes of a participant.
pub(super) fn decode(payload: &[u8]) -> Result<Vec<Node>, CdrError> {
    let (representation, body) = Representation::split(payload)?;
    if representation.encoding != Encoding::Xcdr1 {
        return Err(CdrError {
            offset: 0,
            kind: CdrErrorKind::Representation(representation.id()),
        });
    }
    let decoder = Decoder::of_body(body, representation);
    let [now, before] = GUID_LENS.map(|len| nodes(decoder.clone(), len));
    now.or(before)
}

fn nodes(mut decoder: Decoder<'_>, guid_len: usize) -> Result<Vec<Node>, CdrError> {
    decoder.octets(guid_len)?;
    let count = decoder.length()?;
    decoder.bound(count, NODES_MAX)?;
    let mut nodes = Vec::new();
    for _ in 0..count {
        let (space, name) = (decoder.str()?, decoder.str()?);
        let mut endpoints = guids(&mut decoder, guid_len)?;
        endpoints.append(&mut guids(&mut decoder, guid_len)?);
        nodes.push(Node { name: full_name(space, name), endpoints });
    }
    // With GUIDs of the other size something else is left, beyond padding.
    if decoder.remaining() >= 4 {
        return Err(CdrError { offset: decoder.position(), kind: CdrErrorKind::Truncated });
    }
    Ok(nodes)
}

fn guids(decoder: &mut Decoder<'_>, len: usize) -> Result<Vec<Guid>, CdrError> {
    let count = decoder.length()?;
    decoder.bound(count, ENDPOINTS_MAX)?;
    let mut guids = Vec::new();
    for _ in 0..count {
        let octets = decoder.octets(len)?;
        if let Some((prefix, rest)) = octets.split_first_chunk()
            && let Some(entity) = rest.first_chunk()
        {
            guids.push(Guid::new(GuidPrefix(*prefix), EntityId(*entity)));
        }
    }
    Ok(guids)
}

fn full_name(space: &str, name: &str) -> String {
    clean(&format!("{}/{name}", space.trim_end_matches('/')))
}
