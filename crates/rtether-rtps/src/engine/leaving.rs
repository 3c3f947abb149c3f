//! Good-byes. They may overtake samples, which go to another address or wait in another socket: a
//! participant that has left is forgotten only when nothing more comes from it.

use super::{Participant, Parting};
use crate::guid::{Guid, GuidPrefix};
use crate::time::{Duration, Instant};

/// Silence after which nothing more is expected.
const QUIET: Duration = Duration::from_ms(10);
/// Longest time between the good-bye and the end.
const LONGEST: Duration = Duration::from_s(1);

/// When a participant that has said good-bye is forgotten.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaving {
    quiet_at: Instant,
    latest: Instant,
    /// Whether it has said so itself: then nothing is sent again.
    is_certain: bool,
}

impl Participant {
    /// Handles the good-bye of a participant; one that is only reported may be a mistake of the reporter,
    /// and the participant be found anew.
    pub(super) fn take_leave(&mut self, now: Instant, prefix: GuidPrefix, is_certain: bool) {
        if !self.reads_from(prefix) {
            self.forget(now, prefix, Parting::Left);
            return;
        }
        self.leaving.entry(prefix).or_insert(Leaving {
            quiet_at: now + QUIET,
            latest: now + LONGEST,
            is_certain,
        });
    }

    /// Takes back the report that a participant has left.
    pub(super) fn stay(&mut self, prefix: GuidPrefix) {
        if self.leaving.get(&prefix).is_some_and(|one| !one.is_certain) {
            self.leaving.remove(&prefix);
        }
    }

    /// Delivers what came of a writer that has ended.
    pub(super) fn drain(&mut self, now: Instant, writer: Guid) {
        for local in self.readers.iter_mut().flatten() {
            local.reader.drain(now, writer);
        }
    }

    /// Returns whether a reader of the application has a writer of the participant.
    fn reads_from(&self, prefix: GuidPrefix) -> bool {
        let readers = self.readers.iter().flatten().map(|local| &local.reader);
        let mut own = readers.filter(|reader| !reader.entity.is_built_in());
        own.any(|reader| reader.reads_from(prefix))
    }

    /// Records that something came from a participant.
    pub(super) fn on_heard(&mut self, now: Instant, from: GuidPrefix) {
        if let Some(leaving) = self.leaving.get_mut(&from) {
            leaving.quiet_at = (now + QUIET).min(leaving.latest);
        }
    }

    /// Returns when the next participant that has left is forgotten.
    pub(super) fn leave_at(&self) -> Instant {
        let all = self.leaving.values().map(|leaving| leaving.quiet_at);
        all.fold(Instant::NEVER, Instant::min)
    }

    /// Forgets participants that have left and are silent, and accounts for what their writers left
    /// incomplete.
    pub(super) fn end_leaves(&mut self, now: Instant) {
        while self.leave_at() <= now {
            let due = self.leaving.iter().find(|(_, one)| one.quiet_at <= now);
            let Some(prefix) = due.map(|(prefix, _)| *prefix) else {
                return;
            };
            let leaving = self.leaving.remove(&prefix);
            let is_certain = leaving.is_some_and(|leaving| leaving.is_certain);
            for local in self.readers.iter_mut().flatten() {
                if is_certain {
                    local.reader.drain_all(now, prefix);
                } else {
                    local.reader.presume_all(now, prefix);
                }
            }
            self.forget(now, prefix, Parting::Left);
        }
    }
}
