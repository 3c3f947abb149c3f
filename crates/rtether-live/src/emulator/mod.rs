//! Emulates a network for real hosts: the switches, hubs and links of `rtether-sim`, driven by the
//! clock.
//!
//! Each host is joined to the emulator by a pair of devices (veth); the emulator has the other ends
//! in a namespace of its own and sees what the hosts send, with the kernel's receive stamps.
//!
//! # Model
//!
//! Everything is decided in virtual time: a frame enters the network at its stamp, and leaves when
//! [`rtether_sim::emulation`] says that its last bit has arrived, or a little later. The network is
//! computed up to a time before which no frame can be missing: a reading of the clock taken before
//! the socket was found empty, less [`Options::guard`] for senders that are interrupted between
//! stamp and delivery. A frame that comes later still is taken at once and counted as late. The
//! [`Recording`] of the arrivals, replayed offline, is the oracle: [`EmulatorReport::comparison`]
//! says how many frames had another fate than their stamps demand.
//!
//! # What hosts have to do
//!
//! [`offloads_off`] at both ends of each pair. The emulator does it for its own ends; the hosts'
//! ends are in other namespaces. Frames whose checksum was left to hardware are counted
//! ([`Counts::unchecked`]); frames above 1514 octets are dropped and counted. The emulator's ends
//! are to have no addresses, since what this side sends itself reaches a host without passing the
//! network; for the same reason the emulator switches IPv6 off there.
//!
//! # Collision reports
//!
//! With [`Options::reports_collisions`] the host behind a station is told of each of its
//! collisions, as the `collisions` counter of an interface would, by a frame of `EtherType` 0x88B6
//! (IEEE 802, local experimental 2) that does not pass the network: see [`CollisionReport`].
//!
//! # Scheduling
//!
//! The thread that calls [`Emulator::run`] spins or sleeps ([`Waiting`]). A spinning one belongs on
//! a core of its own under `SCHED_FIFO`. The kernel takes 50 ms of a second from it if other threads
//! want the core; to forestall that it naps for 7.5 % of the time while nothing happens. What the
//! kernel or the host takes nevertheless shows as [`Stall`]s.

mod capture;
mod frame;
mod offload;
mod report;
mod store;
mod tap;
mod timing;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use rtether_model::network::{Link, Network, NodeId, Pcp, Vid};
use rtether_model::quantity::{Duration, Instant};
use rtether_model::wire::MIN_FRAME;
use rtether_sim::emulation::{
    Arrival, Draws, Emulation, EmulationError, Foreign, Output, Recording,
};

use crate::clock::Clock;
use crate::link::{Device, DeviceError, MacAddress};
use crate::wait::{Waiting, sleep_until_readable};
use crate::wall::Stamps;
use store::{PLACE, Store};
use tap::{Seen, Tap};
use timing::Timing;

pub use capture::capture;
pub use frame::{COLLISION_ETHERTYPE, CollisionReport};
pub use offload::{OffloadError, offloads_off};
pub use report::{Counts, EmulatorReport};
pub use timing::{DepartureErrors, Stall};

/// Frames taken from the socket before those that are due are sent.
const BURST: usize = 8;
/// How often a sleeping emulator looks whether to stop.
const LOOK: Duration = Duration::from_ms(50);
/// Nothing is due and nothing came for so long: time for a nap.
const QUIET: Duration = Duration::from_us(500);
/// Longer than a wake-up takes.
const LEAD: Duration = Duration::from_us(100);
/// The longest nap; whoever takes longer has been held up.
const NAP: Duration = Duration::from_ms(1);
/// A nap is due when less than this part of a thousand has been slept.
const NAPS_PER_MILLE: i64 = 75;
/// Over which time naps are counted.
const NAP_WINDOW: Duration = Duration::from_ms(500);
/// A frame whose stamp is so much older than the time at which the socket was empty was stamped by
/// a clock that has been set since.
const STAMP_LAG_MAX: Duration = Duration::from_ms(50);
/// Where senders are interrupted once in some thousand frames, few are for longer.
const GUARD_MIN: Duration = Duration::from_us(10);
/// The longest interrupts of a host that is not stopped altogether.
const GUARD_MAX: Duration = Duration::from_us(40);
/// Places in the store that a token can name.
const PLACES_MAX: u32 = 1 << 24;

