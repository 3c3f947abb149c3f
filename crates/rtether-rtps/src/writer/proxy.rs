//! What a writer knows of a reader (8.4.7.5).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::cache::Change;
use super::window::Window;
use crate::filter::{Filter, Judge};
use crate::guid::Guid;
use crate::locator::Locator;
use crate::qos::Reliability;
use crate::reader::PARTIALS_MAX;
use crate::sequence::{NumberSet, SequenceNumber};
use crate::time::{Duration, Instant};
use crate::wire::{AckNack, NackFrag};

/// What is known of a reader when it is matched.
#[derive(Clone, Debug)]
pub(crate) struct RemoteReader {
    pub(crate) guid: Guid,
    pub(crate) reliability: Reliability,
    /// Whether it wants what was written before.
    pub(crate) wants_history: bool,
    /// Where it is, the preferred place first.
    pub(crate) unicast: Vec<Locator>,
    pub(crate) multicast: Vec<Locator>,
    /// Which samples it wants, if this writer knows how to tell.
    pub(crate) filter: Option<(Filter, Judge)>,
    /// The least time between samples of an instance that it wants.
    pub(crate) separation: Duration,
}

/// A reader.
#[derive(Debug)]
pub(crate) struct ReaderProxy {
    pub(crate) remote: RemoteReader,
    /// The first sample that is meant for it.
    pub(crate) start: SequenceNumber,
    /// It has all up to here.
    pub(crate) acknowledged: SequenceNumber,
    /// What it has asked for and has not been sent yet.
    requested: NumberSet,
    requested_fragments: BTreeMap<SequenceNumber, NumberSet>,
    /// How much of long samples it is sent before it has said that it has the ones before.
    pub(super) window: Window,
    /// When it was sent a long sample that it has said nothing since; `None` if it owes no word.
    unheard_since: Option<Instant>,
    /// Samples in fragments that it may still be sent as a whole for what it has asked for last.
    wholes: u32,
    /// Octets that it may still be sent for what it has asked for last.
    repairs: usize,
    /// What was written before it came: the next to be sent, and the last.
    history: Option<(SequenceNumber, SequenceNumber)>,
    count: Count,
    fragment_count: Count,
    pub(crate) wants_heartbeat: bool,
    /// Whether it has ever acknowledged anything: until then it gets nothing but heartbeats.
    pub(crate) has_answered: bool,
    /// Heartbeats that it has been sent, as long as it has not answered.
    heartbeats: u8,
    /// Whether it has ever said up to where it has everything.
    has_told_base: bool,
}

/// Octets of samples that are looked at for others; longer ones are sent in any case.
const FILTERED_MAX: usize = 64 << 10;

/// Heartbeats for a reader that has never answered: perhaps nobody is there, or somebody to whom it was
/// made known by another who wishes them ill.
const UNANSWERED_MAX: u8 = 20;

/// Octets that a reader is sent for having asked once: a hundred octets may ask for a whole history, and
/// he who asks may be another than he who gets it. After that it is told what there is, and asks again.
const REPAIRS_MAX: usize = 1 << 20;

/// A reader that has said nothing for so long to a long sample keeps no others back.
const SILENT: Duration = Duration::from_s(1);

/// What a reader is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Sample(SequenceNumber),
    /// A fragment of it.
    Fragment(SequenceNumber, u32),
}

/// Counts that go on from one old one until they are believed.
const STRAYS_MAX: u8 = 4;

/// Tells news from what comes twice or late, by counts that go around after 2^32.
///
/// A single count that is far ahead, of whatever origin, would make old all that comes after: a few
/// that go on from each other are believed although they are old.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    last: Option<i32>,
    stray: Option<i32>,
    strays: u8,
}

impl Count {
    /// Returns whether there was none yet.
    pub(crate) fn is_none(self) -> bool {
        self.last.is_none()
    }

    /// Takes in a count; returns whether it is news.
    pub(crate) fn is_new(&mut self, count: i32) -> bool {
        let is_later = |last: Option<i32>| last.is_none_or(|last| count.wrapping_sub(last) > 0);
        if !is_later(self.last) {
            let goes_on = self.stray.is_some() && is_later(self.stray);
            self.strays = if goes_on { self.strays + 1 } else { 1 };
            self.stray = Some(count);
            if self.strays < STRAYS_MAX {
                return false;
            }
        }
        *self = Self {
            last: Some(count),
            ..Self::default()
        };
        true
    }
}

