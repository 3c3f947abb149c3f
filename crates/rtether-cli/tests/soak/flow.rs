//! Numbered datagrams, with their times of sending and arrival.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use socket2::SockRef;

use crate::bed::{Bed, PATIENCE, Side};

/// Receive buffer, in octets: several seconds of a flow.
const BUFFER: usize = 16 << 20;
/// Interval at which a waiting thread checks for the end.
const LOOK: Duration = Duration::from_millis(50);
/// Number and time of a datagram.
const HEADER: usize = 16;

/// The time since the soak began, in nanoseconds.
#[derive(Clone, Copy)]
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn now(self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).unwrap()
    }
}

/// Frames that have queues of the shim to themselves, so that its counters can be compared with
/// ours; except `Mixed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Out, queue 2.
    UrgentOut,
    /// Out, queue 1.
    BulkOut,
    /// Out, queues 0 and 3, shared with TCP.
    Mixed,
    /// In, queue 2.
    UrgentIn,
    /// In, queue 1.
    BulkIn,
}

impl Kind {
    pub(crate) const ALL: [Self; 5] =
        [Self::UrgentOut, Self::BulkOut, Self::Mixed, Self::UrgentIn, Self::BulkIn];

    /// Returns the side that sends its frames.
    pub(crate) const fn from(self) -> Side {
        match self {
            Self::UrgentOut | Self::BulkOut | Self::Mixed => Side::Near,
            Self::UrgentIn | Self::BulkIn => Side::Far,
        }
    }
}

/// What a socket sends.
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    port: u16,
    dscp: u32,
    size: usize,
    /// Datagrams per burst, and the pause after it.
    burst: u32,
    pause: Duration,
}

const fn spec(name: &'static str, kind: Kind, port: u16, dscp: u32) -> Spec {
    Spec { name, kind, port, dscp, size: 200, burst: 1, pause: Duration::from_millis(3) }
}

/// Ports are those of the rules in `config`. Bulk data adds up to 27 Mbit/s.
pub(crate) static SPECS: [Spec; 8] = [
    spec("urgent 1", Kind::UrgentOut, 7_400, 46),
    spec("urgent 2", Kind::UrgentOut, 7_401, 46),
    Spec {
        size: 1_000,
        burst: 20,
        pause: Duration::from_millis(11),
        ..spec("bulk 1", Kind::BulkOut, 7_420, 10)
    },
    Spec {
        size: 1_000,
        burst: 35,
        pause: Duration::from_millis(25),
        ..spec("bulk 2", Kind::BulkOut, 7_421, 10)
    },
    Spec { pause: Duration::from_millis(5), ..spec("roaming", Kind::Mixed, 7_440, 18) },
    Spec { pause: Duration::from_millis(5), ..spec("unmarked", Kind::Mixed, 7_460, 0) },
    spec("urgent in", Kind::UrgentIn, 7_402, 46),
    Spec {
        size: 1_000,
        burst: 10,
        pause: Duration::from_millis(9),
        ..spec("bulk in", Kind::BulkIn, 7_422, 10)
    },
];

/// State that all threads of a soak check.
#[derive(Default)]
pub(crate) struct Control {
    is_paused: AtomicBool,
    /// Number of resting senders.
    resting: AtomicUsize,
    is_over: AtomicBool,
    /// Once the soak is over, receivers continue until nothing is under way.
    is_quiet: AtomicBool,
}

