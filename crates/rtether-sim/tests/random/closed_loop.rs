//! Random plants with traffic that waits for the other side: messages over connections, adaptive
//! requests, bursts of files.
//!
//! Limits: at most 5 % of frames are lost on a link, and every queue has room for a few frames;
//! beyond that TCP may need longer than the run lasts. No case comes near the limit of 100 000
//! messages in transit per connection.

use std::sync::Mutex;

use rtether_model::flow::{
    Bulk, Bursts, Delivery, Flow, Phase, Reply, Tag, TcpParameters, Traffic,
};
use rtether_model::network::{NodeId, NodeKind};
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_model::record::{Record, Segment, TransferRecord};
use rtether_model::route::Routing;
use rtether_model::wire::Encapsulation;
use rtether_sim::observe::{self, Fingerprint, Observer, PacketInfo};

use super::network::{pcp, vid};
use super::{Case, for_each_case};
use crate::support::{Plant, periodic};
use rtether_testkit::Dice;

/// With heavy losses, a minute passes between retransmissions.
const DRAINED: Duration = Duration::from_secs(500_000);
/// Largest loss on a link, in frames per billion: with more, even `DRAINED` is too short.
const LOST: u32 = 50_000_000;

/// Replaces the flows of a case.
fn closed_loop(number: u64) -> Case {
    let mut case = Case::new(number);
    case.config.bucket = Duration::ZERO;
    give_room(&mut case.plant);
    for link in &mut case.plant.network.links {
        link.errors_per_billion = link.errors_per_billion.min(LOST);
    }
    let mut dice = Dice::new(number.rotate_left(32));
    let templates = std::mem::take(&mut case.plant.flows);
    let routing = Routing::new(&case.plant.network);
    for (index, template) in templates.into_iter().enumerate() {
        let flow = flow(&mut dice, &format!("f{index}"), &template);
        let path = |flow: &Flow, to| routing.flow_path(&case.plant.network, flow, to).is_ok();
        let reaches = |&to: &NodeId| {
            let back = Flow { talker: to, ..flow.clone() };
            path(&flow, to) && path(&back, flow.talker)
        };
        if flow.listeners.iter().all(reaches) {
            case.plant.flow(flow);
        }
    }
    case
}

/// Makes room for a few frames everywhere: where none can wait, retransmissions of two connections
/// in step collide forever, since clocks do not drift.
fn give_room(plant: &mut Plant) {
    for node in &mut plant.network.nodes {
        match &mut node.kind {
            NodeKind::EndStation(station) => {
                station.stack_queue = station.stack_queue.max(8);
                // Some layers let low classes starve by design; and smoothers tick.
                station.layer = None;
            }
            NodeKind::Switch(switch) => {
                let buffer = &mut switch.buffer;
                buffer.per_port = buffer.per_port.max(Bytes::new(4_000));
                let enough = |shared: Bytes| shared.max(Bytes::new(12_000));
                buffer.shared = buffer.shared.map(enough);
            }
            NodeKind::Hub(_) => {}
        }
    }
}

fn flow(dice: &mut Dice, name: &str, template: &Flow) -> Flow {
    let payload = |dice: &mut Dice| Bytes::new(dice.between(1, 1_400));
    let tcp = TcpParameters {
        segment: Bytes::new(dice.pick(&[100, 536, 1_460])),
        window: Bytes::new(dice.pick(&[2_000, 20_000, 65_535])),
        initial_window: dice.pick(&[1, 2, 10]),
        ack_every: dice.pick(&[1, 2]),
        ack_delay: Duration::from_us(dice.pick(&[500, 40_000])),
        min_rto: Duration::from_us(dice.pick(&[2_000, 200_000])),
    };
    let mut flow = Flow {
        listeners: template.listeners.clone(),
        delivery: Delivery::Unicast,
        payload: payload(dice),
        tag: dice.chance(50).then(|| Tag { pcp: pcp(dice), vid: vid(dice.pick(&[0, 10, 20])) }),
        stop: template.stop,
        reply: Some(Reply::new(payload(dice), Duration::from_us(dice.pick(&[0, 0, 20, 900])))),
        deadline: template.deadline,
        ..periodic(name, template.talker, template.listeners[0])
    };
    let interval = Duration::from_ns(dice.time(50_000, 1_000_000));
    match dice.between(0, 4) {
        0 => {
            flow.traffic = Traffic::Bulk(Bulk {
                transfers: Vec::new(),
                bursts: Some(Bursts {
                    size: Bytes::new(dice.between(1, 20_000)),
                    mean_gap: dice.chance(50).then_some(interval),
                }),
                rate: None,
                tcp,
            });
            flow.listeners.truncate(1);
            flow.reply = None;
            flow.payload = Bytes::new(1_000);
            return flow;
        }
        1 | 2 => {
            flow.traffic = Traffic::Adaptive {
                pause: dice.pick(&[Duration::ZERO, interval]),
                timeout: dice.pick(&[Duration::from_us(200), Duration::from_ms(2)]),
            };
        }
        3 => {
            flow.traffic = Traffic::Poisson { mean_interval: interval };
        }
        _ => {
            flow.traffic = Traffic::periodic(interval, Phase::Random);
        }
    }
    if dice.chance(70) {
        flow.connection = Some(tcp);
        flow.encapsulation = Encapsulation::Tcp;
        flow.payload = Bytes::new(dice.pick(&[1, 100, 5_000]));
        if dice.chance(30) && !matches!(flow.traffic, Traffic::Adaptive { .. }) {
            flow.reply = None;
        }
    }
    flow
}

