//! The shim in the kernel, between the stack of a host and its device.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration as Sleep, Instant as Time};

use rtether_live::emulator::capture;
use rtether_live::link::{Link, Raw, RawOptions};
use rtether_live::namespace::Namespace;
use rtether_live::shim::kernel::{Recording, Shim};
use rtether_live::shim::{Handle, Settings, ShimError, Signal, Status, Tags};
use rtether_live::thread::Placement;
use rtether_model::endnode::{
    Detector, Layer, PortRange, Rule, Smoothing, TransmitConfig, TransmitStrategy,
};
use rtether_model::network::{Pcp, Vid};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::smoother::{self, Adaptive, Fixed, Mode};
use rtether_proto::endnode::parse;

use crate::bed::{self, Bed, hub, inside, star};
use crate::wire::{DEVICE, FAR, NEAR, Wire};

const PORT: u16 = 7_310;
/// What goes to this port is of the higher class.
const URGENT: u16 = 7_311;
/// Octets of a datagram besides its payload: IP and UDP.
const HEADERS: usize = 28;
/// The largest payload of a datagram in one frame.
const FULL: usize = 1_500 - HEADERS;

/// A wire between hosts that say nothing of their own accord.
fn quiet_wire(test: &str) -> Option<Wire> {
    let wire = Wire::new(test)?;
    for host in [&wire.near, &wire.far] {
        let switch = "/proc/sys/net/ipv6/conf/all/disable_ipv6";
        inside(host, || drop(std::fs::write(switch, "1")));
    }
    // Both find each other before anything is counted.
    let (near, far) = (udp(&wire.near, (NEAR, PORT)), udp(&wire.far, (FAR, PORT)));
    near.send_to(b"x", (FAR, PORT)).unwrap();
    receive(&far, &mut [0]).unwrap();
    far.send_to(b"x", (NEAR, PORT)).unwrap();
    receive(&near, &mut [0]).unwrap();
    Some(wire)
}

/// Ends a shim, also when its test fails.
struct Stop(Handle);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Runs a shim at a host while `work` runs in the calling thread.
fn shimmed<T>(
    host: &Namespace,
    device: &str,
    settings: Settings,
    work: impl FnOnce(&Handle) -> T,
) -> (T, Status, Option<Recording>) {
    let (send, handle) = mpsc::channel();
    let (result, status, recording) = std::thread::scope(|scope| {
        let shim = scope.spawn(move || {
            host.enter().unwrap();
            let mut shim = Shim::up(device, settings).unwrap();
            shim.record(1_000_000).unwrap();
            send.send(shim.handle()).unwrap();
            shim.run().unwrap();
            let recording = shim.take_recording();
            (shim.down().unwrap(), recording)
        });
        let stop = Stop(handle.recv().unwrap());
        let result = work(&stop.0);
        drop(stop);
        let (status, recording) = shim.join().unwrap();
        (result, status, recording)
    });
    // What was taken has left, was dropped, or was waiting at the end.
    let (sent, drops) = (status.transmitted, &status.drops);
    let lost = drops.transmit_full + drops.abandoned;
    assert_eq!(sent.taken, sent.frames + lost, "{status:?}");
    (result, status, recording)
}

/// Returns the status once it is newer than now.
fn fresh(handle: &Handle) -> Status {
    std::thread::sleep(Sleep::from_millis(250));
    handle.status()
}

/// Waits until nothing waits.
fn drained(handle: &Handle) -> Status {
    let start = Time::now();
    loop {
        let status = fresh(handle);
        if status.queues.iter().all(|queue| queue.depth == 0) {
            return status;
        }
        assert!(start.elapsed() < Sleep::from_secs(20), "{status:?}");
    }
}

/// Sends full frames to a port from as many sockets as it takes to do so at once: the kernel lets
/// each have less than a hundred frames on the way.
fn burst(wire: &Wire, to: u16, count: usize) {
    let each = 50;
    for sent in (0..count).step_by(each) {
        let socket = udp(&wire.near, (NEAR, 0));
        for _ in 0..each.min(count - sent) {
            socket.send_to(&[0; FULL], (FAR, to)).unwrap();
        }
    }
}

