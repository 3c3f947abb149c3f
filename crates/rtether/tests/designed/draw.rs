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

/// A plant of many flows, which may be written with any priorities.
pub(super) struct Large {
    head: String,
    flows: Vec<Own>,
}

/// A flow of a large plant.
struct Own {
    /// Its keys but priority and deadline.
    line: String,
    period: u64,
    /// In nanoseconds.
    deadline: Option<i64>,
}

/// Priorities of the four queues of a switch, the most urgent first.
const URGENT_FIRST: [u8; 4] = [7, 5, 0, 1];

/// Returns a plant of this many flows between stations of some switches, each of which is linked with
/// all others. Deadlines are near to the bounds with drawn priorities, or of a few values.
pub(super) fn large(seed: u64, flows: usize) -> Large {
    let mut dice = Dice::new(seed);
    let switches = dice.index(6) + 3;
    let stations = (flows / 50).max(12);
    let mut head = "rtether: 1\ndesign: { allow: [pcp] }\nnodes:\n".to_owned();
    for station in 0..stations {
        writeln!(head, "  s{station}: {{ stack: zero }}").unwrap();
    }
    head.push_str("switches:\n");
    let ports = stations / switches + switches + 1;
    for switch in 0..switches {
        writeln!(
            head,
            "  w{switch}: {{ ports: {ports}, latency: 1 us, queues: 4, buffer: 10 MB }}"
        )
        .unwrap();
    }
    head.push_str("links:\n");
    let mut used = vec![0; switches];
    let mut port = |switch: usize| {
        used[switch] += 1;
        format!("\"w{switch}:{}\"", used[switch])
    };
    for one in 0..switches {
        for other in one + 1..switches {
            let ends = [port(one), port(other)].join(", ");
            writeln!(head, "  - {{ ends: [{ends}], rate: 1 Gbit/s }}").unwrap();
        }
    }
    for station in 0..stations {
        let end = port(station % switches);
        writeln!(head, "  - {{ ends: [s{station}, {end}], rate: 100 Mbit/s }}").unwrap();
    }
    head.push_str("flows:\n");
    let flows = (0..flows).map(|number| {
        let to = dice.index(stations);
        let from = (to + 1 + dice.index(stations - 1)) % stations;
        let period = 4 << dice.index(5);
        let size = dice.between(46, 500);
        let line = format!(
            "name: f{number}, from: s{from}, to: s{to}, period: {period} ms, size: {size} B"
        );
        Own { line, period, deadline: None }
    });
    let flows = flows.collect();
    let mut plant = Large { head, flows };
    let drawn: Vec<u8> = plant.flows.iter().map(|_| dice.pick(&LEVELS)).collect();
    let bounds = bound::latencies(&bound::analyze(&scenario(&plant.text(&drawn))));
    let has_few = dice.chance(50);
    let longest = bounds.iter().flatten().max().unwrap().as_ps() / 1_000;
    for (flow, bound) in plant.flows.iter_mut().zip(bounds) {
        let bound = bound.unwrap().as_ps() / 1_000;
        let deadline = if has_few {
            longest * i64::try_from(dice.between(1, 12)).unwrap() / 10
        } else {
            bound * i64::try_from(dice.between(95, 130)).unwrap() / 100
        };
        flow.deadline = Some(deadline).filter(|_| dice.chance(90));
    }
    plant
}

impl Large {
    /// Returns it with these priorities.
    pub(super) fn text(&self, priorities: &[u8]) -> String {
        let lines = self.flows.iter().zip(priorities);
        let lines =
            lines.map(|(flow, pcp)| line(&flow.line, *pcp, flow.deadline.map(|ns| ns * 1_000)));
        format!("{}{}run: {{ for: 1 s }}\n", self.head, lines.collect::<String>())
    }

    /// Returns the text with all flows in one class.
    pub(super) fn one_class(&self) -> String {
        self.text(&vec![0; self.flows.len()])
    }

    /// Returns the text with deadline-monotonic priorities.
    pub(super) fn by_deadline(&self) -> String {
        let values: Vec<Option<i64>> = self.flows.iter().map(|flow| flow.deadline).collect();
        self.text(&shares(&values))
    }

    /// Returns the text with rate-monotonic priorities.
    pub(super) fn by_period(&self) -> String {
        let flows = self.flows.iter();
        let values = flows.map(|flow| flow.deadline.and(i64::try_from(flow.period).ok()));
        let values: Vec<Option<i64>> = values.collect();
        self.text(&shares(&values))
    }
}

/// Returns priorities from the smallest value on, as many flows to each; flows without one have the
/// lowest for themselves.
fn shares(values: &[Option<i64>]) -> Vec<u8> {
    let count = values.iter().flatten().count();
    let levels = if count < values.len() { 3 } else { 4 };
    let places = values.iter().map(|own| {
        let own = (*own)?;
        let smaller = values.iter().flatten().filter(|other| **other < own).count();
        Some(URGENT_FIRST[smaller * levels / count])
    });
    places.map(|own| own.unwrap_or(URGENT_FIRST[3])).collect()
}
