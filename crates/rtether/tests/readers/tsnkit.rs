//! Schedules of tsnkit, replayed. Oracle: arithmetic on the plant.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use rtether::export::{Choice, Target, export};
use rtether::scenario::{Scenario, load};
use rtether_model::flow::{Flow, Traffic};
use rtether_model::network::{Link, NodeKind};
use rtether_model::quantity::Duration;
use rtether_model::wire::{Frames, GAP, TAG, wire_time};
use rtether_testkit::{Dice, Folder};

use super::{PLANTS, python, run};

/// Draws a tree of switches with stations and periodic flows, in which links have their length and
/// switches their latency.
pub(super) fn draw(number: u64) -> String {
    let mut dice = Dice::new(number ^ 0x7541);
    let switches = 1 + dice.index(4);
    let stations = 3 + dice.index(5);
    let mut text = String::from("rtether: 1\nname: drawn\nnodes:\n");
    for station in 0..stations {
        writeln!(text, "  n{station}: {{ stack: zero }}").unwrap();
    }
    text.push_str("switches:\n");
    for switch in 0..switches {
        let latency = dice.between(500, 9_000);
        writeln!(text, "  s{switch}: {{ ports: 16, latency: {latency} ns, queues: 8 }}").unwrap();
    }
    text.push_str("links:\n");
    let mut ports = vec![0; switches];
    let mut port = |switch: usize| {
        ports[switch] += 1;
        format!("\"s{switch}:{}\"", ports[switch])
    };
    for switch in 1..switches {
        let (own, other) = (port(switch), port(dice.index(switch)));
        let wire = dice.between(0, 2_000);
        let end = format!("rate: 1 Gbit/s, propagation: {wire} ns");
        writeln!(text, "  - {{ ends: [{own}, {other}], {end} }}").unwrap();
    }
    for station in 0..stations {
        let end = port(dice.index(switches));
        let wire = dice.between(0, 500);
        let end = format!("ends: [n{station}, {end}], rate: 1 Gbit/s, propagation: {wire} ns");
        writeln!(text, "  - {{ {end} }}").unwrap();
    }
    text.push_str("flows:\n");
    for flow in 0..2 + dice.index(6) {
        let from = dice.index(stations);
        let to = (from + 1 + dice.index(stations - 1)) % stations;
        let period = dice.pick(&[250, 500, 1_000]);
        let size = dice.between(1, 1_400);
        let tag = dice.pick(&["", ", pcp: 5"]);
        writeln!(
            text,
            "  - {{ name: f{flow}, from: n{from}, to: n{to}, period: {period} us, size: {size} B, \
             deadline: {period} us{tag} }}"
        )
        .unwrap();
    }
    text + "run: { for: 10 ms }\n"
}

/// Reads a file that tsnkit wrote, without its first line: fields, of which `(1, 2)` is one.
fn rows(path: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).expect("a file of tsnkit");
    let rows = text.lines().skip(1).map(|line| {
        let mut is_quoted = false;
        let fields = line.split(|sign| {
            is_quoted ^= sign == '"';
            sign == ',' && !is_quoted
        });
        let fields = fields.map(|field| field.trim_matches('"').to_owned());
        fields.collect()
    });
    rows.collect()
}

fn link_at<'a>(scenario: &'a Scenario, name: &str) -> (&'a Link, usize) {
    let ends: Vec<u32> =
        name.trim_matches(['(', ')']).split(", ").map(|end| end.parse().unwrap()).collect();
    let mut links = scenario.network.links.iter();
    let found = links.find_map(|link| {
        let [one, other] = link.ends.map(|end| end.node.0);
        match (ends[0], ends[1]) {
            pair if pair == (one, other) => Some((link, 1)),
            pair if pair == (other, one) => Some((link, 0)),
            _ => None,
        }
    });
    found.expect("a link of the plant")
}

/// Returns when the last bit of a frame has come over a link, and the switch behind it is done.
fn behind(scenario: &Scenario, flow: &Flow, (link, far): (&Link, usize)) -> Duration {
    let frame = Frames::of_packet(flow.payload, flow.encapsulation).last;
    let frame = frame + flow.tag.map_or(rtether_model::quantity::Bytes::ZERO, |_| TAG);
    let latency = match &scenario.network.node(link.ends[far].node).kind {
        NodeKind::Switch(switch) => switch.latency,
        NodeKind::EndStation(_) | NodeKind::Hub(_) => Duration::ZERO,
    };
    wire_time(frame, link.rate) + link.propagation + latency
}

