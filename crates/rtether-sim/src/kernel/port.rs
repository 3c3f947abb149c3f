//! Queueing and transmission at ports, and arrival at the other end.

use rtether_model::network::NodeId;
use rtether_model::quantity::Instant;

use super::Simulation;
use crate::agenda::NEVER;
use crate::observe::{DropReason, Observer};
use crate::packet::{CORRUPTED, NONE};
use crate::port::Owner;
use crate::queues::Next;

impl Simulation {
    /// Queues a frame at a port, or sends it if the link is free.
    #[inline]
    pub(super) fn enqueue<O: Observer>(&mut self, index: u32, id: u32, observer: &mut O) {
        let queue = if self.ports[index as usize].has_one_queue() {
            0
        } else {
            let class = self.port_rests[index as usize].class_of(self.pool.get(id).pcp);
            self.queues[index as usize].queue_for(class)
        };
        self.enqueue_at(index, id, queue, observer);
    }

    /// Queues a frame in a queue of a port, or sends it if the link is free.
    #[inline]
    pub(super) fn enqueue_at<O: Observer>(
        &mut self,
        index: u32,
        id: u32,
        queue: u8,
        observer: &mut O,
    ) {
        let now = self.now;
        self.pool.get_mut(id).mark = now;
        let port = &mut self.ports[index as usize];
        if !port.offer(now) {
            self.queue_up(index, id, queue, observer);
        } else if port.has_choice() {
            self.choose(index, id, queue, observer);
        } else {
            self.transmit(index, id, queue, observer);
        }
    }

    /// Sends a frame at an idle port that has a choice, or lets it wait for what else comes at this
    /// time. Not inlined, so that ports without a choice do not pay for it.
    #[inline(never)]
    fn choose<O: Observer>(&mut self, index: u32, id: u32, queue: u8, observer: &mut O) {
        if self.more_may_come() {
            self.propose(index, id, queue);
        } else {
            self.transmit(index, id, queue, observer);
        }
    }

    /// Queues a frame at a port that is busy or has not yet selected. Not inlined, so that the fast
    /// path does not pay for its variables.
    #[inline(never)]
    fn queue_up<O: Observer>(&mut self, index: u32, id: u32, queue: u8, observer: &mut O) {
        let packet = self.pool.get_mut(id);
        let size = packet.frame_size().unsigned_abs();
        let queues = &mut self.queues[index as usize];
        let port = &mut self.ports[index as usize];
        self.events += queues.settle(self.now);
        // An observer is told of a frame when it leaves.
        let is_known = !O::ACTIVE && queues.is_in_order();
        if is_known && !port.is_wake_set() && queues.fits(queue, size) {
            // Only the frames before it decide when it leaves, so that the port need not wake up for
            // it. All that happens then is booked now, or by `EgressQueues::settle`.
            let leaves_at = port.free_at();
            let waits = leaves_at - self.now;
            queues.schedule(leaves_at, waits, size);
            packet.spend(port.owner().waiting_place(), index, waits);
            port.send(index, packet, leaves_at);
            port.launch(index, id, &mut self.pool, &mut self.agenda);
            return;
        }
        let (queue, may_send) = match self.queue_in_scheme(index, id, queue) {
            Some(queue) => (queue, true),
            None => (0, false),
        };
        let fits = may_send && self.queues[index as usize].fits(queue, size);
        if !fits || !self.reserve_shared(index, size) {
            self.drop_full(index, id, queue, observer);
            return;
        }
        self.queues[index as usize].push(&mut self.pool, id, queue, size);
        let port = &mut self.ports[index as usize];
        if port.attachment().is_some() {
            self.select_for_medium(index);
        } else {
            port.wake_for_waiting(self.now, &mut self.agenda);
        }
    }

    /// Lets the first frame of this time wait for the others at an idle port.
    fn propose(&mut self, index: u32, id: u32, queue: u8) {
        self.queues[index as usize].propose(id, queue);
        self.ports[index as usize].wake_for_waiting(self.now, &mut self.agenda);
    }

