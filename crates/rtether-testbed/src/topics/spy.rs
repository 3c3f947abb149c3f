//! Lists the participants and topics of a domain, and the writers and readers that do not match.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use rtether::verdict::Conclusion;
use rtether_live::rtps::Domain;
use rtether_model::quantity::Duration;
use rtether_rtps::discovery::{EndpointData, ParticipantData};
use rtether_rtps::engine::{Event, Participant, Protocol, Versions};
use rtether_rtps::guid::{Guid, GuidPrefix};
use rtether_rtps::locator::Locator;
use rtether_rtps::time;
use rtether_rtps::wire::v1::Role;

use super::policies::differences;
use super::rates::{Rate, Rates};
use super::relation::{Reason, reason};
use super::ros::{Graph, Nodes, Seen};
use super::session::{LOOK, Names, named};
use super::text::{clean, place};
use super::{Happening, ParticipantOptions, shown, span};
use crate::{LiveError, Thread, why_ended};

/// Limits on pairs of a writer and a reader compared, and on those listed: a domain can have
/// millions.
const COMPARED_MAX: usize = 1_000_000;
const LISTED_MAX: usize = 1_000;

/// Where to look, and how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpyOptions {
    /// Where to join.
    pub participant: ParticipantOptions,
    /// How long to look; `None`: until stopped.
    pub duration: Option<Duration>,
    /// Whether to read all topics, to count what is sent.
    pub rates: bool,
    /// Whether to show it as ROS 2 does, and to ask participants for their nodes.
    pub ros: bool,
    /// What makes it fail; `None`: nothing is judged.
    pub fail_on: Option<Vec<FailOn>>,
}

/// What makes a look at a domain fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailOn {
    /// A writer and a reader of one topic do not match.
    Mismatch,
    /// ROS: two endpoints of one topic and type have different type hashes.
    Hash,
    /// ROS: two nodes have one name.
    Name,
    /// ROS: a topic has only writers or only readers, a service is called and not served.
    OneSided,
}

/// Contents of a domain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// The domain.
    pub domain: u16,
    /// Participants, in the order of their GUID prefixes.
    pub participants: Vec<ParticipantRow>,
    /// Writers and readers, by topic.
    pub endpoints: Vec<EndpointRow>,
    /// Writers and readers of one topic that do not match.
    pub apart: Vec<Pair>,
    /// Whether rates were asked for.
    pub has_rates: bool,
    /// The domain in the words of ROS, if asked for.
    pub ros: Option<Graph>,
    /// Parts of datagrams from source addresses that the named participant has not announced.
    pub impostors: u64,
    /// Datagrams of versions of RTPS that are not spoken here.
    pub versions: Versions,
    /// Whether there are more pairs than were compared or listed.
    pub is_cut: bool,
    /// What makes it fail; `None`: nothing is judged.
    pub fail_on: Option<Vec<FailOn>>,
    /// Whether the user ended it.
    pub is_interrupted: bool,
    /// Why it ended early, if it did.
    pub ended: Option<String>,
}

impl Census {
    /// Returns the verdict; `None` if nothing is judged.
    pub fn conclusion(&self) -> Option<Conclusion> {
        let fail_on = self.fail_on.as_ref()?;
        Some(if self.is_interrupted {
            Conclusion::Interrupted
        } else if self.ended.is_some() {
            Conclusion::Unmeasured
        } else {
            let is_held = fail_on.iter().all(|what| self.count(*what) == 0);
            Conclusion::meets((!self.participants.is_empty()).then_some(is_held))
        })
    }

    /// Returns how often something was found.
    pub(super) fn count(&self, what: FailOn) -> usize {
        let of_ros = |count: fn(&Graph) -> usize| self.ros.as_ref().map_or(0, count);
        match what {
            FailOn::Mismatch => self.apart.len(),
            FailOn::Hash => of_ros(|graph| graph.clashes.len()),
            FailOn::Name => of_ros(|graph| graph.twins.len()),
            FailOn::OneSided => of_ros(|graph| graph.one_sided().count()),
        }
    }
}

/// A participant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParticipantRow {
    /// Its GUID prefix.
    pub prefix: String,
    /// Its display name.
    pub name: String,
    /// Vendor of the implementation.
    pub vendor: String,
    /// Version of the protocol.
    pub version: String,
    /// Address where it receives data.
    pub address: String,
    /// Lease of each announcement; `None` for infinite.
    pub lease: Option<Duration>,
}

/// A writer or a reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointRow {
    /// Its GUID.
    pub guid: String,
    /// The topic.
    pub topic: String,
    /// The type.
    pub type_name: String,
    /// Whether it is a writer.
    pub is_writer: bool,
    /// Name and place of its participant.
    pub who: String,
    /// Policies that differ from the standard's defaults, with their values.
    pub policies: Vec<(&'static str, String)>,
    /// What it has sent, if counted.
    pub rate: Option<Rate>,
    /// The same in the words of ROS.
    pub seen: Seen,
}

