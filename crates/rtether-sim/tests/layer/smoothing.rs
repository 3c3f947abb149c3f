//! Smoothers on a link.

use rtether_model::endnode::{Detector, Layer, Smoothing};
use rtether_model::flow::Traffic;
use rtether_model::network::{NodeId, PortId, Stack};
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_model::record::{Record, SmootherRecord};
use rtether_model::smoother::{Adaptive, Config, Fixed, Mode, Nt, Rule, TurnBucket};
use rtether_model::wire::Encapsulation;
use rtether_sim::observe::{NoObserver, Observer, PacketInfo};

use super::{FRAME, US, cable, station};
use crate::support::{Plant, periodic};

const EVERY_COLLISION: Detector = Detector::OwnCollisions { visibility_per_million: 1_000_000 };

fn smoother(mode: Mode, ring: u32, detector: Detector) -> Layer {
    Layer {
        smoother: Some(Smoothing { config: Config::new(mode), rule: Rule::LINUX, ring, detector }),
        ..Layer::default()
    }
}

fn smoother_of(record: &Record, node: NodeId) -> SmootherRecord {
    let layer = record.nodes[node.index()].layer.as_ref().unwrap();
    layer.smoother.unwrap()
}

/// A station with more to send than its smoother lets through, in packets of several sizes.
fn greedy(mode: Mode, ring: u32, detector: Detector) -> (Plant, NodeId, NodeId) {
    let (mut plant, a, b) = cable([Stack::Zero, Stack::Zero]);
    plant.network.links[0].rate = BitRate::from_mbps(10);
    for (payload, us) in [(1_472, 3_000), (700, 1_700), (10, 900)] {
        let flow = plant.flow(periodic(&format!("bulk{payload}"), a, b));
        flow.payload = Bytes::new(payload);
        flow.traffic = Traffic::Poisson { mean_interval: US(us) };
    }
    let layer = smoother(mode, ring, detector);
    station(&mut plant, a).layer = Some(Box::new(layer));
    (plant, a, b)
}

/// Sizes of the IP datagrams that leave a node, with their times.
struct Wire(NodeId, Vec<(i64, i64)>);

impl Observer for Wire {
    fn transmitted(&mut self, now: Instant, port: PortId, packet: &PacketInfo) {
        if port.node == self.0 {
            // Payloads of 1472, 700 and 10 octets with 28 octets of headers.
            let size = [1_500, 728, 38][packet.flow.index()];
            self.1.push((now.as_ps(), size));
        }
    }
}

#[test]
fn a_fixed_rate_never_exceeds_its_curve_on_the_wire() {
    // Oracle: the theorem of the smoother: 2 * CBD - 1 + MTU + CBD * floor(t / P) in any window of
    // length t, over all pairs of frames. With one frame below the smoother, this is visible on the
    // wire. A greedy station uses all credits: at least CBD per period, less one MTU.
    for (depth, ms) in [(1_500, 5), (1_500, 36), (4_000, 10)] {
        let fixed = Fixed { depth: Bytes::new(depth), period: Duration::from_ms(ms) };
        let (plant, a, _) = greedy(Mode::Fixed(fixed), 1, EVERY_COLLISION);
        let mut wire = Wire(a, Vec::new());
        let record = plant.run_with(2_000, 1, &mut wire);
        let (period, depth) = (fixed.period.as_ps(), i64::try_from(depth).unwrap());
        let sent = wire.1;
        for (first, &(start, _)) in sent.iter().enumerate() {
            let mut octets = 0;
            for &(now, size) in &sent[first..] {
                octets += size;
                let most = 2 * depth - 1 + 1_500 + depth * ((now - start) / period);
                assert!(octets <= most, "{octets} octets, {most} allowed");
            }
        }
        let total: i64 = sent.iter().map(|&(_, size)| size).sum();
        assert!(total >= depth * (2_000 / ms) - 1_500, "{total}");
        let smoother = smoother_of(&record, a);
        // The last frame may have been handed to the port and not be sent yet.
        let total = u64::try_from(total).unwrap();
        assert_eq!((smoother.bulk.get(), smoother.real_time), (total, Bytes::ZERO));
        assert_eq!(smoother.signals, 0, "nothing collides on full duplex");
    }
}

#[test]
fn real_time_packets_wait_for_one_frame_only() {
    // Oracle: W1. Below the smoother is one frame; the largest occupies 10 Mbit/s for 1.2304 ms.
    // Urgent packets take 88 octets per millisecond of 300, bulk the rest.
    let fixed = Mode::Fixed(Fixed { period: Duration::from_ms(5), ..Fixed::PAPER });
    let (mut plant, a, b) = greedy(fixed, 1, EVERY_COLLISION);
    let urgent = plant.flow(periodic("urgent", a, b));
    urgent.dscp = 46;
    // Not IP: bypasses the smoother and queues behind the frames in the ring.
    let raw = plant.flow(periodic("raw", a, b));
    raw.encapsulation = Encapsulation::Raw;
    raw.start = US(333);
    let record = plant.run(2_000);
    for stream in &record.streams[3..] {
        assert_eq!(stream.dropped, 0);
        assert!(stream.latency.max <= US(1_231) + FRAME * 20);
    }
    assert!(record.streams[0].latency.max > Duration::from_ms(100));
    let smoother = smoother_of(&record, a);
    assert_eq!(smoother.real_time, Bytes::new(2_000 * 88));
}

