//! Bounds of xTFA and panco next to ours. Oracle: Saihu, from the folder in `RTETHER_SAIHU` that holds
//! its package (no index of packages has it), with the solver of Debian's package `lp-solve`; the
//! simulation; and arithmetic.
//!
//! All are upper bounds by different ways, so none must be below the other: each must be at least
//! what the simulation shows. They must agree on a flow that meets no other at any port. Ours is then the
//! exact time; in the fluid of xTFA and of panco's separated flow (SFA) a frame has left a port when the
//! gap behind it has, so that they are later by at most a gap for each port. Panco's linear programs
//! (PLP) are later even then, and must only not be earlier.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::process::Command;

use rtether::bound;
use rtether::export::{Choice, Target, export};
use rtether::run::{Progress, simulate};
use rtether::scenario::{Scenario, load};
use rtether_model::flow::Flow;
use rtether_model::network::NodeKind;
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::route::{Hop, Routing};
use rtether_model::wire::{Frames, TAG, occupancy, wire_time};
use rtether_testkit::{Folder, skip};

use super::tsnkit::draw;
use super::{PLANTS, python, run};

/// Most that Saihu's numbers, which are floats, and a picosecond at each port, which stands for no
/// latency, make of a delay, in seconds.
const ROUNDED: f64 = 1e-10;

/// Panco with linear programs of the whole way.
const PLP: &str = "panco PLP";

/// Returns the way of a flow to its listener.
fn way(scenario: &Scenario, flow: &Flow) -> Vec<Hop> {
    let network = &scenario.network;
    let routing = Routing::new(network);
    routing.flow_path(network, flow, flow.listeners[0]).unwrap()
}

/// Returns the time of a frame that waits nowhere, and of the gaps behind it at all ports.
fn alone(scenario: &Scenario, flow: &Flow) -> [Duration; 2] {
    let frame = Frames::of_packet(flow.payload, flow.encapsulation).last;
    let frame = frame + flow.tag.map_or(Bytes::ZERO, |_| TAG);
    let mut times = [Duration::ZERO; 2];
    for hop in way(scenario, flow) {
        let network = &scenario.network;
        let link = &network.links[hop.link.index()];
        let latency = match &network.node(hop.ingress.node).kind {
            NodeKind::Switch(switch) => switch.latency,
            NodeKind::EndStation(_) | NodeKind::Hub(_) => Duration::ZERO,
        };
        let sent = wire_time(frame, link.rate);
        times[0] += sent + link.propagation + latency;
        times[1] += occupancy(frame, link.rate) - sent;
    }
    times
}

/// Returns the flows that meet no other.
fn lonely(scenario: &Scenario) -> Vec<bool> {
    let ways = scenario.flows.iter().map(|flow| {
        let hops = way(scenario, flow).into_iter();
        let ports = hops.map(|hop| (hop.egress.node.0, hop.egress.port));
        ports.collect()
    });
    let ways: Vec<BTreeSet<(u32, u16)>> = ways.collect();
    let is_alone = |own: usize| {
        let mut others = ways.iter().enumerate().filter(|(other, _)| *other != own);
        others.all(|(_, other)| other.is_disjoint(&ways[own]))
    };
    (0..ways.len()).map(is_alone).collect()
}

/// Delays in seconds, by tool and flow.
type Delays = BTreeMap<String, BTreeMap<String, f64>>;