/// Returns a socket that waits for two seconds.
fn udp(host: &Namespace, at: (Ipv4Addr, u16)) -> UdpSocket {
    let start = Time::now();
    let socket = inside(host, || {
        loop {
            match UdpSocket::bind(at) {
                // A process that is just being started still has a copy of one that was closed.
                Err(error) if error.kind() == ErrorKind::AddrInUse => {
                    assert!(start.elapsed() < Sleep::from_secs(2), "{error}");
                    std::thread::sleep(Sleep::from_millis(5));
                }
                bound => return bound.unwrap(),
            }
        }
    });
    socket.set_read_timeout(Some(Sleep::from_secs(2))).unwrap();
    socket
}

/// Receives a datagram, whatever signals come while it waits.
fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match socket.recv(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            received => return received,
        }
    }
}

/// Two classes, of which the higher one is that of a port, each with a queue.
fn layer() -> Layer {
    let urgent = Rule {
        protocol: Some(17),
        destination_port: Some(PortRange::one(URGENT)),
        class: 1,
        ..Rule::default()
    };
    Layer {
        rules: vec![urgent],
        transmit: Some(TransmitConfig {
            ring_limit: 16,
            queue_limits: vec![1_000, 100],
            high_from: None,
            strategy: TransmitStrategy::MODERATE,
        }),
        ..Layer::default()
    }
}

fn smoothed(mode: Mode, detector: Detector) -> Layer {
    Layer {
        smoother: Some(Smoothing {
            config: smoother::Config::new(mode),
            rule: smoother::Rule::LINUX,
            ring: 1,
            detector,
        }),
        ..layer()
    }
}

const COLLISIONS: Detector = Detector::OwnCollisions {
    visibility_per_million: 1_000_000,
};

fn settings(layer: Layer, mbps: u64) -> Settings {
    Settings::new(layer, BitRate::from_mbps(mbps))
}

/// Classes 0 and 1 get priorities 2 and 6 in a VLAN.
fn tags(vid: u16) -> Tags {
    let pcp = |class| Pcp::new(if class == 1 { 6 } else { 2 }).unwrap();
    Tags {
        insert: Some([0, 1, 2, 3, 4, 5, 6, 7].map(pcp)),
        vid: Vid::new(vid).unwrap(),
        strip: true,
    }
}

/// Returns the frames that a host receives, up to a thousand.
fn captured(host: &Namespace, work: impl FnOnce()) -> Vec<Vec<u8>> {
    let stop = AtomicBool::new(false);
    let (send, ready) = mpsc::channel();
    std::thread::scope(|scope| {
        let capture = scope.spawn(|| {
            host.enter().unwrap();
            capture(DEVICE, 1_000, &stop, || send.send(()).unwrap()).unwrap()
        });
        ready.recv().unwrap();
        work();
        std::thread::sleep(Sleep::from_millis(100));
        stop.store(true, Ordering::Relaxed);
        capture.join().unwrap()
    })
}

/// Returns the octets of the frames that a host receives, without tag and check sequence.
fn lengths(host: &Namespace, work: impl FnOnce()) -> Vec<usize> {
    captured(host, work).iter().map(Vec::len).collect()
}

/// Returns priority and VLAN, and destination port or else type, of the frames that a host receives.
fn frames(host: &Namespace, work: impl FnOnce()) -> Vec<(Option<(u8, u16)>, u16)> {
    let frames = captured(host, work);
    let read = |frame: &Vec<u8>| {
        let key = parse(frame).key;
        let tag = key.tag.map(|tag| (tag.pcp.get(), tag.vid.get()));
        Some((tag, key.destination_port.or(key.ethertype)?))
    };
    let arp = 0x0806;
    let seen = frames.iter().filter_map(read);
    seen.filter(|&(_, kind)| kind != arp).collect()
}

