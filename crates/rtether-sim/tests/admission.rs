//! Channels are asked for over the wire: time-lines by hand, losses from seeds.

use rtether_model::admission::{Admission, Refusal};
use rtether_model::flow::{Delivery, Flow, Phase, Traffic};
use rtether_model::network::{Cost, LinearStack, NodeId, NodeKind, Partition, PortId, Selection};
use rtether_model::network::{Jitter, Servers, Stack, Switch};
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_model::record::{ChannelRecord, Record};
use rtether_model::wire::Encapsulation;
use rtether_sim::observe::{Datagram, Fingerprint, Observer, PacketInfo};
use rtether_sim::{BuildError, Config, Simulation};

use crate::support::{Plant, periodic, plain_switch};

const NS: fn(i64) -> Duration = Duration::from_ns;
const MS: fn(i64) -> Duration = Duration::from_ms;

impl Plant {
    /// A switch with its manager at 1 Gbit/s, and stations at 100 Mbit/s.
    fn managed<const N: usize>(switch: Switch) -> (Self, [NodeId; N]) {
        let mut plant = Self::default();
        let switch = plant.switch(switch);
        let manager = plant.station(Stack::Zero);
        plant.join(switch, manager, 1_000);
        let stations = [(); N].map(|()| plant.station(Stack::Zero));
        for station in stations {
            plant.join(switch, station, 100);
        }
        plant.network.admission = Some(Admission {
            manager,
            channels: Admission::CHANNELS,
            accepts: Admission::ACCEPTS,
            retry: MS(10),
            attempts: 3,
            other: Bytes::ZERO,
        });
        (plant, stations)
    }

    fn admission(&mut self) -> &mut Admission {
        self.network.admission.as_mut().unwrap()
    }

    /// Asks for 60 octets over UDP every millisecond, from `ms` on.
    fn channel(&mut self, from: NodeId, to: NodeId, ms: i64) -> &mut Flow {
        let name = format!("f{}", self.flows.len());
        self.flow(Flow { start: MS(ms), deadline: Some(MS(1)), ..periodic(&name, from, to) })
    }
}

fn channel(record: &Record, stream: usize) -> ChannelRecord {
    record.streams[stream].channel.unwrap()
}

fn refused(record: &Record, stream: usize) -> Option<Refusal> {
    let found = channel(record, stream);
    assert_eq!(found.granted + found.refused.iter().sum::<u64>(), 1);
    assert!(found.granted == 1 || record.streams[stream].released == 0);
    found.refusal()
}

/// What leaves each station, and the messages.
#[derive(Default)]
struct Log {
    sent: Vec<(Instant, NodeId, u64, u32)>,
    kinds: Vec<u8>,
}

impl Observer for Log {
    fn carries(&mut self, datagram: &Datagram<'_>) {
        self.kinds.push(datagram.octets[3]);
    }

    fn transmitted(&mut self, now: Instant, port: PortId, packet: &PacketInfo) {
        if port.node == packet.source {
            let octets = packet.frame_size.get();
            self.sent.push((now, port.node, octets, packet.flow.0));
        }
    }
}

