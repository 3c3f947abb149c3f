//! Stations of a test bed.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration as Sleep;

use rtether_live::clock::Clock;
use rtether_live::link::MacAddress;
use rtether_live::station::mark::Mark;
use rtether_live::station::{
    Answer, Carrier, Duties, Incoming, Log, Outgoing, PORT, Peer, Station, Tagging,
};
use rtether_model::flow::{Flow, Phase, Reply, Scan, Traffic};
use rtether_model::network::NodeId;
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_sim::release::Releases;
use rtether_sim::thinking::Thinking;

use crate::bed::inside;
use crate::wire::{DEVICE, FAR, NEAR, Wire, patient};

/// Octets of a payload.
const PAYLOAD: usize = 64;
/// Number of the requests to the station.
const STREAM: u16 = 9;

/// Packets of a burst that no host can send in a second.
const ALL: u32 = 100_000_000;
/// The far host, for IP.
pub(crate) const PEER: Peer = Peer { ip: FAR, mac: MacAddress([0; 6]) };

pub(crate) fn releases(traffic: Traffic) -> Releases {
    let flow =
        Flow::new("flow".into(), NodeId(0), vec![NodeId(1)], Bytes::new(PAYLOAD as u64), traffic);
    Releases::new(&flow, 1)
}

/// A station at the near host that receives `STREAM`.
fn duties(outgoing: Option<Traffic>, answer: Option<Answer>, until: Duration) -> Duties {
    let flow = |traffic| Outgoing {
        stream: 0,
        releases: releases(traffic),
        peers: vec![PEER],
        answers: 0,
        payload: PAYLOAD,
        carrier: Carrier::Udp,
        tagging: Tagging::default(),
    };
    Duties {
        device: DEVICE.into(),
        address: NEAR,
        outgoing: outgoing.into_iter().map(flow).collect(),
        incoming: vec![Incoming { stream: STREAM, named: STREAM, carrier: Carrier::Udp, answer }],
        groups: Vec::new(),
        until: Instant::ZERO + until,
        grace: Duration::from_ms(100),
    }
}

/// Runs a station while `far` has a socket at the far host; returns when the station ended.
fn run<T>(
    wire: &Wire,
    duties: impl FnOnce() -> Duties + Send,
    far: impl FnOnce(&UdpSocket, Clock, &AtomicBool) -> T,
) -> (Log, Duration, T) {
    let socket = inside(&wire.far, || patient(|| UdpSocket::bind((FAR, PORT))));
    let stop = AtomicBool::new(false);
    let (opened, clock) = (AtomicBool::new(false), Clock::start());
    std::thread::scope(|scope| {
        let station = scope.spawn(|| {
            wire.near.enter().unwrap();
            let station = Station::open(duties()).unwrap();
            opened.store(true, Ordering::Release);
            let (log, ended) = station.run(clock, &stop);
            assert!(ended.is_none(), "{ended:?}");
            (log, clock.now().since_start())
        });
        while !opened.load(Ordering::Acquire) && !station.is_finished() {
            std::thread::sleep(Sleep::from_millis(1));
        }
        let result = far(&socket, clock, &stop);
        let (log, ended_at) = station.join().unwrap();
        (log, ended_at, result)
    })
}

fn send(socket: &UdpSocket, number: u32, released_at: Instant) {
    let mark = Mark { stream: STREAM, is_answer: false, number, released_at };
    let mut payload = [0; PAYLOAD];
    mark.write(&mut payload);
    socket.send_to(&payload, (NEAR, PORT)).unwrap();
}

/// Receives a payload, despite signals; returns its octets.
fn receive(socket: &UdpSocket, payload: &mut [u8]) -> usize {
    rtether_testkit::repeated(|| socket.recv(payload)).unwrap()
}

