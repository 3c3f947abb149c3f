//! Worked examples.

use rtether_model::endnode::{Detector, Layer, TransmitStrategy};
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_model::smoother::{Adaptive, Doubling, Fixed, Mode, TurnBucket};
use rtether_proto::egress::{Egress, EgressError, Marked, Seeds};
use rtether_proto::smoother::Class::{Bulk, RealTime};

use crate::egress::harness::{
    Host, IN_STEP, RATE, at, datagram, other, queued, smoothed, smoothing,
};

const EVERY_COLLISION: Detector = Detector::OwnCollisions { visibility_per_million: 1_000_000 };

fn fixed(period_ms: i64) -> Mode {
    Mode::Fixed(Fixed { depth: Bytes::new(1500), period: Duration::from_ms(period_ms) })
}

#[test]
fn real_time_goes_first_and_bulk_waits_for_credits() {
    // By hand, at 10 Mbit/s: the first bulk frame is handed out at 0 with 1500 credits and is out
    // after 1538 * 0.8 = 1230.4 us. The real-time frame follows, 138 octets on the wire: out after
    // 110.4 us more. It leaves -100 credits, so that the second bulk frame waits for the refresh at
    // 2 ms.
    let mut host = Host::new(&smoothed(fixed(2), 1, EVERY_COLLISION));
    host.offer(datagram(1500, Bulk, 0));
    host.offer(datagram(1500, Bulk, 0));
    host.offer(datagram(100, RealTime, 0));
    assert_eq!(host.order(), [0]);
    assert_eq!(host.egress.poll_timeout(), Some(at(2_000)));
    host.send_until(at(1_999));
    assert_eq!(host.egress.smoother_state().expect("one").credits, Some(-100));
    host.wait_until(at(2_000));
    let after = |ns| Instant::ZERO + Duration::from_ns(ns);
    assert_eq!(host.handed, [(at(0), 0), (after(1_230_400), 2), (at(2_000), 1)]);
}

#[test]
fn a_smoother_starts_at_its_phase() {
    // By hand: half of 2^64 is half of the first period of 2 ms, so the refresh is due after 1 ms.
    let layer = smoothed(fixed(2), 1, EVERY_COLLISION);
    let half = Seeds { phase: 1 << 63, ..IN_STEP };
    let egress = Egress::<u8>::new(at(500), &layer, RATE, half).expect("a good layer");
    assert_eq!(egress.poll_timeout(), Some(at(1_500)));
}

#[test]
fn what_is_not_ip_passes_the_smoother_and_counts_below_it() {
    // Oracle: the room below is for two frames, of any kind; frames that bypass the smoother need
    // no room.
    let mut host = Host::new(&smoothed(Mode::None, 2, EVERY_COLLISION));
    for _ in 0..3 {
        host.offer(other(64, 0));
    }
    host.offer(datagram(100, RealTime, 0));
    assert_eq!(host.order(), [0, 1, 2]);
    assert_eq!(host.egress.backlog(), Bytes::new(3 * 64));
    // Three below, then two: still no room; then one.
    for (out, handed) in [(1, 3), (2, 4)] {
        host.begin();
        host.complete(1);
        assert_eq!((host.out.len(), host.handed.len()), (out, handed));
    }
}

#[test]
fn collisions_are_reported_and_hold_bulk_back() {
    // Oracle: W5 and W7, by hand: two attempts are one report; the bulk packet polled at 1230.4 us
    // doubles 3 ms to 6 ms once and is held for 10 ms; real-time is not.
    let himd = Mode::Adaptive(Adaptive::HIMD);
    for (attempts, reports) in [(1, 0), (2, 1)] {
        let mut host = Host::new(&smoothed(himd, 1, EVERY_COLLISION));
        host.offer(datagram(1500, Bulk, 0));
        host.offer(datagram(1500, Bulk, 0));
        host.begin();
        host.wait_until(at(1_231));
        host.complete(attempts);
        let statistics = host.egress.smoother_statistics().expect("a smoother");
        assert_eq!((statistics.reports, statistics.decreases), (reports, reports));
        host.offer(datagram(46, RealTime, 0));
        assert_eq!(host.order(), [0, 2]);
    }
}

#[test]
fn what_changes_nothing_for_the_smoother_does_not_ask_it() {
    // By hand, with the literal procedure, which doubles the period at every poll of a held packet:
    // the completion polls; a frame that bypasses the smoother does not, nor one that smoother or
    // host refuses, nor a further poll by the host; the next bulk packet does.
    let literal = Adaptive { doubling: Doubling::PerCall, ..Adaptive::HIMD };
    let mut host = Host::new(&smoothed(Mode::Adaptive(literal), 4, EVERY_COLLISION));
    host.offer(datagram(1500, Bulk, 0));
    host.begin();
    host.complete(2);
    let mut decreases = |room, offered| {
        host.room = room;
        host.offer(offered);
        host.drain();
        let statistics = host.egress.smoother_statistics();
        statistics.expect("a smoother").decreases
    };
    assert_eq!(decreases(9, datagram(1500, Bulk, 0)), 1);
    assert_eq!(decreases(9, other(64, 0)), 1);
    assert_eq!(decreases(0, other(64, 0)), 1);
    assert_eq!(decreases(9, datagram(1501, Bulk, 0)), 1);
    assert_eq!(decreases(9, datagram(1500, Bulk, 0)), 2);
}

