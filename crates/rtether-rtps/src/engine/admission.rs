//! Admission to the table of participants when it is short of places.
//!
//! Forged participants cost an attacker nothing; one that has answered has at least received from
//! this participant. So participants that have not answered get at most half of the places and
//! eight per address, their leases are short, and they make room for others. A sixteenth of the
//! places is theirs alone, so that a newcomer can answer at any time; it then takes the place of one
//! that has fallen silent.

use alloc::collections::BTreeMap;

use super::addresses::WARN_AFTER;
use super::{Event, Participant, Parting, Remote};
use crate::guid::GuidPrefix;
use crate::locator::Origin;
use crate::time::{Duration, Instant};

/// Maximum number of unanswered participants per address.
const UNANSWERED_PER_ADDRESS: usize = 8;
/// Share of the places that is left to participants that have not answered.
const NEWCOMERS: usize = 16;
/// Number of announcements that a participant misses before it may make room.
const MISSED: i64 = 3;
/// Shortest period that it is taken to have: some announce themselves often at first.
const PERIOD_MIN: Duration = Duration::from_s(10);
/// Time for a participant to answer before another may take its place.
const PATIENCE: Duration = Duration::from_s(1);

impl Participant {
    /// Makes room for a participant that announces itself from `origin`; returns whether there is
    /// room.
    pub(super) fn make_room(&mut self, now: Instant, origin: Origin) -> bool {
        let is_free = match self.find_room(now, origin) {
            Room::Free => true,
            Room::InPlaceOf(prefix) => {
                self.counters.evicted += 1;
                self.forget(now, prefix, Parting::Unanswered);
                true
            }
            Room::None => false,
        };
        if !is_free {
            self.refuse(now, origin);
        }
        is_free
    }

    /// Counts a participant for which there is no room, and reports it if the last report is old
    /// enough.
    fn refuse(&mut self, now: Instant, origin: Origin) {
        self.counters.refused += 1;
        if now >= self.warn_refused_at {
            self.warn_refused_at = now + WARN_AFTER;
            let refused = self.counters.refused;
            self.tell(Event::Refused { origin, refused });
        }
    }

    fn find_room(&self, now: Instant, origin: Origin) -> Room {
        let max = self.config.participants_max;
        let is_own = self.is_own(origin);
        let here = self.remotes.values().filter(|one| one.origin == origin);
        // One address gets at most half of the table, answered or not.
        if !is_own && here.count() >= max.div_ceil(2) {
            return self.oldest_of(now, origin, PATIENCE);
        }
        // While this participant is silent, no peer can answer it.
        if !self.running.sending {
            return if self.remotes.len() < max { Room::Free } else { Room::None };
        }
        let here = self.remotes.values().filter(|one| one.origin == origin);
        let unanswered = here.filter(|one| !one.has_answered).count();
        if !is_own && unanswered >= UNANSWERED_PER_ADDRESS {
            return self.oldest_of(now, origin, PATIENCE);
        }
        let mut counts: BTreeMap<Origin, usize> = BTreeMap::new();
        for one in self.remotes.values().filter(|one| !one.has_answered) {
            *counts.entry(one.origin).or_default() += 1;
        }
        let all: usize = counts.values().sum();
        if self.remotes.len() < max && all < max.div_ceil(2) {
            return Room::Free;
        }
        let busiest = counts.into_iter().max_by_key(|(_, count)| *count);
        let Some((busiest, count)) = busiest else {
            return Room::None;
        };
        // An address with more unanswered participants than this one makes room at once.
        let patience = if count > unanswered + 1 { Duration::ZERO } else { PATIENCE };
        self.oldest_of(now, busiest, patience)
    }

    /// Returns the place of the participant at `origin` that has gone unanswered longest, if for at
    /// least `patience`.
    fn oldest_of(&self, now: Instant, origin: Origin, patience: Duration) -> Room {
        let all = self.remotes.iter();
        let all = all.filter(|(_, one)| !one.has_answered && one.origin == origin);
        let oldest = all.min_by_key(|(_, one)| one.since);
        let oldest = oldest.filter(|(_, one)| now - one.since >= patience);
        oldest.map_or(Room::None, |(prefix, _)| Room::InPlaceOf(*prefix))
    }

    /// Makes room among those that have answered for one that has just done so; returns whether there
    /// is room. If there is none, it is forgotten.
    pub(super) fn make_room_for_answered(&mut self, now: Instant, prefix: GuidPrefix) -> bool {
        let max = self.config.participants_max;
        let answered = self.remotes.values().filter(|one| one.has_answered);
        if self.role().is_some() || answered.count() < max - max.div_ceil(NEWCOMERS) {
            return true;
        }
        if let Some((silent, since)) = self.longest_silent(now) {
            self.counters.evicted += 1;
            self.forget(now, silent, Parting::MadeRoom(since));
            return true;
        }
        let origin = self.remotes.get(&prefix).map(|one| one.origin);
        self.forget(now, prefix, Parting::NoRoom);
        if let Some(origin) = origin {
            self.refuse(now, origin);
        }
        false
    }

    /// Returns the participant that has been silent longest, and for how long, of those that have
    /// missed their announcements.
    fn longest_silent(&self, now: Instant) -> Option<(GuidPrefix, Duration)> {
        let answered = self.remotes.iter().filter(|(_, one)| one.has_answered);
        let silent = answered.filter_map(|(prefix, one)| {
            let period = one.period.max(PERIOD_MIN);
            let missed = Duration::from_ns(period.as_ns().saturating_mul(MISSED));
            let silence = now - one.heard_at;
            (silence >= missed.min(one.data.lease)).then_some((*prefix, silence))
        });
        silent.max_by_key(|(_, silence)| *silence)
    }

    /// Returns when a participant that announces itself now expires.
    pub(super) fn believed_until(&self, now: Instant, remote: &Remote) -> Instant {
        let max = if remote.has_answered || !self.running.sending {
            self.config.lease_max
        } else {
            self.config.lease_unanswered_max
        };
        now + remote.data.lease.min(max)
    }
}

/// Place of a new participant.
enum Room {
    Free,
    InPlaceOf(GuidPrefix),
    None,
}
