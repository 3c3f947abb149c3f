//! Plants with stations of which the sum of sending and receiving is known, but not its split.

use rtether_bounds::analyze;
use rtether_model::flow::Flow;
use rtether_model::network::{
    Cost, EndStation, Jitter, LinearStack, Network, NodeId, NodeKind, Servers, Stack,
};
use rtether_model::quantity::Duration;
use rtether_model::unknown::{CostName, Unknown, stated};
use rtether_testkit::Dice;

use crate::bounds::plant::Plant;
use crate::bounds::{RUNS, Tightness, adversarial, check, dice, for_each_case_up_to, simulate};

const CASES: [u64; 2] = [100, 10_000];
/// Of flows to their own station, and of two networks. Some of these plants are so busy that their
/// analysis takes half a minute.
const SIBLINGS: [u64; 2] = [60, 300];

impl Plant {
    /// Gives stations of a plant sums.
    fn split(mut self, number: u64) -> Self {
        let mut dice = dice(number.wrapping_add(1 << 52));
        for node in &mut self.network.nodes {
            if let NodeKind::EndStation(station) = &mut node.kind
                && dice.chance(70)
            {
                sum(&mut dice, station);
            }
        }
        self
    }
}

/// Gives a station a sum, and costs for each direction if it has one cost for both.
fn sum(dice: &mut Dice, station: &mut EndStation) {
    if let Stack::IpRate { service } = station.stack {
        station.unknown.retain(|own| own.cost != CostName::Service);
        let cost = Cost { base: service, per_octet: Duration::ZERO };
        station.stack = Stack::Linear(LinearStack {
            send: if dice.chance(50) { cost } else { Cost::default() },
            receive: cost,
            interface: Cost::default(),
            jitter: Jitter::default(),
            servers: dice.pick(&[Servers::Shared, Servers::PerDirection]),
        });
    }
    if matches!(station.stack, Stack::Linear(_)) {
        let most = dice.pick(&[1, 1_000, 20_000, 20_000, 100_000]);
        let more = Duration::from_ns(dice.time(1, most));
        station.unknown.push(Unknown { cost: CostName::Both, more });
        // The sum itself may not be known, either.
        if dice.chance(50) {
            let range = Duration::from_ps(dice.time(1, more.as_ps()));
            station.unknown.push(Unknown { cost: CostName::Sum, more: range });
        }
    }
}

/// Returns the network with costs of both directions that do not know of each other.
fn apart(mut network: Network) -> Network {
    for node in &mut network.nodes {
        let NodeKind::EndStation(station) = &mut node.kind else { continue };
        let both = stated(&station.unknown, CostName::Both);
        station.unknown.retain(|own| ![CostName::Both, CostName::Sum].contains(&own.cost));
        if both == Duration::ZERO {
            continue;
        }
        for cost in [CostName::Send, CostName::Receive] {
            let more = both + stated(&station.unknown, cost);
            station.unknown.retain(|own| own.cost != cost);
            station.unknown.push(Unknown { cost, more });
        }
    }
    network
}

/// Returns how much a packet of a stream and its answer cannot take twice.
fn twice(network: &Network, flow: &Flow, listener: NodeId) -> Duration {
    let ends = [listener, flow.talker].map(|node| {
        let station = network.end_station(node).expect("a station");
        stated(&station.unknown, CostName::Both)
    });
    match (listener == flow.talker, flow.reply) {
        // At its own station each of both packets passes the stack both ways.
        (_, Some(_)) => ends.into_iter().sum(),
        (true, None) => ends[0],
        (false, None) => Duration::ZERO,
    }
}

/// Oracles: the simulator, with splits that it draws, with all of a sum in one direction, and with
/// each sum in either; and the analysis in which both directions have the whole sum, less what this
/// counts twice.
///
/// Returns how many streams pass a sum both ways, and how many of them at their own station.
fn hold(test: &'static str, cases: [u64; 2], draw: impl Fn(u64) -> Plant) -> [u32; 2] {
    let (mut tightness, mut answered, mut own_station) = (Tightness::default(), 0, 0);
    for_each_case_up_to(cases, test, |number| {
        let plant = draw(number).split(number);
        let analysis = analyze(&plant.network, &plant.flows);
        let apart = analyze(&apart(plant.network.clone()), &plant.flows);
        for (own, apart) in analysis.streams.iter().zip(&apart.streams) {
            let (Ok(bound), Ok(apart)) = (&own.bound, &apart.bound) else {
                assert_eq!(own.bound.is_ok(), apart.bound.is_ok(), "{own:?}");
                continue;
            };
            let flow = &plant.flows[own.flow.index()];
            let less = twice(&plant.network, flow, own.listener);
            assert_eq!(bound.latency + less, apart.latency, "{own:?}");
            let parts: Duration = bound.hops.iter().map(|hop| hop.queueing + hop.passage).sum();
            assert_eq!(parts, bound.latency, "{own:?}");
            assert!(bound.hops.iter().all(|hop| hop.passage >= Duration::ZERO), "{own:?}");
            answered += u32::from(less > Duration::ZERO);
            own_station += u32::from(less > Duration::ZERO && own.listener == flow.talker);
        }
        let mut dice = dice(!number);
        let mut most = vec![Duration::ZERO; analysis.streams.len()];
        for run in 0..RUNS {
            let known = plant.decided(run, &mut dice);
            let flows = adversarial(&known, &mut dice, run / 2 * 3 % 7);
            let record = simulate(&known, &flows, number ^ run);
            for (most, seen) in most.iter_mut().zip(check(&analysis, &record)) {
                *most = (*most).max(seen);
            }
        }
        tightness.add(&analysis, &most);
    });
    tightness.print("sums whose split is not known");
    println!("{answered} streams pass a sum both ways, {own_station} of them at their own station");
    [answered, own_station]
}

fn is_one() -> bool {
    std::env::var_os("RTETHER_CASE").is_some()
}

#[test]
fn bounds_hold_for_every_split() {
    let [answered, _] = hold("bounds_hold_for_every_split", CASES, |number| {
        Plant::scanned(number.wrapping_add(1 << 51))
    });
    assert!(is_one() || answered > 50, "{answered}");
}

/// Packets that turn round at their own station, and copies of two networks.
#[test]
fn bounds_hold_for_every_split_at_own_stations_and_in_two_networks() {
    let test = "bounds_hold_for_every_split_at_own_stations_and_in_two_networks";
    let found = hold(test, SIBLINGS, |number| {
        let own = number.wrapping_add(1 << 51);
        let copied = Plant::redundant(own).filter(|_| number % 2 == 1);
        copied.unwrap_or_else(|| Plant::own(own))
    });
    assert!(is_one() || found.iter().all(|streams| *streams > 0), "{found:?}");
}
