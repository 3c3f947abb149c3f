//! Stacks with classes: receive queues and stack instances.

use rtether_model::record::Segment;

use crate::kernel::Simulation;
use crate::layer::{Job, StackSide};
use crate::observe::Observer;
use crate::packet::OUTBOUND;

impl Simulation {
    /// Passes a packet of class `class` to the stack, from above or from below.
    pub(super) fn pass_stack<O: Observer>(
        &mut self,
        index: u32,
        id: u32,
        class: u8,
        observer: &mut O,
    ) {
        let is_outbound = self.pool.get(id).has(OUTBOUND);
        let takes_time = self.stations[index as usize].servers() > 0;
        match self.layer(index).stack() {
            None => self.enter_stack(index, id, observer),
            Some(StackSide::Queues(_)) if takes_time || !is_outbound => {
                self.pool.get_mut(id).mark = self.now;
                if self.waits_for_instant(index) {
                    self.layer(index).instantly.keep_for_stack(id, class);
                    self.select_if_full(index, observer);
                } else {
                    self.queue_by_class(index, id, class, observer);
                }
            }
            Some(StackSide::Instances(_)) if takes_time => {
                self.start_instance(index, id, class, observer);
            }
            Some(_) => self.leave_stack(index, id, observer),
        }
    }

    pub(super) fn queue_by_class<O: Observer>(
        &mut self,
        index: u32,
        id: u32,
        class: u8,
        observer: &mut O,
    ) {
        let now = self.now();
        let is_outbound = self.pool.get(id).has(OUTBOUND);
        let stack = &self.stacks[index as usize];
        let server = if is_outbound { 0 } else { stack.receiving_server() };
        let is_idle = stack.is_idle(server);
        let Some(StackSide::Queues(queues)) = self.layer(index).stack() else {
            return;
        };
        if is_outbound && !is_idle && !queues.has_room() {
            self.refuse(index, id, observer);
            return;
        }
        queues.push(now, id, class, is_outbound);
        self.lose_refused(index, observer);
        if is_idle {
            self.serve(index, server, observer);
        }
        let Some(StackSide::Queues(queues)) = self.layer(index).stack() else {
            return;
        };
        let waiting = queues.waiting();
        self.stacks[index as usize].note_waiting(waiting);
    }

    /// Gives the servers that have become free at this time their next packets, if none has come
    /// for them.
    pub(super) fn serve_freed<O: Observer>(&mut self, index: u32, observer: &mut O) {
        for server in [0, 1] {
            let is_freed = self.layer(index).instantly.takes_freed(server);
            if is_freed && self.stacks[index as usize].is_idle(server) {
                self.serve(index, server, observer);
            }
        }
    }

    /// Gives an idle server its next packet; a stack with zero processing time takes all it can
    /// get.
    fn serve<O: Observer>(&mut self, index: u32, server: u8, observer: &mut O) {
        let takes_time = self.stations[index as usize].servers() > 0;
        while let Some(id) = self.select_packet(index, server, observer) {
            if takes_time {
                self.begin_service(index, server, id, observer);
                return;
            }
            let packet = self.pool.get_mut(id);
            let waited = self.now - packet.mark;
            packet.spend(Segment::ReceiveQueue, index, waited);
            self.leave_stack(index, id, observer);
        }
    }

    /// Lets a server that has become free select once its packet has caused what it causes at this
    /// time: an answer takes part. Does nothing if the station has no receive queues.
    #[cold]
    pub(in crate::kernel) fn select_when_free(&mut self, index: u32, server: u8) {
        if let Some(StackSide::Queues(_)) = self.layer(index).stack() {
            self.layer(index).instantly.note_freed(server);
            self.wait_for_instant(index);
        }
    }

    /// Chooses the next packet for a server.
    fn select_packet<O: Observer>(
        &mut self,
        index: u32,
        server: u8,
        observer: &mut O,
    ) -> Option<u32> {
        let now = self.now();
        let servers = self.stations[index as usize].servers();
        let Some(StackSide::Queues(queues)) = self.layer(index).stack() else {
            return None;
        };
        let next = queues.select(now, servers, server);
        self.lose_refused(index, observer);
        next
    }

    /// Drops the packets that the receive queues refused.
    fn lose_refused<O: Observer>(&mut self, index: u32, observer: &mut O) {
        while let Some(StackSide::Queues(queues)) = self.layer(index).stack()
            && let Some(id) = queues.refused()
        {
            self.lose_in_layer(index, id, observer);
        }
    }

    fn start_instance<O: Observer>(&mut self, index: u32, id: u32, class: u8, observer: &mut O) {
        let now = self.now();
        let cost = self.stack_cost(index, id);
        let packet = self.pool.get_mut(id);
        packet.mark = self.now;
        let is_outbound = packet.has(OUTBOUND);
        let Some(StackSide::Instances(instances)) = self.layer(index).stack() else {
            return;
        };
        if !instances.start(now, Job { id, cost }, class, is_outbound) {
            self.lose_in_layer(index, id, observer);
        }
    }

    /// Completes the due packets of stack instances, or asks the receive queues of an idle stack
    /// again.
    pub(super) fn stack_timeout<O: Observer>(&mut self, index: u32, observer: &mut O) {
        let now = self.now();
        let stack = &self.stacks[index as usize];
        let server = stack.receiving_server();
        let is_idle = stack.is_idle(server);
        match self.layer(index).stack() {
            None => {}
            Some(StackSide::Queues(queues)) => {
                let is_due = is_idle && queues.handle_timeout(now);
                if is_due {
                    self.lose_refused(index, observer);
                    if self.waits_for_instant(index) {
                        self.layer(index).instantly.note_freed(server);
                    } else {
                        self.serve(index, server, observer);
                    }
                }
            }
            Some(StackSide::Instances(instances)) => {
                for processor in 0..instances.processors() {
                    self.complete_instances(index, processor, observer);
                }
            }
        }
    }

    fn complete_instances<O: Observer>(&mut self, index: u32, processor: usize, observer: &mut O) {
        let now = self.now();
        while let Some(StackSide::Instances(instances)) = self.layer(index).stack()
            && let Some(Job { id, cost }) = instances.complete(now, processor)
        {
            if O::ACTIVE {
                let server = u8::try_from(processor).unwrap_or(u8::MAX);
                self.tell_served(index, server, (self.now - cost, self.now), id, observer);
            }
            let packet = self.pool.get_mut(id);
            let spent = self.now - packet.mark;
            if packet.has(OUTBOUND) {
                packet.spend(Segment::TalkerStack, index, spent);
            } else {
                packet.spend(Segment::ReceiveQueue, index, spent - cost);
                packet.spend(Segment::ReceiveStack, index, cost);
            }
            self.leave_stack(index, id, observer);
        }
    }
}
