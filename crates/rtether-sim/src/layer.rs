//! End-node layer of a station: application tasks, receive queues or stack instances, transmit
//! queues, traffic smoother (catalogue 1a, S7 to S10; 3a, W1 to W7).
//!
//! ```text
//!   application ──► tasks ──► stack ──► smoother ──► transmit queues ──► port (the ring)
//!   application ◄── tasks ◄── stack ◄── receive queues or instances ◄── link
//! ```
//!
//! The engines of `rtether_proto`, which hold packets as numbers, choose the next packet; the kernel
//! decides where packets go and when engines are called. Only stations with tasks or a layer have
//! this state, with one timer for all of its engines.
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
//! - **Selection.** What comes at one time takes part in one selection: packets for receive and
//!   transmit queues wait until nothing else can happen at that time, and go on in the order of their
//!   classes ([`instant`]).
//! - **Bypass.** Frames that are not IP bypass the smoother and are not charged; they count among
//!   the frames below it.

mod driver;
mod instant;
mod record;
mod stack;
mod tasks;

use alloc::string::{String, ToString};

use rtether_model::endnode::Layer;
use rtether_model::network::EndStation;
use rtether_model::quantity::{BitRate, Instant};
use rtether_proto::egress::Egress;
use rtether_proto::endnode::{Classifier, FrameKey};

use crate::agenda::{Agenda, NEVER};
use crate::packet::NONE;

pub(crate) use instant::Instantly;
pub(crate) use stack::{Job, StackSide};
pub(crate) use tasks::{TaskProcessor, Work};

/// Tasks and layer of a station.
pub(crate) struct LayerState {
    slot: u32,
    /// The station has a layer, not only tasks.
    is_layered: bool,
    classifier: Classifier,
    tasks: Option<TaskProcessor>,
    stack: Option<StackSide>,
    egress: Egress<u32>,
    /// What has come at this time and waits for the selection of its second phase.
    pub(crate) instantly: Instantly,
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
            instantly: Instantly::new(layer.transmit.as_ref()),
            dropped: 0,
        }))
    }

    /// Gives the layer its timer.
    pub(crate) const fn set_slot(&mut self, slot: u32) {
        self.slot = slot;
    }

    /// Returns whether neither tasks nor the stack have something to do.
    pub(crate) fn is_only_driver_due(&self, now: i64) -> bool {
        let tasks = self.tasks.as_ref().and_then(TaskProcessor::due);
        let stack = self.stack.as_ref().and_then(|side| side.due(true));
        time_or_never(tasks).min(time_or_never(stack)) > now
    }

    /// Returns the slot of its timer.
    pub(crate) const fn slot(&self) -> u32 {
        self.slot
    }

    /// Returns the class of a packet.
    pub(crate) fn classify(&self, key: &FrameKey) -> u8 {
        self.classifier.classify(key).class
    }

    /// Returns whether received packets wait for a task after the stack.
    pub(crate) const fn has_tasks(&self) -> bool {
        self.tasks.is_some()
    }

    /// Returns whether the stack has classes.
    pub(crate) const fn has_classes(&self) -> bool {
        self.stack.is_some()
    }

    /// Returns the tasks, if the station has any.
    pub(crate) const fn tasks(&mut self) -> Option<&mut TaskProcessor> {
        self.tasks.as_mut()
    }

    /// Returns the stack, if it has classes.
    pub(crate) const fn stack(&mut self) -> Option<&mut StackSide> {
        self.stack.as_mut()
    }

    /// Returns what is between stack and port.
    pub(crate) const fn egress(&mut self) -> &mut Egress<u32> {
        &mut self.egress
    }

    /// Counts a packet that found a queue full.
    pub(crate) const fn note_dropped(&mut self) {
        self.dropped += 1;
    }

    /// Sets the timer to the earliest timeout of all engines. Those that take part in a selection of
    /// this time do then what is due.
    pub(crate) fn set_timer(&self, now: i64, is_receiver_idle: bool, agenda: &mut Agenda) {
        let waits = self.instantly.is_set();
        let tasks = self.tasks.as_ref().and_then(TaskProcessor::due);
        let stack = self.stack.as_ref();
        let stack = stack.and_then(|side| side.due(is_receiver_idle && !waits));
        let egress = if waits { None } else { self.egress.poll_timeout() };
        let due = time_or_never(tasks).min(time_or_never(stack)).min(time_or_never(egress));
        agenda.set(self.slot, due.max(now));
    }
}

/// Converts a time for the agenda.
fn time_or_never(due: Option<Instant>) -> i64 {
    due.map_or(NEVER, Instant::as_ps)
}
