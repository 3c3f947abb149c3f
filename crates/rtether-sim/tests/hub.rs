//! Shared media in a network: delays by hand, paths through hubs and switches, conservation.

mod late;

use std::collections::BTreeMap;

use rtether_model::flow::{Delivery, Flow, Phase, Reply, Traffic};
use rtether_model::network::{Duplex, NodeId, NodeKind, QueueMap, Selection, Stack, Switch};
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_model::record::{Record, Segment};
use rtether_sim::observe::{DropReason, Fingerprint, NoObserver, Observer, PacketInfo};
use rtether_sim::{BuildError, Config, Simulation};

use crate::random::layers;
use crate::random::timelines::{Seen, check_all, follow_all};
use crate::support::{Plant, periodic, plain_switch};
use rtether_testkit::Dice;

const CONFIG: Config = Config { seed: 1, warmup: Duration::ZERO, bucket: Duration::ZERO };

/// Runs in ten steps and checks the invariants after each.
fn run(plant: &Plant, config: &Config, length: Duration) -> Record {
    let mut simulation = Simulation::new(&plant.network, &plant.flows, config).unwrap();
    for step in 1..=10 {
        let until = Instant::ZERO + length / 10 * step;
        simulation.run_until(until, &mut NoObserver);
        simulation.invariants().unwrap();
    }
    simulation.finish()
}

fn stations(plant: &mut Plant, hub: NodeId, count: usize, mbps: u64) -> Vec<NodeId> {
    let ends: Vec<NodeId> = (0..count).map(|_| plant.station(Stack::Zero)).collect();
    for &end in &ends {
        plant.join(hub, end, mbps).propagation = Duration::from_ns(50);
    }
    ends
}

#[test]
fn one_frame_by_hand() {
    // 60 octets over UDP are a frame of 106: 114 octets with preamble, 91.2 us at 10 Mbit/s. Two
    // cables of 50 ns and 400 ns in the hub: 91.7 us. No other traffic.
    let mut plant = Plant::default();
    let hub = plant.hub(10, Duration::from_ns(400));
    let ends = stations(&mut plant, hub, 3, 10);
    plant.flow(periodic("a", ends[0], ends[1]));
    let record = run(&plant, &CONFIG, Duration::from_ms(100));
    let stream = &record.streams[0];
    assert_eq!(stream.delivered, 100);
    assert_eq!(stream.latency.min, Duration::from_ns(91_700));
    assert_eq!(stream.latency.max, Duration::from_ns(91_700));
    assert_eq!(stream.segments_ps[Segment::MediumAccess.index()], 0);
    // The third station heard everything and filtered it.
    assert_eq!(record.nodes[3].filtered, 100);
    let media = &record.media[0];
    assert_eq!(media.carried, Duration::from_ns(91_200) * 100);
    assert_eq!(media.collisions.iter().sum::<u64>(), 0);
}

#[test]
fn a_switch_costs_one_more_frame_time_than_a_hub() {
    // Oracle: a switch stores and forwards (catalogue 5d.5). Hub: 9.12 us at 100 Mbit/s and two
    // cables of 50 ns each way, and the answer waits for the gap of 0.96 us. Switch: two
    // serializations and cables each way, without waiting.
    let mean = |is_hub: bool| {
        let mut plant = Plant::default();
        let middle =
            if is_hub { plant.hub(100, Duration::ZERO) } else { plant.switch(plain_switch()) };
        let ends = stations(&mut plant, middle, 2, 100);
        let reply = Some(Reply::new(Bytes::new(60), Duration::ZERO));
        plant.flow(Flow { reply, ..periodic("a", ends[0], ends[1]) });
        let record = run(&plant, &CONFIG, Duration::from_ms(50));
        record.streams[0].latency.mean().unwrap() / 2
    };
    assert_eq!(mean(true), Duration::from_ns(9_220 + 480));
    assert_eq!(mean(false), Duration::from_ns(18_340));
}

