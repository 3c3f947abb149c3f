//! The shim between the stack of a host and its device.

mod decides;
mod frames;
mod probes;
mod refused;
mod survives;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::num::NonZeroU32;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration as Sleep, Instant as Time};

use rtether_live::clock::Clock;
use rtether_live::emulator::capture;
use rtether_live::link::{Device, Icmp};
use rtether_live::meter::Meter;
use rtether_live::namespace::{Namespace, enter};
use rtether_live::shim::{
    Direction, Handle, Settings, Shim, ShimError, Signal, Status, Tags, restore,
};
use rtether_live::wait::Waiting;
use rtether_model::endnode::{
    Detector, HeaderMatch, Layer, PortRange, Receive, ReceiveConfig, ReceiveSelection, Rule,
    Smoothing, TransmitConfig, TransmitStrategy,
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
/// Frames to this port are of the higher class.
const URGENT: u16 = 7_301;

/// A wire between hosts that send nothing unprompted.
pub(crate) fn quiet_wire() -> Option<Wire> {
    let wire = Wire::new()?;
    for host in [&wire.near, &wire.far] {
        // IPv6 addresses would change their state over time.
        let switch = "/proc/sys/net/ipv6/conf/all/disable_ipv6";
        inside(host, || drop(std::fs::write(switch, "1")));
    }
    Some(wire)
}

/// State that must be the same before and after.
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

/// Stops a shim, also when its test fails.
pub(crate) struct Stop(pub(crate) Handle);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Maximum number of calls and decisions that a shim records.
const RECORDED: usize = 400_000;

/// Runs a shim at a host while `work` runs in the calling thread. All frames taken must have been
/// passed on or counted, and on replay the engines must decide the same.
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
            shim.flush().unwrap();
            replays(shim.take_recording().unwrap(), &shim.handle().status());
            shim.down().unwrap()
        });
        let stop = Stop(handle.recv().unwrap());
        // Frames bypass the shim until its first sign of life.
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
    // Each frame that has left was selected.
    assert!(comparison.decisions >= status.transmitted.frames, "{comparison:?}");
}

/// Like [`shimmed`] at the near host, whose state must be as before.
fn with_shim<T>(wire: &Wire, settings: Settings, work: impl FnOnce(&Handle) -> T) -> (T, Status) {
    let before = state(&wire.near);
    let result = shimmed(&wire.near, DEVICE, settings, work);
    assert_eq!(state(&wire.near), before);
    result
}

/// Frames taken were passed on or counted as lost; the shim is empty at its end.
fn conserved(status: &Status) {
    let drops = &status.drops;
    let lost = drops.transmit_full + drops.port_down + drops.port_refused + drops.abandoned;
    let sent = status.transmitted;
    assert_eq!(sent.taken, sent.frames + lost, "{status:?}");
    let lost = drops.receive_full + drops.stack_refused;
    let received = status.received;
    assert_eq!(received.taken, received.frames + lost, "{status:?}");
}

/// Puts datagrams to a port into the higher of two classes.
pub(crate) fn urgent(port: u16) -> Rule {
    Rule {
        headers: HeaderMatch {
            protocol: Some(17),
            destination_port: Some(PortRange::one(port)),
            ..HeaderMatch::default()
        },
        class: 1,
    }
}

/// Two classes, the higher one for one port.
fn layer() -> Layer {
    Layer { rules: vec![urgent(URGENT)], ..Layer::default() }
}

/// Transmit queues with rings of their own and `places` places each.
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

pub(crate) fn settings(layer: Layer, mbps: u64) -> Settings {
    Settings::new(layer, BitRate::from_mbps(mbps))
}

/// Sends echo requests to the far host and returns the number of replies.
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
        // A process that another test is starting may hold a socket that was closed here.
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

/// Sends datagrams of many sizes to the far host and back; returns how many returned intact.
fn echo(wire: &Wire, count: usize, longest: usize) -> usize {
    let far = udp(&wire.far, (FAR, PORT));
    let near = udp(&wire.near, (NEAR, PORT));
    let mut buffer = [0; 10_000];
    let mut came_back = 0;
    for number in 0..count {
        let text = vec![b'x'; (longest - number * 20 % longest).max(1)];
        near.send_to(&text, (FAR, PORT)).unwrap();
        let Ok((length, peer)) = rtether_testkit::repeated(|| far.recv_from(&mut buffer)) else {
            continue;
        };
        far.send_to(&buffer[..length], peer).unwrap();
        came_back += usize::from(
            rtether_testkit::repeated(|| near.recv(&mut buffer))
                .is_ok_and(|read| read == text.len()),
        );
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
    let text = inside(host, || std::fs::read_to_string("/proc/thread-self/net/dev").unwrap());
    let row = text.lines().find(|line| line.trim().starts_with(DEVICE));
    let column = row.unwrap().split_ascii_whitespace().nth(2);
    column.unwrap().parse().unwrap()
}

/// A backlog of one frame is low, of five or six high.
const BACKLOG: Detector = Detector::Backlog { low: Bytes::new(1_500), high: Bytes::new(6_000) };

/// Puts a smoother before a layer.
fn smoothed(mode: Mode, detector: Detector, layer: Layer) -> Layer {
    let smoother = Smoothing {
        config: smoother::Config::new(mode),
        rule: smoother::Rule::LINUX,
        ring: 4,
        detector,
    };
    Layer { smoother: Some(smoother), ..layer }
}

/// Returns the frames that a host receives, up to a thousand.
pub(crate) fn captured(host: &Namespace, work: impl FnOnce()) -> Vec<Vec<u8>> {
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

/// Returns priority, VLAN and destination port of the UDP datagrams that a host receives.
fn datagrams(host: &Namespace, work: impl FnOnce()) -> Vec<(Option<(u8, u16)>, u16)> {
    let frames = captured(host, work);
    let keys = frames.iter().map(|frame| parse(frame).key);
    let read = |key: rtether_proto::endnode::FrameKey| {
        let tag = key.tag.map(|tag| (tag.pcp.get(), tag.vid.get()));
        Some((tag, key.destination_port.filter(|_| key.protocol == Some(17))?))
    };
    keys.filter_map(read).collect()
}

/// Classes 0 and 1 get priorities 2 and 6 in a VLAN.
pub(crate) fn tags(vid: u16) -> Tags {
    let pcp = |class| Pcp::new(if class == 1 { 6 } else { 2 }).unwrap();
    Tags {
        insert: Some([0, 1, 2, 3, 4, 5, 6, 7].map(pcp)),
        vid: Vid::new(vid).unwrap(),
        strip: true,
    }
}
