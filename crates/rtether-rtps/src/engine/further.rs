//! Further addresses of a participant: those that its endpoints name, or that it announces for data,
//! besides the one that it has proved.
//!
//! The secret numbers ([`proof`](super::proof)) are told at one address at a time. Once the first one
//! is proved, they are told for a while at each other one to which data is to go, and then at the first
//! again. Nothing may have come from there, so what is told there is paid by what the participant has
//! sent since its proof, at three times as much: naming a victim multiplies its own octets by no more
//! than sending in the name of that victim.

use alloc::vec::Vec;

use super::Participant;
use super::addresses::AMPLIFICATION;
use crate::guid::GuidPrefix;
use crate::locator::{Locator, Origin};
use crate::time::{Duration, Instant};

/// How long the numbers are told at a further address.
const CALL: Duration = Duration::from_ms(250);
/// Octets that have to be there for a call: of some heartbeats on the wire.
const CALL_OCTETS: usize = 512;
/// Most octets that are kept for calls.
const PURSE_MAX: usize = 1 << 14;
/// Maximum number of addresses that are called, and how often each, for one announcement.
const CALLED_MAX: usize = 8;
const CALLS_MAX: u8 = 4;

/// What is done about the further addresses of a participant.
#[derive(Debug, Default)]
pub(super) struct Further {
    /// Octets that may be sent to addresses that it has not proved.
    purse: usize,
    /// Where the numbers are told now, and until when.
    call: Option<(Locator, Instant)>,
    /// Addresses that were called, and how often.
    called: Vec<(Origin, u8)>,
}

impl Further {
    /// Returns whether an address may be called.
    fn may_call(&self, origin: Origin) -> bool {
        let known = self.called.iter().find(|(called, _)| *called == origin);
        known.map_or(self.called.len() < CALLED_MAX, |(_, calls)| *calls < CALLS_MAX)
    }

    fn begin(&mut self, to: Locator, until: Instant) {
        self.call = Some((to, until));
        let known = self.called.iter_mut().find(|(called, _)| *called == to.origin());
        match known {
            Some((_, calls)) => *calls += 1,
            None => self.called.push((to.origin(), 1)),
        }
    }

    /// Returns where the numbers are told now, if not at the first address.
    pub(super) fn place(&self) -> Option<Locator> {
        self.call.map(|(to, _)| to)
    }

    fn is_called(&self, origin: Origin) -> bool {
        self.place().is_some_and(|to| to.origin() == origin)
    }

    /// Lets all addresses be called anew.
    pub(super) fn forget_calls(&mut self) {
        self.called.clear();
    }

    /// Credits what came from an address that is proved.
    pub(super) fn earn(&mut self, octets: usize) {
        let all = self.purse.saturating_add(AMPLIFICATION.saturating_mul(octets));
        self.purse = all.min(PURSE_MAX);
    }
}

impl Participant {
    /// Calls a further address of a participant, if data is to go to one.
    pub(super) fn call_further(&mut self, now: Instant, prefix: GuidPrefix) {
        let Some(to) = self.next_call(now, prefix) else {
            return;
        };
        let until = now + CALL;
        if let Some(remote) = self.remotes.get_mut(&prefix) {
            remote.further.begin(to, until);
        }
        self.call_at = self.call_at.min(until);
        self.tell_secret(now, prefix, Some(to));
    }

    fn next_call(&self, now: Instant, prefix: GuidPrefix) -> Option<Locator> {
        // In RTPS 1.0 readers may not answer other numbers a second time.
        if self.config.any_source || self.role().is_some() {
            return None;
        }
        let remote = self.remotes.get(&prefix)?;
        let Further { purse, call, .. } = remote.further;
        if call.is_some() || purse < CALL_OCTETS {
            return None;
        }
        let readers = self.writers.iter().flatten();
        let readers = readers.flat_map(|local| local.writer.unproved(prefix));
        let writers = self.readers.iter().flatten();
        let writers = writers.flat_map(|local| local.reader.unproved(prefix));
        let next = readers.chain(writers).find(|to| {
            let origin = to.origin();
            let is_open = !self.is_own(origin) && !self.is_closed(now, &[*to]);
            is_open && remote.further.may_call(origin)
        })?;
        // The first address has its numbers until it is proved. Last, since the list is allocated, and
        // most participants have no further address.
        let home = self.reachable(prefix, &remote.data.metatraffic_unicast, false);
        let is_home_proved = !home.is_empty() && self.is_proved(prefix, &home);
        is_home_proved.then_some(next)
    }

    /// Ends the call of a participant, if there is one.
    pub(super) fn hang_up(&mut self, now: Instant, prefix: GuidPrefix) {
        let remote = self.remotes.get_mut(&prefix);
        if remote.is_some_and(|remote| remote.further.call.take().is_some()) {
            self.tell_secret(now, prefix, None);
        }
    }

    /// Ends calls whose time is over. The next follows with an announcement: meanwhile the first address
    /// is told what it has missed.
    pub(super) fn end_calls(&mut self, now: Instant) {
        if self.call_at > now {
            return;
        }
        let over = self
            .remotes
            .iter()
            .filter(|(_, remote)| remote.further.call.is_some_and(|(_, until)| until <= now));
        let over: Vec<GuidPrefix> = over.map(|(prefix, _)| *prefix).collect();
        for prefix in over {
            self.hang_up(now, prefix);
        }
        let left = self.remotes.values().filter_map(|remote| Some(remote.further.call?.1));
        self.call_at = left.fold(Instant::NEVER, Instant::min);
    }

    /// Returns whether a participant that is called at an address pays for a datagram, and has it pay.
    pub(super) fn spend_for_call(&mut self, origin: Origin, octets: usize) -> bool {
        let mut all = self.remotes.values_mut().map(|remote| &mut remote.further);
        let payer = all.find(|own| own.is_called(origin) && own.purse >= octets);
        if let Some(own) = payer {
            own.purse -= octets;
            return true;
        }
        false
    }
}
