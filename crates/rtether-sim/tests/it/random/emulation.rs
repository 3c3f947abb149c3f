//! Random plants, simulated and emulated: the same frames at the same times have the same fate.
//!
//! The simulation is the oracle of the emulation, and a recording that of its replay.

use std::cell::Cell;
use std::collections::BTreeMap;

use rtether_model::flow::{Delivery, Traffic};
use rtether_model::network::{EndStation, Network, NodeId, NodeKind, Pcp, Stack, Vid};
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_sim::emulation::{
    Arrival, Destination, Draws, Emulation, EmulationError, Foreign, Output, Recording,
};
use rtether_sim::observe::{self, DropReason, Observer, PacketInfo};

use super::{CASES, Case, for_each_case};
use crate::hub::random_plant;
use crate::support::Plant;

/// What a simulation's stations hand to their drivers, and what becomes of it: by token, node and
/// reason, since several losses may happen at one place.
#[derive(Default)]
struct Seen {
    arrivals: Vec<Arrival>,
    endings: Vec<Ending>,
}

type Ending = (u64, NodeId, Instant, Option<DropReason>);

/// A flow sends one frame of each number to each of its listeners.
fn token(packet: &PacketInfo) -> u64 {
    let listener = packet.destination.map_or(0, |node| node.0);
    u64::from(packet.flow.0) << 48 | u64::from(listener) << 32 | u64::from(packet.number)
}

impl Observer for Seen {
    fn released(&mut self, now: Instant, packet: &PacketInfo) {
        let tag = packet.tag;
        let tag = tag.map(|(pcp, vid)| (Pcp::new(pcp).unwrap(), Vid::new(vid).unwrap()));
        let octets = packet.frame_size.get() - if tag.is_some() { 4 } else { 0 };
        let destination = packet
            .destination
            .map_or(Destination::All, Destination::One);
        self.arrivals.push(Arrival {
            station: packet.source,
            at: now,
            frame: Foreign {
                size: Bytes::new(octets),
                destination,
                tag,
                token: token(packet),
            },
        });
    }

    fn delivered(&mut self, now: Instant, packet: &PacketInfo, _: &observe::Delivery) {
        let listener = packet.destination.unwrap();
        self.endings.push((token(packet), listener, now, None));
    }

    fn dropped(&mut self, now: Instant, node: NodeId, packet: &PacketInfo, reason: DropReason) {
        self.endings.push((token(packet), node, now, Some(reason)));
    }
}

/// Makes the stations cost nothing and leaves the flows that send frames of one size one way.
fn simplify(mut plant: Plant) -> Plant {
    for node in &mut plant.network.nodes {
        if let NodeKind::EndStation(station) = &mut node.kind {
            *station = EndStation {
                driver_queue: station.driver_queue,
                ..EndStation::new(Stack::Zero)
            };
        }
    }
    for flow in &mut plant.flows {
        flow.reply = None;
    }
    plant.flows.retain(|flow| {
        let asks = matches!(flow.traffic, Traffic::Bulk(_) | Traffic::Adaptive { .. });
        flow.connection.is_none() && !asks && flow.delivery == Delivery::Unicast
    });
    plant
}

fn ending(output: &Output) -> Option<Ending> {
    match *output {
        Output::Delivered {
            token, station, at, ..
        } => Some((token, station, at, None)),
        Output::Dropped {
            token,
            node,
            at,
            reason,
        } => Some((token, node, at, Some(reason))),
        Output::Collision { .. } | Output::Finished { .. } => None,
    }
}

/// Copies that nobody wants are no news of an emulation, unless they are all there is.
fn without_filtered(endings: &[Ending]) -> Vec<Ending> {
    let is_news = |ending: &&Ending| ending.3 != Some(DropReason::Filtered);
    let mut endings: Vec<Ending> = endings.iter().filter(is_news).copied().collect();
    endings.sort_unstable();
    endings
}

