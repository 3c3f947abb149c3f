//! What must drop nothing for a bound to be a proof, in words.

use rtether_bounds::{Analysis, Condition, Dropper, Effect, Holder, Memory};
use rtether_model::network::{NodeId, PortId};
use rtether_model::quantity::Bytes;
use serde_json::{Value, json};

use super::peer;
use crate::report::text::plural;
use crate::scenario::Scenario;

/// Places that are named in a sentence; of more, the number.
const NAMED: usize = 2;

/// Returns the name of a memory: `the port of sw to b`.
pub fn holder(scenario: &Scenario, holder: Holder) -> String {
    let name = |id: NodeId| scenario.network.node(id).name.as_str();
    match holder {
        Holder::Buffer(at) => port(scenario, at),
        Holder::Threshold(at, queue) => format!("queue {queue} of {}", port(scenario, at)),
        Holder::SharedBuffer(node) => format!("the shared buffer of {}", name(node)),
        Holder::Stack(node) => format!("the stack of {}", name(node)),
        Holder::Tasks(node) => format!("the tasks of {}", name(node)),
        Holder::Router(node) => format!("the processor of {}", name(node)),
        Holder::Input(node) => format!("the input queue of {}", name(node)),
        Holder::ReceiveQueue(node, queue) => format!("receive queue {queue} of {}", name(node)),
        Holder::TransmitQueue(node, queue) => format!("transmit queue {queue} of {}", name(node)),
        Holder::RealTime(node) => format!("real-time packets in the smoother of {}", name(node)),
        Holder::Bulk(node) => format!("bulk packets in the smoother of {}", name(node)),
        Holder::Address(node) => format!("what {} holds for addresses", name(node)),
        Holder::Gap(flow) => format!("the gap of `{}`", scenario.flow_name(flow)),
    }
}

fn port(scenario: &Scenario, port: PortId) -> String {
    let name = |id: NodeId| scenario.network.node(id).name.as_str();
    let to = peer(scenario, port).map_or("nowhere", name);
    format!("the port of {} to {to}", name(port.node))
}

/// Returns an amount in the unit of a memory.
pub fn amount(memory: &Memory, amount: u64) -> String {
    if memory.is_in_octets() {
        Bytes::new(amount).to_string()
    } else {
        plural(usize::try_from(amount).unwrap_or(usize::MAX), "packet")
    }
}

/// Returns what may drop packets, and why: `the port of sw to b (needs 12.3 kB, has 8 kB)`.
pub fn dropper(scenario: &Scenario, dropper: &Dropper) -> String {
    let name = |id: NodeId| scenario.network.node(id).name.as_str();
    match dropper {
        Dropper::Memory(memory) => {
            let need = memory.need.map_or_else(
                || "nothing limits what it needs".to_owned(),
                |need| format!("needs {}", amount(memory, need)),
            );
            let has = amount(memory, memory.limit);
            format!("{} ({need}, has {has})", holder(scenario, memory.holder))
        }
        Dropper::Policer(at, rule) => format!(
            "rule {} of {} at port {} (not proved kept)",
            rule + 1,
            name(at.node),
            at.port + 1
        ),
        Dropper::Link(at) => format!("the link behind {} (bit errors)", port(scenario, *at)),
    }
}

/// Returns the word of an effect: `if delivered`.
pub const fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::IfDelivered => "if delivered",
        Effect::IfNothingDropped => "if nothing is dropped",
    }
}

fn droppers<'a>(
    analysis: &'a Analysis,
    condition: &'a Condition,
) -> impl Iterator<Item = &'a Dropper> {
    let numbers = condition.droppers.iter();
    numbers.filter_map(|&number| analysis.droppers.get(number as usize))
}

/// Returns a condition in words: `if the port of sw to b (needs 12.3 kB, has 8 kB) drops nothing`.
pub fn only_if(scenario: &Scenario, analysis: &Analysis, condition: &Condition) -> String {
    let all: Vec<&Dropper> = droppers(analysis, condition).collect();
    let named = all.iter().take(NAMED).map(|one| dropper(scenario, one));
    let named = named.collect::<Vec<_>>();
    match (named.len(), all.len()) {
        (1, 1) => format!("if {} drops nothing", named[0]),
        (_, count) if count == named.len() => format!("if {} drop nothing", named.join(" and ")),
        (_, count) => {
            let more = plural(count - named.len(), "other place");
            format!("if {} and {more} drop nothing", named.join(", "))
        }
    }
}

/// Returns a condition for JSON.
pub fn json(scenario: &Scenario, analysis: &Analysis, condition: &Condition) -> Value {
    let places = droppers(analysis, condition).map(|own| {
        let (kind, memory) = match own {
            Dropper::Memory(memory) => ("memory", Some(memory)),
            Dropper::Policer(..) => ("policer", None),
            Dropper::Link(_) => ("link", None),
        };
        let place = match own {
            Dropper::Memory(memory) => holder(scenario, memory.holder),
            Dropper::Policer(..) | Dropper::Link(_) => dropper(scenario, own),
        };
        json!({
            "place": place,
            "kind": kind,
            "unit": memory.map(|memory| if memory.is_in_octets() { "octets" } else { "packets" }),
            "need": memory.and_then(|memory| memory.need),
            "has": memory.map(|memory| memory.limit),
        })
    });
    json!({
        "word": effect(condition.effect),
        "places": places.collect::<Vec<_>>(),
    })
}
