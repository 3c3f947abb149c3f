//! The place that is blamed for the slowest packet, against the same plant in which this place is free.
//!
//! Each plant is drawn from its number; releases, sizes and drawn times are the same in both runs,
//! since every random stream has its own generator. `RTETHER_BLAME=KIND:NUMBER` repeats one plant and
//! prints what became of it.

#![allow(clippy::print_stdout, reason = "figures")]

use std::collections::BTreeMap;
use std::env;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use rtether_model::flow::{Bulk, Flow, FlowId, Phase, Reply, TcpParameters, Traffic, Transfer};
use rtether_model::network::{
    Cost, Jitter, LinearStack, LinkId, NodeId, NodeKind, Servers, Spread, Stack, Tasks,
};
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_model::record::{Place, Segment};
use rtether_model::wire::Encapsulation;
use rtether_sim::observe::{Delivery, NoObserver, Observer, PacketInfo};
use rtether_testkit::Dice;

use crate::random::layers;
use crate::support::{Plant, periodic, plain_switch};
use explained::{Reason, explain};

mod explained;

/// Plants of each kind.
const CASES: u64 = 100;
const LONG_CASES: u64 = 10_000;

/// What is in a plant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Datagrams through switches.
    Switched,
    /// Datagrams at hubs.
    Hubs,
    /// Messages over TCP.
    Messages,
    /// Files over TCP.
    Files,
    /// Requests and answers, over UDP and TCP.
    Replies,
    /// Stations with tasks, queues and smoothers.
    Layers,
}

const KINDS: [Kind; 6] =
    [Kind::Switched, Kind::Hubs, Kind::Messages, Kind::Files, Kind::Replies, Kind::Layers];

impl Kind {
    fn is_tcp(self, dice: &mut Dice) -> bool {
        match self {
            Self::Switched | Self::Hubs => false,
            Self::Messages | Self::Files => true,
            Self::Replies | Self::Layers => dice.chance(50),
        }
    }
}

fn stack(dice: &mut Dice) -> Stack {
    let us = |dice: &mut Dice, most: i64| Duration::from_ns(dice.time(0, most * 1_000));
    let cost = |dice: &mut Dice| Cost {
        base: us(dice, 100),
        per_octet: Duration::from_ns(dice.pick(&[0, 0, 10])),
    };
    match dice.between(0, 9) {
        0 | 1 => Stack::Zero,
        2..=5 => Stack::IpRate { service: us(dice, 150) },
        _ => Stack::Linear(LinearStack {
            send: cost(dice),
            receive: cost(dice),
            interface: Cost::default(),
            jitter: Jitter {
                spread: if dice.chance(30) {
                    Spread::Uniform { max: us(dice, 30) }
                } else {
                    Spread::None
                },
                outliers: None,
            },
            servers: dice.pick(&[Servers::Shared, Servers::PerDirection]),
        }),
    }
}

fn station(kind: Kind, dice: &mut Dice, plant: &mut Plant) -> NodeId {
    let node = plant.station(stack(dice));
    if kind == Kind::Layers
        && let NodeKind::EndStation(own) = &mut plant.network.nodes[node.index()].kind
    {
        layers::equip_amply(dice, own);
        if dice.chance(30) {
            own.tasks = Some(Tasks {
                message: Duration::from_ns(dice.time(0, 60_000)),
                segment: Duration::from_ns(dice.time(0, 60_000)),
                messages_first: dice.chance(50),
            });
        }
    }
    node
}

fn draw(kind: Kind, number: u64) -> Plant {
    let mut dice = Dice::new(number);
    let mut plant = Plant::default();
    let middles: Vec<NodeId> = if kind == Kind::Hubs {
        vec![plant.hub(10, Duration::ZERO)]
    } else {
        let some = 0..dice.between(1, 3);
        some.map(|_| {
            let latency = Duration::from_us(dice.time(0, 20));
            plant.switch(rtether_model::network::Switch { latency, ..plain_switch() })
        })
        .collect()
    };
    for pair in middles.windows(2) {
        plant.join(pair[0], pair[1], dice.pick(&[10, 100]));
    }
    let count = dice.between(3, 6);
    let stations: Vec<NodeId> = (0..count)
        .map(|_| {
            let node = station(kind, &mut dice, &mut plant);
            let rate = if kind == Kind::Hubs { 10 } else { dice.pick(&[10, 100, 100]) };
            plant.join(dice.pick(&middles), node, rate);
            node
        })
        .collect();
    for position in 0..dice.between(1, 5) {
        let talker = dice.index(stations.len());
        let listener =
            (talker + dice.small::<usize>(1, stations.len() as u64 - 1)) % stations.len();
        let ends = [stations[talker], stations[listener]];
        let flow = flow(kind, &mut dice, position, ends);
        plant.flow(flow);
    }
    plant
}

