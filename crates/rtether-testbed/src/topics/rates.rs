//! How much the writers of a domain send, seen by a reader of all topics.
//!
//! One best-effort reader per topic, type and set of policies: it requests no retransmissions, and
//! no writer waits for it. It costs as much as any reader: writers send every sample to it too, and
//! volatile writers that wait for a reader start. Values are counted and dropped; their type need
//! not be known.

use std::collections::{BTreeMap, BTreeSet};

use rtether_live::rtps::Domain;
use rtether_model::quantity::Duration;
use rtether_rtps::discovery::EndpointData;
use rtether_rtps::engine::{Event, NewReader, ReaderId, TopicName};
use rtether_rtps::guid::Guid;
use rtether_rtps::qos::{History, Liveliness, Ownership, Qos, Representation};
use rtether_rtps::reader::KeyOf;
use rtether_rtps::time::{self, Instant};

use super::shown;

/// Largest number of readers; topics beyond it have no rates.
const READERS_MAX: usize = 256;
/// Largest number of writers counted.
const WRITERS_MAX: usize = 4_096;
/// Queue of a reader, in samples: more than arrive between two looks.
const DEPTH: u32 = 1_024;

/// What a writer has sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Samples after the first one, at which the time starts.
    pub samples: u64,
    /// Octets of their payloads, including the four of the encapsulation header.
    pub octets: u64,
    /// Samples between the first and the last that did not arrive.
    pub missed: u64,
    /// Time counted: since the first sample, or since the reader matched the writer.
    pub span: Duration,
}

impl Rate {
    /// Returns `count` per second, in thousandths, rounded down.
    fn per_second_milli(self, count: u64) -> u64 {
        let ns = u128::try_from(self.span.as_ns_floor()).unwrap_or(0);
        let milli = (u128::from(count) * 1_000_000_000_000).checked_div(ns);
        u64::try_from(milli.unwrap_or(0)).unwrap_or(u64::MAX)
    }

    /// Returns samples per second, in thousandths, rounded down.
    pub fn samples_per_second_milli(self) -> u64 {
        self.per_second_milli(self.samples)
    }

    /// Returns octets per second, rounded down.
    pub fn octets_per_second(self) -> u64 {
        self.per_second_milli(self.octets) / 1_000
    }
}

/// What one reader must have to match its writers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Subject {
    topic: String,
    type_name: String,
    has_key: bool,
    is_exclusive: bool,
    partitions: Vec<String>,
}

#[derive(Clone, Copy, Debug)]
struct Count {
    since: Instant,
    samples: u64,
    octets: u64,
    first: i64,
    last: i64,
    has_begun: bool,
}

/// The readers and their counts.
#[derive(Debug, Default)]
pub(super) struct Rates {
    subjects: BTreeSet<Subject>,
    readers: Vec<ReaderId>,
    counts: BTreeMap<Guid, Count>,
}

impl Rates {
    /// Creates readers for new topics.
    pub(super) fn look(&mut self, domain: &mut Domain) {
        let endpoints = domain.participant().endpoints();
        let writers = endpoints.filter(|(is_writer, _)| *is_writer);
        let subjects = writers.map(|(_, writer)| Subject::of(writer));
        let new: BTreeSet<Subject> =
            subjects.filter(|subject| !self.subjects.contains(subject)).take(READERS_MAX).collect();
        let now = domain.now();
        for subject in new {
            if self.readers.len() >= READERS_MAX {
                return;
            }
            // A subject that finds no room in the participant is tried again at the next look.
            if let Ok(reader) = domain.participant_mut().add_reader(now, subject.reader()) {
                self.readers.push(reader);
                self.subjects.insert(subject.clone());
            }
        }
    }

    /// Notes a match.
    pub(super) fn on_event(&mut self, now: Instant, event: &Event) {
        if let Event::WriterMatched { writer, .. } = event {
            self.begin(*writer, now);
        }
    }

