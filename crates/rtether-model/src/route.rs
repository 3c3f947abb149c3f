//! Paths through the network: fewest hops, ties to the lower port number.
//!
//! Switches forward by destination: a [`Routing`] knows for each pair of switches the port towards
//! the other one, in memory that grows with the plant and the destinations in use. Links on standby carry no frames. A flow with a route of its own follows it, and
//! one whose shortest path leaves its VLAN takes the shortest way inside it. The paths are facts of
//! the plant, not behavior, so the simulator and the bounds may share them.

mod redundant;
mod towards;
mod vlan;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use crate::flow::{Delivery, Flow};
use crate::network::{LinkId, Network, NodeId, NodeKind, PortId, Vid};
use towards::{Neighbor, Towards};

/// Shortest paths of one network.
///
/// Where there are loops, the ways to a destination are searched when it is first asked for and kept;
/// threads take a clone each.
#[derive(Clone, Debug)]
pub struct Routing {
    /// Links by node and port.
    links: Vec<Vec<Option<LinkId>>>,
    /// Position of a node among the switches and hubs; `None` for end stations.
    switch_index: Vec<Option<u32>>,
    towards: Towards,
    switches: usize,
    has_vlans: bool,
}

/// One link passed by a frame, as seen from the sending port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hop {
    /// Port the frame leaves by.
    pub egress: PortId,
    /// Port it arrives at.
    pub ingress: PortId,
    /// The link between them.
    pub link: LinkId,
}

/// Why a frame cannot get from one node to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteError {
    /// The end station has no link (or only one on standby).
    Unconnected {
        /// The station.
        node: NodeId,
    },
    /// No chain of links joins the two nodes.
    Separated {
        /// Source of the frame.
        from: NodeId,
        /// Destination of the frame.
        to: NodeId,
    },
    /// The path crosses a port that is not a member of the frame's VLAN.
    OutsideVlan {
        /// The port.
        port: PortId,
        /// The VLAN.
        vid: Vid,
    },
    /// An untagged frame arrives at a trunk port without a native VLAN.
    NoVlan {
        /// The port.
        port: PortId,
    },
    /// The shortest path leaves the VLAN, and several ways inside it are equally short.
    Ambiguous {
        /// Source of the frame.
        from: NodeId,
        /// Destination of the frame.
        to: NodeId,
    },
    /// The route of the flow does not lead on from this port: it has no link in use, or one to a
    /// node that is not next.
    Broken {
        /// The port.
        port: PortId,
    },
}

impl fmt::Display for RouteError {
    /// Counts ports from one, as scenario files do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unconnected { .. } => write!(f, "the node has no link in use"),
            Self::Separated { .. } => write!(f, "no path of links joins the two nodes"),
            Self::OutsideVlan { port, vid } => {
                write!(
                    f,
                    "port {} on the path is not a member of VLAN {}",
                    port.port + 1,
                    vid.get()
                )
            }
            Self::NoVlan { port } => {
                write!(f, "trunk port {} has no native VLAN for untagged frames", port.port + 1)
            }
            Self::Ambiguous { .. } => {
                write!(f, "several ways inside the VLAN are equally short")
            }
            Self::Broken { port } => {
                write!(f, "the route is broken behind port {}", port.port + 1)
            }
        }
    }
}

impl Routing {
    /// Finds where there is one way, and where there may be several.
    pub fn new(network: &Network) -> Self {
        let links = links_by_port(network);
        let mut switches = Vec::new();
        let mut switch_index = vec![None; network.nodes.len()];
        for (id, node) in network.iter_nodes() {
            if !matches!(node.kind, NodeKind::EndStation(_)) {
                switch_index[id.index()] = u32::try_from(switches.len()).ok();
                switches.push(id);
            }
        }
        let mut routing = Self {
            links,
            switch_index,
            towards: Towards::new(&[]),
            switches: switches.len(),
            has_vlans: vlan::any(network),
        };
        let neighbors = |&switch: &NodeId| {
            let hops = routing.hops_from(network, switch);
            let neighbors = hops.filter_map(|hop| {
                Some(Neighbor {
                    switch: routing.switch_index[hop.ingress.node.index()]?,
                    port: hop.egress.port,
                    back: hop.ingress.port,
                })
            });
            neighbors.collect()
        };
        let neighbors: Vec<Vec<Neighbor>> = switches.iter().map(neighbors).collect();
        routing.towards = Towards::new(&neighbors);
        routing
    }

