//! Plants for other tools. Oracle: the formats as the tools read them, and numbers worked out by hand.
//! The guide has the bounds that Saihu's tools compute of such a file beside ours.

use std::collections::BTreeSet;
use std::path::Path;

use rtether::export::{Choice, Exported, Reasons, Target, export, export_part, whole};
use rtether::import::{File, Options, import_all};
use rtether::scenario::{Override, Scenario, Written, load, load_with};
use rtether_model::flow::{Flow, Traffic};
use rtether_model::network::NodeId;
use serde_json::Value;

const LINE: &str = "rtether: 1
name: line
nodes: { a: { stack: zero }, b: { stack: zero }, c: { stack: zero } }
switches:
  s1: { ports: 3, latency: 5 us, selection: fcfs }
  s2: { ports: 3, latency: 5 us, selection: fcfs }
links:
  - { ends: [a, \"s1:1\"], rate: 100 Mbit/s }
  - { ends: [\"s1:2\", \"s2:1\"], rate: 100 Mbit/s, propagation: 500 ns }
  - { ends: [b, \"s2:2\"], rate: 10 Mbit/s }
  - { ends: [c, \"s2:3\"], rate: 100 Mbit/s }
flows:
  - { name: f, from: a, to: b, period: 1 ms, jitter: 250 us, size: 200 B, over: raw, deadline: 1 ms }
  - { name: g, from: a, to: [b, c], over: raw, delivery: multicast, min_gap: 4 ms, burst: 2, size: 1000 B, pcp: 0, vlan: 7 }
";

fn exported(text: &str) -> Result<Exported, Reasons> {
    let scenario = load("line.yaml", text).into_scenario().expect("a plant");
    export(&scenario, Target::Saihu)
}

fn document(exported: &Exported, file: &str) -> Value {
    let found = exported.files.iter().find(|(name, _)| name == file);
    serde_json::from_str(&found.expect("a file").1).expect("JSON")
}

/// Oracle: by hand. A frame of f has 200 + 18 octets and 20 of preamble and gap, of g 1000 + 18 + 4
/// (tag) + 20; f may come a quarter of a period late; two of g in 4 ms.
#[test]
fn flows_and_ports_have_the_curves_of_the_plant() {
    let exported = exported(LINE).expect("Saihu can express it");
    let packets = document(&exported, "packets.json");
    let flow = &packets["flows"][0];
    assert_eq!(flow["name"], "f > b");
    assert_eq!(flow["path"], serde_json::json!(["a-o1", "s1-o2", "s2-o2"]));
    assert_eq!(flow["arrival_curve"]["bursts"][0], 238 + 60);
    assert_eq!(flow["arrival_curve"]["rates"][0], 238 * 8 * 1000);
    assert_eq!(flow["max_packet_length"], 238);
    let group = &packets["flows"][1];
    assert_eq!(group["arrival_curve"]["bursts"][0], 2 * 1042);
    assert_eq!(group["arrival_curve"]["rates"][0], 2 * 1042 * 8 * 250);
    let branch = serde_json::json!([{ "name": "c", "path": ["a-o1", "s1-o2", "s2-o3"] }]);
    assert_eq!(group["multicast"], branch);
    let server = |document: &Value, name: &str| -> (f64, u64, u64) {
        let servers = document["servers"].as_array().expect("a list").iter();
        let mut found = servers.filter(|server| server["name"] == name);
        let server = found.next().expect("the port");
        (
            server["service_curve"]["latencies"][0].as_f64().expect("a number"),
            server["service_curve"]["rates"][0].as_u64().expect("a number"),
            server["capacity"].as_u64().expect("a number"),
        )
    };
    // Wire and switch behind; nothing at the last port, but for what Saihu needs.
    assert_eq!(server(&packets, "a-o1"), (5_000.0, 100_000_000, 100_000_000));
    assert_eq!(server(&packets, "s1-o2"), (5_500.0, 100_000_000, 100_000_000));
    assert_eq!(server(&packets, "s2-o2"), (0.001, 10_000_000, 10_000_000));
    // A frame of 1042 octets takes 83.36 us.
    let fluid = document(&exported, "fluid.json");
    assert_eq!(server(&fluid, "s1-o2"), (88_860.0, 100_000_000, 100_000_000_000));
    assert_eq!(server(&fluid, "s2-o2"), (0.001, 10_000_000, 10_000_000_000));
    assert_eq!(fluid["flows"].as_array().map(Vec::len), Some(3));
    assert_eq!(packets["network"]["packetizer"], true);
    assert_eq!(fluid["network"]["packetizer"], false);
}

/// Oracle: what Saihu's reader asserts (`OutputPortNet`): names given once, ways of known ports, none
/// twice, positive rates and latencies.
fn is_readable(document: &Value) {
    let list = |key: &str| document[key].as_array().expect("a list").clone();
    let names = |key: &str| -> BTreeSet<String> {
        let all = list(key);
        let names = all.iter().map(|own| own["name"].as_str().expect("a name").to_owned());
        let names: BTreeSet<String> = names.collect();
        assert_eq!(names.len(), all.len(), "{key} have different names");
        names
    };
    let ports = names("servers");
    names("flows");
    for server in list("servers") {
        for number in [
            &server["service_curve"]["latencies"][0],
            &server["service_curve"]["rates"][0],
            &server["capacity"],
        ] {
            assert!(number.as_f64().is_some_and(|number| number > 0.0), "{server}");
        }
    }
    for flow in list("flows") {
        let others = flow["multicast"].as_array().cloned().unwrap_or_default();
        let others = others.iter().map(|own| own["path"].clone());
        for path in [flow["path"].clone()].into_iter().chain(others) {
            let path = path.as_array().expect("a list").clone();
            let known: BTreeSet<&str> = path.iter().filter_map(Value::as_str).collect();
            assert_eq!(known.len(), path.len(), "{flow}");
            assert!(known.iter().all(|port| ports.contains(*port)), "{flow}");
        }
        for number in ["bursts", "rates"].map(|key| flow["arrival_curve"][key][0].as_u64()) {
            assert!(number.is_some_and(|number| number > 0), "{flow}");
        }
    }
}

#[test]
fn every_scenario_is_exported_or_refused_with_reasons() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let (mut written, mut refused) = (0, 0);
    for entry in std::fs::read_dir(folder).expect("the folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a file");
        let scenario = load("plant.yaml", &text).into_scenario().expect("a plant");
        match export(&scenario, Target::Saihu) {
            Ok(exported) => {
                written += 1;
                is_readable(&document(&exported, "packets.json"));
                is_readable(&document(&exported, "fluid.json"));
            }
            Err(reasons) => {
                refused += 1;
                assert!(!reasons.0.is_empty(), "{}", path.display());
                assert!(reasons.0.iter().all(|reason| reason.starts_with('`')), "{reasons}");
            }
        }
    }
    assert!(refused > 10, "{written} written, {refused} refused");
}

/// Oracle: the scenario. Every tool takes the substation without its stacks and files, and is told all
/// other flows; what is left out is said first.
#[test]
fn the_substation_goes_to_every_tool_without_its_stacks() {
    let text = include_str!("../../../scenarios/substation.yaml");
    let plant = load("substation.yaml", text).into_scenario().expect("a plant");
    let choice = Choice { without_stacks: true, without_flows: vec!["file *".to_owned()] };
    let is_file = |flow: &&Flow| matches!(flow.traffic, Traffic::Bulk(_));
    let files = plant.flows.iter().filter(is_file).count();
    let (part, _) = choice.part_of(&plant).expect("a part");
    assert_eq!(part.flows.len(), plant.flows.len() - files);
    assert!(files > 0);
    for (target, name, _) in Target::ALL {
        let exported = export_part(&plant, &choice, target);
        let exported = exported.unwrap_or_else(|reasons| panic!("{name}: {reasons}"));
        assert!(
            exported.notes[0].contains(&format!("{} more: left out", files - 3)),
            "{:?}",
            exported.notes
        );
        assert!(exported.notes[1].contains("what takes time between"), "{:?}", exported.notes);
        let told = exported.files.iter().map(|(file, text)| match file.as_str() {
            "packets.json" => document(&exported, file)["flows"].as_array().expect("a list").len(),
            "task.csv" => text.lines().count() - 1,
            "omnetpp.ini" => text.matches(".source.productionInterval").count(),
            _ => 0,
        });
        let told: usize = told.sum();
        assert!(told == part.flows.len() || target == Target::Tc, "{name}: {told}");
    }
    let wrong = Choice { without_flows: vec!["nobody".to_owned()], ..Choice::default() };
    let reasons = export_part(&plant, &wrong, Target::Inet).expect_err("a wrong name");
    assert_eq!(reasons.0, ["no flow has the name or class `nobody`"]);
}

/// Oracle: arithmetic. A frame takes as long as in the plant: ten times the octets at ten times the rate.
#[test]
fn slow_links_are_told_to_tsnkit_in_larger_units() {
    for (rates, unit) in [
        (["1 Gbit/s", "10 Gbit/s"], 1),
        (["100 Mbit/s", "1 Gbit/s"], 10),
        (["10 Mbit/s", "1 Gbit/s"], 100),
    ] {
        let text =
            GIGABIT.replace("rate: 1 Gbit/s", "rate: A").replace("rate: 10 Gbit/s", "rate: B");
        let text = text.replace("rate: A", &format!("rate: {}", rates[0]));
        let text = text.replace("rate: B", &format!("rate: {}", rates[1]));
        let plant = load("ring.yaml", &text).into_scenario().expect("a plant");
        let exported = export(&plant, Target::Tsnkit).expect("tsnkit can express it");
        let rows: Vec<&str> = exported.files[0].1.lines().skip(1).collect();
        let size: u64 = rows[0].split(',').nth(3).expect("a size").parse().expect("a number");
        assert_eq!(size, 270 * unit);
        let rates: Vec<u64> = exported.files[1]
            .1
            .lines()
            .skip(1)
            .map(|row| row.split(',').nth(3).expect("a rate").parse().expect("a number"))
            .collect();
        let links = plant.network.links.iter().flat_map(|link| [link.rate.as_bps(); 2]);
        assert_eq!(rates, links.map(|rate| rate * unit / 1_000_000_000).collect::<Vec<_>>());
        assert_eq!(exported.notes[0].contains("times as large"), unit > 1);
    }
}

/// Oracle: by hand; each change gives the plant something that Saihu does not know.
#[test]
fn what_saihu_does_not_know_is_refused() {
    for (path, value, reason) in [
        ("nodes.a.stack", "{ service: 10 us }", "`a`: Saihu knows no stacks"),
        ("switches.s1.mode", "cut-through", "`s1`: only switches that store and forward"),
        ("flows.f.reply", "{ size: 60 B }", "`f`: when answers are sent depends on delays"),
        ("flows.f.kind", "poisson", "`f`: nothing limits what they release"),
    ] {
        let mut text = LINE.to_owned();
        if path == "flows.f.kind" {
            text = text.replace("period: 1 ms, jitter: 250 us", "kind: poisson, mean_gap: 1 ms");
        }
        let change = Override::new("--set", path, value);
        let loaded = load_with("line.yaml", &text, &[change]).into_scenario();
        let scenario = loaded.expect("a plant");
        let reasons = export(&scenario, Target::Saihu).expect_err("refused");
        assert!(reasons.0[0].starts_with(reason), "{reasons}");
    }
    let text = LINE.replace("selection: fcfs", "queues: 8").replace("pcp: 0", "pcp: 4");
    let reasons = exported(&text).expect_err("refused");
    assert!(reasons.0[0].starts_with("`s1`, `s2`: ports with several priorities"), "{reasons}");
}

const GIGABIT: &str = "rtether: 1
name: ring
nodes: { a: { stack: { service: 10 us } }, b: { stack: zero }, c: { stack: zero } }
switches:
  s1: { ports: 3, latency: 5 us, queues: 8 }
  s2: { ports: 3, latency: 7 us, queues: 4 }
links:
  - { ends: [a, \"s1:1\"], rate: 1 Gbit/s }
  - { ends: [\"s1:2\", \"s2:1\"], rate: 10 Gbit/s, propagation: 500 ns }
  - { ends: [b, \"s2:2\"], rate: 1 Gbit/s }
  - { ends: [c, \"s2:3\"], rate: 1 Gbit/s }
flows:
  - { name: f, from: a, to: b, period: 1 ms, jitter: 10 us, size: 200 B, deadline: 500 us, pcp: 6 }
  - { name: g, from: b, to: [a, c], over: raw, delivery: multicast, period: 2 ms, size: 1000 B }
";

/// Returns the number of a node in the plant; in what was imported that is its name.
fn number(plant: &Scenario, scenario: &Scenario, node: NodeId) -> String {
    let name = &scenario.network.node(node).name;
    let mut nodes = plant.network.nodes.iter();
    let number = nodes.position(|own| own.name == *name);
    number.map_or_else(|| name.clone(), |number| number.to_string())
}

/// Returns what a list says of flows.
fn flows(plant: &Scenario, scenario: &Scenario) -> Vec<String> {
    let flows = scenario.flows.iter().map(|flow| {
        let to = flow.listeners.iter();
        let to: Vec<String> = to.map(|to| number(plant, scenario, *to)).collect();
        let from = number(plant, scenario, flow.talker);
        let Traffic::Periodic { period, .. } = flow.traffic else { panic!("{flow:?}") };
        // Without a deadline, that of a list is the period.
        let deadline = flow.deadline.unwrap_or(period);
        format!("{from} {to:?} {period} {deadline}")
    });
    flows.collect()
}

/// Returns what a list says of links.
fn links(plant: &Scenario, scenario: &Scenario) -> Vec<String> {
    let links = scenario.network.links.iter().map(|link| {
        let mut ends = [0, 1].map(|end: usize| number(plant, scenario, link.ends[end].node));
        ends.sort();
        format!("{ends:?} {}", link.rate)
    });
    let mut links: Vec<String> = links.collect();
    links.sort();
    links
}

/// Oracle: by hand, from what tsnkit 0.3.0 does with each number. A frame of f has 200 octets, 28 of UDP
/// and IP, 18 of Ethernet, 4 of the tag, 20 of preamble and gap; one of g 1000 and 38. A frame waits
/// behind a link for the latency of the switch that the link enters, and for the wire.
#[test]
fn tsnkit_gets_the_true_times() {
    let plant = load("ring.yaml", GIGABIT).into_scenario().expect("a plant");
    let exported = export(&plant, Target::Tsnkit).expect("tsnkit can express it");
    let file = |name: &str| {
        let found = exported.files.iter().find(|(own, _)| own == name);
        &found.expect("a file").1
    };
    assert_eq!(
        file("task.csv"),
        "stream,src,dst,size,period,deadline,jitter\n\
         0,0,\"[1]\",270,1000000,500000,1000000\n\
         1,1,\"[0]\",1038,2000000,2000000,2000000\n\
         2,1,\"[2]\",1038,2000000,2000000,2000000\n"
    );
    assert_eq!(
        file("topo.csv"),
        "link,q_num,rate,t_proc,t_prop\n\
         \"(0, 3)\",8,1,5000,0\n\"(3, 0)\",8,1,0,0\n\
         \"(3, 4)\",8,10,7500,0\n\"(4, 3)\",4,10,5500,0\n\
         \"(1, 4)\",8,1,7000,0\n\"(4, 1)\",4,1,0,0\n\
         \"(2, 4)\",8,1,7000,0\n\"(4, 2)\",4,1,0,0\n"
    );
    assert!(file("nodes.csv").starts_with("node,name\n0,\"a\"\n"));
    assert_eq!(exported.notes.len(), 5, "{:?}", exported.notes);
}

/// Oracle: what was exported first. Sizes have headers, preamble and gap, which an import takes for
/// octets of the message; the rest comes back.
#[test]
fn an_import_of_what_tsnkit_gets_is_the_same_plant() {
    let text = GIGABIT.replace("to: [a, c], over: raw, delivery: multicast", "to: c");
    let text = text.replace(", propagation: 500 ns", "");
    let plant = load("ring.yaml", &text).into_scenario().expect("a plant");
    let exported = export(&plant, Target::Tsnkit).expect("tsnkit can express it");
    let files = exported.files.iter().take(2);
    let files: Vec<File<'_>> =
        files.map(|(name, text)| File { name, octets: text.as_bytes() }).collect();
    let plan = import_all(&files, &Options::new()).expect("a plan");
    let back = load("back.yaml", &plan.scenario);
    let back = back.into_scenario().expect("a plant");
    assert_eq!(flows(&plant, &plant), flows(&plant, &back));
    assert_eq!(links(&plant, &plant), links(&plant, &back));
    for node in plant.network.nodes.iter().skip(3) {
        let latency = |scenario: &Scenario, name: &str| {
            let mut nodes = scenario.network.iter_nodes();
            let (id, _) = nodes.find(|(_, node)| node.name == name).expect("a node");
            scenario.network.switch(id).expect("a switch").latency
        };
        let number = number(&plant, &plant, plant.network.find(&node.name).expect("it"));
        assert_eq!(latency(&plant, &node.name), latency(&back, &number));
    }
}

#[test]
fn what_tsnkit_does_not_know_is_refused() {
    // By hand: more than a burst in 4 ms; a datagram of several frames.
    let plant = load("line.yaml", LINE).into_scenario().expect("a plant");
    let reasons = export(&plant, Target::Tsnkit).expect_err("refused");
    assert!(reasons.0[0].starts_with("`g`: tsnkit knows periods"), "{reasons}");
    let text = GIGABIT.replace("size: 200 B", "size: 2000 B");
    let plant = load("ring.yaml", &text).into_scenario().expect("a plant");
    let reasons = export(&plant, Target::Tsnkit).expect_err("refused");
    assert_eq!(reasons.0, ["`f`: tsnkit knows messages of one frame"]);
    // Oracle: the reader of tsnkit 0.3.0. A rate that it refuses, a period between its slots, and a node
    // without a link.
    for (from, to, reason) in [
        ("10 Gbit/s", "25 Gbit/s", "`s1 - s2`: tsnkit knows 1, 10, "),
        ("period: 1 ms", "period: 1000050 ns", "`f`: tsnkit knows periods of whole 100 ns"),
        (
            "ports: 3, latency: 7 us",
            "ports: 4, latency: 7 us",
            "`d`: tsnkit knows nodes by their links",
        ),
    ] {
        let text = GIGABIT.replace(from, to);
        let text = if to.starts_with("ports") {
            text.replace("b: { stack: zero }", "b: { stack: zero }, d: { stack: zero }")
        } else {
            text
        };
        let plant = load("ring.yaml", &text).into_scenario().expect("a plant");
        let reasons = export(&plant, Target::Tsnkit).expect_err("refused");
        assert!(reasons.0[0].starts_with(reason), "{reasons}");
    }
}

/// Oracle: the reader of tsnkit 0.3.0 refuses a deadline above the period.
#[test]
fn a_deadline_above_the_period_is_the_period_for_tsnkit() {
    let text = GIGABIT.replace("deadline: 500 us", "deadline: 3 ms");
    let plant = load("ring.yaml", &text).into_scenario().expect("a plant");
    let exported = export(&plant, Target::Tsnkit).expect("tsnkit can express it");
    assert!(exported.files[0].1.contains("0,0,\"[1]\",270,1000000,1000000,"));
    assert!(exported.notes[0].starts_with("`f`: tsnkit takes no deadline above"));
}

/// Oracle: what was exported first. Names of flows get their listener, and nothing else changes.
#[test]
fn an_import_of_what_saihu_reads_is_the_same_network() {
    let first = exported(LINE).expect("Saihu can express it");
    let found = first.files.iter().find(|(name, _)| name == "packets.json");
    let octets = found.expect("the file").1.as_bytes();
    let file = File { name: "line.json", octets };
    let plan = import_all(&[file], &Options::new()).expect("a plan");
    let second = exported(&plan.scenario).expect("Saihu can express it");
    let [one, other] = [&first, &second].map(|own| document(own, "packets.json"));
    let servers = |document: &Value| -> BTreeSet<String> {
        let servers = document["servers"].as_array().expect("a list").iter();
        servers.map(Value::to_string).collect()
    };
    assert_eq!(servers(&one), servers(&other), "{}", plan.scenario);
    let flows = |document: &Value| -> Vec<Value> {
        let flows = document["flows"].as_array().expect("a list").iter();
        let parts = flows.map(|flow| {
            let parts = ["path", "arrival_curve", "max_packet_length", "multicast"];
            parts.iter().map(|part| flow[*part].clone()).collect()
        });
        parts.collect()
    };
    assert_eq!(flows(&one), flows(&other), "{}", plan.scenario);
}

/// Oracle: the scenario of the file, value for value, which is all that the engines see.
#[test]
fn every_scenario_is_written_out_as_the_same_plant() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|own| own != "yaml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let written = Written { name: name.to_owned(), ..Written::from(text) };
        let scenario = written.load().into_scenario().expect("a scenario");
        let exported = whole(&scenario, &written, &Choice::default()).expect("one file");
        let [(file, text)] = &exported.files[..] else { panic!("{:?}", exported.files) };
        let again = load(file, text).into_scenario().expect("a scenario");
        assert!(again == scenario, "{name} is another plant");
        count += 1;
    }
    assert!(count > 10, "{count} scenarios");
    let choice = Choice { without_stacks: true, ..Choice::default() };
    let written = Written::from(LINE.to_owned());
    let scenario = load("line.yaml", LINE).into_scenario().expect("a plant");
    assert!(whole(&scenario, &written, &choice).is_err(), "the whole plant has stacks");
}
