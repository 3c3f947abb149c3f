//! Random plants against all designs of their space.

use rayon::prelude::*;
use rtether::design::{End, Question};
use rtether::scenario::{Override, Scenario, Written};
use rtether_model::flow::Tag;
use rtether_model::network::Pcp;

use super::draw::{self, LEVELS};
use super::{counts, designed, is_sound, scenario};

/// What the best of all designs proves, and the fewest edits that do.
#[derive(Clone, Copy, Debug)]
struct Least {
    proved: usize,
    deadlines: usize,
    edits: usize,
}

impl Least {
    fn of(all: impl Iterator<Item = (usize, usize)>, deadlines: usize) -> Self {
        let best = all.min_by_key(|(proved, edits)| (std::cmp::Reverse(*proved), *edits));
        let (proved, edits) = best.unwrap();
        Self { proved, deadlines, edits }
    }

    fn is_feasible(&self) -> bool {
        self.proved == self.deadlines
    }
}

/// Tries each priority of each flow.
fn least_of_priorities(plant: &Scenario) -> Least {
    let flows = plant.flows.len();
    let deadlines = plant.flows.iter().filter(|flow| flow.deadline.is_some()).count();
    let all = 0..4_usize.pow(u32::try_from(flows).unwrap());
    let all: Vec<(usize, usize)> = all
        .into_par_iter()
        .map(|number| {
            let mut own = plant.clone();
            let (mut rest, mut edits) = (number, 0);
            for flow in &mut own.flows {
                let tag = flow.tag.unwrap();
                let pcp = Pcp::new(LEVELS[rest % 4]).unwrap();
                edits += usize::from(pcp != tag.pcp);
                flow.tag = Some(Tag { pcp, ..tag });
                rest /= 4;
            }
            (counts(&own).ok, edits)
        })
        .collect();
    Least::of(all.into_iter(), deadlines)
}

/// Compares searches with all designs: 98 % of what is feasible is found, with at most 1.2 times the
/// edits, and what is called impossible is.
fn compare(plants: impl Iterator<Item = (u64, usize)>) {
    let (mut feasible, mut solved, mut edits, mut least_edits) = (0, 0, 0, 0);
    for (seed, flows) in plants {
        let text = draw::plant(seed, flows, "[pcp]");
        let least = least_of_priorities(&scenario(&text));
        let found = designed(&text, Question { is_search_only: true, ..Question::default() });
        is_sound(&text, &found);
        assert!(found.proved[1] <= least.proved, "seed {seed}: more than all designs prove");
        if found.end == End::Impossible {
            assert!(!least.is_feasible(), "seed {seed} is called impossible:\n{text}");
        }
        if least.is_feasible() {
            feasible += 1;
            if found.end == End::Proved {
                solved += 1;
                edits += found.edits.len();
                least_edits += least.edits;
            }
            if found.end != End::Proved || found.edits.len() > least.edits {
                println!(
                    "seed {seed}: {:?} with {} edits, {least:?}",
                    found.end,
                    found.edits.len()
                );
            }
        }
        if flows > 4 {
            continue;
        }
        // With a small space all designs are tried, and what is impossible is called so.
        let found = designed(&text, Question::default());
        let is_feasible = found.end == End::Proved;
        assert_eq!(is_feasible, least.is_feasible(), "seed {seed}: {:?}", found.end);
        assert_eq!(found.proved[1], least.proved, "seed {seed}");
        assert!(is_feasible || found.end == End::Impossible, "seed {seed}: {:?}", found.end);
    }
    println!("{feasible} feasible, {solved} solved; {edits} edits, {least_edits} at least");
    assert!(feasible > 0 && solved * 100 >= feasible * 98, "{solved} of {feasible}");
    assert!(edits * 10 <= least_edits * 12, "{edits} edits instead of {least_edits}");
}

/// Oracle: all designs.
#[test]
fn priorities_are_found_with_few_edits() {
    compare((0..12).map(|seed| (seed, 2 + usize::try_from(seed % 3).unwrap())));
}

