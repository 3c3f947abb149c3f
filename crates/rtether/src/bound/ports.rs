//! Load of ports and stacks, waits there, and whether their memory suffices.

use std::collections::BTreeMap;

use rtether_bounds::{Analysis, Holder, Memory, PortBound, StackBound};
use rtether_model::network::{NodeId, NodeKind};
use rtether_model::quantity::Bytes;
use rtether_model::record::Segment;

use crate::scenario::Scenario;

/// Full load in millionths.
const FULL: u64 = 1_000_000;

/// State of a port or a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The load is at most the capacity, and the memory suffices.
    Ok,
    /// More frames or packets may wait than the memory holds; bounds of streams that pass it then
    /// do not hold.
    Buffer,
    /// Overloaded: more work arrives than it can do.
    Overload,
    /// The backlog has no bound, for another reason.
    NoBound,
}

impl State {
    /// Returns the word used in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Buffer => "buffer",
            Self::Overload => "overload",
            Self::NoBound => "no-bound",
        }
    }

    /// Returns the state of a memory.
    pub fn of_memory(memory: &Memory) -> Self {
        match memory.need {
            None => Self::NoBound,
            Some(_) if memory.suffices() => Self::Ok,
            Some(_) => Self::Buffer,
        }
    }

    fn of(utilization_ppm: Option<u64>, waiting: Option<u64>, memory: u64) -> Self {
        match (utilization_ppm, waiting) {
            // Rounded up: what is exactly full is not above.
            (Some(ppm), _) if ppm > FULL => Self::Overload,
            (_, None) => Self::NoBound,
            (_, Some(waiting)) if waiting > memory => Self::Buffer,
            (_, Some(_)) => Self::Ok,
        }
    }
}

/// A port and its memory.
#[derive(Clone, Copy, Debug)]
pub struct PortUse<'a> {
    /// Bounds of the port.
    pub bound: &'a PortBound,
    /// Memory for its frames: of the driver queue, or of the switch port.
    pub buffer: Bytes,
    /// Whether the ports of its switch together may exceed the memory that they share.
    pub exceeds_shared: bool,
    /// Octets that may wait in each queue, if these have thresholds.
    pub thresholds: Option<[Bytes; 8]>,
}

impl PortUse<'_> {
    /// Returns the offered share of wire time; `None` if it is unlimited.
    pub fn utilization(&self) -> Option<f64> {
        self.bound.utilization_ppm.map(share)
    }

    /// Returns the state of the port.
    pub fn state(&self) -> State {
        let backlog = self.bound.backlog.map(Bytes::get);
        let state = State::of(self.bound.utilization_ppm, backlog, self.buffer.get());
        if state == State::Ok && (self.exceeds_shared || self.exceeds_threshold()) {
            return State::Buffer;
        }
        state
    }

    /// Returns whether more may wait in a queue than its threshold allows, or any number.
    fn exceeds_threshold(&self) -> bool {
        let both = self.bound.queues.iter().zip(self.thresholds.iter().flatten());
        let mut both = both.map(|(backlog, threshold)| (*backlog, *threshold));
        both.any(|(backlog, threshold)| backlog.is_none_or(|backlog| backlog > threshold))
    }
}

/// A processor of a stack and the limit of its queue.
#[derive(Clone, Copy, Debug)]
pub struct StackUse<'a> {
    /// Bounds of the processor.
    pub bound: &'a StackBound,
    /// What holds its packets, both directions together; `None` if that is several receive queues.
    pub memory: Option<&'a Memory>,
}

impl StackUse<'_> {
    /// Returns the offered share of its time; `None` if it is unlimited.
    pub fn utilization(&self) -> Option<f64> {
        self.bound.utilization_ppm.map(share)
    }

    /// Returns `tasks` for the processor of applications, `receive` for one that serves only
    /// received packets, else `send`.
    pub fn serves(&self) -> &'static str {
        if self.bound.segment == Segment::Application {
            "tasks"
        } else if self.bound.is_receiver {
            "receive"
        } else {
            "send"
        }
    }

    /// Returns the packets that may wait for it.
    pub fn waiting(&self) -> Option<u64> {
        self.memory.map_or(self.bound.waiting, |memory| memory.need)
    }

    /// Returns the packets that there is room for.
    pub fn queue(&self) -> Option<u64> {
        Some(self.memory?.limit)
    }

    /// Returns the state of the processor.
    pub fn state(&self) -> State {
        let own = self.bound;
        match self.memory {
            Some(memory) => State::of(own.utilization_ppm, memory.need, memory.limit),
            None => State::of(own.utilization_ppm, own.waiting, u64::MAX),
        }
    }
}

/// Converts millionths to a share.
#[allow(clippy::cast_precision_loss, reason = "for display")]
fn share(ppm: u64) -> f64 {
    ppm as f64 / 1e6
}

/// Returns all egress ports with their memory.
pub fn ports<'a>(
    scenario: &'a Scenario,
    analysis: &'a Analysis,
) -> impl Iterator<Item = PortUse<'a>> {
    let mut together: BTreeMap<NodeId, u64> = BTreeMap::new();
    for port in &analysis.ports {
        let backlog = port.backlog.map_or(0, Bytes::get);
        let sum = together.entry(port.port.node).or_default();
        *sum = sum.saturating_add(backlog);
    }
    analysis.ports.iter().map(move |bound| {
        let node = bound.port.node;
        let (buffer, shared, thresholds) = match &scenario.network.node(node).kind {
            NodeKind::Switch(switch) => {
                let thresholds = switch.thresholds_at(bound.port.port);
                (switch.buffer.per_port, switch.buffer.shared, thresholds)
            }
            NodeKind::EndStation(station) => (station.driver_queue, None, None),
            NodeKind::Hub(_) => (Bytes::ZERO, None, None),
        };
        PortUse {
            bound,
            buffer: shared.map_or(buffer, |shared| buffer.min(shared)),
            exceeds_shared: shared.is_some_and(|shared| together[&node] > shared.get()),
            thresholds,
        }
    })
}

/// Returns all processors of stacks that take time, with their queues.
pub fn stacks(analysis: &Analysis) -> impl Iterator<Item = StackUse<'_>> {
    analysis.stacks.iter().map(|bound| {
        let node = bound.node;
        let holder = match bound.segment {
            Segment::Application => Holder::Tasks(node),
            Segment::SwitchLatency => Holder::Router(node),
            Segment::TalkerStack
            | Segment::ReceiveStack
            | Segment::ReceiveQueue
            | Segment::DriverQueue
            | Segment::MediumAccess
            | Segment::Wire
            | Segment::Protocol
            | Segment::SwitchQueue => Holder::Stack(node),
        };
        let memories = analysis.memories.iter();
        let memory = memories.clone().find(|memory| memory.holder == holder);
        let has_queues = memories
            .into_iter()
            .any(|memory| matches!(memory.holder, Holder::ReceiveQueue(own, _) if own == node));
        let memory = memory.filter(|_| holder != Holder::Stack(node) || !has_queues);
        StackUse { bound, memory }
    })
}
