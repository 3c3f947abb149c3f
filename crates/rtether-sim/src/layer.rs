//! End-node layer of a station: application tasks, receive queues or stack instances, transmit
//! queues, traffic smoother (catalogue 1a, S7 to S10; 3a, W1 to W7).
//!
//! ```text
//!   application ──► tasks ──► stack ──► smoother ──► transmit queues ──► port (the ring)
//!   application ◄── tasks ◄── stack ◄── receive queues or instances ◄── link
//! ```
//!
//! This module decides where packets go and when engines are called; the engines of
//! `rtether_proto`, which hold packets as numbers, choose the next packet. Only stations with tasks
//! or a layer have this state, with one timer for all of its engines. Functions called by the
//! kernel are marked cold: most stations have no layer, and their code stays together.
//!
//! # Decisions
//!
//! - **Both directions in one server.** Received frames wait in the receive queues, packets to be
//!   sent in queues of the same classes, served highest first. A server that becomes free compares
//!   the highest waiting class of each direction: the higher one goes first, and equal classes
//!   alternate. The receive algorithm then chooses among the received frames; if it holds all of
//!   them back, a packet is sent.
//! - **Limits.** Packets to be sent count against the stack's limit as without a layer, received
//!   frames against the limits of the layer, whose drops have a reason of their own
//!   ([`crate::observe::DropReason::LayerFull`]).
//! - **Instances.** With two servers each direction has a processor with one instance per class;
//!   otherwise both directions share the instances. Jitter is drawn on arrival.
//! - **A stack with zero processing time** is always ready: receive queues hold back only what
//!   algorithm C holds back, and instances have no effect.
//! - **Where time is booked.** Waiting in the smoother and in transmit queues belongs to the driver
//!   queue; waiting for an application task, and its service, to the application.
//! - **Bypass.** Frames that are not IP bypass the smoother and are not charged; they count among
//!   the frames below it.

mod classify;
mod driver;
mod record;
mod stack;
mod tasks;

use alloc::string::{String, ToString};

use rtether_model::endnode::Layer;
use rtether_model::network::EndStation;
use rtether_model::quantity::{BitRate, Instant};
use rtether_proto::egress::Egress;
use rtether_proto::endnode::Classifier;

use crate::agenda::NEVER;
use crate::kernel::Simulation;
use crate::observe::{DropReason, Observer};
use crate::packet::{NONE, OUTBOUND, TAGGED};
use crate::station::Station;
use stack::StackSide;
use tasks::TaskProcessor;

pub(crate) use classify::Kind;

/// Tasks and layer of a station.
pub(crate) struct LayerState {
    pub(crate) slot: u32,
    /// The station has a layer, not only tasks.
    is_layered: bool,
    classifier: Classifier,
    tasks: Option<TaskProcessor>,
    stack: Option<StackSide>,
    egress: Egress<u32>,
    /// Packets refused by the layer.
    dropped: u64,
}

impl LayerState {
    /// Returns the state of a station with tasks or a layer, its timer to be set later, or why the
    /// parameters are invalid. `rate` is that of its link.
    pub(crate) fn new(
        station: &EndStation,
        name: &str,
        seed: u64,
        rate: BitRate,
    ) -> Result<Option<Self>, String> {
        if station.layer.is_none() && station.tasks.is_none() {
            return Ok(None);
        }
        let plain = Layer::default();
        let layer = station.layer.as_deref().unwrap_or(&plain);
        let reason = |error: &dyn core::error::Error| error.to_string();
        let classifier = Classifier::new(layer.table, layer.rules.clone());
        let classifier = classifier.map_err(|error| reason(&error))?;
        let tasks = station.tasks.map(|tasks| {
            TaskProcessor::new(&tasks, station.stack_queue).map_err(|error| reason(&error))
        });
        let stack = layer
            .receive
            .as_ref()
            .map(|receive| StackSide::new(receive, station).map_err(|error| reason(&error)));
        Ok(Some(Self {
            slot: NONE,
            is_layered: station.layer.is_some(),
            classifier: classifier.icmp_unclassified(layer.icmp_unclassified),
            tasks: tasks.transpose()?,
            stack: stack.transpose()?,
            egress: driver::egress(layer, name, seed, rate)?,
            dropped: 0,
        }))
    }
}

