//! A second network beside the first, for stations in both.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

use crate::network::{EndStation, Link, Network, NodeId, NodeKind, PortId, Redundancy};

impl Network {
    /// Adds a second network like the first, with the stations in both for which `redundancy`
    /// returns how. Its switches come behind all nodes, its links behind all links, in their order;
    /// mirror ports are in the first network only.
    pub fn add_second(&mut self, mut redundancy: impl FnMut(&EndStation) -> Option<Redundancy>) {
        let mut second = BTreeMap::new();
        let first = self.nodes.clone();
        for (id, node) in (0u32..).map(NodeId).zip(first) {
            let mut kind = node.kind;
            if let NodeKind::EndStation(own) = &mut self.nodes[id.index()].kind {
                own.redundancy = redundancy(own);
                continue;
            }
            if let NodeKind::Switch(switch) = &mut kind {
                switch.mirror = None;
            }
            let name = format!("{} of the second network", node.name);
            second.insert(id, self.add(name, kind));
        }
        let end = |port: PortId| match &self.node(port.node).kind {
            NodeKind::EndStation(own) => (own.ports() > 1).then_some(PortId { port: 1, ..port }),
            NodeKind::Switch(_) | NodeKind::Hub(_) => {
                let node = *second.get(&port.node)?;
                Some(PortId { node, ..port })
            }
        };
        let twin = |link: &Link| {
            let [a, b] = link.ends.map(end);
            Some(Link { ends: [a?, b?], ..*link })
        };
        let links: Vec<Link> = self.links.iter().filter_map(twin).collect();
        self.links.extend(links);
    }
}
