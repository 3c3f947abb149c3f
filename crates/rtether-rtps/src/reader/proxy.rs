//! What a reader knows of a writer (8.4.10.4).

mod request;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use super::coherent::OpenSet;
use super::group::GroupSet;
use super::reassembly::Reassembly;
use super::track::{LEAP_MAX, Track};
use super::{Arrived, ReaderTiming};
use crate::guid::{EntityId, Guid};
use crate::locator::Locator;
use crate::qos::Liveliness;
use crate::sequence::SequenceNumber;
use crate::time::{Duration, Instant, WallTime};
use crate::wire::{Gap, Heartbeat, InlineQos};
use crate::writer::{ChangeKind, Count};

/// Samples of a writer that wait for earlier ones, at most.
const HELD_MAX: usize = 512;
/// Their octets, at most.
pub(super) const HELD_OCTETS_MAX: usize = 8 << 20;
/// Samples after which a writer is told at once that they are there.
const ACKNOWLEDGE_AFTER: u32 = 64;
/// Heartbeats that contradict what was said before, until they are believed.
const CONTRADICTIONS_MAX: u8 = 3;

/// What is known of a writer when it is matched.
#[derive(Clone, Debug)]
pub(crate) struct RemoteWriter {
    pub(crate) guid: Guid,
    /// Its publisher, if it says so.
    pub(crate) group: Option<EntityId>,
    pub(crate) is_reliable: bool,
    pub(crate) strength: i32,
    pub(crate) deadline: Duration,
    pub(crate) lifespan: Duration,
    pub(crate) liveliness: Liveliness,
    /// Where it is, the preferred place first.
    pub(crate) unicast: Vec<Locator>,
}

/// A sample that waits for earlier ones.
#[derive(Debug)]
pub(crate) struct Owned {
    pub(crate) kind: ChangeKind,
    pub(crate) payload: Vec<u8>,
    pub(crate) inline: InlineQos,
    pub(crate) time: Option<WallTime>,
    at: Instant,
}

impl Owned {
    pub(super) fn new(arrived: &Arrived<'_>) -> Self {
        Self {
            kind: arrived.kind,
            payload: arrived.payload.to_vec(),
            inline: arrived.inline,
            time: arrived.time,
            at: arrived.at,
        }
    }

    pub(super) fn arrived(&self, sequence: SequenceNumber) -> Arrived<'_> {
        Arrived {
            sequence,
            kind: self.kind,
            payload: &self.payload,
            inline: self.inline,
            time: self.time,
            at: self.at,
        }
    }
}

#[derive(Debug)]
pub(crate) enum Held {
    Sample(Owned),
    /// Nothing is meant for this reader up to before this number.
    Gap(SequenceNumber),
}

/// A writer.
#[derive(Debug)]
pub(crate) struct WriterProxy {
    pub(crate) remote: RemoteWriter,
    /// All before it has been delivered or will never come.
    pub(crate) next: SequenceNumber,
    /// All before it has come: what lies between was only said to be gone.
    sure: SequenceNumber,
    /// Heartbeats in a row that know nothing of what was said to be gone.
    contradictions: u8,
    /// The numbers of a best-effort writer.
    pub(super) track: Track,
    /// Where to a reliable writer said to go that is far ahead, and the count of the heartbeat that did.
    leap: Option<(SequenceNumber, Option<i32>)>,
    held: BTreeMap<SequenceNumber, Held>,
    pub(super) held_octets: usize,
    /// The last sample that it is known to have.
    announced: SequenceNumber,
    heartbeat_count: Count,
    pub(crate) ack_at: Option<Instant>,
    since_ack: u32,
    /// When something missing was asked for last.
    asked_at: Option<Instant>,
    /// How often it has been asked what it has; it has not said yet.
    asked: u8,
    /// From asking for what is missing to asking again.
    ask_after: Duration,
    pub(crate) reassembly: Reassembly,
    /// Whether samples have come in fragments: others that are missing are probably as long.
    pub(super) is_fragmented: bool,
    /// What has come of a coherent set, for readers that want it as a whole.
    pub(crate) set: Option<OpenSet>,
    /// Sets of its publisher that wait for other writers.
    pub(super) waiting: VecDeque<GroupSet>,
    /// What was lost when a sample outside of sets, or the end of one, came last.
    pub(super) lost_before: Option<u64>,
    /// Until when it counts as alive; `None` if it no longer does.
    pub(crate) alive_until: Option<Instant>,
    /// Samples that will never come.
    pub(crate) lost: u64,
}