impl Simulation {
    /// Returns the layer state of a station that has one.
    fn layer(&mut self, station: u32) -> &mut LayerState {
        let layer = self.stations[station as usize].layer;
        &mut self.layers[layer as usize]
    }

    /// Sends a packet of an application through a station with tasks or a layer.
    #[cold]
    pub(crate) fn send_layered<O: Observer>(&mut self, index: u32, id: u32, observer: &mut O) {
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
    pub(crate) fn receive_layered<O: Observer>(&mut self, index: u32, id: u32, observer: &mut O) {
        let class = self.stack_class(index, id);
        self.pool.get_mut(id).put(TAGGED, false);
        self.pass_stack(index, id, class, observer);
        self.set_layer_timer(index);
    }

    /// Returns the class of a packet for a stack with classes, otherwise zero.
    fn stack_class(&mut self, index: u32, id: u32) -> u8 {
        if self.layer(index).stack.is_some() {
            self.class_of(index, id)
        } else {
            0
        }
    }

    /// Handles a packet that leaves the stack of a station with tasks or a layer, in either
    /// direction.
    #[cold]
    pub(crate) fn leave_layered_stack<O: Observer>(
        &mut self,
        index: u32,
        id: u32,
        observer: &mut O,
    ) {
        if self.pool.get(id).has(OUTBOUND) {
            self.hand_down(index, id, observer);
        } else if self.has_tasks(index) && !self.is_for_application(index, id, observer) {
            // A fragment: the stack waits for the others.
        } else if !self.queue_for_receiving_task(index, id, observer) {
            self.deliver(index, id, observer);
        }
        self.set_layer_timer(index);
    }

    /// Handles the timer of a layer: every engine does what is due.
    #[cold]
    pub(crate) fn layer_timeout<O: Observer>(&mut self, index: u32, observer: &mut O) {
        self.complete_tasks(index, observer);
        self.stack_timeout(index, observer);
        self.driver_timeout(index, observer);
        self.set_layer_timer(index);
    }

    /// Returns whether received packets wait for a task after the stack.
    pub(crate) fn has_tasks(&self, station: u32) -> bool {
        let layer = self.stations[station as usize].layer;
        layer != NONE && self.layers[layer as usize].tasks.is_some()
    }

    /// Returns whether a station hands received packets to the application without delay.
    pub(crate) fn takes_no_time(&self, station: u32) -> bool {
        let Station { servers, layer, .. } = self.stations[station as usize];
        let has_queues = layer != NONE && self.layers[layer as usize].stack.is_some();
        servers == 0 && !has_queues && !self.has_tasks(station)
    }

    /// Sets the timer to the earliest timeout of all engines.
    pub(crate) fn set_layer_timer(&mut self, index: u32) {
        let servers = &self.stacks[index as usize];
        let is_receiver_idle = servers.is_idle(servers.receiving_server());
        let layer = self.stations[index as usize].layer;
        let state = &self.layers[layer as usize];
        let tasks = state.tasks.as_ref().and_then(TaskProcessor::due);
        let stack = state
            .stack
            .as_ref()
            .and_then(|side| side.due(is_receiver_idle));
        let due = time_or_never(tasks)
            .min(time_or_never(stack))
            .min(time_or_never(state.egress.poll_timeout()));
        self.agenda.set(state.slot, due.max(self.now));
    }

    /// Drops a packet because a queue of the layer is full.
    fn lose_in_layer<O: Observer>(&mut self, index: u32, id: u32, observer: &mut O) {
        self.layer(index).dropped += 1;
        let node = self.stations[index as usize].node;
        let place = self.stack_place(index, id);
        self.lose(id, node, place, DropReason::LayerFull, observer);
    }
}

/// Converts a time for the agenda.
fn time_or_never(due: Option<Instant>) -> i64 {
    due.map_or(NEVER, Instant::as_ps)
}

#[cfg(test)]
mod tests;
