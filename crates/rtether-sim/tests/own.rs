//! Flows of a station to itself: they turn round in its stack. Oracles: arithmetic by hand.

use rtether_model::flow::{Bulk, Reply, TcpParameters, Traffic, Transfer};
use rtether_model::network::{Cost, Jitter, LinearStack, NodeId, NodeKind, Servers, Stack, Tasks};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::record::{Record, Segment};
use rtether_model::wire::{Encapsulation, RtpsVersion};
use rtether_sim::{Config, Simulation};

use crate::support::{Plant, periodic, tag, two_stations};

const US: fn(i64) -> Duration = Duration::from_us;

/// 20 us to send and 30 us to receive, with one processor or two.
fn stack(servers: Servers) -> Stack {
    let cost = |us| Cost { base: US(us), per_octet: Duration::ZERO };
    Stack::Linear(LinearStack {
        send: cost(20),
        receive: cost(30),
        interface: cost(7),
        jitter: Jitter::default(),
        servers,
    })
}

/// Two stations at a switch, of which the first sends to itself.
fn alone(stack: &Stack) -> (Plant, NodeId) {
    let mut plant = two_stations(stack);
    let own = plant.flows.remove(0).talker;
    plant.flow(periodic("own", own, own));
    (plant, own)
}

fn most(record: &Record) -> Vec<Duration> {
    let streams = record.streams.iter();
    streams.map(|stream| stream.latency.max).collect()
}

#[test]
fn the_stack_is_passed_twice_and_no_port() {
    for servers in [Servers::Shared, Servers::PerDirection] {
        let (mut plant, own) = alone(&stack(servers));
        plant.flows[0].tag = tag(5, 10);
        let record = plant.run(10);
        assert_eq!(most(&record), [US(50)]);
        assert!(record.ports.iter().all(|port| port.sent == 0));
        let node = &record.nodes[own.index()];
        assert_eq!((node.released, node.delivered, node.arrived), (10, 10, 0));
        let spent = |segment: Segment| record.streams[0].segments_ps[segment.index()];
        assert_eq!(spent(Segment::TalkerStack), i128::from(US(200).as_ps()));
        assert_eq!(spent(Segment::ReceiveStack), i128::from(US(300).as_ps()));
        plant.flows[0].reply = Some(Reply::new(Bytes::new(60), US(5)));
        assert_eq!(most(&plant.run(10)), [US(105)]);
    }
}

#[test]
fn a_stack_that_takes_no_time_takes_none() {
    let (mut plant, _) = alone(&Stack::Zero);
    assert_eq!(most(&plant.run(10)), [Duration::ZERO]);
    // Released at the answer, each of the requests that fit 10 ms with a pause of 1 us.
    plant.flows[0].reply = Some(Reply::new(Bytes::new(60), Duration::ZERO));
    plant.flows[0].traffic = Traffic::Adaptive { pause: US(1), timeout: US(1_000) };
    let record = plant.run(10);
    assert_eq!((most(&record), record.streams[0].delivered), (vec![Duration::ZERO], 10_000));
}

#[test]
fn one_processor_serves_what_comes_in_between_first() {
    // The packet to itself is sent first, until 20 us; the other is sent until 40 us, and only then
    // is the first one received: 70 us. With a processor for each direction it takes 50 us.
    for (servers, own_us) in [(Servers::Shared, 70), (Servers::PerDirection, 50)] {
        let (mut plant, own) = alone(&stack(servers));
        plant.flow(periodic("to other", own, NodeId(own.0 + 1)));
        // 60 octets over two links of 100 Mbit/s take 18.24 us, the card of the sender 7 us.
        let other = US(40 + 30) + Duration::from_ns(18_240);
        let record = plant.run(10);
        assert_eq!(most(&record)[0], US(own_us));
        assert!(most(&record)[1] >= other, "{:?}", most(&record));
    }
}

#[test]
fn tasks_are_passed_as_well() {
    // A task of 3 us each way around 20 and 30 us of stack.
    let (mut plant, own) = alone(&stack(Servers::Shared));
    if let NodeKind::EndStation(station) = &mut plant.network.nodes[own.index()].kind {
        station.tasks = Some(Tasks { message: US(3), segment: US(1), messages_first: true });
    }
    assert_eq!(most(&plant.run(10)), [US(56)]);
}

#[test]
fn connections_and_files_go_round_too() {
    // A message over TCP with an answer: four passages of the stack, if its acknowledgments do not
    // come in between, as with a processor for each direction they do not.
    let tcp = TcpParameters::default();
    let (mut plant, _) = alone(&stack(Servers::PerDirection));
    plant.flows[0].encapsulation = Encapsulation::Tcp;
    plant.flows[0].connection = Some(tcp);
    let record = plant.run(20);
    assert_eq!(record.streams[0].delivered, 20);
    assert!(most(&record)[0] >= US(50));
    // A file of 146 kB in a hundred segments, with an acknowledgment for every second.
    let (mut plant, _) = alone(&stack(Servers::Shared));
    plant.flows[0].encapsulation = Encapsulation::Tcp;
    plant.flows[0].payload = tcp.segment;
    plant.flows[0].traffic = Traffic::Bulk(Bulk {
        transfers: vec![Transfer { start: Duration::ZERO, size: Some(Bytes::new(146_000)) }],
        bursts: None,
        rate: None,
        tcp,
    });
    let record = plant.run(100);
    assert_eq!(record.streams[0].payload_bytes, 146_000);
    assert!(record.streams[0].transfers[0].finished_at.is_some());
    assert!(record.ports.iter().all(|port| port.sent == 0));
}

#[test]
fn fragments_are_put_together() {
    // 4000 octets in three fragments: sent until 60 us, received until 150 us.
    let (mut plant, _) = alone(&stack(Servers::Shared));
    plant.flows[0].payload = Bytes::new(4_000);
    let record = plant.run(10);
    assert_eq!((most(&record), record.streams[0].delivered), (vec![US(150)], 10));
}

#[test]
fn a_participant_has_no_samples_for_itself() {
    let (mut plant, _) = alone(&Stack::Zero);
    plant.flows[0].encapsulation =
        Encapsulation::Rtps { version: RtpsVersion::V2_5, is_reliable: true };
    let config = Config { seed: 1, warmup: Duration::ZERO, bucket: Duration::ZERO };
    let refused = Simulation::new(&plant.network, &plant.flows, &config).err();
    let words = refused.expect("refused").to_string();
    assert!(words.contains("its own station"), "{words}");
}
