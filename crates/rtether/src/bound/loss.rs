//! Losses of a run that bounds take not to happen.

use rtether_model::record::Record;

use super::names::Names;
use crate::run::Results;
use crate::scenario::Scenario;

/// Returns whether a full buffer dropped frames or packets, which voids bounds that assume no drop.
pub(super) fn has_dropped(record: &Record) -> bool {
    let is_of_port = record.ports.iter().any(|port| port.dropped > 0);
    let mut nodes = record.nodes.iter();
    is_of_port || nodes.any(|node| node.stack_dropped + node.layer_dropped > 0)
}

/// Returns, in words, where a full buffer dropped frames or packets, so that bounds need not hold:
/// they assume no loss for lack of memory. `None` if they must hold.
pub fn broken_assumption(scenario: &Scenario, results: &Results) -> Option<String> {
    let names = Names::new(scenario);
    let record = &results.record;
    let ports = record.ports.iter().filter(|port| port.dropped > 0);
    let mut ports = ports.map(|port| {
        let (from, to) = (names.node(port.port.node), names.peer(port.port));
        (port.dropped, format!("the port of {from} to {to}"))
    });
    let nodes = record.nodes.iter();
    let nodes = nodes.filter(|node| node.stack_dropped + node.layer_dropped > 0);
    let mut nodes = nodes.map(|node| {
        let dropped = node.stack_dropped + node.layer_dropped;
        (dropped, format!("the stack of {}", names.node(node.node)))
    });
    let (dropped, place) = ports.next().or_else(|| nodes.next())?;
    Some(format!("{place} dropped {dropped} for lack of memory"))
}
