//! What a packet costs the stack of an end station, at least and at most.

use rtether_model::network::{Cost, EndStation, Jitter, Servers, Spread, Stack};
use rtether_model::quantity::Duration;

use crate::frame::{Frame, Kind};
use crate::source::{add, times};

/// Service times of a packet in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Service {
    /// Least and most for the smallest frame.
    pub(crate) small: [i64; 2],
    /// Least and most for the largest frame.
    pub(crate) large: [i64; 2],
}

impl Service {
    pub(crate) fn min(&self) -> i64 {
        self.small[0].min(self.large[0])
    }

    pub(crate) fn max(&self) -> i64 {
        self.small[1].max(self.large[1])
    }

    /// Returns the most for a packet of that size for which it is least.
    pub(crate) fn least_max(&self) -> i64 {
        self.small[1].min(self.large[1])
    }

    /// Returns the service of a link: the same for all frames of a size.
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

/// Returns whether neither tasks nor queues stand between the applications, stack and port.
pub(crate) fn is_plain(station: &EndStation) -> bool {
    let layer = station.layer.as_deref();
    let does_nothing = |l: &rtether_model::endnode::Layer| {
        l.receive.is_none() && l.transmit.is_none() && l.smoother.is_none()
    };
    station.tasks.is_none() && layer.is_none_or(does_nothing)
}

/// Returns what a packet costs; infinite where the numbers are too large.
pub(crate) fn service(stack: &Stack, is_outbound: bool, frame: &Frame) -> Service {
    let (costs, jitter) = match stack {
        Stack::Zero => ([Cost::default(); 2], Jitter::default()),
        Stack::IpRate { service } => {
            let base = *service;
            let cost = Cost {
                base,
                ..Cost::default()
            };
            ([cost; 2], Jitter::default())
        }
        Stack::Linear(linear) => {
            let cost = if is_outbound {
                linear.send
            } else {
                linear.receive
            };
            ([cost; 2], linear.jitter)
        }
        Stack::Rtos(rtos) => match frame.kind {
            Kind::Datagram => ([rtos.datagram; 2], rtos.jitter),
            Kind::Tcp => ([rtos.acknowledgement, rtos.segment], rtos.jitter),
        },
    };
    let extra = largest(&jitter);
    // A packet of any size may be of either kind.
    let bounds = |size: i64| {
        let of = |cost: &Cost| add(cost.base.as_ps(), times(cost.per_octet.as_ps(), size));
        let [a, b] = [of(&costs[0]), of(&costs[1])];
        [a.min(b), add(a.max(b), extra)]
    };
    Service {
        small: bounds(frame.sizes[0]),
        large: bounds(frame.sizes[1]),
    }
}

/// Returns the most that jitter adds.
fn largest(jitter: &Jitter) -> i64 {
    let everyday = match jitter.spread {
        Spread::None => Duration::ZERO,
        Spread::Uniform { max } | Spread::Exponential { max, .. } => max,
    };
    let rare = jitter.outliers.map_or(Duration::ZERO, |rare| rare.max);
    add(everyday.as_ps(), rare.as_ps())
}
