//! Who is in a domain, which topics there are, and which writers and readers do not meet.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use rtether_live::rtps::Domain;
use rtether_model::quantity::Duration;
use rtether_rtps::discovery::{EndpointData, ParticipantData};
use rtether_rtps::engine::{Event, Participant};
use rtether_rtps::guid::Guid;
use rtether_rtps::time;

use super::policies::differences;
use super::rates::{Rate, Rates};
use super::relation::{Reason, reason};
use super::session::{LOOK, Names, named};
use super::text::{clean, place};
use super::{Happening, Place, shown, span};
use crate::live::{LiveError, Thread, why_ended};

/// Pairs of writers and readers that are compared, and those that are listed: a domain can have
/// millions.
const COMPARED_MAX: usize = 1_000_000;
const LISTED_MAX: usize = 1_000;

/// Where to look, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpyOptions {
    /// Where.
    pub place: Place,
    /// For how long.
    pub duration: Duration,
    /// Whether to read all topics, to see how much is written.
    pub rates: bool,
}

/// Who and what is in a domain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// The domain.
    pub domain: u16,
    /// Participants, in the order of their names on the wire.
    pub participants: Vec<ParticipantRow>,
    /// Writers and readers, by topic.
    pub endpoints: Vec<EndpointRow>,
    /// Writers and readers of one topic that do not meet.
    pub apart: Vec<Pair>,
    /// Whether rates were asked for.
    pub has_rates: bool,
    /// Parts of datagrams that came from addresses which the participant that they name has not announced.
    pub impostors: u64,
    /// Whether there are more pairs than were compared or listed.
    pub is_cut: bool,
    /// Why it ended early, if it did.
    pub ended: Option<String>,
}

/// A participant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParticipantRow {
    /// Its name on the wire.
    pub prefix: String,
    /// Its name for people.
    pub name: String,
    /// Who made the implementation.
    pub vendor: String,
    /// Version of the protocol.
    pub version: String,
    /// Where it takes data.
    pub address: String,
    /// How long it is alive after each announcement; `None` for ever.
    pub lease: Option<Duration>,
}

/// A writer or a reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointRow {
    /// Its name on the wire.
    pub guid: String,
    /// The topic.
    pub topic: String,
    /// The type.
    pub type_name: String,
    /// Whether it writes.
    pub is_writer: bool,
    /// Name and place of its participant.
    pub who: String,
    /// Policies that differ from the standard's defaults, with their values.
    pub policies: Vec<(&'static str, String)>,
    /// What it has sent, if that was counted.
    pub rate: Option<Rate>,
}

/// A writer and a reader of one topic that do not meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The topic.
    pub topic: String,
    /// Who writes.
    pub writer: String,
    /// Who reads.
    pub reader: String,
    /// Why they do not meet.
    pub reason: Reason,
}

/// Looks until the time is over or until `stop`; `tell` hears of what is found meanwhile.
///
/// # Errors
/// If there can be no participant.
pub fn spy(
    options: &SpyOptions,
    stop: &AtomicBool,
    mut tell: impl FnMut(&Happening),
) -> Result<Census, LiveError> {
    let (mut domain, confined) = options.place.open("rtether spy", Thread::default())?;
    tell(&Happening::Opened {
        address: place(&domain.address()),
        domain: options.place.domain,
        confined,
    });
    let mut look = Look {
        rates: options.rates.then(Rates::default),
        ..Look::default()
    };
    let ended = look.run(&mut domain, span(options.duration), stop, &mut tell);
    let now = domain.now();
    let rate = |writer| look.rates.as_ref().and_then(|rates| rates.of(writer, now));
    let mut census = Census::of(domain.participant(), rate);
    census.has_rates = options.rates;
    census.impostors = domain.participant().counters().impostors;
    census.domain = options.place.domain;
    census.ended = ended.err().map(|error| why_ended(&error));
    Ok(census)
}

/// What has been told already.
#[derive(Default)]
struct Look {
    names: Names,
    known: BTreeSet<Guid>,
    rates: Option<Rates>,
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
            Event::ParticipantFound { prefix, .. } => Some(Happening::Found {
                who: self.names.of(participant, *prefix),
            }),
            Event::ParticipantLost { prefix, has_left } => {
                let who = self.names.of(participant, *prefix);
                self.names.forget(*prefix);
                Some(Happening::Gone {
                    who,
                    has_left: *has_left,
                })
            }
            Event::Refused { origin, refused } => Some(Happening::refused(*origin, *refused)),
            Event::Withheld { to } => Some(Happening::withheld(*to)),
            // Readers that only count have nothing to tell.
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

    fn tell_endpoints(&mut self, participant: &Participant, tell: &mut impl FnMut(&Happening)) {
        let mut present = BTreeSet::new();
        for (is_writer, endpoint) in participant.endpoints() {
            present.insert(endpoint.guid);
            if !self.known.contains(&endpoint.guid) {
                tell(&Happening::Endpoint {
                    who: self.names.of(participant, endpoint.guid.prefix),
                    does: if is_writer { "writes" } else { "reads" },
                    topic: clean(&endpoint.topic),
                    type_name: clean(&endpoint.type_name),
                });
            }
        }
        self.known = present;
    }
}

impl Census {
    fn of(participant: &Participant, rate: impl Fn(Guid) -> Option<Rate>) -> Self {
        let who = |guid: Guid| {
            let mut all = participant.participants();
            let found = all.find(|one| one.prefix == guid.prefix);
            found.map_or_else(|| guid.prefix.to_string(), named)
        };
        let mut endpoints: Vec<(bool, &EndpointData)> = participant.endpoints().collect();
        endpoints.sort_by(|(a_writes, a), (b_writes, b)| {
            let key = |writes: &bool| !*writes;
            (&a.topic, key(a_writes), a.guid).cmp(&(&b.topic, key(b_writes), b.guid))
        });
        let mut census = Self {
            participants: participant.participants().map(participant_row).collect(),
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
            })
            .collect();
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
                    reason,
                });
            }
        }
    }
}

fn participant_row(data: &ParticipantData) -> ParticipantRow {
    let places = [&data.default_unicast, &data.metatraffic_unicast];
    let address = places.into_iter().flatten().next();
    let [major, minor] = data.version;
    ParticipantRow {
        prefix: data.prefix.to_string(),
        name: clean(&data.name),
        vendor: vendor(data.vendor),
        version: format!("{major}.{minor}"),
        address: address.map(place).unwrap_or_default(),
        lease: (!data.lease.is_infinite()).then(|| shown(data.lease)),
    }
}

/// Returns who has a vendor number, as far as that is known here.
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
