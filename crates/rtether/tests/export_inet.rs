//! Networks of INET. Oracle: the grammar of NED and of `omnetpp.ini` as far as it is used, names that
//! are declared where they are used, and numbers worked out by hand. No INET runs here.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use rtether::export::{Exported, Reasons, Target, export};
use rtether::import::{Code, File, Options, import_all};
use rtether::scenario::{Scenario, load};
use rtether_model::flow::{Phase, Traffic};
use rtether_model::network::{NodeId, NodeKind, Pcp};
use rtether_model::quantity::Duration;
use rtether_testkit::Dice;

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
    let lines = ini.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', '[']));
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
    let code = ned.lines().map(|line| line.split("//").next().unwrap_or_default());
    let code: Vec<&str> = code.map(str::trim).filter(|line| !line.is_empty()).collect();
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
    assert_eq!(*links[1], "s1.ethg++ <--> EthernetLink { delay = 500ns; } <--> s2.ethg++;");
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
        ("*.drive_1.app[1].source.productionInterval", "4ms + exponential(6ms)"),
        (
            "*.plc.bridging.streamCoder.encoder.mapping",
            "[{stream: \"s1000\", pcp: 5}, {stream: \"s1001\", pcp: 5}]",
        ),
        ("*.s1.eth[*].macLayer.queue.numTrafficClasses", "2"),
        ("*.s1.eth[*].macLayer.queue.transmissionSelectionAlgorithm[1].idleSlope", "20000000bps"),
    ] {
        assert_eq!(all.get(key), Some(&value), "{key}\n{ini}");
    }
    let mapping = all["*.s1.eth[*].macLayer.queue.classifier.mapping"];
    let rows: Vec<&str> = mapping.trim_matches(['[', ']']).split("], [").collect();
    let queues: Vec<&str> =
        rows.iter().map(|row| row.split(", ").nth(1).expect("a class")).collect();
    assert_eq!(queues, ["0", "0", "0", "0", "1", "1", "1", "1"]);
    assert!(!ini.contains("*.s2.has"), "{ini}");
    // Each node that has a setting is in the network.
    let ned = file(&exported, "Plant.ned");
    let nodes = all.keys().filter_map(|key| key.strip_prefix("*.")?.split_once('.'));
    let nodes: BTreeSet<&str> = nodes.map(|(node, _)| node).filter(|node| *node != "*").collect();
    for node in nodes {
        assert!(ned.contains(&format!("        {node}: Tsn")), "{node}");
    }
}

#[test]
fn what_inet_is_not_told_is_refused() {
    for (from, to, reason) in [
        ("selection: fcfs", "selection: wrr, weights: [1]", "s2: switches are exported that"),
        (
            "cbs, idle_slopes: [0 bit/s, 20 Mbit/s]",
            "cbs+drr, idle_slopes: [0 bit/s, 20 Mbit/s], quanta: [1522]",
            "s1: switches are exported that",
        ),
        ("size: 100 B", "size: 100 B, burst: 3", "event: a source of INET sends one packet"),
        ("size: 100 B", "size: 100 B, over: goose", "event: flows over UDP"),
        (
            "plc: { stack: zero }",
            "plc: { stack: zero, selection: edf }",
            "plc: stations with tasks",
        ),
    ] {
        let plant = PLANT.replacen(from, to, 1);
        assert_ne!(plant, PLANT, "{from}");
        let reasons = exported(&plant).expect_err(to);
        let found = reasons.0.iter().any(|own| own.replace('`', "").starts_with(reason));
        assert!(found, "{reason}: {reasons:?}");
    }
}

/// What of a flow is in both files: listeners, octets, priority, and when it sends.
type Shown = (String, Vec<String>, u64, Option<u8>, String);

/// Returns a plant as far as INET has it: flows by name, links, and queues of switches.
type Plant =
    (BTreeMap<String, Shown>, BTreeSet<([String; 2], u64, Duration)>, BTreeMap<String, String>);

