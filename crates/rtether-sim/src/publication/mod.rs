//! Publications over RTPS 2.5: the engine of [`rtether_rtps`] in the nodes of the simulation.
//!
//! Each station that talks or listens in a flow over RTPS has one participant, which is there from the
//! start of the run and finds the others by multicast, as on a wire: what the engine sends are frames
//! with these very octets. A flow is a topic of its own with one writer and a reader at each listener;
//! its answers are a topic for each listener, so that a round trip is that of the Dolejs paper
//! (publication 1, subscription 2, publication 2, subscription 1; catalogue D6, R153).
//!
//! **When it begins.** An application publishes once its readers are matched, as `rtether pub` does;
//! releases before are not made. A flow whose readers are never found releases nothing.
//!
//! **What is booked.** A stream counts samples: what is sent again is no loss. Latency runs from the
//! release to the moment at which the reader hands the sample out, in order. Its parts are those of the
//! datagram that completed the sample; what else passes (waiting for a repetition, or for what was lost
//! before) is booked as talker stack, at the talker. The engine itself takes no time: what a
//! middleware costs belongs to the stack of the station.
//!
//! **Limits.** Those of the engine: a writer keeps at most 4096 samples that are not acknowledged,
//! further ones are refused and count as dropped. Of samples that nobody acknowledges 100 000 are kept
//! account of for a reader; older ones count as dropped.

mod build;
mod message;
mod run;
mod series;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use rtether_rtps::engine::{Participant, ReaderId, WriterId};
use rtether_rtps::guid::Guid;
use rtether_rtps::time::Instant;

pub(crate) use message::Message;
use series::Series;

use crate::agenda::NEVER;
use crate::packet::NONE;
use crate::whole::Released;

/// All that publish or subscribe.
#[derive(Default)]
pub(crate) struct Publications {
    pub(crate) parties: Vec<Party>,
    /// By station: its place in `parties`, or [`NONE`].
    by_station: Vec<u32>,
    /// By address: its station.
    by_address: BTreeMap<Ipv4Addr, u32>,
    pub(crate) topics: Vec<Topic>,
    /// By writer: its topic, and for that of answers the position of the listener.
    by_writer: BTreeMap<Guid, Role>,
    buffer: Vec<u8>,
}

/// What a writer of an application writes, or a reader reads.
#[derive(Clone, Copy)]
struct Role {
    topic: u32,
    /// Position of the listener that answers; none for the publication itself.
    answers: Option<u32>,
}

/// A station that takes part.
pub(crate) struct Party {
    participant: Participant,
    station: u32,
    pub(crate) slot: u32,
    /// The first of its flows, which stands for all in discovery.
    flow: u32,
    /// Its readers: what they read, and the position of the listener.
    readers: Vec<(Role, u32)>,
    /// Numbers its datagrams.
    number: u32,
    /// Answers by the time at which they are due and by their order.
    due: BTreeMap<(i64, u64), Answer>,
    planned: u64,
}

/// An answer that is being thought of.
struct Answer {
    topic: u32,
    listener: u32,
    released: Released,
}

/// A flow.
pub(crate) struct Topic {
    flow: u32,
    talker: u32,
    party: u32,
    writer: WriterId,
    payload: Vec<u8>,
    pub(crate) listeners: Vec<Listener>,
    answer: Option<AnswerOf>,
    /// Whether all have found each other.
    is_matched: bool,
}

/// What listeners answer.
struct AnswerOf {
    payload: Vec<u8>,
    after: i64,
}

/// One listener of a topic.
pub(crate) struct Listener {
    party: u32,
    stream: u32,
    reader: ReaderId,
    samples: Series,
    /// Its writer, and the reader of the talker.
    back: Option<(WriterId, ReaderId)>,
    answers: Series,
}

impl Publications {
    /// Returns the place of a station among those that take part.
    #[inline]
    pub(crate) fn party_of(&self, station: u32) -> Option<u32> {
        let party = self.by_station.get(station as usize).copied()?;
        (party != NONE).then_some(party)
    }

    /// Calls `note` with the stream of each listener and how many of its samples are on the way for
    /// longer than the deadline that `deadline` returns.
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
    /// Returns when it has something to do, never before `after`: time goes on, whatever it says.
    pub(crate) fn wake_at(&self, after: i64) -> i64 {
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

/// Returns what the clock of a participant shows.
fn clock(ps: i64) -> Instant {
    Instant::from_ns(ps / 1_000)
}
