//! Losses of a run that bounds take not to happen.

use rtether_model::network::NodeId;

use super::peer;
use crate::run::Results;
use crate::scenario::Scenario;

/// Returns, in words, where a full buffer dropped frames or packets, so that bounds need not hold:
/// they assume no loss for lack of memory. `None` if they must hold.
pub fn broken_assumption(scenario: &Scenario, results: &Results) -> Option<String> {
    let network = &scenario.network;
    let name = |id: NodeId| network.node(id).name.as_str();
    let record = &results.record;
    let ports = record.ports.iter().filter(|port| port.dropped > 0);
    let mut ports = ports.map(|port| {
        let to = peer(scenario, port.port).map_or("nowhere", name);
        let from = name(port.port.node);
        (port.dropped, format!("the port of {from} to {to}"))
    });
    let nodes = record.nodes.iter();
    let nodes = nodes.filter(|node| node.stack_dropped + node.layer_dropped > 0);
    let mut nodes = nodes.map(|node| {
        let dropped = node.stack_dropped + node.layer_dropped;
        (dropped, format!("the stack of {}", name(node.node)))
    });
    let (dropped, place) = ports.next().or_else(|| nodes.next())?;
    Some(format!("{place} dropped {dropped} for lack of memory"))
}
