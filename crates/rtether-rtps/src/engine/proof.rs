//! Address validation: whether a participant receives at the address at which it is to be sent data.
//!
//! What a datagram names proves nothing: prefixes and endpoints are multicast in the clear, and the
//! source address may be forged. So the numbers of one built-in writer are secret for each participant
//! and address ([`Secret`]). They are told only in datagrams to that address, and to know them is the
//! proof: ACKNACKs whose bases lie at what was told there.
//!
//! Any implementation proves its address so, without knowing: its reader takes a HEARTBEAT for that of
//! a writer whose earlier samples are gone, and acknowledges.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use md5::{Digest, Md5};

use super::receive::Context;
use super::{Event, MESSAGES, PUBLICATIONS, Participant, Parting, Remote, SUBSCRIPTIONS, WriterId};
use crate::guid::{Guid, GuidPrefix};
use crate::locator::{Locator, Origin};
use crate::time::{Duration, Instant};
use crate::wire::AckNack;
use crate::writer::{Rounds, Secret};

/// Nanoseconds, as a power of two, in which the time counts in the numbers of RTPS 1.0: 4.6 min.
const TIME_UNIT: u32 = 38;
/// Bits of the time, nine years, and those below it.
const TIME_BITS: u32 = 20;
const BELOW_TIME: u32 = 41;
/// Maximum number of departed participants whose numbers are remembered.
const POSITIONS_MAX: usize = 256;
/// How long a locator counts as closed after an ICMP message.
const CLOSED: Duration = Duration::from_s(3);
/// Maximum number of locators that count as closed.
const CLOSED_MAX: usize = 64;

/// Locators at which nobody listens, and until when they count as such.
pub(super) type Closed = Vec<(Locator, Instant)>;

/// Departed participants that had proved an address, and the last number that each was told: if they
/// have not forgotten this one, they take lower numbers for old ones.
pub(super) type Positions = VecDeque<(GuidPrefix, i64)>;

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

impl Remote {
    /// Forgets proofs of addresses that it no longer announces.
    pub(super) fn keep_proofs(&mut self) {
        let data = &self.data;
        let places = data.metatraffic_unicast.iter().chain(&data.default_unicast);
        let endpoints = self.writers.values().chain(self.readers.values());
        let places = places.chain(endpoints.flat_map(|own| &own.unicast));
        let announced: Vec<Origin> = places.map(Locator::origin).collect();
        self.proved.retain(|one| announced.contains(one));
        self.further.forget_calls();
    }
}

impl Participant {
    /// Returns the numbers that prove an address of a participant.
    pub(super) fn secret_of(&self, now: Instant, prefix: GuidPrefix, origin: Origin) -> Secret {
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
        let seed = md5.finalize().into();
        if self.role().is_some() {
            let time = now.as_ns().max(0) >> TIME_UNIT & ((1 << TIME_BITS) - 1);
            return Secret::new(seed, time << BELOW_TIME, Rounds::ONE);
        }
        let mut known = self.positions.iter().rev();
        let known = known.find(|(of, _)| *of == prefix);
        let start = known.map_or(0, |(_, position)| *position);
        Secret::new(seed, start, Rounds::SEVERAL)
    }

    /// Remembers the numbers of a participant that is about to be forgotten.
    pub(super) fn keep_position(&mut self, prefix: GuidPrefix) {
        let mut writers = self.writers.iter_mut().flatten();
        let position = writers.find_map(|local| local.writer.position_of(prefix));
        let Some(position) = position else {
            return;
        };
        self.positions.retain(|(of, _)| *of != prefix);
        if self.positions.len() >= POSITIONS_MAX {
            self.positions.pop_front();
        }
        self.positions.push_back((prefix, position));
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
        unicast
            .first()
            .map_or(!remote.proved.is_empty(), |place| remote.proved.contains(&place.origin()))
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
        let place = writer.and_then(|local| local.writer.proved_by(now, reader, ack));
        if let Some(place) = place {
            self.prove(now, reader.prefix, place.origin());
        }
    }

    fn prove(&mut self, now: Instant, prefix: GuidPrefix, origin: Origin) {
        let lease_max = self.config.lease_max;
        let known = self.remotes.get(&prefix);
        if known.is_some_and(|known| !known.has_answered)
            && !self.make_room_for_answered(now, prefix)
        {
            return;
        }
        let remote = self.remotes.get_mut(&prefix);
        let Some(remote) = remote.filter(|remote| !remote.proved.contains(&origin)) else {
            return;
        };
        // As many as it has announced, of which only the first is asked for at a time.
        remote.proved.push(origin);
        if !remote.has_answered {
            remote.has_answered = true;
            remote.expires_at = now + remote.data.lease.min(lease_max);
        }
        let proved = remote.proved.clone();
        self.addresses.settle(origin);
        let mut told = Vec::new();
        for (index, local) in self.writers.iter_mut().enumerate() {
            let Some(local) = local else { continue };
            let readers = local.writer.on_proof(prefix, &proved);
            // Built-in writers are nobody's.
            if local.endpoint.is_some() {
                told.extend(readers.into_iter().map(|reader| (WriterId(index), reader)));
            }
        }
        for (writer, reader) in told {
            self.tell(Event::ReaderMatched { writer, reader });
        }
        for local in self.readers.iter_mut().flatten() {
            local.reader.on_proof(prefix, &proved);
        }
        self.hang_up(now, prefix);
        self.call_further(now, prefix);
    }

    /// Handles a datagram that names this participant as its destination. Where no address is
    /// checked, that is answer enough for a place in the table.
    pub(super) fn handle_answer(&mut self, now: Instant, from: GuidPrefix) {
        let lease_max = self.config.lease_max;
        let remote = self.remotes.get(&from);
        let is_new = remote.is_some_and(|remote| !remote.has_answered);
        if !self.config.any_source || !is_new || !self.make_room_for_answered(now, from) {
            return;
        }
        if let Some(remote) = self.remotes.get_mut(&from) {
            remote.has_answered = true;
            remote.expires_at = now + remote.data.lease.min(lease_max);
        }
    }

    /// Handles the message of a host that nobody listens at a locator (port unreachable): those that
    /// have announced it without proof are sent nothing there for a while. Of others it may be forged.
    ///
    /// They are forgotten unless they write: a program that was killed is closed too, and the
    /// persistence of its samples goes on.
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
            let remote = self.remotes.get(&prefix);
            if remote.is_some_and(|remote| remote.writers.is_empty()) {
                self.forget(now, prefix, Parting::Closed);
            }
        }
        self.closed.retain(|(_, until)| *until > now);
        if self.closed.len() < CLOSED_MAX && !self.is_closed(now, &[at]) {
            self.closed.push((at, now + CLOSED));
        }
    }

    /// Returns whether one of these locators has lately been found closed.
    pub(super) fn is_closed(&self, now: Instant, places: &[Locator]) -> bool {
        let mut closed = self.closed.iter();
        closed.any(|(at, until)| *until > now && places.contains(at))
    }
}