fn tcp(dice: &mut Dice) -> TcpParameters {
    TcpParameters {
        window: Bytes::new(dice.pick(&[2_920, 7_300, 65_535])),
        ack_every: dice.pick(&[1, 2, 2]),
        ack_delay: Duration::from_us(dice.pick(&[500, 40_000])),
        ..TcpParameters::default()
    }
}

fn flow(kind: Kind, dice: &mut Dice, position: u64, [from, to]: [NodeId; 2]) -> Flow {
    let name = format!("f{position}");
    let phase = Phase::Fixed(Duration::from_ns(dice.time(0, 5_000_000)));
    let period = Duration::from_us(dice.time(4_000, 20_000));
    // The first one is explained; the others are in its way.
    let is_first = position == 0;
    if kind == Kind::Files && (is_first || dice.chance(30)) {
        let traffic = Traffic::Bulk(Bulk {
            transfers: vec![Transfer {
                start: Duration::from_ns(dice.time(0, 2_000_000)),
                size: Some(Bytes::new(dice.between(3_000, 60_000))),
            }],
            bursts: None,
            rate: dice.chance(10).then(|| BitRate::from_mbps(5)),
            tcp: tcp(dice),
        });
        return Flow {
            traffic,
            encapsulation: Encapsulation::Tcp,
            deadline: Some(Duration::from_secs(1)),
            ..periodic(&name, from, to)
        };
    }
    let is_tcp = kind.is_tcp(dice) && (is_first || dice.chance(50));
    let size = |dice: &mut Dice| {
        let most = if is_tcp { 20_000 } else { 3_000 };
        Bytes::new(dice.pick(&[60, 1_000]).max(dice.between(1, most)))
    };
    let payload = size(dice);
    let replies = kind == Kind::Replies && (is_first || dice.chance(40));
    let reply = replies.then(|| Reply::new(size(dice), Duration::from_us(dice.pick(&[0, 0, 100]))));
    Flow {
        payload,
        traffic: Traffic::periodic(period, phase),
        encapsulation: if is_tcp { Encapsulation::Tcp } else { Encapsulation::Udp },
        connection: is_tcp.then(|| tcp(dice)),
        reply,
        ..periodic(&name, from, to)
    }
}

/// Makes a place free: it takes no time, or is as fast as there is.
fn free(plant: &mut Plant, place: Place) {
    let Place { segment, port } = place;
    let node = port.node;
    match segment {
        Segment::TalkerStack | Segment::ReceiveQueue | Segment::ReceiveStack => {
            if let NodeKind::EndStation(own) = &mut plant.network.nodes[node.index()].kind {
                own.stack = Stack::Zero;
                // What waits there may wait for its turn.
                if let (Segment::ReceiveQueue, Some(layer)) = (segment, &mut own.layer) {
                    layer.receive = None;
                }
            }
        }
        Segment::DriverQueue | Segment::Wire | Segment::SwitchQueue => {
            let link = plant.network.links.iter().position(|link| link.ends.contains(&port));
            let link = LinkId(u32::try_from(link.expect("a port in use")).unwrap());
            let is_shared = plant.network.is_half_duplex(&plant.network.links[link.index()]);
            if is_shared {
                return faster_hubs(plant);
            }
            plant.network.links[link.index()].rate = BitRate::from_mbps(1_000_000);
            if let NodeKind::EndStation(own) = &mut plant.network.nodes[node.index()].kind
                && let (Segment::DriverQueue, Some(layer)) = (segment, &mut own.layer)
            {
                layer.transmit = None;
                layer.smoother = None;
            }
        }
        Segment::MediumAccess => faster_hubs(plant),
        Segment::SwitchLatency => {
            if let NodeKind::Switch(own) = &mut plant.network.nodes[node.index()].kind {
                own.latency = Duration::ZERO;
            }
        }
        Segment::Application => {
            if let NodeKind::EndStation(own) = &mut plant.network.nodes[node.index()].kind {
                own.tasks = None;
            }
            for flow in &mut plant.flows {
                if let Some(reply) = &mut flow.reply {
                    reply.after = Duration::ZERO;
                }
                if let Traffic::Bulk(bulk) = &mut flow.traffic {
                    bulk.rate = None;
                }
            }
        }
        Segment::Protocol => {
            for flow in &mut plant.flows {
                let tcp = match &mut flow.traffic {
                    Traffic::Bulk(bulk) => Some(&mut bulk.tcp),
                    Traffic::Periodic { .. }
                    | Traffic::Sporadic { .. }
                    | Traffic::Poisson { .. }
                    | Traffic::Flood { .. }
                    | Traffic::Adaptive { .. } => flow.connection.as_mut(),
                };
                if let Some(tcp) = tcp {
                    tcp.ack_every = 1;
                }
            }
        }
    }
}

