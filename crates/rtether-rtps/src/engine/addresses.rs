//! Address validation: what may be sent to an address from which nobody has answered yet.
//!
//! An announcement costs its sender one datagram, and may name a victim's address. Until a datagram from
//! an address names this participant as its destination, which takes having heard it, no more than three
//! times the octets that came from there go back (the limit of RFC 9000, 8.1).

use alloc::collections::BTreeMap;

use super::{Event, Participant, Transmit};
use crate::guid::GuidPrefix;
use crate::locator::{Locator, Origin};
use crate::time::{Duration, Instant};

/// Octets to an address that has not answered, for each octet that came from there.
const AMPLIFICATION: usize = 3;
/// Between warnings of a kind: what a stranger does must not fill a log.
pub(super) const WARN_AFTER: Duration = Duration::from_s(10);

/// What is known of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Validation {
    /// Somebody there has heard this participant.
    Answered,
    /// It may be sent this many octets.
    Credit(usize),
}

/// The addresses from which known participants have spoken.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    known: BTreeMap<Origin, Validation>,
    /// How many of them have not answered.
    unanswered: usize,
}

impl Addresses {
    /// Takes in that a known participant has spoken from an address.
    pub(super) fn meet(&mut self, origin: Origin) {
        let unanswered = &mut self.unanswered;
        self.known.entry(origin).or_insert_with(|| {
            *unanswered += 1;
            Validation::Credit(0)
        });
    }

    /// Takes in that octets have come from an address.
    pub(super) fn receive(&mut self, origin: Origin, octets: usize) {
        if self.unanswered == 0 {
            return;
        }
        if let Some(Validation::Credit(credit)) = self.known.get_mut(&origin) {
            *credit = credit.saturating_add(AMPLIFICATION.saturating_mul(octets));
        }
    }

    /// Takes in that somebody there has heard this participant.
    fn validate(&mut self, origin: Origin) {
        let before = self.known.insert(origin, Validation::Answered);
        if matches!(before, Some(Validation::Credit(_))) {
            self.unanswered -= 1;
        }
    }

    /// Returns whether so many octets may go to an address, and takes them off what it may be sent.
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

    /// Forgets the addresses at which no participant is any more.
    pub(super) fn retain(&mut self, mut is_kept: impl FnMut(Origin) -> bool) {
        self.known.retain(|origin, _| is_kept(*origin));
        let credits = self.known.values();
        let credits = credits.filter(|one| matches!(one, Validation::Credit(_)));
        self.unanswered = credits.count();
    }
}

impl Participant {
    /// Takes in that a participant has named this one as the destination of what it sends.
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

    /// Returns whether a datagram may go out; of one that may not, it counts and now and then tells.
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
        // Peers that were configured, and whoever is on this host.
        if self.config.announce_to.contains(&to) || self.is_own(to.origin()) {
            return true;
        }
        self.counters.withheld += 1;
        // Discovery says the same again, and costs nobody a sample.
        if !is_discovery && now >= self.warn_withheld_at {
            self.warn_withheld_at = now + WARN_AFTER;
            self.tell(Event::Withheld { to });
        }
        false
    }

    /// Puts the places in front at whose addresses somebody has spoken, as a participant may announce
    /// several and be reached at one.
    pub(super) fn sort_by_reach(&self, places: &mut [Locator]) {
        let rank = |place: &Locator| match self.addresses.known.get(&place.origin()) {
            Some(Validation::Answered) => 0,
            Some(Validation::Credit(_)) => 1,
            None => 2,
        };
        places.sort_by_key(rank);
    }
}
