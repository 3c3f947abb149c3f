//! Random plants with redundant links, whose flows take routes of their own or follow VLANs.

use std::collections::BTreeMap;

use rtether_model::flow::{Delivery, Tag};
use rtether_model::network::{
    AddressTable, LinkId, NodeId, NodeKind, PortId, PortVlan, TagHandling, Vid,
};
use rtether_model::route::{Hop, Routing};
use rtether_model::wire::Encapsulation;
use rtether_testkit::Dice;

use crate::bounds::plant::Plant;

impl Plant {
    /// Closes rings, and gives the flows random routes, or VLANs that open the rings.
    pub(crate) fn route_at_random(&mut self, dice: &mut Dice) {
        let nodes = self.network.iter_nodes();
        let switches = nodes.filter(|(id, _)| self.network.switch(*id).is_some());
        let switches: Vec<NodeId> = switches.map(|(id, _)| id).collect();
        for _ in 0..dice.between(1, 4) {
            let (a, b) = (dice.pick(&switches), dice.pick(&switches));
            if a != b {
                self.join(a, b, dice.pick(&[100, 1000]), false);
            }
        }
        for flow in &mut self.flows {
            // Participants of RTPS speak to all others, along no route.
            if flow.is_published() {
                flow.encapsulation = Encapsulation::Udp;
            }
        }
        if dice.chance(30) {
            self.part_by_vlan(dice);
        } else {
            self.route_all(dice);
        }
    }

    /// Gives every flow a route, or most flows if nothing is flooded.
    fn route_all(&mut self, dice: &mut Dice) {
        let routing = Routing::new(&self.network);
        let floods = self.network.nodes.iter().any(|node| match &node.kind {
            NodeKind::Switch(switch) => {
                use rtether_model::network::MulticastForwarding::Unmanaged;
                switch.addresses != AddressTable::Static || switch.multicast == Unmanaged
            }
            NodeKind::EndStation(_) | NodeKind::Hub(_) => false,
        });
        let mut flows = std::mem::take(&mut self.flows);
        for flow in &mut flows {
            if !floods && dice.chance(20) {
                continue;
            }
            let mut tree = self.tree(&routing, flow.talker, dice);
            let mut routes = Vec::new();
            for &listener in &flow.listeners {
                if flow.delivery == Delivery::Unicast {
                    tree = self.tree(&routing, flow.talker, dice);
                }
                let mut route = Vec::new();
                let mut at = listener;
                while let Some(hop) = tree.get(&at) {
                    route.push(hop.egress);
                    at = hop.egress.node;
                }
                route.reverse();
                routes.push(route);
            }
            flow.routes = routes;
        }
        self.flows = flows;
    }

    /// Returns a random tree of links from a node to all others: the hop into each.
    fn tree(&self, routing: &Routing, root: NodeId, dice: &mut Dice) -> BTreeMap<NodeId, Hop> {
        let mut into = BTreeMap::new();
        let mut open: Vec<Hop> = routing.hops_from(&self.network, root).collect();
        while !open.is_empty() {
            // Long ways are found from the node that was reached last.
            let last = open.len() - 1;
            let at = if dice.chance(60) { last } else { dice.index(last + 1) };
            let hop = open.swap_remove(at);
            let node = hop.ingress.node;
            if node == root || into.contains_key(&node) {
                continue;
            }
            into.insert(node, hop);
            if self.network.end_station(node).is_none() {
                open.extend(routing.hops_from(&self.network, node));
            }
        }
        into
    }

    /// Lets each of two VLANs have a tree of the links, and each flow one of the VLANs.
    fn part_by_vlan(&mut self, dice: &mut Dice) {
        let routing = Routing::new(&self.network);
        let vids = [10, 20].map(|vid| Vid::new(vid).unwrap());
        let mut members: BTreeMap<LinkId, Vec<Vid>> = BTreeMap::new();
        for vid in vids {
            let tree = self.tree(&routing, self.stations[0], dice);
            for hop in tree.values() {
                members.entry(hop.link).or_default().push(vid);
            }
        }
        for (id, node) in (0..).map(NodeId).zip(&mut self.network.nodes) {
            let NodeKind::Switch(switch) = &mut node.kind else {
                continue;
            };
            switch.addresses = AddressTable::Static;
            switch.tags = TagHandling::Keep;
            for (port, setting) in (0..).zip(&mut switch.ports) {
                let link = routing.link_at(PortId { node: id, port });
                let allowed = link.and_then(|link| members.get(&link)).cloned();
                setting.vlan =
                    PortVlan::Trunk { allowed: Some(allowed.unwrap_or_default()), native: None };
            }
        }
        for flow in &mut self.flows {
            let pcp = flow.tag.map(|tag| tag.pcp).unwrap_or_default();
            let vid = dice.pick(&vids);
            flow.tag = Some(Tag { pcp, vid });
        }
    }
}

/// How many of the flows of the first hundred plants leave the shortest path: otherwise the property
/// would say little about routes.
#[test]
fn many_flows_take_a_long_way() {
    use crate::bounds::plant::Variety;

    let (mut long, mut vlan, mut all) = (0, 0, 0);
    for number in 0..100 {
        let plant = Plant::random(number, Variety::Routed);
        let routing = Routing::new(&plant.network);
        for flow in &plant.flows {
            for &listener in &flow.listeners {
                let own = routing.flow_path(&plant.network, flow, listener).unwrap();
                let usual = routing.path(&plant.network, flow.talker, listener).unwrap();
                all += 1;
                long += u32::from(own != usual && !flow.routes.is_empty());
                vlan += u32::from(own != usual && flow.routes.is_empty());
            }
        }
    }
    assert!(long * 6 > all && vlan * 40 > all, "{long} and {vlan} of {all}");
}