/// Hubs at the highest rate that the standard has for them.
fn faster_hubs(plant: &mut Plant) {
    let fast = BitRate::from_mbps(100);
    for node in &mut plant.network.nodes {
        if let NodeKind::Hub(hub) = &mut node.kind {
            hub.rate = fast;
        }
    }
    for link in &mut plant.network.links {
        link.rate = fast;
    }
}

/// Long enough for the largest file at the slowest place.
const MS: i64 = 300;

/// Looks for a packet of the first flow by its release.
struct Watched {
    released_at: Instant,
    found: Option<Parts>,
}

/// A latency and its parts: those of the packet, and of what it waited for.
#[derive(Clone, Copy, Debug)]
struct Parts {
    latency: Duration,
    by_segment: [Duration; Segment::COUNT],
}

impl Observer for Watched {
    fn delivered(&mut self, _: Instant, packet: &PacketInfo, delivery: &Delivery) {
        let is_it = packet.flow == FlowId(0) && packet.released_at == self.released_at;
        if is_it && self.found.is_none() {
            let mut by_segment = delivery.awaited;
            for (segment, part) in Segment::ALL.into_iter().zip(delivery.segments) {
                // The protocol's is that of what was awaited.
                if segment != Segment::Protocol {
                    by_segment[segment.index()] += part;
                }
            }
            self.found = Some(Parts { latency: delivery.latency, by_segment });
        }
    }
}

/// Runs a plant and returns what became of the packet that was released then, and which place is blamed
/// in this plant; `None` if the packet does not arrive.
fn follow(plant: &Plant, number: u64, released_at: Instant) -> Option<(Parts, Option<Place>)> {
    let mut seen = Watched { released_at, found: None };
    let record = plant.run_with(MS * 2, number, &mut seen);
    let worst = record.streams[0].worst.map(|worst| worst.responsible.0);
    seen.found.map(|found| (found, worst))
}

/// What became of one plant.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    released_at: Instant,
    place: Place,
    latency: Duration,
    blamed: Duration,
    /// With the place free.
    freed: Duration,
}

impl Outcome {
    fn falls(&self) -> bool {
        self.freed < self.latency
    }

    fn falls_by_half(&self) -> bool {
        self.is_half(self.freed)
    }

    /// Returns whether this latency is less by at least half of the blame.
    fn is_half(&self, freed: Duration) -> bool {
        (self.latency - freed) * 2 >= self.blamed
    }
}

/// Compares a plant with itself; `None` if no packet has taken any time.
fn compare(kind: Kind, number: u64) -> Option<Outcome> {
    let plant = draw(kind, number);
    let record = plant.run_with(MS, number, &mut NoObserver);
    let worst = record.streams[0].worst?;
    let (place, blamed) = worst.responsible;
    if blamed == Duration::ZERO {
        return None;
    }
    let mut other = plant.clone();
    free(&mut other, place);
    let freed = follow(&other, number, worst.released_at);
    Some(Outcome {
        released_at: worst.released_at,
        place,
        latency: worst.latency,
        blamed,
        freed: freed.map_or(Duration::from_secs(1), |(parts, _)| parts.latency),
    })
}

