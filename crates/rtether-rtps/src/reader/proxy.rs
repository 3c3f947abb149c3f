//! Reader state for a matched writer (8.4.10.4).

mod gone;
mod owed;
mod request;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

pub(crate) use gone::Gone;
use gone::Presumed;

use super::held::{GroupSet, HELD_OCTETS_MAX, OpenSet, Owned};
use super::reassembly::Reassembly;
use super::track::{LEAP_MAX, Track};
use super::{Arrived, ReaderTiming};
use crate::guid::{EntityId, Guid};
use crate::locator::Locator;
use crate::qos::Liveliness;
use crate::sequence::SequenceNumber;
use crate::time::{Duration, Instant};
use crate::wire::{Gap, Heartbeat};
use crate::writer::Count;

/// Maximum number of samples of a writer held for earlier ones.
const HELD_MAX: usize = 512;
/// Number of samples after which an acknowledgment is sent at once.
const ACKNOWLEDGE_AFTER: u32 = 64;
/// Number of samples after which it may travel with a sample of ours.
const ACKNOWLEDGE_ALONG: u32 = 32;
/// Number of contradicting heartbeats after which they are believed.
const CONTRADICTIONS_MAX: u8 = 3;

/// What is known of a writer at matching.
#[derive(Clone, Debug)]
pub(crate) struct RemoteWriter {
    pub(crate) guid: Guid,
    /// Its publisher, if announced.
    pub(crate) group: Option<EntityId>,
    pub(crate) is_reliable: bool,
    pub(crate) strength: i32,
    pub(crate) deadline: Duration,
    pub(crate) lifespan: Duration,
    pub(crate) liveliness: Liveliness,
    /// RTPS 1.0: how long its last sample keeps weaker writers away, whatever the deadlines. There
    /// the first heartbeats tell where a reader begins.
    pub(crate) persistence: Option<Duration>,
    /// Its locators, the preferred one first.
    pub(crate) unicast: Vec<Locator>,
    /// Whether its participant has proved to receive at the preferred one.
    pub(crate) is_proved: bool,
}

/// What a reader wants of a writer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scope {
    /// Whether it wants samples from before it was there.
    pub(crate) is_durable: bool,
    /// Whether it wants only some.
    pub(crate) is_filtered: bool,
}

#[derive(Debug)]
pub(crate) enum Held {
    Sample(Owned),
    /// Samples before this number are irrelevant for this reader.
    Gap(SequenceNumber),
}

