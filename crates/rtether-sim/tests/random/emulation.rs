//! Random plants, simulated and emulated: the same frames at the same times have the same fate.
//!
//! The simulation is the oracle of the emulation, and a recording that of its replay.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use rtether_model::endnode::TransmitStrategy;
use rtether_model::flow::{Flow, Traffic};
use rtether_model::network::{EndStation, NodeId, NodeKind, Pcp, Stack, Vid};
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_model::wire::{self, Encapsulation};
use rtether_sim::emulation::{
    Arrival, Content, Destination, Draws, Emulation, EmulationError, Foreign, Headers, Output,
    Recording, Setup,
};
use rtether_sim::observe::{DropReason, Observer, PacketInfo};
use rtether_sim::tcp::Segment;

use super::{CASES, Case, for_each_case, network};
use crate::hub::random_plant;
use crate::support::Plant;
use rtether_testkit::Dice;

/// Identity of a packet for an observer; TCP retransmissions share it.
type Name = (u32, NodeId, Option<NodeId>, u32, bool, Option<Segment>);

/// End of a packet: name, node, time and reason, since several losses may happen at one place.
type Ending = (usize, NodeId, Instant, Option<DropReason>);

/// Packets that a simulation's applications hand to their stations, and their outcomes.
struct Seen<'a> {
    flows: &'a [Flow],
    /// Tokens are indices.
    arrivals: Vec<Arrival>,
    /// By token: the first packet of the same name.
    alike: Vec<usize>,
    names: BTreeMap<String, usize>,
    endings: Vec<Ending>,
}

impl<'a> Seen<'a> {
    fn new(flows: &'a [Flow]) -> Self {
        Self {
            flows,
            arrivals: Vec::new(),
            alike: Vec::new(),
            names: BTreeMap::new(),
            endings: Vec::new(),
        }
    }

    fn name(&mut self, packet: &PacketInfo) -> usize {
        let name: Name = (
            packet.flow.0,
            packet.source,
            packet.destination,
            packet.number,
            packet.is_reverse,
            packet.tcp,
        );
        let next = self.arrivals.len();
        *self.names.entry(format!("{name:?}")).or_insert(next)
    }

    /// Returns the headers such a packet would have.
    fn headers(&self, packet: &PacketInfo, frame: Bytes) -> Headers {
        let flow = &self.flows[packet.flow.index()];
        let (ethertype, protocol) = match flow.encapsulation {
            Encapsulation::Udp | Encapsulation::Rtps { .. } => (0x0800, Some(17)),
            Encapsulation::Tcp => (0x0800, Some(6)),
            Encapsulation::Icmp => (0x0800, Some(1)),
            Encapsulation::Raw => (0x88B5, None),
            Encapsulation::Goose => (0x88B8, None),
            Encapsulation::SampledValues => (0x88BA, None),
            Encapsulation::Profinet => (0x8892, None),
            Encapsulation::Arp => (0x0806, None),
        };
        let reply = flow.reply.filter(|_| packet.is_reverse);
        let payload = match packet.tcp {
            Some(segment) => segment.payload_size(),
            None => reply.map_or(flow.payload, |reply| reply.payload),
        };
        let content = match packet.tcp {
            None => Content::Datagram,
            Some(segment) if segment.len > 0 => Content::Segment,
            Some(_) => Content::Acknowledgement,
        };
        let inside = flow.encapsulation.header_size() + payload;
        assert!(frame >= inside + wire::HEADER + wire::FCS);
        Headers {
            ethertype: Some(ethertype),
            tos: protocol.map(|_| flow.dscp << 2),
            protocol,
            datagram: protocol.map(|_| inside),
            content,
        }
    }
}

