//! What is proved arrives, in time. Oracle: the simulator, in random plants with small memory of every
//! kind, policers and bit errors.

use std::collections::BTreeMap;

use rtether::adversary::{self, Target};
use rtether::bound::contradictions;
use rtether_bounds::{Analysis, Condition, Dropper, Effect, Holder, analyze};
use rtether_model::endnode::Receive;
use rtether_model::network::{EndStation, NodeId, NodeKind, Switch};
use rtether_model::quantity::Bytes;
use rtether_model::record::Record;
use rtether_testkit::Dice;

use super::plant::{Plant, Variety};
use super::{adversarial, dice, for_each_case_up_to, searched, simulate};

const CASES: u64 = 60;
const NIGHTLY: u64 = 10_000;
const RUNS: u64 = 6;
/// In one plant of that many, releases are searched that make each named memory drop.
const SEARCHES: u64 = 11;
/// Streams behind a memory for which they are searched.
const SEARCHED: usize = 3;
/// Plants that a search tries.
const TRIES: u64 = 200;

/// Returns a plant of any kind.
fn of_any_kind(number: u64) -> Plant {
    let own = number / 15;
    let plain = || Plant::random(own, Variety::Plain);
    match number % 15 {
        0 => Plant::random(own, Variety::Full),
        1 | 2 => Plant::random(own, Variety::Layered),
        3 => plain(),
        4 => Plant::random(own, Variety::Routed),
        5 => Plant::random(own, Variety::Internetwork),
        6 => Plant::random(own, Variety::Shaped),
        7 => Plant::random(own, Variety::Deficit),
        8 => Plant::policed(own),
        9 => Plant::spaced(own),
        10 => Plant::connected(own),
        11 => Plant::polled(own),
        12 => Plant::resolving(own).unwrap_or_else(plain),
        13 => Plant::redundant(own).unwrap_or_else(plain),
        _ => Plant::random(own, Variety::Due),
    }
}

/// Makes the memory of a plant small, and some links err.
fn shrink(plant: &mut Plant, dice: &mut Dice) {
    for node in &mut plant.network.nodes {
        match &mut node.kind {
            NodeKind::EndStation(station) => shrink_station(station, dice),
            NodeKind::Switch(switch) => shrink_switch(switch, dice),
            NodeKind::Hub(_) => {}
        }
    }
    if dice.chance(20) {
        let link = dice.index(plant.network.links.len());
        plant.network.links[link].errors_per_billion = 20_000_000;
    }
}

fn octets(dice: &mut Dice) -> Bytes {
    Bytes::new(dice.between(1_522, 6_000))
}

fn shrink_station(station: &mut EndStation, dice: &mut Dice) {
    if dice.chance(30) {
        station.driver_queue = octets(dice);
    }
    if dice.chance(40) {
        station.stack_queue = dice.small(1, 4);
    }
    if let Some(arp) = station.arp.as_mut().filter(|_| dice.chance(50)) {
        arp.hold = octets(dice);
    }
    let Some(layer) = &mut station.layer else {
        return;
    };
    match &mut layer.receive {
        Some(Receive::Queues(config)) => {
            config.input_limit = dice.small(1, 4);
            for limit in &mut config.queue_limits {
                *limit = dice.small(1, 4);
            }
        }
        Some(Receive::Instances { queue_limits }) => {
            for limit in queue_limits {
                *limit = dice.small(1, 4);
            }
        }
        None => {}
    }
    if let Some(transmit) = &mut layer.transmit {
        for limit in &mut transmit.queue_limits {
            *limit = dice.small(1, 4);
        }
    }
    if let Some(smoothing) = &mut layer.smoother {
        smoothing.config.limits.real_time_packets = dice.small(1, 4);
        smoothing.config.limits.bulk_packets = dice.small(1, 4);
    }
}

fn shrink_switch(switch: &mut Switch, dice: &mut Dice) {
    if dice.chance(40) {
        switch.buffer.per_port = octets(dice);
    }
    if dice.chance(15) {
        switch.buffer.shared = Some(octets(dice));
    }
    if dice.chance(20) {
        let own = octets(dice);
        switch.thresholds = Some([own; 8]);
    }
    if let Some(router) = &mut switch.router {
        router.queue = dice.small(0, 3);
    }
}

/// What was met.
#[derive(Default)]
struct Met {
    proved: usize,
    if_delivered: usize,
    if_nothing_dropped: usize,
    /// By kind of memory: named as one that may drop, and seen to.
    named: BTreeMap<&'static str, [usize; 2]>,
    /// The same where a search for bad releases was made, with what it made drop besides.
    searched: BTreeMap<&'static str, [usize; 3]>,
    /// Places that dropped without being named, behind one that was.
    behind: usize,
}