/// Oracle: a packet socket at the far host.
#[test]
fn the_kernel_puts_priorities_on_the_wire() {
    let Some(wire) = quiet_wire("the_kernel_puts_priorities_on_the_wire") else {
        return;
    };
    let near = udp(&wire.near, (NEAR, PORT));
    let own = RawOptions {
        tag: Some((Pcp::new(5).unwrap(), Vid::new(9).unwrap())),
    };
    let to = wire.far_address();
    let mut raw = inside(&wire.near, || Raw::connect(DEVICE, to, own).unwrap());
    let mut send = || {
        for port in [PORT, URGENT] {
            near.send_to(b"x", (FAR, port)).unwrap();
        }
        raw.send(&[0; 46]).unwrap();
    };
    let measured = 0x88B5;
    let tagged = (Some((5, 9)), measured);
    let plain = [(None, PORT), (None, URGENT), tagged];
    assert_eq!(frames(&wire.far, &mut send), plain);
    for vid in [0, 7] {
        let settings = Settings {
            tags: tags(vid),
            ..settings(layer(), 100)
        };
        let work = |handle: &Handle| {
            let seen = frames(&wire.far, &mut send);
            (seen, fresh(handle))
        };
        let ((seen, status), ..) = shimmed(&wire.near, DEVICE, settings, work);
        // A tag that is there stays.
        let expected = [(Some((2, vid)), PORT), (Some((6, vid)), URGENT), tagged];
        assert_eq!(seen, expected);
        let released = status.queues.iter().map(|queue| queue.released);
        // Address resolution is of the lower class.
        let released: Vec<u64> = released.collect();
        assert!((1..3).contains(&released[0]), "{released:?}");
        assert_eq!(released[1], 2, "the urgent one, and priority 5");
        let well_formed = status.malformed.well_formed();
        assert_eq!(well_formed, released.iter().sum::<u64>());
    }
    let (seen, ..) = shimmed(&wire.near, DEVICE, settings(layer(), 100), |_| {
        frames(&wire.far, &mut send)
    });
    assert_eq!(seen, plain);
}

/// Oracle: a kernel drops what has the tag of a VLAN that it does not know.
#[test]
fn the_kernel_takes_tags_off() {
    let Some(wire) = quiet_wire("the_kernel_takes_tags_off") else {
        return;
    };
    let [near, far] = [udp(&wire.near, (NEAR, PORT)), udp(&wire.far, (FAR, PORT))];
    let tagged = || Settings {
        tags: tags(7),
        ..settings(layer(), 100)
    };
    shimmed(&wire.near, DEVICE, tagged(), |_| {
        let short = Some(Sleep::from_millis(200));
        far.set_read_timeout(short).unwrap();
        near.send_to(b"x", (FAR, PORT)).unwrap();
        assert!(receive(&far, &mut [0]).is_err(), "nobody takes the tag off");
        shimmed(&wire.far, DEVICE, tagged(), |_| {
            near.send_to(b"y", (FAR, PORT)).unwrap();
            let mut octet = [0];
            assert_eq!(receive(&far, &mut octet).unwrap(), 1);
            assert_eq!(octet, *b"y");
        });
    });
}

/// Sends a burst of full frames, then a small one of the higher class; returns how many arrive
/// before it, and how many behind.
fn overtake(wire: &Wire, count: usize, handle: &Handle) -> (usize, usize) {
    let _open = [PORT, URGENT].map(|port| udp(&wire.far, (FAR, port)));
    let urgent = udp(&wire.near, (NEAR, 0));
    let seen = frames(&wire.far, || {
        burst(wire, PORT, count);
        urgent.send_to(b"now", (FAR, URGENT)).unwrap();
        drained(handle);
    });
    let before = seen.iter().position(|&(_, port)| port == URGENT).unwrap();
    (before, seen.len() - before - 1)
}

