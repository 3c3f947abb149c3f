//! Real hosts over emulated switches and hubs.

mod addresses;

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration as Sleep;

use rtether_live::clock::Clock;
use rtether_live::emulator::{
    COLLISION_ETHERTYPE, CollisionReport, Emulator, EmulatorError, EmulatorReport, Group, Options,
    Port, Unknown,
};
use rtether_live::link::{Link, MacAddress, Raw, RawOptions, Service, Udp, UdpOptions};
use rtether_live::meter::Meter;
use rtether_live::responder::{Responder, Role};
use rtether_live::wait::Waiting;
use rtether_model::flow::{Delivery, Flow, Traffic};
use rtether_model::network::{MulticastForwarding, NodeId, NodeKind, Pcp, Vid};
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_model::wire::{self, Encapsulation};
use rtether_proto::probe::{Codec, Config, Event, Interval, Prober};
use rtether_sim::observe::DropReason;
use rustix::net::sockopt;
use socket2::{Domain, Protocol, Socket, Type};

use crate::bed::{Bed, DEVICE, address, hub, inside, star, switch};
use crate::wire::patient;

const PORT: u16 = 7_254;

/// Checks what holds for hosts and emulator in these tests without faults.
fn check(report: &EmulatorReport) {
    let counts = &report.counts;
    let faults = [
        counts.elsewhere,
        counts.short,
        counts.long,
        counts.bad_tags,
        counts.no_room,
        counts.overruns,
        counts.unstamped,
        counts.unchecked,
        counts.unconnected,
        counts.unsent,
    ];
    assert_eq!(faults, [0; 10], "{counts:?}");
    let injected = report.injected.injected + report.injected.refused;
    assert!(injected <= counts.received, "{counts:?}");
    let comparison = report.comparison.as_ref().unwrap();
    assert_eq!(comparison.frames, report.injected.injected);
    // The share of late frames is left to the benchmark; here the machine may be busy.
    let late = report.injected.late;
    assert!(late > 0 || comparison.differing == 0, "{comparison:?}");
}

/// Oracles: nothing is lost; a round trip takes at least four times the wire time of the frame.
#[test]
fn udp_round_trips_over_a_switch() {
    let network = star(switch(2), 2, 100);
    let Some(bed) = Bed::new(network) else { return };
    for (payload, waiting) in [(64, Waiting::Block), (1_472, Waiting::Spin)] {
        let (least, report) =
            bed.run(|options| options.waiting = waiting, || round_trips(&bed, payload));
        let frame = wire::frame_size(Bytes::new(payload), Encapsulation::Udp);
        let expected = wire::wire_time(frame, BitRate::from_mbps(100)) * 4;
        assert!(least >= expected, "{least:?} {expected:?}");
        assert!(least < expected + Duration::from_ms(20), "{least:?}");
        let report = report.unwrap();
        check(&report);
        // Requests, answers and the two frames of address resolution, which may be cached.
        assert!(report.injected.injected >= 100, "{report:?}");
        assert!(report.departures.all.total() >= 100);
        assert_eq!(report.counts.dropped.values().sum::<u64>(), 0);
    }
}

/// Returns the shortest of fifty.
fn round_trips(bed: &Bed, payload: u64) -> Duration {
    let stop = AtomicBool::new(false);
    let bind = || Udp::bind((address(1), PORT).into(), UdpOptions::default());
    let socket = inside(&bed.hosts[1], || patient(bind));
    let mut responder = Responder::new(socket, Role::Echo, Clock::start(), Waiting::Block);
    std::thread::scope(|scope| {
        let far = scope.spawn(|| responder.run(&stop).unwrap());
        let least = inside(&bed.hosts[0], || {
            let link = Udp::connect((address(1), PORT).into(), UdpOptions::default()).unwrap();
            let config = Config {
                series: 1,
                samples: 50,
                interval: Interval::Adaptive,
                pause: Duration::ZERO,
                timeout: Duration::from_secs(1),
            };
            let prober = Prober::new(config, Instant::ZERO).unwrap();
            let codec = Codec::Message { session: 1 };
            let size = usize::try_from(payload).unwrap();
            let mut meter = Meter::new(link, codec, prober, Clock::start(), Waiting::Block, size);
            let mut trips = Vec::new();
            let note = |event| match event {
                Event::Sample(sample) => trips.push(sample.round_trip),
                Event::Lost(_) | Event::Late { .. } | Event::Duplicate(_) => panic!("{event:?}"),
            };
            meter.run(&AtomicBool::new(false), note).unwrap();
            assert_eq!(trips.len(), 50);
            trips.into_iter().min().unwrap()
        });
        stop.store(true, Ordering::Relaxed);
        far.join().unwrap();
        least
    })
}

