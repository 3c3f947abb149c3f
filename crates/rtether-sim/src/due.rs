//! Packets that each wait for a time, with one timer for the first of them.

use crate::agenda::{Agenda, NEVER};
use crate::packet::{Fifo, NONE, Pool};

/// Packets in the order of their times ([`crate::packet::Packet::due`]), as they were added.
#[derive(Clone, Copy)]
pub(crate) struct DueQueue {
    fifo: Fifo,
    slot: u32,
}

impl Default for DueQueue {
    fn default() -> Self {
        Self { fifo: Fifo::default(), slot: NONE }
    }
}

impl DueQueue {
    /// Gives the queue its timer; it must have one before a packet is added.
    pub(crate) const fn set_slot(&mut self, slot: u32) {
        self.slot = slot;
    }

    /// Adds a packet with its time, which is not before those of earlier ones.
    #[inline]
    pub(crate) fn push(&mut self, pool: &mut Pool, agenda: &mut Agenda, id: u32, due: i64) {
        let is_first = self.fifo.len() == 0;
        self.fifo.push(pool, id);
        if is_first {
            agenda.set(self.slot, due);
        }
    }

    /// Adds a packet that has its time behind those that are not due later.
    pub(crate) fn insert(&mut self, pool: &mut Pool, agenda: &mut Agenda, id: u32) {
        let due = pool.get(id).due;
        let last = self.fifo.tail();
        if last.is_none_or(|last| pool.get(last).due <= due) {
            self.push(pool, agenda, id, due);
            return;
        }
        // Those of another listener have their scans at other times.
        self.fifo.insert(pool, id, due, |packet| packet.due);
        if self.fifo.head() == Some(id) {
            agenda.set(self.slot, due);
        }
    }

    /// Removes and returns the first packet, and sets the timer for the next one.
    #[inline]
    pub(crate) fn pop(&mut self, pool: &Pool, agenda: &mut Agenda) -> Option<u32> {
        let id = self.fifo.pop(pool)?;
        let next = self.fifo.head().map_or(NEVER, |id| pool.get(id).due);
        agenda.set(self.slot, next);
        Some(id)
    }

    /// Returns the number of packets.
    pub(crate) const fn len(&self) -> u32 {
        self.fifo.len()
    }

    /// Returns all packets, the first to be due first.
    pub(crate) fn iter<'a>(&self, pool: &'a Pool) -> impl Iterator<Item = u32> + use<'a> {
        self.fifo.iter(pool)
    }
}
