//! Throughput and waiting times against formulas.

use rtether_model::flow::{Bulk, Flow, TcpParameters, Traffic, Transfer};
use rtether_model::network::{NodeId, NodeKind, PortId, Stack};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::record::{PortRecord, Record};
use rtether_model::wire::{self, Encapsulation};
use rtether_sim::{Config, Simulation, observe::NoObserver};

use crate::support::{Plant, periodic, plain_switch};

const SEGMENT: u32 = 1_460;
const WARMUP: Duration = Duration::from_ms(500);
/// Data octets per octet of wire of full segments: 1460 / 1538.
const EFFICIENCY: f64 = 1_460.0 / 1_538.0;

/// An endless transfer with a window of `segments` segments, each acknowledged.
fn endless(name: &str, talker: NodeId, listener: NodeId, segments: u64) -> Flow {
    Flow {
        encapsulation: Encapsulation::Tcp,
        traffic: Traffic::Bulk(Bulk {
            bursts: None,
            transfers: vec![Transfer { start: Duration::ZERO, size: None }],
            rate: None,
            tcp: TcpParameters {
                window: Bytes::new(u64::from(SEGMENT) * segments),
                ack_every: 1,
                ..TcpParameters::default()
            },
        }),
        ..periodic(name, talker, listener)
    }
}

/// Two stations at 100 Mbit/s with 2 ms of cable each, and a transfer between them.
fn far_apart(stack: &Stack, segments: u64) -> Plant {
    let mut plant = Plant::default();
    let switch = plant.switch(plain_switch());
    let ends = [(); 2].map(|()| plant.station(stack.clone()));
    for end in ends {
        plant.join(switch, end, 100).propagation = Duration::from_ms(2);
    }
    plant.flow(endless("bulk", ends[0], ends[1], segments));
    plant
}

/// Runs for two seconds and returns the record after warm-up.
fn record(plant: &Plant) -> Record {
    let config = Config { seed: 1, warmup: WARMUP, bucket: Duration::ZERO };
    let mut simulation = Simulation::new(&plant.network, &plant.flows, &config).unwrap();
    let end = rtether_model::quantity::Instant::ZERO + Duration::from_secs(2);
    simulation.run_until(end, &mut NoObserver);
    simulation.invariants().unwrap();
    simulation.finish()
}

/// Goodput of a stream in bit/s. Packets released between the end of the warm-up and one latency
/// before the end of the run count.
fn goodput(record: &Record, stream: usize) -> f64 {
    let stream = &record.streams[stream];
    let time = record.duration - WARMUP - stream.latency.mean().unwrap_or_default();
    to_f64(stream.payload_bytes * 8) / time.as_secs_f64()
}

#[allow(clippy::cast_precision_loss, reason = "counts of a short run")]
fn to_f64(value: u64) -> f64 {
    value as f64
}

#[track_caller]
fn assert_within(value: f64, low: f64, high: f64) {
    assert!((low..=high).contains(&value), "{value} is not in {low}..{high}");
}

#[test]
fn a_window_limits_to_window_over_round_trip_time() {
    // Data of 1518 and acknowledgements of 64 octets over two links each, 8 ms of cable, and four
    // passes through stacks: 122.08 * 2 + 5.76 * 2 + 8000 + 4 * 100 us.
    let service = Duration::from_us(100);
    let fast = rtether_model::quantity::BitRate::from_mbps(100);
    let wire = [1_518, 64].map(|size| wire::wire_time(Bytes::new(size), fast) * 2);
    let round_trip = wire[0] + wire[1] + Duration::from_ms(8) + service * 4;
    assert_eq!(round_trip, Duration::from_ns(8_655_680));
    let formula =
        |segments: u64| to_f64(segments * 8 * u64::from(SEGMENT)) / round_trip.as_secs_f64();

    // One segment at a time: 1.5 s / round trip, give or take one.
    let stack = Stack::IpRate { service };
    let alone = goodput(&record(&far_apart(&stack, 1)), 0);
    assert_within(alone / formula(1), 0.994, 1.006);
    // Eight leave one service apart, and so do their acknowledgements: none has to wait.
    let several = goodput(&record(&far_apart(&stack, 8)), 0);
    assert_within(several / formula(8), 0.994, 1.006);
}

#[test]
fn a_stack_limits_to_its_packet_rate() {
    // The listener's one server takes 1 ms for each segment and 1 ms for each acknowledgement.
    let stack = Stack::IpRate { service: Duration::from_ms(1) };
    let rate = goodput(&record(&far_apart(&stack, 40)), 0);
    let formula = f64::from(SEGMENT) * 8.0 / 2e-3;
    assert_within(rate / formula, 0.99, 1.01);
}