    fn index_of(&self, node: NodeId) -> Option<usize> {
        self.switch_index[node.index()].map(|index| index as usize)
    }

    /// Returns whether any port is in a VLAN; otherwise all flows without a route take shortest paths.
    pub const fn has_vlans(&self) -> bool {
        self.has_vlans
    }

    /// Returns the link at a port, standby or not.
    pub fn link_at(&self, port: PortId) -> Option<LinkId> {
        *self.links.get(port.node.index())?.get(usize::from(port.port))?
    }

    /// Returns the links in use that leave `node`, by port.
    pub fn hops_from<'a>(
        &'a self,
        network: &'a Network,
        node: NodeId,
    ) -> impl Iterator<Item = Hop> + 'a {
        (0u16..)
            .zip(&self.links[node.index()])
            .filter_map(move |(port, link)| hop_at(network, PortId { node, port }, (*link)?))
    }

    /// Returns the port of one switch towards another one; `None` for itself or without a path.
    pub fn port_towards(&self, from: NodeId, to: NodeId) -> Option<PortId> {
        let (own, target) = (self.index_of(from)?, self.index_of(to)?);
        let port = self.towards.port(own, target)?;
        Some(PortId { node: from, port })
    }

    /// Returns the hop by which a frame for the end station `to` leaves the switch `from`: towards
    /// the first port of the station that is in its network.
    pub fn next_hop(&self, network: &Network, from: NodeId, to: NodeId) -> Option<Hop> {
        let mut accesses = self.hops_from(network, to);
        let egress = accesses.find_map(|access| {
            if access.ingress.node == from {
                Some(access.ingress)
            } else {
                self.port_towards(from, access.ingress.node)
            }
        })?;
        hop_at(network, egress, self.link_at(egress)?)
    }

    /// Returns the hops from one end station to another, ignoring VLANs: by the first port that
    /// leads there.
    pub fn path(
        &self,
        network: &Network,
        from: NodeId,
        to: NodeId,
    ) -> Result<Vec<Hop>, RouteError> {
        for node in [from, to] {
            if self.hops_from(network, node).next().is_none() {
                return Err(RouteError::Unconnected { node });
            }
        }
        let mut paths = self.hops_from(network, from);
        let paths = paths.find_map(|first| self.path_behind(network, first, to).ok());
        paths.ok_or(RouteError::Separated { from, to })
    }

    /// Returns the hops from the port of an end station to another station, ignoring VLANs.
    fn path_behind(
        &self,
        network: &Network,
        first: Hop,
        to: NodeId,
    ) -> Result<Vec<Hop>, RouteError> {
        let from = first.egress.node;
        let mut hops = Vec::new();
        let mut at = from;
        while at != to {
            let hop = if hops.is_empty() { Some(first) } else { self.next_hop(network, at, to) };
            let hop = hop
                .filter(|_| hops.len() <= self.switches)
                .ok_or(RouteError::Separated { from, to })?;
            // A link to another end station, which does not forward.
            if hop.ingress.node != to && network.end_station(hop.ingress.node).is_some() {
                return Err(RouteError::Separated { from, to });
            }
            at = hop.ingress.node;
            hops.push(hop);
        }
        Ok(hops)
    }

    /// Returns the hops of a flow to one listener, checked against VLAN membership: its route, if it
    /// has one, else the shortest path, or the only shortest one inside its VLAN.
    ///
    /// A multicast frame takes the branch of its tree that leads to the listener. There are no hops
    /// to the talker itself.
    pub fn flow_path(
        &self,
        network: &Network,
        flow: &Flow,
        listener: NodeId,
    ) -> Result<Vec<Hop>, RouteError> {
        if listener == flow.talker {
            return Ok(Vec::new());
        }
        if self.has_two_ports(flow.talker) {
            return self.flow_paths(network, flow, listener).map(first_of);
        }
        let hops = if let Some(route) = flow.route_to(listener) {
            self.follow(network, route, [flow.talker, listener])?
        } else if flow.delivery == Delivery::Multicast {
            branch(&self.tree(network, flow)?, flow.talker, listener)
        } else {
            return self.path_of_flow(network, flow, [flow.talker, listener]);
        };
        vlan::check(network, &hops, vid_of(flow))?;
        Ok(hops)
    }

    /// Returns the hops of answers and acknowledgements from a listener to the talker: its route
    /// backwards, if it has one. They have the tag of the flow.
    pub fn answer_path(
        &self,
        network: &Network,
        flow: &Flow,
        listener: NodeId,
    ) -> Result<Vec<Hop>, RouteError> {
        if listener == flow.talker {
            return Ok(Vec::new());
        }
        if self.has_two_ports(listener) {
            return self.answer_paths(network, flow, listener).map(first_of);
        }
        let Some(route) = flow.route_to(listener) else {
            return self.path_of_flow(network, flow, [listener, flow.talker]);
        };
        let mut hops = self.follow(network, route, [flow.talker, listener])?;
        hops.reverse();
        for hop in &mut hops {
            core::mem::swap(&mut hop.egress, &mut hop.ingress);
        }
        vlan::check(network, &hops, vid_of(flow))?;
        Ok(hops)
    }

    /// Returns the shortest path; if it leaves the VLAN of the flow, the only shortest one inside.
    fn path_of_flow(
        &self,
        network: &Network,
        flow: &Flow,
        [from, to]: [NodeId; 2],
    ) -> Result<Vec<Hop>, RouteError> {
        let hops = self.path(network, from, to)?;
        let Err(error) = vlan::check(network, &hops, vid_of(flow)) else {
            return Ok(hops);
        };
        // Participants of RTPS find each other along shortest paths only.
        if flow.is_published() {
            return Err(error);
        }
        self.path_in_vlan(network, [from, to], vid_of(flow))?.ok_or(error)
    }

    /// Returns the hops of a route, each node at most once.
    fn follow(
        &self,
        network: &Network,
        route: &[PortId],
        [from, to]: [NodeId; 2],
    ) -> Result<Vec<Hop>, RouteError> {
        let mut hops = Vec::new();
        let mut at = from;
        let mut passed = BTreeSet::new();
        for &port in route {
            let is_next = port.node == at && at != to && passed.insert(at);
            let link = self.link_at(port).filter(|_| is_next);
            let hop = link.and_then(|link| hop_at(network, port, link));
            let hop = hop.ok_or(RouteError::Broken { port })?;
            at = hop.ingress.node;
            hops.push(hop);
        }
        if at != to {
            return Err(RouteError::Separated { from, to });
        }
        Ok(hops)
    }

    /// Returns every hop of a flow: all paths one after the other, or the tree of a multicast flow
    /// with each link once; in both networks of a talker that is in two.
    pub fn flow_hops(&self, network: &Network, flow: &Flow) -> Result<Vec<Hop>, RouteError> {
        let mut hops = Vec::new();
        for &listener in &flow.listeners {
            let paths = self.flow_paths(network, flow, listener)?;
            hops.extend(paths.into_iter().flatten());
        }
        if flow.delivery == Delivery::Multicast {
            let unique: BTreeSet<Hop> = hops.into_iter().collect();
            hops = unique.into_iter().collect();
        }
        Ok(hops)
    }

    /// Returns the tree of a multicast flow without routes: of shortest paths or, if one of them
    /// leaves its VLAN, of those inside.
    fn tree(&self, network: &Network, flow: &Flow) -> Result<BTreeMap<NodeId, Hop>, RouteError> {
        let shortest = joined(&flow.listeners, |to| self.path(network, flow.talker, to))?;
        let is_inside = |&to: &NodeId| {
            let hops = branch(&shortest, flow.talker, to);
            vlan::check(network, &hops, vid_of(flow)).is_ok()
        };
        if !self.has_vlans || flow.listeners.iter().all(is_inside) {
            return Ok(shortest);
        }
        let inside =
            joined(&flow.listeners, |to| self.path_of_flow(network, flow, [flow.talker, to]));
        match inside {
            Err(RouteError::Ambiguous { from, to }) => Err(RouteError::Ambiguous { from, to }),
            other => Ok(other.unwrap_or(shortest)),
        }
    }

    /// Returns the links in use of one loop of switches, or `None` without a loop.
    pub fn find_loop(&self, network: &Network) -> Option<Vec<LinkId>> {
        let mut parent: Vec<Option<(NodeId, LinkId)>> = vec![None; network.nodes.len()];
        let mut seen = vec![false; network.nodes.len()];
        for (root, _) in network.iter_nodes() {
            if self.index_of(root).is_none() || core::mem::replace(&mut seen[root.index()], true) {
                continue;
            }
            let mut queue = VecDeque::from([root]);
            while let Some(node) = queue.pop_front() {
                let uplink = parent[node.index()].map(|(_, link)| link);
                for hop in self.hops_from(network, node) {
                    let next = hop.ingress.node;
                    if self.index_of(next).is_none() || Some(hop.link) == uplink {
                        continue;
                    }
                    if core::mem::replace(&mut seen[next.index()], true) {
                        return Some(close_loop(&parent, node, next, hop.link));
                    }
                    parent[next.index()] = Some((node, hop.link));
                    queue.push_back(next);
                }
            }
        }
        None
    }
}

