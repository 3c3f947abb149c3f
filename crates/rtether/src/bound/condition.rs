//! What must drop nothing for a bound to be a proof, in words.

use rtether_bounds::{Analysis, Condition, Dropper, Effect, Holder, Memory};
use rtether_model::network::PortId;
use rtether_model::quantity::Bytes;
use rtether_report::text::plural;
use schemars::JsonSchema;
use serde::Serialize;

use super::names::Names;
use crate::rules;

/// Places that are named in a sentence; of more, the number.
const NAMED: usize = 2;

/// Places that a document names for each stream; of more, the number. In a plant where all links have
/// bit errors each stream has all places of its way, so the document would grow with their product.
const LISTED: usize = 16;

/// What must drop nothing for a bound to be a proof.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct OnlyIf {
    /// `if delivered` or `if nothing is dropped`.
    word: &'static str,
    /// The first 16 places that must drop nothing.
    places: Vec<DropperJson>,
    /// How many more there are.
    more_places: usize,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
struct DropperJson {
    /// The place in words.
    place: String,
    /// `memory`, `link`, or the step of a rule, such as `policer`.
    kind: &'static str,
    /// Unit of a memory, `octets` or `packets`.
    unit: Option<&'static str>,
    /// What a memory needs; `null` if nothing limits it.
    need: Option<u64>,
    /// What it has.
    has: Option<u64>,
}

/// Returns the name of a memory: `the port of sw to b`.
pub(crate) fn holder(names: &Names<'_>, holder: Holder) -> String {
    let name = |id| names.node(id);
    match holder {
        Holder::Buffer(at) => port(names, at),
        Holder::Threshold(at, queue) => format!("queue {queue} of {}", port(names, at)),
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
        Holder::Gap(flow) => format!("the gap of `{}`", names.flow(flow)),
    }
}

fn port(names: &Names<'_>, port: PortId) -> String {
    format!("the port of {} to {}", names.node(port.node), names.peer(port))
}

/// Returns an amount in the unit of a memory.
pub(crate) fn amount(memory: &Memory, amount: u64) -> String {
    if memory.is_in_octets() {
        Bytes::new(amount).to_string()
    } else {
        plural(usize::try_from(amount).unwrap_or(usize::MAX), "packet")
    }
}

/// Returns what may drop packets, and why: `the port of sw to b (needs 12.3 kB, has 8 kB)`.
pub(crate) fn dropper(names: &Names<'_>, dropper: &Dropper) -> String {
    match dropper {
        Dropper::Memory(memory) => {
            let need = memory.need.map_or_else(
                || "nothing limits what it needs".to_owned(),
                |need| format!("needs {}", amount(memory, need)),
            );
            let has = amount(memory, memory.limit);
            format!("{} ({need}, has {has})", holder(names, memory.holder))
        }
        Dropper::Rule(at, rule, cause) => format!(
            "rule {} of {} at port {} ({})",
            rule + 1,
            names.node(at.node),
            at.port + 1,
            rules::may_stop(*cause)
        ),
        Dropper::Link(at) => format!("the link behind {} (bit errors)", port(names, *at)),
    }
}

/// Returns the word of an effect: `if delivered`.
pub(crate) const fn effect(effect: Effect) -> &'static str {
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
pub(crate) fn only_if(names: &Names<'_>, analysis: &Analysis, condition: &Condition) -> String {
    let all: Vec<&Dropper> = droppers(analysis, condition).collect();
    let named = all.iter().take(NAMED).map(|one| dropper(names, one));
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

/// Returns a condition as documents have it.
pub(crate) fn json(names: &Names<'_>, analysis: &Analysis, condition: &Condition) -> OnlyIf {
    let places = droppers(analysis, condition).take(LISTED).map(|own| {
        let (kind, memory) = match own {
            Dropper::Memory(memory) => ("memory", Some(memory)),
            Dropper::Rule(_, _, cause) => (rules::step(*cause), None),
            Dropper::Link(_) => ("link", None),
        };
        let place = match own {
            Dropper::Memory(memory) => holder(names, memory.holder),
            Dropper::Rule(..) | Dropper::Link(_) => dropper(names, own),
        };
        DropperJson {
            place,
            kind,
            unit: memory.map(|memory| if memory.is_in_octets() { "octets" } else { "packets" }),
            need: memory.and_then(|memory| memory.need),
            has: memory.map(|memory| memory.limit),
        }
    });
    OnlyIf {
        word: effect(condition.effect),
        places: places.collect(),
        more_places: condition.droppers.len().saturating_sub(LISTED),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;
    use crate::scenario;

    /// Returns a line of switches with bit errors on each of their links.
    fn line(switches: usize) -> String {
        let mut text = String::from(
            "rtether: 1\nname: line\nnodes: { a: { stack: zero }, b: { stack: zero } }\nswitches:\n",
        );
        let mut links = String::from("links:\n");
        let mut last = "a".to_owned();
        for number in 1..=switches {
            writeln!(text, "  s{number}: {{ ports: 2 }}").expect("text");
            writeln!(
                links,
                "  - {{ ends: [{last}, \"s{number}:1\"], rate: 1 Gbit/s, errors: 1e-9 }}"
            )
            .expect("text");
            last = format!("\"s{number}:2\"");
        }
        text + &links
            + &format!("  - {{ ends: [{last}, b], rate: 1 Gbit/s, errors: 1e-9 }}\n")
            + "flows:\n  - { name: f, from: a, to: b, period: 1 ms, size: 64 B, deadline: 1 ms }\n"
    }

    #[test]
    fn a_document_lists_few_places_and_counts_the_rest() {
        // Oracle: a frame passes one link more than there are switches, each with bit errors.
        let loaded = scenario::load("line.yaml", &line(LISTED + 4));
        let scenario = loaded.scenario.expect("a good scenario");
        let analysis = crate::bound::analyze(&scenario);
        let condition = analysis.condition(0).expect("links may drop frames");
        let document = json(&Names::new(&scenario), &analysis, condition);
        assert_eq!((document.places.len(), document.more_places), (LISTED, 5));
    }
}
