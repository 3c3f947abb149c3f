//! Adaptive requests against counts by hand.

use rtether_model::flow::{Reply, TcpParameters, Traffic};
use rtether_model::network::{NodeId, Stack};
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_model::wire::Encapsulation;
use rtether_sim::observe::{Fingerprint, Observer, PacketInfo};
use rtether_sim::{BuildError, Config, Simulation};

use crate::support::{Plant, two_stations};

/// 60 octets over UDP, there and back over two links of 100 Mbit/s each: 4 frames of 9.12 us.
const ROUND_TRIP: Duration = Duration::from_ns(36_480);

/// Two stations; requests of 60 octets, answered after `after` with 60.
fn ping(pause: Duration, timeout: Duration, after: Duration) -> Plant {
    let mut plant = two_stations(&Stack::Zero);
    let flow = &mut plant.flows[0];
    flow.traffic = Traffic::Adaptive { pause, timeout };
    flow.reply = Some(Reply::new(Bytes::new(60), after));
    plant
}

/// Release times of the requests.
#[derive(Default)]
struct Requests(Vec<Instant>);

impl Observer for Requests {
    fn released(&mut self, now: Instant, packet: &PacketInfo) {
        if !packet.is_reverse {
            self.0.push(now);
        }
    }
}

#[test]
fn as_many_requests_as_round_trips_and_pauses_fit() {
    // Oracle: one at 0 and after every round trip plus pause; 1 s / 1036.48 us = 964.8.
    let (ms, zero) = (Duration::from_ms, Duration::ZERO);
    let record = ping(ms(1), ms(100), zero).run(1_000);
    let stream = &record.streams[0];
    assert_eq!((stream.released, stream.delivered), (965, 965));
    assert_eq!((stream.latency.min, stream.latency.max), (ROUND_TRIP, ROUND_TRIP));
    // Without a pause: 1 s / 36.48 us = 27412.3.
    let record = ping(zero, ms(100), zero).run(1_000);
    assert_eq!(record.streams[0].released, 27_413);
    assert_eq!(record.streams[0].in_flight, 1);
    // The start and the stop hold: 500 ms / 1036.48 us = 482.4.
    let mut plant = ping(ms(1), ms(100), zero);
    plant.flows[0].start = ms(200);
    plant.flows[0].stop = Some(ms(700));
    let mut requests = Requests::default();
    let record = plant.run_with(1_000, 1, &mut requests);
    assert_eq!(record.streams[0].delivered, 483);
    assert_eq!(requests.0[0], Instant::ZERO + ms(200));
    assert_eq!(requests.0[1] - requests.0[0], ROUND_TRIP + Duration::from_ms(1));
}

#[test]
fn a_request_without_answer_is_given_up() {
    // Oracle: one request every timeout if nothing arrives.
    let ms = Duration::from_ms;
    let mut plant = ping(ms(1), ms(10), Duration::ZERO);
    plant.network.links[0].errors_per_billion = 1_000_000_000;
    let stream = &plant.run(1_000).streams[0];
    assert_eq!((stream.released, stream.dropped), (100, 100));
}

#[test]
fn a_late_answer_counts_and_moves_nothing() {
    // Oracle: every answer takes 15.036 ms, so requests go out at 0, 10, ..., 990 ms; those up to
    // 980 ms are answered within the second.
    let ms = Duration::from_ms;
    let mut requests = Requests::default();
    let record = ping(ms(1), ms(10), ms(15)).run_with(1_000, 1, &mut requests);
    let expected: Vec<Instant> = (0..100).map(|n| Instant::ZERO + ms(10) * n).collect();
    assert_eq!(requests.0, expected);
    let stream = &record.streams[0];
    assert_eq!((stream.delivered, stream.in_flight), (99, 1));
    assert_eq!(stream.latency.max, ROUND_TRIP + ms(15));
}

#[test]
fn all_listeners_are_waited_for() {
    // Oracle: the farther listener sets the pace. Its request waits for the nearer one's frame,
    // 10.08 us with the gap, and has 1 ms of cable in each direction.
    let ms = Duration::from_ms;
    let mut plant = ping(ms(1), ms(100), Duration::ZERO);
    let far = plant.station(Stack::Zero);
    plant.join(NodeId(0), far, 100).propagation = ms(1);
    plant.flows[0].listeners.push(far);
    let record = plant.run(1_000);
    let round_trip = ROUND_TRIP + Duration::from_ns(10_080) + ms(2);
    assert_eq!(record.streams[1].latency.max, round_trip);
    // 1 s / 3046.56 us = 328.2.
    assert_eq!(record.streams[0].released, 329);
    assert_eq!(record.streams[1].released, 329);
}

#[test]
fn over_a_connection_too() {
    // Oracle: 60 octets over TCP make frames of 118, 10.08 us: 1 s / (40.32 + 1000) us = 961.2.
    let ms = Duration::from_ms;
    let mut plant = ping(ms(1), ms(100), Duration::ZERO);
    plant.flows[0].encapsulation = Encapsulation::Tcp;
    plant.flows[0].connection = Some(TcpParameters::default());
    let record = plant.run(1_000);
    assert_eq!(record.streams[0].delivered, 962);
    assert_eq!(record.streams[0].latency.max, Duration::from_ns(40_320));
}

#[test]
fn a_lossy_run_repeats() {
    let run = |seed| {
        let mut plant = ping(Duration::ZERO, Duration::from_ms(5), Duration::ZERO);
        plant.network.links[0].errors_per_billion = 100_000_000;
        let mut fingerprint = Fingerprint::default();
        let record = plant.run_with(200, seed, &mut fingerprint);
        assert!(record.streams[0].dropped > 0);
        fingerprint
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn nobody_to_wait_for_is_an_error() {
    let mut plant = ping(Duration::ZERO, Duration::from_ms(1), Duration::ZERO);
    plant.flows[0].reply = None;
    let config = Config { seed: 1, warmup: Duration::ZERO, bucket: Duration::ZERO };
    let built = Simulation::new(&plant.network, &plant.flows, &config);
    let flow = "f".into();
    assert_eq!(built.err(), Some(BuildError::NoReply { flow }));
}
