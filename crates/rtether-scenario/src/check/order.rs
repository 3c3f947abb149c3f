//! Switches whose order of priorities is the older of two standards, where that decides between flows.
//!
//! Without `pcp_map` a switch has the queues of IEEE 802.1D-2004, table 7-2, in which priority 2 ranks
//! below 0. IEEE 802.1Q-2018, table 8-5 (8.6.6) ranks 2 and 3 above 0, and what a vendor ships may be
//! either.

use std::collections::{BTreeMap, BTreeSet};

use rtether_model::network::{NodeId, NodeKind, Pcp, PortId, QueueMap, Switch};
use rtether_model::route::{Hop, Routing};

use super::{Plant, codes, quote};
use crate::diagnostic::Diagnostic;
use crate::help::Help;
use crate::reader::Reader;

/// Warns of each switch at which two priorities in use are in another order.
pub(super) fn check(reader: &mut Reader<'_>, plant: &Plant, routing: &Routing) {
    let mut in_use: BTreeMap<PortId, BTreeSet<Pcp>> = BTreeMap::new();
    for flow in &plant.flows {
        let pcp = flow.tag.map(|tag| tag.pcp);
        for &listener in &flow.listeners {
            let Ok(paths) = routing.flow_paths(&plant.network, flow, listener) else {
                continue;
            };
            for path in &paths {
                follow(plant, path, pcp, &mut in_use);
            }
        }
    }
    let mut told = BTreeSet::new();
    for (port, priorities) in in_use {
        let Some((switch, recommended)) = by_default(plant, port.node) else {
            continue;
        };
        let differing = pair(&priorities, switch.queues, recommended);
        if let Some(pair) = differing.filter(|_| told.insert(port.node)) {
            report(reader, plant, port.node, (switch.queues, recommended), pair);
        }
    }
}

/// Notes the priority that a frame has at each switch port on its way.
fn follow(
    plant: &Plant,
    path: &[Hop],
    mut pcp: Option<Pcp>,
    in_use: &mut BTreeMap<PortId, BTreeSet<Pcp>>,
) {
    for hop in path {
        if let NodeKind::Switch(_) = plant.network.node(hop.egress.node).kind {
            let pcp = pcp.unwrap_or_default();
            in_use.entry(hop.egress).or_default().insert(pcp);
        }
        if let NodeKind::Switch(switch) = &plant.network.node(hop.ingress.node).kind {
            let port = switch.ports.get(usize::from(hop.ingress.port));
            pcp = pcp.or_else(|| port.map(|port| port.default_pcp));
        }
    }
}

/// Returns a switch that has the queues of its default, and those of the newer standard.
fn by_default(plant: &Plant, node: NodeId) -> Option<(&Switch, QueueMap)> {
    let NodeKind::Switch(switch) = &plant.network.node(node).kind else {
        return None;
    };
    let is_open = switch.selection.uses_queues() && plant.unmapped.contains(&node);
    let count = switch.queues.count();
    let queues = QueueMap::RECOMMENDED.get(usize::from(count).checked_sub(1)?)?;
    let recommended = QueueMap::new(count, *queues)?;
    is_open.then_some((switch, recommended))
}

/// Returns two priorities that both maps have in another order.
fn pair(priorities: &BTreeSet<Pcp>, own: QueueMap, other: QueueMap) -> Option<(Pcp, Pcp)> {
    let order = |map: QueueMap, a: Pcp, b: Pcp| map.queue_of(a).cmp(&map.queue_of(b));
    let pairs = priorities.iter().flat_map(|&a| priorities.iter().map(move |&b| (a, b)));
    let mut pairs = pairs.filter(|(a, b)| a < b);
    pairs.find(|&(a, b)| order(own, a, b) != order(other, a, b))
}

fn report(
    reader: &mut Reader<'_>,
    plant: &Plant,
    node: NodeId,
    (own, recommended): (QueueMap, QueueMap),
    (a, b): (Pcp, Pcp),
) {
    let [a, b] = if own.queue_of(a) < own.queue_of(b) { [b, a] } else { [a, b] };
    let (above, below) = (a.get(), b.get());
    let is_equal = own.queue_of(a) == own.queue_of(b);
    let name = quote(&plant.network.node(node).name);
    let how =
        if is_equal { format!("in one queue with {below}") } else { format!("above {below}") };
    let title = format!("switch {name} has priority {above} {how}, unlike IEEE 802.1Q");
    let label = "flows of both pass it, and it has no `pcp_map`";
    let map = |map: QueueMap| {
        let queues = (0..8).filter_map(Pcp::new);
        let queues: Vec<String> = queues.map(|pcp| map.queue_of(pcp).to_string()).collect();
        format!("pcp_map: [{}]", queues.join(", "))
    };
    let newer = Help::add(map(recommended)).noted(", as IEEE 802.1Q-2018 recommends (table 8-5)");
    let older = Help::from(format!(
        "or `{}`, as IEEE 802.1D-2004 did (table 7-2) and as it is simulated now",
        map(own)
    ));
    let place = plant.node_spans[node.index()];
    reader.report(
        Diagnostic::new(&codes::PRIORITY_ORDER, title, place, label).help(newer).help(older),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: `net/core/ieee8021q_helpers.c` of Linux, which has the table of IEEE 802.1Q-2022, annex I,
    /// by traffic type: background, best effort, excellent effort, critical applications, video, voice,
    /// and both kinds of control, of which best effort is priority 0 and background 1.
    #[test]
    fn the_table_is_that_of_the_standard() {
        let by_type = [
            [0, 0, 0, 0, 0, 0, 0, 0],
            [0, 0, 0, 0, 1, 1, 1, 1],
            [0, 0, 0, 0, 1, 1, 2, 2],
            [0, 0, 1, 1, 2, 2, 3, 3],
            [0, 0, 1, 1, 2, 2, 3, 4],
            [0, 1, 2, 2, 3, 3, 4, 5],
            [0, 1, 2, 3, 4, 4, 5, 6],
            [0, 1, 2, 3, 4, 5, 6, 7],
        ];
        for (own, [bk, be, rest @ ..]) in QueueMap::RECOMMENDED.iter().zip(by_type) {
            assert_eq!(own[..2], [be, bk]);
            assert_eq!(own[2..], rest);
        }
    }

    /// Oracle: by hand. With eight queues only 0 and 2 change places.
    #[test]
    fn only_pairs_in_another_order_differ() {
        let pcp = |value| Pcp::new(value).expect("0 to 7");
        let maps = |count: u8| {
            let queues = QueueMap::RECOMMENDED[usize::from(count) - 1];
            let newer = QueueMap::new(count, queues).expect("a map");
            (QueueMap::standard(count).expect("a map"), newer)
        };
        let differ = |count, all: &[u8]| {
            let (own, other) = maps(count);
            pair(&all.iter().map(|&own| pcp(own)).collect(), own, other)
        };
        assert_eq!(differ(8, &[0, 1, 3, 4, 5, 6, 7]), None);
        assert_eq!(differ(8, &[0, 2, 4]), Some((pcp(0), pcp(2))));
        assert_eq!(differ(4, &[0, 4, 6]), None);
        assert_eq!(differ(4, &[0, 3]), Some((pcp(0), pcp(3))));
        assert_eq!(differ(2, &[0, 1, 2, 3, 4, 5, 6, 7]), None);
        assert_eq!(differ(5, &[4, 5]), Some((pcp(4), pcp(5))));
    }
}