const fn kind(holder: Holder) -> &'static str {
    match holder {
        Holder::Buffer(_) => "buffer",
        Holder::Threshold(..) => "threshold",
        Holder::SharedBuffer(_) => "shared buffer",
        Holder::Stack(_) => "stack",
        Holder::Tasks(_) => "tasks",
        Holder::Router(_) => "router",
        Holder::Input(_) => "input queue",
        Holder::ReceiveQueue(..) => "receive queue",
        Holder::TransmitQueue(..) => "transmit queue",
        Holder::RealTime(_) => "real-time packets",
        Holder::Bulk(_) => "bulk packets",
        Holder::Address(_) => "addresses",
        Holder::Gap(_) => "gap",
    }
}

/// Returns the node or port of a memory: node, and port for those of ports.
fn place_of(holder: Holder, plant: &Plant) -> (NodeId, Option<u16>) {
    match holder {
        Holder::Buffer(port) | Holder::Threshold(port, _) => (port.node, Some(port.port)),
        Holder::SharedBuffer(node)
        | Holder::Stack(node)
        | Holder::Tasks(node)
        | Holder::Router(node)
        | Holder::Input(node)
        | Holder::ReceiveQueue(node, _)
        | Holder::TransmitQueue(node, _)
        | Holder::RealTime(node)
        | Holder::Bulk(node)
        | Holder::Address(node) => (node, None),
        Holder::Gap(flow) => (plant.flows[flow.index()].talker, None),
    }
}

/// Returns how many packets a memory has dropped in a run, together with others in the same count.
fn dropped(holder: Holder, plant: &Plant, record: &Record) -> u64 {
    let (node, port) = place_of(holder, plant);
    let at_ports = || {
        let own = record.ports.iter().filter(|own| own.port.node == node);
        let own = own.filter(|own| port.is_none_or(|port| own.port.port == port));
        own.map(|own| own.dropped).sum()
    };
    let own = record.nodes.iter().find(|own| own.node == node);
    match holder {
        Holder::Buffer(_) | Holder::Threshold(..) | Holder::SharedBuffer(_) => at_ports(),
        Holder::Stack(_) | Holder::Tasks(_) | Holder::Router(_) | Holder::Gap(_) => {
            own.map_or(0, |own| own.stack_dropped + own.layer_dropped)
        }
        Holder::Input(_)
        | Holder::ReceiveQueue(..)
        | Holder::TransmitQueue(..)
        | Holder::RealTime(_)
        | Holder::Bulk(_) => own.map_or(0, |own| own.layer_dropped + own.stack_dropped),
        Holder::Address(_) => own.and_then(|own| own.arp.as_ref()).map_or(0, |arp| arp.dropped),
    }
}

/// Checks the words about one run.
fn check(plant: &Plant, analysis: &Analysis, record: &Record, met: &mut Met) {
    let named: Vec<Holder> = analysis
        .droppers
        .iter()
        .filter_map(|dropper| match dropper {
            Dropper::Memory(memory) => Some(memory.holder),
            Dropper::Rule(..) | Dropper::Link(_) => None,
        })
        .collect();
    let has_dropped = named.iter().any(|&holder| dropped(holder, plant, record) > 0);
    for ((bound, condition), seen) in analysis.judged().zip(&record.streams) {
        let Ok(bound) = &bound.bound else { continue };
        let effect = condition.map(|own: &Condition| own.effect);
        let name = &plant.flows[seen.flow as usize].name;
        if effect.is_none() {
            assert_eq!(seen.dropped, 0, "{name} is proved, and loses packets");
        }
        if effect < Some(Effect::IfNothingDropped) || !has_dropped {
            let (max, limit) = (seen.latency.max, bound.latency);
            assert!(max <= limit, "{name}: {max} seen, {limit} proved {effect:?}");
        }
    }
    let shown = contradictions(&plant.network, &plant.flows, analysis, record);
    assert_eq!(shown, [], "what `check` calls a contradiction");
    let is_void = analysis.conditions.iter().flatten();
    let is_void = is_void.into_iter().any(|own| own.effect == Effect::IfNothingDropped);
    let mut unnamed = |what: String| {
        assert!(has_dropped && is_void, "{what} drops, and is not named");
        met.behind += 1;
    };
    for port in record.ports.iter().filter(|own| own.dropped > 0) {
        let link = &plant.network.links[port.link.index()];
        if plant.network.is_half_duplex(link) {
            continue;
        }
        let is_named = named.iter().any(|&holder| {
            let (node, own) = place_of(holder, plant);
            let is_memory = matches!(
                holder,
                Holder::Buffer(_) | Holder::Threshold(..) | Holder::SharedBuffer(_)
            );
            is_memory && node == port.port.node && own.is_none_or(|own| own == port.port.port)
        });
        if !is_named {
            unnamed(format!("{:?}", port.port));
        }
    }
    for node in record.nodes.iter().filter(|own| own.stack_dropped + own.layer_dropped > 0) {
        let is_named = named.iter().any(|&holder| {
            let (own, port) = place_of(holder, plant);
            own == node.node && port.is_none() && !matches!(holder, Holder::SharedBuffer(_))
        });
        if !is_named {
            unnamed(format!(
                "node {} ({} in its stack, {} in its layer), {:?}",
                node.node.0,
                node.stack_dropped,
                node.layer_dropped,
                plant.network.node(node.node)
            ));
        }
    }
}