#[test]
fn refused_packets_are_lost_in_the_layer() {
    let (mut plant, a, _) = greedy(Mode::Fixed(Fixed::PAPER), 2, EVERY_COLLISION);
    let layer = station(&mut plant, a).layer.as_mut().unwrap();
    layer.smoother.as_mut().unwrap().config.limits.bulk_packets = 5;
    let record = plant.run(2_000);
    let node = &record.nodes[a.index()];
    let smoother = node.layer.as_ref().unwrap().smoother.unwrap();
    assert_eq!((smoother.bulk_depth_max, node.layer_dropped), (5, smoother.dropped));
    let lost: u64 = record.streams.iter().map(|stream| stream.dropped).sum();
    assert_eq!(lost, smoother.dropped);
    assert!(lost > 1_000);
}

#[test]
fn detectors_of_full_duplex_links_report() {
    // Oracle: 10 Mbit/s is below a floor of 11 and above one of 9; frames back to back use more
    // than half of the link; three full frames below the smoother are more than 3000 octets.
    let rate = |mbps| Detector::ClearingRate { floor: BitRate::from_mbps(mbps) };
    let busy = Detector::Utilization { threshold_percent: 50, window: Duration::from_ms(10) };
    let backlog = Detector::Backlog { low: Bytes::new(1_000), high: Bytes::new(3_000) };
    for (detector, is_congested) in
        [(rate(11), true), (rate(9), false), (busy, true), (backlog, true)]
    {
        // Without pacing the flows use 3.9 + 3.4 + 0.5 Mbit/s, in bunches.
        let (plant, a, _) = greedy(Mode::None, 3, detector);
        let record = plant.run(1_000);
        let smoother = smoother_of(&record, a);
        assert_eq!(smoother.signals > 0, is_congested, "{detector:?}");
    }
}

#[test]
fn stations_with_one_configuration_do_not_lock_in_step() {
    // Oracle: catalogue 3b, timer jitter. Two stations with the same NT smoother and traffic send
    // at different times; each repeats its own times in a second run.
    let mode = Mode::Nt(Nt::paper(1));
    let run = || {
        let (mut plant, a, b) = cable([Stack::Zero, Stack::Zero]);
        for (talker, listener) in [(a, b), (b, a)] {
            plant.flow(periodic(&format!("{}", talker.0), talker, listener));
            let layer = smoother(mode, 1, EVERY_COLLISION);
            station(&mut plant, talker).layer = Some(Box::new(layer));
        }
        plant.run_with(1_000, 1, &mut NoObserver)
    };
    let record = run();
    assert_ne!(record.streams[0].latency, record.streams[1].latency);
    assert_eq!(record, run());
}

#[test]
fn adaptive_smoothers_speed_up_without_collisions() {
    // Oracle: W5. The period starts at its minimum, 3 ms, and nothing lengthens it: 1500 octets
    // every 3 ms, less what the first and the last refresh cut off.
    let (mut plant, a, b) = greedy(Mode::Adaptive(Adaptive::HIMD), 2, EVERY_COLLISION);
    plant.flow(periodic("more", a, b)).payload = Bytes::new(1_472);
    let record = plant.run(3_000);
    let smoother = smoother_of(&record, a);
    assert!((1_497_000..=1_503_000).contains(&smoother.bulk.get()), "{smoother:?}");
}

/// Ten stations on a hub that always have packets to send, each with a smoother.
fn crowd(mode: Mode) -> Plant {
    let mut plant = Plant::default();
    let hub = plant.hub(10, Duration::ZERO);
    let sink = plant.station(Stack::Zero);
    plant.join(sink, hub, 10);
    for number in 0..10 {
        let talker = plant.station(Stack::Zero);
        plant.join(talker, hub, 10);
        let flow = plant.flow(periodic(&format!("bulk{number}"), talker, sink));
        flow.payload = Bytes::new(1_472);
        flow.traffic = Traffic::Poisson { mean_interval: US(2_000) };
        let layer = smoother(mode, 2, EVERY_COLLISION);
        station(&mut plant, talker).layer = Some(Box::new(layer));
    }
    plant
}

#[test]
fn a_completion_and_a_signal_come_at_the_same_instant() {
    // Oracle: the engine, which in debug builds refuses a mutation before the events of the last
    // one are drained. In mode rtether a completion can change the state, and the signal that the
    // detector derives from the same completion follows at once.
    let record = crowd(Mode::Rtether(TurnBucket::DEFAULT)).run(5_000);
    let smoothers = record.nodes.iter().filter_map(|node| node.layer.as_ref());
    let signals = smoothers.map(|layer| layer.smoother.map_or(0, |smoother| smoother.signals));
    let signals: Vec<u64> = signals.collect();
    assert_eq!(signals.len(), 10);
    assert!(signals.iter().all(|&count| count > 0), "{signals:?}");
}