/// Oracle: strict priority. Of 100 full frames at 1 Mbit/s, which take 1.2 s, most have not left when
/// the small one comes; in one queue all of them go first.
#[test]
fn urgent_frames_overtake() {
    let Some(wire) = quiet_wire("urgent_frames_overtake") else {
        return;
    };
    let mut one_queue = layer();
    if let Some(transmit) = &mut one_queue.transmit {
        transmit.strategy = TransmitStrategy::Fifo;
    }
    for (layer, most) in [(layer(), 50), (one_queue, 100)] {
        let is_last = most == 100;
        let settings = settings(layer, 1);
        let work = |handle: &Handle| overtake(&wire, 100, handle);
        let ((before, behind), ..) = shimmed(&wire.near, DEVICE, settings, work);
        assert_eq!(before + behind, 100);
        assert!(before <= most, "{before} frames went first");
        assert_eq!(before == 100, is_last, "{before} frames went first");
    }
}

/// Oracle: what is received, and the limit of the queue.
#[test]
fn frames_are_conserved() {
    const SENT: usize = 500;
    let Some(wire) = quiet_wire("frames_are_conserved") else {
        return;
    };
    let _open = udp(&wire.far, (FAR, URGENT));
    let work = |handle: &Handle| {
        let mut status = None;
        let received = frames(&wire.far, || {
            burst(&wire, URGENT, SENT);
            status = Some(drained(handle));
        });
        (received.len(), status.unwrap())
    };
    let ((received, status), ..) = shimmed(&wire.near, DEVICE, settings(layer(), 10), work);
    let queue = status.queues[1];
    assert_eq!(queue.released, received as u64);
    assert_eq!(queue.dropped + queue.released, SENT as u64, "{status:?}");
    assert!(received >= 100 && queue.dropped > 0, "{status:?}");
    // Addresses and type, without check sequence.
    let octets = (received * (FULL + HEADERS + 14)) as u64;
    let rest = status.transmitted.octets - octets;
    assert!(rest < 1_000, "address resolution: {rest}");
}

/// Oracle: no frame is longer than the device allows, although TCP hands over several at once; the
/// stream arrives.
#[test]
fn what_tcp_hands_over_at_once_is_split() {
    let Some(wire) = quiet_wire("what_tcp_hands_over_at_once_is_split") else {
        return;
    };
    // Opened before, as the connection of who manages the host.
    let listener = inside(&wire.far, || TcpListener::bind((FAR, PORT)).unwrap());
    let mut near = inside(&wire.near, || TcpStream::connect((FAR, PORT)).unwrap());
    let (mut far, _) = listener.accept().unwrap();
    far.set_read_timeout(Some(Sleep::from_secs(10))).unwrap();
    let stream: Vec<u8> = (0..2_000_000_u32).flat_map(u32::to_be_bytes).collect();
    let (longest, status, _) = shimmed(&wire.near, DEVICE, settings(layer(), 1_000), |_| {
        let mut received = vec![0; stream.len()];
        let lengths = lengths(&wire.far, || {
            std::thread::scope(|scope| {
                scope.spawn(|| near.write_all(&stream).unwrap());
                far.read_exact(&mut received).unwrap();
            });
        });
        assert!(received == stream, "the octets are others");
        lengths.into_iter().max().unwrap()
    });
    assert_eq!(longest, 1_514);
    let least = stream.len() / 1_460;
    assert!(status.queues[0].released >= least as u64, "{status:?}");
}

