//! The shim between the stack of a host and its device.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::num::NonZeroU32;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration as Sleep, Instant as Time};

use rtether_live::clock::Clock;
use rtether_live::emulator::capture;
use rtether_live::link::Icmp;
use rtether_live::meter::Meter;
use rtether_live::namespace::{Namespace, enter};
use rtether_live::shim::{
    Direction, Handle, Settings, Shim, ShimError, Signal, Status, Tags, restore,
};
use rtether_live::wait::Waiting;
use rtether_model::endnode::{
    Detector, Layer, PortRange, Receive, ReceiveConfig, ReceiveSelection, Rule, Smoothing,
    TransmitConfig, TransmitStrategy,
};
use rtether_model::network::{Pcp, Vid};
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_model::smoother::{self, Adaptive, Fixed, Mode};
use rtether_proto::egress::{Recording, replay};
use rtether_proto::endnode::parse;
use rtether_proto::probe::{Codec, Config, Interval, Prober};
use socket2::{Domain, Protocol, Socket, Type};

use crate::bed::{self, Bed, address, hub, inside, star};
use crate::wire::{DEVICE, FAR, NEAR, Wire};

const PORT: u16 = 7_300;
/// What goes to this port is of the higher class.
const URGENT: u16 = 7_301;

/// A wire between hosts that say nothing of their own.
fn quiet_wire(test: &str) -> Option<Wire> {
    let wire = Wire::new(test)?;
    for host in [&wire.near, &wire.far] {
        // Addresses of IPv6 change their state as time goes by.
        let switch = "/proc/sys/net/ipv6/conf/all/disable_ipv6";
        inside(host, || drop(std::fs::write(switch, "1")));
    }
    Some(wire)
}

/// What must be the same before and after.
fn state(host: &Namespace) -> String {
    let commands = [
        "ip address".to_owned(),
        "ip route show table all".to_owned(),
        "tc qdisc show".to_owned(),
        format!("tc filter show dev {DEVICE} egress"),
        format!("tc filter show dev {DEVICE} ingress"),
    ];
    let run = |command: String| format!("$ {command}\n{}\n", host.run(&command).unwrap());
    commands.into_iter().map(run).collect()
}

/// Ends a shim, also when its test fails.
struct Stop(Handle);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Calls and decisions that a shim records.
const RECORDED: usize = 400_000;

/// Runs a shim at a host while `work` runs in the calling thread; what was taken must have been
/// handed on or counted, and the engines must decide the same when the run is replayed.
fn shimmed<T>(
    host: &Namespace,
    device: &str,
    settings: Settings,
    work: impl FnOnce(&Handle) -> T,
) -> (T, Status) {
    let (send, handle) = mpsc::channel();
    let (result, status) = std::thread::scope(|scope| {
        let shim = scope.spawn(move || {
            host.enter().unwrap();
            let mut shim = Shim::up_recorded(device, settings, RECORDED).unwrap();
            send.send(shim.handle()).unwrap();
            shim.run().unwrap();
            replays(shim.take_recording().unwrap(), &shim.handle().status());
            shim.down().unwrap()
        });
        let stop = Stop(handle.recv().unwrap());
        // Frames pass by until the first sign of life.
        std::thread::sleep(Sleep::from_millis(20));
        let result = work(&stop.0);
        drop(stop);
        (result, shim.join().unwrap())
    });
    conserved(&status);
    (result, status)
}

/// Oracle: engines in virtual time, with the calls of the run.
fn replays((recording, layers): (Recording, Vec<Layer>), status: &Status) {
    assert_eq!(recording.lost, 0, "a longer recording is needed");
    let comparison = replay(&recording, &layers).unwrap();
    assert_eq!(comparison.first_difference, None, "{comparison:?}");
    // Each frame that has left was handed out.
    assert!(
        comparison.decisions >= status.transmitted.frames,
        "{comparison:?}"
    );
}

/// The same at the near host, whose state must be as before.
fn with_shim<T>(wire: &Wire, settings: Settings, work: impl FnOnce(&Handle) -> T) -> (T, Status) {
    let before = state(&wire.near);
    let result = shimmed(&wire.near, DEVICE, settings, work);
    assert_eq!(state(&wire.near), before);
    result
}

/// Frames that were taken were handed on or counted as lost; the shim is empty at its end.
fn conserved(status: &Status) {
    let drops = &status.drops;
    let lost = drops.transmit_full + drops.port_down + drops.port_refused + drops.abandoned;
    let sent = status.transmitted;
    assert_eq!(sent.taken, sent.frames + lost, "{status:?}");
    let lost = drops.receive_full + drops.stack_refused;
    let received = status.received;
    assert_eq!(received.taken, received.frames + lost, "{status:?}");
}