/// A station and the device that leads to the host that plays it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// The station.
    pub station: NodeId,
    /// Name of the emulator's end of the pair.
    pub device: String,
    /// Ethernet address of the host's end.
    pub address: MacAddress,
}

/// What happens to a frame for an address that no station has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unknown {
    /// It is dropped and counted.
    #[default]
    Drop,
    /// It goes to all stations, as from a switch that does not know the address.
    Flood,
}

/// How to emulate.
#[derive(Clone, Debug)]
pub struct Options {
    /// Clock of the run; its origin is that of all times.
    pub clock: Clock,
    /// Seed of back-offs and bit errors.
    pub seed: u64,
    /// How back-offs are drawn.
    pub draws: Draws,
    /// Whether the thread spins.
    pub waiting: Waiting,
    /// How long the emulator waits for frames that have a stamp and are not in the socket yet; what
    /// comes later still is late. Between stamp and socket lies a microsecond, and whatever
    /// interrupts the sender there.
    ///
    /// It delays no frame that takes as long on its last link, or 10 us longer on a shared medium:
    /// such a frame is known ahead. `None` for the time of the shortest frame on the fastest link
    /// of a station, between 10 us and 40 us.
    pub guard: Option<Duration>,
    /// Frames under way and not yet due; more are dropped and counted. Each takes 1.5 KiB.
    pub frames: u32,
    /// Arrivals, and ends of copies, that are recorded; zero for no recording and no comparison.
    /// Each takes about 100 octets.
    pub recording: usize,
    /// What happens to frames for unknown addresses.
    pub unknown: Unknown,
    /// Whether hosts are told of their collisions.
    pub reports_collisions: bool,
}

impl Options {
    /// Returns the defaults: a spinning thread, a guard by the rate, 4096 frames under way, a recording of a
    /// million.
    pub const fn new(clock: Clock, seed: u64) -> Self {
        Self {
            clock,
            seed,
            draws: Draws::ByFrame,
            waiting: Waiting::Spin,
            guard: None,
            frames: 4_096,
            recording: 1_000_000,
            unknown: Unknown::Drop,
            reports_collisions: false,
        }
    }
}

/// Why a network cannot be emulated here, or no longer.
#[derive(Debug, thiserror::Error)]
pub enum EmulatorError {
    /// The network cannot be emulated.
    #[error(transparent)]
    Network(#[from] EmulationError),
    /// A device cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// An offload stays on.
    #[error(transparent)]
    Offload(#[from] OffloadError),
    /// A port that makes no sense.
    #[error("port `{device}`: {reason}")]
    Port {
        /// Name of the device.
        device: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// No right to packet sockets, or no memory for them.
    #[error(
        "cannot open a packet socket: {source}; run as root, or \
         `sudo setcap cap_net_raw,cap_net_admin+ep` on the program"
    )]
    Socket {
        /// What the system says.
        source: io::Error,
    },
    /// A device has been removed or shut down while the emulator ran.
    #[error("device `{device}` is gone: {source}; what was measured until then stands")]
    Gone {
        /// Name of the device.
        device: String,
        /// What the system says.
        source: io::Error,
    },
    /// The system refuses to wait or receive.
    #[error("cannot receive frames: {source}")]
    Receive {
        /// What the system says.
        source: io::Error,
    },
}

/// A port that is open.
#[derive(Debug)]
struct OpenPort {
    station: NodeId,
    name: String,
    /// Number of the device.
    device: i32,
    address: MacAddress,
    collisions: u64,
}

/// A frame that waits for its time.
#[derive(Clone, Copy, Debug)]
struct Pending {
    at: Instant,
    station: NodeId,
    frame: Foreign,
}

/// A copy that leaves when its time has come. Ordered by time, then in order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Departure {
    at: Instant,
    token: u64,
    /// Position in `ports`.
    port: usize,
    tag: Option<(Pcp, Vid)>,
}