/// Oracles: the flow asks for 100 million packets, which take a host a minute at least; what the
/// far host sends before the end arrives; packets are sent or counted.
#[test]
fn a_station_that_cannot_keep_up_receives_and_ends_in_time() {
    let Some(wire) = Wire::new() else { return };
    let flood = Traffic::Flood { interval: Duration::from_ns(10) };
    // The same number, released at once.
    let burst = Traffic::Sporadic {
        min_gap: Duration::from_secs(1),
        mean_gap: Duration::from_secs(1),
        burst: ALL,
    };
    for (traffic, is_stopped) in [(flood.clone(), false), (flood, true), (burst, false)] {
        let (until, longest) = (Duration::from_secs(1), Duration::from_secs(10));
        let (log, ended_at, ()) = run(
            &wire,
            || duties(Some(traffic.clone()), None, until),
            |socket, clock, stop| {
                for number in 0..20 {
                    send(socket, number, clock.now());
                    std::thread::sleep(Sleep::from_millis(10));
                }
                stop.store(is_stopped, Ordering::Relaxed);
            },
        );
        assert!(ended_at < longest, "{ended_at:?}");
        assert!(is_stopped || ended_at >= until, "{ended_at:?}");
        let numbers: Vec<u32> = log.arrived.iter().map(|packet| packet.number).collect();
        assert_eq!(numbers, (0..20).collect::<Vec<_>>());
        let sent: Vec<u32> = log.sent.iter().map(|packet| packet.number).collect();
        assert!(sent.is_sorted_by(|one, next| one < next));
        let (sent, unsent) = (sent.len() as u64, log.oddities.unsent);
        assert!(sent > 1_000, "{sent}");
        let is_burst = matches!(traffic, Traffic::Sporadic { .. });
        assert!(!is_burst || sent + unsent == u64::from(ALL));
        assert!(is_stopped || unsent > 1_000_000, "{unsent}");
    }
}

/// Oracle: the requester's clock, which is the station's: answers leave just behind multiples of the
/// cycle. Of times at random a quarter would be that near, and 15 of 20 one time in a million.
#[test]
fn answers_leave_at_the_scans_of_a_station() {
    let Some(wire) = Wire::new() else { return };
    let cycle = Duration::from_ms(20);
    let scan = Some(Scan { period: cycle, phase: Phase::Fixed(Duration::ZERO) });
    let reply = Reply { scan, ..Reply::new(Bytes::new(PAYLOAD as u64), Duration::from_ms(1)) };
    let answer = Answer {
        peer: PEER,
        payload: PAYLOAD,
        thinking: Thinking::new(&reply, "station", 1),
        tagging: Tagging::default(),
    };
    let (log, _, behind) = run(
        &wire,
        || duties(None, Some(answer), Duration::from_secs(60)),
        |socket, clock, stop| {
            socket.set_read_timeout(Some(Sleep::from_secs(10))).unwrap();
            let mut behind = Vec::new();
            for number in 0..20 {
                // Not always just behind the scan of the answer before.
                std::thread::sleep(Sleep::from_millis(7 * u64::from(number) % 20));
                send(socket, number, clock.now());
                let mut payload = [0; PAYLOAD];
                assert_eq!(receive(socket, &mut payload), PAYLOAD);
                behind.push(clock.now().as_ps().rem_euclid(cycle.as_ps()));
            }
            stop.store(true, Ordering::Relaxed);
            behind
        },
    );
    assert_eq!(log.answered.len(), 20);
    let near = behind.iter().filter(|time| **time < Duration::from_ms(5).as_ps()).count();
    assert!(near >= 15, "{near} of 20: {behind:?}");
}

/// Oracle: the requester's clock, which is the station's. The answer takes at least the time that
/// the station reports for it.
#[test]
fn a_delayed_answer_tells_what_receiving_its_request_took() {
    let Some(wire) = Wire::new() else { return };
    let after = Duration::from_ms(5);
    let answer = Answer {
        peer: PEER,
        payload: PAYLOAD,
        thinking: Thinking::after(after),
        tagging: Tagging::default(),
    };
    let (log, _, round_trips) = run(
        &wire,
        || duties(None, Some(answer), Duration::from_secs(60)),
        |socket, clock, stop| {
            socket.set_read_timeout(Some(Sleep::from_secs(10))).unwrap();
            let round_trip = |number| {
                let sent_at = clock.now();
                send(socket, number, sent_at);
                let mut payload = [0; PAYLOAD];
                assert_eq!(receive(socket, &mut payload), PAYLOAD);
                let mark = Mark::read(&payload).unwrap();
                assert!(mark.is_answer && mark.number == number, "{mark:?}");
                clock.now() - sent_at
            };
            let round_trips: Vec<Duration> = (0..20).map(round_trip).collect();
            stop.store(true, Ordering::Relaxed);
            round_trips
        },
    );
    assert_eq!(log.answered.len(), 20);
    // A busy kernel enables timestamps late.
    assert!(log.answered.iter().any(|answered| answered.receive.is_some()));
    for (answered, round_trip) in log.answered.iter().zip(round_trips) {
        let Some(receive) = answered.receive else {
            continue;
        };
        assert!(receive > Duration::ZERO);
        assert!(after + receive <= round_trip, "{answered:?} {round_trip:?}");
    }
}