/// Sends `count` payloads of `size` octets that begin with `mark` to one host.
fn send(from: &Bed, host: usize, to: MacAddress, pcp: u8, mark: u8, count: u32, size: usize) {
    inside(&from.hosts[host], || {
        let tag = Some((Pcp::new(pcp).unwrap(), Vid::PRIORITY_ONLY));
        let mut link = Raw::connect(DEVICE, to, RawOptions { tag }).unwrap();
        for _ in 0..count {
            link.send(&vec![mark; size]).unwrap();
        }
    });
}

/// Receives `count` payloads, or until none has arrived for some time; returns their first octets.
fn receive(raw: &mut Raw, count: usize) -> Vec<u8> {
    let mut marks = Vec::new();
    let mut buffer = vec![0; 2_000];
    let mut quiet = 0;
    while marks.len() < count && quiet < 5_000 {
        if let Some((payload, _)) = Service::receive(raw, &mut buffer).unwrap() {
            marks.push(buffer[payload.start]);
            quiet = 0;
        } else {
            quiet += 1;
            std::thread::sleep(Sleep::from_millis(1));
        }
    }
    marks
}

/// Oracle: strict priority. Two hosts fill the queue towards a third; the urgent frame of a fourth
/// arrives after all of theirs, and leaves before all that have not started to leave by then.
#[test]
fn an_urgent_frame_passes_those_that_wait() {
    // Transmitting all 400 frames of the others takes half a second, longer than sending them.
    let mbps = 10;
    let network = star(switch(4), 4, mbps);
    let Some(bed) = Bed::new(network) else { return };
    let to = bed.addresses[3];
    let (marks, report) = bed.run(
        |_| {},
        || {
            let is_ready = AtomicBool::new(false);
            std::thread::scope(|scope| {
                let receiver = scope.spawn(|| {
                    inside(&bed.hosts[3], || {
                        let mut raw = Raw::bind(DEVICE, RawOptions::default()).unwrap();
                        // Room for all frames while this thread does not run.
                        sockopt::set_socket_recv_buffer_size_force(&raw, 4 << 20).unwrap();
                        is_ready.store(true, Ordering::Release);
                        receive(&mut raw, 401)
                    })
                });
                while !is_ready.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
                let low = [0, 1].map(|host| {
                    let bed = &bed;
                    scope.spawn(move || send(bed, host, to, 1, 1, 200, 1_500))
                });
                for thread in low {
                    thread.join().unwrap();
                }
                send(&bed, 2, to, 7, 7, 1, 46);
                receiver.join().unwrap()
            })
        },
    );
    let report = report.unwrap();
    check(&report);
    assert_eq!(marks.len(), 401);
    let urgent = marks.iter().position(|&mark| mark == 7).unwrap();
    // By arrival time it is the last.
    let mut arrivals = report.recording.arrivals().to_vec();
    arrivals.sort_by_key(|arrival| arrival.at);
    let (first, last) = (arrivals[0], arrivals[400]);
    assert_eq!(last.frame.tag.map(|(pcp, _)| pcp.get()), Some(7));
    // The first frame leaves once it has fully arrived, then one follows the other; the urgent one
    // waits for one in transmission.
    let frame = wire::frame_size(Bytes::new(1_500), Encapsulation::Raw);
    let each = wire::occupancy(frame, BitRate::from_mbps(mbps));
    let begun = (last.at - first.at).as_ps() / each.as_ps() + 1;
    let is_late = report.injected.late > 0;
    let urgent = i64::try_from(urgent).unwrap();
    assert!(is_late || urgent <= begun, "{urgent} before it, {begun} had begun");
}

/// Oracles: every frame is delivered or counted as lost; each host gets a report of each of its
/// collisions.
#[test]
fn stations_of_a_hub_collide() {
    const EACH: u32 = 60;
    let network = star(hub(4), 4, 10);
    let Some(bed) = Bed::new(network) else { return };
    let (told, report) = bed.run(
        |options| options.reports_collisions = true,
        || {
            std::thread::scope(|scope| {
                let listeners = (0..4).map(|host| {
                    let bed = &bed;
                    scope.spawn(move || inside(&bed.hosts[host], collisions_told))
                });
                let listeners: Vec<_> = listeners.collect();
                std::thread::sleep(Sleep::from_millis(50));
                for host in 0..4 {
                    let (bed, to) = (&bed, bed.addresses[(host + 1) % 4]);
                    scope.spawn(move || send(bed, host, to, 0, 1, EACH, 600));
                }
                let told = listeners.into_iter().map(|listener| listener.join().unwrap());
                told.collect::<Vec<u64>>()
            })
        },
    );
    let report = report.unwrap();
    check(&report);
    let counts = &report.counts;
    assert_eq!(report.injected.injected, u64::from(4 * EACH));
    let lost = counts.dropped.get(&DropReason::ExcessiveCollisions);
    let lost = lost.copied().unwrap_or(0);
    assert_eq!(counts.sent, u64::from(4 * EACH) - lost + counts.collisions);
    assert!(counts.collisions > 20, "{counts:?}");
    assert_eq!(told.iter().sum::<u64>(), counts.collisions);
    let of_media: u64 = report.record.media[0].collisions.iter().sum();
    assert_eq!(of_media, counts.collisions);
}