/// Oracle: frames of the new length arrive, once the shim has seen it; the law goes on.
#[test]
fn the_link_may_go_down_and_up_and_change_its_mtu() {
    let Some(wire) = quiet_wire("the_link_may_go_down_and_up_and_change_its_mtu") else {
        return;
    };
    let far = udp(&wire.far, (FAR, PORT));
    let near = udp(&wire.near, (NEAR, PORT));
    far.set_read_timeout(Some(Sleep::from_millis(100))).unwrap();
    let mut layer = smoothed(Mode::Adaptive(Adaptive::HIMD), COLLISIONS);
    if let Some(smoothing) = &mut layer.smoother {
        smoothing.config.limits.mtu = Bytes::new(9_000);
    }
    let settings = Settings {
        signal: Signal::Reports,
        ..settings(layer, 100)
    };
    let link = |host: &Namespace, what: String| {
        host.run(&format!("ip link set {DEVICE} {what}")).unwrap();
    };
    shimmed(&wire.near, DEVICE, settings, |handle| {
        for mtu in [1_500, 9_000, 1_500] {
            link(&wire.near, "down".to_owned());
            for host in [&wire.far, &wire.near] {
                link(host, format!("mtu {mtu}"));
            }
            link(&wire.near, "up".to_owned());
            let (start, payload) = (Time::now(), vec![7; mtu - HEADERS]);
            loop {
                // There is no way before the link is up.
                let _ = near.send_to(&payload, (FAR, PORT));
                if receive(&far, &mut [0; 10_000]).is_ok_and(|length| length == payload.len()) {
                    break;
                }
                assert!(start.elapsed() < Sleep::from_secs(10), "MTU {mtu}");
            }
        }
        let refreshes = || fresh(handle).smoother.unwrap().statistics.refreshes;
        assert!(refreshes() < refreshes());
    });
}

/// Octets of the datagrams that arrived.
#[derive(Debug, Default)]
struct Arrived {
    bulk: usize,
    real_time: usize,
    /// Both, when the last bulk datagram came.
    both: usize,
    /// From the first that was sent until then.
    time: Sleep,
}

/// Sends bulk datagrams for a time, and real-time ones at these times.
fn both_kinds(wire: &Wire, time: Sleep, real_time: &[Sleep]) -> Arrived {
    let near = udp(&wire.near, (NEAR, PORT));
    let ahead = udp(&wire.near, (NEAR, URGENT));
    // Expedited forwarding: real-time to the smoother.
    socket2::SockRef::from(&ahead).set_tos_v4(0xB8).unwrap();
    let [bulk, urgent] = [PORT, URGENT].map(|port| udp(&wire.far, (FAR, port)));
    for socket in [&near, &bulk, &urgent] {
        socket.set_nonblocking(true).unwrap();
    }
    let (start, mut seen, mut sent) = (Time::now(), Arrived::default(), 0);
    let mut buffer = [0; 2_000];
    while start.elapsed() < time || seen.real_time < real_time.len() * 1_500 {
        // There is always bulk traffic that waits; what finds no room is not sent.
        let _ = near.send_to(&[0; FULL], (FAR, PORT));
        if real_time.get(sent).is_some_and(|&at| start.elapsed() >= at) {
            ahead.send_to(&[0; FULL], (FAR, URGENT)).unwrap();
            sent += 1;
        }
        while let Ok(length) = receive(&urgent, &mut buffer) {
            seen.real_time += length + HEADERS;
        }
        while let Ok(length) = receive(&bulk, &mut buffer) {
            seen.bulk += length + HEADERS;
            (seen.both, seen.time) = (seen.bulk + seen.real_time, start.elapsed());
        }
        assert!(start.elapsed() < time * 10, "real-time packets are lost");
        std::thread::sleep(Sleep::from_micros(500));
    }
    seen
}