/// Oracle: by hand. A request or an offer to one listener has 72 octets, 80 with the preamble: 6.4
/// us at 100 Mbit/s and 0.64 us at 1 Gbit/s. A consent or an answer has 64, which take 5.76 us and
/// 0.576 us.
#[test]
fn the_time_line_of_one_request() {
    let (mut plant, [a, b]) = Plant::managed(plain_switch());
    let manager = plant.admission().manager;
    plant.channel(a, b, 0);
    let mut log = Log::default();
    let record = plant.run_with(3, 1, &mut log);
    let at = |ns: i64| Instant::ZERO + NS(ns);
    let expected = [
        (at(0), a, 72),
        (at(7_040), manager, 72),
        (at(14_080), b, 64),
        (at(20_416), manager, 64),
        (at(26_752), a, 106),
        (at(1_026_752), a, 106),
        (at(2_026_752), a, 106),
    ];
    let sent = log.sent.iter();
    let sent: Vec<_> = sent.map(|&(at, node, octets, _)| (at, node, octets)).collect();
    assert_eq!(sent, expected);
    // Each of them leaves two ports: request, offer, consent, answer.
    assert_eq!(log.kinds, [1, 1, 3, 3, 4, 4, 2, 2]);
    let found = channel(&record, 0);
    assert_eq!((found.granted, found.undecided), (1, 0));
    assert_eq!(found.wait_max, NS(26_752));
    assert_eq!(found.wait_mean(), Some(NS(26_752)));
    let stream = &record.streams[0];
    // Latency counts from the release, which the grant allows.
    assert_eq!((stream.released, stream.latency.max), (3, NS(18_240)));
    let manager = record.nodes[manager.index()].admission.unwrap();
    assert_eq!((manager.requests, manager.granted), (1, 1));
    assert_eq!((manager.kept, manager.malformed), (1, 0));
    assert!(record.nodes[a.index()].admission.is_none());
}

/// Oracle: by hand. The manager takes 50 us for each frame that it receives, and a full frame, 122.08
/// us and its gap of 0.96 us, is in front of the request at `a`, and of the offer on its way to `b`.
#[test]
fn requests_wait_like_other_frames() {
    let (mut plant, [a, b]) = Plant::managed(plain_switch());
    let manager = plant.admission().manager;
    let NodeKind::EndStation(station) = &mut plant.network.nodes[manager.index()].kind else {
        panic!("a station");
    };
    station.stack = Stack::Linear(LinearStack {
        send: Cost::default(),
        receive: Cost { base: Duration::from_us(50), per_octet: Duration::ZERO },
        interface: Cost::default(),
        jitter: Jitter::default(),
        servers: Servers::Shared,
    });
    plant.flow(Flow {
        payload: Bytes::new(1_500),
        encapsulation: Encapsulation::Raw,
        traffic: Traffic::periodic(MS(100), Phase::Fixed(Duration::ZERO)),
        ..periodic("long", a, b)
    });
    // The request is written when the full frame is on the wire.
    plant.channel(a, b, 0).start = NS(10);
    let record = plant.run(5);
    // The switch sends the full frame from 122.08 us to 244.16 us; the offer comes at 123.04 + 7.04
    // + 50 + 0.64 us, and goes with the gap. Then 6.4 us, and as before 6.336 us twice.
    let offer = NS(122_080) + NS(123_040);
    let consent = offer + NS(6_400) + NS(6_336);
    let expected = consent + Duration::from_us(50) + NS(6_336);
    assert_eq!(channel(&record, 1).wait_max, expected - NS(10));
}

/// Oracle: by hand. Two full frames are due within 300 us at each port, three are not; what is
/// refused never sends. A release makes room after the last frame has had its time.
#[test]
fn what_is_refused_never_begins() {
    let (mut plant, [a, b]) = Plant::managed(plain_switch());
    for number in 0..4 {
        let flow = plant.channel(a, b, 20 * number);
        flow.payload = Bytes::new(1_500);
        flow.encapsulation = Encapsulation::Raw;
        flow.traffic = Traffic::periodic(MS(10), Phase::Fixed(Duration::ZERO));
        flow.deadline = Some(Duration::from_us(600));
    }
    plant.flows[0].stop = Some(MS(50));
    let record = plant.run(100);
    let outcomes: Vec<_> = (0..4).map(|stream| refused(&record, stream)).collect();
    assert_eq!(outcomes, [None, None, Some(Refusal::Late), None]);
    let released = record.streams.iter().map(|stream| stream.released);
    // From 0.03 ms to 50 ms; from 20.03 ms; from 60.03 ms.
    assert_eq!(released.collect::<Vec<_>>(), [5, 8, 0, 4]);
    let manager = record.nodes[1].admission.unwrap();
    assert_eq!((manager.granted, manager.refused), (3, 1));
    assert_eq!((manager.released, manager.kept), (1, 2));
    // A flow that ends before it is asked for never asks.
    plant.flows[3].stop = Some(MS(30));
    let record = plant.run(100);
    assert_eq!(channel(&record, 3).undecided, 1);
}

