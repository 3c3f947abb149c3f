//! Lowering of every key: files compared with the expected model.

mod flows;
mod network;

use std::fs;
use std::path::Path;

use rtether_model::flow::Traffic;
use rtether_model::quantity::{Bytes, Duration};
use rtether_scenario::{Loaded, Scenario, load};

fn scenario(text: &str) -> Scenario {
    let loaded = load("test.yaml", text).into_scenario();
    loaded.unwrap_or_else(|words| panic!("{words}"))
}

fn file(path: &str) -> Scenario {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    scenario(&fs::read_to_string(root.join(path)).expect("the file is there"))
}

/// Two nodes on one switch, with these stacks, switch settings and flows.
fn small(stack: &str, switch: &str, flows: &str) -> Scenario {
    scenario(&format!(
        "rtether: 1\n\
         nodes: {{ a: {{ stack: {stack} }}, b: {{ stack: zero }} }}\n\
         switches: {{ sw: {switch} }}\n\
         links:\n\
         - {{ ends: [a, 'sw:1'], rate: 100 Mbit/s }}\n\
         - {{ ends: ['sw:4', b], rate: 1 Gbit/s, length: 20 m, errors: 1e-9 }}\n\
         flows:\n{flows}"
    ))
}

const FLOW: &str = "- { name: x, from: a, to: b, period: 2 ms, size: 64 B }\n";

#[test]
fn substation_is_that_of_the_paper() {
    // Catalogue, section 1b: ten bays of 9 PISAs, 3 bay nodes and a switch; Busbar unit, server, top.
    let plant = file("scenarios/substation.yaml");
    assert_eq!(plant.network.nodes.len(), 10 * 13 + 3);
    assert_eq!(plant.network.links.len(), 10 * 13 + 2);
    let of_class = |class: &str| plant.flows.iter().filter(|f| f.class == class).count();
    assert_eq!(of_class("ct-vt to protection unit"), 30);
    assert_eq!(of_class("ct-vt to bay controller"), 30);
    assert_eq!(of_class("ct-vt to differential protection unit"), 30);
    assert_eq!(of_class("ct-vt to busbar"), 30);
    assert_eq!(of_class("protection unit to circuit breaker"), 10);
    assert_eq!(of_class("busbar to circuit breaker"), 10);
    assert_eq!(of_class("exchange"), 10 * 9 * 3 * 2);
    // Within 24 s: PISA k at 2k seconds for k = 1 to 11, all bay nodes at 3 s, one upload.
    assert_eq!(of_class("file to pisa"), 11);
    assert_eq!(of_class("file to bay node"), 30);
    assert_eq!(of_class("file from pisa"), 1);
    let find = |name: &str| plant.flows.iter().find(|f| f.name == name).expect("the flow");
    let sample = find("bay01.ct1 > bay01.pu");
    assert_eq!(sample.payload, Bytes::new(32));
    assert_eq!(sample.mean_interval(), Some(Duration::from_ms(1)));
    assert_eq!(sample.deadline, Some(Duration::from_ms(1)));
    let command = find("busbar > bay10.cb1");
    assert_eq!(command.mean_interval(), Some(Duration::from_ms(4)));
    let Traffic::Bulk(upload) = &find("file bay01.ct2 > server").traffic else {
        panic!("not bulk");
    };
    assert_eq!(upload.transfers[0].size, Some(Bytes::new(1_000_000)));
    assert_eq!(upload.tcp.window, Bytes::new(7300));
}

#[test]
fn the_star_sends_what_the_benchmark_counts() {
    let star = file("benches/scenarios/star.yaml");
    let packets: i64 = star
        .flows
        .iter()
        .map(|flow| {
            let copies = i64::try_from(flow.listeners.len()).unwrap();
            let period = flow.mean_interval().unwrap();
            copies * (star.run.duration.as_ps() / period.as_ps())
        })
        .sum();
    assert_eq!(packets, 460_800);
}

#[test]
fn rings_without_flooding_need_no_standby() {
    let text = "rtether: 1\n\
        nodes: { a: { stack: zero }, b: { stack: zero } }\n\
        switches: { s1: { ports: 3 }, s2: { ports: 3 }, s3: { ports: 3 } }\n\
        links:\n\
        - { ends: [a, 's1:1'], rate: 100 Mbit/s }\n\
        - { ends: [b, 's2:1'], rate: 100 Mbit/s }\n\
        - { ends: ['s1:2', 's2:3'], rate: 100 Mbit/s }\n\
        - { ends: ['s2:2', 's3:3'], rate: 100 Mbit/s }\n\
        - { ends: ['s3:2', 's1:3'], rate: 100 Mbit/s }\n\
        flows: [{ name: x, from: a, to: b, period: 2 ms, size: 64 B }]\n";
    let loaded = load("ring.yaml", text);
    // Only s3 is on no path, and none says how it knows addresses.
    let codes = |loaded: &Loaded| -> Vec<_> {
        let all = loaded.diagnostics.iter();
        all.map(|own| own.code).collect()
    };
    assert_eq!(codes(&loaded), ["unused-node", "open-ring"]);
    assert!(loaded.scenario.is_some());
    let said = text.replace("ports: 3", "ports: 3, addresses: static");
    assert_eq!(codes(&load("ring.yaml", &said)), ["unused-node"]);
}

#[test]
fn places_belong_to_what_they_name() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/bottling-line.yaml");
    let text = fs::read_to_string(path).expect("the file is there");
    let loaded = load("x", &text);
    let scenario = loaded.scenario.expect("no errors");
    let word = |span: &rtether_scenario::Span| &text[span.start as usize..span.end as usize];
    for (node, span) in scenario.network.nodes.iter().zip(&loaded.places.nodes) {
        assert_eq!(word(span), node.name);
    }
    for (flow, span) in scenario.flows.iter().zip(&loaded.places.flows) {
        assert_eq!(word(span), flow.name);
    }
    assert_eq!(loaded.places.links.len(), scenario.network.links.len());
}
