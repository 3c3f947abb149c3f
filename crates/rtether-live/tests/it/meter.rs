//! Round trips over each kind of link.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration as Sleep;

use rtether_live::clock::Clock;
use rtether_live::host;
use rtether_live::link::{
    Icmp, Link, MacAddress, Raw, RawOptions, Service, Tcp, TcpLimits, TcpService, Udp, UdpOptions,
    Xdp,
};
use rtether_live::meter::{Meter, Oddities};
use rtether_live::responder::{Answered, Responder, Role};
use rtether_live::stamps::Collector;
use rtether_live::wait::Waiting;
use rtether_model::network::{Pcp, Vid};
use rtether_model::quantity::{Duration, Instant};
use rtether_proto::probe::message::{self, Kind, Message};
use rtether_proto::probe::{Codec, Config, Event, Interval, Prober, Sample};

use crate::bed::inside;
use crate::wire::{DEVICE, FAR, NEAR, Wire, patient};

const CONFIG: Config = Config {
    series: 2,
    samples: 50,
    interval: Interval::Adaptive,
    pause: Duration::from_ms(1),
    timeout: Duration::from_ms(500),
};

pub(crate) const PORT: u16 = 7_254;

/// Runs a responder in the far host while `near` runs in the near one.
pub(crate) fn with_responder<S: Service, T: Send>(
    wire: &Wire,
    service: impl FnOnce() -> S + Send,
    has_stamps: bool,
    near: impl FnOnce() -> T + Send,
) -> (T, Answered) {
    let (stop, is_ready) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let far = scope.spawn(|| {
            wire.far.enter().unwrap();
            let mut responder =
                Responder::new(service(), Role::Echo, Clock::start(), Waiting::Block);
            if has_stamps {
                responder = responder.with_stamps().unwrap();
            }
            is_ready.store(true, Ordering::Release);
            responder.run(&stop).unwrap();
            responder.counters()
        });
        let near = scope.spawn(|| {
            wire.near.enter().unwrap();
            let is_there = (0..10_000).any(|_| {
                std::thread::sleep(Sleep::from_millis(1));
                is_ready.load(Ordering::Acquire)
            });
            assert!(is_there, "the responder has failed");
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

/// Oracle: a wire that loses nothing; a round trip takes more than zero time, and less than the
/// run.
fn check(samples: &[Sample]) {
    let numbers: Vec<u32> = samples.iter().map(|sample| sample.sequence).collect();
    assert_eq!(numbers, (0..100).collect::<Vec<_>>());
    for pair in samples.windows(2) {
        let [one, next] = pair else { unreachable!() };
        assert!(one.round_trip > Duration::from_ns(500), "{one:?}");
        assert!(one.sent_at + one.round_trip <= next.sent_at, "{pair:?}");
    }
}

/// Measures round trips from the near host to a service in the far one.
fn round_trips<S: Service, L: Link>(
    wire: &Wire,
    service: impl FnOnce() -> S + Send,
    link: impl FnOnce() -> L + Send,
    waiting: Waiting,
    size: usize,
) {
    let codec = Codec::Message { session: 1 };
    let near = || measure(link(), codec, waiting, size);
    let (samples, answered) = with_responder(wire, service, false, near);
    check(&samples);
    assert_eq!((answered.answered, answered.malformed), (100, 0));
}

#[test]
fn udp() {
    let Some(wire) = Wire::new() else { return };
    for (waiting, size) in [(Waiting::Block, 0), (Waiting::Spin, 1_400)] {
        let service = || patient(|| Udp::bind((FAR, PORT).into(), UdpOptions::default()));
        let options = UdpOptions { dscp: 46, priority: Some(6) };
        let link = || Udp::connect((FAR, PORT).into(), options).unwrap();
        round_trips(&wire, service, link, waiting, size);
    }
}

#[test]
fn raw_ethernet() {
    let Some(wire) = Wire::new() else { return };
    let peer = wire.far_address();
    let service = || Raw::bind(DEVICE, RawOptions::default()).unwrap();
    let link = || Raw::connect(DEVICE, peer, RawOptions::default()).unwrap();
    round_trips(&wire, service, link, Waiting::Block, 0);
}

#[test]
fn icmp_is_answered_by_the_kernel() {
    let Some(wire) = Wire::new() else { return };
    std::thread::scope(|scope| {
        let near = scope.spawn(|| {
            wire.near.enter().unwrap();
            let link = Icmp::connect(FAR, 0).unwrap();
            measure(link, Codec::Icmp { identifier: 7 }, Waiting::Block, 64)
        });
        check(&near.join().unwrap());
    });
}

#[test]
fn xdp_with_and_without_a_tag_leaves_other_frames_alone() {
    let Some(wire) = Wire::new() else { return };
    let peer = wire.far_address();
    let tag = (Pcp::new(5).unwrap(), Vid::new(7).unwrap());
    for tag in [None, Some(tag)] {
        let options = RawOptions { tag };
        let (samples, answered) = with_responder(
            &wire,
            || patient(|| Xdp::bind(DEVICE, options)),
            false,
            || {
                let link = Xdp::connect(DEVICE, peer, options).unwrap();
                let codec = Codec::Message { session: 1 };
                let samples = measure(link, codec, Waiting::Spin, 1_400);
                // While the program is attached to the far device, the kernel there still receives
                // its frames.
                let link = Icmp::connect(FAR, 0).unwrap();
                check(&measure(link, Codec::Icmp { identifier: 7 }, Waiting::Block, 64));
                samples
            },
        );
        check(&samples);
        assert_eq!((answered.answered, answered.malformed), (100, 0));
    }
    // No program is left behind.
    patient(|| {
        let device = format!("ip -details link show {DEVICE}");
        let is_there = wire.far.run(&device).unwrap().contains("prog");
        let busy = is_there.then_some(io::Error::from(io::ErrorKind::ResourceBusy));
        busy.map_or(Ok(()), Err)
    });
}

#[test]
fn a_frame_that_is_too_large_is_refused_by_xdp() {
    let Some(wire) = Wire::new() else { return };
    std::thread::scope(|scope| {
        let near = scope.spawn(|| {
            wire.near.enter().unwrap();
            let mut link = Xdp::connect(DEVICE, MacAddress([2; 6]), RawOptions::default()).unwrap();
            assert_eq!(link.payload_max(), 1_500);
            // More frames than there is memory for: frames are recycled.
            for _ in 0..1_000 {
                link.send(&[0; 1_500]).unwrap();
            }
            assert!(link.send(&[0; 2_000]).is_err());
        });
        near.join().unwrap();
    });
}

#[test]
fn tcp() {
    let Some(wire) = Wire::new() else { return };
    for (waiting, size) in [(Waiting::Spin, 0), (Waiting::Block, 40_000)] {
        let link = || Tcp::connect((FAR, PORT).into(), UdpOptions::default()).unwrap();
        round_trips(&wire, tcp_service, link, waiting, size);
    }
}

/// Returns a service over TCP with its usual limits.
pub(crate) fn tcp_service() -> TcpService {
    let (udp, limits) = (UdpOptions::default(), TcpLimits::default());
    patient(|| TcpService::bind((FAR, PORT).into(), udp, limits))
}

/// Lower limit of sleeps for a thousand requests a millisecond apart. A thread sleeps before nearly
/// each, and on a busy machine before some, since requests that arrive together leave no time to
/// sleep. A spinning thread sleeps only at its start and end.
pub(crate) const SLEEPS_MIN: u32 = 20;

/// Returns how often the calling thread has slept.
pub(crate) fn sleeps() -> u32 {
    let text = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let mut lines = text.lines();
    let count = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    count.unwrap().trim().parse().unwrap()
}

/// Oracle: the kernel's account of the thread. Requests that arrive together, as on a busy machine,
/// leave no time to sleep, so several runs are made; a spinning responder sleeps in none.
#[test]
fn a_spinning_responder_sleeps_between_requests() {
    let Some(wire) = Wire::new() else { return };
    let seen: Vec<u32> = (0..5).map(|_| sleeps_of_a_responder(&wire)).collect();
    assert!(seen.iter().any(|&count| count > SLEEPS_MIN), "{seen:?}");
}

/// Oracle: the far host's routes: none leads to the stranger, whose address anyone can forge.
#[test]
fn a_request_without_a_way_back_ends_no_responder() {
    const STRANGER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);
    let Some(wire) = Wire::new() else { return };
    let command = format!("ip address add {STRANGER}/32 dev {DEVICE}");
    wire.near.run(&command).unwrap();
    let mut request = [0; message::SIZE_MIN];
    let asked = Message { session: 1, sequence: 2, kind: Kind::Request };
    assert!(asked.write(&mut request));
    let bind = || Udp::bind((FAR, PORT).into(), UdpOptions::default());
    let ((), answered) = with_responder(
        &wire,
        || patient(bind),
        false,
        || {
            for (address, is_answered) in [(STRANGER, false), (NEAR, true)] {
                let socket = UdpSocket::bind((address, 0)).unwrap();
                let patience = Sleep::from_secs(if is_answered { 20 } else { 1 });
                socket.set_read_timeout(Some(patience)).unwrap();
                socket.send_to(&request, (FAR, PORT)).unwrap();
                assert_eq!(socket.recv(&mut [0; 100]).is_ok(), is_answered, "{address}");
            }
        },
    );
    assert_eq!((answered.answered, answered.unsent), (1, 1), "{answered:?}");
}

/// Returns how often a spinning responder slept while it answered all of a thousand requests.
fn sleeps_of_a_responder(wire: &Wire) -> u32 {
    let bind = || Udp::bind((FAR, PORT).into(), UdpOptions::default());
    let socket = inside(&wire.far, || patient(bind));
    let mut responder = Responder::new(socket, Role::Echo, Clock::start(), Waiting::Spin);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let far = scope.spawn(|| {
            responder.run(&stop).unwrap();
            sleeps()
        });
        let answered = inside(&wire.near, || {
            let link = Udp::connect((FAR, PORT).into(), UdpOptions::default()).unwrap();
            let config = Config {
                series: 1,
                samples: 1_000,
                interval: Interval::Fixed(Duration::from_ms(1)),
                timeout: Duration::from_secs(10),
                ..CONFIG
            };
            let prober = Prober::new(config, Instant::ZERO).unwrap();
            let codec = Codec::Message { session: 1 };
            let mut meter = Meter::new(link, codec, prober, Clock::start(), Waiting::Spin, 0);
            let ended = meter.run(&AtomicBool::new(false), |_| {});
            ended.map(|()| meter.prober().counters().answered)
        });
        stop.store(true, Ordering::Relaxed);
        let sleeps = far.join().unwrap();
        assert_eq!(answered.unwrap(), 1_000);
        sleeps
    })
}

