//! Transmission selection: which queue of a port sends next (IEEE 802.1Q-2022, 8.6.8), and how
//! deadlines are divided among ports that select by deadline.

use crate::quantity::BitRate;

/// Transmission selection at an egress port; never preempts a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// First come, first served over all queues.
    Fcfs,
    /// The highest non-empty queue (IEEE 802.1Q-2022, 8.6.8.1).
    StrictPriority,
    /// Up to `weights[q]` frames of queue `q` in turn, highest queue first in each round.
    Wrr {
        /// Frames per round, indexed by queue; at least one for every queue in use.
        weights: [u8; 8],
    },
    /// The highest queue strictly first, the others by weighted round robin (1P3Q1T).
    StrictWrr {
        /// Frames per round, indexed by queue; the entry of the highest queue is not used.
        weights: [u8; 8],
    },
    /// Deficit round robin (Shreedhar and Varghese 1995): in its turn queue `q` gets `quanta[q]`
    /// octets, of frames from addresses to FCS, and keeps what its next frame does not fit into.
    Drr {
        /// Octets per turn, indexed by queue; at least one for every queue in use.
        quanta: [u16; 8],
    },
    /// The credit-based shaper (IEEE 802.1Q-2022, 8.6.8.2) for the queues that have an idle slope,
    /// strict priority among all that may send. Frames count with preamble and gap.
    Cbs {
        /// Idle slope, indexed by queue; zero for a queue without a shaper. The send slope is this
        /// less the rate of the link.
        idle_slopes: [BitRate; 8],
    },
    /// The same above deficit round robin: the queues below the lowest one that has an idle slope
    /// take turns, when no other queue may send (IEEE 802.1Q-2022, 8.6.8.3).
    CbsDrr {
        /// Idle slope, indexed by queue, as of [`Self::Cbs`].
        idle_slopes: [BitRate; 8],
        /// Octets per turn, indexed by queue, as of [`Self::Drr`]; not used from the lowest queue with
        /// an idle slope on.
        quanta: [u16; 8],
    },
    /// The frame with the earliest local deadline, over all queues; ties in order of arrival.
    ///
    /// The local deadline is the arrival at the queue plus the flow's part of its deadline for one
    /// port, [`crate::partition::LocalDeadlines`]. Frames of flows without a deadline go last.
    EarliestDeadline,
}

impl Selection {
    /// Returns whether frames wait in the queues of their priorities; otherwise all share one.
    pub const fn uses_queues(self) -> bool {
        !matches!(self, Self::Fcfs | Self::EarliestDeadline)
    }
}

/// How deadlines are divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Partition {
    /// Equal parts for all ports of the longest way.
    #[default]
    Equal,
    /// In proportion to the number of flows with a deadline that pass each port.
    Proportional,
    /// Parts with which every port sends in time what it may be asked for ([`crate::demand`]), if
    /// the search finds such; else those with which the busiest port is closest to it.
    Search,
}
