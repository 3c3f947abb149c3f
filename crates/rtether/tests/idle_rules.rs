//! Rules that are said to meet no frame, against the frames that a simulation counts.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rtether::run::{self, Progress};
use rtether::scenario;
use rtether_testkit::Dice;

/// A random plant as text, and the lines of its rules: switch, port if it is of one, number.
struct Plant {
    text: String,
    rules: BTreeMap<usize, (String, Option<u16>, u16)>,
}

impl Plant {
    fn draw(dice: &mut Dice) -> Self {
        let mut plant = Self { text: "rtether: 1\nnodes:\n".into(), rules: BTreeMap::new() };
        for station in 0..6 {
            writeln!(plant.text, "  s{station}: {{ stack: zero }}").unwrap();
        }
        plant.text += "switches:\n";
        for switch in ["sw1", "sw2"] {
            let addresses = dice.pick(&["static", "static", "learning"]);
            let multicast = dice.pick(&["managed", "managed", "unmanaged"]);
            writeln!(
                plant.text,
                "  {switch}:\n    ports: 4\n    tags: {}\n    default_pcp: {}",
                dice.pick(&["keep", "strip"]),
                dice.pick(&[0, 0, 3])
            )
            .unwrap();
            writeln!(plant.text, "    addresses: {addresses}\n    multicast: {multicast}").unwrap();
            plant.rules_of(dice, switch, None);
            if dice.chance(50) {
                let port = dice.small(1, 4);
                writeln!(plant.text, "    port_settings:\n      {port}:").unwrap();
                plant.rules_of(dice, switch, Some(port));
            }
        }
        plant.text += "links:\n  - { ends: [\"sw1:4\", \"sw2:4\"], rate: 1 Gbit/s }\n";
        for station in 0..6 {
            let (switch, port) = (station / 3 + 1, station % 3 + 1);
            writeln!(
                plant.text,
                "  - {{ ends: [s{station}, \"sw{switch}:{port}\"], rate: 100 Mbit/s }}"
            )
            .unwrap();
        }
        plant.text += "flows:\n";
        for number in 0..dice.between(1, 6) {
            plant.flow(dice, number);
        }
        plant.text += "run: { for: 50 ms }\n";
        plant
    }

    fn rules_of(&mut self, dice: &mut Dice, switch: &str, port: Option<u16>) {
        let indent = if port.is_some() { "        " } else { "    " };
        writeln!(self.text, "{indent}ingress:").unwrap();
        for number in 0..dice.small(1, 4) {
            let mut keys = Vec::new();
            for _ in 0..dice.between(0, 2) {
                let key = match dice.between(0, 6) {
                    0 => format!("from: s{}", dice.between(0, 5)),
                    1 => format!("to: s{}", dice.between(0, 5)),
                    2 => format!("pcp: {}", dice.pick(&[0, 3, 5])),
                    3 => format!("dscp: {}", dice.pick(&[0, 46])),
                    4 => format!("protocol: {}", dice.pick(&["udp", "tcp", "icmp"])),
                    5 => format!("port: {}", dice.pick(&["5000", "5000-6000", "49152-49160"])),
                    _ => format!("source_port: {}", dice.pick(&["5000", "49152-49160"])),
                };
                let name = key.split(':').next().unwrap_or_default().to_owned();
                if !keys.iter().any(|(known, _)| *known == name) {
                    keys.push((name, key));
                }
            }
            if keys.is_empty() || dice.chance(60) {
                keys.push(("mark".into(), format!("mark: {}", dice.pick(&[0, 5]))));
            }
            let line = self.text.lines().count();
            self.rules.insert(line, (switch.into(), port, number));
            let keys: Vec<String> = keys.into_iter().map(|(_, key)| key).collect();
            writeln!(self.text, "{indent}  - {{ {} }}", keys.join(", ")).unwrap();
        }
    }

    fn flow(&mut self, dice: &mut Dice, number: u64) {
        let from = dice.between(0, 5);
        let to = (from + dice.between(1, 5)) % 6;
        let over = dice.pick(&["udp", "udp", "tcp", "raw", "icmp", "goose"]);
        let mut more = String::new();
        if matches!(over, "udp" | "tcp") {
            for key in ["port", "source_port"] {
                if dice.chance(40) {
                    write!(more, ", {key}: {}", dice.pick(&[5000, 6000])).unwrap();
                }
            }
        }
        if matches!(over, "udp" | "tcp" | "icmp") && dice.chance(40) {
            write!(more, ", dscp: {}", dice.pick(&[46, 10])).unwrap();
        }
        if dice.chance(40) {
            write!(more, ", pcp: {}", dice.pick(&[0, 3, 5])).unwrap();
        }
        if matches!(over, "udp" | "tcp" | "icmp") && dice.chance(30) {
            more += ", reply: { size: 60 B }";
        }
        let size = if over == "udp" { dice.pick(&[60, 4000]) } else { 60 };
        writeln!(
            self.text,
            "  - {{ name: f{number}, from: s{from}, to: s{to}, over: {over}, period: 5 ms, size: {size} B{more} }}"
        )
        .unwrap();
    }
}

/// Oracle: the counters of the rules in a simulation of the same plant. A rule of which a warning says
/// that it meets no frame has decided on none; and of the rules that have decided on none, nearly all
/// are warned of. The rest is what a run does not show: frames that a switch would flood.
#[test]
fn a_rule_that_is_said_to_be_idle_meets_no_frame() {
    let plants = if std::env::var_os("RTETHER_NIGHTLY").is_some() { 2_000 } else { 200 };
    let (mut warned, mut unsaid, mut met) = (0, 0, 0);
    for seed in 0..plants {
        let plant = Plant::draw(&mut Dice::new(seed));
        let loaded = scenario::load("plant.yaml", &plant.text);
        let line_of = |start: u32| plant.text[..start as usize].lines().count().saturating_sub(1);
        let idle: Vec<usize> = loaded
            .diagnostics
            .iter()
            .filter(|one| one.code == "idle-rule")
            .map(|one| line_of(one.primary.span.start))
            .collect();
        let words = || format!("plant {seed}:\n{}", plant.text);
        let scenario = loaded.into_scenario().unwrap_or_else(|all| panic!("{all}\n{}", words()));
        let results = run::simulate(&scenario, &Progress::default()).unwrap();
        let nodes = &results.record.nodes;
        for (line, (switch, port, number)) in &plant.rules {
            let node = scenario.network.nodes.iter().position(|node| node.name == *switch);
            let counts = nodes[node.unwrap()].ingress.iter();
            let own_port =
                plant.rules.values().find_map(|(of, port, _)| port.filter(|_| of == switch));
            let matched: u64 = counts
                .filter(|one| one.rule == *number)
                .filter(|one| match port {
                    Some(port) => one.port + 1 == *port,
                    None => Some(one.port + 1) != own_port,
                })
                .map(|one| one.counts.matched)
                .sum();
            match (idle.contains(line), matched) {
                (true, 0) => warned += 1,
                (true, _) => {
                    panic!("the rule of line {} has met {matched} frames; {}", line + 1, words())
                }
                (false, 0) => unsaid += 1,
                (false, _) => met += 1,
            }
        }
    }
    println!("{warned} rules warned of, {unsaid} idle without a word, {met} met");
    assert!(met > 100 && warned > 4 * unsaid, "{warned} warned of, {unsaid} unsaid, {met} met");
}