/// Numbers and times of deliveries, by stream.
struct Arrivals<'a> {
    plant: &'a Plant,
    next: Vec<u32>,
}

impl Observer for Arrivals<'_> {
    fn delivered(&mut self, now: Instant, packet: &PacketInfo, delivery: &observe::Delivery) {
        let parts = delivery.segments.iter().copied().sum::<Duration>();
        assert_eq!(parts, delivery.latency);
        assert!(delivery.segments.iter().all(|part| !part.is_negative()));
        assert_eq!(delivery.latency, now - packet.released_at);
        let flow = &self.plant.flows[packet.flow.index()];
        if flow.connection.is_none() {
            return;
        }
        let floor = flow.reply.map_or(Duration::ZERO, |reply| reply.after);
        assert!(delivery.latency > floor);
        let next = &mut self.next[delivery.stream];
        assert_eq!(packet.number, *next, "a message of {} is missing", flow.name);
        *next += 1;
    }
}

/// Runs in steps chosen by the case number, until nothing is in transit.
fn run(case: &Case) -> (Record, Fingerprint) {
    let mut dice = Dice::new(case.number);
    let streams = case.plant.flows.iter().map(|flow| flow.listeners.len());
    let arrivals = Arrivals { plant: &case.plant, next: vec![0; streams.sum()] };
    let mut observer = (arrivals, Fingerprint::default());
    let mut simulation = case.simulation();
    while simulation.now() < case.until {
        let step = Duration::from_ns(dice.time(1, 200_000));
        simulation.run_until(case.until.min(simulation.now() + step), &mut observer);
        simulation.invariants().unwrap();
    }
    simulation.run_until(Instant::ZERO + DRAINED, &mut observer);
    simulation.invariants().unwrap();
    (simulation.finish(), observer.1)
}

/// Oracles: messages have consecutive numbers, the parts of each latency add up to it, at the end
/// nothing is in transit, and the second run equals the first.
#[test]
fn whatever_waits_goes_on_in_the_end() {
    // Messages, adaptive answers, bursts, and streams that waited in TCP.
    let seen = Mutex::new([0; 4]);
    for_each_case(|plain| {
        let case = closed_loop(plain.number);
        let (record, fingerprint) = run(&case);
        for stream in &record.streams {
            let flow = &case.plant.flows[stream.flow_id().index()];
            assert_eq!(stream.in_flight, 0, "{} is not drained", flow.name);
            assert_eq!(stream.released, stream.delivered + stream.dropped);
            if flow.connection.is_some() {
                assert_eq!(stream.dropped, 0, "a message of {} is lost", flow.name);
            }
            let transfers = &stream.transfers;
            // A transfer is given up after 15 timeouts in a row.
            let is_over = |t: &TransferRecord| t.finished_at.is_some() || t.timeouts >= 15;
            assert!(transfers.iter().all(is_over), "{transfers:?}");
            let waited = stream.segments_ps[Segment::Protocol.index()] > 200_000_000_000;
            let counts = [
                u64::from(flow.connection.is_some()) * stream.delivered,
                u64::from(matches!(flow.traffic, Traffic::Adaptive { .. })) * stream.delivered,
                transfers.len() as u64,
                u64::from(flow.connection.is_some() && waited),
            ];
            for (sum, count) in seen.lock().unwrap().iter_mut().zip(counts) {
                *sum += count;
            }
        }
        assert_eq!((record, fingerprint), run(&case));
    });
    let seen = seen.into_inner().unwrap();
    let is_whole = std::env::var_os("RTETHER_CASE").is_none();
    assert!(!is_whole || seen.iter().all(|&count| count > 20), "{seen:?}");
}