/// Timestamps are in the order of the path, and nearly every round trip has all of them.
fn check_stamps(collector: Collector) {
    let (tracks, dropped, steps) = collector.finish();
    assert_eq!((tracks.len(), dropped, steps), (100, 0, 0));
    let own = host::identity().unwrap();
    let mut whole = 0;
    for track in tracks {
        let peer = track.peer.expect("a responder that knows details");
        assert_eq!(peer.host, own);
        let marks = [
            Some(track.sample.sent_at),
            track.queued_at,
            track.driver_at,
            peer.arrived_at,
            Some(peer.read_at),
            Some(peer.answered_at),
            peer.queued_at,
            peer.driver_at,
            track.arrived_at,
            Some(track.sample.sent_at + track.sample.round_trip),
        ];
        let Some(marks) = marks.into_iter().collect::<Option<Vec<Instant>>>() else {
            continue;
        };
        whole += u32::from(track.sample.series == 1);
        for pair in marks.windows(2) {
            // Two clocks are read one after the other.
            assert!(pair[1] + Duration::from_us(1) >= pair[0], "{marks:?}");
        }
    }
    // A busy kernel enables receive timestamps late, so the second series counts; a later reply
    // cannot carry the timestamps of the last one.
    assert!(whole >= 48, "{whole} of 50 have all stamps");
}

fn measure_stamps(link: impl Link) -> Collector {
    let prober = Prober::new(CONFIG, Instant::ZERO).unwrap();
    let codec = Codec::Message { session: 1 };
    let meter = Meter::new(link, codec, prober, Clock::start(), Waiting::Block, 0);
    let mut meter = meter.with_stamps().unwrap();
    meter.run(&AtomicBool::new(false), |_| {}).unwrap();
    meter.take_collector().unwrap()
}

#[test]
fn kernel_stamps_of_both_sides() {
    let Some(wire) = Wire::new() else { return };
    let (collector, _) = with_responder(
        &wire,
        || patient(|| Udp::bind((FAR, PORT).into(), UdpOptions::default())),
        true,
        || measure_stamps(Udp::connect((FAR, PORT).into(), UdpOptions::default()).unwrap()),
    );
    check_stamps(collector);
    let peer = wire.far_address();
    let (collector, _) = with_responder(
        &wire,
        || Raw::bind(DEVICE, RawOptions::default()).unwrap(),
        true,
        || measure_stamps(Raw::connect(DEVICE, peer, RawOptions::default()).unwrap()),
    );
    check_stamps(collector);
}
