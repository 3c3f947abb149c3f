//! Cost of a packet in the stack of an end station, minimum and maximum.

use rtether_model::network::{Cost, Jitter, Servers, Stack};
use rtether_model::quantity::Duration;
use rtether_model::unknown::{CostName, Unknown, more};

use crate::frame::{Frame, Kind};
use crate::gap::Gap;
use crate::source::{add, times};

/// Service times of a packet in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Service {
    /// Minimum and maximum for the smallest frame.
    pub(crate) small: [i64; 2],
    /// Minimum and maximum for the largest frame.
    pub(crate) large: [i64; 2],
    /// Part of these differences that is the same for all packets in a run ([`crate::gap`]).
    pub(crate) constant: i64,
}

impl Service {
    pub(crate) fn min(&self) -> i64 {
        self.small[0].min(self.large[0])
    }

    pub(crate) fn max(&self) -> i64 {
        self.small[1].max(self.large[1])
    }

    /// Returns the smaller maximum of the two sizes.
    pub(crate) fn least_max(&self) -> i64 {
        self.small[1].min(self.large[1])
    }

    /// Returns the service of a link, which is fixed for each frame size.
    pub(crate) const fn fixed(small: i64, large: i64) -> Self {
        Self { small: [small; 2], large: [large; 2], constant: 0 }
    }

    /// Returns the time from the beginning to the end of the service.
    pub(crate) fn gap(&self) -> Gap {
        Gap { min: self.min(), max: self.max(), constant: self.constant }
    }
}

/// Returns the number of processors of a stack.
pub(crate) fn processors(stack: &Stack) -> usize {
    match stack {
        Stack::Zero => 0,
        Stack::IpRate { .. } | Stack::Rtos(_) => 1,
        Stack::Linear(linear) => match linear.servers {
            Servers::Shared => 1,
            Servers::PerDirection => 2,
        },
    }
}

/// A cost with both ends.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Ends {
    least: Cost,
    /// What it may be more, by a constant.
    more: i64,
}

impl Ends {
    /// Returns the least for a size.
    fn of(&self, size: i64) -> i64 {
        let cost = self.least;
        add(cost.base.as_ps(), times(cost.per_octet.as_ps(), size))
    }
}

/// Returns the cost of a packet, some of whose parts may be unknown; infinite on overflow.
pub(crate) fn service(
    stack: &Stack,
    unknown: &[Unknown],
    is_outbound: bool,
    frame: &Frame,
) -> Service {
    let ends = |least: Cost, cost: CostName| Ends { least, more: more(unknown, cost).as_ps() };
    let (costs, jitter) = match stack {
        Stack::Zero => ([ends(Cost::default(), CostName::Service); 3], None),
        Stack::IpRate { service } => {
            let base = *service;
            let cost = Cost { base, ..Cost::default() };
            ([ends(cost, CostName::Service); 3], None)
        }
        Stack::Linear(linear) => {
            let cost = if is_outbound {
                ends(linear.send, CostName::Send)
            } else {
                ends(linear.receive, CostName::Receive)
            };
            ([cost; 3], Some(&linear.jitter))
        }
        Stack::Rtos(rtos) => {
            let datagram = ends(rtos.datagram, CostName::Datagram);
            let segment = ends(rtos.segment, CostName::Segment);
            let pure = ends(rtos.acknowledgement, CostName::Acknowledgement);
            let costs = match frame.kind {
                Kind::Datagram => [datagram; 3],
                Kind::Acknowledgement | Kind::Pure { .. } => [pure; 3],
                Kind::File => [pure, segment, segment],
                // Such a stack may charge a segment of a message as any of these.
                Kind::Message => [pure, segment, datagram],
                Kind::Part => [segment; 3],
            };
            (costs, Some(&rtos.jitter))
        }
    };
    let extra = jitter.map_or(0, |jitter| largest(jitter, is_outbound));
    // A packet of any size may be charged at any of these costs.
    let bounds = |size: i64| {
        let [one, two, three] = costs.map(|cost| cost.of(size));
        let least = one.min(two).min(three);
        let [one, two, three] = costs.map(|cost| add(cost.of(size), cost.more));
        [least, add(one.max(two).max(three), extra)]
    };
    // Packets charged at different costs do not differ by one constant.
    let is_one = costs[0] == costs[1] && costs[1] == costs[2];
    Service {
        small: bounds(frame.sizes[0]),
        large: bounds(frame.sizes[1]),
        constant: if is_one { costs[0].more } else { 0 },
    }
}

/// Returns the most that jitter adds.
fn largest(jitter: &Jitter, is_outbound: bool) -> i64 {
    let everyday = jitter.spread.max(is_outbound);
    let rare = jitter.outliers.map_or(Duration::ZERO, |rare| rare.max);
    add(everyday.as_ps(), rare.as_ps())
}
