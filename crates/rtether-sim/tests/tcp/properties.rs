//! Under loss, duplication and reordering, everything arrives once and in order, and transfers end.

use proptest::prelude::*;
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_sim::tcp::{Config, CongestionControl, Counting, State};

use crate::tcp::bottleneck::Wire;
use crate::tcp::pair::Pair;

/// Longer than any transfer here can take: a run that reaches it hangs. Without a buffer on the
/// path and without congestion control one segment gets through per timeout, and timeouts grow to a
/// minute, so transfers are limited to thousands of segments.
const DEADLINE: Instant = Instant::from_ps(40 * 86_400 * 1_000_000_000_000);

fn wires() -> impl Strategy<Value = Wire> {
    let trouble = (0..300_000_u64, 0..200_000_u64, 0..20_000_i64);
    (10..1_000_u64, 0..20_000_i64, 0..60_usize, trouble).prop_map(
        |(mbps, delay_us, queue, (loss_ppm, duplication_ppm, jitter_us))| Wire {
            queue,
            loss_ppm,
            duplication_ppm,
            jitter: Duration::from_us(jitter_us),
            ..Wire::new(BitRate::from_mbps(mbps), Duration::from_us(delay_us))
        },
    )
}

fn configs() -> impl Strategy<Value = Config> {
    let sizes = (1..1_461_u32, 1..70_000_u32, 0..8_usize);
    let choices = (any::<bool>(), any::<bool>(), any::<bool>(), 1..4_u32);
    (sizes, choices).prop_map(
        |((mss, receive_window, ranges), (control, octets, nagle, delayed))| {
            Config {
                mss,
                receive_window,
                delayed_ack_segments: delayed,
                // At 30 % loss each way fifteen timeouts in a row do happen.
                max_retries: 1_000,
                congestion_control: if control {
                    CongestionControl::NewReno
                } else {
                    CongestionControl::None
                },
                counting: if octets { Counting::Octets } else { Counting::Acknowledgements },
                nagle,
                reassembly_ranges: ranges,
                ..Config::default()
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn everything_is_delivered_once_and_in_order(
        config in configs(),
        forward in wires(),
        backward in wires(),
        segments in 0..200_u64,
        remainder in 0..1_460_u64,
        seed in any::<u64>(),
    ) {
        let size = Bytes::new(segments * u64::from(config.mss) + remainder);
        let mut pair = Pair::new(config, forward, backward, seed).checked();
        pair.sender.open(Instant::ZERO);
        pair.sender.write(Instant::ZERO, size);
        pair.sender.finish();
        pair.run(DEADLINE);
        prop_assert_eq!(pair.sender.state(), State::Done);
        prop_assert!(pair.receiver.is_done());
        prop_assert_eq!(pair.receiver.delivered(), size);
        prop_assert_eq!(pair.sender.statistics().bytes_acked, size);
        prop_assert_eq!(pair.next(), None);
    }

    #[test]
    fn an_application_that_writes_bit_by_bit_is_served(
        config in configs(),
        forward in wires(),
        backward in wires(),
        writes in prop::collection::vec((0..400_000_i64, 1..5_000_u64), 1..40),
        seed in any::<u64>(),
    ) {
        let mut pair = Pair::new(config, forward, backward, seed).checked();
        pair.sender.open(Instant::ZERO);
        let mut size = Bytes::ZERO;
        for (pause_us, octets) in writes {
            let octets = octets.min(50 * u64::from(config.mss));
            pair.run(pair.now + Duration::from_us(pause_us));
            pair.sender.write(pair.now, Bytes::new(octets));
            size += Bytes::new(octets);
        }
        pair.run(pair.now);
        pair.sender.finish();
        pair.run(DEADLINE);
        prop_assert_eq!(pair.sender.state(), State::Done);
        prop_assert_eq!(pair.receiver.delivered(), size);
    }
}

#[test]
fn rare_paths_are_visited() {
    // Make sure that the properties covered the code they are about.
    let mut config = Config { max_retries: 1_000, reassembly_ranges: 4, ..Config::default() };
    let mut wire = Wire::new(BitRate::from_mbps(100), Duration::from_ms(5));
    wire.loss_ppm = 50_000;
    wire.duplication_ppm = 20_000;
    config.receive_window = 200_000;
    let mut pair = Pair::new(config, wire, wire, 1).checked();
    pair.sender.open(Instant::ZERO);
    pair.sender.write(Instant::ZERO, Bytes::new(3_000_000));
    pair.sender.finish();
    pair.run(DEADLINE);
    let (sender, receiver) = (pair.sender.statistics(), pair.receiver.statistics());
    assert!(sender.timeouts > 0 && sender.fast_retransmits > 0, "{sender:?}");
    assert!(sender.retransmissions > sender.timeouts + sender.fast_retransmits, "{sender:?}");
    assert!(receiver.refused_ranges > 0 && receiver.duplicates > 0, "{receiver:?}");
    assert_eq!(pair.receiver.delivered(), Bytes::new(3_000_000));
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed| {
        let mut wire = Wire::new(BitRate::from_mbps(10), Duration::from_ms(2));
        wire.loss_ppm = 20_000;
        let mut pair = Pair::new(Config::default(), wire, wire, seed);
        pair.sender.open(Instant::ZERO);
        pair.sender.write(Instant::ZERO, Bytes::new(10_000_000));
        pair.run(Instant::ZERO + Duration::from_secs(5));
        (pair.sender.statistics(), pair.receiver.statistics())
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}
