//! The status that a shim reports.

use rtether_model::quantity::Duration;
use rtether_model::smoother::Mode;
use rtether_proto::endnode::{self, MalformedCounters};
use rtether_proto::probe::PathCounters;
use rtether_proto::smoother;

use super::{Backend, Signal};

/// Counters since the shim began, and current backlog.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// The back end.
    pub backend: Backend,
    /// Whether the forwarding thread has a real-time priority; `None` before it runs, or if the
    /// back end has no such thread.
    pub is_real_time: Option<bool>,
    /// From the stack to the wire.
    pub transmitted: Traffic,
    /// From the wire to the stack.
    pub received: Traffic,
    /// Transmit queues, then receive queues, lowest class first.
    pub queues: Vec<QueueStatus>,
    /// The smoother; `None` without one.
    pub smoother: Option<SmootherStatus>,
    /// Source of its detector's signals.
    pub signal: Signal,
    /// Hub reports that did not come.
    pub missed_reports: u64,
    /// Probes between shims; `None` without them.
    pub probes: Option<ProbeStatus>,
    /// Lost frames.
    pub drops: Drops,
    /// Frames that bypassed the shim because it showed no sign of life.
    pub bypassed: Directions,
    /// Malformed frames; they are forwarded all the same.
    pub malformed: MalformedCounters,
}

impl Status {
    /// Returns the status of a shim that has just started.
    pub(super) fn new(backend: Backend, signal: Signal) -> Self {
        Self {
            backend,
            is_real_time: None,
            transmitted: Traffic::default(),
            received: Traffic::default(),
            queues: Vec::new(),
            smoother: None,
            signal,
            missed_reports: 0,
            probes: None,
            drops: Drops::default(),
            bypassed: Directions::default(),
            malformed: MalformedCounters::default(),
        }
    }
}

/// Counters of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Frames taken in.
    pub taken: u64,
    /// Frames handed on.
    pub frames: u64,
    /// Octets of the frames handed on, without check sequence.
    pub octets: u64,
}

/// One number per direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Directions {
    /// From the stack to the wire.
    pub transmit: u64,
    /// From the wire to the stack.
    pub receive: u64,
}

/// A direction through the shim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the stack to the wire.
    Transmit,
    /// From the wire to the stack.
    Receive,
}

/// One queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueStatus {
    /// Its direction.
    pub direction: Direction,
    /// Its class.
    pub class: u8,
    /// Frames waiting now.
    pub depth: u32,
    /// Frames that were queued.
    pub accepted: u64,
    /// Frames that left.
    pub released: u64,
    /// Frames dropped because the queue was full.
    pub dropped: u64,
    /// Waiting times; `None` from the kernel back end, which does not measure them.
    pub waited: Option<Waited>,
}

/// Waiting times of the frames that left a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waited {
    /// Their mean.
    pub mean: Duration,
    /// The longest.
    pub max: Duration,
}

/// A smoother.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmootherStatus {
    /// Its mode.
    pub mode: Mode,
    /// Credits, period, rate, backlog.
    pub state: smoother::State,
    /// Counters.
    pub statistics: smoother::Statistics,
}

/// Probes between shims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbeStatus {
    /// Probes sent, answered in time, and lost.
    pub own: PathCounters,
    /// Other stations' probes that were answered.
    pub answers: u64,
    /// Other stations' probes left unanswered because there were too many.
    pub declined: u64,
    /// Unsolicited answers, or answers from a peer that was not probed.
    pub forged: u64,
    /// Frames that are neither probes nor answers.
    pub malformed: u64,
}

impl ProbeStatus {
    /// Returns all counters with their names.
    pub const fn named(&self) -> [(&'static str, u64); 8] {
        [
            ("sent", self.own.sent),
            ("answered", self.own.answered),
            ("lost", self.own.lost),
            ("absent", self.own.absent),
            ("answers", self.answers),
            ("declined", self.declined),
            ("forged", self.forged),
            ("malformed", self.malformed),
        ]
    }
}

/// Lost frames by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops {
    /// A transmit queue or the smoother was full.
    pub transmit_full: u64,
    /// A receive queue was full.
    pub receive_full: u64,
    /// The shim did not keep up with the stack.
    pub stack_overrun: u64,
    /// The shim did not keep up with the wire.
    pub wire_overrun: u64,
    /// The device was down or had no carrier.
    pub port_down: u64,
    /// The device rejected the frame because of its length or lack of room.
    pub port_refused: u64,
    /// The stack rejected the frame.
    pub stack_refused: u64,
    /// Still waiting when the shim was taken down.
    pub abandoned: u64,
}

impl Drops {
    /// Returns all counters with their names.
    pub const fn named(&self) -> [(&'static str, u64); 8] {
        [
            ("transmit_full", self.transmit_full),
            ("receive_full", self.receive_full),
            ("stack_overrun", self.stack_overrun),
            ("wire_overrun", self.wire_overrun),
            ("port_down", self.port_down),
            ("port_refused", self.port_refused),
            ("stack_refused", self.stack_refused),
            ("abandoned", self.abandoned),
        ]
    }
}

impl QueueStatus {
    /// Returns the status of an engine's queue.
    pub fn of(direction: Direction, class: u8, stats: &endnode::QueueStats) -> Self {
        let count = i128::from(stats.released).max(1);
        let mean = i64::try_from(stats.waited_ps / count).unwrap_or(i64::MAX);
        Self {
            direction,
            class,
            depth: stats.depth,
            accepted: stats.accepted,
            released: stats.released,
            dropped: stats.dropped,
            waited: Some(Waited { mean: Duration::from_ps(mean), max: stats.waited_max }),
        }
    }
}