impl ReaderProxy {
    /// Returns a reader that is matched while the writer has samples from `first` to `last`.
    pub(crate) fn new(remote: RemoteReader, first: SequenceNumber, last: SequenceNumber) -> Self {
        let start = if remote.wants_history {
            SequenceNumber::FIRST
        } else {
            last.next()
        };
        let has_history = remote.wants_history && first <= last;
        // A reliable reader asks for what it lacks.
        let is_sent = has_history && remote.reliability == Reliability::BestEffort;
        Self {
            wants_heartbeat: remote.reliability == Reliability::Reliable,
            remote,
            start,
            acknowledged: SequenceNumber(start.0 - 1),
            requested: NumberSet::empty(1),
            requested_fragments: BTreeMap::new(),
            window: Window::default(),
            unheard_since: None,
            wholes: 0,
            repairs: 0,
            history: is_sent.then_some((first, last)),
            count: Count::default(),
            fragment_count: Count::default(),
            has_answered: false,
            heartbeats: 0,
            has_told_base: false,
        }
    }

    /// Returns whether it wants a sample, as far as is known: it looks for itself in any case.
    pub(super) fn wants(&self, change: &Change) -> bool {
        let filter = self.remote.filter.as_ref();
        filter.is_none_or(|(filter, judge)| {
            // A set without one of its samples would be no set.
            !change.kind.is_alive()
                || change.set.is_some()
                || change.payload.len() > FILTERED_MAX
                || judge.passes(filter, &change.payload) != Some(false)
        })
    }

    pub(crate) fn is_reliable(&self) -> bool {
        self.remote.reliability == Reliability::Reliable
    }

    /// Returns where it is told what concerns it alone.
    pub(crate) fn place(&self) -> Option<Locator> {
        let remote = &self.remote;
        remote.unicast.first().or(remote.multicast.first()).copied()
    }

    /// Returns whether it lacks a sample up to `last`, or has never said what it has.
    pub(crate) fn is_behind(&self, last: SequenceNumber) -> bool {
        self.is_reliable() && (self.acknowledged < last || !self.has_answered)
    }

    /// Returns whether it has never answered, although it was told often enough what there is.
    pub(crate) fn is_given_up(&self) -> bool {
        !self.has_answered && self.heartbeats >= UNANSWERED_MAX
    }

    /// Returns whether it keeps long samples back: one that has fallen silent does not.
    pub(super) fn is_paced(&self, now: Instant) -> bool {
        let is_silent = self
            .unheard_since
            .is_some_and(|since| now - since >= SILENT);
        self.is_reliable() && !self.is_given_up() && !is_silent
    }

    /// Notes that it is sent a long sample, to which it has to say something. One that was sent nothing
    /// has not fallen silent.
    pub(super) fn on_long_sent(&mut self, now: Instant) {
        self.unheard_since.get_or_insert(now);
    }

    /// Notes that it is sent a heartbeat.
    pub(crate) fn on_heartbeat_sent(&mut self) {
        self.wants_heartbeat = false;
        self.heartbeats = self.heartbeats.saturating_add(1);
    }

    /// Takes in what it says while the writer has samples up to `last`, of which it was sent those up to
    /// `sent`; returns whether that is news.
    pub(crate) fn on_ack_nack(
        &mut self,
        ack: &AckNack,
        last: SequenceNumber,
        sent: SequenceNumber,
    ) -> bool {
        // A base beyond what was ever written is not from a reader of ours.
        if ack.set.base() > last.0 + 1 || !self.count.is_new(ack.count) {
            return false;
        }
        self.has_answered = true;
        self.unheard_since = None;
        let base = SequenceNumber(ack.set.base());
        if base > SequenceNumber::FIRST && !self.has_told_base {
            // It has had samples before it was known here, by the way of others or before it was lost
            // sight of: what follows is meant for it, too.
            self.has_told_base = true;
            self.start = self.start.min(base);
        }
        // A reader that has lost sight of this writer begins anew, and has less than before.
        let acknowledged = SequenceNumber(base.0 - 1);
        self.acknowledged = acknowledged.max(SequenceNumber(self.start.0 - 1));
        // Later ones go to all when it is their turn.
        self.requested = ack.set.up_to(sent.0);
        self.repairs = REPAIRS_MAX;
        self.requested_fragments = self.requested_fragments.split_off(&base);
        if self.requested.is_empty() {
            self.window.on_clean(self.acknowledged, sent);
        } else {
            self.window.on_loss(self.acknowledged, sent);
        }
        self.wholes = self.window.samples();
        if let Some((next, end)) = &mut self.history {
            *next = (*next).max(acknowledged.next());
            if *next > *end {
                self.history = None;
            }
        }
        if !ack.is_final {
            self.wants_heartbeat = true;
        }
        true
    }

