//! What a run shows that a proof excludes: a defect of rtether, in the simulator or in the bounds.

use std::collections::BTreeSet;

use rtether_bounds::{Analysis, Dropper, Effect, Holder};
use rtether_model::flow::Flow;
use rtether_model::network::{Network, NodeId, PortId};
use rtether_model::record::Record;

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
    let named = Named::of(analysis, flows);
    let dropped = record.ports.iter().filter(|own| {
        // On a shared medium the count has frames given up after too many collisions.
        own.dropped > 0 && !network.is_half_duplex(&network.links[own.link.index()])
    });
    let (expected, ports): (Vec<PortId>, Vec<PortId>) =
        dropped.map(|own| own.port).partition(|port| named.has_port(*port));
    let dropped = record.nodes.iter().filter(|own| own.stack_dropped + own.layer_dropped > 0);
    let (also_expected, nodes): (Vec<NodeId>, Vec<NodeId>) =
        dropped.map(|own| own.node).partition(|node| named.nodes.contains(node));
    // Behind a drop that makes stations send again, no need is proved.
    let mut conditions = analysis.conditions.iter().flatten();
    if !(expected.is_empty() && also_expected.is_empty())
        && conditions.any(|own| own.effect == Effect::IfNothingDropped)
    {
        return Vec::new();
    }
    let ports = ports.into_iter().map(Contradiction::Port);
    ports.chain(nodes.into_iter().map(Contradiction::Node)).collect()
}

/// Places whose memory may not suffice, by where its drops are counted.
#[derive(Default)]
struct Named {
    ports: BTreeSet<PortId>,
    /// Switches whose ports share a buffer.
    switches: BTreeSet<NodeId>,
    /// Nodes that count drops of a stack.
    nodes: BTreeSet<NodeId>,
}

impl Named {
    fn of(analysis: &Analysis, flows: &[Flow]) -> Self {
        let mut named = Self::default();
        for dropper in &analysis.droppers {
            let Dropper::Memory(memory) = dropper else { continue };
            match memory.holder {
                Holder::Buffer(port) | Holder::Threshold(port, _) => named.ports.insert(port),
                Holder::SharedBuffer(node) => named.switches.insert(node),
                Holder::Stack(node)
                | Holder::Tasks(node)
                | Holder::Router(node)
                | Holder::Input(node)
                | Holder::ReceiveQueue(node, _)
                | Holder::TransmitQueue(node, _)
                | Holder::RealTime(node)
                | Holder::Bulk(node)
                | Holder::Address(node) => named.nodes.insert(node),
                Holder::Gap(flow) => named.nodes.insert(flows[flow.index()].talker),
            };
        }
        named
    }

    fn has_port(&self, port: PortId) -> bool {
        self.ports.contains(&port) || self.switches.contains(&port.node)
    }
}
