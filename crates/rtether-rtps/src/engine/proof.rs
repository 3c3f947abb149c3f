//! Address validation: whether a participant receives at the address at which it is to be sent data.
//!
//! What a datagram names proves nothing: prefixes and endpoints are multicast in the clear, and the
//! source address may be forged. So the numbers of one built-in writer begin, for each participant
//! and address, at one that nobody can guess. It is told only in datagrams to that address, and to
//! know it is the proof: an ACKNACK whose base lies within what was sent there.
//!
//! Any implementation proves its address so, without knowing: its reader takes the first HEARTBEAT
//! for that of a writer whose earlier samples are gone, and acknowledges.

use alloc::vec::Vec;

use md5::{Digest, Md5};

use super::receive::Context;
use super::{MESSAGES, PUBLICATIONS, Participant, SUBSCRIPTIONS};
use crate::guid::{Guid, GuidPrefix};
use crate::locator::{Locator, Origin};
use crate::time::{Duration, Instant};
use crate::wire::AckNack;

/// Bits of a number that cannot be guessed: with a guess in each frame of a full Gigabit link, two
/// days for an even chance.
const SECRET_BITS: u32 = 40;
/// Bits above these: time, so that numbers to the same reader never fall, also if it was forgotten
/// meanwhile.
const TIME_BITS: u32 = 20;
/// Nanoseconds, as a power of two, in which the time counts: 4.6 min, and all of it nine years.
const TIME_UNIT: u32 = 38;
/// How long a locator counts as closed after an ICMP message.
const CLOSED: Duration = Duration::from_s(3);
/// Maximum number of locators that count as closed.
const CLOSED_MAX: usize = 64;

/// Locators at which nobody listens, and until when they count as such.
pub(super) type Closed = Vec<(Locator, Instant)>;

/// Built-in readers that may prove an address, the preferred one first: bit in the announced
/// endpoints (table 9.13), and index of the own writer. Not all implementations have that of
/// participant messages.
const PROVING: [(u32, usize); 3] = [(11, MESSAGES), (3, PUBLICATIONS), (5, SUBSCRIPTIONS)];

/// Returns the index of the writer to which a participant with these endpoints proves its address.
pub(super) fn proving(endpoints: u32) -> Option<usize> {
    let mut all = PROVING.into_iter();
    let found = all.find(|(bit, _)| endpoints >> bit & 1 == 1);
    found.map(|(_, place)| place)
}

impl Participant {
    /// Returns what is added to the numbers of the samples for a participant at an address.
    pub(super) fn secret_of(&self, now: Instant, prefix: GuidPrefix, origin: Origin) -> i64 {
        let mut md5 = Md5::new();
        md5.update(self.config.secret);
        md5.update(prefix.0);
        match origin {
            Origin::Ip(core::net::IpAddr::V4(address)) => md5.update(address.octets()),
            Origin::Ip(core::net::IpAddr::V6(address)) => md5.update(address.octets()),
            Origin::Station(address) => md5.update(address),
            Origin::Host => md5.update([0]),
        }
        md5.update(self.config.secret);
        let digest = u128::from_be_bytes(md5.finalize().into());
        let secret = i64::try_from(digest >> (128 - SECRET_BITS)).unwrap_or(0);
        let time = now.as_ns().max(0) >> TIME_UNIT & ((1 << TIME_BITS) - 1);
        // Above the numbers of a reader that begins anew, which everybody knows.
        (time << SECRET_BITS) + secret + 256
    }

    /// Returns whether a participant may be sent data at the first of these locators; without any,
    /// whether it has proved an address at all.
    pub(super) fn is_proved(&self, prefix: GuidPrefix, unicast: &[Locator]) -> bool {
        if self.config.any_source || prefix == self.config.prefix {
            return true;
        }
        let Some(remote) = self.remotes.get(&prefix) else {
            return false;
        };
        unicast.first().map_or(!remote.proved.is_empty(), |place| {
            remote.proved.contains(&place.origin())
        })
    }

    /// Handles an ACKNACK: it may prove the address of its sender.
    pub(super) fn handle_proof(
        &mut self,
        now: Instant,
        context: &mut Context,
        reader: Guid,
        ack: &AckNack,
    ) {
        let writer = self.writer_named(ack.writer);
        let is_asked = writer.is_some_and(|local| local.writer.is_to_prove(reader));
        if !is_asked || !core::mem::replace(&mut context.may_prove, false) {
            return;
        }
        let writer = self.writer_named(ack.writer);
        let place = writer.and_then(|local| local.writer.proved_by(reader, ack));
        if let Some(place) = place {
            self.prove(now, reader.prefix, place.origin());
        }
    }

    fn prove(&mut self, now: Instant, prefix: GuidPrefix, origin: Origin) {
        let lease_max = self.config.lease_max;
        let Some(remote) = self.remotes.get_mut(&prefix) else {
            return;
        };
        if remote.proved.contains(&origin) {
            return;
        }
        // As many as it has announced, of which only the first is asked for at a time.
        remote.proved.push(origin);
        if !remote.has_answered {
            remote.has_answered = true;
            remote.expires_at = now + remote.data.lease.min(lease_max);
        }
        let proved = remote.proved.clone();
        for local in self.writers.iter_mut().flatten() {
            local.writer.on_proof(prefix, &proved);
        }
        for local in self.readers.iter_mut().flatten() {
            local.reader.on_proof(prefix, &proved);
        }
    }

    /// Handles a datagram that names this participant as its destination. Where no address is
    /// checked, that is answer enough for a place in the table.
    pub(super) fn handle_answer(&mut self, now: Instant, from: GuidPrefix) {
        let lease_max = self.config.lease_max;
        let remote = self.remotes.get_mut(&from);
        let remote = remote.filter(|remote| !remote.has_answered);
        if let Some(remote) = remote.filter(|_| self.config.any_source) {
            remote.has_answered = true;
            remote.expires_at = now + remote.data.lease.min(lease_max);
        }
    }

    /// Handles the message of a host that nobody listens at a locator (port unreachable): those that
    /// have announced it without proof are forgotten. Of others it may be forged.
    pub fn handle_unreachable(&mut self, now: Instant, at: Locator) {
        let is_there = |prefix: &GuidPrefix| {
            let remote = self.remotes.get(prefix);
            remote.is_some_and(|one| {
                let data = &one.data;
                let mut all = data.metatraffic_unicast.iter().chain(&data.default_unicast);
                one.proved.is_empty() && all.any(|place| *place == at)
            })
        };
        let named: Vec<GuidPrefix> = self.remotes.keys().copied().filter(is_there).collect();
        if named.is_empty() || self.config.any_source {
            return;
        }
        self.counters.closed += 1;
        for prefix in named {
            self.forget(now, prefix, false);
        }
        self.closed.retain(|(_, until)| *until > now);
        if self.closed.len() < CLOSED_MAX {
            self.closed.push((at, now + CLOSED));
        }
    }

    /// Returns whether one of these locators has lately been found closed.
    pub(super) fn is_closed(&self, now: Instant, places: &[Locator]) -> bool {
        let mut closed = self.closed.iter();
        closed.any(|(at, until)| *until > now && places.contains(at))
    }
}
