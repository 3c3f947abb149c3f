//! Frames of one flow that their station holds for its gap: the engine of [`rtether_proto::spacer`]
//! with a queue.

use rtether_model::flow::Flow;
use rtether_model::quantity::{Duration, Instant};
use rtether_proto::spacer::Spacer;

use crate::agenda::Agenda;
use crate::due::DueQueue;
use crate::packet::Pool;

/// The gap of one flow at its talker.
pub(crate) struct Spacing {
    flow: u32,
    station: u32,
    spacer: Spacer,
    held: DueQueue,
}

/// What becomes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offered {
    /// It leaves at once.
    Leaves,
    /// It is held.
    Held,
    /// Too many are held already.
    Full,
}

impl Spacing {
    /// Creates the spacing of a flow, by its number and that of its talker.
    pub(crate) fn new(flow: u32, station: u32, gap: Duration) -> Self {
        Self { flow, station, spacer: Spacer::new(gap), held: DueQueue::default() }
    }

    /// Gives it the timer.
    pub(crate) const fn set_slot(&mut self, slot: u32) {
        self.held.set_slot(slot);
    }

    /// Returns the number of the flow.
    pub(crate) const fn flow(&self) -> u32 {
        self.flow
    }

    /// Returns the number of the station.
    pub(crate) const fn station(&self) -> u32 {
        self.station
    }

    /// Takes a frame that comes at `now`.
    pub(crate) fn offer(
        &mut self,
        now: Instant,
        id: u32,
        pool: &mut Pool,
        agenda: &mut Agenda,
    ) -> Offered {
        if self.held.len() >= Flow::HELD_MAX {
            return Offered::Full;
        }
        let leaves_at = self.spacer.take(now);
        if leaves_at == now {
            return Offered::Leaves;
        }
        let due = (leaves_at - Instant::ZERO).as_ps();
        let packet = pool.get_mut(id);
        packet.mark = (now - Instant::ZERO).as_ps();
        packet.due = due;
        self.held.push(pool, agenda, id, due);
        Offered::Held
    }

    /// Removes and returns the frame whose time has come, and sets the timer for the next one.
    pub(crate) fn pop(&mut self, pool: &Pool, agenda: &mut Agenda) -> Option<u32> {
        self.held.pop(pool, agenda)
    }

    /// Returns the frames held.
    pub(crate) fn held<'a>(&'a self, pool: &'a Pool) -> impl Iterator<Item = u32> + 'a {
        self.held.iter(pool)
    }

    /// Returns the number of frames held.
    pub(crate) fn waiting(&self) -> u64 {
        self.held.len().into()
    }
}