/// Two classes, of which the higher one is that of a port.
fn layer() -> Layer {
    let urgent = Rule {
        protocol: Some(17),
        destination_port: Some(PortRange::one(URGENT)),
        class: 1,
        ..Rule::default()
    };
    Layer {
        rules: vec![urgent],
        ..Layer::default()
    }
}

/// Transmit queues with rings of their own and so many places each.
fn queued(ring_limit: u32, places: u32) -> Layer {
    Layer {
        transmit: Some(TransmitConfig {
            ring_limit,
            queue_limits: vec![places, places],
            high_from: None,
            strategy: TransmitStrategy::Rings { count: 2 },
        }),
        ..layer()
    }
}

fn receiving(selection: ReceiveSelection) -> Layer {
    Layer {
        receive: Some(Receive::Queues(ReceiveConfig {
            input_limit: 1_000,
            queue_limits: vec![1_000, 1_000],
            selection,
        })),
        ..queued(4, 1_000)
    }
}

fn settings(layer: Layer, mbps: u64) -> Settings {
    Settings::new(layer, BitRate::from_mbps(mbps))
}

/// Asks the far host for echoes and returns how many come.
fn ping(wire: &Wire, count: u32) -> u64 {
    let config = Config {
        series: 1,
        samples: count,
        interval: Interval::Adaptive,
        pause: Duration::ZERO,
        timeout: Duration::from_secs(1),
    };
    inside(&wire.near, || {
        let link = Icmp::connect(FAR, 0).unwrap();
        let prober = Prober::new(config, Instant::ZERO).unwrap();
        let codec = Codec::Icmp { identifier: 77 };
        let clock = Clock::start();
        let mut meter = Meter::new(link, codec, prober, clock, Waiting::Block, 56);
        meter.run(&AtomicBool::new(false), |_| {}).unwrap();
        meter.prober().counters().answered
    })
}

fn udp(host: &Namespace, address: impl Into<SocketAddr> + Send) -> UdpSocket {
    let address = address.into();
    let bind = || {
        // A process that another test just starts holds on to a socket that was closed here.
        let held = (0..200).find_map(|_| {
            let pause = || std::thread::sleep(Sleep::from_millis(10));
            UdpSocket::bind(address).map_err(|_| pause()).ok()
        });
        held.unwrap()
    };
    let socket = inside(host, bind);
    socket.set_read_timeout(Some(Sleep::from_secs(2))).unwrap();
    socket
}

/// Sends datagrams of many sizes to the far host and back; returns how many came back whole.
fn echo(wire: &Wire, count: usize, longest: usize) -> usize {
    let far = udp(&wire.far, (FAR, PORT));
    let near = udp(&wire.near, (NEAR, PORT));
    let mut buffer = [0; 10_000];
    let mut came_back = 0;
    for number in 0..count {
        let text = vec![b'x'; (longest - number * 20 % longest).max(1)];
        near.send_to(&text, (FAR, PORT)).unwrap();
        let Ok((length, peer)) = far.recv_from(&mut buffer) else {
            continue;
        };
        far.send_to(&buffer[..length], peer).unwrap();
        came_back += usize::from(near.recv(&mut buffer).is_ok_and(|read| read == text.len()));
    }
    came_back
}

/// A connection from the near to the far host.
struct Connection {
    near: TcpStream,
    far: TcpStream,
}

impl Connection {
    fn open(wire: &Wire) -> Self {
        let listener = inside(&wire.far, || TcpListener::bind((FAR, PORT)).unwrap());
        let near = inside(&wire.near, || TcpStream::connect((FAR, PORT)).unwrap());
        let (far, _) = listener.accept().unwrap();
        for stream in [&near, &far] {
            stream.set_read_timeout(Some(Sleep::from_secs(5))).unwrap();
        }
        Self { near, far }
    }

    /// Sends octets to the far host and back.
    fn exchange(&mut self, octets: usize) {
        let text: Vec<u8> = (0..octets).map(|n| n.to_le_bytes()[0]).collect();
        for (from, to) in [(&self.near, &self.far), (&self.far, &self.near)] {
            std::thread::scope(|scope| {
                let (mut from, mut to) = (from, to);
                let text = &text;
                let sender = scope.spawn(move || from.write_all(text));
                let mut received = vec![0; octets];
                to.read_exact(&mut received).unwrap();
                sender.join().unwrap().unwrap();
                assert!(&received == text);
            });
        }
    }
}

