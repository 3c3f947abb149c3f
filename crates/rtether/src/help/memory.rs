//! Memory that holds all that may come, where a bound is a proof only if nothing is dropped.

use rtether_bounds::{Analysis, Condition, Dropper, Holder, Memory};
use rtether_model::endnode::Receive;
use rtether_model::network::{EndStation, NodeId, NodeKind, Switch};
use rtether_model::quantity::Bytes;

use super::choices::Choice;
use crate::bound::condition::{amount, holder};
use crate::bound::names::Names;
use crate::rules;
use crate::scenario::{Override, Scenario, Written};

/// Returns for each memory that may overflow the change to what it needs.
pub(super) fn choices(
    scenario: &Scenario,
    written: &Written,
    (analysis, condition): (&Analysis, Option<&Condition>),
) -> Vec<Choice> {
    let numbers = condition.iter().flat_map(|own| &own.droppers);
    let droppers = numbers.filter_map(|&number| analysis.droppers.get(number as usize));
    let choices = droppers.filter_map(|dropper| match dropper {
        Dropper::Memory(memory) => choice(scenario, written, memory),
        Dropper::Rule(..) | Dropper::Link(_) => None,
    });
    choices.collect()
}

/// Returns what a proof needs where more memory does not help.
pub(super) fn needs(analysis: &Analysis, condition: &Condition) -> Vec<&'static str> {
    let numbers = condition.droppers.iter();
    let droppers = numbers.filter_map(|&number| analysis.droppers.get(number as usize));
    let needs = droppers.filter_map(|dropper| match dropper {
        Dropper::Memory(own) if own.need.is_some() => None,
        Dropper::Memory(_) => Some("a limit on what comes to each memory"),
        Dropper::Rule(_, _, cause) => Some(rules::to_pass(*cause)),
        Dropper::Link(_) => Some("links without bit errors"),
    });
    let mut needs: Vec<&str> = needs.collect();
    needs.sort_unstable();
    needs.dedup();
    needs
}

fn choice(scenario: &Scenario, written: &Written, memory: &Memory) -> Option<Choice> {
    let need = memory.need?;
    let mut changed = scenario.clone();
    let network = &mut changed.network;
    let node = node_of(memory.holder)?;
    match &mut network.nodes[node.index()].kind {
        NodeKind::EndStation(own) => enlarge_station(own, memory.holder, need)?,
        NodeKind::Switch(own) => enlarge_switch(own, memory.holder, need)?,
        NodeKind::Hub(_) => return None,
    }
    let edit = edit(scenario, memory.holder, need);
    let read = edit.and_then(|edit| Some((written.with(&edit)?, edit)));
    let is_it = |(read, _): &(Scenario, Override)| {
        (&read.network, &read.flows) == (&changed.network, &changed.flows)
    };
    Some(Choice {
        words: format!(
            "{}: room for {} instead of {}",
            holder(&Names::new(scenario), memory.holder),
            amount(memory, need),
            amount(memory, memory.limit)
        ),
        edit: read.filter(is_it).map(|(_, edit)| edit),
        changed,
    })
}

const fn node_of(holder: Holder) -> Option<NodeId> {
    match holder {
        Holder::Buffer(port) | Holder::Threshold(port, _) => Some(port.node),
        Holder::SharedBuffer(node)
        | Holder::Stack(node)
        | Holder::Router(node)
        | Holder::Input(node)
        | Holder::ReceiveQueue(node, _)
        | Holder::TransmitQueue(node, _)
        | Holder::RealTime(node)
        | Holder::Bulk(node)
        | Holder::Address(node) => Some(node),
        // No key of the language changes them.
        Holder::Tasks(_) | Holder::Gap(_) => None,
    }
}

