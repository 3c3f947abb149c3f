//! What a shim tells of itself.

use rtether_model::quantity::Duration;
use rtether_model::smoother::Mode;
use rtether_proto::endnode::{self, MalformedCounters};
use rtether_proto::probe::PathCounters;
use rtether_proto::smoother;

use super::{Backend, Signal};

/// Counters since the shim began, and what waits now.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// Who carries out the settings.
    pub backend: Backend,
    /// Whether the thread that forwards has a real-time priority; `None` where there is no such
    /// thread, or not yet.
    pub is_real_time: Option<bool>,
    /// From the stack to the wire.
    pub transmitted: Traffic,
    /// From the wire to the stack.
    pub received: Traffic,
    /// Transmit queues, then receive queues, lowest class first.
    pub queues: Vec<QueueStatus>,
    /// The smoother, if there is one.
    pub smoother: Option<SmootherStatus>,
    /// What its detector is fed with.
    pub signal: Signal,
    /// Reports of a hub that did not come.
    pub missed_reports: u64,
    /// Probes between shims, if there are any.
    pub probes: Option<ProbeStatus>,
    /// Lost frames.
    pub drops: Drops,
    /// Frames that went their ordinary way because the shim showed no sign of life.
    pub bypassed: Directions,
    /// Frames that contradict themselves; they are forwarded all the same.
    pub malformed: MalformedCounters,
}

impl Status {
    /// Returns the status of a shim that has just begun.
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

/// Frames and octets that passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Frames taken in.
    pub taken: u64,
    /// Frames handed on.
    pub frames: u64,
    /// Octets of the frames handed on, without check sequence.
    pub octets: u64,
}

/// One number for each way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Directions {
    /// From the stack to the wire.
    pub transmit: u64,
    /// From the wire to the stack.
    pub receive: u64,
}

/// A way through the shim.
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
    /// Its way.
    pub direction: Direction,
    /// Its class.
    pub class: u8,
    /// Frames that wait now.
    pub depth: u32,
    /// Frames that found room.
    pub accepted: u64,
    /// Frames that left.
    pub released: u64,
    /// Frames that found it full.
    pub dropped: u64,
    /// How long frames waited; a kernel does not tell.
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
    /// How it holds back.
    pub mode: Mode,
    /// Credits, period, rate, backlog.
    pub state: smoother::State,
    /// Counters.
    pub statistics: smoother::Statistics,
}

/// Probes between shims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbeStatus {
    /// Sent, answered in time, lost.
    pub own: PathCounters,
    /// Probes of others that were answered.
    pub answers: u64,
    /// Those that were not: too many at a time.
    pub declined: u64,
    /// Answers to nothing, or of somebody who was not asked.
    pub forged: u64,
    /// Frames that are neither probe nor answer.
    pub malformed: u64,
}

impl ProbeStatus {
    /// Returns all of them with their names.
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
    /// On the way out a queue or the smoother was full.
    pub transmit_full: u64,
    /// On the way in a queue was full.
    pub receive_full: u64,
    /// The shim did not keep up with the stack.
    pub stack_overrun: u64,
    /// The shim did not keep up with the wire.
    pub wire_overrun: u64,
    /// The device was down or had no carrier.
    pub port_down: u64,
    /// The device refused the frame, for its length or for want of room.
    pub port_refused: u64,
    /// The stack refused the frame.
    pub stack_refused: u64,
    /// They waited when the shim was taken down and did not leave in time.
    pub abandoned: u64,
}

impl Drops {
    /// Returns all of them with their names.
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
    /// Returns the status of a queue of an engine.
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
            waited: Some(Waited {
                mean: Duration::from_ps(mean),
                max: stats.waited_max,
            }),
        }
    }
}