impl Observer for Seen<'_> {
    fn released(&mut self, now: Instant, packet: &PacketInfo) {
        let tag = packet.tag;
        let tag = tag.map(|(pcp, vid)| (Pcp::new(pcp).unwrap(), Vid::new(vid).unwrap()));
        let octets = packet.frame_size.get() - if tag.is_some() { 4 } else { 0 };
        let destination = packet.destination;
        let name = self.name(packet);
        let token = self.arrivals.len() as u64;
        self.alike.push(name);
        self.arrivals.push(Arrival {
            station: packet.source,
            at: now,
            frame: Foreign {
                size: Bytes::new(octets),
                destination: destination.map_or(Destination::Group(packet.flow), Destination::One),
                tag,
                headers: self.headers(packet, Bytes::new(octets)),
                token,
            },
        });
    }

    fn reached(&mut self, now: Instant, station: NodeId, packet: &PacketInfo) {
        let name = self.name(packet);
        self.endings.push((name, station, now, None));
    }

    fn dropped(&mut self, now: Instant, node: NodeId, packet: &PacketInfo, reason: DropReason) {
        let name = self.name(packet);
        self.endings.push((name, node, now, Some(reason)));
    }
}

/// Gives all stations zero processing time.
fn simplify(mut plant: Plant) -> Plant {
    for node in &mut plant.network.nodes {
        if let NodeKind::EndStation(station) = &mut node.kind {
            *station =
                EndStation { driver_queue: station.driver_queue, ..EndStation::new(Stack::Zero) };
        }
    }
    plant
}

/// Whether a release has several packets.
fn sends_at_once(flow: &Flow) -> bool {
    let is_burst = matches!(flow.traffic, Traffic::Sporadic { burst: 2.., .. });
    is_burst || flow.listeners.len() > 1
}

/// Avoids timers without delay: they expire between packets of one instant that are injected one by
/// one, but after all packets of one release.
fn without_zero_timers(station: &mut EndStation) {
    if let Stack::IpRate { service } = &mut station.stack {
        *service = Duration::from_ns(1).max(*service);
    }
    let transmit = station.layer.as_mut().and_then(|layer| layer.transmit.as_mut());
    if let Some(transmit) = transmit
        && let TransmitStrategy::Strict { .. } = transmit.strategy
    {
        transmit.strategy = TransmitStrategy::MODERATE;
    }
}

/// Keeps the stations, except for properties that frames from outside do not have.
fn keep(mut plant: Plant) -> Plant {
    let is_tcp = |flow: &Flow| flow.encapsulation == Encapsulation::Tcp;
    let has_tcp = plant.flows.iter().any(is_tcp);
    let has_bursts = has_tcp || plant.flows.iter().any(sends_at_once);
    for node in &mut plant.network.nodes {
        if let NodeKind::EndStation(station) = &mut node.kind {
            station.emulate = true;
            if has_tcp {
                station.tasks = None;
            }
            if has_bursts {
                without_zero_timers(station);
            }
            if let Some(layer) = &mut station.layer {
                layer.rules.retain(|rule| rule.headers.source_port.is_none());
            }
        }
    }
    plant
}

fn ending(output: &Output) -> Option<(u64, NodeId, Instant, Option<DropReason>)> {
    match *output {
        Output::Delivered { token, station, at, .. } => Some((token, station, at, None)),
        Output::Dropped { token, node, at, reason } => Some((token, node, at, Some(reason))),
        Output::Collision { .. } | Output::Finished { .. } => None,
    }
}

/// Omits superfluous copies, which an emulation reports only without any other copy.
fn without_filtered(endings: &[Ending]) -> Vec<Ending> {
    let is_news = |ending: &&Ending| ending.3 != Some(DropReason::Filtered);
    let mut endings: Vec<Ending> = endings.iter().filter(is_news).copied().collect();
    endings.sort_unstable();
    endings
}