#[test]
fn half_duplex_takes_turns() {
    // Both send a full frame at the same instant: they collide, and then the later one waits for
    // the earlier. At full duplex neither happens.
    let collisions = |duplex: Duplex| {
        let mut plant = Plant::default();
        let ends = [(); 2].map(|()| plant.station(Stack::Zero));
        let link = plant.join(ends[0], ends[1], 10);
        link.propagation = Duration::from_ns(501);
        link.duplex = duplex;
        for (name, a, b) in [("a", 0, 1), ("b", 1, 0)] {
            plant.flow(Flow {
                payload: Bytes::new(1000),
                traffic: Traffic::periodic(Duration::from_ms(20), Phase::Fixed(Duration::ZERO)),
                ..periodic(name, ends[a], ends[b])
            });
        }
        let record = run(&plant, &CONFIG, Duration::from_ms(200));
        assert!(record.streams.iter().all(|stream| stream.delivered == 10));
        let media = record.media.first();
        let collided = media.map_or(0, |media| media.collisions[0]);
        let slowest = record.streams.iter().map(|stream| stream.latency.max).max();
        (collided, slowest.unwrap())
    };
    // (1000 + 46 + 8) octets: 843.2 us, and the cable.
    assert_eq!(collisions(Duplex::Full), (0, Duration::from_ns(843_701)));
    let (collided, max) = collisions(Duplex::Half);
    assert_eq!(collided, 20, "every first attempt of both");
    // One of them waits for the whole frame of the other, and for the gap of 9.6 us.
    assert!(max >= Duration::from_ns(2 * 843_200 + 9_600), "{max}");
}

#[test]
fn a_frame_crosses_hub_switch_and_hub() {
    // Two hubs joined by a switch: two collision domains, two serializations. Each side's hub hears
    // only frames that have to pass.
    let mut plant = Plant::default();
    let left = plant.hub(10, Duration::ZERO);
    let right = plant.hub(100, Duration::ZERO);
    let switch = plant.switch(plain_switch());
    let a = stations(&mut plant, left, 2, 10);
    let b = stations(&mut plant, right, 2, 100);
    plant.join(left, switch, 10).propagation = Duration::ZERO;
    plant.join(right, switch, 100).propagation = Duration::ZERO;
    plant.flow(periodic("across", a[0], b[0]));
    plant.flow(Flow { start: Duration::from_us(400), ..periodic("inside", a[1], a[0]) });
    let record = run(&plant, &CONFIG, Duration::from_ms(100));
    // 91.2 us + 50 ns, then 9.12 us + 50 ns.
    assert_eq!(record.streams[0].latency.max, Duration::from_ns(100_420));
    assert_eq!(record.streams[1].latency.max, Duration::from_ns(91_300));
    assert_eq!(record.media.len(), 2);
    assert_eq!(record.media[1].carried, Duration::from_ns(9_120) * 100);
    let station_on_the_right = record.nodes[b[1].index()].arrived;
    assert_eq!(station_on_the_right, 100);
}

#[test]
fn joined_hubs_are_one_collision_domain() {
    let mut plant = Plant::default();
    let first = plant.hub(10, Duration::from_us(1));
    let second = plant.hub(10, Duration::from_us(2));
    let a = stations(&mut plant, first, 2, 10);
    let b = stations(&mut plant, second, 2, 10);
    plant.join(first, second, 10).propagation = Duration::from_ns(500);
    plant.flow(periodic("across", a[0], b[0]));
    plant.flow(Flow { start: Duration::from_us(500), ..periodic("inside", b[1], b[0]) });
    let record = run(&plant, &CONFIG, Duration::from_ms(100));
    assert_eq!(record.media.len(), 1);
    assert_eq!(record.media[0].ports.len(), 4);
    // 91.2 us, three cables of 50, 500 and 50 ns, hubs of 1 and 2 us.
    assert_eq!(record.streams[0].latency.max, Duration::from_ns(94_800));
    // Inside the second hub: 91.2 us, two cables, 2 us.
    assert_eq!(record.streams[1].latency.max, Duration::from_ns(93_300));
}

