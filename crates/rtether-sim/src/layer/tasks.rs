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
use rtether_proto::endnode::{ConfigError, Event, StackInstances};

use crate::kind::Kind;
use crate::packet::NONE;

/// Task of the file programs, and of all packets if messages have no separate task.
const FILES: u8 = 0;
const MESSAGES: u8 = 1;

/// What a task does with a packet.
#[derive(Clone, Copy)]
pub(crate) struct Work {
    class: u8,
    cost: Duration,
}

/// The application processor of a station.
pub(crate) struct TaskProcessor {
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

    /// Returns the sending task of a packet and its cost; `None` if it passes no task.
    pub(crate) fn sending(&self, kind: Kind, is_reverse: bool) -> Option<Work> {
        let (class, cost) = match kind {
            Kind::Message | Kind::MessageSegment => (MESSAGES, self.message),
            Kind::Data => (FILES, self.segment),
            Kind::Control if !is_reverse => (FILES, Duration::ZERO),
            Kind::Control | Kind::Middleware => return None,
        };
        Some(Work { class, cost })
    }

    /// Returns the receiving task of a packet and its cost, and whether the packet waits for it;
    /// `None` if it has none.
    pub(crate) fn receiving(&self, kind: Kind) -> Option<(Work, bool)> {
        let (class, cost, waits) = match kind {
            Kind::Message | Kind::MessageSegment => (MESSAGES, self.message, true),
            Kind::Data => (FILES, self.segment, false),
            Kind::Control | Kind::Middleware => return None,
        };
        Some((Work { class, cost }, waits))
    }

    /// Hands a packet, or [`NONE`] for work without one, to a task; returns the packet if the
    /// task's queue was full.
    pub(crate) fn take(&mut self, now: Instant, id: u32, work: Work) -> Option<u32> {
        self.engine.handle_frame(now, id, work.class, work.cost);
        let mut refused = None;
        while let Some(event) = self.engine.poll_event() {
            if let Event::Dropped { frame, .. } = event {
                refused = (frame != NONE).then_some(frame);
            }
        }
        refused
    }

    /// Returns a packet that a task has completed.
    pub(crate) fn complete(&mut self, now: Instant) -> Option<u32> {
        while let Some(id) = self.engine.handle_timeout(now) {
            if id != NONE {
                return Some(id);
            }
        }
        None
    }
}