/// Returns the frames that the device of a host has received so far.
fn received(host: &Namespace) -> u64 {
    let text = inside(host, || {
        std::fs::read_to_string("/proc/thread-self/net/dev").unwrap()
    });
    let row = text.lines().find(|line| line.trim().starts_with(DEVICE));
    let column = row.unwrap().split_ascii_whitespace().nth(2);
    column.unwrap().parse().unwrap()
}

/// Oracles: the hosts' own stacks, and the state of the near one. A connection that was there before
/// goes on with the shim and after it.
#[test]
fn frames_pass_and_nothing_is_left_behind() {
    let Some(wire) = quiet_wire("frames_pass_and_nothing_is_left_behind") else {
        return;
    };
    let mut connection = Connection::open(&wire);
    connection.exchange(10_000);
    let cases = [
        (Layer::default(), Waiting::Block),
        (Layer::default(), Waiting::Spin),
        (receiving(ReceiveSelection::HighestFirst), Waiting::Block),
        (receiving(ReceiveSelection::PROMOTING), Waiting::Spin),
        (receiving(ReceiveSelection::LOW_FLAG), Waiting::Block),
    ];
    for (layer, waiting) in cases {
        let is_receiving = layer.receive.is_some();
        let settings = Settings {
            waiting,
            ..settings(layer, 1_000)
        };
        let ((), status) = with_shim(&wire, settings, |_| {
            assert_eq!(ping(&wire, 10), 10);
            assert_eq!(echo(&wire, 50, 1_400), 50);
            connection.exchange(1_000_000);
        });
        // 690 segments of 1448 octets each way.
        assert!(status.transmitted.frames > 690, "{status:?}");
        if is_receiving {
            assert!(status.received.frames > 690, "{status:?}");
        } else {
            assert_eq!(status.received.taken, 0, "there is nothing to do with them");
        }
        connection.exchange(10_000);
    }
}