#[test]
fn multicast_on_a_hub_is_sent_once() {
    let mut plant = Plant::default();
    let hub = plant.hub(10, Duration::ZERO);
    let switch = plant.switch(plain_switch());
    let ends = stations(&mut plant, hub, 4, 10);
    plant.join(hub, switch, 10);
    let far = plant.station(Stack::Zero);
    plant.join(switch, far, 100);
    plant.flow(Flow {
        listeners: vec![ends[1], ends[2], far],
        delivery: Delivery::Multicast,
        ..periodic("group", ends[0], ends[1])
    });
    let record = run(&plant, &CONFIG, Duration::from_ms(100));
    assert!(record.streams.iter().all(|stream| stream.delivered == 100 && stream.dropped == 0));
    assert_eq!(record.media[0].carried, Duration::from_ns(91_200) * 100);
}

#[test]
fn what_cannot_be_built_is_refused() {
    let mut plant = Plant::default();
    let hub = plant.hub(1000, Duration::ZERO);
    stations(&mut plant, hub, 2, 1000);
    let build = |plant: &Plant| Simulation::new(&plant.network, &plant.flows, &CONFIG).err();
    assert!(matches!(build(&plant), Some(BuildError::Medium { .. })));

    let mut plant = Plant::default();
    let hub = plant.hub(10, Duration::ZERO);
    let mut switch = plain_switch();
    switch.mode = rtether_model::network::ForwardingMode::CutThrough;
    let switch = plant.switch(switch);
    plant.join(hub, switch, 10);
    assert!(matches!(build(&plant), Some(BuildError::CutThroughOnMedium { .. })));

    let mut plant = Plant::default();
    let (a, b) = (plant.hub(10, Duration::ZERO), plant.hub(100, Duration::ZERO));
    plant.join(a, b, 10);
    assert!(matches!(build(&plant), Some(BuildError::MixedHubs { .. })));

    let mut plant = Plant::default();
    let [a, b] = [(); 2].map(|()| plant.hub(10, Duration::ZERO));
    plant.join(a, b, 10).errors_per_billion = 1;
    let error = build(&plant).unwrap().to_string();
    assert_eq!(
        error,
        "the link between hubs `hub0` and `hub1` has bit errors, which are not modeled between hubs"
    );
    plant.network.links[0].errors_per_billion = 0;
    assert!(build(&plant).is_none());
}

