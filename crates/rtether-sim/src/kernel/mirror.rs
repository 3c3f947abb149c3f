//! Mirror ports: copies of frames for a station that looks on.
//!
//! A copy counts for no stream, and its station ends it. It takes memory and time of the mirror port
//! alone, or of the memory that all ports share.

use super::Simulation;
use crate::observe::Observer;
use crate::packet::{COUNTED, MIRRORED, NONE};
use crate::port::Owner;

impl Simulation {
    /// Copies a frame that port `ingress` of a switch has received, sent by port `from`, if it is
    /// looked at.
    #[cold]
    pub(super) fn mirror_received<O: Observer>(
        &mut self,
        index: u32,
        ingress: u32,
        id: u32,
        from: u32,
        observer: &mut O,
    ) {
        let Some(to) = self.switches[index as usize].mirror_of_received(ingress) else {
            return;
        };
        let copy = self.mirrored(index, id, observer);
        self.hand_on(index, copy, from, to, observer);
    }

    /// Copies a frame that a port sends now, if it is looked at.
    #[cold]
    pub(super) fn mirror_sent<O: Observer>(&mut self, port: u32, id: u32, observer: &mut O) {
        let to = self.port_rests[port as usize].mirror();
        let Owner::Switch(index) = self.ports[port as usize].owner() else {
            return;
        };
        if to == NONE {
            return;
        }
        let copy = self.mirrored(index, id, observer);
        self.enqueue(to, copy, observer);
    }

    fn mirrored<O: Observer>(&mut self, index: u32, id: u32, observer: &mut O) -> u32 {
        let copy = self.pool.duplicate(id);
        let packet = self.pool.get_mut(copy);
        packet.put(MIRRORED, true);
        packet.put(COUNTED, false);
        self.switches[index as usize].note_copied(1);
        if O::ACTIVE {
            observer.copied(self.now(), id, &self.info(copy));
        }
        copy
    }
}
