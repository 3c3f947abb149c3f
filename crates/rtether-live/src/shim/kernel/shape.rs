//! Mapping of queues to HTB classes.
//!
//! ```text
//! link 1 ─┬─ passing: one class for each queue, 0x10 and up
//!         └─ smoother 2 ─┬─ ahead 3 ── real-time: one class for each queue, 0x20 and up
//!                        └─ bulk: one class for each queue, 0x30 and up
//! ```
//!
//! Without a smoother, there are only the link class and passing classes. Leaves have almost no
//! rate of their own and borrow, highest priority first; HTB serves leaves that borrow from the
//! nearest class first.
//!
//! *link* has the rate of the link, by size on the wire. *smoother* has the rate set by the control
//! law, by size of the IP datagram, and a burst of one bucket depth. Real-time packets use up its
//! tokens but are not stopped, since they borrow from *ahead*, which has the link rate of its own.
//! Frames that are not IP bypass the smoother.

use rtether_model::endnode::{Layer, TransmitStrategy};

/// Handle of the root: `RT`. The shim recognizes its own root by it.
pub(super) const ROOT: u16 = 0x5254;
/// Inner classes.
pub(super) const LINK: u16 = 1;
pub(super) const SMOOTHER: u16 = 2;
pub(super) const AHEAD: u16 = 3;

/// Octets per turn when two queues of one priority wait: a full frame.
pub(super) const QUANTUM: u32 = 1514;

/// How the smoother treats a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Treatment {
    /// Bypasses it: there is no smoother, or the packet is not IP.
    Passing = 0x10,
    /// Sent ahead of bulk packets; its size is charged to the credits.
    RealTime = 0x20,
    /// Waits for credits.
    Bulk = 0x30,
}

/// One queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) kind: Treatment,
    /// Lowest first.
    pub(super) queue: u8,
    /// Largest number of waiting frames.
    pub(super) limit: u32,
}

/// All queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) leaves: Vec<Leaf>,
    /// Number of queues of each kind.
    pub(super) queues: u8,
    pub(super) is_smoothed: bool,
}

/// Queue limit for a layer without transmit queues: the kernel's default for an Ethernet device.
const QUEUE_LIMIT: u32 = 1000;

impl Shape {
    /// Returns the queues of a layer that has passed the checks.
    pub(super) fn of(layer: &Layer) -> Self {
        let transmit = layer.transmit.as_ref();
        let limits = match transmit.map(|transmit| (transmit.strategy, &transmit.queue_limits)) {
            None => vec![QUEUE_LIMIT],
            Some((TransmitStrategy::Fifo, limits)) => {
                let sum = limits.iter().fold(0, |sum: u32, &one| sum.saturating_add(one));
                vec![sum]
            }
            Some((_, limits)) => limits.clone(),
        };
        let mut leaves = Vec::new();
        let mut add = |kind, limit: &dyn Fn(u32) -> u32| {
            let numbered = (0u8..).zip(&limits);
            leaves.extend(numbered.map(|(queue, &own)| Leaf { kind, queue, limit: limit(own) }));
        };
        add(Treatment::Passing, &|own| own);
        if let Some(smoothing) = &layer.smoother {
            let limits = smoothing.config.limits;
            let packets = |packets| u32::try_from(packets).unwrap_or(u32::MAX);
            add(Treatment::RealTime, &|_| packets(limits.real_time_packets));
            add(Treatment::Bulk, &|_| packets(limits.bulk_packets));
        }
        Self {
            leaves,
            queues: u8::try_from(limits.len()).unwrap_or(1),
            is_smoothed: layer.smoother.is_some(),
        }
    }

    /// Returns whether it has the same queues, apart from their limits.
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        (self.queues, self.is_smoothed) == (other.queues, other.is_smoothed)
    }
}

impl Leaf {
    /// Returns the lower half of its class handle, also the upper half of its queue's handle.
    pub(super) fn minor(self) -> u16 {
        self.kind as u16 + u16::from(self.queue)
    }

    /// Returns the inner class that it borrows from.
    pub(super) fn parent(self) -> u16 {
        match self.kind {
            Treatment::Passing => LINK,
            Treatment::RealTime => AHEAD,
            Treatment::Bulk => SMOOTHER,
        }
    }
}

/// Returns the full handle of a class.
pub(super) fn class(minor: u16) -> u32 {
    u32::from(ROOT) << 16 | u32::from(minor)
}

/// Returns the full handle of the class of a kind's lowest queue.
pub(super) fn first_of(kind: Treatment) -> u32 {
    class(kind as u16)
}
