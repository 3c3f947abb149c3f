//! Plants whose stations are in two networks.

use rtether_bounds::analyze;
use rtether_model::network::{Duplex, Link, Node, NodeKind, Redundancy};
use rtether_model::quantity::{BitRate, Duration};

use crate::bounds::dice;
use crate::bounds::plant::{Plant, Variety};
use crate::bounds::{RUNS, Tightness, adversarial, check, check_diameter, for_each_case, simulate};

impl Plant {
    /// Returns a plant of another kind with a second network like the first, whose links and
    /// switches may be slower, or fail; `None` if it has hubs.
    pub(crate) fn redundant(number: u64) -> Option<Self> {
        let number = number.wrapping_add(1 << 48);
        let mut plant = match number % 5 {
            0 => Self::policed(number),
            1 => Self::spaced(number),
            2 => Self::polled(number),
            3 => Self::random(number, Variety::Plain),
            _ => Self::random(number, Variety::Full),
        };
        let network = &mut plant.network;
        let half = |link: &Link| link.duplex == Duplex::Half;
        let has_hub = |node: &Node| matches!(node.kind, NodeKind::Hub(_));
        if network.links.iter().any(half) || network.nodes.iter().any(has_hub) {
            return None;
        }
        let mut dice = dice(!number);
        let first = [network.nodes.len(), network.links.len()];
        let chance = dice.pick(&[30, 85, 100]);
        network.add_second(|own| {
            let is_layered = own.layer.is_some() || own.tasks.is_some();
            let redundancy = dice.pick(&[Redundancy::Prp, Redundancy::Afdx]);
            (!is_layered && dice.chance(chance)).then_some(redundancy)
        });
        for node in &mut network.nodes[first[0]..] {
            if let NodeKind::Switch(switch) = &mut node.kind {
                switch.latency += Duration::from_us(dice.pick(&[0, 0, 1, 20, 300]));
            }
        }
        for link in &mut network.links[first[1]..] {
            if dice.chance(30) {
                link.rate = BitRate::from_mbps(dice.pick(&[10, 100, 1_000]));
            }
            link.standby |= dice.chance(2);
        }
        if dice.chance(30) {
            let link = dice.index(network.links.len());
            network.links[link].errors_per_billion = 100_000_000;
        }
        plant.flows.iter_mut().for_each(|flow| flow.routes.clear());
        Some(plant)
    }
}

/// Oracle: the simulator, as in the other tests.
#[test]
#[allow(clippy::print_stdout, reason = "shown with --nocapture")]
fn the_first_of_two_copies_keeps_to_the_bound() {
    let mut tightness = Tightness::default();
    let (mut plants, mut copies) = (0, 0);
    for_each_case("the_first_of_two_copies_keeps_to_the_bound", |number| {
        let Some(plant) = Plant::redundant(number) else {
            return;
        };
        plants += 1;
        let analysis = analyze(&plant.network, &plant.flows);
        let mut dice = dice(!number);
        let mut most = vec![Duration::ZERO; analysis.streams.len()];
        for run in 0..RUNS {
            let flows = adversarial(&plant, &mut dice, run);
            let record = simulate(&plant, &flows, number ^ run);
            for (most, seen) in most.iter_mut().zip(check(&analysis, &record)) {
                *most = (*most).max(seen);
            }
            let stations = record.nodes.iter().zip(&plant.network.nodes);
            let stations =
                stations.filter(|(_, node)| matches!(node.kind, NodeKind::EndStation(_)));
            copies += stations.map(|(own, _)| own.copied).sum::<u64>();
        }
        tightness.by_diameter += check_diameter(&plant, &most);
        tightness.add(&analysis, &most);
    });
    tightness.print("plants with two networks");
    println!("{plants} plants, {copies} frames sent twice");
    let is_one = std::env::var_os("RTETHER_CASE").is_some();
    assert!(is_one || tightness.bounded * 3 > tightness.streams);
    assert!(is_one || copies > 100_000);
}