/// Returns priority, VLAN and destination port of the UDP datagrams that a host receives.
fn datagrams(host: &Namespace, work: impl FnOnce()) -> Vec<(Option<(u8, u16)>, u16)> {
    let stop = AtomicBool::new(false);
    let (send, ready) = mpsc::channel();
    let frames = std::thread::scope(|scope| {
        let capture = scope.spawn(|| {
            host.enter().unwrap();
            capture(DEVICE, 1_000, &stop, || send.send(()).unwrap()).unwrap()
        });
        ready.recv().unwrap();
        work();
        std::thread::sleep(Sleep::from_millis(50));
        stop.store(true, Ordering::Relaxed);
        capture.join().unwrap()
    });
    let keys = frames.iter().map(|frame| parse(frame).key);
    let read = |key: rtether_proto::endnode::FrameKey| {
        let tag = key.tag.map(|tag| (tag.pcp.get(), tag.vid.get()));
        Some((
            tag,
            key.destination_port.filter(|_| key.protocol == Some(17))?,
        ))
    };
    keys.filter_map(read).collect()
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

/// Oracle: a packet socket at the far host.
#[test]
fn priorities_are_on_the_wire() {
    let Some(wire) = quiet_wire("priorities_are_on_the_wire") else {
        return;
    };
    let near = udp(&wire.near, (NEAR, PORT));
    let send = || {
        for port in [PORT, URGENT] {
            near.send_to(b"x", (FAR, port)).unwrap();
        }
    };
    let plain = vec![(None, PORT), (None, URGENT)];
    assert_eq!(datagrams(&wire.far, send), plain);
    for vid in [0, 7] {
        let settings = Settings {
            tags: tags(vid),
            ..settings(queued(4, 100), 100)
        };
        let (seen, _) = with_shim(&wire, settings, |_| datagrams(&wire.far, send));
        let expected = [(Some((2, vid)), PORT), (Some((6, vid)), URGENT)];
        assert_eq!(seen, expected);
    }
    let (seen, _) = with_shim(&wire, settings(layer(), 100), |_| {
        datagrams(&wire.far, send)
    });
    assert_eq!(seen, plain);
}

/// Oracle: a kernel drops what has the tag of a VLAN that it does not know.
#[test]
fn two_shims_talk_in_a_vlan_that_their_stacks_do_not_see() {
    let Some(wire) = quiet_wire("two_shims_talk_in_a_vlan") else {
        return;
    };
    let tagged = |layer| Settings {
        tags: tags(7),
        ..settings(layer, 1_000)
    };
    let before = state(&wire.far);
    // One takes tags off in the kernel, the other one here.
    let receiving = receiving(ReceiveSelection::HighestFirst);
    with_shim(&wire, tagged(layer()), |_| {
        shimmed(&wire.far, DEVICE, tagged(receiving), |_| {
            assert_eq!(ping(&wire, 10), 10);
            assert_eq!(echo(&wire, 20, 1_472), 20);
        });
    });
    assert_eq!(state(&wire.far), before);
    with_shim(&wire, tagged(layer()), |_| {
        let far = udp(&wire.far, (FAR, PORT));
        far.set_read_timeout(Some(Sleep::from_millis(200))).unwrap();
        let near = udp(&wire.near, (NEAR, PORT));
        near.send_to(b"x", (FAR, PORT)).unwrap();
        assert!(far.recv(&mut [0]).is_err(), "nobody takes the tag off");
    });
}

/// Oracle: `tc`, which shows whose filters there are.
#[test]
fn what_others_have_put_at_the_device_is_kept_or_refused() {
    let Some(wire) = quiet_wire("what_others_have_put_at_the_device") else {
        return;
    };
    let host = &wire.near;
    let plan = |settings: &Settings| inside(host, || Shim::prepare(DEVICE, settings));
    let (plain, settings) = (state(host), settings(layer(), 100));
    let prepared = plan(&settings).unwrap();
    assert_eq!(state(host), plain, "to prepare changes nothing");
    let commands = prepared.to_string();
    assert!(
        commands.contains(&format!("tc qdisc add dev {DEVICE} clsact\n")),
        "{commands}"
    );
    assert_eq!(prepared.undo().len(), 1);

    // A `clsact` of others stays.
    host.run(&format!("tc qdisc add dev {DEVICE} clsact"))
        .unwrap();
    let commands = plan(&settings).unwrap().to_string();
    assert!(
        !commands.contains(&format!("{DEVICE} clsact\n")),
        "{commands}"
    );
    with_shim(&wire, settings.clone(), |_| {
        assert_eq!(echo(&wire, 5, 100), 5);
        let second = inside(host, || Shim::up(DEVICE, settings.clone()).map(drop));
        let message = second.unwrap_err().to_string();
        assert!(message.contains("rts2"), "{message}");
    });

    // A filter of others is in the way, also of what is behind it.
    let filter = format!("tc filter add dev {DEVICE} ingress pref 5 bpf da bytecode");
    inside(host, || {
        let command = rtether_live::namespace::CommandLine::words(&filter);
        command.argument("1,6 0 0 4294967295".into()).run().unwrap();
    });
    let error = plan(&settings).unwrap_err();
    assert!(matches!(error, ShimError::Occupied { .. }), "{error}");
    assert!(
        error
            .to_string()
            .contains("tc filter show dev wire ingress"),
        "{error}"
    );
    let occupied = state(host);
    inside(host, || restore(DEVICE).unwrap());
    assert_eq!(state(host), occupied, "nothing of ours");
    host.run(&format!("tc qdisc del dev {DEVICE} clsact"))
        .unwrap();
    host.run(&format!("tc qdisc add dev {DEVICE} ingress"))
        .unwrap();
    let error = plan(&settings).unwrap_err();
    assert!(
        error.to_string().contains("qdisc del dev wire ingress"),
        "{error}"
    );
    assert!(inside(host, || restore("nosuch")).is_err());
}

#[test]
fn what_this_back_end_cannot_do_is_refused_with_a_reason() {
    let Some(wire) = quiet_wire("what_this_back_end_cannot_do") else {
        return;
    };
    // A mode that adapts: others ask no detector.
    let smoothing = |detector| Layer {
        smoother: Some(smoothing(Mode::Adaptive(Adaptive::HIMD), detector)),
        ..layer()
    };
    let collisions = Detector::OwnCollisions {
        visibility_per_million: 1_000_000,
    };
    let probe = Detector::ProbeDelay {
        excess: Duration::from_ms(1),
        epoch: Duration::from_secs(1),
    };
    let instances = Layer {
        receive: Some(Receive::Instances {
            queue_limits: vec![10, 10],
        }),
        ..layer()
    };
    let cases = [
        (settings(layer(), 0), "`rate`"),
        (settings(instances, 100), "`receive`"),
        (settings(smoothing(collisions), 100), "`signal`"),
        (settings(smoothing(probe), 100), "`detector`"),
        (settings(queued(0, 10), 100), "layer"),
    ];
    inside(&wire.near, || {
        for (settings, expected) in cases {
            let message = Shim::prepare(DEVICE, &settings).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        let unknown = Shim::prepare("nosuch", &settings(layer(), 100)).unwrap_err();
        assert!(unknown.to_string().contains("nosuch"), "{unknown}");
    });
}

fn smoothing(mode: Mode, detector: Detector) -> Smoothing {
    Smoothing {
        config: smoother::Config::new(mode),
        rule: smoother::Rule::LINUX,
        ring: 4,
        detector,
    }
}

/// A process that hosts a shim at the near host.
struct Hosted(Child);

impl Hosted {
    const NAMESPACE: &str = "RTETHER_TEST_SHIM";

    fn start(wire: &Wire) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "shim::hosted", "--nocapture"])
            .env(Self::NAMESPACE, wire.near.name())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let this = Self(child);
        let up = lines.map_while(Result::ok).find(|line| line == "up");
        assert!(up.is_some(), "the shim is not up");
        std::thread::sleep(Sleep::from_millis(20));
        this
    }

    fn signal(&self, name: &str) {
        rtether_live::namespace::run(&format!("kill -{name} {}", self.0.id())).unwrap();
    }
}

