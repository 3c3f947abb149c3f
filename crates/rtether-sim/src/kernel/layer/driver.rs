//! Between stack and port: the engines of [`rtether_proto::egress`].
//!
//! The ring is the queue of the port. It holds a frame from the moment the engines hand it out
//! until the port reports that the wire is free again, gap included.

use rtether_model::quantity::Bytes;
use rtether_model::record::Segment;
use rtether_model::wire;
use rtether_proto::egress::{Handed, Offered};

use crate::kernel::Simulation;
use crate::observe::Observer;
use crate::port::Owner;

impl Simulation {
    /// Passes a packet from the stack to the port.
    pub(in crate::kernel) fn hand_down<O: Observer>(
        &mut self,
        index: u32,
        id: u32,
        observer: &mut O,
    ) {
        self.pool.get_mut(id).mark = self.now;
        if self.layer(index).egress().is_plain() {
            // The port then reports no completions, and the egress would never empty its ring.
            let port = self.stations[index as usize].port();
            self.enqueue_at(port, id, 0, observer);
            return;
        }
        let offered = self.offered(index, id);
        if self.waits_for_instant(index) {
            self.layer(index).instantly.keep_for_driver(id, offered);
            self.select_if_full(index, observer);
        } else {
            self.offer_to_driver(index, id, offered, observer);
        }
    }

    /// Offers a frame to smoother and transmit queues.
    pub(super) fn offer_to_driver<O: Observer>(
        &mut self,
        index: u32,
        id: u32,
        offered: Offered,
        observer: &mut O,
    ) {
        let now = self.now();
        self.layer(index).egress().offer(now, id, offered);
        self.hand_out(index, observer);
    }

    /// Returns the properties of a packet for the egress.
    fn offered(&mut self, index: u32, id: u32) -> Offered {
        let egress = self.layer(index).egress();
        let (has_queues, rule) = (egress.has_queues(), egress.rule());
        Offered {
            size: Bytes::new(self.pool.get(id).frame_size().unsigned_abs()),
            class: if has_queues { self.class_of(index, id) } else { 0 },
            datagram: rule.and_then(|rule| self.datagram(id, rule)),
        }
    }

    /// Moves the frames that may be sent to the port, and drops refused packets.
    pub(super) fn hand_out<O: Observer>(&mut self, index: u32, observer: &mut O) {
        let now = self.now();
        loop {
            let handed = self.layer(index).egress().poll_transmit(now);
            while let Some(id) = self.layer(index).egress().poll_dropped() {
                self.lose_in_layer(index, id, observer);
            }
            let Some(Handed { frame, ring }) = handed else {
                return;
            };
            if !self.put_into_ring(index, frame, ring, observer) {
                self.layer(index).egress().refuse(now, ring);
            }
        }
    }

    /// Hands a frame to the port; `false` if the port dropped it.
    fn put_into_ring<O: Observer>(
        &mut self,
        index: u32,
        id: u32,
        ring: u8,
        observer: &mut O,
    ) -> bool {
        let port = self.stations[index as usize].port();
        let packet = self.pool.get_mut(id);
        let waited = self.now - packet.mark;
        packet.spend(Segment::DriverQueue, port, waited);
        let dropped = self.port_rests[port as usize].dropped();
        self.enqueue_at(port, id, ring, observer);
        self.port_rests[port as usize].dropped() == dropped
    }

    /// Called when a port that reports completions begins to send a frame of a ring, or gives it to
    /// its medium.
    #[cold]
    pub(in crate::kernel) fn transmission_begins(&mut self, port: u32, ring: u8) {
        let now = self.now();
        if let Owner::Station(index) = self.ports[port as usize].owner() {
            self.layer(index).egress().begin(now, ring);
        }
    }

    /// Called when the medium begins an attempt to send a frame of such a port.
    #[cold]
    pub(in crate::kernel) fn attempt_begins(&mut self, port: u32) {
        let now = self.now();
        if let Owner::Station(index) = self.ports[port as usize].owner() {
            self.layer(index).egress().attempt(now);
        }
    }

    /// Called when a port that reports completions is done with a frame after `attempts` attempts.
    ///
    /// This includes frames given up: they collided, and their place in the ring is free.
    #[cold]
    pub(in crate::kernel) fn transmission_complete<O: Observer>(
        &mut self,
        port: u32,
        attempts: u32,
        observer: &mut O,
    ) {
        let Owner::Station(index) = self.ports[port as usize].owner() else {
            return;
        };
        let now = self.now();
        self.layer(index).egress().handle_completion(now, attempts);
        self.hand_out(index, observer);
        self.set_layer_timer(index);
    }

    /// Tells the layer of a station that a frame was heard, for any destination. On a shared
    /// medium frames for others are heard when they leave their sender, one propagation delay too
    /// early.
    #[cold]
    pub(in crate::kernel) fn hear(&mut self, index: u32, id: u32) {
        let now = self.now();
        let size = Bytes::new(self.pool.get(id).frame_size().unsigned_abs());
        self.layer(index).egress().hear(now, wire::wire_size(size));
    }

    /// Handles the timers of transmit queues and smoother.
    pub(super) fn driver_timeout<O: Observer>(&mut self, index: u32, observer: &mut O) {
        let now = self.now();
        self.layer(index).egress().handle_timeout(now);
        if self.waits_for_instant(index) {
            self.layer(index).instantly.note_driver();
        } else {
            self.hand_out(index, observer);
        }
    }
}
