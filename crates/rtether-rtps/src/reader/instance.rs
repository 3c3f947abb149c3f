//! Instances at a reader: who may write them, and what is due.

use alloc::vec::Vec;

use super::Sample;
use crate::guid::Guid;
use crate::time::{Duration, Instant};

/// Writers of an instance that are kept account of.
const WRITERS_MAX: usize = 64;
/// Weaker writers whose last sample is kept.
const STANDBY_MAX: usize = 8;

/// Whether an instance exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InstanceState {
    /// It does.
    #[default]
    Alive,
    /// A writer has said that it is gone.
    Disposed,
    /// Nobody writes it any more.
    NoWriters,
}

/// The writer that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Owner {
    writer: Guid,
    strength: i32,
    /// Until when what it has written last keeps others away.
    until: Instant,
}

/// The last sample of a weaker writer.
#[derive(Debug)]
struct Standby {
    writer: Guid,
    strength: i32,
    until: Instant,
    sample: Sample,
}

/// An instance.
#[derive(Debug, Default)]
pub(crate) struct Instance {
    pub(crate) key: Vec<u8>,
    pub(crate) hash: [u8; 16],
    pub(crate) state: InstanceState,
    pub(crate) writers: Vec<Guid>,
    owner: Option<Owner>,
    standby: Vec<Standby>,
    /// When a sample was delivered last.
    pub(crate) delivered_at: Option<Instant>,
    /// What came too soon after it.
    pub(crate) pending: Option<Sample>,
    /// Whether that waits for the application to take samples, not for time to pass.
    pub(crate) waits_for_room: bool,
    /// When the next sample is overdue.
    pub(crate) deadline_at: Option<Instant>,
    /// Samples that wait for the application.
    pub(crate) queued: usize,
}

impl Instance {
    /// Notes that a writer writes it.
    pub(crate) fn add_writer(&mut self, writer: Guid) {
        if !self.writers.contains(&writer) && self.writers.len() < WRITERS_MAX {
            self.writers.push(writer);
        }
    }

    /// Takes in that a writer writes; returns whether it is the owner now.
    ///
    /// A stronger one takes over at once, one of equal strength does not (D3).
    pub(crate) fn arbitrate(
        &mut self,
        now: Instant,
        writer: Guid,
        strength: i32,
        persistence: Duration,
    ) -> bool {
        let may = self.owner.is_none_or(|owner| {
            owner.writer == writer || owner.until <= now || strength > owner.strength
        });
        if may {
            self.standby.retain(|one| one.writer != writer);
            self.owner = Some(Owner {
                writer,
                strength,
                until: now + persistence,
            });
        }
        may
    }

    /// Keeps the last sample of a weaker writer for the time when the owner falls silent.
    pub(crate) fn stand_by(&mut self, strength: i32, until: Instant, sample: Sample) {
        let writer = sample.info.writer;
        self.standby.retain(|one| one.writer != writer);
        if self.standby.len() >= STANDBY_MAX {
            let weakest = self.standby.iter().map(|one| one.strength).min();
            if weakest.is_none_or(|weakest| weakest >= strength) {
                return;
            }
            let index = self
                .standby
                .iter()
                .position(|one| Some(one.strength) == weakest);
            if let Some(index) = index {
                self.standby.remove(index);
            }
        }
        self.standby.push(Standby {
            writer,
            strength,
            until,
            sample,
        });
    }

    /// Takes in that a writer is stronger or weaker than before. Who may take over is seen when somebody
    /// writes next.
    pub(crate) fn set_strength(&mut self, writer: Guid, strength: i32) {
        if let Some(owner) = self.owner.as_mut().filter(|owner| owner.writer == writer) {
            owner.strength = strength;
        }
        let mut standby = self.standby.iter_mut();
        if let Some(one) = standby.find(|one| one.writer == writer) {
            one.strength = strength;
        }
    }

    /// Forgets the last sample of a weaker writer.
    pub(crate) fn forget_standby(&mut self, writer: Guid) {
        self.standby.retain(|one| one.writer != writer);
    }

    /// Forgets a writer.
    pub(crate) fn remove_writer(&mut self, writer: Guid) {
        self.writers.retain(|one| *one != writer);
        self.forget_standby(writer);
        if self.owner.is_some_and(|owner| owner.writer == writer) {
            self.owner = None;
        }
    }

    /// Returns when the owner's last sample no longer keeps others away.
    pub(crate) fn owner_until(&self) -> Option<Instant> {
        let until = self.owner.map(|owner| owner.until);
        until.filter(|until| *until != Instant::NEVER)
    }

    /// If nobody owns it any more, makes the strongest of the others the owner whose last sample is
    /// still valid, and returns that sample.
    pub(crate) fn take_over(&mut self, now: Instant) -> Option<Sample> {
        if self.owner.is_some_and(|owner| owner.until > now) {
            return None;
        }
        self.owner = None;
        self.standby.retain(|one| one.until > now);
        let best = self.standby.iter().map(|one| one.strength).max()?;
        let index = self.standby.iter().position(|one| one.strength == best)?;
        let one = self.standby.remove(index);
        self.owner = Some(Owner {
            writer: one.writer,
            strength: one.strength,
            until: one.until,
        });
        Some(one.sample)
    }

    /// Returns when something is due.
    pub(crate) fn timeout(&self, filter: Duration) -> Option<Instant> {
        let pending = self.pending.as_ref().filter(|_| !self.waits_for_room);
        let pending = pending.and(self.delivered_at);
        let pending = pending.map(|at| at + filter);
        [self.owner_until(), pending, self.deadline_at]
            .into_iter()
            .flatten()
            .min()
    }

    /// Returns whether nothing would be lost with it.
    pub(crate) fn is_idle(&self) -> bool {
        self.state != InstanceState::Alive
            && self.queued == 0
            && self.writers.is_empty()
            && self.pending.is_none()
    }
}