/// A network between devices of this host.
pub struct Emulator {
    network: Network,
    options: Options,
    emulation: Emulation,
    tap: Tap,
    ports: Vec<OpenPort>,
    /// Positions in `ports`.
    by_device: BTreeMap<i32, usize>,
    by_station: BTreeMap<NodeId, usize>,
    by_address: BTreeMap<[u8; 6], NodeId>,
    store: Store,
    /// By time.
    pending: VecDeque<Pending>,
    departures: BinaryHeap<Reverse<Departure>>,
    stamps: Stamps,
    timing: Timing,
    recording: Recording,
    counts: Counts,
    guard: Duration,
    /// Number of the next frame.
    sequence: u64,
    /// No frame with a stamp before this time is missing, guard aside.
    horizon: Instant,
    last_arrival: Instant,
    naps_since: Instant,
    napped: Duration,
    scratch: Box<[u8; PLACE + 4]>,
}

impl Emulator {
    /// Opens the devices, which are those of the calling thread's namespace, and begins to receive.
    ///
    /// # Errors
    /// If the network cannot be emulated, a device or the right to use it is missing, or two ports
    /// share a device, a station or an address.
    pub fn new(network: &Network, ports: &[Port], options: Options) -> Result<Self, EmulatorError> {
        let emulation = Emulation::new(network, options.seed, options.draws)?;
        let mut open = Vec::new();
        for port in ports {
            open.push(open_port(network, port)?);
        }
        let mut by_device = BTreeMap::new();
        let mut by_station = BTreeMap::new();
        let mut by_address = BTreeMap::new();
        for (index, port) in open.iter().enumerate() {
            let is_new = by_device.insert(port.device, index).is_none()
                && by_station.insert(port.station, index).is_none()
                && by_address.insert(port.address.0, port.station).is_none();
            if !is_new {
                return Err(EmulatorError::Port {
                    device: port.name.clone(),
                    reason: "its device, station or address is that of another port",
                });
            }
        }
        let devices: Vec<i32> = open.iter().map(|port| port.device).collect();
        let mut recording = Recording::new(options.recording);
        recording.reserve();
        let store = Store::new(options.frames.min(PLACES_MAX));
        let clock = options.clock;
        let tap = Tap::open(&devices).map_err(|source| EmulatorError::Socket { source })?;
        let now = clock.now();
        Ok(Self {
            network: network.clone(),
            emulation,
            tap,
            ports: open,
            by_device,
            by_station,
            by_address,
            store,
            pending: VecDeque::with_capacity(usize::try_from(options.frames).unwrap_or(0)),
            departures: BinaryHeap::with_capacity(usize::try_from(options.frames).unwrap_or(0)),
            stamps: Stamps::new(clock),
            timing: Timing::new(now),
            recording,
            counts: Counts::default(),
            guard: options.guard.unwrap_or_else(|| guard_for(network)),
            sequence: 0,
            horizon: now,
            last_arrival: now,
            naps_since: now,
            napped: Duration::ZERO,
            scratch: Box::new([0; PLACE + 4]),
            options,
        })
    }

    /// Emulates until `stop`. May be called again; what comes in between is late.
    ///
    /// # Errors
    /// If a device goes away or the system refuses to receive. What was counted until then stands.
    pub fn run(&mut self, stop: &AtomicBool) -> Result<(), EmulatorError> {
        self.timing.resume(self.options.clock.now());
        while !stop.load(Ordering::Relaxed) {
            let now = self.receive()?;
            self.timing.alive(now);
            self.depart()?;
            self.advance(self.horizon - self.guard)?;
            self.rest(now)?;
        }
        Ok(())
    }

    /// Takes frames from the socket, moves the horizon, and returns the time.
    fn receive(&mut self) -> Result<Instant, EmulatorError> {
        for number in 0..BURST {
            let now = self.options.clock.now();
            let departure = self.departures.peek();
            if number > 0 && departure.is_some_and(|Reverse(next)| next.at <= now) {
                break;
            }
            let place = match self.store.next() {
                Some(place) => place,
                None => &mut self.scratch[..PLACE],
            };
            let seen = self.tap.receive(place);
            let Some(seen) = seen.map_err(|source| EmulatorError::Receive { source })? else {
                self.horizon = now;
                return Ok(now);
            };
            self.take(seen);
        }
        let now = self.options.clock.now();
        // The socket keeps the order, so that what is still in there came after what was last.
        self.horizon = self.horizon.max(self.last_arrival);
        Ok(now)
    }

