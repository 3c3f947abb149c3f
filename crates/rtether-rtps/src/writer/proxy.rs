//! Writer state for a matched reader (8.4.7.5).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::cache::Change;
use super::secret::Secret;
use super::window::Window;
use crate::filter::{Filter, Judge};
use crate::guid::{Guid, GuidPrefix};
use crate::locator::{Locator, Recipient};
use crate::qos::Reliability;
use crate::sequence::{NumberSet, SequenceNumber};
use crate::time::{Duration, Instant};
use crate::wire::{AckNack, NackFrag};

/// What is known of a reader at matching.
#[derive(Clone, Debug)]
pub(crate) struct RemoteReader {
    pub(crate) guid: Guid,
    pub(crate) reliability: Reliability,
    /// Whether it requests history.
    pub(crate) wants_history: bool,
    /// The numbers of the samples that it is sent, if its acknowledgments prove its address; it is
    /// sent nothing together with others.
    pub(crate) secret: Option<Secret>,
    /// Whether its participant has proved to receive at the preferred locator.
    pub(crate) is_proved: bool,
    /// Its locators, the preferred one first.
    pub(crate) unicast: Vec<Locator>,
    pub(crate) multicast: Vec<Locator>,
    /// Content filter, if this writer can evaluate it.
    pub(crate) filter: Option<(Filter, Judge)>,
    /// Shortest time between samples of an instance that it requests.
    pub(crate) separation: Duration,
}

/// State of a matched reader.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a state of its own")]
pub(crate) struct ReaderProxy {
    pub(crate) remote: RemoteReader,
    /// First sample that is meant for it.
    pub(crate) start: SequenceNumber,
    /// It has acknowledged all samples up to here.
    pub(crate) acknowledged: SequenceNumber,
    /// Requested samples that have not been sent yet.
    requested: NumberSet,
    /// First sample of its last request.
    asked: Option<SequenceNumber>,
    requested_fragments: BTreeMap<SequenceNumber, NumberSet>,
    /// Limits the long samples sent before earlier ones are acknowledged.
    pub(super) window: Window,
    /// Time of the first long sample since its last answer; `None` if no answer is due.
    unheard_since: Option<Instant>,
    /// Samples in fragments that may still be sent as a whole for its last request.
    wholes: u32,
    /// Octets that may still be sent for its last request.
    repairs: usize,
    /// Samples from before it was matched: next to send, and last.
    history: Option<(SequenceNumber, SequenceNumber)>,
    count: Count,
    fragment_count: Count,
    pub(crate) wants_heartbeat: bool,
    /// Whether it has ever acknowledged anything: until then it gets only heartbeats.
    pub(crate) has_answered: bool,
    /// Heartbeats sent while it has not answered.
    heartbeats: u8,
    /// Whether its acknowledgments have ever had a base above the first sample.
    has_told_base: bool,
    /// Whether the application knows of it.
    pub(crate) is_told: bool,
    /// First sample that it is owed: of those in the history when it was matched, or after them.
    owed: SequenceNumber,
}

/// Maximum number of samples that a reader reassembles at a time, and so is sent in fragments.
pub(crate) const PARTIALS_MAX: usize = 16;
/// Maximum size of samples to which filters of readers are applied; larger ones are always sent.
const FILTERED_MAX: usize = 64 << 10;

/// Maximum number of heartbeats to a reader that has never answered: it may not exist, or a forged
/// announcement may have named its address as a target.
const UNANSWERED_MAX: u8 = 20;

/// Maximum octets sent per request: a hundred octets may request a whole history, with a forged
/// source address. After that the reader gets a heartbeat, and asks again.
const REPAIRS_MAX: usize = 1 << 20;

/// After this long without an answer to a long sample, a reader no longer holds back others.
const SILENT: Duration = Duration::from_s(1);

/// Next item to send to a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Sample(SequenceNumber),
    /// A fragment of a sample.
    Fragment(SequenceNumber, u32),
}

/// Number of increasing old counts after which they are accepted.
const STRAYS_MAX: u8 = 4;

/// Detects duplicate and late messages by counts, which wrap at 2^32.
///
/// A single count far ahead, from any source, would make all later ones look old: a few increasing
/// counts are accepted although they look old.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    last: Option<i32>,
    stray: Option<i32>,
    strays: u8,
}

impl Count {
    /// Returns whether no count has been received yet.
    pub(crate) fn is_none(self) -> bool {
        self.last.is_none()
    }

    /// Records a count; returns whether it is new.
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
        *self = Self { last: Some(count), ..Self::default() };
        true
    }
}

