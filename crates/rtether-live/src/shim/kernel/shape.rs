//! Which HTB classes stand for which queues.
//!
//! ```text
//! link 1 ─┬─ passing: one class for each queue, 0x10 and up
//!         └─ smoother 2 ─┬─ ahead 3 ── real-time: one class for each queue, 0x20 and up
//!                        └─ bulk: one class for each queue, 0x30 and up
//! ```
//!
//! Without a smoother there are link and passing classes only. Leaves have hardly a rate of their
//! own and borrow, the highest priority first; HTB serves what is borrowed from the nearest class
//! before all else.
//!
//! *link* lets pass what the link does, by size on the wire. *smoother* has the rate that the law
//! says, by size of the IP datagram, and a burst of one depth: what real-time packets take is taken
//! off, but does not stop them, since they borrow from *ahead*, whose own rate is that of the link.
//! Frames that are not IP pass the smoother by.

use rtether_model::endnode::{Layer, TransmitStrategy};

/// Handle of the root: `RT`. By it the shim knows its own.
pub(super) const ROOT: u16 = 0x5254;
/// Inner classes.
pub(super) const LINK: u16 = 1;
pub(super) const SMOOTHER: u16 = 2;
pub(super) const AHEAD: u16 = 3;

/// Octets of each in turn where two queues of one priority wait: a full frame.
pub(super) const QUANTUM: u32 = 1514;

/// How a packet relates to the smoother.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// There is none, or the packet is not IP.
    Passing = 0x10,
    /// Goes ahead, and its size is taken off the credits.
    RealTime = 0x20,
    /// Waits for credits.
    Bulk = 0x30,
}

/// One queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) kind: Kind,
    /// Lowest first.
    pub(super) queue: u8,
    /// Frames that may wait.
    pub(super) limit: u32,
}

/// All queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) leaves: Vec<Leaf>,
    /// Queues of each kind.
    pub(super) queues: u8,
    pub(super) is_smoothed: bool,
}

/// Frames that may wait in the queue of a layer without transmit queues, which has no limit of its
/// own: as many as the kernel keeps for an Ethernet device.
const QUEUE_LIMIT: u32 = 1000;

impl Shape {
    /// Returns the queues of a layer that was not refused.
    pub(super) fn of(layer: &Layer) -> Self {
        let transmit = layer.transmit.as_ref();
        let limits = match transmit.map(|transmit| (transmit.strategy, &transmit.queue_limits)) {
            None => vec![QUEUE_LIMIT],
            Some((TransmitStrategy::Fifo, limits)) => {
                let sum = limits
                    .iter()
                    .fold(0, |sum: u32, &one| sum.saturating_add(one));
                vec![sum]
            }
            Some((_, limits)) => limits.clone(),
        };
        let mut leaves = Vec::new();
        let mut add = |kind, limit: &dyn Fn(u32) -> u32| {
            let numbered = (0u8..).zip(&limits);
            leaves.extend(numbered.map(|(queue, &own)| Leaf {
                kind,
                queue,
                limit: limit(own),
            }));
        };
        add(Kind::Passing, &|own| own);
        if let Some(smoothing) = &layer.smoother {
            let limits = smoothing.config.limits;
            let packets = |packets| u32::try_from(packets).unwrap_or(u32::MAX);
            add(Kind::RealTime, &|_| packets(limits.real_time_packets));
            add(Kind::Bulk, &|_| packets(limits.bulk_packets));
        }
        Self {
            leaves,
            queues: u8::try_from(limits.len()).unwrap_or(1),
            is_smoothed: layer.smoother.is_some(),
        }
    }

    /// Returns whether it has the same queues, whatever their limits.
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        (self.queues, self.is_smoothed) == (other.queues, other.is_smoothed)
    }
}

impl Leaf {
    /// Returns the lower half of its class and the upper half of its queue's handle.
    pub(super) fn minor(self) -> u16 {
        self.kind as u16 + u16::from(self.queue)
    }

    /// Returns the inner class it borrows from.
    pub(super) fn parent(self) -> u16 {
        match self.kind {
            Kind::Passing => LINK,
            Kind::RealTime => AHEAD,
            Kind::Bulk => SMOOTHER,
        }
    }
}

/// Returns the whole number of a class.
pub(super) fn class(minor: u16) -> u32 {
    u32::from(ROOT) << 16 | u32::from(minor)
}

/// Returns the whole number of the class of a kind's lowest queue.
pub(super) fn first_of(kind: Kind) -> u32 {
    class(kind as u16)
}