    /// A frame has been read to the next place of the store.
    fn take(&mut self, seen: Seen) {
        let at = self.arrived_at(seen.stamp);
        self.last_arrival = self.last_arrival.max(at);
        let Some(&port) = self.by_device.get(&seen.device) else {
            self.counts.elsewhere += 1;
            return;
        };
        self.counts.received += 1;
        self.counts.unchecked += u64::from(seen.lacks_checksum);
        let station = self.ports[port].station;
        let Some(octets) = self.store.next() else {
            self.counts.no_room += 1;
            return;
        };
        let flood = self.options.unknown == Unknown::Flood;
        let addressed = frame::destination(octets, seen.length, &self.by_address, flood);
        let (destination, tag) = match addressed.and_then(|to| Ok((to, frame::tag(seen.tag)?))) {
            Ok(found) => found,
            Err(reason) => return self.counts.discard(reason),
        };
        let Some(place) = self.store.keep(seen.length) else {
            return;
        };
        let token = self.sequence << 24 | u64::from(place);
        self.sequence += 1;
        let frame = Foreign {
            size: frame::size(seen.length),
            destination,
            tag,
            token,
        };
        let later = self.pending.iter().rev().take_while(|other| other.at > at);
        let position = self.pending.len() - later.count();
        self.pending
            .insert(position, Pending { at, station, frame });
    }

    /// Returns the time of the run of a stamp; that of the clock if there is no usable stamp.
    fn arrived_at(&mut self, stamp: Option<i64>) -> Instant {
        self.stamps.look();
        let now = self.options.clock.now();
        // The clocks' distance is known to some hundred nanoseconds.
        let (after, before) = (self.horizon - STAMP_LAG_MAX, now + Duration::from_us(10));
        let mapped = stamp.and_then(|stamp| self.stamps.map(stamp, after, before));
        mapped.map_or_else(
            || {
                self.counts.unstamped += 1;
                now
            },
            |at| at.min(now),
        )
    }

    /// Runs the network until `until` and sends what has arrived.
    fn advance(&mut self, until: Instant) -> Result<(), EmulatorError> {
        while let Some(&next) = self.pending.front()
            && next.at <= until
        {
            self.pending.pop_front();
            let Pending { at, station, frame } = next;
            self.recording.note_arrival(Arrival { station, at, frame });
            if self.emulation.inject(station, at, frame).is_err() {
                self.store.free(place_of(frame.token));
            }
            self.drain()?;
        }
        self.emulation.run_until(until);
        self.drain()
    }

    fn drain(&mut self) -> Result<(), EmulatorError> {
        while let Some(output) = self.emulation.poll_output() {
            self.recording.note_output(&output);
            match output {
                Output::Delivered {
                    token,
                    station,
                    at,
                    tag,
                } => match self.by_station.get(&station) {
                    Some(&port) => self.departures.push(Reverse(Departure {
                        at,
                        token,
                        port,
                        tag,
                    })),
                    None => self.counts.unconnected += 1,
                },
                Output::Dropped { reason, .. } => {
                    *self.counts.dropped.entry(reason).or_default() += 1;
                }
                Output::Collision { station, .. } => self.report_collision(station)?,
                Output::Finished { token } => {
                    // Its copies have arrived, in the past; they are sent before it is forgotten.
                    self.depart()?;
                    self.store.free(place_of(token));
                }
            }
        }
        self.depart()
    }

