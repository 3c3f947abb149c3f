//! Messages over connections in stations with tasks, real-time stacks and smoothers.

use rtether_model::endnode::{Detector, Layer, Smoothing};
use rtether_model::flow::{Flow, TcpParameters};
use rtether_model::network::{NodeId, Stack, Tasks};
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_model::record::Record;
use rtether_model::smoother::{Config, Mode, Rule};
use rtether_model::wire::Encapsulation;
use rtether_sim::observe::{Observer, PacketInfo};

use super::{US, cable, periodic, rtos, station};
use crate::support::Plant;

/// Messages of 1461 octets every millisecond: a full segment and one of a single octet.
fn messages(talker: NodeId, listener: NodeId) -> Flow {
    Flow {
        payload: Bytes::new(1_461),
        encapsulation: Encapsulation::Tcp,
        connection: Some(TcpParameters::default()),
        stop: Some(Duration::from_ms(20)),
        ..periodic("messages", talker, listener)
    }
}

/// Segments with data and without, and octets of the IP datagrams that the first station sends.
#[derive(Default)]
struct Count {
    data: i64,
    control: i64,
    from_first: u64,
}

impl Observer for Count {
    fn released(&mut self, _: Instant, packet: &PacketInfo) {
        let len = packet.tcp.map_or(0, |segment| segment.len);
        if len > 0 {
            self.data += 1;
        } else {
            self.control += 1;
        }
        if packet.source.0 == 0 {
            // IP and TCP headers.
            self.from_first += 40 + u64::from(len);
        }
    }
}

fn run(plant: &Plant) -> (Record, Count) {
    let mut count = Count::default();
    let record = plant.run_with(200, 1, &mut count);
    assert_eq!(record.streams[0].delivered, 20);
    (record, count)
}

#[test]
fn a_real_time_stack_charges_segments_of_messages_as_segments() {
    // Oracle: docs/models/stations.md: 50 us for a segment with data, 25 us for one without; each
    // passes two stacks. Segments are counted by an observer.
    let (mut plant, a, b) = cable([rtos(), rtos()]);
    plant.flow(messages(a, b));
    let (record, count) = run(&plant);
    assert_eq!(count.data, 40);
    assert!(count.control > 0);
    for node in &record.nodes {
        assert_eq!(node.stack_busy, US(50) * count.data + US(25) * count.control);
    }
}

#[test]
fn a_task_charges_segments_of_messages_as_messages() {
    // Oracle: docs/models/stations.md. 10 us for each of two segments; the cost of 70 us for file
    // segments applies to no message.
    let (mut plant, a, b) = cable([Stack::Zero, Stack::Zero]);
    plant.flow(messages(a, b));
    station(&mut plant, a).tasks =
        Some(Tasks { message: US(10), segment: US(70), messages_first: true });
    let plain = {
        let mut plain = plant.clone();
        station(&mut plain, a).tasks = None;
        run(&plain).0.streams[0].latency.min
    };
    let (record, _) = run(&plant);
    // Both are written together, so the second waits for the first, and its frame then finds the
    // link busy with the first for most of its own 10 us: the first frame ends 10 us later than
    // without.
    let more = record.streams[0].latency.min - plain;
    assert_eq!(more, US(10));
}

#[test]
fn a_smoother_charges_what_a_segment_carries() {
    // Oracle: headers of 40 octets and the data of each segment, counted by an observer; padding to
    // a frame of 64 octets is not included.
    let (mut plant, a, b) = cable([Stack::Zero, Stack::Zero]);
    plant.flow(messages(a, b));
    station(&mut plant, a).layer = Some(Box::new(Layer {
        smoother: Some(Smoothing {
            config: Config::new(Mode::None),
            rule: Rule::LINUX,
            ring: 2,
            detector: Detector::OwnCollisions { visibility_per_million: 1_000_000 },
        }),
        ..Layer::default()
    }));
    let (record, count) = run(&plant);
    let smoother = record.nodes[a.index()].layer.as_ref().unwrap().smoother;
    assert_eq!(smoother.unwrap().bulk, Bytes::new(count.from_first));
}
