//! Throughput against closed forms.

use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_sim::tcp::{Config, Counting};

use crate::tcp::bottleneck::Wire;
use crate::tcp::pair::Pair;

/// Runs an endless transfer and returns the octets delivered.
fn delivered(config: Config, forward: Wire, time: Duration, seed: u64) -> f64 {
    let backward = Wire { loss_ppm: 0, queue: usize::MAX, ..forward };
    let mut pair = Pair::new(config, forward, backward, seed);
    pair.sender.open(Instant::ZERO);
    pair.sender.write(Instant::ZERO, Bytes::new(1 << 50));
    pair.run(Instant::ZERO + time);
    let octets = u32::try_from(pair.receiver.delivered().get()).expect("under 4 GB");
    f64::from(octets)
}

#[test]
fn a_saturated_link_carries_1460_of_1538_octets() {
    // 1460 octets of payload in 1538 on the wire: 94.93 Mbit/s of 100.
    let wire = Wire::new(BitRate::from_mbps(100), Duration::from_us(50));
    let time = Duration::from_secs(10);
    let rate = delivered(Config::default(), wire, time, 1) * 8.0 / time.as_secs_f64();
    let expected = 100e6 * 1460.0 / 1538.0;
    assert!((rate / expected - 1.0).abs() < 1e-3, "{rate} instead of {expected}");
}

#[test]
fn a_window_limited_flow_carries_one_window_a_round_trip() {
    // Four segments per window, each second one acknowledged. The second one of a pair leaves the
    // sender one frame time after the first, so that a round takes, beside the propagation, two
    // full frames and one acknowledgement: 2 * 123.04 - 0.96 + 5.76 us.
    let wire = Wire::new(BitRate::from_mbps(100), Duration::from_ms(5));
    let config = Config { receive_window: 4 * 1460, ..Config::default() };
    let time = Duration::from_secs(10);
    let rounds = time.as_ns_f64() / (10e6 + 123_040.0 + 122_080.0 + 5_760.0);
    let ratio = delivered(config, wire, time, 1) / (rounds * 4.0 * 1460.0);
    assert!((ratio - 1.0).abs() < 1e-3, "{ratio}");
}

#[test]
fn random_loss_gives_the_square_root_law() {
    // Mathis et al., The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm, CCR 27(3),
    // 1997: MSS / RTT * C / sqrt(p). C is sqrt(3/2) when the window grows by a segment per round
    // trip (octets counted, or no delayed acknowledgements) and sqrt(3/4) when delayed
    // acknowledgements are counted. The law ignores timeouts, recovery rounds and the discrete
    // window; at 0.1 % and a window near 39 segments it is accurate to 20 %.
    let time = Duration::from_secs(400);
    let mut wire = Wire::new(BitRate::from_mbps(1_000), Duration::from_ms(10));
    wire.loss_ppm = 1_000;
    for (counting, delayed_ack_segments, constant) in [
        (Counting::Octets, 2, 1.5_f64.sqrt()),
        (Counting::Acknowledgements, 1, 1.5_f64.sqrt()),
        (Counting::Acknowledgements, 2, 0.75_f64.sqrt()),
    ] {
        let config =
            Config { counting, delayed_ack_segments, receive_window: 1 << 20, ..Config::default() };
        let law = 1460.0 / 0.020 * constant / 0.001_f64.sqrt() * time.as_secs_f64();
        let ratio = delivered(config, wire, time, 1) / law;
        println!("{counting:?}, acknowledging {delayed_ack_segments}: {ratio:.3} of the law");
        assert!((0.8..1.2).contains(&ratio), "{counting:?}: {ratio}");
    }
}