    /// Sends the frames that are due.
    fn depart(&mut self) -> Result<(), EmulatorError> {
        while let Some(Reverse(next)) = self.departures.peek() {
            let now = self.options.clock.now();
            if next.at > now {
                break;
            }
            let Departure {
                at,
                token,
                port,
                tag,
            } = *next;
            self.departures.pop();
            let stored = self.store.get(place_of(token));
            let octets = frame::with_tag(stored, tag, &mut self.scratch[..]);
            let port = &self.ports[port];
            let sent = self.tap.send(port.device, octets);
            self.counts.note_sent(sent, &port.name)?;
            self.timing
                .departed(now - at, self.options.clock.now() - at);
        }
        Ok(())
    }

    fn report_collision(&mut self, station: NodeId) -> Result<(), EmulatorError> {
        self.counts.collisions += 1;
        let Some(&index) = self.by_station.get(&station) else {
            return Ok(());
        };
        let port = &mut self.ports[index];
        port.collisions += 1;
        if !self.options.reports_collisions {
            return Ok(());
        }
        let report = CollisionReport {
            collisions: port.collisions,
        };
        let sent = self.tap.send(port.device, &report.frame(port.address));
        self.counts.note_sent(sent, &port.name)
    }

    /// Sleeps if nothing is to be done.
    fn rest(&mut self, now: Instant) -> Result<(), EmulatorError> {
        let arrival = self.pending.front().map(|pending| pending.at);
        let times = arrival.into_iter().chain(self.emulation.next_event());
        let decided = times.min().map(|at| at + self.guard);
        let departure = self.departures.peek().map(|Reverse(next)| next.at);
        let next = decided.into_iter().chain(departure).min();
        let left = next.map_or(LOOK, |next| next - now);
        let left = match self.options.waiting {
            // The socket and the timer wake it up.
            Waiting::Block => left.min(LOOK),
            Waiting::Spin => {
                if !self.is_nap_due(now, left) {
                    return Ok(());
                }
                (left - LEAD).min(NAP)
            }
        };
        if left <= Duration::ZERO {
            return Ok(());
        }
        sleep_until_readable(self.tap.as_fd(), Some(left))
            .map_err(|source| EmulatorError::Receive { source })?;
        let awake = self.options.clock.now();
        self.napped += awake - now;
        self.counts.naps += 1;
        self.timing.awake(awake, left);
        Ok(())
    }

    fn is_nap_due(&mut self, now: Instant, left: Duration) -> bool {
        if left <= LEAD * 2 || now - self.last_arrival < QUIET {
            return false;
        }
        let passed = now - self.naps_since;
        if passed > NAP_WINDOW {
            self.naps_since = now;
            self.napped = Duration::ZERO;
            return true;
        }
        self.napped < passed / 1_000 * NAPS_PER_MILLE
    }
}

/// Returns what delays few frames and leaves few late.
fn guard_for(network: &Network) -> Duration {
    let leads_to_station = |link: &&Link| {
        let mut ends = link.ends.iter();
        ends.any(|end| network.end_station(end.node).is_some())
    };
    let links = network.links.iter().filter(leads_to_station);
    let shortest = links.map(|link| link.rate.time_floor(MIN_FRAME)).min();
    let shortest = shortest.unwrap_or(GUARD_MAX);
    shortest.clamp(GUARD_MIN, GUARD_MAX)
}

fn place_of(token: u64) -> u32 {
    u32::try_from(token & u64::from(PLACES_MAX - 1)).unwrap_or(0)
}

fn open_port(network: &Network, port: &Port) -> Result<OpenPort, EmulatorError> {
    let wrong = |reason| EmulatorError::Port {
        device: port.device.clone(),
        reason,
    };
    let is_there = port.station.index() < network.nodes.len();
    if !is_there || network.end_station(port.station).is_none() {
        return Err(wrong("its node is no end station"));
    }
    if frame::is_group(port.address.0) {
        return Err(wrong("its address is that of a group"));
    }
    let device = Device::named(&port.device)?;
    offloads_off(&port.device)?;
    // Best effort: there may be no IPv6 to switch off. `/proc/sys/net` is that of the namespace.
    let switch = format!("/proc/sys/net/ipv6/conf/{}/disable_ipv6", port.device);
    let _ = std::fs::write(switch, "1");
    Ok(OpenPort {
        station: port.station,
        name: port.device.clone(),
        device: device.index(),
        address: port.address,
        collisions: 0,
    })
}