/// Oracle: the theorem of `rtether_proto::smoother`: at most `2 D - 1 + M + D floor(t / P)` octets of
/// both kinds up to and with the last bulk packet; a class that always has something to send gets
/// its rate, less what a busy host takes from it.
#[test]
fn the_bucket_lets_pass_what_it_has() {
    const DEPTH: usize = 1_500;
    let Some(wire) = quiet_wire("the_bucket_lets_pass_what_it_has") else {
        return;
    };
    // 2 Mbit/s.
    let period = Sleep::from_millis(6);
    let fixed = Mode::Fixed(Fixed {
        depth: Bytes::new(DEPTH as u64),
        period: Duration::from_ms(6),
    });
    let some: Vec<Sleep> = (1..80)
        .map(|number| Sleep::from_millis(12) * number)
        .collect();
    let mut alone = 0;
    for real_time in [&[][..], &some] {
        let settings = settings(smoothed(fixed, COLLISIONS), 100);
        let work = |_: &Handle| both_kinds(&wire, Sleep::from_secs(1), real_time);
        let (seen, status, _) = shimmed(&wire.near, DEVICE, settings, work);
        let periods = usize::try_from(seen.time.as_micros() / period.as_micros()).unwrap();
        let most = 2 * DEPTH - 1 + 1_500 + DEPTH * periods;
        // One that came right behind the last bulk packet may have been read before it.
        let behind = if real_time.is_empty() { 0 } else { 1_500 };
        assert!(seen.both <= most + behind, "{seen:?} of {most}");
        assert!(seen.both > most * 8 / 10, "{seen:?} of {most}");
        // All of them were ahead, whatever the credits.
        assert_eq!(seen.real_time, real_time.len() * 1_500, "{status:?}");
        let statistics = status.smoother.unwrap().statistics;
        assert_eq!(statistics.real_time.sent, real_time.len() as u64);
        assert!(statistics.bulk.sent_size.get() >= seen.bulk as u64);
        let each_period = seen.bulk / periods;
        if real_time.is_empty() {
            alone = each_period;
        } else {
            assert!(each_period < alone * 7 / 10, "{seen:?}: credits are shared");
        }
    }
}

/// Oracle: a fresh engine, given the recorded observations; the emulated hub, which counts
/// collisions.
#[test]
fn the_rate_follows_the_law() {
    let Some(bed) = Bed::new("the_rate_follows_the_law", star(hub(3), 3, 10)) else {
        return;
    };
    let adaptive = Mode::Adaptive(Adaptive::HIMD);
    let settings = Settings {
        signal: Signal::Reports,
        ..settings(smoothed(adaptive, COLLISIONS), 10)
    };
    let work = || {
        shimmed(&bed.hosts[0], bed::DEVICE, settings, |handle| {
            flood(&bed, Sleep::from_secs(2));
            fresh(handle)
        })
    };
    let ((live, _, recording), report) = bed.run(|options| options.reports_collisions = true, work);
    let recording = recording.unwrap();
    let replayed = recording.replay().unwrap();
    assert_eq!(replayed.difference, None);
    assert_eq!(replayed.lost, 0);
    assert!(replayed.decisions > 500, "{replayed:?}");
    let collisions: u64 = recording
        .observations()
        .map(|(seen, _)| seen.collisions)
        .sum();
    let all = report.unwrap().counts.collisions;
    assert!(collisions > 0 && collisions <= all, "{collisions} of {all}");
    let statistics = live.smoother.unwrap().statistics;
    assert!(
        statistics.reports > 0 && statistics.decreases > 0,
        "{statistics:?}"
    );
    let rates = recording.observations().map(|(_, rate)| rate.as_bps());
    let (least, most) = rates.fold((u64::MAX, 0), |(least, most), rate| {
        (least.min(rate), most.max(rate))
    });
    assert!(least < most && most <= 4_000_000, "{least} to {most}");
}

/// Oracle: the shares of the medium, by hand. Bulk packets alone take 4 Mbit/s of 10 and some
/// overhead; with real-time packets of 6 Mbit/s beside them it is more than 60 %.
#[test]
fn a_busy_medium_slows_bulk_packets_down() {
    let Some(wire) = quiet_wire("a_busy_medium_slows_bulk_packets_down") else {
        return;
    };
    let himd = Mode::Adaptive(Adaptive::HIMD);
    let utilization = Detector::Utilization {
        threshold_percent: 60,
        window: Duration::from_ms(50),
    };
    let many: Vec<Sleep> = (1..500)
        .map(|number| Sleep::from_millis(2) * number)
        .collect();
    for real_time in [&[][..], &many] {
        let settings = settings(smoothed(himd, utilization), 10);
        let work = |_: &Handle| both_kinds(&wire, Sleep::from_secs(1), real_time);
        let (_, status, recording) = shimmed(&wire.near, DEVICE, settings, work);
        let statistics = status.smoother.unwrap().statistics;
        assert_eq!(
            statistics.reports > 0,
            !real_time.is_empty(),
            "{statistics:?}"
        );
        assert_eq!(
            statistics.decreases > 0,
            !real_time.is_empty(),
            "{statistics:?}"
        );
        assert_eq!(recording.unwrap().replay().unwrap().difference, None);
    }
}

