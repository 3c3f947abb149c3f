//! End stations: what every packet needs of them.
//!
//! Their stack is in [`crate::servers`], application tasks and priority queues are in
//! [`crate::layer`], and the driver queue belongs to the port.

use rtether_model::network::NodeId;
use rtether_model::record::NodeRecord;

use crate::packet::NONE;

/// The state of an end station that every packet needs, in one cache line. The stack is stored
/// separately, since many plants are simulated without one.
#[repr(align(64))]
pub(crate) struct Station {
    node: NodeId,
    port: u32,
    layer: u32,
    servers: u8,
    resolves: bool,
    spaces: bool,
    is_double: bool,
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
            resolves: false,
            spaces: false,
            is_double: false,
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

    /// Returns whether it resolves addresses before it sends packets.
    #[inline]
    pub(crate) const fn resolves(&self) -> bool {
        self.resolves
    }

    /// Lets it resolve addresses.
    pub(crate) const fn resolve(&mut self) {
        self.resolves = true;
    }

    /// Returns whether it keeps the gap of a flow.
    #[inline]
    pub(crate) const fn spaces(&self) -> bool {
        self.spaces
    }

    /// Lets it keep the gap of a flow.
    pub(crate) const fn space(&mut self) {
        self.spaces = true;
    }

    /// Returns whether it keeps gaps or is in two networks.
    #[inline]
    pub(crate) const fn spaces_or_doubles(&self) -> bool {
        self.spaces | self.is_double
    }

    /// Returns whether it is in two networks.
    #[inline]
    pub(crate) const fn is_double(&self) -> bool {
        self.is_double
    }

    /// Puts it in two networks.
    pub(crate) const fn double(&mut self) {
        self.is_double = true;
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