/// Returns the number in the last report before half a second of silence.
fn collisions_told() -> u64 {
    let protocol = Protocol::from(i32::from(COLLISION_ETHERTYPE.to_be()));
    let socket = Socket::new(Domain::PACKET, Type::RAW, Some(protocol)).unwrap();
    socket.set_read_timeout(Some(Sleep::from_millis(500))).unwrap();
    let mut collisions = 0;
    let mut buffer = [0; 2_000];
    let read =
        |buffer: &mut [u8]| rtether_testkit::repeated(|| std::io::Read::read(&mut &socket, buffer));
    while let Ok(length) = read(&mut buffer) {
        let report = CollisionReport::parse(&buffer[..length]).unwrap();
        assert_eq!(report.collisions, collisions + 1);
        collisions = report.collisions;
    }
    collisions
}

/// Sends five datagrams from one host to another and returns how many arrive.
fn datagrams(bed: &Bed) -> (usize, EmulatorReport) {
    let receiver = inside(&bed.hosts[1], || {
        let socket = UdpSocket::bind((address(1), PORT)).unwrap();
        let patience = Some(Sleep::from_millis(300));
        socket.set_read_timeout(patience).unwrap();
        socket
    });
    let (count, report) = bed.run(
        |_| {},
        || {
            inside(&bed.hosts[0], || {
                let from = UdpSocket::bind((address(0), 0)).unwrap();
                for _ in 0..5 {
                    let text = b"a datagram of some length";
                    from.send_to(text, (address(1), PORT)).unwrap();
                }
            });
            let mut buffer = [0; 100];
            let received = std::iter::from_fn(|| {
                rtether_testkit::repeated(|| receiver.recv(&mut buffer)).ok()
            });
            received.count()
        },
    );
    (count, report.unwrap())
}

/// Oracle: the receiver's own UDP checksum check, which rejects the datagrams of a host that leaves
/// checksums to hardware.
#[test]
fn checksums_left_to_hardware_are_noticed() {
    let network = star(switch(2), 2, 100);
    let Some(bed) = Bed::with_offloads(network.clone()) else {
        return;
    };
    let (count, report) = datagrams(&bed);
    assert_eq!((count, report.counts.unchecked), (0, 5), "{report:?}");
    drop(bed);
    let Some(bed) = Bed::new(network) else { return };
    let (count, report) = datagrams(&bed);
    assert_eq!(count, 5);
    check(&report);
}

#[test]
fn a_device_that_goes_away_ends_the_run_with_its_name() {
    let network = star(switch(2), 2, 100);
    let Some(mut bed) = Bed::new(network) else {
        return;
    };
    let gone = bed.hosts.pop().unwrap();
    let to = bed.addresses[1];
    let ((), report) = bed.run(
        |_| {},
        || {
            drop(gone);
            // The kernel removes a namespace asynchronously.
            let is_there = || bed.center.run("ip link show port1").is_ok();
            let mut looks = 0;
            while is_there() && looks < 1_000 {
                looks += 1;
                std::thread::sleep(Sleep::from_millis(10));
            }
            send(&bed, 0, to, 0, 1, 1, 100);
            std::thread::sleep(Sleep::from_millis(500));
        },
    );
    let error = report.unwrap_err();
    assert!(matches!(error, EmulatorError::Gone { .. }), "{error}");
    assert!(error.to_string().contains("port1"), "{error}");
}

#[test]
fn ports_that_make_no_sense_are_named() {
    let network = star(switch(2), 2, 100);
    let Some(bed) = Bed::new(network.clone()) else {
        return;
    };
    let port = |node, device: &str, address| Port {
        station: NodeId(node),
        device: device.into(),
        address,
    };
    let [one, other] = [bed.addresses[0], bed.addresses[1]];
    let cases = [
        (vec![port(0, "port0", one)], "not an end station"),
        (vec![port(9, "port0", one)], "not an end station"),
        (vec![port(1, "nosuch", one)], "nosuch"),
        (vec![port(1, "port0", MacAddress([0xFF; 6]))], "group"),
        (vec![port(1, "port0", one), port(2, "port0", other)], "another"),
        (vec![port(1, "port0", one), port(1, "port1", other)], "another"),
        (vec![port(1, "port0", one), port(2, "port1", one)], "another"),
    ];
    inside(&bed.center, || {
        for (ports, expected) in cases {
            let options = Options::new(Clock::start(), 1);
            let error = Emulator::new(&network, &ports, options).err().unwrap();
            let message = error.to_string();
            assert!(message.contains(expected), "{message}");
        }
    });
}