fn emulate(
    network: &Network,
    seed: u64,
    arrivals: &[Arrival],
    until: Instant,
    step: Option<Duration>,
) -> Result<Vec<Output>, EmulationError> {
    let mut emulation = Emulation::new(network, seed, Draws::InOrder)?;
    let mut outputs = Vec::new();
    for arrival in arrivals {
        if let Some(step) = step {
            while emulation.now() + step < arrival.at {
                emulation.run_until(emulation.now() + step);
                outputs.extend(std::iter::from_fn(|| emulation.poll_output()));
            }
        }
        emulation
            .inject(arrival.station, arrival.at, arrival.frame)
            .unwrap();
        outputs.extend(std::iter::from_fn(|| emulation.poll_output()));
        emulation.invariants().unwrap();
    }
    emulation.run_until(until);
    outputs.extend(std::iter::from_fn(|| emulation.poll_output()));
    emulation.invariants().unwrap();
    let counters = emulation.counters();
    assert_eq!((counters.late, counters.refused), (0, 0));
    assert_eq!(counters.injected, arrivals.len() as u64);
    Ok(outputs)
}

/// Every frame is finished once, after all else that is said of it.
fn check_finished(outputs: &[Output]) {
    let mut finished = BTreeMap::new();
    for (position, output) in outputs.iter().enumerate() {
        match *output {
            Output::Finished { token } => assert_eq!(finished.insert(token, position), None),
            Output::Delivered { token, .. }
            | Output::Dropped { token, .. }
            | Output::Collision { token, .. } => assert!(!finished.contains_key(&token)),
        }
    }
}

/// Simulates and emulates a plant; returns the frames that came and the collisions of stations, or
/// `None` if the plant is none that can be emulated.
fn compare(plant: Plant, seed: u64, until: Instant) -> Option<(u64, usize)> {
    let plant = simplify(plant);
    let network = &plant.network;
    let mut seen = Seen::default();
    let mut simulation = plant.simulation(seed);
    simulation.run_until(until, &mut seen);
    let outputs = match emulate(network, seed, &seen.arrivals, until, None) {
        Ok(outputs) => outputs,
        Err(EmulationError::Loop { .. } | EmulationError::Deadlines { .. }) => return None,
        Err(error) => panic!("{error}"),
    };
    check_finished(&outputs);
    let fates = |outputs: &[Output]| {
        let endings = outputs.iter().filter_map(ending);
        let endings: Vec<Ending> = endings.filter(|ending| ending.2 < until).collect();
        without_filtered(&endings)
    };
    let simulated = without_filtered(&seen.endings);
    assert_eq!(fates(&outputs), simulated);
    // Who looks often is told earlier, and of the same.
    let step = Some(Duration::from_us(7));
    let stepped = emulate(network, seed, &seen.arrivals, until, step).unwrap();
    check_finished(&stepped);
    assert_eq!(fates(&stepped), simulated);
    let mut recording = Recording::new(1_000_000);
    for &arrival in &seen.arrivals {
        recording.note_arrival(arrival);
    }
    for output in &outputs {
        recording.note_output(output);
    }
    let again = recording.replay(network, seed, Draws::InOrder, until);
    assert_eq!(again.unwrap(), outputs);
    let comparison = recording.compare(network, seed, Draws::InOrder, until);
    let comparison = comparison.unwrap();
    assert_eq!(comparison.differing, 0);
    assert_eq!(comparison.frames, seen.arrivals.len() as u64);
    let is_collision = |output: &&Output| matches!(output, Output::Collision { .. });
    let collisions = outputs.iter().filter(is_collision).count();
    Some((comparison.frames, collisions))
}

#[test]
fn switches_emulated_as_simulated() {
    let busy = Cell::new(0);
    for_each_case(|case| {
        let plant = Case::new(case.number).plant;
        if let Some((frames, _)) = compare(plant, case.number, case.until) {
            busy.set(busy.get() + u64::from(frames > 20));
        }
    });
    let is_whole = std::env::var_os("RTETHER_CASE").is_none();
    assert!(!is_whole || busy.get() > CASES / 4, "{}", busy.get());
}

#[test]
fn hubs_emulated_as_simulated() {
    let mut collided = 0;
    for number in 0..CASES {
        let (plant, length) = random_plant(number);
        let (_, collisions) = compare(plant, number, Instant::ZERO + length).unwrap();
        collided += collisions;
    }
    assert!(collided > 1_000, "{collided} collisions");
}
