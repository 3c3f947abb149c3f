//! Application tasks on the station's application processor.
//!
//! A message is in its task before it enters the sending stack and after it has left the receiving
//! one, whole: it is fragmented below the sending task, and put together before the receiving one. Of a
//! message over a connection each segment with data is. So is a data segment of a bulk
//! flow on the sending side, and segments of its talker without data go along without cost, lest
//! they overtake it. On the receiving side TCP is part of the stack: it has the segment at once and
//! so has its record; the program that reads the file then keeps the processor busy, but nothing
//! waits for it. A reader that falls behind by more than the limit reads no slower: what it cannot
//! queue is not counted. Acknowledgements concern no task.

use rtether_model::network::Tasks;
use rtether_model::quantity::{Duration, Instant};
use rtether_model::record::Segment;
use rtether_proto::endnode::{ConfigError, Event, StackInstances};

use super::Kind;
use crate::kernel::Simulation;
use crate::observe::Observer;
use crate::packet::{NONE, OUTBOUND, REVERSE};

/// Task of the file programs, and of everything if messages have none of their own.
const FILES: u8 = 0;
const MESSAGES: u8 = 1;

/// The processor of a station's applications.
pub(super) struct TaskProcessor {
    /// Packets, or [`NONE`] for work that no packet waits for.
    engine: StackInstances<u32>,
    message: Duration,
    segment: Duration,
}

impl TaskProcessor {
    pub(super) fn new(tasks: &Tasks, limit: u32) -> Result<Self, ConfigError> {
        // The one in service is not waiting.
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

    /// Returns the packet in its task and when that is done, if no other can interrupt it.
    pub(super) fn certain(&self) -> Option<(u32, Instant)> {
        let found = self.engine.certain().map(|(&id, due)| (id, due));
        found.filter(|&(id, _)| id != NONE)
    }

    /// Returns the packets in it.
    pub(super) fn packets(&self) -> impl Iterator<Item = u32> {
        self.engine.frames().copied().filter(|&id| id != NONE)
    }

    pub(super) fn invariants(&self, now: Instant) {
        self.engine.invariants(now);
    }

    /// Hands a packet, or work without one, to its task; returns a packet that found it full.
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
    /// Puts a packet into the task that sends it; `false` if there is none.
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

    /// Puts a received message into its task, and the work of a data segment into the task that
    /// reads it; `false` if the packet waits for no task.
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

    /// Lets go what the tasks are done with.
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
