//! Meter and responder over a scripted wire, in virtual time.

use std::collections::BTreeMap;
use std::vec;
use std::vec::Vec;

use proptest::prelude::*;
use rtether_model::quantity::{Duration, Instant};

use super::message::{self, Kind, Message};
use super::{Config, Event, Interval, Prober};

/// The round trips of a request's replies; empty if it is lost.
type Fate = Vec<Duration>;

/// Runs a meter to its end; returns the events and the send times of the requests.
fn run(config: Config, fates: &[Fate]) -> (Prober, Vec<Event>, Vec<Instant>) {
    let mut prober = Prober::new(config, Instant::ZERO).unwrap();
    let (mut events, mut sent) = (Vec::new(), Vec::new());
    // Replies in flight by arrival time and a number that keeps them in order.
    let mut wire: BTreeMap<(Instant, usize), Vec<u8>> = BTreeMap::new();
    let (mut now, mut number) = (Instant::ZERO, 0_usize);
    while !prober.is_finished() {
        while let Some(request) = prober.poll_transmit(now) {
            let mut payload = [0; 40];
            let message = Message { session: 9, sequence: request.sequence, kind: Kind::Request };
            assert!(message.write(&mut payload));
            let fate = &fates[usize::try_from(request.sequence).unwrap() % fates.len()];
            for &round_trip in fate {
                let mut reply = payload;
                message::answer(&mut reply, now, now).unwrap();
                number += 1;
                wire.insert((now + round_trip, number), reply.to_vec());
            }
            sent.push(now);
        }
        let arrival = wire.first_key_value().map(|(key, _)| key.0);
        let timeout = prober.poll_timeout();
        now = [arrival, timeout].into_iter().flatten().min().unwrap();
        if arrival == Some(now) {
            let (_, reply) = wire.pop_first().unwrap();
            let reply = Message::parse(&reply).unwrap();
            prober.handle_reply(now, reply.sequence);
        } else {
            prober.handle_timeout(now);
        }
        events.extend(core::iter::from_fn(|| prober.poll_event()));
        prober.invariants();
    }
    (prober, events, sent)
}

fn us(us: i64) -> Duration {
    Duration::from_us(us)
}

const CONFIG: Config = Config {
    series: 2,
    samples: 3,
    interval: Interval::Fixed(Duration::from_us(100)),
    pause: Duration::from_us(1_000),
    timeout: Duration::from_us(500),
};

#[test]
fn a_known_delay_is_measured_exactly() {
    let (prober, events, sent) = run(CONFIG, &[vec![us(30)]]);
    let samples: Vec<_> = events
        .iter()
        .map(|event| match event {
            Event::Sample(sample) => (sample.sequence, sample.series, sample.round_trip),
            Event::Lost(_) | Event::Late { .. } | Event::Duplicate(_) => panic!("{event:?}"),
        })
        .collect();
    let expected: Vec<_> = (0..6).map(|n| (n, n / 3, us(30))).collect();
    assert_eq!(samples, expected);
    // The second series begins one pause after the last reply of the first.
    let expected = [0, 100, 200, 1_230, 1_330, 1_430];
    assert_eq!(sent, expected.map(|time| Instant::ZERO + us(time)));
    assert_eq!(prober.counters().skipped, 0);
}

#[test]
fn adaptive_sending_waits_for_the_reply_or_the_loss() {
    let config = Config { interval: Interval::Adaptive, series: 1, ..CONFIG };
    let (prober, _, sent) = run(config, &[vec![us(30)], vec![], vec![us(40)]]);
    let lost = Instant::ZERO + us(530) + Duration::from_ps(1);
    assert_eq!(sent, [Instant::ZERO, Instant::ZERO + us(30), lost]);
    assert_eq!(prober.counters().lost, 1);
}

#[test]
fn oddities_are_told_apart() {
    // Lost and late; answered twice; overtaken by the next.
    let fates = [vec![us(700)], vec![us(10), us(20)], vec![us(200)], vec![us(50)]];
    let config = Config { series: 1, samples: 8, ..CONFIG };
    let (prober, ..) = run(config, &fates);
    let counters = prober.counters();
    assert_eq!((counters.answered, counters.lost), (6, 2));
    assert_eq!((counters.late, counters.duplicates), (1, 2));
    assert_eq!(counters.reordered, 2);
}

#[test]
fn a_late_host_leaves_points_of_the_grid_out() {
    let mut prober = Prober::new(CONFIG, Instant::ZERO).unwrap();
    assert!(prober.poll_transmit(Instant::ZERO).is_some());
    let late = Instant::ZERO + us(345);
    assert!(prober.poll_transmit(late).is_some());
    assert!(prober.poll_transmit(late).is_none());
    assert_eq!(prober.counters().skipped, 2);
    // Back on the grid.
    assert!(prober.poll_transmit(Instant::ZERO + us(400)).is_some());
}

#[test]
fn sixteen_bits_are_enough_for_a_window() {
    let config = Config { series: 1, samples: 70_000, ..CONFIG };
    let mut prober = Prober::new(config, Instant::ZERO).unwrap();
    let mut now = Instant::ZERO;
    for sequence in 0..65_540 {
        let request = prober.poll_transmit(now).unwrap();
        let low = u16::try_from(request.sequence & 0xFFFF).unwrap();
        assert_eq!(prober.widen(low), sequence);
        prober.handle_reply(now, sequence);
        assert!(matches!(prober.poll_event(), Some(Event::Sample(_))));
        now += us(100);
    }
    assert_eq!(prober.widen(65_530), 65_530);
    assert_eq!(prober.widen(2), 65_538);
}

proptest! {
    /// Oracle: the wire, on which every round trip is known.
    #[test]
    fn what_the_wire_did_is_what_is_counted(
        fates in prop::collection::vec(prop::collection::vec(1..900i64, 0..3), 1..12),
        samples in 1..9u32,
        series in 1..4u32,
        is_adaptive: bool,
        interval in 20..400i64,
    ) {
        let fates: Vec<Fate> = fates
            .into_iter()
            .map(|fate| fate.into_iter().map(us).collect())
            .collect();
        let interval = if is_adaptive { Interval::Adaptive } else { Interval::Fixed(us(interval)) };
        let config = Config { series, samples, interval, ..CONFIG };
        let (prober, events, sent) = run(config, &fates);
        let counters = prober.counters();
        prop_assert_eq!(counters.sent, u64::from(series * samples));
        prop_assert_eq!(sent.len() as u64, counters.sent);
        prop_assert_eq!((counters.skipped, counters.unknown), (0, 0));
        let fate_of = |sequence: u32| &fates[sequence as usize % fates.len()];
        let is_in_time = |fate: &Fate| fate.iter().any(|&time| time <= CONFIG.timeout);
        let answered = (0..series * samples).filter(|&n| is_in_time(fate_of(n))).count();
        prop_assert_eq!(counters.answered, answered as u64);
        for event in events {
            if let Event::Sample(sample) = event {
                let first = fate_of(sample.sequence).iter().min();
                prop_assert_eq!(Some(&sample.round_trip), first);
                prop_assert_eq!(sample.sent_at, sent[sample.sequence as usize]);
            }
        }
    }
}