    /// Takes in which fragments it lacks; returns whether that is news.
    pub(crate) fn on_nack_frag(&mut self, nack: &NackFrag, sent: SequenceNumber) -> bool {
        if !self.fragment_count.is_new(nack.count) {
            return false;
        }
        self.unheard_since = None;
        self.window.on_loss(self.acknowledged, sent);
        self.want_fragments(nack.sequence, nack.set);
        self.repairs = REPAIRS_MAX;
        true
    }

    /// Returns what to send it next, if anything.
    pub(crate) fn wanted(&self, last: SequenceNumber) -> Option<Wanted> {
        if let Some((sequence, set)) = self.requested_fragments.first_key_value()
            && let Some(fragment) = set.iter().next()
            && let Ok(fragment) = u32::try_from(fragment)
        {
            return Some(Wanted::Fragment(*sequence, fragment));
        }
        let mut requested = self.requested.iter().map(SequenceNumber);
        if let Some(sequence) = requested.find(|sequence| *sequence <= last) {
            return Some(Wanted::Sample(sequence));
        }
        self.history.map(|(next, _)| Wanted::Sample(next))
    }

    /// Notes that it was sent so many octets of what it has asked for.
    pub(crate) fn on_repaired(&mut self, octets: usize) {
        self.repairs = self.repairs.saturating_sub(octets);
        if self.repairs == 0 && self.is_reliable() {
            self.requested = NumberSet::empty(self.requested.base());
            self.requested_fragments.clear();
            self.wants_heartbeat = true;
        }
    }

    /// Notes that all samples up to `sequence` that it had asked for have been sent.
    pub(crate) fn on_sent(&mut self, sequence: SequenceNumber) {
        let mut left = NumberSet::empty(self.requested.base());
        for number in self.requested.iter().filter(|number| *number > sequence.0) {
            left.insert(number);
        }
        self.requested = left;
        if let Some((next, end)) = &mut self.history {
            *next = (*next).max(sequence.next());
            if *next > *end {
                self.history = None;
            }
        }
    }

    /// Takes note that it is to be sent these fragments, too.
    pub(crate) fn want_fragments(&mut self, sequence: SequenceNumber, fragments: NumberSet) {
        let is_known = self.requested_fragments.contains_key(&sequence);
        if is_known || self.requested_fragments.len() < PARTIALS_MAX {
            self.requested_fragments.insert(sequence, fragments);
        }
    }

    /// Returns whether it may be sent one more sample in fragments as a whole; after that it is told what
    /// there is, and asks again.
    pub(super) fn takes_whole(&mut self) -> bool {
        if self.wholes == 0 {
            self.requested = NumberSet::empty(self.requested.base());
            self.wants_heartbeat = true;
            return false;
        }
        self.wholes -= 1;
        true
    }

    /// Notes that fragments up to this one of the sample that is sent now have been sent; all if `None`.
    pub(crate) fn on_fragments_sent(&mut self, fragment: Option<u32>) {
        let Some((sequence, set)) = self.requested_fragments.pop_first() else {
            return;
        };
        let mut left = NumberSet::empty(set.base());
        let sent = fragment.map_or(i64::MAX, i64::from);
        for number in set.iter().filter(|number| *number > sent) {
            left.insert(number);
        }
        if !left.is_empty() {
            self.requested_fragments.insert(sequence, left);
        }
    }
}