impl ReaderProxy {
    /// Creates the state of a reader matched while the writer has samples from `first` to `last`.
    pub(crate) fn new(remote: RemoteReader, first: SequenceNumber, last: SequenceNumber) -> Self {
        let start = if remote.wants_history { SequenceNumber::FIRST } else { last.next() };
        let has_history = remote.wants_history && first <= last;
        // A reliable reader requests what it lacks.
        let is_sent = has_history && remote.reliability == Reliability::BestEffort;
        Self {
            wants_heartbeat: remote.reliability == Reliability::Reliable,
            remote,
            start,
            acknowledged: SequenceNumber(start.0 - 1),
            requested: NumberSet::empty(1),
            asked: None,
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
            is_told: false,
            owed: start.max(first),
        }
    }

    /// Returns where it begins, until it tells its own position: heartbeats alone do not say which
    /// samples were written, and gone, before it was there.
    pub(super) fn begin(&self) -> Option<SequenceNumber> {
        // To an address that is not proved, each octet counts.
        let is_open = self.is_reliable() && !self.has_told_base && self.remote.is_proved;
        (is_open && self.owed > SequenceNumber::FIRST).then_some(self.owed)
    }

    /// Returns whether it may want a sample; the reader filters for itself in any case.
    pub(super) fn wants(&self, change: &Change) -> bool {
        let filter = self.remote.filter.as_ref();
        filter.is_none_or(|(filter, judge)| {
            // A set must not lack one of its samples.
            !change.kind.is_alive()
                || change.set.is_some()
                || change.payload.len() > FILTERED_MAX
                || judge.passes(filter, &change.payload) != Some(false)
        })
    }

    pub(crate) fn is_reliable(&self) -> bool {
        self.remote.reliability == Reliability::Reliable
    }

    /// Notes that the application is told of it; returns whether that is due.
    pub(crate) fn become_told(&mut self) -> bool {
        let is_due = self.remote.is_proved && !self.is_told;
        self.is_told |= is_due;
        is_due
    }

    /// Returns the locator for messages to this reader alone.
    pub(crate) fn place(&self) -> Option<Locator> {
        let remote = &self.remote;
        remote.unicast.first().or(remote.multicast.first()).copied()
    }

    /// Returns the destination of messages to this reader alone.
    pub(super) fn recipient(&self) -> Option<Recipient> {
        let to = self.place()?;
        Some(Recipient { to, is_proved: self.remote.is_proved })
    }

    /// Returns the one to which its samples go, if no other is sent them.
    pub(super) fn sole(&self) -> Option<GuidPrefix> {
        self.remote.secret.map(|_| self.remote.guid.prefix)
    }

    /// Returns what is added to the numbers of its samples.
    pub(super) fn offset(&self) -> i64 {
        self.remote.secret.map_or(0, |secret| secret.offset)
    }

    /// Takes new data of the reader. At another address its numbers begin anew, above the old ones.
    pub(super) fn update(&mut self, mut remote: RemoteReader, last: SequenceNumber) {
        let (old, new) = (self.place(), remote.unicast.first());
        let is_there = old.map(|old| old.origin()) == new.map(Locator::origin);
        if let Some((old, new)) = self.remote.secret.as_ref().zip(remote.secret.as_mut()) {
            if is_there {
                *new = *old;
            } else {
                *new = new.above(old, last);
                self.begin_anew();
            }
        }
        self.remote = remote;
    }

    /// Begins with other numbers, of which it is told.
    pub(super) fn begin_anew(&mut self) {
        self.has_answered = false;
        self.heartbeats = 0;
        self.wants_heartbeat = true;
    }

    /// Returns whether it lacks a sample up to `last`, or has never answered.
    pub(crate) fn is_behind(&self, last: SequenceNumber) -> bool {
        self.is_reliable() && (self.acknowledged < last || !self.has_answered)
    }

    /// Returns whether it has never answered despite the maximum number of heartbeats.
    pub(crate) fn is_given_up(&self) -> bool {
        !self.has_answered && self.heartbeats >= UNANSWERED_MAX
    }

    /// Returns whether long samples to it are paced: not if it has fallen silent.
    pub(super) fn is_paced(&self, now: Instant) -> bool {
        let is_silent = self.unheard_since.is_some_and(|since| now - since >= SILENT);
        self.is_reliable() && !self.is_given_up() && !is_silent
    }

    /// Records a long sample sent to it, which it must answer. A reader that was sent nothing has
    /// not fallen silent.
    pub(super) fn on_long_sent(&mut self, now: Instant) {
        self.unheard_since.get_or_insert(now);
    }