impl Drop for Hosted {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Not a test, but the process of others.
#[test]
fn hosted() {
    let Ok(namespace) = std::env::var(Hosted::NAMESPACE) else {
        return;
    };
    enter(&namespace).unwrap();
    let mut shim = Shim::up(
        DEVICE,
        settings(receiving(ReceiveSelection::HighestFirst), 100),
    );
    println!("\nup");
    shim.as_mut().unwrap().run().unwrap();
}

/// Sends datagrams to the far host and back all the time while `work` runs; returns the longest time
/// without any from its beginning on.
fn longest_silence(wire: &Wire, work: impl FnOnce()) -> Sleep {
    // An address is asked for once a second only.
    assert_eq!(echo(wire, 1, 1), 1);
    let far = udp(&wire.far, (FAR, PORT));
    let near = udp(&wire.near, (NEAR, PORT));
    near.set_nonblocking(true).unwrap();
    far.set_nonblocking(true).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let silence = scope.spawn(|| {
            let (mut last, mut longest) = (Time::now(), Sleep::ZERO);
            let mut buffer = [0; 100];
            while !stop.load(Ordering::Relaxed) {
                // Where there is no room for more, these are enough.
                let _ = near.send_to(b"x", (FAR, PORT));
                std::thread::sleep(Sleep::from_millis(1));
                while let Ok((_, peer)) = far.recv_from(&mut buffer) {
                    let _ = far.send_to(b"y", peer);
                }
                while near.recv(&mut buffer).is_ok() {
                    longest = longest.max(last.elapsed());
                    last = Time::now();
                }
            }
            longest.max(last.elapsed())
        });
        work();
        stop.store(true, Ordering::Relaxed);
        silence.join().unwrap()
    })
}

/// Oracle: round trips, which go on within a second whatever becomes of the shim. What is left of a
/// killed one goes away by [`restore`].
#[test]
fn a_shim_that_is_killed_or_hangs_is_passed_by() {
    let Some(wire) = quiet_wire("a_shim_that_is_killed_or_hangs_is_passed_by") else {
        return;
    };
    let before = state(&wire.near);
    let second = Sleep::from_secs(1);
    let shim = Hosted::start(&wire);
    assert_ne!(state(&wire.near), before);
    let hanging = longest_silence(&wire, || {
        shim.signal("STOP");
        std::thread::sleep(second);
        shim.signal("CONT");
        std::thread::sleep(second / 5);
    });
    assert!(hanging < second, "{hanging:?}");
    let killed = longest_silence(&wire, || {
        drop(shim);
        std::thread::sleep(second);
    });
    assert!(killed < second, "{killed:?}");
    println!("silence: {hanging:?} when it hangs, {killed:?} when it is killed");
    assert_ne!(state(&wire.near), before, "the filters are still there");
    inside(&wire.near, || restore(DEVICE).unwrap());
    assert_eq!(state(&wire.near), before);
    inside(&wire.near, || restore(DEVICE).unwrap());
    // The next one removes what it finds.
    drop(Hosted::start(&wire));
    with_shim_after(&wire, &before);
}

fn with_shim_after(wire: &Wire, before: &str) {
    let (came_back, _) = shimmed(&wire.near, DEVICE, settings(layer(), 100), |_| {
        echo(wire, 10, 100)
    });
    assert_eq!(came_back, 10);
    assert_eq!(state(&wire.near), before);
}