fn shown(scenario: &Scenario, name: &dyn Fn(NodeId) -> String) -> Plant {
    let flows = scenario.flows.iter().map(|flow| {
        let listeners = flow.listeners.iter().map(|own| name(*own)).collect();
        let begin = |phase: &Phase| match phase {
            Phase::Fixed(phase) => format!("from {}", flow.start + *phase),
            Phase::Random => format!("at random from {}", flow.start),
        };
        // A source with one interval is periodic, whatever it was called.
        let times = match &flow.traffic {
            Traffic::Periodic { period, phase, .. } => format!("{period} {}", begin(phase)),
            Traffic::Flood { interval } => format!("{interval} from {}", flow.start),
            Traffic::Sporadic { min_gap, mean_gap, .. } if min_gap >= mean_gap => {
                format!("{min_gap} from {}", flow.start)
            }
            Traffic::Sporadic { min_gap, mean_gap, .. } => {
                format!("{min_gap} to {mean_gap} from {}", flow.start)
            }
            Traffic::Poisson { mean_interval } => format!("poisson {mean_interval} {}", flow.start),
            other @ (Traffic::Adaptive { .. } | Traffic::Bulk(_)) => panic!("{other:?}"),
        };
        let pcp = flow.tag.map(|tag| tag.pcp.get());
        let size = flow.payload.get();
        let own = (name(flow.talker), listeners, size, pcp, times);
        (flow.name.replace(['"', '\\'], "'"), own)
    });
    let network = &scenario.network;
    let ends = scenario.flows.iter();
    let ends = ends.flat_map(|flow| flow.listeners.iter().chain([&flow.talker]));
    let ends: BTreeSet<NodeId> = ends.copied().collect();
    let is_used = |node: NodeId| {
        let is_switch = matches!(network.node(node).kind, NodeKind::Switch(_));
        is_switch || ends.contains(&node)
    };
    let links = network.links.iter().filter(|link| !link.standby);
    let links = links.filter(|link| link.ends.iter().all(|end| is_used(end.node)));
    let links = links.map(|link| {
        let mut ends = link.ends.map(|end| name(end.node));
        ends.sort();
        (ends, link.rate.as_bps(), link.propagation)
    });
    let switches = network.iter_nodes().filter_map(|(id, node)| match &node.kind {
        NodeKind::Switch(switch) => {
            let pcps = (0..8).filter_map(Pcp::new);
            let map: Vec<u8> = pcps.map(|pcp| switch.queues.queue_of(pcp)).collect();
            let is_one = switch.queues.count() == 1 || !switch.selection.uses_queues();
            let queues =
                if is_one { "fcfs".to_owned() } else { format!("{:?} {map:?}", switch.selection) };
            Some((name(id), queues))
        }
        NodeKind::EndStation(_) | NodeKind::Hub(_) => None,
    });
    (flows.collect(), links.collect(), switches.collect())
}

/// Exports a plant, imports what was written, and compares both.
fn round_trip(scenario: &Scenario) {
    let exported = export(scenario, Target::Inet).expect("INET can express it");
    let files = exported.files.iter().map(|(name, text)| File { name, octets: text.as_bytes() });
    let files: Vec<File<'_>> = files.collect();
    let plan = import_all(&files, &Options::new());
    let plan = plan.unwrap_or_else(|error| panic!("{}: {error}", scenario.name));
    let loaded = load("plant.yaml", &plan.scenario);
    let again = loaded.into_scenario().unwrap_or_else(|error| {
        panic!("{}: {error}\n{}", scenario.name, plan.scenario);
    });
    // Names of nodes became identifiers, with the name behind each.
    let ned = file(&exported, "Plant.ned").lines();
    let names = ned.filter_map(|line| {
        let (identifier, rest) = line.trim().split_once(": Tsn")?;
        let (_, name) = rest.split_once("; // ")?;
        Some((identifier, name))
    });
    let names: BTreeMap<&str, &str> = names.collect();
    let plain = |id: NodeId| scenario.network.node(id).name.clone();
    let named = |id: NodeId| names[again.network.node(id).name.as_str()].to_owned();
    assert_eq!(shown(&again, &named), shown(scenario, &plain), "{}", plan.scenario);
    // What the loader warns of is a property of the plant, such as a switch that no flow passes.
    let of_the_file = plan.findings.iter().filter(|own| own.code != Code::Plant);
    assert_eq!(of_the_file.count(), 0, "{:?}", plan.findings);
    assert_eq!(again.run.duration, scenario.run.duration);
}