fn enlarge_station(own: &mut EndStation, holder: Holder, need: u64) -> Option<()> {
    let packets = u32::try_from(need).ok();
    match holder {
        Holder::Buffer(_) => own.driver_queue = Bytes::new(need),
        Holder::Stack(_) => own.stack_queue = packets?,
        Holder::Address(_) => own.arp.as_mut()?.hold = Bytes::new(need),
        Holder::Input(_) => match own.layer.as_mut()?.receive.as_mut()? {
            Receive::Queues(queues) => queues.input_limit = packets?,
            Receive::Instances { .. } => return None,
        },
        Holder::ReceiveQueue(_, queue) => {
            let limits = match own.layer.as_mut()?.receive.as_mut()? {
                Receive::Queues(queues) => &mut queues.queue_limits,
                Receive::Instances { queue_limits } => queue_limits,
            };
            *limits.get_mut(usize::from(queue))? = packets?;
        }
        Holder::TransmitQueue(_, queue) => {
            let limits = &mut own.layer.as_mut()?.transmit.as_mut()?.queue_limits;
            *limits.get_mut(usize::from(queue))? = packets?;
        }
        Holder::RealTime(_) | Holder::Bulk(_) => {
            let limits = &mut own.layer.as_mut()?.smoother.as_mut()?.config.limits;
            if matches!(holder, Holder::Bulk(_)) {
                limits.bulk_packets = usize::try_from(need).ok()?;
            } else {
                limits.real_time_packets = usize::try_from(need).ok()?;
            }
        }
        Holder::Threshold(..)
        | Holder::SharedBuffer(_)
        | Holder::Router(_)
        | Holder::Tasks(_)
        | Holder::Gap(_) => return None,
    }
    Some(())
}

fn enlarge_switch(own: &mut Switch, holder: Holder, need: u64) -> Option<()> {
    match holder {
        Holder::Buffer(_) => own.buffer.per_port = Bytes::new(need),
        Holder::SharedBuffer(_) => own.buffer.shared = Some(Bytes::new(need)),
        Holder::Threshold(_, queue) => {
            let limits = own.thresholds.as_mut()?;
            *limits.get_mut(usize::from(queue))? = Bytes::new(need);
        }
        Holder::Router(_) => own.router.as_mut()?.queue = u32::try_from(need).ok()?,
        Holder::Stack(_)
        | Holder::Tasks(_)
        | Holder::Input(_)
        | Holder::ReceiveQueue(..)
        | Holder::TransmitQueue(..)
        | Holder::RealTime(_)
        | Holder::Bulk(_)
        | Holder::Address(_)
        | Holder::Gap(_) => return None,
    }
    Some(())
}

/// Returns the edit of a file in which the memory is a value by itself.
fn edit(scenario: &Scenario, holder: Holder, need: u64) -> Option<Override> {
    let node = scenario.network.node(node_of(holder)?);
    let name = &node.name;
    let section = match &node.kind {
        NodeKind::Switch(own) if own.router.is_some() => "routers",
        NodeKind::Switch(_) => "switches",
        NodeKind::EndStation(_) | NodeKind::Hub(_) => "nodes",
    };
    let (key, unit) = match holder {
        Holder::Buffer(_) if section == "nodes" => ("stack.driver_queue", " B"),
        Holder::Buffer(_) => ("buffer", " B"),
        Holder::SharedBuffer(_) => ("shared_buffer", " B"),
        Holder::Stack(_) => ("stack.stack_queue", ""),
        Holder::Router(_) => ("queue", ""),
        Holder::Address(_) => ("arp.hold", " B"),
        // Several queues have one limit, or the key is part of another one.
        Holder::Threshold(..)
        | Holder::Tasks(_)
        | Holder::Input(_)
        | Holder::ReceiveQueue(..)
        | Holder::TransmitQueue(..)
        | Holder::RealTime(_)
        | Holder::Bulk(_)
        | Holder::Gap(_) => return None,
    };
    let path = format!("{section}.{name}.{key}");
    Some(Override::new("--set", path, format!("{need}{unit}")))
}
