//! Packets that come to a station at one time and have not been selected from.

use alloc::vec::Vec;
use core::cmp::Reverse;

use rtether_model::endnode::{TransmitConfig, TransmitStrategy};
use rtether_proto::egress::Offered;

use crate::agenda::{Agenda, NEVER};
use crate::packet::NONE;

/// Packets of one time, in front of receive and transmit queues.
pub(crate) struct Instantly {
    slot: u32,
    /// The timer is set, and what comes has to wait for it.
    is_set: bool,
    /// The class decides which frame the driver sends first.
    is_by_class: bool,
    /// Servers that have become free, and wait for a packet.
    freed: [bool; 2],
    /// The driver has to look for frames that it may send.
    looks: bool,
    /// Packets for the stack, with their classes.
    stack: Vec<(u32, u8)>,
    driver: Vec<(u32, Offered)>,
}

impl Instantly {
    /// Packets of each list that may wait. They are in front of the queues and their limits.
    const MOST: usize = 1_000;

    pub(super) fn new(transmit: Option<&TransmitConfig>) -> Self {
        Self {
            slot: NONE,
            is_set: false,
            is_by_class: transmit.is_some_and(|own| own.strategy != TransmitStrategy::Fifo),
            freed: [false; 2],
            looks: false,
            stack: Vec::new(),
            driver: Vec::new(),
        }
    }

    /// Gives it the timer.
    pub(crate) const fn set_slot(&mut self, slot: u32) {
        self.slot = slot;
    }

    /// Returns whether a selection of this time is still to come.
    pub(crate) const fn is_set(&self) -> bool {
        self.is_set
    }

    /// Sets the timer for the selection of this time.
    pub(crate) fn set(&mut self, now: i64, agenda: &mut Agenda) {
        if !self.is_set {
            self.is_set = true;
            agenda.set(self.slot, now);
        }
    }

    /// Keeps a packet for the stack.
    pub(crate) fn keep_for_stack(&mut self, id: u32, class: u8) {
        self.stack.push((id, class));
    }

    /// Keeps a packet for the driver.
    pub(crate) fn keep_for_driver(&mut self, id: u32, offered: Offered) {
        self.driver.push((id, offered));
    }

    /// Notes that a server has become free.
    pub(crate) fn note_freed(&mut self, server: u8) {
        self.freed[usize::from(server)] = true;
    }

    /// Returns whether a server has become free, and forgets it.
    pub(crate) fn takes_freed(&mut self, server: u8) -> bool {
        core::mem::take(&mut self.freed[usize::from(server)])
    }

    /// Notes that the driver may have something to send.
    pub(crate) const fn note_driver(&mut self) {
        self.looks = true;
    }

    /// Returns whether the driver may have something to send, and forgets it.
    pub(crate) const fn takes_driver(&mut self) -> bool {
        core::mem::replace(&mut self.looks, false)
    }

    /// Begins the selection: returns what has come for the stack, the highest class first.
    pub(crate) fn begin(&mut self, agenda: &mut Agenda) -> Vec<(u32, u8)> {
        self.is_set = false;
        agenda.set(self.slot, NEVER);
        let mut packets = core::mem::take(&mut self.stack);
        packets.sort_by_key(|&(_, class)| Reverse(class));
        packets
    }

    /// Returns what has come for the driver, in the order in which it takes frames.
    pub(crate) fn for_driver(&mut self) -> Vec<(u32, Offered)> {
        let mut packets = core::mem::take(&mut self.driver);
        if self.is_by_class {
            packets.sort_by_key(|(_, offered)| Reverse(offered.class));
        }
        packets
    }

    /// Returns whether as many packets wait as may: the next selection cannot wait for more.
    pub(crate) fn is_full(&self) -> bool {
        self.stack.len().max(self.driver.len()) >= Self::MOST
    }

    /// Takes the memory of both lists back, unless others have come meanwhile.
    pub(crate) fn keep(&mut self, mut stack: Vec<(u32, u8)>, mut driver: Vec<(u32, Offered)>) {
        stack.clear();
        driver.clear();
        if self.stack.is_empty() {
            self.stack = stack;
        }
        if self.driver.is_empty() {
            self.driver = driver;
        }
    }

    /// Returns its packets.
    pub(super) fn packets(&self) -> impl Iterator<Item = u32> {
        let stack = self.stack.iter().map(|&(id, _)| id);
        stack.chain(self.driver.iter().map(|&(id, _)| id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: what is kept is there until it is taken.
    #[test]
    fn what_comes_during_a_selection_waits_for_the_next() {
        let mut agenda = Agenda::new(1, [0, 0]);
        let mut own = Instantly::new(None);
        own.set_slot(0);
        own.keep_for_stack(1, 0);
        own.set(7, &mut agenda);
        let first = own.begin(&mut agenda);
        assert_eq!(first, [(1, 0)]);
        // Its answer comes while it is passed on.
        own.keep_for_stack(2, 3);
        own.set(7, &mut agenda);
        let driver = own.for_driver();
        own.keep(first, driver);
        assert!(own.packets().eq([2]));
        assert_eq!(own.begin(&mut agenda), [(2, 3)]);
    }
}
