//! Arithmetic worked out in the test.

use super::super::{ATTEMPT_LIMIT, MediumError};
use super::*;

const fn offer(at: i64, station: u32, octets: u64) -> Offer {
    Offer { at, station, octets }
}

/// Returns (station, start, end) of all transmissions.
fn times(events: &[Event]) -> Vec<(u32, i64, i64)> {
    let all = transmissions(events);
    all.iter().map(|t| (t.station, t.start, t.end)).collect()
}

#[test]
fn a_gap_of_9_6_us_between_frames_of_one_station() {
    // 64 octets and the preamble are 576 bits; 96 bits at 10 Mbit/s are 9.6 us.
    let mut medium = segment(Backoff::Standard, 5, &[(10, 1), (20, 2)]);
    let events = run(&mut medium, &[offer(0, 0, 64), offer(0, 0, 64)], 9999, true);
    assert_eq!(times(&events), [(0, 0, 576), (0, 672, 1248)]);
    let start = |n: usize| {
        let mut starts = events.iter().filter(|e| e.kind == EventKind::Started);
        starts.nth(n).unwrap().at
    };
    let end = events.iter().find(|e| is_end(e.kind)).unwrap().at;
    assert_eq!(start(1) - end, Duration::from_ns(9_600));
    assert_eq!(medium.statistics().carried, Duration::from_ns(2 * 57_600));
    assert_eq!(medium.propagation(0, 1), Duration::from_ns(3_500));
    let delivered = events.iter().filter(|e| matches!(e.kind, EventKind::Delivered { .. }));
    assert_eq!(delivered.count(), 2);
}

#[test]
fn at_100_mbit_everything_is_ten_times_as_fast() {
    // 128 octets and the preamble: 10.88 us; the gap 0.96 us.
    let attachment = Attachment { distance: Duration::from_ns(50), seed: 1 };
    let config = Config {
        rate: BitRate::from_mbps(100),
        repeater_delay: Duration::ZERO,
        backoff: Backoff::Standard,
    };
    let mut medium = Medium::new(&config, &[attachment; 2]).unwrap();
    medium.offer(Instant::ZERO, 0, 7, Bytes::new(128));
    medium.handle_timeout(Instant::ZERO);
    while medium.poll_event().is_some() {}
    let end = medium.poll_timeout().unwrap();
    assert_eq!(end.since_start(), Duration::from_ns(10_880));
    medium.handle_timeout(end);
    assert_eq!(medium.poll_event().unwrap().frame, 7);
    while medium.poll_event().is_some() {}
    medium.offer(end, 0, 8, Bytes::new(128));
    let next = medium.poll_timeout().unwrap();
    assert_eq!(next - end, Duration::from_ns(960));
}

#[test]
fn a_start_after_the_carrier_has_come_defers() {
    // Delay 10 + 5 + 20 = 35 bits. At 36 the other station senses it, and waits for the end at 576
    // + 35 and the gap.
    let mut medium = segment(Backoff::Standard, 5, &[(10, 1), (20, 2)]);
    let events = run(&mut medium, &[offer(0, 0, 64), offer(36, 1, 64)], 9999, true);
    assert_eq!(times(&events), [(0, 0, 576), (1, 707, 1283)]);
    assert_eq!(medium.statistics().collisions[0], 0);
}

#[test]
fn a_start_before_the_carrier_has_come_collides() {
    // Station 1 starts at 35, when the carrier arrives: it detects the collision at once, completes
    // its preamble and jams: 35 + 64 + 32. Station 0 detects it at 35 + 35 = 70, after its
    // preamble: 70 + 32.
    for first in [true, false] {
        let mut medium = segment(Backoff::Standard, 5, &[(10, 1), (20, 2)]);
        let events = run(&mut medium, &[offer(0, 0, 64), offer(35, 1, 64)], 400, first);
        let all = transmissions(&events);
        assert_eq!((all[0].start, all[0].detected, all[0].end), (0, Some(70), 102));
        assert_eq!((all[1].start, all[1].detected, all[1].end), (35, Some(35), 131));
    }
}

#[test]
fn a_jam_by_three() {
    // Delays 0-1: 30, 0-2: 70, 1-2: 60 (distances 20, 10, 50, repeater 0). Starts at 0, 10, 40.
    // Station 0 hears 1 at 40 and completes preamble and jam: 96. Station 1 hears 0 at 30: 10 + 96.
    // Station 2 hears 0 at 70 and 1 at 70: 40 + 96 = 136.
    let stations = [(20, 1), (10, 2), (50, 3)];
    let mut medium = segment(Backoff::Standard, 0, &stations);
    let offers = [offer(0, 0, 64), offer(10, 1, 64), offer(40, 2, 64)];
    let events = run(&mut medium, &offers, 180, true);
    let all = transmissions(&events);
    let seen: Vec<_> = all.iter().map(|t| (t.start, t.detected, t.end)).collect();
    let expected = [(0, Some(40), 96), (10, Some(30), 106), (40, Some(70), 136)];
    assert_eq!(seen[..3], expected);
    // No station starts before silence and a gap: 0 hears 2 until 206, 1 hears it until 196, and 2
    // hears the others until 166.
    assert_eq!(medium.statistics().collisions[0], 3);
    assert_eq!(medium.statistics().wasted, Duration::from_ps(288 * BIT));
    assert!(medium.poll_timeout().unwrap() >= Instant::from_ps((166 + 96) * BIT));
}