/// Bulk traffic of two hosts to the third.
fn flood(bed: &Bed, time: Sleep) {
    let sockets = [0, 1].map(|host| {
        let socket = udp(&bed.hosts[host], (bed::address(host), PORT));
        socket.set_nonblocking(true).unwrap();
        socket
    });
    let start = Time::now();
    while start.elapsed() < time {
        for socket in &sockets {
            let _ = socket.send_to(&[0; FULL], (bed::address(2), PORT));
        }
        std::thread::sleep(Sleep::from_micros(1_500));
    }
}

/// Oracle: what is received before, between and after; nothing is lost by a change.
#[test]
fn settings_change_without_loss() {
    let Some(wire) = quiet_wire("settings_change_without_loss") else {
        return;
    };
    let _open = udp(&wire.far, (FAR, PORT));
    let faster = Settings {
        tags: tags(0),
        ..settings(layer(), 50)
    };
    let ((), status, _) = shimmed(&wire.near, DEVICE, settings(layer(), 5), |handle| {
        let received = frames(&wire.far, || {
            // At 5 Mbit/s they take half a second.
            burst(&wire, PORT, 200);
            let program = || {
                let filters = format!("tc filter show dev {DEVICE} egress");
                wire.near.run(&filters).unwrap()
            };
            let before = program();
            handle.set(faster.clone()).unwrap();
            // The program is the last that changes.
            while program() == before {
                std::thread::sleep(Sleep::from_millis(20));
            }
            burst(&wire, PORT, 100);
            drained(handle);
        });
        assert_eq!(received.len(), 300);
        let tags: Vec<bool> = received.iter().map(|(tag, _)| tag.is_some()).collect();
        assert_eq!(tags, [[false; 200].as_slice(), &[true; 100]].concat());
        // Another number of queues would lose what waits.
        let mut other = layer();
        other.transmit = None;
        let refused = handle.set(settings(other, 5));
        assert!(
            matches!(refused, Err(ShimError::Shape { .. })),
            "{refused:?}"
        );
    });
    assert_eq!(status.drops.transmit_full + status.drops.abandoned, 0);
}

/// Oracle: the list of refusals; nothing has been touched.
#[test]
fn what_the_kernel_cannot_do_is_refused() {
    let Some(wire) = quiet_wire("what_the_kernel_cannot_do_is_refused") else {
        return;
    };
    let queues = || wire.near.run("tc qdisc show").unwrap();
    let before = queues();
    let mut strict = layer();
    if let Some(transmit) = &mut strict.transmit {
        transmit.strategy = TransmitStrategy::STRICT;
    }
    let refused = inside(&wire.near, || Shim::up(DEVICE, settings(strict, 10)));
    let text = refused.expect_err("it is refused").to_string();
    assert!(
        text.contains("back end `kernel` cannot do `transmit.strategy`"),
        "{text}"
    );
    assert_eq!(queues(), before);
}

/// Oracle: the device is not there any more.
#[test]
fn a_device_that_goes_away_ends_the_law() {
    let Some(wire) = quiet_wire("a_device_that_goes_away_ends_the_law") else {
        return;
    };
    let himd = Mode::Adaptive(Adaptive::HIMD);
    let ended = inside(&wire.near, || {
        let mut shim = Shim::up(DEVICE, settings(smoothed(himd, COLLISIONS), 10)).unwrap();
        wire.near.run(&format!("ip link delete {DEVICE}")).unwrap();
        shim.run()
    });
    let error = ended.expect_err("it is gone");
    assert!(matches!(error, ShimError::Gone { .. }), "{error}");
}