#[test]
fn an_attempt_may_be_told_of_late() {
    // By hand: the frame was handed out at 0 and complete at 2000 us, and its last attempt began
    // 500 us before; the next turn is a guard of 150 us and a period of 2500 us later, at 4150 us.
    // Counted from the time of the call it would be 4650 us, without a wait 2500 us.
    let layer = smoothed(Mode::Rtether(TurnBucket::DEFAULT), 1, EVERY_COLLISION);
    let mut host = Host::new(&layer);
    host.offer(datagram(1500, Bulk, 0));
    host.begin();
    host.wait_until(at(2_000));
    host.egress.attempted(host.now, Duration::from_us(500));
    host.complete(1);
    assert_eq!(host.egress.poll_timeout(), Some(at(4_150)));
}

#[test]
fn a_slow_probe_is_one_report() {
    // By hand: the shortest is 50 us; 549 us is 499 us above it and 551 us 501.
    let detector =
        Detector::ProbeDelay { excess: Duration::from_us(500), epoch: Duration::from_secs(10) };
    let mut host = Host::new(&smoothed(Mode::Adaptive(Adaptive::HIMD), 4, detector));
    let us = Duration::from_us;
    // On another path, with another clock, the shortest is 90 000 us; path 200 does not exist.
    for (path, delay, reports) in [
        (0, Some(us(50)), 0),
        (0, Some(us(549)), 0),
        (1, Some(us(90_000)), 0),
        (0, Some(us(551)), 1),
        (1, Some(us(90_500)), 1),
        (200, None, 1),
        (1, Some(us(90_501)), 2),
        (0, None, 3),
    ] {
        host.egress.probe(host.now, path, delay);
        host.drain();
        let statistics = host.egress.smoother_statistics().expect("a smoother");
        assert_eq!(statistics.reports, reports, "{path}: {delay:?}");
    }
    // Held for 10 ms, then not; completions are not observations.
    host.offer(datagram(1500, Bulk, 0));
    host.wait_until(at(10_000));
    assert!(host.handed.is_empty());
    host.wait_until(at(20_000));
    assert_eq!(host.order(), [0]);
    host.begin();
    host.complete(16);
    let statistics = host.egress.smoother_statistics().expect("a smoother");
    assert_eq!(statistics.reports, 3);
}

#[test]
fn marks_are_one_report_a_window() {
    // By hand: windows of 1 ms, every octet of the first marked; the first packet of the next
    // window reports it, once.
    let detector = Detector::Marks { threshold_percent: 50, window: Duration::from_ms(1) };
    let mut host = Host::new(&smoothed(Mode::Adaptive(Adaptive::HIMD), 4, detector));
    for (us, reports) in [(0, 0), (500, 0), (1_000, 1), (1_500, 1), (2_500, 2)] {
        host.wait_until(at(us));
        let packet = Marked { size: Bytes::new(1500), is_marked: true };
        host.egress.mark(host.now, packet);
        host.drain();
        let statistics = host.egress.smoother_statistics().expect("a smoother");
        assert_eq!(statistics.reports, reports, "at {us} us");
    }
}

#[test]
fn a_backlog_is_reported_with_the_next_completion() {
    // By hand: marks at 1518 and 3036 octets. Two full frames below reach the upper one; when the
    // first is out 1518 are left, which is the lower one.
    let detector = Detector::Backlog { low: Bytes::new(1517), high: Bytes::new(3036) };
    let mut host = Host::new(&smoothed(Mode::None, 4, detector));
    host.offer(datagram(1500, Bulk, 0));
    host.offer(datagram(1500, Bulk, 0));
    for reports in [1, 1] {
        host.begin();
        host.complete(1);
        let statistics = host.egress.smoother_statistics().expect("a smoother");
        assert_eq!(statistics.reports, reports);
    }
}

#[test]
fn a_frame_that_waits_in_the_ring_does_not_slow_it_down() {
    // By hand: two full frames are handed out at once and are out after 1230.4 us each: 10 Mbit/s,
    // above the floor. Counted from when it was handed out, the second would make it 6.7 Mbit/s.
    let floor = BitRate::from_mbps(9);
    let detector = Detector::ClearingRate { floor };
    let mut host = Host::new(&smoothed(Mode::None, 2, detector));
    host.offer(datagram(1500, Bulk, 0));
    host.offer(datagram(1500, Bulk, 0));
    host.send_until(at(5_000));
    let statistics = host.egress.smoother_statistics().expect("a smoother");
    assert_eq!((host.out.len(), statistics.reports), (2, 0));
}

