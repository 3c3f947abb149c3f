//! Media so long that collisions come late, and what a layer detects on a medium.

use rtether_model::endnode::{Detector, Layer, Smoothing};
use rtether_model::flow::Flow;
use rtether_model::network::{Duplex, NodeKind, PortId};
use rtether_model::quantity::BitRate;
use rtether_model::record::Record;
use rtether_model::smoother::{self, Mode, Rule, TurnBucket};
use rtether_model::wire::Encapsulation;

use super::*;

const US: fn(i64) -> Duration = Duration::from_us;
const NS: fn(i64) -> Duration = Duration::from_ns;

/// A flow of one frame.
fn once(name: &str, talker: NodeId, listener: NodeId, at: Duration, payload: u64) -> Flow {
    Flow {
        start: at,
        stop: Some(at + NS(1)),
        payload: Bytes::new(payload),
        ..periodic(name, talker, listener)
    }
}

/// Transmissions with node and time, and dropped frames.
#[derive(Default)]
struct Seen {
    sent: Vec<(u32, Duration)>,
    dropped: Vec<(u32, Duration, DropReason)>,
}

impl Observer for Seen {
    fn transmitted(&mut self, now: Instant, _: PortId, packet: &PacketInfo) {
        self.sent.push((packet.flow.0, now.since_start()));
    }

    fn dropped(&mut self, now: Instant, _: NodeId, packet: &PacketInfo, reason: DropReason) {
        let line = (packet.flow.0, now.since_start(), reason);
        self.dropped.push(line);
    }
}

/// Two stations 40 us apart at 10 Mbit/s, by a cable or by a hub, with a frame of the first at 0
/// and one of the second at 30 us.
fn far_apart(is_hub: bool, payload: u64) -> (Plant, [NodeId; 2]) {
    let mut plant = Plant::default();
    let ends = [(); 2].map(|()| plant.station(Stack::Zero));
    if is_hub {
        let hub = plant.hub(10, Duration::ZERO);
        for end in ends {
            plant.join(hub, end, 10).propagation = US(20);
        }
    } else {
        let link = plant.join(ends[0], ends[1], 10);
        link.propagation = US(40);
        link.duplex = Duplex::Half;
    }
    plant.flow(once("first", ends[0], ends[1], Duration::ZERO, payload));
    plant.flow(once("second", ends[1], ends[0], US(30), payload));
    (plant, ends)
}

#[test]
fn a_late_collision_by_hand() {
    // Oracle: 4.2.3.2.3. The second station hears the first at 40 us, early, and tries again. The
    // first hears the second at 70 us, after the slot of 51.2 us, and gives its frame up at the end
    // of the jam of 3.2 us.
    for is_hub in [false, true] {
        let (record, port) = first_is_lost(is_hub, 1_000, 73_200, DropReason::LateCollision);
        let port = &record.ports[port];
        assert_eq!((port.offered, port.sent, port.dropped), (1, 0, 1));
        assert_eq!((port.queues[0].sent, port.queues[0].dropped), (0, 1));
        assert_eq!(port.access.unwrap().late_collisions, 1);
    }
}

/// Asserts that only the second frame arrives, and when and why the first is lost; also returns the
/// port of the first.
fn first_is_lost(is_hub: bool, payload: u64, ns: i64, reason: DropReason) -> (Record, usize) {
    let (plant, ends) = far_apart(is_hub, payload);
    let mut seen = Seen::default();
    let record = plant.run_with(20, 1, &mut seen);
    assert_eq!(seen.dropped, [(0, NS(ns), reason)]);
    let [first, second] = &record.streams[..] else { panic!("two streams") };
    assert_eq!((first.delivered, first.dropped), (0, 1));
    assert_eq!((second.delivered, second.dropped), (1, 0));
    let mut ports = record.ports.iter();
    let port = ports.position(|port| port.port.node == ends[0]);
    (record, port.unwrap())
}

#[test]
fn a_garbled_frame_by_hand() {
    // Oracle: a frame of 64 octets and its preamble take 57.6 us, and the sender is done before it
    // hears the other one at 70 us. In the middle, 20 us from both, the first signal ends at 77.6
    // us and the second begins at 50 us.
    for is_hub in [false, true] {
        let (record, port) = first_is_lost(is_hub, 1, 57_600, DropReason::Garbled);
        // The frame was sent, and the next node received fragments of it.
        let port = &record.ports[port];
        assert_eq!((port.sent, port.dropped), (1, 0));
        let next = if is_hub { 2 } else { 1 };
        assert_eq!(record.nodes[next].discarded, 1);
    }
}