/// Oracle: the stacks, on a link that goes down and up and gets another MTU.
#[test]
fn the_link_may_go_down_and_up_and_change_its_mtu() {
    let Some(wire) = quiet_wire("the_link_may_go_down_and_up") else {
        return;
    };
    let receiving = receiving(ReceiveSelection::HighestFirst);
    let ((), status) = with_shim(&wire, settings(receiving, 1_000), |_| {
        assert_eq!(echo(&wire, 5, 1_472), 5);
        for host in [&wire.near, &wire.far] {
            host.run(&format!("ip link set {DEVICE} down")).unwrap();
            host.run(&format!("ip link set {DEVICE} up")).unwrap();
            wire.wait_for_carrier().unwrap();
            assert_eq!(echo(&wire, 5, 1_472), 5);
        }
        let set_mtu = |mtu: u32| {
            for host in [&wire.near, &wire.far] {
                host.run(&format!("ip link set {DEVICE} mtu {mtu}"))
                    .unwrap();
            }
        };
        set_mtu(9_000);
        let before = received(&wire.far);
        assert_eq!(echo(&wire, 5, 8_972), 5);
        // In one piece, but for the resolution of addresses.
        assert!(received(&wire.far) - before <= 7);
        set_mtu(1_500);
        assert_eq!(echo(&wire, 5, 8_972), 5);
    });
    assert_eq!(status.drops.port_refused, 0, "{status:?}");
}

/// Sends so many datagrams of 1000 octets to the far host, at most so many a millisecond.
fn flood(wire: &Wire, count: u64, per_ms: u64) {
    let near = udp(&wire.near, (NEAR, 0));
    paced(count, per_ms, || {
        near.send_to(&[0; 1_000], (FAR, PORT)).unwrap();
    });
}

fn paced(count: u64, per_ms: u64, send: impl Fn()) {
    let start = Time::now();
    for number in 0..count {
        let due = Sleep::from_millis(number / per_ms);
        std::thread::sleep(due.saturating_sub(start.elapsed()));
        send();
    }
}

/// Oracle: counters of the far device, and of the socket calls.
#[test]
fn frames_of_a_flood_arrive_or_are_counted() {
    let Some(wire) = quiet_wire("frames_of_a_flood_arrive_or_are_counted") else {
        return;
    };
    let _far = udp(&wire.far, (FAR, PORT));
    // 1066 octets on the wire: 10 in a millisecond are 85 Mbit/s, and 20 are more than the line.
    let cases = [
        (queued(16, 1_000), 5_000, 10),
        (layer(), 5_000, 10),
        (queued(16, 100), 5_000, 20),
        (layer(), 8_000, 20),
    ];
    for (layer, count, per_ms) in cases {
        let before = received(&wire.far);
        let (took, status) = with_shim(&wire, settings(layer, 100), |_| {
            let start = Time::now();
            flood(&wire, count, per_ms);
            start.elapsed()
        });
        let arrived = received(&wire.far) - before;
        // On a busy machine the shim may seem to hang.
        let bypassed = status.bypassed.transmit;
        assert_eq!(status.transmitted.frames + bypassed, arrived, "{status:?}");
        let sent = status.transmitted.taken + status.drops.stack_overrun + status.bypassed.transmit;
        // Requests and answers of the address resolution.
        assert!((count..count + 6).contains(&sent), "{status:?}");
        // More than the line has carried meanwhile and the queue holds, also of the last one here.
        let is_over = u128::from(count) > took.as_micros() / 85 + 1_100;
        let lost = status.drops.transmit_full + status.drops.stack_overrun;
        assert!(!is_over || lost + bypassed > 0, "{status:?}");
    }
}

/// Oracle: arithmetic. A line of 10 Mbit/s has sent one frame of 1066 octets each 857 us; what is of
/// the higher class overtakes all others but those in the ring.
#[test]
fn urgent_frames_overtake_others() {
    const BULK: usize = 60;
    let Some(wire) = quiet_wire("urgent_frames_overtake_others") else {
        return;
    };
    let near = udp(&wire.near, (NEAR, 0));
    let mut passed = Sleep::ZERO;
    let (seen, status) = with_shim(&wire, settings(queued(2, 100), 10), |_| {
        // Nobody waits for the resolution of an address.
        near.send_to(b"x", (FAR, PORT)).unwrap();
        std::thread::sleep(Sleep::from_millis(20));
        datagrams(&wire.far, || {
            let start = Time::now();
            for _ in 0..BULK {
                near.send_to(&[0; 1_000], (FAR, PORT)).unwrap();
            }
            near.send_to(&[0; 1_000], (FAR, URGENT)).unwrap();
            passed = start.elapsed();
            std::thread::sleep(Sleep::from_millis(60));
        })
    });
    assert_eq!(seen.len(), BULK + 1, "{status:?}");
    let ahead = seen.iter().take_while(|(_, port)| *port == PORT).count();
    // Those that were out when it was sent, the one on the line, the ring, and what a thread that
    // was held up makes up for: 2 ms.
    let out = passed.as_micros() / 857 + 1 + 2 + 3;
    assert!(
        (ahead as u128) <= out,
        "{ahead} of {BULK} frames ahead, {passed:?}"
    );
    let [bulk, urgent] = &status.queues[..] else {
        panic!("{:?}", status.queues)
    };
    assert_eq!(
        (bulk.direction, bulk.class, urgent.class),
        (Direction::Transmit, 0, 1)
    );
    // Resolution of addresses included.
    assert!(bulk.released > BULK as u64, "{bulk:?}");
    assert_eq!(urgent.released, 1);
    let [bulk, urgent] = [bulk, urgent].map(|queue| queue.waited.unwrap());
    assert!(bulk.max > Duration::from_ms(40), "{bulk:?}");
    assert!(urgent.max < bulk.max / 4, "{urgent:?} {bulk:?}");
}