#[test]
fn more_room_below_is_used_at_once_and_the_detector_goes_on() {
    // By hand: the window that began at 0 is over at 1 ms, regardless of changes in between.
    let layer = |ring, threshold_percent| {
        let window = Duration::from_ms(1);
        let detector = Detector::Marks { threshold_percent, window };
        smoothed(Mode::None, ring, detector)
    };
    for (threshold, reports) in [(50, 1), (60, 0)] {
        let mut host = Host::new(&layer(1, 50));
        let packet = Marked { size: Bytes::new(1500), is_marked: true };
        host.egress.mark(host.now, packet);
        host.offer(datagram(1500, Bulk, 0));
        host.offer(datagram(1500, Bulk, 0));
        assert_eq!(host.order(), [0]);
        host.wait_until(at(500));
        let wider = layer(2, threshold);
        host.egress.set(host.now, &wider).expect("a good layer");
        host.drain();
        assert_eq!(host.order(), [0, 1]);
        host.wait_until(at(1_000));
        host.egress.mark(host.now, packet);
        let statistics = host.egress.smoother_statistics().expect("a smoother");
        assert_eq!(statistics.reports, reports, "threshold {threshold}");
    }
}

#[test]
fn a_refused_frame_leaves_its_descriptor_to_another() {
    // By hand: a ring of two descriptors above a port with room for one frame. The second frame is
    // refused, and so is the third, which takes its descriptor; then there is room again.
    let mut host = Host::new(&queued(TransmitStrategy::Fifo, 2, &[4]));
    host.room = 1;
    for _ in 0..3 {
        host.offer(other(100, 0));
    }
    assert_eq!((host.order(), &host.refused[..]), (vec![0], &[1, 2][..]));
    host.begin();
    host.complete(1);
    host.offer(other(100, 0));
    assert_eq!(host.order(), [0, 3]);
    assert_eq!(host.egress.statistics().refused, 2);
}

#[test]
fn a_new_layer_loses_no_frame() {
    // By hand: ring of one, so frame 0 is in the ring and 1..=6 wait in one queue, odd ones of
    // class 1. With two queues of one frame each nothing is dropped, class 1 goes first, in order,
    // and a queue above its limit accepts no more.
    let mut host = Host::new(&queued(TransmitStrategy::Fifo, 1, &[8, 8]));
    for class in [0, 1, 0, 1, 0, 1, 0] {
        host.offer(other(100, class));
    }
    let rings = TransmitStrategy::Rings { count: 1 };
    host.egress.set(host.now, &queued(rings, 1, &[1, 1])).expect("a good layer");
    host.drain();
    host.offer(other(100, 1));
    assert_eq!(host.dropped, [7]);
    host.send_until(at(10_000));
    assert_eq!(host.order(), [0, 1, 3, 5, 2, 4, 6]);
    host.offer(other(100, 1));
    assert_eq!(host.order().last(), Some(&8));
}

#[test]
fn a_smoother_that_goes_lets_its_frames_go_first() {
    // By hand: no credits for 1000 s after the first frame; once the smoother is removed,
    // everything leaves in order, later frames last.
    let slow = smoothed(fixed(1_000_000), 1, EVERY_COLLISION);
    let mut host = Host::new(&slow);
    for _ in 0..3 {
        host.offer(datagram(1500, Bulk, 0));
    }
    host.send_until(at(100_000));
    assert_eq!(host.order(), [0]);
    host.egress.set(host.now, &Layer::default()).expect("a good layer");
    host.drain();
    assert!(!host.egress.is_plain(), "frames wait for room below");
    host.offer(datagram(46, Bulk, 0));
    host.send_until(at(200_000));
    assert_eq!(host.order(), [0, 1, 2, 3]);
    host.offer(other(64, 0));
    assert!(host.egress.is_plain());
    host.egress.set(host.now, &slow).expect("a good layer");
    assert!(host.egress.smoother_state().is_some());
}

#[test]
fn a_refused_layer_changes_nothing() {
    let mut host = Host::new(&queued(TransmitStrategy::Fifo, 1, &[8]));
    host.offer(other(100, 0));
    let no_room = Layer {
        smoother: Some(smoothing(Mode::None, 0, EVERY_COLLISION)),
        ..queued(TransmitStrategy::Fifo, 9, &[8])
    };
    let error = host.egress.set(host.now, &no_room).expect_err("no room");
    assert_eq!(error, EgressError::NoRoomBelow);
    host.offer(other(100, 0));
    assert_eq!(host.order(), [0], "the ring has one descriptor");
}

#[test]
fn a_ring_without_queues_has_a_limit() {
    // Oracle: `PLAIN_RING`; one more waits, the next is dropped.
    let layer = Layer::default();
    let mut egress = Egress::new(Instant::ZERO, &layer, RATE, IN_STEP).expect("a good layer");
    let limit = u64::from(rtether_proto::egress::PLAIN_RING);
    for frame in 0..limit + 5 {
        egress.offer(at(0), frame, other(64, 0));
        while egress.poll_transmit(at(0)).is_some() {}
    }
    let statistics = egress.statistics();
    assert_eq!((statistics.handed, statistics.dropped_by_queues), (limit, 4));
    assert_eq!(egress.poll_dropped(), Some(limit + 1));
}
