//! Publications over RTPS: the engine of [`rtether_rtps`] in the stations of the simulation.
//!
//! Each station that talks or listens in a flow over RTPS has one participant, which exists from
//! the start of the run and discovers the others by multicast, as on a real network: every datagram
//! of the engine becomes a frame with these octets. A flow is a topic with one writer and a reader
//! at each listener; its answers are one topic per listener, so that a round trip is that of the
//! Dolejs paper (publication 1, subscription 2, publication 2, subscription 1; catalogue D6, R153).
//!
//! In RTPS 1.0 each station has two participants: its application, and the manager of the station,
//! which finds the other managers. What the two tell each other stays in the station and takes no
//! time.
//!
//! **Start.** An application publishes once its readers are matched, as `rtether pub` does; earlier
//! releases are skipped. A flow whose readers are never found releases nothing.
//!
//! **What is booked.** A stream counts samples: a retransmission is not a loss. Latency runs from
//! the release to the moment at which the reader hands the sample out, in order. Its parts are
//! those of the datagram that completed the sample; the remaining time (waiting for a
//! retransmission, or for earlier lost data) is booked as talker stack, at the talker. The engine
//! itself takes no time: the cost of a middleware belongs to the stack of the station.
//!
//! **Limits.** Those of the engine: a writer keeps at most 4096 unacknowledged samples; further
//! ones are refused and count as dropped. At most 100 000 samples in transit are tracked per
//! reader; older ones count as dropped.

mod build;
mod habit;
mod naming;
mod run;
mod series;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use rtether_model::record::SampleRecord;
use rtether_model::wire::RtpsVersion;
use rtether_rtps::engine::{Participant, ReaderId, WriterId};
use rtether_rtps::guid::Guid;
use rtether_rtps::time::Instant;

pub(crate) use build::Plant;
pub use habit::Habit;
use series::Series;

use crate::agenda::{Agenda, NEVER};
use crate::datagram::Message;
use crate::message::Released;
use crate::packet::{DISCOVERY_FROM, NONE};
use crate::thinking::Thinking;

/// All RTPS participants and topics.
#[derive(Default)]
pub(crate) struct Publications {
    parties: Vec<Party>,
    /// By station: its index in `parties`, or [`NONE`]; in RTPS 1.0 that of its application.
    by_station: Vec<u32>,
    /// Participants that have received something within their station.
    woken: Vec<u32>,
    /// By address: its station.
    by_address: BTreeMap<Ipv4Addr, u32>,
    topics: Vec<Topic>,
    /// By writer: its topic, and for a writer of answers the index of the listener.
    by_writer: BTreeMap<Guid, Role>,
    buffer: Vec<u8>,
}

/// The topic of a writer or reader, and its direction.
#[derive(Clone, Copy)]
struct Role {
    topic: u32,
    /// Index of the listener that answers; `None` for the publication itself.
    answers: Option<u32>,
}

/// A reader: its role, and the index of the listener.
#[derive(Clone, Copy)]
pub(crate) struct Reader {
    role: Role,
    place: u32,
}

/// A sample or an answer that an application has received.
pub(crate) struct Sample {
    pub(crate) flow: u32,
    pub(crate) stream: u32,
    /// Stations of its writer and its reader.
    pub(crate) stations: [u32; 2],
    pub(crate) released: Released,
    /// The station that answers it, and the time this takes.
    pub(crate) answer: Option<(u32, i64)>,
}

/// A datagram that a participant sends.
pub(crate) struct Outgoing {
    pub(crate) message: Message,
    /// Its station, and where the datagram goes as in [`crate::packet::Packet::destination`].
    pub(crate) source: u32,
    pub(crate) destination: u32,
    /// Number among the datagrams of the participant.
    pub(crate) number: u32,
    /// Flow that carries it, for discovery the first one of the station.
    pub(crate) flow: u32,
    pub(crate) is_discovery: bool,
}

/// A station with a participant.
struct Party {
    participant: Participant,
    station: u32,
    address: Ipv4Addr,
    version: RtpsVersion,
    /// UDP port, of a participant of 1.0; the other one of its station has another port.
    port: u16,
    /// The other participant of the station, or [`NONE`].
    companion: u32,
    slot: u32,
    /// The first of its flows, which carries its discovery.
    flow: u32,
    readers: Vec<Reader>,
    /// Number of its last datagram.
    number: u32,
    /// What is due, by time and order.
    due: BTreeMap<(i64, u64), Due>,
    planned: u64,
}

/// What a participant's applications do at a time.
enum Due {
    Answer(Answer),
    /// The reader of a listener comes: its topic and place.
    Come(Box<habit::Coming>, [u32; 2]),
    /// The application of a listener takes what waits.
    Look([u32; 2]),
    /// The participant says good-bye.
    Leave,
}

/// An answer that is not due yet.
struct Answer {
    topic: u32,
    listener: u32,
    released: Released,
}