/// Lets Saihu bound plants; `None` where it cannot run.
fn delays(plants: &[Scenario]) -> Option<Vec<Delays>> {
    let Some(saihu) = env::var_os("RTETHER_SAIHU") else {
        skip("needs Saihu, the folder of whose package is in RTETHER_SAIHU");
        return None;
    };
    if env::var_os("RTETHER_LP_SOLVE").is_none() {
        skip("needs lp_solve, whose path is in RTETHER_LP_SOLVE");
        return None;
    }
    let python = python("readers-saihu")?;
    let folder = Folder::new("saihu");
    let mut folders = Vec::new();
    for (number, plant) in plants.iter().enumerate() {
        let own = folder.path().join(number.to_string());
        std::fs::create_dir(&own).unwrap();
        let exported = export(plant, Target::Saihu);
        for (name, text) in exported.expect("Saihu can express it").files {
            std::fs::write(own.join(name), text).unwrap();
        }
        folders.push(own);
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/readers/saihu.py");
    let said = run(Command::new(python).arg(script).arg(saihu).args(folders));
    let lines = said.lines();
    Some(lines.map(|line| serde_json::from_str(line).unwrap()).collect())
}

/// Returns the flat substation without stacks and files.
fn flat() -> Scenario {
    let choice = Choice {
        without_stacks: true,
        without_flows: vec!["upload".to_owned(), "download".to_owned()],
    };
    let text = include_str!("../../../../scenarios/skeie-flat.yaml");
    let text = text.replace("for: 105 s", "for: 3 s");
    let plant = load("skeie-flat.yaml", &text).into_scenario().unwrap();
    choice.part_of(&plant).unwrap().0
}

#[test]
#[ignore = "long"]
fn bounds_of_saihu_and_ours_hold_together() {
    let plants = (0..PLANTS).map(|number| {
        let text = draw(number).replace("queues: 8", "selection: fcfs");
        let loaded = load("drawn.yaml", &text).into_scenario();
        loaded.unwrap_or_else(|words| panic!("{words}\n{text}"))
    });
    let plants: Vec<Scenario> = plants.chain([flat()]).collect();
    let Some(theirs) = delays(&plants) else {
        return;
    };
    assert_eq!(theirs.len(), plants.len());
    // For each tool: flows, those that meet no other, and those with a bound of ours that is not above.
    let mut counts: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for (plant, theirs) in plants.iter().zip(&theirs) {
        let ours = bound::latencies(&bound::analyze(plant));
        let record = simulate(plant, &Progress::default()).unwrap().record;
        let lonely = lonely(plant);
        for (number, flow) in plant.flows.iter().enumerate() {
            let listener = &plant.network.node(flow.listeners[0]).name;
            let own = ours[number].expect("a bound");
            let seen = record.streams[number].latency.max;
            assert!(seen <= own, "{}: {seen} of {own}", flow.name);
            for (tool, delays) in theirs {
                let theirs = delays[&format!("{} > {listener}", flow.name)];
                assert!(seen.as_secs_f64() <= theirs + ROUNDED, "{tool}: {seen} of {theirs} s");
                if lonely[number] {
                    agree(tool, (plant, flow), (own, theirs));
                }
                let [flows, alone, below] = counts.entry(tool).or_default();
                *flows += 1;
                *alone += usize::from(lonely[number]);
                *below += usize::from(own.as_secs_f64() <= theirs + ROUNDED);
            }
        }
    }
    for (tool, [flows, alone, below]) in &counts {
        println!("{tool}: {flows} flows, {alone} of them alone, ours at most theirs {below} times");
        assert!(*alone > 10, "{tool}: {alone}");
    }
    assert_eq!(counts.keys().copied().collect::<Vec<_>>(), [PLP, "panco SFA", "xTFA"]);
}

/// Asserts that our bound of a flow that meets no other is exact, and theirs in seconds as well but
/// for the gaps.
fn agree(tool: &str, (plant, flow): (&Scenario, &Flow), (own, theirs): (Duration, f64)) {
    let [exact, gaps] = alone(plant, flow);
    assert_eq!(own, exact, "{}", flow.name);
    let latest = if tool == PLP { f64::INFINITY } else { (exact + gaps).as_secs_f64() };
    let range = exact.as_secs_f64() - ROUNDED..=latest + ROUNDED;
    assert!(range.contains(&theirs), "{tool}: {theirs} s in {range:?}");
}