/// Oracle: by hand. A group is one frame at the talker's port, where its two copies would be two:
/// of two groups both fit into 300 us there, of two flows to each listener in turn only one does.
#[test]
fn a_group_counts_once_at_a_port() {
    for (delivery, second) in
        [(Delivery::Multicast, None), (Delivery::Unicast, Some(Refusal::Late))]
    {
        let (mut plant, [a, b, c]) = Plant::managed(plain_switch());
        for number in 0..2 {
            let flow = plant.channel(a, b, 20 * number);
            flow.listeners.push(c);
            flow.delivery = delivery;
            flow.payload = Bytes::new(1_500);
            flow.encapsulation = Encapsulation::Raw;
            flow.deadline = Some(Duration::from_us(600));
        }
        let record = plant.run(60);
        assert_eq!(refused(&record, 0), None);
        assert_eq!(refused(&record, 2), second);
        // Both listeners were asked.
        plant.admission().accepts = 1;
        plant.flows[1].listeners = vec![c];
        let record = plant.run(60);
        let declined = delivery == Delivery::Multicast;
        let expected = if declined { Refusal::Declined } else { Refusal::Late };
        assert_eq!(refused(&record, 2), Some(expected));
    }
}

/// Oracle: by hand. No link leads to the manager: three requests, 10 ms apart, and then no more.
#[test]
fn nobody_waits_forever() {
    let (mut plant, [a, b]) = Plant::managed(plain_switch());
    plant.channel(a, b, 0);
    plant.network.links[0].errors_per_billion = 1_000_000_000;
    let mut log = Log::default();
    let record = plant.run_with(100, 1, &mut log);
    assert_eq!(refused(&record, 0), Some(Refusal::Unanswered));
    let times: Vec<Duration> = log.sent.iter().map(|sent| sent.0 - Instant::ZERO).collect();
    assert_eq!(times, [0, 10, 20, 30, 40, 50].map(MS));
    // Three requests and three releases, at two ports each.
    assert_eq!(log.kinds, [[1, 1]; 3].into_iter().chain([[5, 5]; 3]).flatten().collect::<Vec<_>>());
}

/// Stations in a line of two switches, the manager at the first, all lossy.
fn lossy(seed: u64) -> Plant {
    let (mut plant, near) =
        Plant::managed::<3>(Switch { selection: Selection::EarliestDeadline, ..plain_switch() });
    let second = plant.switch(plain_switch());
    plant.join(NodeId(0), second, 100);
    let far = [(); 3].map(|()| plant.station(Stack::Zero));
    for station in far {
        plant.join(second, station, 100);
    }
    for link in &mut plant.network.links {
        link.errors_per_billion = [0, 50_000_000, 200_000_000][usize::try_from(seed % 3).unwrap()];
    }
    plant.network.partition = [Partition::Equal, Partition::Proportional, Partition::Search]
        [usize::try_from(seed / 3 % 3).unwrap()];
    for number in 0..20 {
        let own = usize::try_from(seed + number).unwrap();
        let start = i64::try_from(number * 7 % 31).unwrap();
        let flow = plant.channel(near[own % 3], far[own / 3 % 3], start);
        flow.payload = Bytes::new(1_000);
        flow.deadline = Some(Duration::from_us([500, 900, 3_000][own % 3]));
        if own.is_multiple_of(4) {
            flow.listeners = far.to_vec();
            flow.delivery = Delivery::Multicast;
        }
        flow.stop = own.is_multiple_of(5).then_some(MS(40));
    }
    plant
}