/// Oracle: the scenario. Of those in the repository, what INET cannot express is left out: answers of
/// all, and flows one by one.
#[test]
fn an_import_of_an_export_is_the_same_plant() {
    let mut count = 0;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    for entry in fs::read_dir(folder).expect("scenarios") {
        let path = entry.expect("an entry").path();
        let text = fs::read_to_string(&path).expect("a scenario");
        let mut scenario = load("x.yaml", &text).into_scenario().expect("a plant");
        scenario.run.duration = Duration::from_ms(1);
        let mut flows = std::mem::take(&mut scenario.flows);
        flows.retain_mut(|flow| {
            flow.reply = None;
            scenario.flows = vec![flow.clone()];
            export(&scenario, Target::Inet).is_ok()
        });
        scenario.flows = flows;
        if !scenario.flows.is_empty() {
            count += 1;
            round_trip(&scenario);
        }
    }
    assert!(count >= 2, "{count}");
    round_trip(&load("line.yaml", PLANT).into_scenario().expect("a plant"));
}

/// Returns a tree of switches with stations and flows.
fn tree(dice: &mut Dice) -> String {
    let switches = dice.index(4) + 1;
    let mut ports = vec![0; switches];
    let mut links = String::new();
    let mut end = |switch: usize| {
        ports[switch] += 1;
        format!("\"s {switch}:{}\"", ports[switch])
    };
    let mut link = |one: String, other: String, dice: &mut Dice| {
        let rate = ["100 Mbit/s", "1 Gbit/s", "2.5 Gbit/s", "10 Gbit/s"][dice.index(4)];
        let wire = ["0 s", "500 ns", "1234567 ps"][dice.index(3)];
        let line = format!("  - {{ ends: [{one}, {other}], rate: {rate}, propagation: {wire} }}\n");
        links.push_str(&line);
    };
    for switch in 1..switches {
        let (one, other) = (end(dice.index(switch)), end(switch));
        link(one, other, dice);
    }
    let stations = dice.index(6) + 2;
    for station in 0..stations {
        let other = end(dice.index(switches));
        link(format!("n-{station}"), other, dice);
    }
    let mut text = "rtether: 1\nname: tree\nnodes:\n".to_owned();
    for station in 0..stations {
        _ = writeln!(text, "  n-{station}: {{ stack: zero }}");
    }
    text += "switches:\n";
    for (switch, ports) in ports.iter().enumerate() {
        let queues = [
            "selection: fcfs",
            "queues: 8",
            "queues: 3, pcp_map: [2, 1, 0, 0, 1, 1, 2, 2]",
            "queues: 2, selection: cbs, idle_slopes: [0 bit/s, 7654321 bit/s]",
            "queues: 2, selection: cbs, idle_slopes: [1 Mbit/s, 2 Mbit/s]",
        ][dice.index(5)];
        _ = writeln!(text, "  s {switch}: {{ ports: {ports}, {queues} }}");
    }
    _ = write!(text, "links:\n{links}flows:\n");
    for flow in 0..=dice.index(8) {
        let from = dice.index(stations);
        let others = (0..stations).filter(|to| *to != from);
        let count = dice.index(3) + 1;
        let to: Vec<String> = others.take(count).map(|to| format!("n-{to}")).collect();
        let times = [
            "period: 20833333333 ps",
            "period: 30 ms, phase: 3 us, start: 2 ms",
            "min_gap: 40 ms",
            "min_gap: 40 ms, mean_gap: 70 ms, start: 1 us",
            "kind: poisson, mean_gap: 30 ms",
        ][dice.index(5)];
        let size = dice.index(4_000) + 1;
        let pcp = match dice.index(9) {
            8 => String::new(),
            pcp => format!(", pcp: {pcp}"),
        };
        let to = to.join(", ");
        _ = writeln!(
            text,
            "  - {{ name: f{flow}, from: n-{from}, to: [{to}], {times}, size: {size} B{pcp} }}"
        );
    }
    text + "run: { for: 100 us }\n"
}

/// Oracle: the plants themselves.
#[test]
fn random_trees_come_back() {
    let mut dice = Dice::new(0x1E7);
    for _ in 0..100 {
        let text = tree(&mut dice);
        let scenario = load("tree.yaml", &text).into_scenario();
        round_trip(&scenario.unwrap_or_else(|error| panic!("{error}\n{text}")));
    }
}