#[test]
fn a_saturated_link_carries_its_share_of_payload() {
    let mut plant = Plant::default();
    let switch = plant.switch(plain_switch());
    let ends = [(); 2].map(|()| plant.station(Stack::Zero));
    for end in ends {
        plant.join(switch, end, 100);
    }
    plant.flow(endless("bulk", ends[0], ends[1], 44));
    let record = record(&plant);
    // 94.93 Mbit/s; two segments more or less in 1.5 s are 1.6e-4 of it.
    assert_within(goodput(&record, 0) / (EFFICIENCY * 1e8), 0.9998, 1.0002);
    assert_eq!(record.streams[0].dropped, 0);
}

#[test]
fn two_transfers_share_a_link_by_tail_drop() {
    let mut plant = Plant::default();
    let mut switch = plain_switch();
    switch.buffer.per_port = Bytes::new(60_000);
    let switch = plant.switch(switch);
    let [sink, a, b] = [(); 3].map(|()| plant.station(Stack::Zero));
    for (end, cable_us) in [(sink, 0), (a, 100), (b, 130)] {
        plant.join(switch, end, 100).propagation = Duration::from_us(cable_us);
    }
    // Both windows exceed the buffer, otherwise the flow that fills it first would keep it.
    plant.flow(endless("a", a, sink, 100));
    plant.flow(endless("b", b, sink, 100));
    let record = record(&plant);
    let shares = [0, 1].map(|stream| goodput(&record, stream) / (EFFICIENCY * 1e8));
    // The whole link, except for retransmissions, which count in a stream only on arrival.
    assert_within(shares[0] + shares[1], 0.98, 1.002);
    // Not a fair share: with exact timing, tail drop favors the flow that comes first after a
    // departure (phase effects; Floyd and Jacobson, 1992).
    assert!(shares.iter().all(|&share| share > 0.01), "{shares:?}");
    assert!(record.streams.iter().any(|stream| stream.dropped > 0));
    let busy = port(&record, PortId::first(switch)).utilization(record.duration);
    assert_within(busy, 0.98, 1.0);
}

fn port(record: &Record, id: PortId) -> &PortRecord {
    record.ports.iter().find(|port| port.port == id).unwrap()
}

/// Twenty Poisson talkers behind fast links, one listener at 100 Mbit/s.
fn many_to_one(utilization_percent: i64) -> Plant {
    let mut plant = Plant::default();
    let switch = plant.switch(plain_switch());
    let sink = plant.station(Stack::Zero);
    plant.join(switch, sink, 100);
    let talkers = 20;
    for number in 0..talkers {
        let talker = plant.station(Stack::Zero);
        plant.join(switch, talker, 2_500);
        let flow = plant.flow(periodic(&format!("f{number}"), talker, sink));
        let mean_interval = SERVICE * 100 * talkers / utilization_percent;
        flow.traffic = Traffic::Poisson { mean_interval };
    }
    plant
}

/// A frame of 106 octets with preamble and gap at 100 Mbit/s.
const SERVICE: Duration = Duration::from_ns(10_080);

#[test]
fn waiting_times_are_those_of_m_d_1() {
    // Pollaczek and Khinchin: mean wait = rho * S / (2 * (1 - rho)). Oracle for the error: the
    // spread of the means of independent runs.
    for percent in [30, 60, 80] {
        let plant = many_to_one(percent);
        let sink = PortId::first(NodeId(0));
        assert!(matches!(plant.network.nodes[0].kind, NodeKind::Switch(_)));
        let means: Vec<f64> = (1..=20)
            .map(|seed| {
                let record = plant.run_with(400, seed, &mut NoObserver);
                let queue = port(&record, sink).queues[0];
                let total = Duration::from_ps(i64::try_from(queue.waited_ps).unwrap());
                total.as_us_f64() / to_f64(queue.sent)
            })
            .collect();
        let runs = to_f64(means.len() as u64);
        let mean = means.iter().sum::<f64>() / runs;
        let spread: f64 = means.iter().map(|own| (own - mean).powi(2)).sum();
        let error = (spread / (runs - 1.0) / runs).sqrt();
        let rho = f64::from(i32::try_from(percent).unwrap()) / 100.0;
        let formula = rho * SERVICE.as_us_f64() / (2.0 * (1.0 - rho));
        assert!(error < 0.02 * formula, "{error} us is too coarse for {formula} us");
        assert_within(mean, formula - 3.0 * error, formula + 3.0 * error);
    }
}
