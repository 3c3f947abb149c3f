//! What bounds are composed of, on random plants: the parts are never negative and add up to the
//! bound of the method that they name, and no timeline of a packet is longer.

use std::collections::BTreeMap;

use rtether_bounds::{Composer, Composition, ShareCause};
use rtether_model::flow::FlowId;
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_model::record::{Place, Segment};
use rtether_model::wire::{self, Encapsulation};
use rtether_sim::observe::{Delivery, PacketInfo};
use rtether_sim::timeline::Trails;
use rtether_sim::{Config, Simulation};

use crate::bounds::dice;
use crate::bounds::plant::{Plant, Variety};
use crate::bounds::{adversarial, for_each_case_of};

const CASES: u64 = 150;

/// Returns plants of all kinds in turn.
fn plant(number: u64) -> Plant {
    match number % 7 {
        0 => Plant::random(number, Variety::Full),
        1 => Plant::random(number, Variety::Layered),
        2 => Plant::random(number, Variety::Routed),
        3 => Plant::random(number, Variety::Deficit),
        4 => Plant::random(number, Variety::Plain),
        5 => Plant::random(number, Variety::Due),
        _ => Plant::polled(number),
    }
}

/// Oracle: the bound itself, which was computed before its parts; and the simulator.
#[test]
#[allow(clippy::print_stdout, reason = "shown with --nocapture")]
fn parts_add_up_to_the_bound() {
    let (mut streams, mut other_method, mut rounded) = (0u64, 0u64, 0u64);
    let mut methods: BTreeMap<&str, u64> = BTreeMap::new();
    let mut timelines = 0u64;
    for_each_case_of(CASES, "parts_add_up_to_the_bound", |number| {
        let plant = plant(number);
        let composer = Composer::new(&plant.network, &plant.flows);
        let analysis = composer.analysis();
        assert_eq!(*analysis, rtether_bounds::analyze(&plant.network, &plant.flows));
        let mut limits = Vec::new();
        for (index, stream) in analysis.streams.iter().enumerate() {
            let Ok(bound) = &stream.bound else {
                assert_eq!(composer.compose(index).err(), stream.bound.clone().err());
                limits.push(None);
                continue;
            };
            let found = composer.compose(index).unwrap();
            limits.push(Some(found.latency));
            let sum: Duration = found.steps.iter().map(rtether_bounds::Step::time).sum();
            assert_eq!(sum, found.latency, "stream {index}");
            assert!(bound.by_method.contains(&(found.method, found.latency)));
            let shares = found.steps.iter().flat_map(|step| &step.shares);
            assert!(shares.clone().all(|share| share.time > Duration::ZERO));
            assert!(found.steps.iter().flat_map(|s| &s.passages).all(|p| p.time >= Duration::ZERO));
            packets_are_their_flows(&plant, &found);
            streams += 1;
            other_method += u64::from(found.latency != bound.latency);
            rounded += u64::from(shares.clone().any(|s| s.cause == ShareCause::Rounding));
            *methods.entry(found.method.name()).or_default() += 1;
        }
        timelines += timelines_keep_to(&plant, number, &limits);
    });
    println!(
        "{streams} streams: {other_method} with the parts of another method than the least, \
         {rounded} with rounding; {methods:?}; {timelines} timelines"
    );
    assert!(other_method * 100 <= streams, "{other_method} of {streams}");
}

/// Checks that the longest packet named beside a wait at a port is one that its flow, or its answers, may
/// send over the link there.
fn packets_are_their_flows(plant: &Plant, found: &Composition) {
    for step in &found.steps {
        let is_port =
            |place: &Place| matches!(place.segment, Segment::SwitchQueue | Segment::DriverQueue);
        let places = step.passages.iter().map(|passage| passage.place);
        let ports: Vec<Place> = places.filter(is_port).collect();
        let [place] = ports[..] else {
            // Over a run of ports none is named; processors have their own times.
            let mut shares = step.shares.iter();
            assert!(ports.is_empty() || shares.all(|share| share.packet == Duration::ZERO));
            continue;
        };
        let mut links = plant.network.links.iter();
        let link = links.find(|link| link.ends.contains(&place.port)).unwrap();
        for share in &step.shares {
            let Some(flow) = share.flow else { continue };
            let flow = &plant.flows[flow.index()];
            let answer = flow.reply.map_or(Bytes::ZERO, |reply| reply.payload);
            let frame = |payload| flow.frames(payload).full.max(flow.frames(payload).last);
            let is_cut = flow.is_published() || flow.encapsulation == Encapsulation::Tcp;
            let most = if is_cut {
                wire::HEADER + wire::MAX_FRAME_PAYLOAD + wire::FCS
            } else {
                frame(flow.payload).max(frame(answer))
            };
            // With a tag, and the trailer of two networks.
            let longest = wire::occupancy(most + wire::TAG + Bytes::new(8), link.rate);
            assert!(share.packet <= longest, "{share:?} at {place:?}: {longest}");
        }
    }
}

/// Checks that all timelines of one run add up to their latencies and keep to the limits; returns
/// how many there are.
fn timelines_keep_to(plant: &Plant, number: u64, limits: &[Option<Duration>]) -> u64 {
    let mut dice = dice(!number);
    let flows = adversarial(plant, &mut dice, number % 8);
    let config = Config { seed: number, warmup: Duration::ZERO, bucket: Duration::ZERO };
    let mut simulation = Simulation::new(&plant.network, &flows, &config).unwrap();
    let mut deliveries = Vec::new();
    let all = |_: &PacketInfo, delivery: &Delivery| {
        deliveries.push((delivery.stream, delivery.latency));
        true
    };
    let mut trails = Trails::new(&plant.network, &flows, None::<FlowId>, Instant::ZERO, all);
    simulation.run_until(Instant::ZERO + Duration::from_ms(5), &mut trails);
    let found = trails.into_found();
    assert_eq!(found.len(), deliveries.len());
    for (timeline, (stream, latency)) in found.iter().zip(&deliveries) {
        let sum: Duration = timeline.parts.iter().map(rtether_sim::timeline::Part::time).sum();
        assert_eq!((sum, timeline.latency), (*latency, *latency));
        if let Some(limit) = limits[*stream] {
            assert!(sum <= limit, "stream {stream}: {sum} seen, {limit} proved");
        }
    }
    found.len() as u64
}
