//! Instances at a reader: ownership and timers.

use alloc::vec::Vec;

use super::{InstanceState, Sample};
use crate::guid::Guid;
use crate::time::{Duration, Instant};

/// Maximum number of writers tracked per instance.
const WRITERS_MAX: usize = 64;
/// Maximum number of weaker writers whose last sample is kept.
const STANDBY_MAX: usize = 8;

/// The writer that owns the instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Owner {
    writer: Guid,
    strength: i32,
    /// End of its persistence.
    until: Instant,
}

/// Last sample of a weaker writer.
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
    /// Time of the last delivery.
    pub(crate) delivered_at: Option<Instant>,
    /// Sample that arrived within the minimum separation.
    pub(crate) pending: Option<Sample>,
    /// Whether `pending` waits for the application to take samples, not for a timer.
    pub(crate) waits_for_room: bool,
    /// Deadline of the next sample.
    pub(crate) deadline_at: Option<Instant>,
    /// Samples queued for the application.
    pub(crate) queued: usize,
}

impl Instance {
    /// Records that a writer writes the instance.
    pub(crate) fn add_writer(&mut self, writer: Guid) {
        if !self.writers.contains(&writer) && self.writers.len() < WRITERS_MAX {
            self.writers.push(writer);
        }
    }

    /// Handles a sample of a writer; returns whether the writer is now the owner.
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
            self.owner = Some(Owner { writer, strength, until: now + persistence });
        }
        may
    }

    /// Keeps the last sample of a weaker writer in case the owner stops.
    pub(crate) fn stand_by(&mut self, strength: i32, until: Instant, sample: Sample) {
        let writer = sample.info.writer;
        self.standby.retain(|one| one.writer != writer);
        if self.standby.len() >= STANDBY_MAX {
            let weakest = self.standby.iter().map(|one| one.strength).min();
            if weakest.is_none_or(|weakest| weakest >= strength) {
                return;
            }
            let index = self.standby.iter().position(|one| Some(one.strength) == weakest);
            if let Some(index) = index {
                self.standby.remove(index);
            }
        }
        self.standby.push(Standby { writer, strength, until, sample });
    }

    /// Updates the strength of a writer. A take-over is decided at the next sample.
    pub(crate) fn set_strength(&mut self, writer: Guid, strength: i32) {
        if let Some(owner) = self.owner.as_mut().filter(|owner| owner.writer == writer) {
            owner.strength = strength;
        }
        let mut standby = self.standby.iter_mut();
        if let Some(one) = standby.find(|one| one.writer == writer) {
            one.strength = strength;
        }
    }

    /// Removes the last sample of a weaker writer.
    pub(crate) fn forget_standby(&mut self, writer: Guid) {
        self.standby.retain(|one| one.writer != writer);
    }

    /// Removes a writer.
    pub(crate) fn remove_writer(&mut self, writer: Guid) {
        self.writers.retain(|one| *one != writer);
        self.forget_standby(writer);
        if self.owner.is_some_and(|owner| owner.writer == writer) {
            self.owner = None;
        }
    }

    /// Returns the end of the owner's persistence.
    pub(crate) fn owner_until(&self) -> Option<Instant> {
        let until = self.owner.map(|owner| owner.until);
        until.filter(|until| *until != Instant::NEVER)
    }

    /// If there is no owner, makes the strongest writer whose last sample is still valid the owner,
    /// and returns that sample.
    pub(crate) fn take_over(&mut self, now: Instant) -> Option<Sample> {
        if self.owner.is_some_and(|owner| owner.until > now) {
            return None;
        }
        self.owner = None;
        self.standby.retain(|one| one.until > now);
        let best = self.standby.iter().map(|one| one.strength).max()?;
        let index = self.standby.iter().position(|one| one.strength == best)?;
        let one = self.standby.remove(index);
        self.owner = Some(Owner { writer: one.writer, strength: one.strength, until: one.until });
        Some(one.sample)
    }

    /// Returns the next timer.
    pub(crate) fn timeout(&self, filter: Duration) -> Option<Instant> {
        let pending = self.pending.as_ref().filter(|_| !self.waits_for_room);
        let pending = pending.and(self.delivered_at);
        let pending = pending.map(|at| at + filter);
        [self.owner_until(), pending, self.deadline_at].into_iter().flatten().min()
    }

    /// Returns whether the instance can be removed without loss.
    pub(crate) fn is_idle(&self) -> bool {
        self.state != InstanceState::Alive
            && self.queued == 0
            && self.writers.is_empty()
            && self.pending.is_none()
    }
}
