//! The two FIFO queues.

use alloc::collections::VecDeque;

use rtether_model::quantity::{Bytes, Instant};

/// A packet that waits.
#[derive(Clone, Debug)]
pub(super) struct Waiting<F> {
    pub(super) frame: F,
    pub(super) size: Bytes,
    pub(super) since: Instant,
}

/// Packets of one class in order of arrival.
#[derive(Clone, Debug)]
pub(super) struct Queue<F> {
    packets: VecDeque<Waiting<F>>,
    size: Bytes,
}

impl<F> Queue<F> {
    pub(super) const fn new() -> Self {
        Self { packets: VecDeque::new(), size: Bytes::ZERO }
    }

    pub(super) fn push(&mut self, packet: Waiting<F>) {
        self.size += packet.size;
        self.packets.push_back(packet);
    }

    pub(super) fn pop(&mut self) -> Option<Waiting<F>> {
        let packet = self.packets.pop_front()?;
        self.size -= packet.size;
        Some(packet)
    }

    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Returns the octets waiting.
    pub(super) const fn size(&self) -> Bytes {
        self.size
    }

    /// Returns the packets, from the head.
    pub(super) fn frames(&self) -> impl Iterator<Item = &F> {
        self.packets.iter().map(|packet| &packet.frame)
    }

    /// Returns the sizes, from the head.
    pub(super) fn sizes(&self) -> impl Iterator<Item = Bytes> {
        self.packets.iter().map(|packet| packet.size)
    }
}