/// Returns the first of several paths.
fn first_of(paths: Vec<Vec<Hop>>) -> Vec<Hop> {
    paths.into_iter().next().unwrap_or_default()
}

/// Joins the paths to all listeners of a flow into a tree: where a path returns to a node that an
/// earlier one has reached, the earlier path to it is kept, so that no frame arrives twice.
fn joined<'a>(
    listeners: impl IntoIterator<Item = &'a NodeId>,
    path: impl Fn(NodeId) -> Result<Vec<Hop>, RouteError>,
) -> Result<BTreeMap<NodeId, Hop>, RouteError> {
    let mut into = BTreeMap::new();
    for &listener in listeners {
        let path = path(listener)?;
        let known = path.iter().rposition(|hop| into.contains_key(&hop.ingress.node));
        for hop in path.into_iter().skip(known.map_or(0, |at| at + 1)) {
            into.insert(hop.ingress.node, hop);
        }
    }
    Ok(into)
}

fn vid_of(flow: &Flow) -> Option<Vid> {
    flow.tag.map(|tag| tag.vid)
}

/// Follows a tree from a listener back to the talker.
fn branch(into: &BTreeMap<NodeId, Hop>, talker: NodeId, listener: NodeId) -> Vec<Hop> {
    let mut hops = Vec::new();
    let mut at = listener;
    while at != talker {
        let Some(&hop) = into.get(&at).filter(|_| hops.len() < into.len()) else {
            break;
        };
        hops.push(hop);
        at = hop.egress.node;
    }
    hops.reverse();
    hops
}

