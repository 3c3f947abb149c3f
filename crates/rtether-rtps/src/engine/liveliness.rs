//! Liveliness assertions (8.4.13): a participant with writers of automatic liveliness sends one
//! before the shortest of their leases ends.

use super::{MESSAGES, Participant};
use crate::guid::GuidPrefix;
use crate::time::{Duration, Instant};
use crate::writer::{ChangeKind, New};

/// Kinds of participant messages (9.6.3.1).
const AUTOMATIC: [u8; 4] = [0, 0, 0, 1];
const MANUAL: [u8; 4] = [0, 0, 0, 2];
/// `CDR_LE`, participant, kind, and a sequence of one octet.
const SIZE: usize = 4 + 12 + 4 + 4 + 1;

impl Participant {
    /// Schedules the next assertion.
    pub(super) fn plan_liveliness(&mut self, now: Instant) {
        if self.role().is_none() && self.automatic_lease().is_some() {
            self.alive_at = Some(now);
        }
    }

    pub(super) fn assert_liveliness_if_due(&mut self, now: Instant) {
        if self.alive_at.is_none_or(|at| at > now) {
            return;
        }
        self.say_alive(now, AUTOMATIC);
        let lease = self.automatic_lease();
        // Allows for the loss of two.
        let period = lease.map(|lease| Duration::from_ns(lease.as_ns() / 3));
        let least = Duration::from_ms(1);
        self.alive_at = period.map(|period| now + period.max(least));
    }

    /// Asserts liveliness for writers of kind manual by participant.
    pub fn assert_liveliness(&mut self, now: Instant) {
        self.say_alive(now, MANUAL);
    }

    fn say_alive(&mut self, now: Instant, kind: [u8; 4]) {
        if self.role().is_some() {
            // RTPS 1.0 has none.
            return;
        }
        let mut payload = [0; SIZE];
        payload[1] = 1;
        payload[4..16].copy_from_slice(&self.config.prefix.0);
        payload[16..20].copy_from_slice(&kind);
        payload[20] = 1;
        let new = New {
            kind: ChangeKind::Alive,
            payload: &payload,
            key: &payload[4..20],
            key_hash: payload.get(4..20).and_then(|key| key.try_into().ok()),
            time: self.wall(now),
            group_sequence: None,
        };
        if let Some(local) = self.writers.get_mut(MESSAGES).and_then(Option::as_mut) {
            // A history of one sample per instance always has room for the next.
            let _ = local.writer.write(now, SIZE, new);
        }
    }

    /// Handles a liveliness assertion.
    pub(super) fn handle_message(&mut self, now: Instant, from: GuidPrefix, payload: &[u8]) {
        let (Some(prefix), Some(kind)) = (payload.get(4..16), payload.get(16..20)) else {
            self.counters.malformed += 1;
            return;
        };
        if prefix != from.0 {
            self.counters.forged += 1;
            return;
        }
        let is_manual = match kind.try_into() {
            Ok(AUTOMATIC) => false,
            Ok(MANUAL) => true,
            _ => return,
        };
        let known = self.remotes.get(&from);
        let until = known.map(|known| self.believed_until(now, known));
        if let Some((remote, until)) = self.remotes.get_mut(&from).zip(until) {
            remote.expires_at = remote.expires_at.max(until);
        }
        for local in self.readers.iter_mut().flatten() {
            local.reader.on_alive(now, from, is_manual);
        }
    }
}
