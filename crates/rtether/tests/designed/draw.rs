//! Random plants for designs, as files: their deadlines are near to what some design proves.

use std::fmt::Write as _;

use rtether::bound;
use rtether_model::quantity::Duration;
use rtether_testkit::Dice;

use super::scenario;

/// Priorities of the four queues of a switch, from the lowest (IEEE 802.1D-2004, table 7-2).
pub(super) const LEVELS: [u8; 4] = [1, 0, 5, 7];

/// Returns a plant of this many flows over one switch, or two in a row.
pub(super) fn plant(seed: u64, flows: usize, allow: &str) -> String {
    let mut dice = Dice::new(seed);
    let nodes = dice.index(3) + 3;
    let has_layers = allow.contains("layers");
    let mut head = format!("rtether: 1\ndesign: {{ allow: {allow} }}\nnodes:  # of the plant\n");
    for node in 0..nodes {
        let stack = if has_layers {
            let cost = dice.between(5, 60);
            format!("{{ send: {cost} us, receive: {cost} us }}")
        } else {
            "zero".to_owned()
        };
        writeln!(head, "  n{node}: {{ stack: {stack} }}").unwrap();
    }
    let queues = if allow.contains("queues") { 1 } else { 4 };
    let is_long = dice.chance(50);
    head.push_str("switches:\n");
    for switch in 0..=u8::from(is_long) {
        writeln!(head, "  sw{switch}: {{ ports: 8, queues: {queues} }}  # a switch").unwrap();
    }
    head.push_str("links:\n");
    if is_long {
        head.push_str("  - { ends: [\"sw0:8\", \"sw1:8\"], rate: 10 Mbit/s }\n");
    }
    for node in 0..nodes {
        let switch = if is_long { node % 2 } else { 0 };
        let port = node + 1;
        writeln!(head, "  - {{ ends: [n{node}, \"sw{switch}:{port}\"], rate: 10 Mbit/s }}")
            .unwrap();
    }
    head.push_str("flows:\n");
    let drawn: Vec<String> = (0..flows).map(|number| flow(number, nodes, &mut dice)).collect();
    let run = "run: { for: 1 s }\n";
    let written: Vec<u8> = (0..flows).map(|_| dice.pick(&LEVELS)).collect();
    // What another order proves is nearly what is asked for.
    let goal: String = drawn.iter().map(|flow| line(flow, dice.pick(&LEVELS), None)).collect();
    let goal = scenario(&format!("{head}{goal}{run}"));
    let bounds = bound::latencies(&bound::analyze(&goal));
    let lines = drawn.iter().zip(&written).zip(bounds).map(|((flow, pcp), bound)| {
        let share = dice.between(98, 112);
        let deadline = bound.map(|own| own.as_ps() / 100 * i64::try_from(share).unwrap());
        line(flow, *pcp, deadline.filter(|_| dice.chance(85)))
    });
    let lines: String = lines.collect();
    format!("{head}{lines}{run}")
}

fn flow(number: usize, nodes: usize, dice: &mut Dice) -> String {
    // Most go to one node, so that their order counts.
    let to = if dice.chance(60) { 0 } else { dice.index(nodes) };
    let from = (to + 1 + dice.index(nodes - 1)) % nodes;
    let (period, size) = (dice.between(10, 40), dice.between(46, 1400));
    format!("name: f{number}, from: n{from}, to: n{to}, period: {period} ms, size: {size} B")
}

fn line(flow: &str, pcp: u8, deadline: Option<i64>) -> String {
    let deadline = deadline.map_or_else(String::new, |ps| {
        format!(", deadline: {} ns", Duration::from_ps(ps).as_ps() / 1_000)
    });
    format!("  - {{ {flow}, pcp: {pcp}{deadline} }}  # as drawn\n")
}
