//! The meter in virtual time: a path with known delay must be measured exactly, to the picosecond.
//!
//! Oracle: the delays given to the simulated path.

use std::collections::BTreeMap;

use rtether::meter::{Measurement, Subject};
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_model::wire::{Encapsulation, frame_size, wire_time};
use rtether_proto::probe::message;
use rtether_proto::probe::{Codec, Config, Interval, Prober, Received};
use rtether_testkit::Dice;

/// What happens to one request and its replies on the path.
struct Fate {
    /// Round trips of the replies; empty if the request or its reply is lost.
    replies: Vec<Duration>,
}

/// Runs a meter over a path and returns its measurement.
fn run(
    config: Config,
    path: &mut dyn FnMut(u32, usize) -> Fate,
) -> (Measurement, BTreeMap<u32, Vec<Duration>>) {
    let codec = Codec::Message { session: 3 };
    let mut prober = Prober::new(config, Instant::ZERO).unwrap();
    let mut measurement = Measurement::new(Subject {
        series: config.series,
        samples: config.samples,
        ..Subject::default()
    });
    let mut fates = BTreeMap::new();
    let mut wire: BTreeMap<(Instant, u32, usize), Vec<u8>> = BTreeMap::new();
    let mut now = Instant::ZERO;
    while !prober.is_finished() {
        while let Some(request) = prober.poll_transmit(now) {
            let mut payload = vec![0; 64];
            codec.write(request, &mut payload);
            let fate = path(request.sequence, payload.len());
            message::answer(&mut payload, now, now).unwrap();
            for (number, round_trip) in fate.replies.iter().enumerate() {
                wire.insert((now + *round_trip, request.sequence, number), payload.clone());
            }
            fates.insert(request.sequence, fate.replies);
        }
        let arrival = wire.first_key_value().map(|(key, _)| key.0);
        now = [arrival, prober.poll_timeout()].into_iter().flatten().min().unwrap();
        if arrival == Some(now) {
            let (_, payload) = wire.pop_first().unwrap();
            let Received::Reply(sequence) = codec.read(&payload, prober.oldest_pending()) else {
                panic!("{payload:?}");
            };
            prober.handle_reply(now, sequence);
        } else {
            prober.handle_timeout(now);
        }
        while let Some(event) = prober.poll_event() {
            measurement.record(event);
        }
        prober.invariants();
    }
    measurement.counters = prober.counters();
    (measurement, fates)
}

const CONFIG: Config = Config {
    series: 4,
    samples: 200,
    interval: Interval::Fixed(Duration::from_us(100)),
    pause: Duration::from_ms(1),
    timeout: Duration::from_ms(2),
};

#[test]
fn two_links_and_a_switch_are_measured_exactly() {
    // Store and forward over two links of 100 Mbit/s each way; 3 us at the peer.
    let rate = BitRate::from_mbps(100);
    let link = |payload: usize| {
        let payload = Bytes::new(u64::try_from(payload).unwrap());
        wire_time(frame_size(payload, Encapsulation::Udp), rate)
    };
    let mut path = |_, payload| Fate { replies: vec![link(payload) * 4 + Duration::from_us(3)] };
    let (measurement, _) = run(CONFIG, &mut path);
    let all = measurement.all().unwrap();
    // 8 + 14 + 28 + 64 + 4 = 118 octets take 9.44 us; four times and 3 us: 40.76 us.
    let expected = Duration::from_ns(40_760);
    assert_eq!((all.count, all.min, all.max, all.median), (800, expected, expected, expected));
    assert_eq!(all.standard_deviation, Duration::ZERO);
    assert_eq!((measurement.counters.lost, measurement.counters.reordered), (0, 0));
}

#[test]
fn a_lossy_path_that_reorders_is_measured_exactly() {
    for seed in 1..=20_u64 {
        let mut dice = Dice::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut path = |_, _| {
            let mut delay =
                || Duration::from_ps(i64::try_from(dice.between(0, 999_999_999)).unwrap());
            let (first, second) = (delay(), delay());
            Fate {
                replies: match dice.index(10) {
                    0..3 => vec![],
                    3 => vec![first, second],
                    // After the timeout.
                    4 => vec![first + Duration::from_us(2_500)],
                    _ => vec![first],
                },
            }
        };
        let (measurement, fates) = run(CONFIG, &mut path);
        let in_time = |replies: &Vec<Duration>| {
            replies.iter().min().copied().filter(|d| *d <= CONFIG.timeout)
        };
        let expected: BTreeMap<u32, Duration> = fates
            .iter()
            .filter_map(|(sequence, replies)| Some((*sequence, in_time(replies)?)))
            .collect();
        let measured: BTreeMap<u32, Duration> =
            measurement.samples.iter().map(|s| (s.sequence, s.round_trip)).collect();
        assert_eq!(measured, expected, "seed {seed}");
        let counters = measurement.counters;
        assert_eq!(counters.lost, 800 - expected.len() as u64);
        assert!(counters.reordered > 0 && counters.duplicates > 0, "{counters:?}");
    }
}
