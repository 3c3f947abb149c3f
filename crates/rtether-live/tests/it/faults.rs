//! Faults on the path, at the peer, and of the device.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration as Sleep;

use rtether_live::clock::Clock;
use rtether_live::link::{Link, MacAddress, Raw, RawOptions, Tcp, Udp, UdpOptions, Xdp};
use rtether_live::meter::{Meter, Oddities};
use rtether_live::wait::Waiting;
use rtether_model::quantity::{Duration, Instant};
use rtether_proto::probe::message;
use rtether_proto::probe::{Codec, Config, Counters, Event, Interval, Prober};
use rtether_testkit::Dice;

use crate::bed::inside;
use crate::meter::{PORT, SLEEPS_MIN, sleeps, tcp_service, with_responder};
use crate::wire::{DEVICE, FAR, Wire, patient};

const CONFIG: Config = Config {
    series: 1,
    samples: 1_000,
    interval: Interval::Fixed(Duration::from_us(300)),
    pause: Duration::ZERO,
    // Longer than a thread of a busy machine waits for the processor.
    timeout: Duration::from_secs(2),
};

/// What the faulty responder has done; the oracle for the meter's counters.
#[derive(Debug, Default, PartialEq, Eq)]
struct Done {
    answered: u64,
    duplicates: u64,
    malformed: u64,
    reordered: u64,
}

/// Drops three of ten requests, answers one of ten twice, one with an invalid message only, one
/// only partly, and one after the next; answers the rest correctly.
fn answer_badly(socket: &UdpSocket, seed: u64, stop: &AtomicBool) -> Done {
    socket.set_read_timeout(Some(Sleep::from_millis(50))).unwrap();
    let (mut dice, mut done) = (Dice::new(seed), Done::default());
    let (mut held, mut last) = (None::<Vec<u8>>, None);
    let mut buffer = [0; 2_000];
    while !stop.load(Ordering::Relaxed) {
        let Ok((len, peer)) = rtether_testkit::repeated(|| socket.recv_from(&mut buffer)) else {
            if let (Some(reply), Some(peer)) = (held.take(), last) {
                socket.send_to(&reply, peer).unwrap();
            }
            continue;
        };
        let mut reply = buffer[..len].to_vec();
        if message::answer(&mut reply, Instant::ZERO, Instant::ZERO).is_err() {
            // A spinning meter announces the end of a rest; this is not a request.
            continue;
        }
        last = Some(peer);
        let before = held.take();
        let send = |octets: &[u8]| {
            socket.send_to(octets, peer).unwrap();
        };
        let mut is_answered = true;
        match dice.index(10) {
            0..3 => is_answered = false,
            3 => {
                send(&reply);
                send(&reply);
                done.duplicates += 1;
            }
            4 => {
                let junk: Vec<u8> = (0..40).map(|n: u8| n ^ 0xFF).collect();
                send(&junk);
                done.malformed += 1;
                is_answered = false;
            }
            5 => {
                send(&reply[..10]);
                done.malformed += 1;
                is_answered = false;
            }
            6 if before.is_none() => {
                held = Some(reply);
                done.answered += 1;
                continue;
            }
            _ => send(&reply),
        }
        done.answered += u64::from(is_answered);
        if let Some(before) = before {
            send(&before);
            done.reordered += u64::from(is_answered);
        }
    }
    done
}

fn meter<L: Link>(link: L, config: Config, waiting: Waiting) -> Meter<L> {
    let prober = Prober::new(config, Instant::ZERO).unwrap();
    let codec = Codec::Message { session: 1 };
    Meter::new(link, codec, prober, Clock::start(), waiting, 64)
}

#[test]
fn each_fault_of_the_peer_is_counted() {
    let Some(wire) = Wire::new() else { return };
    for seed in [1, 20_261_121] {
        let stop = AtomicBool::new(false);
        let socket = inside(&wire.far, || patient(|| UdpSocket::bind((FAR, PORT))));
        std::thread::scope(|scope| {
            let far = scope.spawn(|| answer_badly(&socket, seed, &stop));
            let near = scope.spawn(|| {
                wire.near.enter().unwrap();
                let link = Udp::connect((FAR, PORT).into(), UdpOptions::default()).unwrap();
                let mut meter = meter(link, CONFIG, Waiting::Block);
                meter.run(&AtomicBool::new(false), |_| {}).unwrap();
                (meter.prober().counters(), meter.oddities())
            });
            let (counters, oddities) = near.join().unwrap();
            stop.store(true, Ordering::Relaxed);
            let done = far.join().unwrap();
            assert!(done.reordered > 10 && done.duplicates > 10, "{done:?}");
            let expected = Counters {
                sent: 1_000,
                answered: done.answered,
                lost: 1_000 - done.answered,
                duplicates: done.duplicates,
                reordered: done.reordered,
                skipped: counters.skipped,
                ..Counters::default()
            };
            assert_eq!(counters, expected, "seed {seed}");
            let expected = Oddities { malformed: done.malformed, ..Oddities::default() };
            assert_eq!(oddities, expected, "seed {seed}");
        });
    }
}