/// Oracle: all designs.
#[test]
#[ignore = "long"]
fn priorities_of_300_plants_are_found_with_few_edits() {
    compare((0..300).map(|seed| (seed, 2 + usize::try_from(seed % 5).unwrap())));
}

/// What a node may have between its stack and the network.
const LAYERS: [(&str, &str); 3] = [
    ("priorities", "{ queues: 8 }"),
    ("receive_queues", "{ selection: instances }"),
    ("transmit_queues", "{ strategy: moderate }"),
];

/// Tries three priorities of each flow, with and without eight queues in all switches, and layers in
/// each node. These are some of the designs that are allowed.
fn least_of_layers(text: &str) -> Least {
    let plant = scenario(text);
    let written = Written::from(text.to_owned());
    let deadlines = plant.flows.iter().filter(|flow| flow.deadline.is_some()).count();
    let nodes: Vec<&str> = plant
        .network
        .nodes
        .iter()
        .map(|node| node.name.as_str())
        .filter(|name| name.starts_with('n'))
        .collect();
    let priorities = 3_usize.pow(u32::try_from(plant.flows.len()).unwrap());
    let all = 0..(priorities * 2) << nodes.len();
    let all: Vec<(usize, usize)> = all
        .into_par_iter()
        .filter_map(|number| {
            let (mut rest, mut changes, mut edits) = (number, Vec::new(), 0);
            for flow in &plant.flows {
                let pcp = [0, 5, 7][rest % 3];
                rest /= 3;
                if flow.tag.unwrap().pcp != Pcp::new(pcp).unwrap() {
                    let path = format!("flows.{}.pcp", flow.name);
                    changes.push(Override::new("test", path, pcp.to_string()));
                    edits += 1;
                }
            }
            if rest % 2 == 1 {
                changes.push(Override::new("test", "switches[*].queues", "8"));
                edits += 1;
            }
            rest /= 2;
            for (bit, node) in nodes.iter().enumerate().filter(|(bit, _)| rest >> bit & 1 == 1) {
                debug_assert!(bit < nodes.len());
                changes.extend(LAYERS.map(|(key, value)| {
                    Override::new("test", format!("nodes.{node}.{key}"), value)
                }));
                edits += 1;
            }
            Some((counts(&written.with_all(&changes)?).ok, edits))
        })
        .collect();
    Least::of(all.into_iter(), deadlines)
}

/// Compares searches with queues and layers with some of the designs.
fn compare_layers(plants: impl Iterator<Item = (u64, usize)>) {
    let (mut feasible, mut solved, mut edits, mut least_edits) = (0, 0, 0, 0);
    for (seed, flows) in plants {
        let text = draw::plant(seed, flows, "[pcp, queues, layers]");
        let least = least_of_layers(&text);
        let found = designed(&text, Question::default());
        is_sound(&text, &found);
        assert!(found.end != End::Impossible || !least.is_feasible(), "seed {seed}");
        if least.is_feasible() {
            feasible += 1;
            if found.end == End::Proved {
                solved += 1;
                edits += found.edits.len();
                least_edits += least.edits;
            }
            if found.end != End::Proved || found.edits.len() > least.edits {
                println!(
                    "seed {seed}: {:?} with {} edits, {least:?}",
                    found.end,
                    found.edits.len()
                );
            }
        }
    }
    println!("{feasible} feasible, {solved} solved; {edits} edits, {least_edits} at least");
    assert!(feasible > 0 && solved * 100 >= feasible * 98, "{solved} of {feasible}");
    assert!(edits * 10 <= least_edits * 12, "{edits} edits instead of {least_edits}");
}

/// Oracle: many designs of the same space.
#[test]
fn queues_and_layers_are_found_with_few_edits() {
    compare_layers((0..3).map(|seed| (seed, 2)));
}

/// Oracle: many designs of the same space.
#[test]
#[ignore = "long"]
fn queues_and_layers_of_200_plants_are_found_with_few_edits() {
    compare_layers((0..200).map(|seed| (seed, 2 + usize::try_from(seed % 2).unwrap())));
}
