//! What a run shows that a proof excludes: a defect of rtether, in the simulator or in the bounds.

use rtether_bounds::{Analysis, Dropper, Effect, Holder};
use rtether_model::flow::Flow;
use rtether_model::network::{Network, NodeId, PortId};
use rtether_model::record::{NodeRecord, PortRecord, Record};

use super::loss;

/// What a run shows that a proof excludes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contradiction {
    /// A packet of this stream of the record took longer than its bound.
    Exceeded(usize),
    /// This stream of the record lost packets, and nothing on its way may drop any.
    Lost(usize),
    /// A port dropped frames, and its memory is proved to suffice.
    Port(PortId),
    /// The stack of a node dropped packets, and its memory is proved to suffice.
    Node(NodeId),
}

/// Returns what a run shows that the analysis excludes.
///
/// A bound that holds only if nothing is dropped is void once something was. So is the need of a memory
/// behind a place that may drop, if a drop there voids bounds at all: repeats come on top of it.
pub fn contradictions(
    network: &Network,
    flows: &[Flow],
    analysis: &Analysis,
    record: &Record,
) -> Vec<Contradiction> {
    let has_dropped = loss::has_dropped(record);
    let mut found = Vec::new();
    let streams = record.streams.iter().zip(analysis.judged());
    for (index, (stream, (own, condition))) in streams.enumerate() {
        let Ok(bound) = &own.bound else { continue };
        let effect = condition.map(|own| own.effect);
        let is_void = effect == Some(Effect::IfNothingDropped) && has_dropped;
        if stream.latency.max > bound.latency && !is_void {
            found.push(Contradiction::Exceeded(index));
        }
        if effect.is_none() && stream.dropped > 0 {
            found.push(Contradiction::Lost(index));
        }
    }
    found.extend(full(network, flows, analysis, record));
    found
}

/// Returns the places that dropped although their memory is proved to suffice.
fn full(
    network: &Network,
    flows: &[Flow],
    analysis: &Analysis,
    record: &Record,
) -> Vec<Contradiction> {
    let holders = analysis.droppers.iter().filter_map(|dropper| match dropper {
        Dropper::Memory(memory) => Some(memory.holder),
        Dropper::Policer(..) | Dropper::Link(_) => None,
    });
    let holders: Vec<Holder> = holders.collect();
    let is_counted = |own: &&PortRecord| {
        let link = &network.links[own.link.index()];
        // On a shared medium the count has frames given up after too many collisions.
        own.dropped > 0 && !network.is_half_duplex(link)
    };
    let ports = record.ports.iter().filter(is_counted).map(|own| own.port);
    let (named_ports, ports): (Vec<PortId>, Vec<PortId>) =
        ports.partition(|&port| holders.iter().any(|own| is_of_port(*own, port)));
    let is_counted = |own: &&NodeRecord| own.stack_dropped + own.layer_dropped > 0;
    let nodes = record.nodes.iter().filter(is_counted).map(|own| own.node);
    let (named_nodes, nodes): (Vec<NodeId>, Vec<NodeId>) =
        nodes.partition(|&node| holders.iter().any(|own| is_of_node(*own, node, flows)));
    let mut conditions = analysis.conditions.iter().flatten();
    let repeats = conditions.any(|own| own.effect == Effect::IfNothingDropped);
    if repeats && !(named_ports.is_empty() && named_nodes.is_empty()) {
        return Vec::new();
    }
    let ports = ports.into_iter().map(Contradiction::Port);
    ports.chain(nodes.into_iter().map(Contradiction::Node)).collect()
}

/// Returns whether drops of a memory count as those of a port.
fn is_of_port(holder: Holder, port: PortId) -> bool {
    match holder {
        Holder::Buffer(at) | Holder::Threshold(at, _) => at == port,
        Holder::SharedBuffer(node) => node == port.node,
        Holder::Stack(_)
        | Holder::Tasks(_)
        | Holder::Router(_)
        | Holder::Input(_)
        | Holder::ReceiveQueue(..)
        | Holder::TransmitQueue(..)
        | Holder::RealTime(_)
        | Holder::Bulk(_)
        | Holder::Address(_)
        | Holder::Gap(_) => false,
    }
}

/// Returns whether drops of a memory count as those of a node's stack.
fn is_of_node(holder: Holder, node: NodeId, flows: &[Flow]) -> bool {
    match holder {
        Holder::Stack(own)
        | Holder::Tasks(own)
        | Holder::Router(own)
        | Holder::Input(own)
        | Holder::ReceiveQueue(own, _)
        | Holder::TransmitQueue(own, _)
        | Holder::RealTime(own)
        | Holder::Bulk(own)
        | Holder::Address(own) => own == node,
        Holder::Gap(flow) => flows[flow.index()].talker == node,
        Holder::Buffer(_) | Holder::Threshold(..) | Holder::SharedBuffer(_) => false,
    }
}
