//! Application tasks on the station's application processor.
//!
//! A message passes its task whole, before it enters the sending stack and after it has left the
//! receiving one: it is fragmented below the sending task, and reassembled before the receiving
//! one. For messages over a connection, each data segment passes the task. On the sending side so
//! does each data segment of a bulk flow; its talker's segments without data pass at zero cost, so
//! that they do not overtake data. On the receiving side TCP is part of the stack: the segment
//! reaches TCP, and counts as delivered, at once; the program that reads the file then keeps the
//! processor busy, but nothing waits for it. A reader that falls behind by more than the limit does
//! not slow the transfer: the work it cannot queue is not counted. Acknowledgements pass no task.

use rtether_model::network::Tasks;
use rtether_model::quantity::{Duration, Instant};
use rtether_model::record::Segment;
use rtether_proto::endnode::{ConfigError, Event, StackInstances};

use super::Kind;
use crate::kernel::Simulation;
use crate::observe::Observer;
use crate::packet::{NONE, OUTBOUND, REVERSE};

/// Task of the file programs, and of all packets if messages have no separate task.
const FILES: u8 = 0;
const MESSAGES: u8 = 1;

/// The application processor of a station.
pub(super) struct TaskProcessor {
    /// Packets, or [`NONE`] for work that no packet waits for.
    engine: StackInstances<u32>,
    message: Duration,
    segment: Duration,
}

impl TaskProcessor {
    pub(super) fn new(tasks: &Tasks, limit: u32) -> Result<Self, ConfigError> {
        // The packet in service does not wait.
        let limits = [limit.saturating_add(1); 2];
        let classes = if tasks.messages_first { 2 } else { 1 };
        Ok(Self {
            engine: StackInstances::new(&limits[..classes])?,
            message: tasks.message,
            segment: tasks.segment,
        })
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.engine.poll_timeout().map(|(due, _)| due)
    }

    /// Returns the packet in service and when it is done, if nothing can interrupt it.
    pub(super) fn certain(&self) -> Option<(u32, Instant)> {
        let found = self.engine.certain().map(|(&id, due)| (id, due));
        found.filter(|&(id, _)| id != NONE)
    }

    /// Returns its packets.
    pub(super) fn packets(&self) -> impl Iterator<Item = u32> {
        self.engine.frames().copied().filter(|&id| id != NONE)
    }

    pub(super) fn invariants(&self, now: Instant) {
        self.engine.invariants(now);
    }

    /// Hands a packet, or work without one, to a task; returns the packet if the task's queue was
    /// full.
    fn take(&mut self, now: Instant, id: u32, class: u8, cost: Duration) -> Option<u32> {
        self.engine.handle_frame(now, id, class, cost);
        let mut refused = None;
        while let Some(event) = self.engine.poll_event() {
            if let Event::Dropped { frame, .. } = event {
                refused = (frame != NONE).then_some(frame);
            }
        }
        refused
    }
}

impl Simulation {
    /// Queues a packet for its sending task; `false` if it passes no task.
    pub(super) fn queue_for_sending_task<O: Observer>(
        &mut self,
        index: u32,
        id: u32,
        observer: &mut O,
    ) -> bool {
        let Some(tasks) = &self.layer(index).tasks else {
            return false;
        };
        let (message, segment) = (tasks.message, tasks.segment);
        let (class, cost) = match self.packet_kind(id) {
            Kind::Message | Kind::MessageSegment => (MESSAGES, message),
            Kind::Data => (FILES, segment),
            Kind::Middleware => return false,
            Kind::Control if self.pool.get(id).has(REVERSE) => return false,
            Kind::Control => (FILES, Duration::ZERO),
        };
        self.queue_for_task(index, id, class, cost, observer);
        true
    }

    /// Queues a received message for its task, or the work of a data segment for the task that
    /// reads it; `false` if the packet does not wait for a task.
    pub(super) fn queue_for_receiving_task<O: Observer>(
        &mut self,
        index: u32,
        id: u32,
        observer: &mut O,
    ) -> bool {
        let Some(tasks) = &self.layer(index).tasks else {
            return false;
        };
        let (message, segment) = (tasks.message, tasks.segment);
        match self.packet_kind(id) {
            Kind::Message | Kind::MessageSegment => {
                self.queue_for_task(index, id, MESSAGES, message, observer);
            }
            Kind::Data => {
                self.queue_for_task(index, NONE, FILES, segment, observer);
                return false;
            }
            Kind::Control | Kind::Middleware => return false,
        }
        true
    }

    fn queue_for_task<O: Observer>(
        &mut self,
        index: u32,
        id: u32,
        class: u8,
        cost: Duration,
        observer: &mut O,
    ) {
        let now = self.now();
        if id != NONE {
            self.pool.get_mut(id).mark = self.now;
        }
        let Some(tasks) = &mut self.layer(index).tasks else {
            return;
        };
        if let Some(refused) = tasks.take(now, id, class, cost) {
            self.refuse(index, refused, observer);
        }
    }

    /// Passes on the packets that the tasks have completed.
    pub(super) fn complete_tasks<O: Observer>(&mut self, index: u32, observer: &mut O) {
        let now = self.now();
        while let Some(tasks) = &mut self.layer(index).tasks {
            let Some(id) = tasks.engine.handle_timeout(now) else {
                return;
            };
            if id == NONE {
                continue;
            }
            let packet = self.pool.get_mut(id);
            let spent = self.now - packet.mark;
            packet.spend(Segment::Application, index, spent);
            if packet.has(OUTBOUND) {
                for id in self.cut(index, id, observer) {
                    self.enter_from_above(index, id, observer);
                }
            } else {
                self.deliver(index, id, observer);
            }
        }
    }
}
