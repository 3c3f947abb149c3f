//! End stations: what every packet needs of them.
//!
//! Their stack is in [`crate::servers`], application tasks and priority queues are in
//! [`crate::layer`], and the driver queue belongs to the port.

use rtether_model::network::NodeId;
use rtether_model::record::NodeRecord;

use crate::mechanism::Level;
use crate::packet::NONE;

/// The state of an end station that every packet needs, in one cache line. The stack is stored
/// separately, since many plants are simulated without one.
#[repr(align(64))]
pub(crate) struct Station {
    node: NodeId,
    port: u32,
    layer: u32,
    servers: u8,
    /// A bit for each [`Level`] at which it has a mechanism.
    mechanisms: u8,
    released: u64,
    delivered: u64,
    arrived: u64,
    filtered: u64,
    discarded: u64,
    stack_dropped: u64,
}
const _: () = assert!(size_of::<Station>() == 64, "a station is one cache line");

impl Station {
    /// Creates a station. `layer` is its index among the stations with tasks or a layer, `servers`
    /// the number of servers of its stack.
    pub(crate) fn new(node: NodeId, port: Option<u32>, layer: Option<u32>, servers: u8) -> Self {
        Self {
            node,
            port: port.unwrap_or(NONE),
            layer: layer.unwrap_or(NONE),
            servers,
            mechanisms: 0,
            released: 0,
            delivered: 0,
            arrived: 0,
            filtered: 0,
            discarded: 0,
            stack_dropped: 0,
        }
    }

    /// Returns its node.
    #[inline]
    pub(crate) const fn node(&self) -> NodeId {
        self.node
    }

    /// Returns its port, of two the first with a link in use; [`NONE`] without one.
    #[inline]
    pub(crate) const fn port(&self) -> u32 {
        self.port
    }

    /// Returns its index among the stations with tasks or a layer, if it has them.
    #[inline]
    pub(crate) fn layer(&self) -> Option<u32> {
        (self.layer != NONE).then_some(self.layer)
    }

    /// Returns the number of servers of its stack; zero for zero processing time.
    #[inline]
    pub(crate) const fn servers(&self) -> u8 {
        self.servers
    }

    /// Returns whether packets pass any mechanism between stack and port.
    #[inline]
    pub(crate) const fn has_mechanisms(&self) -> bool {
        self.mechanisms != 0
    }

    /// Returns whether packets pass a mechanism at a level.
    #[inline]
    pub(crate) const fn has(&self, level: Level) -> bool {
        self.mechanisms & level.bit() != 0
    }

    /// Lets packets pass a mechanism at a level.
    pub(crate) const fn add(&mut self, level: Level) {
        self.mechanisms |= level.bit();
    }

    /// Counts a packet released by its applications.
    #[inline]
    pub(crate) const fn note_released(&mut self) {
        self.released += 1;
    }

    /// Counts a packet delivered to its applications.
    #[inline]
    pub(crate) const fn note_delivered(&mut self) {
        self.delivered += 1;
    }

    /// Counts a frame that arrived.
    #[inline]
    pub(crate) const fn note_arrived(&mut self) {
        self.arrived += 1;
    }

    /// Counts a frame that arrived for other stations.
    pub(crate) const fn note_filtered(&mut self) {
        self.filtered += 1;
    }

    /// Counts frames that arrived for other stations.
    pub(crate) const fn has_filtered(&mut self, frames: u64) {
        self.arrived += frames;
        self.filtered += frames;
    }

    /// Counts a frame that arrived with an error.
    pub(crate) const fn note_discarded(&mut self) {
        self.discarded += 1;
    }

    /// Counts a packet that found the queue of the stack, or of a task, full.
    pub(crate) const fn note_refused(&mut self) {
        self.stack_dropped += 1;
    }

    /// Enters its counters in the record of its node.
    pub(crate) const fn count_in(&self, record: &mut NodeRecord) {
        record.released = self.released;
        record.delivered = self.delivered;
        record.arrived = self.arrived;
        record.filtered = self.filtered;
        record.discarded = self.discarded;
        record.stack_dropped = self.stack_dropped;
    }
}