/// A tree of hubs and switches with stations at each, and flows among them.
pub(crate) fn random_plant(number: u64) -> (Plant, Duration) {
    let mut dice = Dice::new(number ^ 0x68_7562);
    let mut plant = Plant::default();
    let mut places = Vec::new();
    for index in 0..dice.between(1, 5) {
        let mbps = dice.pick(&[10, 100]);
        let is_hub = index == 0 || dice.chance(60);
        let joined = (index > 0).then(|| dice.pick(&places));
        // Joined hubs have one rate.
        let mbps = joined.map_or(mbps, |(_, rate)| rate);
        let node = if is_hub {
            plant.hub(mbps, Duration::from_ns(dice.time(0, 400)))
        } else {
            let (queues, selection) =
                dice.pick(&[(1, Selection::Fcfs), (4, Selection::StrictPriority)]);
            plant.switch(Switch {
                queues: QueueMap::standard(queues).unwrap(),
                selection,
                ..plain_switch()
            })
        };
        if let Some((other, _)) = joined {
            plant.join(node, other, mbps).propagation = Duration::from_ns(dice.time(0, 600));
        }
        places.push((node, mbps));
    }
    // Some are so far apart that collisions come late, yet within a slot of 51.2 us.
    let is_long = dice.chance(30);
    let mut ends = Vec::new();
    for _ in 0..dice.between(2, 8) {
        let (place, mbps) = dice.pick(&places);
        let end = plant.station(Stack::Zero);
        let link = plant.join(place, end, mbps);
        let way = if is_long && mbps == 10 { dice.time(13_000, 22_000) } else { dice.time(0, 500) };
        link.propagation = Duration::from_ns(way);
        link.errors_per_billion = u32::try_from(dice.pick(&[0, 0, 10_000_000])).unwrap();
        if dice.chance(30) {
            link.duplex = Duplex::Half;
        }
        if let NodeKind::EndStation(station) = &mut plant.network.nodes[end.index()].kind {
            station.driver_queue = Bytes::new(1 << 30);
            if dice.chance(20) {
                layers::equip_amply(&mut dice, station);
            }
        }
        ends.push(end);
    }
    let length = Duration::from_ms(dice.time(20, 80));
    for index in 0..dice.between(1, 8) {
        let (from, to) = (dice.pick(&ends), dice.pick(&ends));
        if from == to {
            continue;
        }
        let flow = periodic(&format!("flow {index}"), from, to);
        plant.flow(Flow {
            payload: Bytes::new(dice.pick(&[1, 60, 700, 1_472])),
            traffic: Traffic::Poisson { mean_interval: Duration::from_us(dice.time(300, 5_000)) },
            stop: Some(length),
            reply: dice
                .chance(40)
                .then(|| Reply::new(Bytes::new(dice.between(1, 1_472)), Duration::ZERO)),
            ..flow
        });
    }
    (plant, length)
}

/// Dropped packets by reason.
#[derive(Default)]
struct Drops(BTreeMap<DropReason, u64>);

impl Observer for Drops {
    fn dropped(&mut self, _: Instant, _: NodeId, _: &PacketInfo, reason: DropReason) {
        *self.0.entry(reason).or_default() += 1;
    }
}

#[test]
fn books_balance_on_random_plants() {
    // Oracle: `Simulation::invariants` after every step (each port, node, link and medium); once
    // everything has drained, each release is delivered or dropped, and nothing is in transit; the
    // parts of every timeline add up. Late collisions and garbled frames must occur.
    let end = Instant::ZERO + Duration::from_secs(1_000);
    let cases = if std::env::var_os("RTETHER_NIGHTLY").is_some() { 10_000 } else { 200 };
    let (mut delivered, mut drops, mut seen) = (0, Drops::default(), Seen::default());
    for number in 0..cases {
        let (plant, length) = random_plant(number);
        let config = Config { seed: number, ..CONFIG };
        let mut simulation = Simulation::new(&plant.network, &plant.flows, &config).unwrap();
        let watched = (Drops::default(), follow_all(&plant));
        let mut print = (Fingerprint::default(), watched);
        for step in 1..=40 {
            simulation.run_until(Instant::ZERO + length / 40 * step, &mut print);
            simulation.invariants().unwrap_or_else(|what| panic!("case {number}: {what}"));
        }
        simulation.run_until(end, &mut print);
        simulation.invariants().unwrap();
        let record = simulation.finish();
        for stream in &record.streams {
            assert_eq!(stream.released, stream.delivered + stream.dropped, "case {number}");
            delivered += stream.delivered;
        }
        let mut again = Fingerprint::default();
        let mut simulation = Simulation::new(&plant.network, &plant.flows, &config).unwrap();
        simulation.run_until(end, &mut again);
        assert_eq!(print.0, again, "case {number} repeats");
        let (own, timelines) = print.1;
        check_all(timelines, &plant, &mut seen);
        for (reason, more) in own.0 {
            *drops.0.entry(reason).or_default() += more;
        }
    }
    for reason in [DropReason::LateCollision, DropReason::Garbled] {
        assert!(drops.0.get(&reason) > Some(&10), "{reason:?}: {:?}", drops.0);
    }
    assert!(delivered > cases * 10, "the plants carry something: {delivered}");
    assert_eq!(seen.timelines, delivered, "each has its timeline");
}
