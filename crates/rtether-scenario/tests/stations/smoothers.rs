//! Lowering of smoothers and their detectors.

use rtether_model::endnode::{Detector, Smoothing};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::smoother::{
    self, Adaptive, Doubling, Fixed, Increase, Limits, Mode, Nt, TurnBucket,
};

use crate::stations::{MS, layer};

fn smoothing(text: &str) -> Smoothing {
    layer(&format!("smoother: {{ {text} }}")).smoother.expect("a smoother")
}

#[test]
fn smoothers_are_those_of_the_paper() {
    let seen = |visibility_per_million| Detector::OwnCollisions { visibility_per_million };
    for (word, mode) in [
        ("none", Mode::None),
        ("fixed", Mode::Fixed(Fixed::PAPER)),
        ("himd", Mode::Adaptive(Adaptive::HIMD)),
        ("slow-start", Mode::Adaptive(Adaptive::SLOW_START)),
        ("linear", Mode::Adaptive(Adaptive::LINEAR)),
    ] {
        let smoothing = smoothing(&format!("mode: {word}"));
        assert_eq!(smoothing.config, smoother::Config::new(mode));
        assert_eq!(smoothing.rule, smoother::Rule::LINUX);
        assert_eq!((smoothing.ring, smoothing.detector), (2, seen(1_000_000)));
    }
    let nt = smoothing("mode: nt");
    // Node `a` is at index 1, which is its seed.
    assert_eq!(nt.config.mode, Mode::Nt(Nt::paper(1)));
    assert_eq!(nt.rule, smoother::Rule::NT);
    assert_eq!(nt.detector, seen(250_000));
}

#[test]
fn a_smoother_that_keeps_its_place() {
    let plain = smoothing("mode: rtether");
    assert_eq!(plain.config.mode, Mode::Rtether(TurnBucket::DEFAULT));
    let own = smoothing(
        "mode: rtether, depth: 3 kB, period: 5 ms .. 50 ms, guard: 1 ms, threshold: 90 %, \
         growth_percent: 200, gain: 5 %, target: 50 %, window: 100 ms, rate_step: 20 kbit/s",
    );
    let expected = TurnBucket {
        depth: Bytes::new(3000),
        period_min: MS(5),
        period_max: MS(50),
        guard: MS(1),
        window: MS(100),
        target_percent: 50,
        gain_percent: 5,
        step: BitRate::from_bps(20_000),
        threshold_percent: 90,
        growth_percent: 200,
    };
    assert_eq!(own.config.mode, Mode::Rtether(expected));
}

#[test]
fn smoothers_with_every_key() {
    let himd = smoothing(
        "mode: himd, ring: 4, classify: 34, depth: 3 kB, period: 1 ms .. 50 ms, hold: 20 ms, \
         tick: 2 ms, delta: 300 us, doubling: per-call, shift_refresh: true, forgive_debt: true, \
         real_time_limit: 7, bulk_limit: 8, detector: { kind: collisions, visibility: 30 % }",
    );
    let adaptive = Adaptive {
        depth: Bytes::new(3000),
        hold: MS(20),
        tick: MS(2),
        period_min: MS(1),
        period_max: MS(50),
        increase: Increase::Harmonic(Duration::from_us(300)),
        doubling: Doubling::PerCall,
        growth_percent: 200,
        shift_refresh: true,
        forgive_debt: true,
    };
    let expected = Smoothing {
        config: smoother::Config {
            mode: Mode::Adaptive(adaptive),
            limits: Limits { real_time_packets: 7, bulk_packets: 8, ..Limits::default() },
        },
        rule: smoother::Rule::TypeOfService { mask: 0xfc, values: [0x88; 2] },
        ring: 4,
        detector: Detector::OwnCollisions { visibility_per_million: 300_000 },
    };
    assert_eq!(himd, expected);
    let mode = |text: &str| smoothing(text).config.mode;
    let fixed = Fixed { depth: Bytes::new(1518), period: MS(4) };
    let text = "mode: fixed, depth: 1518 B, period: 4 ms, classify: udp";
    assert_eq!(mode(text), Mode::Fixed(fixed));
    let slow = Increase::SlowStart(MS(100));
    let linear = Increase::Linear(BitRate::from_bps(8_000));
    for (text, increase) in [
        ("mode: slow-start, halve_every: 100 ms", slow),
        ("mode: linear, rate_step: 8 kbit/s", linear),
    ] {
        let adaptive = Adaptive { increase, ..Adaptive::HIMD };
        assert_eq!(mode(text), Mode::Adaptive(adaptive));
    }
    let nt = Nt {
        depth_step: Bytes::new(1600),
        depth_max: Bytes::new(6000),
        period_min: MS(20),
        period_max: MS(200),
        delta: MS(5),
        jitter: Duration::ZERO,
        seed: 1,
    };
    let text = "mode: nt, depth: 6 kB, depth_step: 1600 B, period: 20 ms .. 200 ms, delta: 5 ms, \
                jitter: 0 ms, classify: tos";
    assert_eq!(mode(text), Mode::Nt(nt));
}

#[test]
fn detectors() {
    let detector = |text: &str| smoothing(&format!("mode: himd, detector: {{ {text} }}")).detector;
    let floor = BitRate::from_mbps(4);
    let clearing = detector("kind: clearing-rate, floor: 4 Mbit/s");
    assert_eq!(clearing, Detector::ClearingRate { floor });
    let backlog = Detector::Backlog { low: Bytes::new(1500), high: Bytes::new(6000) };
    assert_eq!(detector("kind: backlog, low: 1500 B, high: 6 kB"), backlog);
    let utilization = Detector::Utilization { threshold_percent: 60, window: MS(10) };
    let text = "kind: utilization, threshold: 60 %, window: 10 ms";
    assert_eq!(detector(text), utilization);
}