/// Oracle: the bucket's period. 30 datagrams of 1028 octets need 15 periods of two each, but for the
/// first ones.
#[test]
fn a_smoother_holds_bulk_back_and_lets_others_pass() {
    let Some(wire) = quiet_wire("a_smoother_holds_bulk_back") else {
        return;
    };
    let fixed = Mode::Fixed(Fixed {
        depth: Bytes::new(2_000),
        period: Duration::from_ms(10),
    });
    let backlog = Detector::Backlog {
        low: Bytes::new(1_500),
        high: Bytes::new(6_000),
    };
    let layer = Layer {
        smoother: Some(smoothing(fixed, backlog)),
        ..queued(4, 100)
    };
    let far = udp(&wire.far, (FAR, PORT));
    let near = udp(&wire.near, (NEAR, 0));
    let (took, status) = with_shim(&wire, settings(layer, 100), |_| {
        near.send_to(b"x", (FAR, PORT)).unwrap();
        far.recv(&mut [0]).unwrap();
        let start = Time::now();
        for _ in 0..30 {
            near.send_to(&[0; 1_000], (FAR, PORT)).unwrap();
        }
        for _ in 0..30 {
            far.recv(&mut [0; 1_000]).unwrap();
        }
        start.elapsed()
    });
    assert!(took > Sleep::from_millis(130), "{took:?}");
    let smoother = status.smoother.unwrap();
    assert_eq!(smoother.mode, fixed);
    // One more resolved the address.
    assert_eq!(smoother.statistics.bulk.sent, 31);
    assert_eq!(smoother.statistics.real_time.sent, 0);
    assert_eq!(smoother.state.period, Some(Duration::from_ms(10)));
}

/// Oracle: what the far host sends. Its datagrams are 85 % of a link of 10 Mbit/s, those of the near
/// one are 9 %; its segments say that frames were marked, or that none was.
#[test]
fn detectors_look_at_what_comes_from_the_wire() {
    let Some(wire) = quiet_wire("detectors_look_at_what_comes_from_the_wire") else {
        return;
    };
    let window = Duration::from_ms(100);
    let threshold_percent = 50;
    let utilization = Detector::Utilization {
        threshold_percent,
        window,
    };
    let marks = Detector::Marks {
        threshold_percent,
        window,
    };
    let far = udp(&wire.far, (FAR, PORT));
    let tcp = inside(&wire.far, || {
        Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::TCP)).unwrap()
    });
    let datagram = || {
        far.send_to(&[0; 1_000], (NEAR, PORT)).unwrap();
    };
    let segment = |flags| {
        let mut header = [0; 20];
        (header[12], header[13]) = (5 << 4, flags);
        tcp.send_to(&header, &SocketAddr::from((NEAR, 0)).into())
            .unwrap();
    };
    let cases: [(Detector, &(dyn Fn() + Sync), bool); 4] = [
        (utilization, &|| (), false),
        (utilization, &datagram, true),
        (marks, &|| segment(0x10), false),
        (marks, &|| segment(0x50), true),
    ];
    for (detector, send, is_congested) in cases {
        let layer = Layer {
            smoother: Some(smoothing(Mode::None, detector)),
            ..queued(4, 100)
        };
        let ((), status) = with_shim(&wire, settings(layer, 10), |_| {
            std::thread::scope(|scope| {
                scope.spawn(|| paced(600, 1, send));
                let near = udp(&wire.near, (NEAR, 0));
                paced(600, 1, || {
                    near.send_to(&[0; 50], (FAR, PORT)).unwrap();
                });
            });
        });
        let reports = status.smoother.unwrap().statistics.reports;
        assert_eq!(reports > 0, is_congested, "{detector:?}: {reports}");
    }
}