    /// Lets an idle port select among the frames of this time, of which `id` came first.
    #[cold]
    fn select_with<O: Observer>(&mut self, index: u32, (id, queue): (u32, u8), observer: &mut O) {
        let size = self.pool.get(id).frame_size().unsigned_abs();
        let queues = &mut self.queues[index as usize];
        if queues.is_empty() {
            self.transmit(index, id, queue, observer);
            return;
        }
        // It takes memory only now that others are there, and leaves it if the best of them does not
        // make room for it.
        queues.put_first(&mut self.pool, id, queue, size);
        self.hold_shared(index, size);
        self.send_selected(index, observer);
        let has_room = self.queues[index as usize].fits(queue, 0) && !self.exceeds_shared(index);
        if !has_room
            && let Next::Frame(id, _) = self.queues[index as usize].pop_from(&self.pool, queue)
        {
            let size = self.pool.get(id).frame_size().unsigned_abs();
            self.release_shared(index, size);
            self.drop_full(index, id, queue, observer);
        }
        self.queues[index as usize].note_left();
    }

    /// Sends the frame that the selection chooses, or returns when to ask again.
    fn send_selected<O: Observer>(&mut self, index: u32, observer: &mut O) -> i64 {
        match self.queues[index as usize].pop(&self.pool, self.now) {
            Next::Frame(id, queue) => {
                let size = self.pool.get(id).frame_size().unsigned_abs();
                self.release_shared(index, size);
                self.transmit(index, id, queue, observer);
                i64::MIN
            }
            Next::NotBefore(time) => time,
            Next::Empty => i64::MIN,
        }
    }

    /// Drops a frame for which a port has no room.
    fn drop_full<O: Observer>(&mut self, index: u32, id: u32, queue: u8, observer: &mut O) {
        self.queues[index as usize].note_dropped(queue);
        self.port_rests[index as usize].note_dropped();
        let node = self.port_id(index).node;
        self.lose(id, node, Some(index), DropReason::BufferFull, observer);
    }

    /// Offers the medium of a port its next frame once nothing else can come at this time.
    fn select_for_medium(&mut self, index: u32) {
        if self.queues[index as usize].has_choice() && self.more_may_come_to_medium() {
            self.ports[index as usize].wake_at(self.now, &mut self.agenda);
        } else {
            self.offer_next(index);
        }
    }

    /// Takes note of all frames that have left, so that counters are those of now.
    pub(super) fn settle(&mut self) {
        for queues in &mut self.queues {
            self.events += queues.settle(self.now);
        }
    }

    /// Sends the next waiting frame: the link is free.
    pub(super) fn wake_port<O: Observer>(&mut self, index: u32, observer: &mut O) {
        if self.ports[index as usize].attachment().is_some() {
            self.ports[index as usize].wake_at(NEVER, &mut self.agenda);
            self.offer_next(index);
            return;
        }
        self.events += self.queues[index as usize].settle(self.now);
        let not_before = match self.queues[index as usize].take_candidate() {
            None => self.send_selected(index, observer),
            Some(first) => {
                self.select_with(index, first, observer);
                i64::MIN
            }
        };
        let waits = !self.queues[index as usize].is_empty();
        let port = &mut self.ports[index as usize];
        port.has_woken(self.now, waits, not_before, &mut self.agenda);
        if port.reports_completion() {
            // The ring did not wait for its driver: its next frame is already being sent.
            self.transmission_complete(index, 1, observer);
        }
    }

    /// Draws how much longer than the least latency the switch at the other end of a port takes.
    #[cold]
    pub(super) fn delay_in_switch(&mut self, index: u32, id: u32) {
        let seed = self.visitor(id).and_then(|visitor| visitor.seed);
        let packet = self.pool.get_mut(id);
        self.port_rests[index as usize].delay_in_switch(index, packet, seed);
    }

