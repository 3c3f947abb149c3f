//! Admission to the table of participants when it is short of places.
//!
//! Forged participants cost an attacker nothing; one that has answered has at least received from
//! this participant. So participants that have not answered get at most half of the places and
//! eight per address, their leases are short, and they make room for others.

use alloc::collections::BTreeMap;

use super::addresses::WARN_AFTER;
use super::{Event, Participant, Remote};
use crate::guid::GuidPrefix;
use crate::locator::Origin;
use crate::time::{Duration, Instant};

/// Maximum number of unanswered participants per address.
const UNANSWERED_PER_ADDRESS: usize = 8;
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
                self.forget(now, prefix, false);
                true
            }
            Room::None => false,
        };
        if !is_free {
            self.counters.refused += 1;
            if now >= self.warn_refused_at {
                self.warn_refused_at = now + WARN_AFTER;
                let refused = self.counters.refused;
                self.tell(Event::Refused { origin, refused });
            }
        }
        is_free
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
            return if self.remotes.len() < max {
                Room::Free
            } else {
                Room::None
            };
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
        let patience = if count > unanswered + 1 {
            Duration::ZERO
        } else {
            PATIENCE
        };
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