/// Oracle: the rules: every request is decided, what is refused never sends, what is granted does,
/// and the manager holds no more than ports can send (its invariant). The same seed gives the same.
#[test]
fn losses_neither_grant_twice_nor_leave_anyone_waiting() {
    let (mut granted, mut late, mut unanswered, mut repeated) = (0, 0, 0, 0);
    for seed in 1..=36 {
        let plant = lossy(seed);
        let [first, again] = [(); 2].map(|()| {
            let mut fingerprint = Fingerprint::default();
            let record = plant.run_with(150, seed, &mut fingerprint);
            (fingerprint.value(), record)
        });
        assert_eq!(first, again);
        let record = first.1;
        let manager = record.nodes[1].admission.unwrap();
        let mut held = 0;
        for stream in &record.streams {
            let own = stream.channel.unwrap();
            let flow = &plant.flows[stream.flow_id().index()];
            // A flow may end while it asks.
            assert!(own.undecided == 0 || flow.stop.is_some(), "seed {seed}, {}", flow.name);
            assert_eq!(stream.released > 0, own.granted == 1);
            if stream.listener_id() == flow.listeners[0] {
                held += own.granted;
                granted += own.granted;
                late += own.refused[Refusal::Late.index()];
                unanswered += own.refused[Refusal::Unanswered.index()];
            }
            assert!(own.wait_max < MS(30));
        }
        assert!(manager.granted >= held && manager.malformed == 0);
        assert!(!seed.is_multiple_of(3) || manager.granted == held && manager.repeated == 0);
        repeated += manager.repeated;
    }
    assert!(granted > 100 && late > 100, "{granted} {late}");
    assert!(unanswered > 0 && repeated > 50, "{unanswered} {repeated}");
}

/// Oracle: by hand. Behind a full frame three channels to `c` and one to `b` wait at the port of `a`.
/// Equal parts are 240 us and 200 us; loads of 4 there, 3 and 1 leave 274 us and 320 us.
#[test]
fn parts_follow_the_channels() {
    let (mut plant, [a, b, c]) = Plant::managed(plain_switch());
    if let NodeKind::EndStation(station) = &mut plant.network.nodes[a.index()].kind {
        station.by_deadline = true;
    }
    plant.channel(a, b, 0).deadline = Some(Duration::from_us(400));
    for _ in 0..3 {
        plant.channel(a, c, 0).deadline = Some(Duration::from_us(480));
    }
    // All of them begin in the first 50 us, in this order.
    plant.flow(Flow {
        start: MS(10),
        payload: Bytes::new(1_500),
        encapsulation: Encapsulation::Raw,
        ..periodic("long", a, c)
    });
    for (partition, order) in
        [(Partition::Equal, [4, 0, 1, 2, 3]), (Partition::Proportional, [4, 1, 2, 3, 0])]
    {
        plant.network.partition = partition;
        let mut log = Log::default();
        let record = plant.run_with(11, 1, &mut log);
        assert!((0..4).all(|stream| refused(&record, stream).is_none()));
        let late = log.sent.iter().filter(|sent| sent.0 >= Instant::ZERO + MS(10));
        assert_eq!(late.map(|sent| sent.3).collect::<Vec<_>>(), order);
    }
}

/// Flows that cannot be channels are refused when the simulation is built.
#[test]
fn only_channels_may_have_a_deadline() {
    let (mut plant, [a, b]) = Plant::managed(plain_switch());
    plant.channel(a, b, 0);
    let build = |plant: &Plant| {
        let config = Config { seed: 1, warmup: Duration::ZERO, bucket: Duration::ZERO };
        Simulation::new(&plant.network, &plant.flows, &config).map(|_| ())
    };
    assert_eq!(build(&plant), Ok(()));
    let error = Err(BuildError::Channel { flow: "f0".into() });
    plant.flows[0].payload = Bytes::new(3_000);
    assert_eq!(build(&plant), error);
    plant.flows[0].payload = Bytes::new(60);
    plant.flows[0].listeners = vec![plant.admission().manager];
    assert_eq!(build(&plant), error);
    plant.flows[0].deadline = None;
    assert_eq!(build(&plant), Ok(()));
}
