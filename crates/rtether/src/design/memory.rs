//! Memories that hold all that may come, where a proof lacks nothing else.

use std::collections::{BTreeMap, BTreeSet};

use rtether_bounds::{Analysis, Dropper, Holder, Memory};
use rtether_model::network::{NodeId, NodeKind};

use super::parameter::{Parameter, set};
use super::part::Subject;
use super::space::allowed;
use crate::bound;
use crate::scenario::{Freedom, Override, Scenario};

/// Returns whether memories may change.
pub(super) fn may_change(scenario: &Scenario) -> bool {
    allowed(scenario).contains(&Freedom::Limits)
}

/// Returns for each memory that deadlines within their bounds lack, with these changes, the edit that
/// makes it large enough.
pub(super) fn parameters(
    scenario: &Scenario,
    subject: Subject<'_>,
    changes: &[Override],
) -> Vec<Parameter> {
    let Some(changed) = subject.with_all(changes) else {
        return Vec::new();
    };
    let analysis = bound::analyze(&changed);
    // Buffers of switches are hardware.
    let may_buy = scenario.design.allow.is_some();
    let mut largest: BTreeMap<String, (Parameter, u64)> = BTreeMap::new();
    for memory in lacking(&changed, &analysis) {
        let Some(parameter) = parameter(&changed, memory, may_buy) else { continue };
        if let Some(need) = memory.need {
            let known = largest.get(&parameter.path);
            if known.is_none_or(|(_, known)| *known < need) {
                largest.insert(parameter.path.clone(), (parameter, need));
            }
        }
    }
    let buffers = largest.iter().filter(|(path, _)| path.ends_with(".buffer"));
    let needs: Vec<u64> = buffers.map(|(_, (_, need))| *need).collect();
    let wide = all_buffers(&changed, &needs);
    let single = largest.into_values().map(|(parameter, _)| parameter);
    // What is of single switches comes behind, and has the last word.
    wide.into_iter()
        .chain(single)
        .filter(|own| {
            let all: Vec<Override> = changes.iter().chain(&own.values[1]).cloned().collect();
            subject.with_all(&all).is_some()
        })
        .collect()
}

/// Returns the edit of the buffers of all switches, if several need one and none gets less by it.
fn all_buffers(scenario: &Scenario, needs: &[u64]) -> Option<Parameter> {
    let need = *needs.iter().max().filter(|_| needs.len() > 1)?;
    let switches = scenario.network.nodes.iter().filter_map(|node| match &node.kind {
        NodeKind::Switch(own) if own.router.is_none() => Some(own.buffer.per_port.get()),
        NodeKind::Switch(_) | NodeKind::EndStation(_) | NodeKind::Hub(_) => None,
    });
    let now: BTreeSet<u64> = switches.collect();
    let path = "switches[*].buffer".to_owned();
    let old = now.iter().map(|octets| format!("{octets} B")).collect::<Vec<_>>().join(", ");
    let enough = [set(&path, &format!("{need} B"))];
    let parameter = Parameter::new(scenario, Freedom::Limits, (path, old), enough);
    now.iter().all(|own| *own <= need).then_some(Parameter { is_wide: true, ..parameter })
}

/// Returns the memories without which a bound within its deadline is no proof.
fn lacking<'a>(scenario: &'a Scenario, analysis: &'a Analysis) -> impl Iterator<Item = &'a Memory> {
    let judged = analysis.judged().filter(|(stream, _)| {
        let deadline = scenario.flows[stream.flow.index()].deadline;
        let bound = stream.bound.as_ref().ok().map(|own| own.latency);
        bound.zip(deadline).is_some_and(|(bound, deadline)| bound <= deadline)
    });
    let numbers = judged.filter_map(|(_, condition)| condition).flat_map(|own| &own.droppers);
    let mut numbers: Vec<u32> = numbers.copied().collect();
    numbers.sort_unstable();
    numbers.dedup();
    let droppers = numbers.into_iter().filter_map(|own| analysis.droppers.get(own as usize));
    droppers.filter_map(|dropper| match dropper {
        Dropper::Memory(memory) => Some(memory),
        Dropper::Rule(..) | Dropper::Link(_) => None,
    })
}

/// Returns the edit of the key that limits a memory.
fn parameter(scenario: &Scenario, memory: &Memory, may_buy: bool) -> Option<Parameter> {
    let need = memory.need?;
    let (node, key, unit) = match memory.holder {
        Holder::Buffer(port) => {
            let is_switch = scenario.network.switch(port.node).is_some();
            let key = if is_switch { "buffer" } else { "driver_queue" };
            (port.node, key, " B")
        }
        Holder::SharedBuffer(node) => (node, "shared_buffer", " B"),
        Holder::Stack(node) => (node, "stack_queue", ""),
        Holder::Router(node) => (node, "queue", ""),
        Holder::Input(node) => (node, "receive_queues.input_limit", ""),
        Holder::ReceiveQueue(node, _) => (node, "receive_queues.limit", ""),
        Holder::TransmitQueue(node, _) => (node, "transmit_queues.limit", ""),
        // These have no key of one value.
        Holder::Threshold(..)
        | Holder::Tasks(_)
        | Holder::RealTime(_)
        | Holder::Bulk(_)
        | Holder::Address(_)
        | Holder::Gap(_) => return None,
    };
    let section = section(scenario, node);
    if section == "switches" && !may_buy {
        return None;
    }
    let path = format!("{section}.{}.{key}", scenario.network.node(node).name);
    let old = format!("{}{unit}", memory.limit);
    let enough = [set(&path, &format!("{need}{unit}"))];
    Some(Parameter::new(scenario, Freedom::Limits, (path, old), enough))
}

fn section(scenario: &Scenario, node: NodeId) -> &'static str {
    match &scenario.network.node(node).kind {
        NodeKind::Switch(own) if own.router.is_some() => "routers",
        NodeKind::Switch(_) => "switches",
        NodeKind::EndStation(_) | NodeKind::Hub(_) => "nodes",
    }
}