/// A writer and a reader of one topic that do not match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The topic.
    pub topic: String,
    /// Participant of the writer.
    pub writer: String,
    /// Participant of the reader.
    pub reader: String,
    /// GUIDs of the writer and the reader.
    pub identities: [String; 2],
    /// Why they do not match.
    pub reason: Reason,
}

/// Looks until the time is over or `stop` is set; `tell` is called with each event.
///
/// # Errors
/// If the participant cannot be created.
pub fn spy(
    options: &SpyOptions,
    stop: &AtomicBool,
    mut tell: impl FnMut(&Happening),
) -> Result<Census, LiveError> {
    let name = match options.participant.protocol {
        Protocol::Rtps1(Role::Manager) => "rtether manager",
        Protocol::Rtps2 | Protocol::Rtps1(_) => "rtether spy",
    };
    let (mut domain, confined) = options.participant.open(name, Thread::default())?;
    tell(&Happening::Opened {
        address: place(&domain.address()),
        domain: options.participant.domain,
        confined,
    });
    let mut look = Look {
        rates: options.rates.then(Rates::default),
        nodes: options.ros.then(|| Nodes::open(&mut domain)),
        ..Look::default()
    };
    let duration = options.duration.map_or(time::Duration::INFINITE, span);
    let ended = look.run(&mut domain, duration, stop, &mut tell);
    let now = domain.now();
    let rate = |writer| look.rates.as_ref().and_then(|rates| rates.of(writer, now));
    let mut census = Census::of(domain.participant(), rate, look.nodes.as_ref());
    census.has_rates = options.rates;
    let counters = domain.participant().counters();
    (census.impostors, census.versions) = (counters.impostors, counters.versions);
    census.domain = options.participant.domain;
    census.ended = ended.err().map(|error| why_ended(&error));
    census.fail_on.clone_from(&options.fail_on);
    census.is_interrupted = stop.load(Ordering::Relaxed);
    Ok(census)
}

/// What has been reported already.
#[derive(Default)]
struct Look {
    names: Names,
    known: BTreeSet<Guid>,
    rates: Option<Rates>,
    nodes: Option<Nodes>,
}

impl Look {
    fn run(
        &mut self,
        domain: &mut Domain,
        duration: time::Duration,
        stop: &AtomicBool,
        tell: &mut impl FnMut(&Happening),
    ) -> io::Result<()> {
        let end = domain.now() + duration;
        while domain.now() < end && !stop.load(Ordering::Relaxed) {
            let look = (domain.now() + LOOK).min(end);
            while domain.now() < look && !stop.load(Ordering::Relaxed) {
                domain.step(look)?;
                if let Some(rates) = &mut self.rates {
                    rates.count(domain);
                }
            }
            if let Some(nodes) = &mut self.nodes {
                nodes.look(domain);
            }
            let now = domain.now();
            while let Some(event) = domain.participant_mut().poll_event() {
                if let Some(rates) = &mut self.rates {
                    rates.on_event(now, &event);
                }
                if let Some(happening) = self.happening(domain.participant(), &event) {
                    tell(&happening);
                }
            }
            self.tell_endpoints(domain.participant(), tell);
            if let Some(rates) = &mut self.rates {
                rates.look(domain);
            }
        }
        Ok(())
    }

    fn happening(&mut self, participant: &Participant, event: &Event) -> Option<Happening> {
        match event {
            Event::ParticipantFound { prefix, .. } => {
                Some(Happening::Found { who: self.names.of(participant, *prefix) })
            }
            Event::ParticipantLost { prefix, why } => {
                let who = self.names.of(participant, *prefix);
                self.names.forget(*prefix);
                Some(Happening::Gone { who, why: *why })
            }
            Event::Refused { origin, refused } => Some(Happening::refused(*origin, *refused)),
            Event::Withheld { to } => Some(Happening::withheld(*to)),
            // Events of the counting readers are not reported.
            Event::ReaderMatched { .. }
            | Event::ReaderUnmatched { .. }
            | Event::WriterMatched { .. }
            | Event::WriterUnmatched { .. }
            | Event::OfferedIncompatible { .. }
            | Event::RequestedIncompatible { .. }
            | Event::WriterSilent { .. }
            | Event::DeadlineMissed { .. }
            | Event::OfferedDeadlineMissed { .. } => None,
        }
    }

    /// Returns the event of a new endpoint, in the words of ROS if asked for.
    fn endpoint(&self, endpoint: &EndpointData, seen: Seen) -> Happening {
        let [writes, reads] = ["writes", "reads"];
        let [topic, type_name] = match self.nodes {
            Some(_) => [seen.named(), seen.type_name],
            None => [clean(&endpoint.topic), clean(&endpoint.type_name)],
        };
        Happening::Endpoint {
            who: seen.who,
            does: if seen.is_writer { writes } else { reads },
            topic,
            type_name,
        }
    }

    fn tell_endpoints(&mut self, participant: &Participant, tell: &mut impl FnMut(&Happening)) {
        let mut present = BTreeSet::new();
        for (is_writer, endpoint) in participant.endpoints() {
            present.insert(endpoint.guid);
            if !self.known.contains(&endpoint.guid) {
                let who = self.names.of(participant, endpoint.guid.prefix);
                let seen = Seen::of(endpoint, is_writer, who);
                if self.nodes.is_none() || !seen.is_plumbing() {
                    tell(&self.endpoint(endpoint, seen));
                }
            }
        }
        self.known = present;
    }
}