/// State of a matched writer.
#[derive(Debug)]
pub(crate) struct WriterProxy {
    pub(crate) remote: RemoteWriter,
    /// All earlier samples were delivered or will not arrive.
    pub(crate) next: SequenceNumber,
    /// All earlier samples have arrived; those up to `next` were only declared gone.
    sure: SequenceNumber,
    /// Consecutive heartbeats that contradict what was declared gone.
    contradictions: u8,
    /// Sequence numbers of a best-effort writer.
    pub(super) track: Track,
    /// A leap far ahead declared by a reliable writer, and the count of the heartbeat, if it was
    /// one.
    leap: Option<(SequenceNumber, Option<i32>)>,
    held: BTreeMap<SequenceNumber, Held>,
    pub(super) held_octets: usize,
    /// Last sample that the writer is known to have.
    announced: SequenceNumber,
    heartbeat_count: Count,
    pub(crate) ack_at: Option<Instant>,
    since_ack: u32,
    /// Time of the last request for missing samples.
    asked_at: Option<Instant>,
    /// Number of requests to a writer that has sent no heartbeat.
    asked: u8,
    /// Interval until missing samples are requested again.
    ask_after: Duration,
    pub(crate) reassembly: Reassembly,
    /// Whether samples have arrived in fragments: missing ones are probably as long.
    pub(super) is_fragmented: bool,
    /// Open coherent set, for readers with coherent access.
    pub(crate) set: Option<OpenSet>,
    /// Sets of its publisher that wait for other writers.
    pub(super) waiting: VecDeque<GroupSet>,
    /// Value of `lost` at the last sample outside of sets, or at the last end marker.
    pub(super) lost_before: Option<u64>,
    /// End of its liveliness; `None` if it has expired.
    pub(crate) alive_until: Option<Instant>,
    /// Samples that are irrecoverably lost.
    pub(crate) lost: u64,
    /// Samples that the writer does not owe this reader.
    pub(crate) not_owed: u64,
    /// Samples that the writer has filtered out for this reader.
    pub(crate) withheld: u64,
    /// Samples declared gone in its name that it never had.
    pub(crate) contradicted: u64,
    /// `lost`, `not_owed` and `withheld` at the last sample in order, for when what came after was a
    /// lie.
    counted: (u64, u64, u64),
    /// Why the writer may withhold samples that it owes.
    pub(super) scope: Scope,
    /// Last sample that may be from before it was there, as far as known: such samples may come, but
    /// are not owed, or are a history with holes.
    history_end: Option<SequenceNumber>,
    /// Samples of `not_owed` after the beginning.
    doubtful: u64,
    /// First sample that is counted here.
    origin: SequenceNumber,
    /// Samples of a best-effort writer that have come.
    arrived: u64,
    /// First sample that the writer owes this reader; `None` until something tells.
    begin: Option<SequenceNumber>,
    /// GAPs in a row that told where the reader begins when it had begun.
    retold: u8,
    /// What is counted because it is said to be gone.
    presumed: Presumed,
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
            not_owed: 0,
            withheld: 0,
            contradicted: 0,
            counted: (0, 0, 0),
            scope: Scope::default(),
            history_end: None,
            doubtful: 0,
            origin: SequenceNumber::FIRST,
            arrived: 0,
            begin: None,
            retold: 0,
            presumed: Presumed::default(),
        }
    }

    /// Sets the position: all samples before `next` have arrived.
    pub(crate) fn begin_at(&mut self, next: SequenceNumber) {
        (self.next, self.sure, self.origin) = (next, next, next);
        self.begin_with(next);
    }

    /// Returns the time of its next acknowledgment, or when its liveliness expires.
    pub(crate) fn due_at(&self) -> Instant {
        let ack = self.ack_at.unwrap_or(Instant::NEVER);
        ack.min(self.alive_until.unwrap_or(Instant::NEVER))
    }

    /// Renews its liveliness; returns whether it had expired.
    pub(crate) fn touch(&mut self, now: Instant) -> bool {
        let was_dead = self.alive_until.is_none();
        self.alive_until = Some(now + self.remote.liveliness.lease);
        was_dead
    }

    /// Returns the number after the last sample that it is known to have.
    pub(super) fn end(&self) -> SequenceNumber {
        self.announced.next().max(self.next)
    }

    /// Returns whether it is reliable and has sent no heartbeat yet.
    pub(crate) fn is_silent(&self) -> bool {
        self.remote.is_reliable && self.heartbeat_count.is_none()
    }

    /// Advances past the sample `next`, which was delivered.
    pub(crate) fn advance(&mut self, now: Instant) {
        if self.begin.is_none() {
            self.begin_with(self.next);
        }
        self.next = self.next.next();
        self.sure = self.next;
        self.counted = (self.lost, self.not_owed, self.withheld);
        self.retold = 0;
        // A sample in order contradicts the claim that it is gone.
        self.leap = None;
        // Fragments that arrived for samples delivered meanwhile would keep their places forever.
        self.reassembly.forget_before(self.next);
        self.announced = self.announced.max(SequenceNumber(self.next.0 - 1));
        self.since_ack += 1;
        self.ask_after = Duration::ZERO;
        if self.remote.is_reliable && self.since_ack >= ACKNOWLEDGE_AFTER {
            self.ack_at = Some(now);
        }
    }

    /// Returns whether an acknowledgment should travel along, though none is due soon.
    pub(super) fn owes_many(&self) -> bool {
        self.remote.is_reliable && self.since_ack >= ACKNOWLEDGE_ALONG
    }

    /// Advances to a later number; earlier samples will not arrive. Returns how many were skipped.
    pub(crate) fn skip_to(&mut self, next: SequenceNumber) -> u64 {
        let skipped = next.0.saturating_sub(self.next.0).max(0);
        if skipped > 0 {
            self.next = next;
            self.forget_held();
        }
        skipped.unsigned_abs()
    }

    /// Advances to a number of a best-effort writer. Skipped samples count as lost, unless this is
    /// the first number received.
    pub(super) fn pass(&mut self, number: SequenceNumber) {
        self.skip_to(number);
        self.begin.get_or_insert(number);
        self.settle();
        self.arrived += 1;
    }

    /// Returns whether a number below the position resets the position of a best-effort writer, and
    /// if so moves it there.
    pub(super) fn moves_back(&mut self, number: SequenceNumber) -> bool {
        if self.remote.is_reliable || !self.track.moves_back(number) {
            return false;
        }
        self.next = number;
        self.begin = self.begin.map(|begin| begin.min(number));
        true
    }

    /// Returns whether a reliable writer may declare that nothing comes before `to`. A leap far
    /// ahead must be declared twice, unless nothing was known of the writer or that much was
    /// announced.
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
        // Asking makes the writer repeat it.
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

    /// Holds a sample until the earlier ones arrive; returns whether there is room, which is also
    /// limited to `room` octets.
    pub(crate) fn hold(
        &mut self,
        now: Instant,
        arrived: &Arrived<'_>,
        timing: &ReaderTiming,
        room: usize,
    ) -> bool {
        let sequence = arrived.sequence;
        // A sample is missing, or has only been overtaken; the next heartbeat may take long.
        self.ack_at.get_or_insert(now + timing.nack_suppression);
        self.announced = self.announced.max(sequence);
        let octets = self.held_octets + arrived.payload.len();
        let is_full =
            self.held.len() >= HELD_MAX || octets > HELD_OCTETS_MAX || arrived.payload.len() > room;
        if is_full || self.held.contains_key(&sequence) {
            return false;
        }
        self.held_octets = octets;
        self.held.insert(sequence, Held::Sample(Owned::new(arrived)));
        true
    }

    /// Returns the next sample if it is held; follows gaps up to it.
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
                Held::Gap(end) => self.pass_over(end),
            }
        }
    }

    /// Puts back a sample that could not be delivered.
    pub(crate) fn put_back(&mut self, sample: Owned) {
        self.held_octets += sample.payload.len();
        self.held.insert(self.next, Held::Sample(sample));
    }

    /// Handles a GAP.
    pub(crate) fn on_gap(&mut self, gap: &Gap) {
        let base = SequenceNumber(gap.set.base());
        if self.is_retold(gap) {
            return;
        }
        if gap.start <= self.next {
            self.pass_over(base);
        } else if base > gap.start && base.0.saturating_sub(gap.start.0) <= LEAP_MAX {
            self.hold_gap(gap.start, base);
        }
        for number in gap.set.iter().map(SequenceNumber) {
            if number == self.next {
                self.pass_over(number.next());
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

    /// Returns whether a sample was delivered or is held.
    pub(crate) fn has(&self, sequence: SequenceNumber) -> bool {
        let held = || matches!(self.held.get(&sequence), Some(Held::Sample(_)));
        sequence < self.next || held()
    }

    /// Gives up samples that the writer no longer has: advances to the next held one below `first`,
    /// otherwise to `first`. Returns whether one is held.
    pub(crate) fn give_up(&mut self, first: SequenceNumber) -> bool {
        let held = self.held.keys().next().copied();
        let held = held.filter(|held| *held < first);
        if self.remote.persistence.is_some() && self.sure == SequenceNumber::FIRST {
            // Every heartbeat of RTPS 1.0 tells where a reader begins that has nothing yet.
            self.begin = None;
        }
        let skipped = self.skip_to(held.unwrap_or(first));
        self.count_missed(skipped);
        held.is_some()
    }

    /// Handles a HEARTBEAT, after samples no longer available were given up; returns whether it is
    /// new.
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
        // A later claim of less shows that an earlier one lied.
        let end = self.history_end.unwrap_or(heartbeat.last);
        self.history_end = Some(end.min(heartbeat.last));
        // The writer has no more than it announces, regardless of earlier claims in its name.
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

    /// Returns to the last certain position if heartbeats repeatedly show that the writer never had
    /// the samples declared gone in its name.
    fn go_back(&mut self, heartbeat: &Heartbeat) {
        if heartbeat.last.next() >= self.next {
            self.contradictions = 0;
            return;
        }
        self.contradictions += 1;
        if self.contradictions >= CONTRADICTIONS_MAX {
            self.contradictions = 0;
            let claimed = self.next;
            self.next = self.sure.max(heartbeat.first);
            let lied = claimed.0.saturating_sub(self.next.0).max(0).unsigned_abs();
            self.contradicted = self.contradicted.saturating_add(lied);
            (self.lost, self.not_owed, self.withheld) = self.counted;
            let gone = self.next.0.saturating_sub(self.sure.0);
            self.lose(gone.unsigned_abs());
        }
    }
}