    /// Puts a frame on the wire now.
    #[inline]
    fn transmit<O: Observer>(&mut self, index: u32, id: u32, queue: u8, observer: &mut O) {
        let now = self.now;
        let port = &self.ports[index as usize];
        let packet = self.pool.get_mut(id);
        let waited = now - packet.mark;
        if waited > 0 {
            packet.spend(port.owner().waiting_place(), index, waited);
        }
        if O::ACTIVE {
            self.tell_transmitted(index, id, observer);
        }
        let port = &mut self.ports[index as usize];
        let packet = self.pool.get_mut(id);
        if waited > 0 || !port.has_one_queue() {
            self.queues[index as usize].note_waited(queue, waited);
            self.queues[index as usize].note_sent(queue);
        }
        port.send(index, packet, now);
        if port.is_special() {
            self.mirror_sent(index, id, observer);
            let packet = self.pool.get_mut(id);
            self.port_rests[index as usize].maybe_corrupt(packet);
            self.delay_in_switch(index, id);
        }
        let port = &mut self.ports[index as usize];
        port.launch(index, id, &mut self.pool, &mut self.agenda);
        if port.reports_completion() {
            port.wake_when_sent(&mut self.agenda);
            self.transmission_begins(index, queue);
        }
        if O::ACTIVE {
            self.announce(index, id, observer);
        }
    }

    /// Announces a frame just put on the wire, if it goes to a station and is not corrupted.
    fn announce<O: Observer>(&self, index: u32, id: u32, observer: &mut O) {
        let packet = self.pool.get(id);
        if let Owner::Station(station) = self.ports[index as usize].peer_owner()
            && !packet.has(CORRUPTED)
        {
            let node = self.stations[station as usize].node();
            observer.landing(Instant::from_ps(packet.due), node, &self.info(id));
        }
    }

    /// Handles a frame that arrives at the other end of the link behind port `index`.
    pub(super) fn arrive<O: Observer>(&mut self, index: u32, observer: &mut O) {
        let port = &mut self.ports[index as usize];
        let Some(id) = port.land(&self.pool, &mut self.agenda) else {
            return;
        };
        let peer = port.peer();
        debug_assert!(peer != NONE, "a frame on a missing link");
        match port.peer_owner() {
            Owner::Station(station) => self.receive(station, id, index, observer),
            Owner::Switch(switch) => self.forward(switch, peer, id, index, observer),
            Owner::Hub => unreachable!("a hub is part of a medium"),
        }
    }

    /// Takes memory from the pool shared by the ports of a switch; `false` if too little is left.
    fn reserve_shared(&mut self, port: u32, size: u64) -> bool {
        let Owner::Switch(switch) = self.ports[port as usize].owner() else {
            return true;
        };
        self.switches[switch as usize].reserve(size)
    }

    /// Takes memory for a frame that has to wait because a better one came at the same time.
    fn hold_shared(&mut self, port: u32, size: u64) {
        if let Owner::Switch(switch) = self.ports[port as usize].owner() {
            self.switches[switch as usize].hold(size);
        }
    }

    /// Returns whether the ports of a switch hold more than it has memory for.
    fn exceeds_shared(&self, port: u32) -> bool {
        match self.ports[port as usize].owner() {
            Owner::Switch(switch) => self.switches[switch as usize].exceeds(),
            Owner::Station(_) | Owner::Hub => false,
        }
    }

    pub(super) fn release_shared(&mut self, port: u32, size: u64) {
        if let Owner::Switch(switch) = self.ports[port as usize].owner() {
            self.switches[switch as usize].release(size);
        }
    }

    /// Returns the node at the other end of the link behind port `index`.
    pub(super) fn peer_node(&self, index: u32) -> NodeId {
        let peer = self.ports[index as usize].peer();
        self.port_id(peer).node
    }
}