impl Census {
    fn of(
        participant: &Participant,
        rate: impl Fn(Guid) -> Option<Rate>,
        nodes: Option<&Nodes>,
    ) -> Self {
        let known = |prefix: GuidPrefix| {
            let mut all = participant.participants();
            all.find(|one| one.prefix == prefix).map(named)
        };
        let who = |guid: Guid| known(guid.prefix).unwrap_or_else(|| guid.prefix.to_string());
        let owners = nodes.map(Nodes::by_endpoint).unwrap_or_default();
        let owner = |guid: Guid| owners.get(&guid).map(|node| (*node).to_owned());
        // By address, as identities are random.
        let mut all: Vec<&ParticipantData> = participant.participants().collect();
        all.sort_by_key(|data| (address(data), data.prefix));
        let position = |guid: Guid| all.iter().position(|data| data.prefix == guid.prefix);
        let mut endpoints: Vec<(bool, &EndpointData)> = participant.endpoints().collect();
        endpoints.sort_by_cached_key(|(is_writer, endpoint)| {
            let guid = endpoint.guid;
            (&endpoint.topic, !*is_writer, position(guid), guid)
        });
        let mut census = Self {
            participants: all.iter().copied().map(participant_row).collect(),
            ..Self::default()
        };
        census.endpoints = endpoints
            .iter()
            .map(|(is_writer, endpoint)| EndpointRow {
                guid: endpoint.guid.to_string(),
                topic: clean(&endpoint.topic),
                type_name: clean(&endpoint.type_name),
                is_writer: *is_writer,
                who: who(endpoint.guid),
                policies: differences(endpoint, *is_writer),
                rate: rate(endpoint.guid).filter(|_| *is_writer),
                seen: Seen::of(
                    endpoint,
                    *is_writer,
                    owner(endpoint.guid).unwrap_or_else(|| who(endpoint.guid)),
                ),
            })
            .collect();
        census.ros = nodes.map(|nodes| {
            let seen: Vec<Seen> = census.endpoints.iter().map(|one| one.seen.clone()).collect();
            Graph::of(&seen, nodes, known)
        });
        census.compare(&endpoints, who);
        census
    }

    fn compare(&mut self, endpoints: &[(bool, &EndpointData)], who: impl Fn(Guid) -> String) {
        let mut topics: BTreeMap<&str, (Vec<&EndpointData>, Vec<&EndpointData>)> = BTreeMap::new();
        for (is_writer, endpoint) in endpoints {
            let (writers, readers) = topics.entry(&endpoint.topic).or_default();
            let side = if *is_writer { writers } else { readers };
            side.push(*endpoint);
        }
        let pairs = topics.iter().flat_map(|(_, (writers, readers))| {
            let of = |writer| readers.iter().map(move |reader| (writer, *reader));
            writers.iter().copied().flat_map(of)
        });
        for (compared, (writer, reader)) in pairs.enumerate() {
            if compared >= COMPARED_MAX || self.apart.len() >= LISTED_MAX {
                self.is_cut = true;
                break;
            }
            if let Some(reason) = reason(writer, reader) {
                self.apart.push(Pair {
                    topic: clean(&writer.topic),
                    writer: who(writer.guid),
                    reader: who(reader.guid),
                    identities: [writer.guid, reader.guid].map(|guid| guid.to_string()),
                    reason,
                });
            }
        }
    }
}

/// Returns where a participant receives data.
fn address(data: &ParticipantData) -> Option<Locator> {
    let places = [&data.default_unicast, &data.metatraffic_unicast];
    places.into_iter().flatten().next().copied()
}

fn participant_row(data: &ParticipantData) -> ParticipantRow {
    let [major, minor] = data.version;
    ParticipantRow {
        prefix: data.prefix.to_string(),
        name: clean(&data.name),
        vendor: vendor(data.vendor),
        version: format!("{major}.{minor}"),
        address: address(data).map(|at| place(&at)).unwrap_or_default(),
        lease: (!data.lease.is_infinite()).then(|| shown(data.lease)),
    }
}

/// Returns the name of a vendor id, if known.
pub fn vendor(id: [u8; 2]) -> String {
    let known = match id {
        [1, 0x01] => "RTI Connext",
        [1, 0x02] => "OpenSplice",
        [1, 0x03] => "OpenDDS",
        [1, 0x06] => "CoreDX",
        [1, 0x0A] => "RTI Connext Micro",
        [1, 0x0F] => "Fast DDS",
        [1, 0x10] => "Cyclone DDS",
        [1, 0x11] => "GurumDDS",
        [1, 0x12] => "RustDDS",
        [1, 0x14] => "Dust DDS",
        rtether_rtps::wire::VENDOR => "rtether",
        [major, minor] => return format!("{major:02x}.{minor:02x}"),
    };
    known.to_owned()
}