#[test]
fn simultaneous_stations_share_no_draw_and_no_order() {
    // Stations with the same seed draw alike: they collide sixteen times and both give up. The
    // back-off starts at the end of the jam; zero slots still wait for the gap.
    let mut medium = segment(Backoff::Standard, 2, &[(1, 9), (1, 9)]);
    let events = run(&mut medium, &[offer(0, 0, 64), offer(0, 1, 64)], i64::MAX / BIT, true);
    let all = transmissions(&events);
    assert_eq!(all.len(), 32);
    for pair in all.chunks(2) {
        assert_eq!((pair[0].start, pair[0].end), (pair[1].start, pair[1].end));
        assert_eq!(pair[0].end - pair[0].start, 96);
    }
    for (n, (a, b)) in (1u32..).zip(all.iter().step_by(2).zip(all.iter().step_by(2).skip(1))) {
        let wait = b.start - a.end;
        // The other station's carrier lasts 4 bits longer.
        assert!(wait == 4 + 96 || wait % 512 == 0, "{wait}");
        assert!(wait < 512 << n.min(10), "{wait}");
    }
    assert_eq!(medium.statistics().collisions, [2; ATTEMPT_LIMIT as usize]);
    let last = all.last().unwrap();
    assert_eq!(last.end_of_frame, Some(End::Excessive));
    assert_eq!(medium.station_statistics(1).excessive_collisions, 1);
    // The next frame starts over with its first attempt.
    let end = last.end + 10_000;
    let events = run(&mut medium, &[offer(end, 0, 64)], end + 9999, true);
    assert_eq!(transmissions(&events)[0].end_of_frame, Some(End::Sent(1)));
}

#[test]
fn a_late_collision_is_counted_and_not_retried() {
    // Delay 300 bits one way. The second station starts just before the carrier arrives, and is
    // heard at 300 + 299 = 599, after 512 bits but before the end at 1088.
    let mut medium = segment(Backoff::Standard, 0, &[(150, 1), (150, 2)]);
    assert!(!medium.is_within_slot());
    let events = run(&mut medium, &[offer(0, 0, 128), offer(299, 1, 128)], 99_999, true);
    let all = transmissions(&events);
    assert_eq!((all[0].detected, all[0].end), (Some(599), 631));
    assert_eq!(all[0].end_of_frame, Some(End::Late));
    // The second detects it at 300 and tries again after the carrier has ended.
    assert_eq!((all[1].detected, all[1].end), (Some(300), 299 + 96));
    assert_eq!(medium.statistics().late_collisions, 1);
    assert_eq!(all.last().unwrap().end_of_frame, Some(End::Sent(2)));
}

#[test]
fn a_frame_shorter_than_the_segment_is_garbled_unseen() {
    // 576 bits against 2 x 350: the first ends before it hears the second.
    let mut medium = segment(Backoff::Standard, 0, &[(175, 1), (175, 2)]);
    let events = run(&mut medium, &[offer(0, 0, 64), offer(340, 1, 64)], 580, true);
    let sent = events.iter().position(|e| e.kind == EventKind::Sent { attempts: 1 });
    assert!(matches!(events[sent.unwrap() + 1].kind, EventKind::Garbled { .. }));
    assert_eq!(medium.statistics().garbled, 1);
}

#[test]
fn a_late_driver_changes_no_time() {
    // Oracle: the same offers, driven on time.
    let stations = [(3, 1), (4, 2), (5, 3)];
    let offers = [offer(0, 0, 64), offer(0, 1, 64), offer(0, 2, 64)];
    let mut in_time = segment(Backoff::Standard, 1, &stations);
    let expected = run(&mut in_time, &offers, 100_000, true);
    let mut late = segment(Backoff::Standard, 1, &stations);
    for station in 0..3 {
        late.offer(Instant::ZERO, station, 0, Bytes::new(64));
    }
    late.handle_timeout(Instant::from_ps(100_000 * BIT));
    let found: Vec<_> = core::iter::from_fn(|| late.poll_event()).collect();
    assert_eq!(found, expected);
}

#[test]
fn an_unusable_segment_is_refused() {
    let attachment = |ns| Attachment { distance: Duration::from_ns(ns), seed: 0 };
    let config = Config {
        rate: BitRate::from_mbps(10),
        repeater_delay: Duration::ZERO,
        backoff: Backoff::Standard,
    };
    let refused = |config: &Config, ns: [i64; 2]| Medium::new(config, &ns.map(attachment)).err();
    assert_eq!(refused(&config, [25_600, 25_600]), None);
    let length = Duration::from_ns(51_201);
    assert_eq!(refused(&config, [25_600, 25_601]), Some(MediumError::TooLong(length)));
    let negative = MediumError::Negative { station: 1 };
    assert_eq!(refused(&config, [0, -1]), Some(negative));
    let rate = BitRate::from_mbps(1000);
    let gigabit = Config { rate, ..config };
    assert_eq!(refused(&gigabit, [0, 0]), Some(MediumError::Rate(rate)));
}

#[test]
fn the_end_of_time_is_reached() {
    let mut medium = segment(Backoff::Standard, 0, &[(1, 1), (1, 2)]);
    medium.offer(Instant::ZERO, 1, 0, Bytes::new(64));
    medium.handle_timeout(Instant::MAX);
    assert_eq!(medium.station_statistics(1).sent, 1);
    assert_eq!(medium.poll_timeout(), None);
}
