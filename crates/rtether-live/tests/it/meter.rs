//! Round trips over each kind of link.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration as Sleep;

use rtether_live::clock::Clock;
use rtether_live::link::{Icmp, Link, Raw, RawOptions, Service, Udp, UdpOptions};
use rtether_live::meter::{Meter, Oddities};
use rtether_live::responder::{Answered, Responder, Role};
use rtether_live::wait::Waiting;
use rtether_model::quantity::{Duration, Instant};
use rtether_proto::probe::{Codec, Config, Event, Interval, Prober, Sample};

use crate::wire::{DEVICE, FAR, Wire};

const CONFIG: Config = Config {
    series: 2,
    samples: 50,
    interval: Interval::Adaptive,
    pause: Duration::from_ms(1),
    timeout: Duration::from_ms(500),
};

const PORT: u16 = 7_254;

/// Runs a responder in the far host while `near` runs in the near one.
fn with_responder<S: Service, T: Send>(
    wire: &Wire,
    service: impl FnOnce() -> S + Send,
    near: impl FnOnce() -> T + Send,
) -> (T, Answered) {
    let (stop, is_ready) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let far = scope.spawn(|| {
            wire.far.enter().unwrap();
            let mut responder =
                Responder::new(service(), Role::Echo, Clock::start(), Waiting::Block);
            is_ready.store(true, Ordering::Release);
            responder.run(&stop).unwrap();
            responder.counters()
        });
        let near = scope.spawn(|| {
            wire.near.enter().unwrap();
            while !is_ready.load(Ordering::Acquire) {
                std::thread::sleep(Sleep::from_millis(1));
            }
            near()
        });
        let result = near.join();
        stop.store(true, Ordering::Relaxed);
        let answered = far.join().unwrap();
        (result.unwrap(), answered)
    })
}

fn measure(link: impl Link, codec: Codec, waiting: Waiting, size: usize) -> Vec<Sample> {
    let prober = Prober::new(CONFIG, Instant::ZERO).unwrap();
    let mut meter = Meter::new(link, codec, prober, Clock::start(), waiting, size);
    let mut samples = Vec::new();
    meter
        .run(&AtomicBool::new(false), |event| match event {
            Event::Sample(sample) => samples.push(sample),
            Event::Lost(_) | Event::Late { .. } | Event::Duplicate(_) => panic!("{event:?}"),
        })
        .unwrap();
    assert_eq!(meter.oddities(), Oddities::default());
    samples
}

/// Oracle: a wire that loses nothing; a round trip takes time, and less than the run.
fn check(samples: &[Sample]) {
    let numbers: Vec<u32> = samples.iter().map(|sample| sample.sequence).collect();
    assert_eq!(numbers, (0..100).collect::<Vec<_>>());
    for pair in samples.windows(2) {
        let [one, next] = pair else { unreachable!() };
        assert!(one.round_trip > Duration::from_ns(500), "{one:?}");
        assert!(one.sent_at + one.round_trip <= next.sent_at, "{pair:?}");
    }
}

#[test]
fn udp() {
    let Some(wire) = Wire::new("udp") else { return };
    for (waiting, size) in [(Waiting::Block, 0), (Waiting::Spin, 1_400)] {
        let (samples, answered) = with_responder(
            &wire,
            || Udp::bind((FAR, PORT).into(), UdpOptions::default()).unwrap(),
            || {
                let options = UdpOptions {
                    dscp: 46,
                    priority: Some(6),
                };
                let link = Udp::connect((FAR, PORT).into(), options).unwrap();
                measure(link, Codec::Message { session: 1 }, waiting, size)
            },
        );
        check(&samples);
        assert_eq!((answered.answered, answered.malformed), (100, 0));
    }
}

#[test]
fn raw_ethernet() {
    let Some(wire) = Wire::new("raw_ethernet") else {
        return;
    };
    let peer = wire.far_address();
    let (samples, answered) = with_responder(
        &wire,
        || Raw::bind(DEVICE, RawOptions::default()).unwrap(),
        || {
            let link = Raw::connect(DEVICE, peer, RawOptions::default()).unwrap();
            measure(link, Codec::Message { session: 1 }, Waiting::Block, 0)
        },
    );
    check(&samples);
    assert_eq!((answered.answered, answered.malformed), (100, 0));
}

#[test]
fn icmp_is_answered_by_the_kernel() {
    let Some(wire) = Wire::new("icmp") else {
        return;
    };
    std::thread::scope(|scope| {
        let near = scope.spawn(|| {
            wire.near.enter().unwrap();
            let link = Icmp::connect(FAR, 0).unwrap();
            measure(link, Codec::Icmp { identifier: 7 }, Waiting::Block, 64)
        });
        check(&near.join().unwrap());
    });
}