    fn begin(&mut self, writer: Guid, now: Instant) -> Option<&mut Count> {
        if self.counts.len() >= WRITERS_MAX && !self.counts.contains_key(&writer) {
            return None;
        }
        Some(self.counts.entry(writer).or_insert(Count {
            since: now,
            samples: 0,
            octets: 0,
            first: 0,
            last: 0,
            has_begun: false,
        }))
    }

    /// Counts what has arrived.
    pub(super) fn count(&mut self, domain: &mut Domain) {
        let now = domain.now();
        for at in 0..self.readers.len() {
            let Some(reader) = self.readers.get(at).copied() else {
                return;
            };
            let participant = domain.participant_mut();
            while let Some((info, len)) =
                participant.take(now, reader, |info, payload, _| (*info, payload.len()))
            {
                if let Some(count) = self.begin(info.writer, now).filter(|_| info.is_valid) {
                    count.add(info.received_at, info.sequence.0, len);
                }
            }
        }
    }

    /// Returns what a writer has sent until now; `None` if it was not counted.
    pub(super) fn of(&self, writer: Guid, now: Instant) -> Option<Rate> {
        let count = self.counts.get(&writer)?;
        let between = count.last.saturating_sub(count.first);
        let between = u64::try_from(between).unwrap_or(0);
        Some(Rate {
            samples: count.samples,
            octets: count.octets,
            missed: between.saturating_sub(count.samples),
            span: shown(now - count.since),
        })
    }
}

impl Count {
    fn add(&mut self, at: Instant, sequence: i64, len: usize) {
        self.last = sequence;
        if !self.has_begun {
            self.has_begun = true;
            self.since = at;
            self.first = sequence;
            return;
        }
        self.samples += 1;
        self.octets += u64::try_from(len).unwrap_or(0);
    }
}

impl Subject {
    fn of(writer: &EndpointData) -> Self {
        Self {
            topic: writer.topic.clone(),
            type_name: writer.type_name.clone(),
            has_key: writer.guid.entity.has_key(),
            is_exclusive: writer.qos.ownership == Ownership::Exclusive,
            partitions: writer.qos.partitions.clone(),
        }
    }

    /// Returns a reader that matches any offered policies.
    fn reader(&self) -> NewReader<'_> {
        let qos = Qos {
            history: History::KeepLast(DEPTH),
            latency_budget: time::Duration::INFINITE,
            liveliness: Liveliness::default(),
            ownership: if self.is_exclusive { Ownership::Exclusive } else { Ownership::Shared },
            partitions: self.partitions.clone(),
            representations: vec![Representation::Xcdr1, Representation::Xcdr2],
            ..Qos::reader()
        };
        NewReader {
            name: TopicName { topic: &self.topic, type_name: &self.type_name },
            // All samples are one instance, since the place of the key is unknown.
            key_of: self.has_key.then_some(KeyOf::Function(|_, _, _| Some([0; 16]))),
            qos,
            filter: None,
            subscriber: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_counts_over_the_time() {
        // Oracle: by hand: 6 samples of 36 octets in 2 s after the first; three of the numbers 6 to
        // 14 are missing.
        let mut rates = Rates::default();
        let (writer, begin) = (Guid::default(), Instant::from_ns(1_000_000_000));
        assert_eq!(rates.of(writer, begin), None);
        let mut count = Count {
            since: Instant::from_ns(0),
            samples: 0,
            octets: 0,
            first: 0,
            last: 0,
            has_begun: false,
        };
        for sequence in [5, 6, 8, 9, 11, 12, 14] {
            count.add(begin, sequence, 36);
        }
        rates.counts.insert(writer, count);
        let rate = rates.of(writer, begin + time::Duration::from_s(2));
        let expected = Rate { samples: 6, octets: 216, missed: 3, span: Duration::from_secs(2) };
        assert_eq!(rate, Some(expected));
        assert_eq!(expected.samples_per_second_milli(), 3_000);
        assert_eq!(expected.octets_per_second(), 108);
        // In zero time there is no rate.
        let at_once = rates.of(writer, begin);
        assert_eq!(at_once.map(Rate::octets_per_second), Some(0));
    }
}