fn layered(plant: &mut Plant, node: NodeId, mode: Mode, detector: Detector) {
    let NodeKind::EndStation(station) = &mut plant.network.nodes[node.index()].kind else {
        panic!("not an end station")
    };
    station.layer = Some(Box::new(Layer {
        smoother: Some(Smoothing {
            config: smoother::Config::new(mode),
            rule: Rule::LINUX,
            ring: 2,
            detector,
        }),
        ..Layer::default()
    }));
}

const PLACES: TurnBucket = TurnBucket { period_min: Duration::from_ms(20), ..TurnBucket::DEFAULT };

const NO_DETECTOR: Detector = Detector::ClearingRate { floor: BitRate::from_bps(1) };

#[test]
fn a_place_follows_the_start_of_a_transmission() {
    // Oracle: in mode `rtether`, the next turn comes a period and a guard of 150 us after the start
    // of a frame that had to wait: here for a frame of the same time that bypasses the smoother and occupies the
    // link for 1538 octets, 1230.4 us.
    let mut plant = Plant::default();
    let [a, b] = [(); 2].map(|()| plant.station(Stack::Zero));
    plant.join(a, b, 10);
    layered(&mut plant, a, Mode::Rtether(PLACES), NO_DETECTOR);
    plant.flow(once("above", a, b, US(1_000), 1_500)).encapsulation = Encapsulation::Raw;
    plant.flow(once("bulk1", a, b, US(1_000), 1_472));
    plant.flow(once("bulk2", a, b, US(1_100), 1_472));
    let mut seen = Seen::default();
    plant.run_with(50, 1, &mut seen);
    let start = US(1_000) + NS(1_230_400);
    let next = start + US(150) + US(20_000);
    assert_eq!(seen.sent, [(0, US(1_000)), (1, start), (2, next)]);
}

#[test]
fn a_place_follows_the_last_attempt_of_a_frame_given_up() {
    // Oracle: as above. A frame of the other station delays the first bulk packet until its end has
    // arrived and the gap is over: 1220.8 + 40 + 9.6 us. 30 us later the other station sends again,
    // and the collision is late: the packet is given up.
    let mut plant = Plant::default();
    let [a, b] = [(); 2].map(|()| plant.station(Stack::Zero));
    let link = plant.join(a, b, 10);
    link.propagation = US(40);
    link.duplex = Duplex::Half;
    layered(&mut plant, a, Mode::Rtether(PLACES), NO_DETECTOR);
    let start = NS(1_270_400);
    plant.flow(once("other1", b, a, Duration::ZERO, 1_472));
    plant.flow(once("bulk1", a, b, US(100), 1_472));
    plant.flow(once("bulk2", a, b, US(200), 1_472));
    plant.flow(once("other2", b, a, start + US(30), 1));
    let mut seen = Seen::default();
    plant.run_with(50, 1, &mut seen);
    let given_up = start + US(70) + NS(3_200);
    assert_eq!(seen.dropped, [(1, given_up, DropReason::LateCollision)]);
    // On a medium the observer is told of the last bit.
    let next = start + US(150) + US(20_000) + NS(1_220_800);
    assert_eq!(seen.sent.last(), Some(&(2, next)));
}

#[test]
fn a_detector_hears_frames_for_others() {
    // Oracle: 114 octets every 100 us are nine tenths of 10 Mbit/s; a quarter of that is less than
    // one half. The listener of this load and a bystander hear the same.
    let threshold_percent = 50;
    let window = Duration::from_ms(10);
    let detector = Detector::Utilization { threshold_percent, window };
    for (us, is_congested) in [(100, true), (400, false)] {
        let mut plant = Plant::default();
        let hub = plant.hub(10, Duration::ZERO);
        let ends = stations(&mut plant, hub, 3, 10);
        plant.flow(periodic("load", ends[0], ends[1])).traffic =
            Traffic::periodic(US(us), Phase::Fixed(Duration::ZERO));
        for &end in &ends[1..] {
            layered(&mut plant, end, Mode::None, detector);
            let name = format!("bulk{}", end.0);
            plant.flow(periodic(&name, end, ends[0])).traffic =
                Traffic::Poisson { mean_interval: Duration::from_ms(50) };
        }
        let record = plant.run(1_000);
        for end in &ends[1..] {
            let layer = record.nodes[end.index()].layer.as_ref().unwrap();
            let signals = layer.smoother.unwrap().signals;
            assert_eq!(signals > 0, is_congested, "{end:?} at {us} us");
        }
    }
}