/// What the shim costs, and what it is good for: not limits, figures (`--ignored --nocapture`).
#[test]
#[ignore = "long"]
#[allow(clippy::print_stderr, reason = "figures are printed")]
fn figures() {
    let Some(wire) = quiet_wire("figures") else {
        return;
    };
    let report = |what: &str, mut trips: Vec<u128>| {
        trips.sort_unstable();
        let at = |share: usize| trips[trips.len() * share / 1_000 - 1];
        let [low, median, p99, last] = [100, 500, 990, 999].map(at);
        eprintln!("{what}: p10 {low} ns, median {median} ns, p99 {p99} ns, p99.9 {last} ns");
    };
    let himd = smoothed(Mode::Adaptive(Adaptive::HIMD), COLLISIONS);
    let all = [
        ("without", None),
        ("two queues", Some(layer())),
        ("and a smoother", Some(himd)),
    ];
    let mut trips = [(); 3].map(|()| Vec::new());
    // In turn, so that what else the host does hits all of them.
    for _ in 0..20 {
        for ((_, layer), trips) in all.iter().zip(&mut trips) {
            let work = || round_trips(&wire, 1_000, Sleep::ZERO);
            trips.extend(match layer.clone() {
                None => work(),
                Some(layer) => {
                    let settings = Settings {
                        tags: tags(0),
                        ..settings(layer, 1_000)
                    };
                    shimmed(&wire.near, DEVICE, settings, |_| work()).0
                }
            });
        }
    }
    for ((name, _), trips) in all.iter().zip(trips) {
        report(name, trips);
    }
    for mbps in [100, 10] {
        for (name, urgent_class) in [("one queue", 0), ("two queues", 1)] {
            let mut layer = layer();
            layer.rules[0].class = urgent_class;
            let (trips, ..) = shimmed(&wire.near, DEVICE, settings(layer, mbps), |_| {
                let unloaded = round_trips(&wire, 2_000, Sleep::from_millis(1));
                report(&format!("{mbps} Mbit/s, {name}, unloaded"), unloaded);
                under_load(&wire)
            });
            report(&format!("{mbps} Mbit/s, {name}, loaded"), trips);
        }
    }
}

/// Round trips of 64 octets to the urgent port.
fn round_trips(wire: &Wire, count: usize, pause: Sleep) -> Vec<u128> {
    let near = udp(&wire.near, (NEAR, 0));
    let far = udp(&wire.far, (FAR, URGENT));
    for socket in [&near, &far] {
        socket2::SockRef::from(socket).set_tos_v4(0xB8).unwrap();
    }
    let placement = Placement {
        priority: Some(50),
        ..Placement::default()
    };
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            placement.apply().unwrap();
            let mut buffer = [0; 64];
            far.set_read_timeout(Some(Sleep::from_millis(100))).unwrap();
            while !stop.load(Ordering::Relaxed) {
                if let Ok((length, from)) = far.recv_from(&mut buffer) {
                    far.send_to(&buffer[..length], from).unwrap();
                }
            }
        });
        let ping = scope.spawn(|| {
            placement.apply().unwrap();
            let trips = (0..count).map(|_| {
                std::thread::sleep(pause);
                let start = Time::now();
                near.send_to(&[0; 64], (FAR, URGENT)).unwrap();
                receive(&near, &mut [0; 64]).unwrap();
                start.elapsed().as_nanos()
            });
            trips.collect()
        });
        let trips = ping.join().unwrap();
        stop.store(true, Ordering::Relaxed);
        trips
    })
}

/// The same while bulk traffic always waits.
fn under_load(wire: &Wire) -> Vec<u128> {
    let stop = AtomicBool::new(false);
    let _open = udp(&wire.far, (FAR, PORT));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let near = udp(&wire.near, (NEAR, PORT));
            while !stop.load(Ordering::Relaxed) {
                near.send_to(&[0; FULL], (FAR, PORT)).unwrap();
            }
        });
        std::thread::sleep(Sleep::from_millis(200));
        let trips = round_trips(wire, 2_000, Sleep::from_millis(1));
        stop.store(true, Ordering::Relaxed);
        trips
    })
}