impl Control {
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.is_quiet.load(Ordering::Acquire)
    }

    /// Makes the calling sender rest while the soak is paused.
    pub(crate) fn rest(&self) {
        if !self.is_paused.load(Ordering::Acquire) {
            return;
        }
        self.resting.fetch_add(1, Ordering::AcqRel);
        while self.is_paused.load(Ordering::Acquire) && !self.is_over() {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.resting.fetch_sub(1, Ordering::AcqRel);
    }

    /// Waits until `senders` senders rest.
    pub(crate) fn pause(&self, senders: usize) -> Result<(), String> {
        self.is_paused.store(true, Ordering::Release);
        let begin = Instant::now();
        while self.resting.load(Ordering::Acquire) < senders {
            if begin.elapsed() > PATIENCE {
                return Err("a sender does not rest".into());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    pub(crate) fn resume(&self) {
        self.is_paused.store(false, Ordering::Release);
        while self.resting.load(Ordering::Acquire) > 0 && !self.is_over() {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        self.is_paused.store(false, Ordering::Release);
    }

    pub(crate) fn all_is_quiet(&self) {
        self.is_quiet.store(true, Ordering::Release);
    }
}

/// A datagram that arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) number: u64,
    pub(crate) at: u64,
}

/// One flow, and its datagrams since the last account.
pub(crate) struct Flow {
    pub(crate) spec: &'static Spec,
    /// Times, by number from the first unsettled one on.
    sent: Mutex<Vec<u64>>,
    arrived: Mutex<Vec<Arrival>>,
    /// Send time of the newest datagram that has arrived.
    newest: AtomicU64,
    /// Datagrams whose octets were altered.
    strange: AtomicU64,
    /// Datagrams that the stack refused.
    refused: AtomicU64,
}

impl Flow {
    pub(crate) fn new(spec: &'static Spec) -> Self {
        Self {
            spec,
            sent: Mutex::default(),
            arrived: Mutex::default(),
            newest: AtomicU64::new(0),
            strange: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    /// Starts the receiver, then the sender.
    pub(crate) fn start(self: &Arc<Self>, bed: &Arc<Bed>, control: &Arc<Control>, clock: Clock) {
        let (to, from) = (self.spec.kind.from().other(), self.spec.kind.from());
        let (ready, is_ready) = std::sync::mpsc::channel();
        let (this, place, watch) = (Arc::clone(self), Arc::clone(bed), Arc::clone(control));
        std::thread::spawn(move || {
            place.enter(to);
            let socket = this.socket(to);
            set_socket_recv_buffer_size_force(&socket, BUFFER).unwrap();
            socket.set_read_timeout(Some(LOOK)).unwrap();
            drop((place, ready.send(())));
            this.receive(&socket, &watch, clock);
        });
        is_ready.recv().unwrap();
        let (this, place, watch) = (Arc::clone(self), Arc::clone(bed), Arc::clone(control));
        std::thread::spawn(move || {
            place.enter(from);
            let socket = this.socket(from);
            drop(place);
            SockRef::from(&socket).set_tos_v4(this.spec.dscp << 2).unwrap();
            let address = (to.address(), this.spec.port);
            socket.connect(address).unwrap();
            this.send(&socket, &watch, clock);
        });
    }

    fn socket(&self, side: Side) -> UdpSocket {
        UdpSocket::bind((side.address(), self.spec.port)).unwrap()
    }

    fn send(&self, socket: &UdpSocket, control: &Control, clock: Clock) {
        let (mut number, mut octets) = (0_u64, vec![0; self.spec.size]);
        while !control.is_over() {
            control.rest();
            for _ in 0..self.spec.burst {
                let at = clock.now();
                fill(&mut octets, number, at);
                // An error of the next datagram reports a receiver that is gone for a moment.
                if socket.send(&octets).is_ok() {
                    self.sent.lock().unwrap().push(at);
                    number += 1;
                } else {
                    self.refused.fetch_add(1, Ordering::Relaxed);
                }
            }
            std::thread::sleep(self.spec.pause);
        }
    }

    fn receive(&self, socket: &UdpSocket, control: &Control, clock: Clock) {
        let (mut octets, mut expected) = (vec![0; 2_000], vec![0; self.spec.size]);
        while !control.is_quiet() {
            let size = match socket.recv(&mut octets) {
                Ok(size) => size,
                Err(error) if is_later(error.kind()) => continue,
                Err(error) => panic!("{}: {error}", self.spec.name),
            };
            let read = &octets[..size];
            let Some((number, sent)) = header(read) else {
                self.strange.fetch_add(1, Ordering::Relaxed);
                continue;
            };
            fill(&mut expected, number, sent);
            if read != expected {
                self.strange.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            let at = clock.now();
            self.arrived.lock().unwrap().push(Arrival { number, at });
            self.newest.fetch_max(sent, Ordering::Release);
        }
    }

    /// Returns whether a datagram sent after `time` has arrived.
    pub(crate) fn has_come_since(&self, time: u64) -> bool {
        self.newest.load(Ordering::Acquire) > time
    }

    /// Returns how many unsettled datagrams have arrived.
    pub(crate) fn arrivals(&self) -> usize {
        self.arrived.lock().unwrap().len()
    }

    /// Takes what was sent and what has arrived since the last call.
    pub(crate) fn take(&self) -> (Vec<u64>, Vec<Arrival>) {
        let sent = std::mem::take(&mut *self.sent.lock().unwrap());
        let arrived = std::mem::take(&mut *self.arrived.lock().unwrap());
        (sent, arrived)
    }

    /// Returns how many the stack refused.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Returns how many arrived altered.
    pub(crate) fn strange(&self) -> u64 {
        self.strange.load(Ordering::Relaxed)
    }
}

/// Returns whether an error only means that nothing is there now.
pub(crate) fn is_later(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn fill(octets: &mut [u8], number: u64, at: u64) {
    let (head, rest) = octets.split_at_mut(HEADER);
    head[..8].copy_from_slice(&number.to_be_bytes());
    head[8..].copy_from_slice(&at.to_be_bytes());
    let [.., first] = number.to_be_bytes();
    for (octet, place) in rest.iter_mut().zip((0..=250).cycle()) {
        *octet = first.wrapping_add(place);
    }
}

fn header(octets: &[u8]) -> Option<(u64, u64)> {
    let two = octets.first_chunk::<HEADER>()?;
    let (number, at) = two.split_first_chunk()?;
    Some((u64::from_be_bytes(*number), u64::from_be_bytes(at.try_into().ok()?)))
}