impl WriterProxy {
    pub(crate) fn new(now: Instant, remote: RemoteWriter) -> Self {
        Self {
            ack_at: remote.is_reliable.then_some(now),
            alive_until: Some(now + remote.liveliness.lease),
            remote,
            next: SequenceNumber::FIRST,
            sure: SequenceNumber::FIRST,
            contradictions: 0,
            track: Track::default(),
            leap: None,
            held: BTreeMap::new(),
            held_octets: 0,
            announced: SequenceNumber::ZERO,
            heartbeat_count: Count::default(),
            since_ack: 0,
            asked_at: None,
            asked: 0,
            ask_after: Duration::ZERO,
            reassembly: Reassembly::default(),
            is_fragmented: false,
            set: None,
            waiting: VecDeque::new(),
            lost_before: None,
            lost: 0,
        }
    }

    /// Says that all before `next` has come.
    pub(crate) fn begin_at(&mut self, next: SequenceNumber) {
        (self.next, self.sure) = (next, next);
    }

    /// Returns when it is to be told something, or counts as alive no longer.
    pub(crate) fn due_at(&self) -> Instant {
        let ack = self.ack_at.unwrap_or(Instant::NEVER);
        ack.min(self.alive_until.unwrap_or(Instant::NEVER))
    }

    /// Notes a sign of life; returns whether it had been taken for dead.
    pub(crate) fn touch(&mut self, now: Instant) -> bool {
        let was_dead = self.alive_until.is_none();
        self.alive_until = Some(now + self.remote.liveliness.lease);
        was_dead
    }

    /// Returns whether it is reliable and has never said what it has.
    pub(crate) fn is_silent(&self) -> bool {
        self.remote.is_reliable && self.heartbeat_count.is_none()
    }

    /// Notes that the sample `next` has been delivered.
    pub(crate) fn advance(&mut self, now: Instant) {
        self.next = self.next.next();
        self.sure = self.next;
        // What comes in order contradicts whoever said that nothing does.
        self.leap = None;
        // Fragments of what has been delivered since they came would keep their places for good.
        self.reassembly.forget_before(self.next);
        self.announced = self.announced.max(SequenceNumber(self.next.0 - 1));
        self.since_ack += 1;
        self.ask_after = Duration::ZERO;
        if self.remote.is_reliable && self.since_ack >= ACKNOWLEDGE_AFTER {
            self.ack_at = Some(now);
        }
    }

    /// Goes on at a later number: what lies before will never come. Returns how many that are.
    pub(crate) fn skip_to(&mut self, next: SequenceNumber) -> u64 {
        let skipped = next.0.saturating_sub(self.next.0).max(0);
        if skipped > 0 {
            self.next = next;
            self.forget_held();
        }
        skipped.unsigned_abs()
    }

    /// Goes on at a number of a best-effort writer; what lies before is lost, unless nothing was there yet,
    /// which says nothing of others.
    pub(super) fn pass(&mut self, number: SequenceNumber) {
        let is_first = self.next == SequenceNumber::FIRST;
        let skipped = self.skip_to(number);
        self.lose(if is_first { 0 } else { skipped });
    }

    /// Returns whether a best-effort writer is where its number, which lies below what came before, says;
    /// its place is there then.
    pub(super) fn moves_back(&mut self, number: SequenceNumber) -> bool {
        if self.remote.is_reliable || !self.track.moves_back(number) {
            return false;
        }
        let found = self.next.0.saturating_sub(number.0).unsigned_abs();
        self.lost = self.lost.saturating_sub(found);
        self.next = number;
        true
    }

    /// Returns whether a reliable writer may say that nothing comes before `to`. One that is far ahead
    /// has to be said twice, unless nothing was known or that much was announced.
    pub(super) fn may_leap(
        &mut self,
        now: Instant,
        to: SequenceNumber,
        count: Option<i32>,
    ) -> bool {
        let is_far = to.0.saturating_sub(self.next.0) > LEAP_MAX;
        let is_known = !self.heartbeat_count.is_none() || self.next > SequenceNumber::FIRST;
        let is_told = count.is_none() && to <= self.announced.next();
        if !is_far || !is_known || is_told || !self.remote.is_reliable {
            return true;
        }
        let is_again = |(before, said): (SequenceNumber, Option<i32>)| {
            before <= to && (count.is_none() || said != count)
        };
        if self.leap.is_some_and(is_again) {
            self.leap = None;
            return true;
        }
        self.leap = Some((to, count));
        // Whoever is asked says it again.
        self.ack_at.get_or_insert(now);
        false
    }

    fn forget_held(&mut self) {
        while let Some(first) = self.held.first_entry() {
            let is_past = match first.get() {
                Held::Sample(_) => *first.key() < self.next,
                Held::Gap(end) => *end <= self.next,
            };
            if !is_past {
                break;
            }
            if let Held::Sample(sample) = first.remove() {
                self.held_octets -= sample.payload.len();
            }
        }
        self.reassembly.forget_before(self.next);
    }