/// Searches for releases that delay streams behind a named memory most, as if it were large, and
/// returns whether it drops when they come.
fn is_made_to_drop(plant: &Plant, large: &Plant, analysis: &Analysis, number: usize) -> bool {
    let Dropper::Memory(memory) = analysis.droppers[number] else {
        return false;
    };
    let is_behind = |own: &Condition| own.droppers.iter().any(|&own| own as usize == number);
    let behind = analysis.judged().enumerate();
    let behind = behind.filter(|(_, (_, condition))| condition.is_some_and(is_behind));
    let targets = Target::all(&plant.flows);
    let open = adversary::Plant { network: &large.network, flows: &large.flows, run: searched() };
    behind.take(SEARCHED).any(|(index, _)| {
        let Some(found) = adversary::search(open, targets[index], None, TRIES) else {
            return false;
        };
        let mut flows = plant.flows.clone();
        for (flow, times) in found.releases {
            flows[flow.index()].releases = times;
        }
        dropped(memory.holder, plant, &simulate(plant, &flows, found.seed)) > 0
    })
}

/// Checks plants with small memory; returns what was met.
fn words(cases: [u64; 2], test: &'static str) -> Met {
    let mut met = Met::default();
    for_each_case_up_to(cases, test, |number| {
        let mut plant = of_any_kind(number);
        let mut dice = dice(number ^ 0x0077_6f72_6473);
        let large = plant.clone();
        shrink(&mut plant, &mut dice);
        let analysis = analyze(&plant.network, &plant.flows);
        for memory in &analysis.memories {
            let is_named = analysis.droppers.contains(&Dropper::Memory(*memory));
            assert_eq!(is_named, !memory.suffices(), "{memory:?}");
        }
        for (bound, condition) in analysis.judged() {
            match condition.map(|own| own.effect) {
                None => met.proved += usize::from(bound.bound.is_ok()),
                Some(Effect::IfDelivered) => met.if_delivered += 1,
                Some(Effect::IfNothingDropped) => met.if_nothing_dropped += 1,
            }
        }
        let mut seen = vec![0; analysis.droppers.len()];
        for run in 0..RUNS {
            let flows = adversarial(&plant, &mut dice, run);
            let record = simulate(&plant, &flows, number ^ run);
            check(&plant, &analysis, &record, &mut met);
            for (dropper, seen) in analysis.droppers.iter().zip(&mut seen) {
                if let Dropper::Memory(memory) = dropper {
                    *seen += dropped(memory.holder, &plant, &record);
                }
            }
        }
        for (at, (dropper, seen)) in analysis.droppers.iter().zip(seen).enumerate() {
            let Dropper::Memory(memory) = dropper else {
                continue;
            };
            let [named, dropped] = met.named.entry(kind(memory.holder)).or_default();
            *named += 1;
            *dropped += usize::from(seen > 0);
            if number.is_multiple_of(SEARCHES) {
                let [named, dropped, more] = met.searched.entry(kind(memory.holder)).or_default();
                *named += 1;
                *dropped += usize::from(seen > 0);
                let is_more = seen == 0 && is_made_to_drop(&plant, &large, &analysis, at);
                *more += usize::from(is_more);
            }
        }
    });
    met
}

#[test]
#[allow(clippy::print_stdout, reason = "shown with --nocapture")]
fn what_is_proved_arrives_in_time() {
    let test = "words::what_is_proved_arrives_in_time";
    let met = words([CASES, NIGHTLY], test);
    println!(
        "{} proved, {} if delivered, {} if nothing is dropped; {} drops behind a named place",
        met.proved, met.if_delivered, met.if_nothing_dropped, met.behind
    );
    for (kind, [named, dropped]) in &met.named {
        println!("  {kind}: {named} may drop, {dropped} were seen to");
    }
    for (kind, [named, dropped, more]) in &met.searched {
        println!(
            "  {kind}: of {named}, {dropped} dropped in ordinary runs, {more} more when searched"
        );
    }
    let is_one = std::env::var_os("RTETHER_CASE").is_some();
    let all = [met.proved, met.if_delivered, met.if_nothing_dropped];
    assert!(is_one || all.iter().all(|&count| count > 10), "{all:?}");
}
