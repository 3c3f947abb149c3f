//! The shim in the kernel, between the stack of a host and its device.

mod figures;
mod law;
mod queues;

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration as Sleep, Instant as Time};

use rtether_live::link::{Link, Raw, RawOptions};
use rtether_live::namespace::Namespace;
use rtether_live::shim::kernel::{Recording, Shim};
use rtether_live::shim::{Handle, Settings, ShimError, Signal, Status};
use rtether_live::thread::Placement;
use rtether_model::endnode::{Detector, Layer, Smoothing, TransmitConfig, TransmitStrategy};
use rtether_model::network::{Pcp, Vid};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::smoother::{self, Adaptive, Fixed, Mode};
use rtether_proto::endnode::parse;
use socket2::{Domain, Protocol, Socket, Type};

use crate::bed::{self, Bed, hub, inside, star};
use crate::shim::{self, Stop, captured, settings, tags, urgent};
use crate::wire::{DEVICE, FAR, NEAR, Wire};

const PORT: u16 = 7_310;
/// Frames to this port are of the higher class.
const URGENT: u16 = 7_311;
/// Octets of a datagram in addition to its payload: IP and UDP.
const HEADERS: usize = 28;
/// Largest payload of a datagram in one frame.
const FULL: usize = 1_500 - HEADERS;

/// A wire between hosts that send nothing unprompted.
fn quiet_wire() -> Option<Wire> {
    let wire = shim::quiet_wire()?;
    // Resolves addresses before anything is counted.
    let (near, far) = (udp(&wire.near, (NEAR, PORT)), udp(&wire.far, (FAR, PORT)));
    near.send_to(b"x", (FAR, PORT)).unwrap();
    receive(&far, &mut [0]).unwrap();
    far.send_to(b"x", (NEAR, PORT)).unwrap();
    receive(&near, &mut [0]).unwrap();
    Some(wire)
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
    // Every frame taken has left, was dropped, or was waiting at the end.
    let (sent, drops) = (status.transmitted, &status.drops);
    let lost = drops.transmit_full + drops.abandoned;
    assert_eq!(sent.taken, sent.frames + lost, "{status:?}");
    (result, status, recording)
}

/// Returns the status once it is newer than the call.
fn fresh(handle: &Handle) -> Status {
    std::thread::sleep(Sleep::from_millis(250));
    handle.status()
}

/// Waits until the queues are empty.
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

/// Sends full frames to a port from as many sockets as needed to do so at once: the kernel limits
/// each to less than a hundred frames in flight.
fn burst(wire: &Wire, to: u16, count: usize) {
    let each = 50;
    for sent in (0..count).step_by(each) {
        let socket = udp(&wire.near, (NEAR, 0));
        for _ in 0..each.min(count - sent) {
            socket.send_to(&[0; FULL], (FAR, to)).unwrap();
        }
    }
}

/// Returns a socket with a time-out of two seconds.
fn udp(host: &Namespace, at: (Ipv4Addr, u16)) -> UdpSocket {
    let start = Time::now();
    let socket = inside(host, || {
        loop {
            match UdpSocket::bind(at) {
                // A process that is being started may still have a copy of a closed socket.
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

/// Receives a datagram, despite signals.
fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> std::io::Result<usize> {
    rtether_testkit::repeated(|| socket.recv(buffer))
}

/// Two classes, the higher one for one port, each with a queue.
fn layer() -> Layer {
    Layer {
        rules: vec![urgent(URGENT)],
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

const COLLISIONS: Detector = Detector::OwnCollisions { visibility_per_million: 1_000_000 };

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

/// Oracle: the list of refusals; nothing was changed.
#[test]
fn what_the_kernel_cannot_do_is_refused() {
    let Some(wire) = quiet_wire() else { return };
    let queues = || wire.near.run("tc qdisc show").unwrap();
    let before = queues();
    let mut strict = layer();
    if let Some(transmit) = &mut strict.transmit {
        transmit.strategy = TransmitStrategy::STRICT;
    }
    let refused = inside(&wire.near, || Shim::up(DEVICE, settings(strict, 10)));
    let text = refused.expect_err("it is refused").to_string();
    assert!(text.contains("back end `kernel` cannot do `transmit.strategy`"), "{text}");
    assert_eq!(queues(), before);
}