    /// Keeps a sample until the earlier ones are there; returns whether there is room, which is also
    /// limited to `room` octets.
    pub(crate) fn hold(
        &mut self,
        now: Instant,
        arrived: &Arrived<'_>,
        timing: &ReaderTiming,
        room: usize,
    ) -> bool {
        let sequence = arrived.sequence;
        // Something is missing, unless it has only been overtaken; a heartbeat may be long in coming.
        self.ack_at.get_or_insert(now + timing.nack_suppression);
        self.announced = self.announced.max(sequence);
        let octets = self.held_octets + arrived.payload.len();
        let is_full =
            self.held.len() >= HELD_MAX || octets > HELD_OCTETS_MAX || arrived.payload.len() > room;
        if is_full || self.held.contains_key(&sequence) {
            return false;
        }
        self.held_octets = octets;
        self.held
            .insert(sequence, Held::Sample(Owned::new(arrived)));
        true
    }

    /// Returns the sample that is next, if it has been held; follows gaps up to it.
    pub(crate) fn take_held(&mut self) -> Option<Owned> {
        loop {
            let first = self.held.first_entry()?;
            if *first.key() > self.next {
                return None;
            }
            match first.remove() {
                Held::Sample(sample) => {
                    self.held_octets -= sample.payload.len();
                    return Some(sample);
                }
                Held::Gap(end) => {
                    self.next = self.next.max(end);
                    self.forget_held();
                }
            }
        }
    }

    /// Puts a sample back that could not be delivered.
    pub(crate) fn put_back(&mut self, sample: Owned) {
        self.held_octets += sample.payload.len();
        self.held.insert(self.next, Held::Sample(sample));
    }

    /// Takes in what is not meant for this reader.
    pub(crate) fn on_gap(&mut self, gap: &Gap) {
        let base = SequenceNumber(gap.set.base());
        if gap.start <= self.next {
            self.skip_to(base);
        } else if base > gap.start && base.0.saturating_sub(gap.start.0) <= LEAP_MAX {
            self.hold_gap(gap.start, base);
        }
        for number in gap.set.iter().map(SequenceNumber) {
            if number == self.next {
                self.skip_to(number.next());
            } else if number > self.next {
                self.hold_gap(number, number.next());
            }
        }
    }

    fn hold_gap(&mut self, start: SequenceNumber, end: SequenceNumber) {
        if self.held.len() < HELD_MAX {
            self.held.entry(start).or_insert(Held::Gap(end));
        }
    }

    /// Returns whether a sample has been delivered, or is held.
    pub(crate) fn has(&self, sequence: SequenceNumber) -> bool {
        let held = || matches!(self.held.get(&sequence), Some(Held::Sample(_)));
        sequence < self.next || held()
    }

    /// Counts samples that will never come.
    pub(crate) fn lose(&mut self, count: u64) {
        self.lost = self.lost.saturating_add(count);
    }

    /// Gives up the next samples, which the writer no longer has: goes on at the next one that is held
    /// below `first`, or else at `first`. Returns whether one is held.
    pub(crate) fn give_up(&mut self, first: SequenceNumber) -> bool {
        let held = self.held.keys().next().copied();
        let held = held.filter(|held| *held < first);
        let skipped = self.skip_to(held.unwrap_or(first));
        self.lose(skipped);
        held.is_some()
    }

    /// Takes in what the writer has, once what it no longer has is given up; returns whether that is
    /// news.
    pub(crate) fn on_heartbeat(
        &mut self,
        now: Instant,
        heartbeat: &Heartbeat,
        timing: &ReaderTiming,
    ) -> bool {
        if !self.heartbeat_count.is_new(heartbeat.count) {
            return false;
        }
        self.go_back(heartbeat);
        // It has no more than it says, whatever was said in its name before.
        let held = self.held.keys().next_back().copied();
        let had = SequenceNumber(self.next.0 - 1).max(held.unwrap_or_default());
        self.announced = heartbeat.last.max(had);
        let at = if self.is_missing() {
            let suppressed = self.asked_at.map(|at| at + timing.nack_suppression);
            Some(suppressed.map_or(now, |until| until.max(now)))
        } else if heartbeat.is_final {
            None
        } else {
            Some(now + timing.ack_delay)
        };
        if let Some(at) = at {
            self.ack_at = Some(self.ack_at.map_or(at, |other| other.min(at)));
        }
        true
    }

    /// Goes back to what has come if the writer has never had what was said to be gone, in its name.
    fn go_back(&mut self, heartbeat: &Heartbeat) {
        if heartbeat.last.next() >= self.next {
            self.contradictions = 0;
            return;
        }
        self.contradictions += 1;
        if self.contradictions >= CONTRADICTIONS_MAX {
            self.contradictions = 0;
            self.next = self.sure.max(heartbeat.first);
        }
    }
}