    /// Records a heartbeat sent to it.
    pub(crate) fn on_heartbeat_sent(&mut self) {
        self.wants_heartbeat = false;
        self.heartbeats = self.heartbeats.saturating_add(1);
    }

    /// Handles an ACKNACK while the writer has samples up to `last`, of which this reader was sent
    /// those up to `sent`; returns whether it is new.
    pub(crate) fn on_ack_nack(
        &mut self,
        ack: &AckNack,
        last: SequenceNumber,
        sent: SequenceNumber,
    ) -> bool {
        let offset = self.offset();
        if offset > 0 && ack.set.base() <= 1 {
            // It has received nothing yet, or begins anew.
            let is_new = self.count.is_new(ack.count);
            if is_new {
                self.acknowledged = SequenceNumber(self.start.0 - 1);
                self.wants_heartbeat = true;
                // It lives: it is told as often as one that is new.
                self.heartbeats = 0;
            }
            return is_new;
        }
        let set = ack.set.plus(-offset);
        if offset > 0 && set.base() < 1 {
            return false;
        }
        let ack = &AckNack { set, ..*ack };
        // A base beyond the last sample is not from a reader of this writer.
        if ack.set.base() > last.0 + 1 || !self.count.is_new(ack.count) {
            return false;
        }
        self.has_answered = true;
        self.unheard_since = None;
        let base = SequenceNumber(ack.set.base());
        if base > SequenceNumber::FIRST && !self.has_told_base {
            // It received samples before it was matched here, over a shared locator or before it
            // was lost: it continues from there.
            self.has_told_base = true;
            self.start = self.start.min(base);
        }
        // A reader that lost this writer starts over, and acknowledges less than before.
        let acknowledged = SequenceNumber(base.0 - 1);
        self.acknowledged = acknowledged.max(SequenceNumber(self.start.0 - 1));
        // Later ones are sent to all readers in their turn, and there is none before the first.
        self.requested = if base < SequenceNumber::FIRST {
            NumberSet::empty(SequenceNumber::FIRST.0)
        } else {
            ack.set.up_to(sent.0)
        };
        self.asked = self.requested.iter().next().map(SequenceNumber);
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

    /// Repeats its last request, if it has acknowledged nothing since. ORTE asks eleven times, within
    /// a millisecond for samples, and then waits in silence for what it lacks: heartbeats no longer
    /// make it ask.
    pub(super) fn ask_again(&mut self) {
        if let Some(asked) = self.asked.filter(|_| self.requested.is_empty()) {
            self.requested = NumberSet::empty(asked.0);
            self.requested.insert(asked.0);
        }
    }

    /// Handles a `NACK_FRAG`; returns whether it is new.
    pub(crate) fn on_nack_frag(&mut self, nack: &NackFrag, sent: SequenceNumber) -> bool {
        let sequence = SequenceNumber(nack.sequence.0.saturating_sub(self.offset()));
        if !sequence.is_valid() || !self.fragment_count.is_new(nack.count) {
            return false;
        }
        self.unheard_since = None;
        self.window.on_loss(self.acknowledged, sent);
        self.want_fragments(sequence, nack.set);
        self.repairs = REPAIRS_MAX;
        true
    }

    /// Returns the next item to send to it, if any.
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

    /// Records octets sent for its requests.
    pub(crate) fn on_repaired(&mut self, octets: usize) {
        self.repairs = self.repairs.saturating_sub(octets);
        if self.repairs == 0 && self.is_reliable() {
            self.requested = NumberSet::empty(self.requested.base());
            self.requested_fragments.clear();
            self.wants_heartbeat = true;
        }
    }

    /// Records that all requested samples up to `sequence` were sent.
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

    /// Adds fragments to send to it.
    pub(crate) fn want_fragments(&mut self, sequence: SequenceNumber, fragments: NumberSet) {
        let is_known = self.requested_fragments.contains_key(&sequence);
        if is_known || self.requested_fragments.len() < PARTIALS_MAX {
            self.requested_fragments.insert(sequence, fragments);
        }
    }

    /// Returns whether one more sample in fragments may be sent as a whole; otherwise the reader
    /// gets a heartbeat, and asks again.
    pub(super) fn takes_whole(&mut self) -> bool {
        if self.wholes == 0 {
            self.requested = NumberSet::empty(self.requested.base());
            self.wants_heartbeat = true;
            return false;
        }
        self.wholes -= 1;
        true
    }

    /// Records that requested fragments of the current sample up to this one were sent; all if
    /// `None`.
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
