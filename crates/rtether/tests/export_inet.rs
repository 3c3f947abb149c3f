//! Networks of INET. Oracle: the grammar of NED and of `omnetpp.ini` as far as it is used, names that
//! are declared where they are used, and numbers worked out by hand. No INET runs here.

use std::collections::{BTreeMap, BTreeSet};

use rtether::export::{Exported, Reasons, Target, export};
use rtether::scenario::load;

const PLANT: &str = "rtether: 1
name: line
nodes: { plc: { stack: zero }, \"drive 1\": { stack: zero }, network: { stack: zero } }
switches:
  s1: { ports: 3, queues: 2, selection: cbs, idle_slopes: [0 bit/s, 20 Mbit/s] }
  s2: { ports: 2, selection: fcfs }
links:
  - { ends: [plc, \"s1:1\"], rate: 100 Mbit/s }
  - { ends: [\"s1:2\", \"s2:1\"], rate: 1 Gbit/s, propagation: 500 ns }
  - { ends: [\"drive 1\", \"s2:2\"], rate: 10 Mbit/s }
  - { ends: [network, \"s1:3\"], rate: 100 Mbit/s }
flows:
  - { name: setpoint, from: plc, to: [\"drive 1\", network], period: 1 ms, phase: synchronized, size: 200 B, pcp: 5, deadline: 1 ms }
  - { name: event, from: \"drive 1\", to: plc, min_gap: 4 ms, mean_gap: 10 ms, size: 100 B }
run: { for: 4 s }
";

fn exported(text: &str) -> Result<Exported, Reasons> {
    let scenario = load("line.yaml", text).into_scenario().expect("a plant");
    export(&scenario, Target::Inet)
}

fn file<'e>(exported: &'e Exported, name: &str) -> &'e str {
    let found = exported.files.iter().find(|(own, _)| own == name);
    &found.expect("a file").1
}

/// Returns the settings of an INI file.
fn settings(ini: &str) -> BTreeMap<&str, &str> {
    let lines = ini
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with(['#', '[']));
    let pairs = lines.map(|line| line.split_once(" = ").unwrap_or_else(|| panic!("{line}")));
    let pairs: Vec<(&str, &str)> = pairs.collect();
    let all: BTreeMap<&str, &str> = pairs.iter().copied().collect();
    assert_eq!(all.len(), pairs.len(), "a key is there twice:\n{ini}");
    all
}

#[test]
fn nodes_and_links_are_those_of_the_plant() {
    let exported = exported(PLANT).expect("INET can express it");
    let ned = file(&exported, "Plant.ned");
    let code = ned
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    let code: Vec<&str> = code
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let modules = code.iter().filter_map(|line| line.split_once(": Tsn"));
    let modules: BTreeMap<&str, &str> = modules.collect();
    let expected = [
        ("drive_1", "Device;"),
        ("network_2", "Device;"),
        ("plc", "Device;"),
        ("s1", "Switch;"),
        ("s2", "Switch;"),
    ];
    assert_eq!(modules, BTreeMap::from(expected), "{ned}");
    let links = code.iter().filter(|line| line.contains("<-->"));
    let links: Vec<&&str> = links.collect();
    assert_eq!(
        *links[1],
        "s1.ethg++ <--> EthernetLink { delay = 500ns; } <--> s2.ethg++;"
    );
    assert_eq!(links.len(), 4);
    let ends = links
        .iter()
        .flat_map(|line| line.split(" <--> "))
        .filter_map(|end| end.split_once(".ethg++"));
    for (node, _) in ends {
        assert!(modules.contains_key(node), "{node}");
    }
    for (open, close) in [('{', '}'), ('(', ')')] {
        let count = |wanted| ned.chars().filter(|c| *c == wanted).count();
        assert_eq!(count(open), count(close), "{ned}");
    }
}

/// Oracle: by hand. Ports are numbered by flow and listener from 1000, interfaces by the links of
/// their node; the standard map has priorities 4 to 7 in the second of two queues.
#[test]
fn flows_priorities_and_queues_are_settings() {
    let exported = exported(PLANT).expect("INET can express it");
    let ini = file(&exported, "omnetpp.ini");
    let all = settings(ini);
    for (key, value) in [
        ("sim-time-limit", "4s"),
        ("*.s1.eth[1].bitrate", "1000000000bps"),
        ("*.drive_1.eth[0].bitrate", "10000000bps"),
        ("*.plc.numApps", "3"),
        ("*.plc.app[0].io.destAddress", "\"drive_1\""),
        ("*.plc.app[1].io.destAddress", "\"network_2\""),
        ("*.plc.app[1].io.destPort", "1001"),
        ("*.plc.app[0].source.packetLength", "200B"),
        ("*.plc.app[0].source.productionInterval", "1ms"),
        ("*.plc.app[0].source.initialProductionOffset", "0s"),
        ("*.plc.app[2].io.localPort", "1002"),
        (
            "*.drive_1.app[1].source.productionInterval",
            "4ms + exponential(6ms)",
        ),
        (
            "*.plc.bridging.streamCoder.encoder.mapping",
            "[{stream: \"s1000\", pcp: 5}, {stream: \"s1001\", pcp: 5}]",
        ),
        ("*.s1.eth[*].macLayer.queue.numTrafficClasses", "2"),
        (
            "*.s1.eth[*].macLayer.queue.transmissionSelectionAlgorithm[1].idleSlope",
            "20000000bps",
        ),
    ] {
        assert_eq!(all.get(key), Some(&value), "{key}\n{ini}");
    }
    let mapping = all["*.s1.eth[*].macLayer.queue.classifier.mapping"];
    let rows: Vec<&str> = mapping.trim_matches(['[', ']']).split("], [").collect();
    let queues: Vec<&str> = rows
        .iter()
        .map(|row| row.split(", ").nth(1).expect("a class"))
        .collect();
    assert_eq!(queues, ["0", "0", "0", "0", "1", "1", "1", "1"]);
    assert!(!ini.contains("*.s2.has"), "{ini}");
    // Each node that has a setting is in the network.
    let ned = file(&exported, "Plant.ned");
    let nodes = all
        .keys()
        .filter_map(|key| key.strip_prefix("*.")?.split_once('.'));
    let nodes: BTreeSet<&str> = nodes
        .map(|(node, _)| node)
        .filter(|node| *node != "*")
        .collect();
    for node in nodes {
        assert!(ned.contains(&format!("        {node}: Tsn")), "{node}");
    }
}

#[test]
fn what_inet_is_not_told_is_refused() {
    for (from, to, reason) in [
        (
            "selection: fcfs",
            "selection: wrr, weights: [1]",
            "s2: switches are exported that",
        ),
        (
            "size: 100 B",
            "size: 100 B, burst: 3",
            "event: a source of INET sends one packet",
        ),
        (
            "size: 100 B",
            "size: 100 B, over: goose",
            "event: flows over UDP",
        ),
        (
            "plc: { stack: zero }",
            "plc: { stack: zero, selection: edf }",
            "plc: stations with tasks",
        ),
    ] {
        let plant = PLANT.replacen(from, to, 1);
        assert_ne!(plant, PLANT, "{from}");
        let reasons = exported(&plant).expect_err(to);
        let found = reasons
            .0
            .iter()
            .any(|own| own.replace('`', "").starts_with(reason));
        assert!(found, "{reason}: {reasons:?}");
    }
}
