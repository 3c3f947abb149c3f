//! The prioritized layer between driver and protocol multiplexer (catalogue 1a, S7 to S10; R71).
//!
//! ```text
//!   stack ◄── ReceiveQueues ◄── Classifier ◄── parse ◄── driver      (or StackInstances)
//!   stack ──► Classifier ──► TransmitQueues ──► tagger ──► driver
//! ```
//!
//! The layer is generic over the frame: the simulator passes an index, a live driver a buffer. It
//! sits below ARP and IP, and the stack never sees a tag. A class is the number of a queue, from
//! zero; higher numbers have higher priority, and a class above the highest queue uses the highest
//! queue.
//!
//! After each call that changes an engine, the host drains `poll_event` (and `poll_transmit`) until
//! `None`; `now` never decreases. Every queue has a limit and drops the tail; the dropped frame
//! comes back in [`Event::Dropped`], so that the host can account for it.
//!
//! # Decisions where the source is silent (R168)
//!
//! Each item names the open point, the decision and, after *option*, how to select another reading.
//!
//! - Class of an untagged frame (R72, R74): tag, else header rules, else the table's untagged
//!   entry, which is class 0; *option*: a custom untagged entry and rules.
//! - Which tag of several counts: the outermost; *option*: pop it, parse again.
//! - ICMP that a switch cannot classify (catalogue 2d.2): rules see ICMP like any protocol;
//!   *option*: [`Classifier::icmp_unclassified`].
//! - Where a frame waits before the stack is ready (R75): in an input queue, sorted at the next
//!   selection; its waiting time counts from arrival.
//! - N of algorithm B (R77): [`DEFAULT_PICKS`] = 8; *option*: `picks`.
//! - When B promotes (R77): right after the N-th pick; every queue above then has room, so that
//!   full queues never stop a promotion.
//! - Direction of a promotion round (R77): from high to low, so that a frame rises only one step;
//!   the top queue keeps its frames.
//! - Both conditions of algorithm C hold (R78): LOW is checked first.
//! - "Highest non-empty queue" in the turn of LOW (R78): all queues, as written; a lasting backlog
//!   of the top queue then keeps the others waiting; *option*: with [`LowTurn::BelowTop`], the
//!   others get every second turn.
//! - No top traffic in C (R78): after [`DEFAULT_IDLE_RELEASE`] without a top frame, LOW counts as
//!   set at every turn until the next top frame arrives; *option*: `idle_release: None` is the
//!   literal algorithm.
//! - LOW set and all queues empty (R78): LOW stays set.
//! - "Hardware queue is empty" (R79): no frame waits and none is in transmission; *option*:
//!   [`RingEmpty::NoneWaiting`].
//! - No high traffic in strict (R80): one low frame enters whenever no frame has entered for
//!   [`DEFAULT_IDLE_RELEASE`]; *option*: `idle_release: None` is the literal strategy.
//! - Ring full when a high frame or the frame behind it should enter (R79, R80): they wait in
//!   software; the low frame still follows its high frame before the next high one; *option*: a
//!   larger `ring_limit`.
//! - More than two levels (R79, R80): the top class is high; the software side is a priority queue
//!   with algorithm A; *option*: `high_from`.
//! - Arrival at the exact time of a completion (R82): the completion comes first; it is not
//!   preempted.

mod classifier;
mod headers;
mod parse;
mod preempt;
mod queue;
mod receive;
mod tagger;
mod transmit;

use core::fmt;

use rtether_model::quantity::{Duration, Instant};

pub use classifier::{Basis, Classification, Classifier, FrameKey, Tag, matches};
pub use headers::FlowFrame;
pub use parse::{
    MAX_EXTENSIONS, MAX_TAGS, Malformed, MalformedCounters, MalformedReason, Parsed, parse,
};
pub use preempt::StackInstances;
pub use queue::QueueStats;
pub use receive::ReceiveQueues;
pub use rtether_model::endnode::{
    DEFAULT_IDLE_RELEASE, DEFAULT_PICKS, HeaderMatch, LowTurn, PortRange, Prefix, PriorityTable,
    ReceiveConfig, ReceiveSelection, RingEmpty, Rule, TosMatch, TransmitConfig, TransmitStrategy,
};
pub use tagger::{TagError, pop_tag, push_tag};
pub use transmit::{Transmit, TransmitQueues};

/// Largest number of queues of an engine, one per 802.1Q priority.
pub const MAX_CLASSES: usize = 8;

/// An event of an engine; the host drains events after every call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<F> {
    /// A frame was dropped because its queue was full.
    Dropped {
        /// The frame, returned to the host.
        frame: F,
        /// Its class.
        class: u8,
        /// Which queue was full.
        place: QueueKind,
    },
    /// Algorithm B moved the head of a queue to the tail of the next higher one.
    Promoted {
        /// The queue it left.
        from: u8,
    },
    /// A frame left because of an idle release.
    IdleRelease {
        /// The queue it left.
        queue: u8,
    },
    /// A stack instance was interrupted.
    Preempted {
        /// The instance that was running.
        class: u8,
        /// The instance that runs now.
        by: u8,
    },
}

/// A kind of queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueKind {
    /// The input queue below the receive queues.
    Input,
    /// The queue of a class.
    Queue,
}

/// What is due at a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeout {
    /// An idle release: a low frame has waited long enough for a high one.
    IdleRelease,
    /// A stack instance is done with its frame.
    Completion,
    /// The transmission selection is asked again.
    Selection,
}

/// Why an engine or a classifier cannot be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// The number of queues is not one to eight.
    QueueCount {
        /// The number requested.
        found: usize,
    },
    /// A queue or ring with room for no frame.
    ZeroLimit,
    /// A transmission selection that does not use the queues of the classes.
    SelectionWithoutQueues,
    /// A rule, or the first high class, names a queue that does not exist.
    ClassOutOfRange {
        /// The class named.
        class: u8,
        /// The number of queues.
        count: u8,
    },
    /// More header rules than the limit.
    TooManyRules {
        /// The number of rules.
        found: usize,
    },
    /// The number of hardware queues is not between one and the number of classes.
    RingCount {
        /// The number requested.
        found: u8,
    },
    /// A negative time span.
    NegativeTime,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::QueueCount { found } => {
                write!(f, "{found} queues; 1 to {MAX_CLASSES} are possible")
            }
            Self::ZeroLimit => f.write_str("a queue needs room for at least one frame"),
            Self::SelectionWithoutQueues => {
                f.write_str("a selection that does not use the queues of the classes")
            }
            Self::ClassOutOfRange { class, count } => {
                write!(f, "class {class} of {count}; classes are numbered from 0")
            }
            Self::TooManyRules { found } => {
                write!(f, "{found} rules; {} are possible", Classifier::MAX_RULES)
            }
            Self::RingCount { found } => {
                write!(f, "{found} hardware queues; 1 to the number of classes are possible")
            }
            Self::NegativeTime => f.write_str("a negative time"),
        }
    }
}

impl core::error::Error for ConfigError {}

/// Returns `start` plus `span`; [`Instant::MAX`] if out of range.
const fn after(start: Instant, span: Duration) -> Instant {
    Instant::from_ps(start.as_ps().saturating_add(span.as_ps()))
}