/// The topic of a flow.
struct Topic {
    flow: u32,
    talker: u32,
    party: u32,
    writer: WriterId,
    payload: Vec<u8>,
    listeners: Vec<Listener>,
    answer: Option<AnswerOf>,
    /// Whether all endpoints have matched.
    is_matched: bool,
    /// Samples written.
    written: u64,
    has_left: bool,
}

/// The answers of the listeners.
struct AnswerOf {
    payload: Vec<u8>,
}

/// One listener of a topic.
struct Listener {
    party: u32,
    stream: u32,
    reader: ReaderId,
    samples: Series,
    habit: Habit,
    /// Samples that its application has taken.
    taken: u64,
    /// How long it takes to answer.
    thinking: Thinking,
    /// The listener's writer of answers, and the talker's reader for them.
    back: Option<(WriterId, ReaderId)>,
    answers: Series,
}

impl Publications {
    /// Returns the number of participants.
    pub(crate) fn participants(&self) -> usize {
        self.parties.len()
    }

    /// Returns the discovery group, station and first flow of each participant.
    pub(crate) fn groups(&self) -> impl Iterator<Item = (u32, u32, u32)> {
        let parties = (DISCOVERY_FROM..).zip(&self.parties);
        parties.map(|(group, party)| (group, party.station, party.flow))
    }

    /// Gives a participant its timer.
    pub(crate) fn set_slot(&mut self, party: u32, slot: u32) {
        self.parties[party as usize].slot = slot;
    }

    /// Sets the timers of all participants for the start of the run.
    pub(crate) fn start(&self, agenda: &mut Agenda) {
        for party in &self.parties {
            agenda.set(party.slot, party.wake_at(0));
        }
    }

    /// Sets the timer of a participant.
    pub(crate) fn set_timer(&self, party: u32, now: i64, agenda: &mut Agenda) {
        let party = &self.parties[party as usize];
        agenda.set(party.slot, party.wake_at(now + 1));
    }

    /// Returns the participant of a station that listens to a port; in RTPS 2.5 there is one.
    pub(crate) fn party_at(&self, station: u32, port: u16) -> Option<u32> {
        let party = self.party_of(station)?;
        let own = &self.parties[party as usize];
        let is_other = own.companion != NONE && own.port != port;
        Some(if is_other { own.companion } else { party })
    }

    /// Returns the station of a participant.
    pub(crate) fn station_of(&self, party: usize) -> u32 {
        self.parties[party].station
    }

    /// Returns the index of a station among the participants.
    #[inline]
    pub(crate) fn party_of(&self, station: u32) -> Option<u32> {
        let party = self.by_station.get(station as usize).copied()?;
        (party != NONE).then_some(party)
    }

    /// Returns the stream of each listener, and what became of its samples.
    pub(crate) fn samples(&self) -> impl Iterator<Item = (usize, SampleRecord)> {
        let of = |topic: &Topic, listener: &Listener| {
            let participant = &self.parties[listener.party as usize].participant;
            let counters = participant.reader_counters(listener.reader);
            let talker = &self.parties[topic.party as usize].participant;
            let writer = talker.writer_guid(topic.writer).unwrap_or_default();
            let next = participant.accounted_to(listener.reader, writer);
            let known = u64::try_from(next.0 - 1).unwrap_or(0);
            let waiting = participant.waiting(listener.reader) as u64;
            SampleRecord {
                written: topic.written,
                taken: listener.taken,
                lost: counters.lost,
                rejected: counters.rejected,
                replaced: counters.replaced,
                filtered: counters.filtered,
                expired: counters.expired,
                not_owed: counters.not_owed,
                under_way: topic.written.saturating_sub(known) + waiting,
            }
        };
        self.topics.iter().flat_map(move |topic| {
            let listeners = topic.listeners.iter();
            listeners.map(move |one| (one.stream as usize, of(topic, one)))
        })
    }

    /// Calls `note` with the stream of each listener and how many of its samples have been in
    /// transit for longer than `deadline` of that stream.
    pub(crate) fn overdue(
        &self,
        now: i64,
        deadline: impl Fn(usize) -> i64,
        mut note: impl FnMut(usize, usize),
    ) {
        for listener in self.topics.iter().flat_map(|topic| &topic.listeners) {
            let stream = listener.stream as usize;
            let limit = deadline(stream);
            let count = listener.samples.overdue(now, limit) + listener.answers.overdue(now, limit);
            note(stream, count);
        }
    }
}

impl Party {
    /// Plans something for a time.
    fn plan(&mut self, at: i64, due: Due) {
        self.planned += 1;
        self.due.insert((at, self.planned), due);
    }

    /// Returns when it has to wake up; `after` at the earliest for timers of the engine, so that
    /// time advances.
    fn wake_at(&self, after: i64) -> i64 {
        let timeout = self.participant.poll_timeout();
        let timeout = if timeout == Instant::NEVER {
            NEVER
        } else {
            timeout.as_ns().saturating_mul(1_000).max(after)
        };
        let due = self.due.first_key_value();
        timeout.min(due.map_or(NEVER, |(&(at, _), _)| at))
    }
}

/// Converts a simulated time to the participant's clock.
fn clock(ps: i64) -> Instant {
    Instant::from_ns(ps / 1_000)
}
