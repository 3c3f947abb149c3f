//! What may be sent to a participant that has not proved its address ([`proof`](super::proof)).
//!
//! An announcement costs its sender one frame, and may come with a victim's address. Until the proof
//! at most three times what came from there is sent back (the limit of RFC 9000, 8.1), counted as
//! frames on the wire: of short datagrams these are mostly headers.

use alloc::collections::BTreeMap;

use super::sources::is_at;
use super::{Event, Participant, Transport};
use crate::guid::GuidPrefix;
use crate::locator::{Locator, Origin, Recipient};
use crate::time::{Duration, Instant};

/// Octets that may be sent to an unproved address per octet received from it.
pub(super) const AMPLIFICATION: usize = 3;
/// Minimum time between warnings of one kind, so that hostile peers cannot fill a log.
pub(super) const WARN_AFTER: Duration = Duration::from_s(10);

/// Octets of a frame around its payload: preamble, addresses and type, check sequence, gap.
const FRAME: usize = 8 + 14 + 4 + 12;
/// Shortest payload of a frame, and the longest.
const FRAME_PAYLOAD_MIN: usize = 46;
const FRAME_PAYLOAD_MAX: usize = 1_500;
/// Octets of the headers of UDP and IPv4.
const UDP: usize = 8;
const IP: usize = 20;

/// Returns the octets on the wire of a datagram of this length; at least 84.
pub(super) fn wire_octets(transport: Transport, datagram: usize) -> usize {
    let frame = |payload: usize| FRAME + payload.max(FRAME_PAYLOAD_MIN);
    if transport == Transport::Ethernet {
        return frame(datagram);
    }
    let mut left = datagram.saturating_add(UDP);
    let mut octets = 0;
    loop {
        let part = left.min(FRAME_PAYLOAD_MAX - IP);
        octets += frame(part + IP);
        left -= part;
        if left == 0 {
            return octets;
        }
    }
}

/// Octets that may be sent to addresses from which unproved participants have sent.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    credits: BTreeMap<Origin, usize>,
}

impl Addresses {
    /// Adds an address from which a known participant has sent.
    pub(super) fn meet(&mut self, origin: Origin) {
        self.credits.entry(origin).or_default();
    }

    /// Credits an address for octets received from it, or because of it.
    pub(super) fn receive(&mut self, origin: Origin, octets: usize) {
        if let Some(credit) = self.credits.get_mut(&origin) {
            *credit = credit.saturating_add(AMPLIFICATION.saturating_mul(octets));
        }
    }

    /// Takes the credit of an address that is proved by one who has earned it: no other there may
    /// spend what is left.
    pub(super) fn settle(&mut self, origin: Origin) {
        if let Some(credit) = self.credits.get_mut(&origin) {
            *credit = 0;
        }
    }

    fn is_met(&self, origin: Origin) -> bool {
        self.credits.contains_key(&origin)
    }

    /// Returns whether `octets` may go to an address, and deducts them from its credit.
    fn spend(&mut self, origin: Origin, octets: usize) -> bool {
        let credit = self.credits.get_mut(&origin);
        credit.is_some_and(|credit| {
            let left = credit.checked_sub(octets);
            *credit = left.unwrap_or(*credit);
            left.is_some()
        })
    }

    /// Removes addresses at which no participant remains.
    pub(super) fn retain(&mut self, mut is_kept: impl FnMut(Origin) -> bool) {
        self.credits.retain(|origin, _| is_kept(*origin));
    }
}

impl Participant {
    /// Credits the address of an unproved participant for a datagram. One of a proved participant
    /// gives nothing to others that claim its address, except that of a manager, for those that it
    /// reports; it pays for calls of its further addresses.
    pub(super) fn credit(&mut self, from: GuidPrefix, origin: Origin, datagram: usize) {
        let is_v1 = self.role().is_some();
        let octets = wire_octets(self.config.transport, datagram);
        let Some(remote) = self.remotes.get_mut(&from) else {
            return;
        };
        if !remote.proved.contains(&origin) || is_v1 && remote.is_manager() {
            self.addresses.receive(origin, octets);
        } else {
            remote.further.earn(octets);
        }
    }

    /// Returns whether a datagram may go out. Counts a withheld one, and reports it if the last
    /// report is old enough.
    pub(super) fn may_transmit(
        &mut self,
        now: Instant,
        recipient: Recipient,
        datagram: usize,
        is_discovery: bool,
    ) -> bool {
        let Recipient { to, is_proved } = recipient;
        if is_proved || self.config.any_source || self.is_own(to.origin()) {
            return true;
        }
        let octets = wire_octets(self.config.transport, datagram);
        let payers = [Some(to.origin()), self.reported_by(to.origin())];
        let mut payers = payers.into_iter().flatten();
        let is_closed = self.is_closed(now, &[to]);
        let is_paid = !is_closed
            && (payers.any(|payer| self.addresses.spend(payer, octets))
                || is_discovery && self.spend_for_call(to.origin(), octets));
        if is_paid {
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

    /// Returns the address of the manager that reports a participant at an address, from which
    /// nothing may have come.
    fn reported_by(&self, origin: Origin) -> Option<Origin> {
        let mut all = self.remotes.values();
        let via = all.find_map(|one| one.via.filter(|_| is_at(one, origin)))?;
        self.remotes.get(&via).map(|manager| manager.origin)
    }

    /// Sorts the locators of a participant: proved ones first, then those from which it has sent. It
    /// may announce several and be reachable at only one.
    pub(super) fn sort_by_reach(&self, prefix: GuidPrefix, places: &mut [Locator]) {
        let remote = self.remotes.get(&prefix);
        let rank = |place: &Locator| {
            let origin = place.origin();
            if remote.is_some_and(|remote| remote.proved.contains(&origin)) {
                0
            } else if self.addresses.is_met(origin) {
                1
            } else {
                2
            }
        };
        places.sort_by_key(rank);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_by_hand() {
        // Oracle: IEEE 802.3: 64 octets at least, 1518 at most, and 20 between two of them.
        let udp = |octets| wire_octets(Transport::Udp, octets);
        assert_eq!(udp(0), 84);
        assert_eq!(udp(18), 84);
        assert_eq!(udp(19), 85);
        assert_eq!(udp(1_472), 1_538);
        assert_eq!(udp(1_473), 1_538 + 84);
        assert_eq!(udp(2 * 1_480 - 8 + 1), 2 * 1_538 + 84);
        assert_eq!(wire_octets(Transport::Ethernet, 46), 84);
        assert_eq!(wire_octets(Transport::Ethernet, 1_500), 1_538);
    }
}
