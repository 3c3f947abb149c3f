//! Costs that are not known: each is one constant of its node, between two ends.
//!
//! A stack, a task, a switch or a router holds the least that such a cost can be; what it may be
//! more stands beside it. A run decides each constant once, so that the cost of a packet does not
//! vary by it; a bound holds for every constant between the ends.

use core::fmt;

use crate::quantity::Duration;

/// A cost of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CostName {
    /// Of every packet, of a stack with one rate.
    Service,
    /// Of sending.
    Send,
    /// Of receiving.
    Receive,
    /// Of sending and receiving together: a sum whose split is not known.
    Both,
    /// By how much that sum may be above its least; [`Self::Both`] is the most.
    Sum,
    /// Of the network interface, each way.
    Interface,
    /// Of a packet that is not TCP.
    Datagram,
    /// Of a TCP segment with data.
    Segment,
    /// Of a TCP segment without data.
    Acknowledgement,
    /// Of a message in the tasks of applications.
    TaskMessage,
    /// Of a data segment in the tasks of applications.
    TaskSegment,
    /// Latency of a switch.
    Latency,
    /// Cost of a packet in the processor of a router.
    Router,
}

impl CostName {
    /// Every name, in order.
    pub const ALL: [Self; 13] = [
        Self::Service,
        Self::Send,
        Self::Receive,
        Self::Both,
        Self::Sum,
        Self::Interface,
        Self::Datagram,
        Self::Segment,
        Self::Acknowledgement,
        Self::TaskMessage,
        Self::TaskSegment,
        Self::Latency,
        Self::Router,
    ];

    /// Returns the key of a scenario under which it stands.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Service => "service",
            Self::Send => "send",
            Self::Receive => "receive",
            Self::Both => "both",
            Self::Sum => "both.unknown",
            Self::Interface => "interface",
            Self::Datagram => "datagram",
            Self::Segment => "segment",
            Self::Acknowledgement => "acknowledgement",
            Self::TaskMessage => "tasks.message",
            Self::TaskSegment => "tasks.segment",
            Self::Latency => "latency",
            Self::Router => "cost",
        }
    }
}

impl fmt::Display for CostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key())
    }
}

/// A cost of a station that is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// Which one; no station has two of one name.
    pub cost: CostName,
    /// The largest constant that comes on top of the least cost; more than zero.
    pub more: Duration,
}

impl Unknown {
    /// Returns by how much it may raise a cost of this name.
    fn raises(&self, cost: CostName) -> Duration {
        // Either direction may have all of the sum.
        let shares =
            self.cost == CostName::Both && matches!(cost, CostName::Send | CostName::Receive);
        if self.cost == cost || shares { self.more } else { Duration::ZERO }
    }
}

/// Returns what is stated under this very name; zero if nothing is.
pub fn stated(unknown: &[Unknown], cost: CostName) -> Duration {
    let own = unknown.iter().find(|own| own.cost == cost);
    own.map_or(Duration::ZERO, |own| own.more)
}

/// Returns by how much a cost may be above its least; zero if it is known.
pub fn more(unknown: &[Unknown], cost: CostName) -> Duration {
    unknown.iter().map(|own| own.raises(cost)).sum()
}
