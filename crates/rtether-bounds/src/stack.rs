//! Cost of a packet in the stack of an end station, minimum and maximum.

use rtether_model::network::{Cost, Jitter, Servers, Stack};
use rtether_model::quantity::Duration;

use crate::frame::{Frame, Kind};
use crate::source::{add, times};

/// Service times of a packet in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Service {
    /// Minimum and maximum for the smallest frame.
    pub(crate) small: [i64; 2],
    /// Minimum and maximum for the largest frame.
    pub(crate) large: [i64; 2],
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
        Self {
            small: [small; 2],
            large: [large; 2],
        }
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

/// Returns the cost of a packet; infinite on overflow.
pub(crate) fn service(stack: &Stack, is_outbound: bool, frame: &Frame) -> Service {
    let (costs, jitter) = match stack {
        Stack::Zero => ([Cost::default(); 3], None),
        Stack::IpRate { service } => {
            let base = *service;
            let cost = Cost {
                base,
                ..Cost::default()
            };
            ([cost; 3], None)
        }
        Stack::Linear(linear) => {
            let cost = if is_outbound {
                linear.send
            } else {
                linear.receive
            };
            ([cost; 3], Some(&linear.jitter))
        }
        Stack::Rtos(rtos) => {
            let costs = match frame.kind {
                Kind::Datagram => [rtos.datagram; 3],
                Kind::Acknowledgement => [rtos.acknowledgement; 3],
                Kind::File => [rtos.acknowledgement, rtos.segment, rtos.segment],
                // Such a stack may charge a segment of a message as any of these.
                Kind::Message => [rtos.acknowledgement, rtos.segment, rtos.datagram],
                Kind::Part => [rtos.segment; 3],
                Kind::Pure { .. } => [rtos.acknowledgement; 3],
            };
            (costs, Some(&rtos.jitter))
        }
    };
    let extra = jitter.map_or(0, |jitter| largest(jitter, is_outbound));
    // A packet of any size may be charged at any of these costs.
    let bounds = |size: i64| {
        let of = |cost: &Cost| add(cost.base.as_ps(), times(cost.per_octet.as_ps(), size));
        let [a, b, c] = [of(&costs[0]), of(&costs[1]), of(&costs[2])];
        [a.min(b).min(c), add(a.max(b).max(c), extra)]
    };
    Service {
        small: bounds(frame.sizes[0]),
        large: bounds(frame.sizes[1]),
    }
}

/// Returns the most that jitter adds.
fn largest(jitter: &Jitter, is_outbound: bool) -> i64 {
    let everyday = jitter.spread.max(is_outbound);
    let rare = jitter.outliers.map_or(Duration::ZERO, |rare| rare.max);
    add(everyday.as_ps(), rare.as_ps())
}