/// Oracle: what arrives. Settings change every few milliseconds under load, and no frame is lost.
#[test]
fn settings_change_without_the_loss_of_a_frame() {
    let Some(wire) = quiet_wire("settings_change_without_the_loss_of_a_frame") else {
        return;
    };
    let _far = udp(&wire.far, (FAR, PORT));
    let before = received(&wire.far);
    let first = Settings {
        tags: tags(0),
        ..settings(queued(16, 4_000), 100)
    };
    let smoothed = Layer {
        smoother: Some(smoothing(
            Mode::None,
            Detector::Backlog {
                low: Bytes::new(1_500),
                high: Bytes::new(6_000),
            },
        )),
        ..queued(4, 4_000)
    };
    let picks = NonZeroU32::new(4).unwrap();
    let strict = Layer {
        transmit: Some(TransmitConfig {
            ring_limit: 4,
            queue_limits: vec![4_000, 4_000],
            high_from: None,
            strategy: TransmitStrategy::STRICT,
        }),
        ..layer()
    };
    let ((), status) = with_shim(&wire, first.clone(), |handle| {
        std::thread::scope(|scope| {
            let flood = scope.spawn(|| flood(&wire, 3_000, 5));
            let layers = [smoothed, strict, queued(1, 4_000), first.layer.clone()];
            for layer in layers.iter().cycle() {
                if flood.is_finished() {
                    break;
                }
                let layer = layer.clone();
                let settings = Settings {
                    layer,
                    ..first.clone()
                };
                handle.set(settings).unwrap();
                std::thread::sleep(Sleep::from_millis(70));
            }
        });
        let receive = receiving(ReceiveSelection::Promoting { picks });
        let refused = handle.set(settings(receive, 100)).unwrap_err();
        assert!(refused.to_string().contains("take it down"), "{refused}");
    });
    let arrived = received(&wire.far) - before - status.bypassed.transmit;
    assert_eq!(status.transmitted.frames, arrived, "{status:?}");
    assert_eq!(
        status.transmitted.frames, status.transmitted.taken,
        "{status:?}"
    );
    assert_eq!(status.drops.stack_overrun, 0, "{status:?}");
}

/// Oracle: the emulated medium, which counts how many frames collided at their first attempt: each
/// of them is one report of congestion to a smoother, and each frame is told of once.
#[test]
fn completions_come_from_the_reports_of_a_hub() {
    const EACH: u64 = 80;
    let Some(bed) = Bed::new("completions_come_from_the_reports", star(hub(3), 3, 10)) else {
        return;
    };
    let collisions = Detector::OwnCollisions {
        visibility_per_million: 1_000_000,
    };
    let settings = Settings {
        signal: Signal::Reports,
        ..settings(
            Layer {
                smoother: Some(smoothing(Mode::None, collisions)),
                ..queued(4, 200)
            },
            10,
        )
    };
    let work = || {
        let hosts = || {
            std::thread::scope(|scope| {
                let senders = (0..3).map(|host| {
                    let bed = &bed;
                    scope.spawn(move || {
                        let from = udp(&bed.hosts[host], (address(host), 0));
                        for _ in 0..EACH {
                            from.send_to(&[0; 700], (address((host + 1) % 3), PORT))
                                .unwrap();
                        }
                    })
                });
                senders.for_each(drop);
            });
            // 240 frames of 766 octets take 147 ms without a collision.
            std::thread::sleep(Sleep::from_millis(700));
        };
        let up = |host: usize, work: &mut dyn FnMut()| {
            shimmed(&bed.hosts[host], bed::DEVICE, settings.clone(), |_| work()).1
        };
        let mut inner = [None, None];
        let outer = up(0, &mut || {
            let [second, third] = &mut inner;
            *second = Some(up(1, &mut || *third = Some(up(2, &mut || hosts()))));
        });
        [Some(outer), inner[0].take(), inner[1].take()].map(Option::unwrap)
    };
    let (statuses, report) = bed.run(|options| options.reports_completions = true, work);
    let report = report.unwrap();
    let sent: u64 = statuses
        .iter()
        .map(|status| status.transmitted.frames)
        .sum();
    assert!(sent >= 3 * EACH, "{statuses:?}");
    assert_eq!(report.injected.injected, sent);
    let smoothers = statuses.iter().map(|status| status.smoother.unwrap());
    let noticed: u64 = smoothers.map(|smoother| smoother.statistics.reports).sum();
    let first_attempts = report.record.media[0].collisions[0];
    assert!(first_attempts > 20, "{:?}", report.record.media);
    assert_eq!(noticed, first_attempts, "{statuses:?}");
    for status in &statuses {
        assert_eq!(status.missed_reports, 0, "{status:?}");
        assert_eq!(status.drops.abandoned, 0, "{status:?}");
    }
}
