//! Tasks and layers: packets on their way through the engines of a station ([`crate::layer`]).
//!
//! Functions called for every packet are marked cold: most stations have no layer, and the code for
//! them stays together.

mod driver;
mod instant;
mod stack;
mod tasks;
#[cfg(test)]
mod tests;

use super::Simulation;
use crate::agenda::NEVER;
use crate::layer::LayerState;
use crate::mechanism::Level;
use crate::observe::{DropReason, Observer};
use crate::packet::{ARP, OUTBOUND, TAGGED};

impl Simulation {
    /// Returns the tasks and the layer of a station that has them.
    fn layer(&mut self, station: u32) -> &mut LayerState {
        let layer = self.stations[station as usize].layer();
        &mut self.layers[layer.expect("a station with tasks or a layer") as usize]
    }

    /// Sends a packet of an application through a station with tasks or a layer.
    #[cold]
    pub(in crate::kernel) fn send_layered<O: Observer>(
        &mut self,
        index: u32,
        id: u32,
        observer: &mut O,
    ) {
        if !self.queue_for_sending_task(index, id, observer) {
            self.enter_from_above(index, id, observer);
        }
        self.set_layer_timer(index);
    }

    /// Passes a packet from the application to the stack.
    fn enter_from_above<O: Observer>(&mut self, index: u32, id: u32, observer: &mut O) {
        let class = self.stack_class(index, id);
        self.pass_stack(index, id, class, observer);
    }

    /// Receives a frame, with its tag, at a station with tasks or a layer.
    #[cold]
    pub(in crate::kernel) fn receive_layered<O: Observer>(
        &mut self,
        index: u32,
        id: u32,
        observer: &mut O,
    ) {
        let class = self.stack_class(index, id);
        let packet = self.pool.get_mut(id);
        // A reply has the tag of its request.
        if !packet.has(ARP) {
            packet.put(TAGGED, false);
        }
        self.pass_stack(index, id, class, observer);
        self.set_layer_timer(index);
    }

    /// Returns the class of a packet for a stack with classes, otherwise zero.
    fn stack_class(&mut self, index: u32, id: u32) -> u8 {
        if self.layer(index).has_classes() { self.class_of(index, id) } else { 0 }
    }

    /// Handles a packet that leaves the stack of a station with tasks or a layer, in either
    /// direction.
    #[cold]
    pub(in crate::kernel) fn leave_layered_stack<O: Observer>(
        &mut self,
        index: u32,
        id: u32,
        observer: &mut O,
    ) {
        if self.pool.get(id).has(OUTBOUND) && self.pool.get(id).destination == index {
            self.turn_round(index, id, observer);
        } else if self.pool.get(id).has(OUTBOUND) {
            self.descend(index, id, Level::Arp, observer);
        } else if self.pool.get(id).has(ARP) {
            self.take_arp(index, id, observer);
        } else if self.has_tasks(index) && !self.is_for_application(index, id, observer) {
            // A fragment: the stack waits for the others.
        } else if !self.queue_for_receiving_task(index, id, observer) {
            self.deliver(index, id, observer);
        }
        self.set_layer_timer(index);
    }

    /// Handles the timer of a layer: every engine does what is due.
    #[cold]
    pub(in crate::kernel) fn layer_timeout<O: Observer>(&mut self, index: u32, observer: &mut O) {
        // Its own timer is not something else that comes at this time.
        let slot = self.layer(index).slot();
        self.agenda.set(slot, NEVER);
        let now = self.now;
        // What the driver hands on has been chosen: the port below makes no choice.
        if self.layer(index).is_only_driver_due(now) {
            self.note_last();
        }
        self.complete_tasks(index, observer);
        self.stack_timeout(index, observer);
        self.driver_timeout(index, observer);
        self.set_layer_timer(index);
    }

    /// Returns whether received packets wait for a task after the stack.
    pub(in crate::kernel) fn has_tasks(&self, station: u32) -> bool {
        let layer = self.stations[station as usize].layer();
        layer.is_some_and(|layer| self.layers[layer as usize].has_tasks())
    }

    /// Sets the timer to the earliest timeout of all engines.
    pub(in crate::kernel) fn set_layer_timer(&mut self, index: u32) {
        let servers = &self.stacks[index as usize];
        let is_receiver_idle = servers.is_idle(servers.receiving_server());
        if let Some(layer) = self.stations[index as usize].layer() {
            let layer = &self.layers[layer as usize];
            layer.set_timer(self.now, is_receiver_idle, &mut self.agenda);
        }
    }

    /// Drops a packet because a queue of the layer is full.
    fn lose_in_layer<O: Observer>(&mut self, index: u32, id: u32, observer: &mut O) {
        self.layer(index).note_dropped();
        let node = self.stations[index as usize].node();
        let place = self.stack_place(index, id);
        self.lose(id, node, place, DropReason::LayerFull, observer);
    }
}