fn emulate(
    setup: &Setup<'_>,
    arrivals: &[Arrival],
    until: Instant,
    step: Option<Duration>,
) -> Result<Vec<Output>, EmulationError> {
    let mut emulation = Emulation::new(setup)?;
    let mut outputs = Vec::new();
    for arrival in arrivals {
        if let Some(step) = step {
            while emulation.now() + step < arrival.at {
                emulation.run_until(emulation.now() + step);
                outputs.extend(std::iter::from_fn(|| emulation.poll_output()));
            }
        }
        emulation.inject(arrival.station, arrival.at, arrival.frame).unwrap();
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

/// Every frame is finished once, after all its other outputs.
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

/// Simulates and emulates a plant; returns the number of frames and of collisions of stations, or
/// `None` if the plant cannot be emulated.
fn compare(plant: &Plant, seed: u64, until: Instant) -> Option<(u64, usize)> {
    let setup =
        Setup { network: &plant.network, groups: &plant.flows, seed, draws: Draws::InOrder };
    let mut seen = Seen::new(&plant.flows);
    let mut simulation = plant.simulation(seed);
    simulation.run_until(until, &mut seen);
    let outputs = match emulate(&setup, &seen.arrivals, until, None) {
        Ok(outputs) => outputs,
        Err(
            EmulationError::Loop { .. }
            | EmulationError::Route { .. }
            | EmulationError::Deadlines { .. },
        ) => return None,
        Err(error) => panic!("{error}"),
    };
    check_finished(&outputs);
    let fates = |outputs: &[Output]| {
        let endings = outputs.iter().filter_map(ending);
        let named = endings.map(|(token, node, at, lost)| {
            let name = seen.alike[usize::try_from(token).unwrap()];
            (name, node, at, lost)
        });
        let endings: Vec<Ending> = named.filter(|ending| ending.2 < until).collect();
        without_filtered(&endings)
    };
    let simulated = without_filtered(&seen.endings);
    assert_eq!(fates(&outputs), simulated);
    // Polling more often reports the same outcomes earlier.
    let step = Some(Duration::from_us(7));
    let stepped = emulate(&setup, &seen.arrivals, until, step).unwrap();
    check_finished(&stepped);
    assert_eq!(fates(&stepped), simulated);
    let mut recording = Recording::new(1_000_000);
    for &arrival in &seen.arrivals {
        recording.note_arrival(arrival);
    }
    for output in &outputs {
        recording.note_output(output);
    }
    let again = recording.replay(&setup, until);
    assert_eq!(again.unwrap(), outputs);
    let comparison = recording.compare(&setup, until);
    let comparison = comparison.unwrap();
    assert_eq!(comparison.differing, 0);
    assert_eq!(comparison.frames, seen.arrivals.len() as u64);
    let is_collision = |output: &&Output| matches!(output, Output::Collision { .. });
    let collisions = outputs.iter().filter(is_collision).count();
    Some((comparison.frames, collisions))
}

fn switches(change: fn(Plant) -> Plant) {
    let busy = AtomicU64::new(0);
    for_each_case(|case| {
        let plant = change(Case::new(case.number).plant);
        if let Some((frames, _)) = compare(&plant, case.number, case.until) {
            busy.fetch_add((frames > 20).into(), Ordering::Relaxed);
        }
    });
    let is_whole = std::env::var_os("RTETHER_CASE").is_none();
    let busy = busy.into_inner();
    assert!(!is_whole || busy > CASES / 4, "{busy}");
}

fn hubs(change: fn(Plant) -> Plant) {
    let mut collided = 0;
    for number in 0..CASES {
        let (plant, length) = random_plant(number);
        let (_, collisions) = compare(&change(plant), number, Instant::ZERO + length).unwrap();
        collided += collisions;
    }
    assert!(collided > 1_000, "{collided} collisions");
}

#[test]
fn switches_emulated_as_simulated() {
    switches(simplify);
}

#[test]
fn hubs_emulated_as_simulated() {
    hubs(simplify);
}

/// Gives switches rules for frames that arrive.
fn police(plant: Plant) -> Plant {
    let mut plant = keep(plant);
    let seed = plant.flows.len() * 100 + plant.network.nodes.len();
    network::police(&mut Dice::new(seed as u64), &mut plant);
    plant
}

/// The same rules hold for frames from outside, which come with their headers.
#[test]
fn switches_that_police_emulated_as_simulated() {
    switches(police);
}

/// Processors of routers, with what they draw.
#[test]
fn routers_emulated_as_simulated() {
    switches(|plant| {
        let mut plant = simplify(plant);
        let seed = plant.flows.len() * 100 + plant.network.nodes.len();
        network::put_routers(&mut Dice::new(seed as u64), &mut plant);
        plant
    });
}

/// Stacks with their jitter and limits, tasks, queues and smoothers included.
#[test]
fn stations_at_switches_emulated_as_simulated() {
    switches(keep);
}

#[test]
fn stations_at_hubs_emulated_as_simulated() {
    hubs(keep);
}
