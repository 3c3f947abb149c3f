//! Indices of nodes, links and ports of a network.

/// Index of a node in [`crate::network::Network::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    /// Returns the position in [`crate::network::Network::nodes`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Index of a link in [`crate::network::Network::links`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

impl LinkId {
    /// Returns the position in [`crate::network::Network::links`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// One port of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId {
    /// The node that owns the port.
    pub node: NodeId,
    /// Number of the port within its node, from zero.
    pub port: u16,
}

impl PortId {
    /// Returns the first port of a node; an end station has no other.
    pub const fn first(node: NodeId) -> Self {
        Self { node, port: 0 }
    }
}