fn hop_at(network: &Network, egress: PortId, link: LinkId) -> Option<Hop> {
    let ends = &network.links[link.index()];
    let ingress = ends.peer_of(egress)?;
    (!ends.standby).then_some(Hop { egress, ingress, link })
}

/// Joins the two branches of a search tree that meet over `link`.
fn close_loop(
    parent: &[Option<(NodeId, LinkId)>],
    a: NodeId,
    b: NodeId,
    link: LinkId,
) -> Vec<LinkId> {
    let branch = |mut node: NodeId| {
        let mut links = Vec::new();
        while let Some((up, link)) = parent[node.index()] {
            links.push(link);
            node = up;
        }
        links
    };
    let (mut left, mut right) = (branch(a), branch(b));
    while let (Some(x), Some(y)) = (left.last(), right.last()) {
        if x != y {
            break;
        }
        left.pop();
        right.pop();
    }
    left.push(link);
    left.extend(right.into_iter().rev());
    left
}

fn links_by_port(network: &Network) -> Vec<Vec<Option<LinkId>>> {
    let mut links: Vec<Vec<Option<LinkId>>> = network
        .nodes
        .iter()
        .map(|node| match &node.kind {
            NodeKind::EndStation(station) => vec![None; usize::from(station.ports())],
            NodeKind::Switch(switch) => vec![None; switch.ports.len()],
            NodeKind::Hub(hub) => vec![None; usize::from(hub.ports)],
        })
        .collect();
    for (id, link) in network.iter_links() {
        for end in link.ends {
            let slot =
                links.get_mut(end.node.index()).and_then(|l| l.get_mut(usize::from(end.port)));
            if let Some(slot) = slot {
                *slot = Some(id);
            }
        }
    }
    links
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Buffer, EndStation, Link, Node, Stack, Switch};
    use crate::quantity::{BitRate, Bytes};

    fn station() -> NodeKind {
        NodeKind::EndStation(EndStation::new(Stack::Zero))
    }

    fn switch(ports: usize) -> NodeKind {
        NodeKind::Switch(Switch {
            buffer: Buffer::per_port(Bytes::new(1_000_000)),
            ..Switch::new(ports)
        })
    }

    fn port(node: u32, port: u16) -> PortId {
        PortId { node: NodeId(node), port }
    }

    fn join(a: PortId, b: PortId) -> Link {
        Link::new([a, b], BitRate::from_mbps(100))
    }

    /// Three switches 0, 1, 2 in a ring; stations 3, 4, 5 at their port 2.
    fn ring() -> Network {
        let kinds = [switch(3), switch(3), switch(3), station(), station(), station()];
        let nodes = kinds
            .into_iter()
            .enumerate()
            .map(|(i, kind)| Node { name: alloc::format!("n{i}"), kind })
            .collect();
        let links = vec![
            join(port(0, 0), port(1, 1)),
            join(port(1, 0), port(2, 1)),
            join(port(2, 0), port(0, 1)),
            join(port(0, 2), port(3, 0)),
            join(port(1, 2), port(4, 0)),
            join(port(2, 2), port(5, 0)),
        ];
        Network { nodes, links, ..Network::default() }
    }

    fn nodes_of(hops: &[Hop]) -> Vec<u32> {
        hops.iter().map(|hop| hop.ingress.node.0).collect()
    }

    #[test]
    fn a_ring_is_crossed_the_short_way() {
        let network = ring();
        let routing = Routing::new(&network);
        let path = routing.path(&network, NodeId(3), NodeId(5)).unwrap();
        assert_eq!(nodes_of(&path), [0, 2, 5]);
        assert!(routing.find_loop(&network).is_some_and(|links| links.len() == 3));
    }

    #[test]
    fn a_link_on_standby_opens_the_ring() {
        let mut network = ring();
        network.links[2].standby = true;
        let routing = Routing::new(&network);
        let path = routing.path(&network, NodeId(3), NodeId(5)).unwrap();
        assert_eq!(nodes_of(&path), [0, 1, 2, 5]);
        assert_eq!(routing.find_loop(&network), None);
    }

    #[test]
    fn missing_links_are_errors_not_panics() {
        let mut network = ring();
        for link in &mut network.links {
            link.standby = true;
        }
        let routing = Routing::new(&network);
        let error = routing.path(&network, NodeId(3), NodeId(5)).unwrap_err();
        assert_eq!(error, RouteError::Unconnected { node: NodeId(3) });
        network.links[3].standby = false;
        network.links[5].standby = false;
        let routing = Routing::new(&network);
        let error = routing.path(&network, NodeId(3), NodeId(5)).unwrap_err();
        assert_eq!(error, RouteError::Separated { from: NodeId(3), to: NodeId(5) });
    }
}
