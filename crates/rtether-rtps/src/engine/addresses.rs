//! Address validation: what may be sent to an address that has not answered yet.
//!
//! An announcement costs its sender one datagram, and may name a victim's address. Until a datagram
//! from an address names this participant as its destination, which requires having received from
//! it, at most three times the octets that came from there are sent back (the limit of RFC 9000,
//! 8.1).

use alloc::collections::BTreeMap;

use super::{Event, Participant, Transmit};
use crate::guid::GuidPrefix;
use crate::locator::{Locator, Origin};
use crate::time::{Duration, Instant};

/// Octets that may be sent to an unanswered address per octet received from it.
const AMPLIFICATION: usize = 3;
/// Minimum time between warnings of one kind, so that hostile peers cannot fill a log.
pub(super) const WARN_AFTER: Duration = Duration::from_s(10);

/// State of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Validation {
    /// A participant there has received from this one.
    Answered,
    /// Octets that may still be sent there.
    Credit(usize),
}

/// Addresses from which known participants have sent.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    known: BTreeMap<Origin, Validation>,
    /// Count of addresses in state `Credit`.
    unanswered: usize,
}

impl Addresses {
    /// Adds an address from which a known participant has sent.
    pub(super) fn meet(&mut self, origin: Origin) {
        let unanswered = &mut self.unanswered;
        self.known.entry(origin).or_insert_with(|| {
            *unanswered += 1;
            Validation::Credit(0)
        });
    }

    /// Credits an address for octets received from it.
    pub(super) fn receive(&mut self, origin: Origin, octets: usize) {
        if self.unanswered == 0 {
            return;
        }
        if let Some(Validation::Credit(credit)) = self.known.get_mut(&origin) {
            *credit = credit.saturating_add(AMPLIFICATION.saturating_mul(octets));
        }
    }

    /// Marks an address as one that need not answer: a believed participant has named it.
    pub(super) fn vouch(&mut self, origin: Origin) {
        self.validate(origin);
    }

    /// Marks an address as answered.
    fn validate(&mut self, origin: Origin) {
        let before = self.known.insert(origin, Validation::Answered);
        if matches!(before, Some(Validation::Credit(_))) {
            self.unanswered -= 1;
        }
    }

    /// Returns whether `octets` may go to an address, and deducts them from its credit.
    fn spend(&mut self, origin: Origin, octets: usize) -> bool {
        match self.known.get_mut(&origin) {
            Some(Validation::Answered) => true,
            Some(Validation::Credit(credit)) if *credit >= octets => {
                *credit -= octets;
                true
            }
            _ => false,
        }
    }

    /// Removes addresses at which no participant remains.
    pub(super) fn retain(&mut self, mut is_kept: impl FnMut(Origin) -> bool) {
        self.known.retain(|origin, _| is_kept(*origin));
        let credits = self.known.values();
        let credits = credits.filter(|one| matches!(one, Validation::Credit(_)));
        self.unanswered = credits.count();
    }
}

impl Participant {
    /// Handles a datagram in which a participant names this one as its destination.
    pub(super) fn handle_answer(&mut self, now: Instant, from: GuidPrefix, origin: Origin) {
        let lease_max = self.config.lease_max;
        let Some(remote) = self.remotes.get_mut(&from) else {
            return;
        };
        if !remote.has_answered {
            remote.has_answered = true;
            remote.expires_at = now + remote.data.lease.min(lease_max);
        }
        if !self.config.any_source {
            self.addresses.validate(origin);
        }
    }

    /// Returns whether a datagram may go out. Counts a withheld one, and reports it if the last
    /// report is old enough.
    pub(super) fn may_transmit(
        &mut self,
        now: Instant,
        transmit: &Transmit,
        octets: usize,
        is_discovery: bool,
    ) -> bool {
        let to = transmit.to;
        if self.config.any_source || to.is_multicast() || self.addresses.spend(to.origin(), octets)
        {
            return true;
        }
        // Configured peers, and this host.
        if self.config.announce_to.contains(&to) || self.is_own(to.origin()) {
            return true;
        }
        self.counters.withheld += 1;
        // Withheld discovery is repeated and loses no sample, so it is not reported.
        if !is_discovery && now >= self.warn_withheld_at {
            self.warn_withheld_at = now + WARN_AFTER;
            self.tell(Event::Withheld { to });
        }
        false
    }

    /// Sorts locators by address state, answered ones first: a participant may announce several and
    /// be reachable at only one.
    pub(super) fn sort_by_reach(&self, places: &mut [Locator]) {
        let rank = |place: &Locator| match self.addresses.known.get(&place.origin()) {
            Some(Validation::Answered) => 0,
            Some(Validation::Credit(_)) => 1,
            None => 2,
        };
        places.sort_by_key(rank);
    }
}