/// Oracle: the kernel's account of the thread. Some reply is missing at any time.
#[test]
fn a_spinning_meter_sleeps_though_replies_are_lost() {
    let Some(wire) = Wire::new() else { return };
    let config = Config { interval: Interval::Fixed(Duration::from_ms(1)), ..CONFIG };
    let stop = AtomicBool::new(false);
    let socket = inside(&wire.far, || patient(|| UdpSocket::bind((FAR, PORT))));
    std::thread::scope(|scope| {
        let far = scope.spawn(|| answer_badly(&socket, 1, &stop));
        let near = scope.spawn(|| {
            wire.near.enter().unwrap();
            let link = Udp::connect((FAR, PORT).into(), UdpOptions::default()).unwrap();
            let mut meter = meter(link, config, Waiting::Spin);
            meter.run(&AtomicBool::new(false), |_| {}).unwrap();
            (meter.prober().counters(), sleeps())
        });
        let near = near.join();
        stop.store(true, Ordering::Relaxed);
        let done = far.join().unwrap();
        let (counters, sleeps) = near.unwrap();
        assert_eq!(counters.answered, done.answered);
        assert!(counters.lost > 100, "{counters:?}");
        assert!(sleeps > SLEEPS_MIN, "{sleeps}");
    });
}

/// Removes the device while a meter runs, after fifty losses; returns the meter's result. The
/// oracle is the removal itself: the run would take a minute.
fn without_device<L: Link>(wire: &Wire, link: impl FnOnce() -> L + Send) -> std::io::Error {
    let config = Config {
        samples: 60_000,
        interval: Interval::Fixed(Duration::from_ms(1)),
        timeout: Duration::from_ms(100),
        ..CONFIG
    };
    let lost = AtomicU32::new(0);
    std::thread::scope(|scope| {
        let near = scope.spawn(|| {
            wire.near.enter().unwrap();
            let mut meter = meter(link(), config, Waiting::Block);
            let ended = meter.run(&AtomicBool::new(false), |event| {
                assert!(matches!(event, Event::Lost(_)), "{event:?}");
                lost.fetch_add(1, Ordering::Relaxed);
            });
            ended.expect_err("no device")
        });
        while lost.load(Ordering::Relaxed) < 50 && !near.is_finished() {
            std::thread::sleep(Sleep::from_millis(1));
        }
        wire.near.run(&format!("ip link delete {DEVICE}")).unwrap();
        near.join().unwrap()
    })
}

#[test]
fn a_removed_device_ends_the_run() {
    let peer = MacAddress([2, 0, 0, 0, 0, 9]);
    let raw = || Raw::connect(DEVICE, peer, RawOptions::default()).unwrap();
    let xdp = || Xdp::connect(DEVICE, peer, RawOptions::default()).unwrap();
    let udp = || Udp::connect((FAR, PORT).into(), UdpOptions::default()).unwrap();
    let Some(wire) = Wire::new() else { return };
    let error = without_device(&wire, raw);
    assert_eq!(error.raw_os_error(), Some(100), "network down: {error}");
    let wire = Wire::new().unwrap();
    let error = without_device(&wire, xdp);
    assert!([6, 100].contains(&error.raw_os_error().unwrap()), "{error}");
    let wire = Wire::new().unwrap();
    let error = without_device(&wire, udp);
    assert_eq!(error.raw_os_error(), Some(101), "network unreachable: {error}");
}

#[test]
fn a_peer_that_ends_leaves_losses_or_a_closed_connection() {
    let Some(wire) = Wire::new() else { return };
    // Over UDP the rest is lost, and the far host reports the port as unreachable.
    let config = Config { samples: 200, interval: Interval::Fixed(Duration::from_ms(1)), ..CONFIG };
    let (mut near, _) = with_responder(
        &wire,
        || patient(|| Udp::bind((FAR, PORT).into(), UdpOptions::default())),
        false,
        || {
            let link = Udp::connect((FAR, PORT).into(), UdpOptions::default()).unwrap();
            let mut meter = meter(link, config, Waiting::Block);
            let stop = AtomicBool::new(false);
            let mut answered = 0;
            meter
                .run(&stop, |event| {
                    answered += u32::from(matches!(event, Event::Sample(_)));
                    stop.store(answered >= 20, Ordering::Relaxed);
                })
                .unwrap();
            meter
        },
    );
    std::thread::scope(|scope| {
        let rest = scope.spawn(|| {
            wire.near.enter().unwrap();
            near.run(&AtomicBool::new(false), |_| {}).unwrap();
            (near.prober().counters(), near.oddities())
        });
        let (counters, oddities) = rest.join().unwrap();
        // Replies may have been in transit when the responder ended.
        assert_eq!(counters.sent, 200);
        assert!((20..200).contains(&counters.answered), "{counters:?}");
        assert_eq!(counters.lost, 200 - counters.answered);
        // The kernel limits the rate of these messages.
        assert!(oddities.unreachable > 0, "{oddities:?}");
    });
    // Over TCP the connection is closed.
    let (mut near, _) = with_responder(&wire, tcp_service, false, || {
        let link = Tcp::connect((FAR, PORT).into(), UdpOptions::default()).unwrap();
        let mut meter = meter(link, config, Waiting::Block);
        let stop = AtomicBool::new(false);
        meter.run(&stop, |_| stop.store(true, Ordering::Relaxed)).unwrap();
        meter
    });
    let error = near.run(&AtomicBool::new(false), |_| {}).expect_err("closed");
    // A reset if a request was in transit, which the kernel of the far host then refuses.
    let is_closed = error.to_string().contains("closed the connection");
    let resets = [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe];
    let is_reset = resets.contains(&error.kind());
    assert!(is_closed || is_reset, "{error}");
}