/// Counts of a kind.
#[derive(Clone, Debug, Default)]
struct Shares {
    plants: u64,
    fell: u64,
    by_half: u64,
    exceptions: Vec<(u64, Outcome, Option<Reason>)>,
}

fn shares(kind: Kind, cases: u64) -> Shares {
    let next = AtomicU64::new(0);
    let all = Mutex::new(Shares::default());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= cases {
                        break;
                    }
                    let Some(outcome) = compare(kind, number) else {
                        continue;
                    };
                    let is_exception = !outcome.falls() || !outcome.falls_by_half();
                    let reason = is_exception.then(|| explain(kind, number, &outcome));
                    let mut all = all.lock().unwrap();
                    all.plants += 1;
                    all.fell += u64::from(outcome.falls());
                    all.by_half += u64::from(outcome.falls_by_half());
                    if let Some(reason) = reason {
                        all.exceptions.push((number, outcome, reason));
                    }
                }
            });
        }
    });
    all.into_inner().unwrap()
}

/// Oracle: the same simulation with the blamed place free. Where the delay does not fall, or by less
/// than half of what was blamed, [`explain`] says why, and tries what it says: no exception is left.
///
/// Of messages of many segments the delay falls, too, but often by less than half: the segments wait for
/// each other, and if they do so no longer at one place they do at the next that is as slow
/// ([`Reason::NextLimit`]). Their share is printed and not required.
fn the_blamed_place_is_the_cause(cases: u64) {
    for kind in KINDS {
        let shares = shares(kind, cases);
        let Shares { plants, fell, by_half, ref exceptions } = shares;
        println!(
            "{kind:?}: {plants} plants, delay falls in {fell}, by half of the blame in {by_half}"
        );
        let mut reasons: BTreeMap<Option<Reason>, u64> = BTreeMap::new();
        for (number, one, reason) in exceptions {
            *reasons.entry(*reason).or_default() += 1;
            println!("  RTETHER_BLAME={kind:?}:{number} {reason:?} {one:?}");
        }
        println!("{kind:?}: {reasons:?}");
        assert_eq!(reasons.get(&None), None, "{kind:?}: an exception is not explained");
        // In one plant of ten a layer holds all packets of the flow beyond the end of the run.
        let tenths = if kind == Kind::Layers { 8 } else { 9 };
        assert!(plants * 10 >= cases * tenths, "{kind:?}: {plants} plants with a delay");
        assert!(
            // One in a hundred, also of fewer.
            (plants - fell) * 100 <= plants.max(100),
            "{kind:?}: falls in {fell} of {plants}"
        );
        let is_frame_by_frame = matches!(kind, Kind::Switched | Kind::Hubs);
        assert!(
            !is_frame_by_frame || by_half * 100 >= plants * 95,
            "{kind:?}: by half in {by_half} of {plants}"
        );
    }
}

#[test]
fn freeing_the_blamed_place_helps() {
    if let Ok(one) = env::var("RTETHER_BLAME") {
        let (kind, number) = one.split_once(':').expect("KIND:NUMBER");
        let kind = KINDS.into_iter().find(|own| format!("{own:?}") == kind).expect("a kind");
        let number = number.parse().expect("a number");
        let outcome = compare(kind, number).expect("a delay");
        let reason = explain(kind, number, &outcome);
        println!("{:#?}\n{outcome:#?}\n{reason:?}", draw(kind, number));
        return;
    }
    the_blamed_place_is_the_cause(CASES);
}

/// Oracle: the same plants with that port free, in which the messages take a seventh and a twelfth of the
/// time. At the release an acknowledgment waits there behind frames of another flow.
#[test]
fn an_acknowledgment_is_waited_for_where_it_waits() {
    for (number, times) in [(1_618, 6), (4_115, 12)] {
        let outcome = compare(Kind::Messages, number).expect("a delay");
        assert_eq!(outcome.place.segment, Segment::SwitchQueue, "{outcome:?}");
        assert!(outcome.freed * times < outcome.latency, "{outcome:?}");
        assert!(outcome.falls_by_half(), "{outcome:?}");
    }
}

#[test]
#[ignore = "long"]
fn freeing_the_blamed_place_helps_in_many_plants() {
    the_blamed_place_is_the_cause(LONG_CASES);
}