/// Replays a schedule with the true times of frames, and returns how many hops begin before their
/// frame is there, or end after their window. Oracle: arithmetic on the plant, not on what was written.
fn late_hops(scenario: &Scenario, folder: &Path) -> (usize, usize) {
    let ns = |text: &str| Duration::from_ns(text.parse().unwrap());
    let mut windows: BTreeMap<String, Vec<[Duration; 2]>> = BTreeMap::new();
    for row in rows(&folder.join("x-GCL.csv")) {
        let window = [ns(&row[2]), ns(&row[3])];
        windows.entry(row[0].clone()).or_default().push(window);
    }
    let mut routes: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for row in rows(&folder.join("x-ROUTE.csv")) {
        let route = routes.entry(row[0].parse().unwrap()).or_default();
        route.push(row[1].clone());
    }
    let (mut hops, mut late) = (0, 0);
    for row in rows(&folder.join("x-OFFSET.csv")) {
        let number: usize = row[0].parse().unwrap();
        let flow = &scenario.flows[number];
        assert!(matches!(flow.traffic, Traffic::Periodic { .. }));
        let (mut there, mut slack) = (ns(&row[2]), ROUNDED);
        for name in &routes[&number] {
            let link = link_at(scenario, name);
            let own = windows[name].iter().filter(|[start, _]| *start >= there);
            // The window of this frame is the first that begins when it is there; it must be its own,
            // which the schedule puts at once behind.
            let next = own.min().copied();
            let sent =
                wire_time(Frames::of_packet(flow.payload, flow.encapsulation).last, link.0.rate);
            hops += 1;
            match next {
                Some([start, end]) if end - start >= sent && start - there < slack => {
                    there = start + behind(scenario, flow, link);
                    slack = ROUNDED + link.0.rate.time_ceil(GAP);
                }
                Some(_) | None => {
                    late += 1;
                    break;
                }
            }
        }
    }
    (hops, late)
}

/// Most that tsnkit's rounding adds to a hop: sizes of whole 100 octets at 1 Gbit/s, slots of 100 ns, and
/// as much for the latency. It sends on when the gap behind a frame has passed, too.
const ROUNDED: Duration = Duration::from_ns(1_000);

/// Lets tsnkit schedule a plant and replays the schedule; `None` if it finds none.
fn replayed(python: &Path, plant: &Scenario) -> Option<(usize, usize)> {
    let folder = Folder::new("tsnkit");
    let exported = export(plant, Target::Tsnkit).expect("tsnkit can express it");
    for (name, text) in &exported.files {
        folder.write(name, text);
    }
    let files = ["task.csv", "topo.csv"].map(|name| folder.file(name));
    let said = run(Command::new(python).args(["-m", "tsnkit.algorithms.ls"]).args(files).args([
        &folder.file(""),
        "1",
        "x",
    ]));
    assert!(!said.contains("error"), "{said}");
    said.contains("succ").then(|| late_hops(plant, folder.path()))
}

/// Draws plants with links of this rate, of which tsnkit must schedule some, all in time; returns
/// how many, and their transmissions.
fn all_in_time(python: &Path, rate: &str, least: usize) -> (usize, usize) {
    let (mut scheduled, mut hops) = (0, 0);
    for number in 0..PLANTS {
        let text = draw(number).replace("rate: 1 Gbit/s", &format!("rate: {rate}"));
        let plant = load("drawn.yaml", &text).into_scenario();
        let plant = plant.unwrap_or_else(|words| panic!("{words}\n{text}"));
        if let Some((own, late)) = replayed(python, &plant) {
            scheduled += 1;
            hops += own;
            assert_eq!(late, 0, "plant {number}: {own} hops, {late} late\n{text}");
        }
    }
    assert!(scheduled >= least, "{scheduled} scheduled");
    (scheduled, hops)
}

#[test]
#[ignore = "long"]
fn schedules_of_tsnkit_hold_for_true_frames() {
    let Some(python) = python("readers") else {
        return;
    };
    // tsnkit knows no 100 Mbit/s: it gets rates and sizes that are ten times as large.
    for (rate, least) in [("1 Gbit/s", 16), ("100 Mbit/s", 8)] {
        let (scheduled, hops) = all_in_time(&python, rate, least);
        println!("{rate}: {scheduled} of {PLANTS} plants scheduled, {hops} hops, none late");
    }
}

#[test]
#[ignore = "long"]
fn the_substation_is_scheduled_in_time() {
    let Some(python) = python("readers") else {
        return;
    };
    let choice = Choice {
        without_stacks: true,
        // Bulk has no period, and ten exchanges a second a schedule of 100 ms.
        without_flows: vec!["file *".to_owned(), "*exchange*".to_owned()],
    };
    let text = include_str!("../../../../scenarios/substation.yaml");
    let plant = load("substation.yaml", text).into_scenario().unwrap();
    let (plant, _) = choice.part_of(&plant).unwrap();
    let (hops, late) = replayed(&python, &plant).expect("a schedule");
    println!("{} flows, {hops} hops", plant.flows.len());
    assert!(hops > plant.flows.len());
    assert_eq!(late, 0);
}
