//! Emulates a network for real hosts: the switches, hubs and links of `rtether-sim`, driven by the
//! real clock.
//!
//! Each host is connected to the emulator by a pair of devices (veth); the emulator has the other
//! ends in its own namespace and sees what the hosts send, with the kernel's receive stamps.
//!
//! # Model
//!
//! Everything is decided in virtual time: a frame enters the network at its stamp, and leaves when
//! [`rtether_sim::emulation`] says that its last bit has arrived, or a little later. The network is
//! computed up to a time before which no frame can be missing: a clock reading taken before the
//! socket was found empty, less [`Options::guard`] for senders interrupted between stamp and
//! delivery. A frame that arrives still later is processed at once and counted as late. The
//! [`Recording`] of the arrivals, replayed offline, is the oracle: [`EmulatorReport::comparison`]
//! tells how many frames had another fate than their stamps demand.
//!
//! # What hosts have to do
//!
//! [`offloads_off`] at both ends of each pair. The emulator does it for its own ends; the hosts'
//! ends are in other namespaces. Frames without a checksum, left to hardware, are counted
//! ([`Counts::unchecked`]); frames above 1514 octets are dropped and counted. The emulator's ends
//! must not have addresses, since packets sent from here would reach a host without passing the
//! network; for the same reason the emulator turns IPv6 off there.
//!
//! # Emulated stations
//!
//! An emulated station ([`rtether_model::network::EndStation::emulate`]) has its stack between the
//! host and the network: what the host sends passes the sending side from its stamp on, and what is
//! for the host leaves once the receiving side has processed it. The host's own costs come on top.
//! A departure is known in advance by the service time of the stack; if that is shorter than the
//! guard, the frame leaves late by up to the difference.
//!
//! # Collision reports
//!
//! With [`Options::reports_collisions`] the host behind a station is told of each of its
//! collisions, like the `collisions` counter of an interface, by a frame of `EtherType` 0x88B6
//! (IEEE 802, local experimental 2) that does not pass the network: see [`CollisionReport`]. With
//! [`Options::reports_completions`] the host behind a station on a shared medium is told of each of
//! its frames sent or given up, like the interrupt of a card: see [`CompletionReport`].
//!
//! # Scheduling
//!
//! The thread that calls [`Emulator::run`] spins or sleeps ([`Waiting`]). A spinning thread should
//! have a core to itself under `SCHED_FIFO`. The kernel takes 50 ms of each second from it if other
//! threads want the core; to avoid that, it naps for 7.5 % of the time while nothing happens. Time
//! lost to the kernel or the host in spite of that shows as [`Stall`]s.

mod capture;
mod completions;
mod frame;
mod groups;
mod headers;
mod offload;
mod options;
mod ports;
mod report;
mod store;
pub(crate) mod tap;
mod timing;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use rtether_model::network::{Network, Node, NodeId, NodeKind, Pcp, Vid};
use rtether_model::quantity::{Duration, Instant};
use rtether_sim::emulation::{
    Arrival, Destination, Emulation, Foreign, Headers, Output, Recording, Setup,
};

use crate::wait::{Waiting, sleep_until_readable};
use crate::wall::Stamps;
use completions::{Completion, Completions};
use groups::Groups;
use options::guard_for;
use ports::Ports;
use store::{PLACE, Store};
use tap::{Seen, Tap};
use timing::Timing;

pub use capture::capture;
pub use frame::{COLLISION_ETHERTYPE, CollisionReport, CompletionReport};
pub use offload::{OffloadError, offloads_off};
pub use options::{EmulatorError, Group, Options, Port, Unknown};
pub use report::{Counts, EmulatorReport};
pub use timing::{DepartureErrors, Stall};

/// Frames taken from the socket before due frames are sent.
const BURST: usize = 8;
/// Interval at which a sleeping emulator checks for a stop.
const LOOK: Duration = Duration::from_ms(50);
/// Idle time, without arrivals and with nothing due, after which a nap is possible.
const QUIET: Duration = Duration::from_us(500);
/// Longer than any wake-up takes.
const LEAD: Duration = Duration::from_us(100);
/// Interval of the blinks of a spinning thread, each at least `BLINK` long, if nothing is due
/// within [`BLINK_ROOM`], which covers the wake-up.
const BLINK_EVERY: Duration = Duration::from_ms(1);
const BLINK: std::time::Duration = std::time::Duration::from_micros(1);
const BLINK_ROOM: Duration = Duration::from_us(30);
/// Longest nap; a longer one was a stall.
const NAP: Duration = Duration::from_ms(1);
/// Naps are due below this share of time slept, in parts per thousand.
const NAPS_PER_MILLE: i64 = 75;
/// Window over which naps are counted.
const NAP_WINDOW: Duration = Duration::from_ms(500);
/// Largest age of a stamp, relative to the time at which the socket was empty; older stamps are
/// from before a step of the clock.
const STAMP_LAG_MAX: Duration = Duration::from_ms(50);
/// Places in the store that a token can address.
const PLACES_MAX: u32 = 1 << 24;

/// A frame not yet injected into the network.
#[derive(Clone, Copy, Debug)]
struct Pending {
    at: Instant,
    station: NodeId,
    frame: Foreign,
}

/// A copy not yet sent. Ordered by time, then by arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Departure {
    at: Instant,
    token: u64,
    /// Index in `ports`.
    port: usize,
    tag: Option<(Pcp, Vid)>,
}

/// A network between devices of this host.
pub struct Emulator {
    network: Network,
    groups: Groups,
    /// Whether any station is emulated with its stack.
    reads_headers: bool,
    options: Options,
    emulation: Emulation,
    tap: Tap,
    ports: Ports,
    store: Store,
    completions: Completions,
    /// In order of time.
    pending: VecDeque<Pending>,
    departures: BinaryHeap<Reverse<Departure>>,
    stamps: Stamps,
    timing: Timing,
    recording: Recording,
    counts: Counts,
    guard: Duration,
    /// Number of the next frame.
    sequence: u64,
    /// All frames stamped before this time have been received, guard aside.
    horizon: Instant,
    last_arrival: Instant,
    naps_since: Instant,
    napped: Duration,
    blinked_at: Instant,
    scratch: Box<[u8; PLACE + 4]>,
}

impl Emulator {
    /// Opens the devices in the calling thread's namespace, and starts receiving.
    ///
    /// # Errors
    /// If the network cannot be emulated, a device or the right to use it is missing, or two ports
    /// share a device, a station or an address.
    pub fn new(network: &Network, ports: &[Port], options: Options) -> Result<Self, EmulatorError> {
        let groups = Groups::new(&options.groups)?;
        let emulation = Emulation::new(&setup(network, &groups, &options))?;
        let ports = Ports::open(network, ports)?;
        let mut recording = Recording::new(options.recording);
        recording.reserve();
        let store = Store::new(options.frames.min(PLACES_MAX));
        let clock = options.clock;
        let tap = Tap::open(&ports.devices()).map_err(|source| EmulatorError::Socket { source })?;
        let now = clock.now();
        Ok(Self {
            network: network.clone(),
            completions: Completions::new(network, options.reports_completions),
            groups,
            reads_headers: network.nodes.iter().any(looks_inside),
            emulation,
            tap,
            ports,
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
            blinked_at: now,
            scratch: Box::new([0; PLACE + 4]),
            options,
        })
    }

    /// Emulates until `stop`. May be called again; arrivals in between are late.
    ///
    /// # Errors
    /// If a device disappears or the system refuses to receive. Counters keep their values.
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

    /// Takes frames from the socket, advances the horizon, and returns the time.
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
        // The socket keeps the order, so whatever is left in it arrived after the last frame.
        self.horizon = self.horizon.max(self.last_arrival);
        Ok(now)
    }

    /// Handles a frame that was read into the next place of the store.
    fn take(&mut self, seen: Seen) {
        let at = self.arrived_at(seen.stamp);
        self.last_arrival = self.last_arrival.max(at);
        let Some(&port) = self.ports.by_device.get(&seen.device) else {
            self.counts.elsewhere += 1;
            return;
        };
        self.counts.received += 1;
        self.counts.unchecked += u64::from(seen.lacks_checksum);
        let station = self.ports.all[port].station;
        let Some(octets) = self.store.next() else {
            self.counts.no_room += 1;
            self.completions.refused(station, port, at);
            return;
        };
        let flood = self.options.unknown == Unknown::Flood;
        let addressed = frame::destination(octets, seen.length, &self.ports.by_address, flood);
        let (destination, tag) = match addressed.and_then(|to| Ok((to, frame::tag(seen.tag)?))) {
            Ok(found) => found,
            Err(reason) => {
                self.completions.refused(station, port, at);
                return self.counts.discard(reason);
            }
        };
        let destination = match destination {
            Destination::All => self.groups.find(station, octets),
            Destination::One(_) | Destination::Group(_) => destination,
        };
        let Some(place) = self.store.keep(seen.length) else {
            return;
        };
        let token = self.sequence << 24 | u64::from(place);
        self.sequence += 1;
        let headers = if self.reads_headers {
            headers::read(self.store.get(place))
        } else {
            Headers::default()
        };
        let frame = Foreign { size: frame::size(seen.length), destination, tag, headers, token };
        let later = self.pending.iter().rev().take_while(|other| other.at > at);
        let position = self.pending.len() - later.count();
        self.pending.insert(position, Pending { at, station, frame });
    }

    /// Returns the run time of a stamp; the current time without a usable stamp.
    fn arrived_at(&mut self, stamp: Option<i64>) -> Instant {
        self.stamps.look();
        let now = self.options.clock.now();
        // The offset of the clocks is known to some hundred nanoseconds.
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

    /// Runs the network until `until` and schedules what has arrived.
    fn advance(&mut self, until: Instant) -> Result<(), EmulatorError> {
        while let Some(&next) = self.pending.front()
            && next.at <= until
        {
            self.pending.pop_front();
            let Pending { at, station, frame } = next;
            self.recording.note_arrival(Arrival { station, at, frame });
            let port = self.ports.by_station.get(&station).copied();
            if self.emulation.inject(station, at, frame).is_err() {
                self.store.free(place_of(frame.token));
                if let Some(port) = port {
                    self.completions.refused(station, port, at);
                }
            } else if let Some(port) = port {
                self.completions.sent(station, port, frame);
            }
            self.drain()?;
        }
        self.emulation.run_until(until);
        self.drain()
    }

    fn drain(&mut self) -> Result<(), EmulatorError> {
        while let Some(output) = self.emulation.poll_output() {
            self.recording.note_output(&output);
            self.completions.note(&output, self.emulation.now());
            match output {
                Output::Delivered { token, station, at, tag } => {
                    match self.ports.by_station.get(&station) {
                        Some(&port) => {
                            self.departures.push(Reverse(Departure { at, token, port, tag }));
                        }
                        None => self.counts.unconnected += 1,
                    }
                }
                Output::Dropped { reason, .. } => {
                    *self.counts.dropped.entry(reason).or_default() += 1;
                }
                Output::Collision { station, .. } => self.report_collision(station)?,
                Output::Finished { token } => {
                    // Its copies are due already; they are sent before its place is freed.
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
            let Departure { at, token, port, tag } = *next;
            self.departures.pop();
            let stored = self.store.get(place_of(token));
            let octets = frame::with_tag(stored, tag, &mut self.scratch[..]);
            let port = &self.ports.all[port];
            let sent = self.tap.send(port.device, octets);
            self.counts.note_sent(sent, &port.name)?;
            self.timing.departed(now - at, self.options.clock.now() - at);
        }
        while let Some(completion) = self.completions.poll(self.options.clock.now()) {
            self.report_completion(completion)?;
        }
        Ok(())
    }

    fn report_completion(&mut self, completion: Completion) -> Result<(), EmulatorError> {
        let port = &mut self.ports.all[completion.port];
        port.completed += 1;
        let report = CompletionReport {
            collisions: port.collisions,
            completed: port.completed,
            attempts: completion.attempts,
            since_attempt: self.options.clock.now() - completion.began,
            is_given_up: completion.is_given_up,
        };
        let sent = self.tap.send(port.device, &report.frame(port.address));
        self.counts.note_sent(sent, &port.name)
    }

    fn report_collision(&mut self, station: NodeId) -> Result<(), EmulatorError> {
        self.counts.collisions += 1;
        let Some(&index) = self.ports.by_station.get(&station) else {
            return Ok(());
        };
        let port = &mut self.ports.all[index];
        port.collisions += 1;
        if !self.options.reports_collisions {
            return Ok(());
        }
        let report = CollisionReport { collisions: port.collisions };
        let sent = self.tap.send(port.device, &report.frame(port.address));
        self.counts.note_sent(sent, &port.name)
    }

    /// Sleeps if there is nothing to do.
    fn rest(&mut self, now: Instant) -> Result<(), EmulatorError> {
        let arrival = self.pending.front().map(|pending| pending.at);
        let times = arrival.into_iter().chain(self.emulation.next_event());
        let decided = times.min().map(|at| at + self.guard);
        let departure = self.departures.peek().map(|Reverse(next)| next.at);
        let told = self.completions.next();
        let next = decided.into_iter().chain(departure).chain(told).min();
        let left = next.map_or(LOOK, |next| next - now);
        let left = match self.options.waiting {
            // The socket and the timer wake it up.
            Waiting::Block => left.min(LOOK),
            Waiting::Spin => {
                if !self.is_nap_due(now, left) {
                    self.blink(now, left);
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

    /// Leaves the core to the kernel's own threads for a moment.
    ///
    /// They have ordinary priority, so they wait for a real-time thread that spins. If one of them
    /// waits for a second, the kernel takes the core away for 50 ms; until then packets left to
    /// `ksoftirqd` are stuck.
    fn blink(&mut self, now: Instant, left: Duration) {
        let since = now - self.blinked_at;
        if since > BLINK_EVERY && (left > BLINK_ROOM || since > BLINK_EVERY * 20) {
            std::thread::sleep(BLINK);
            self.blinked_at = self.options.clock.now();
        }
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

fn setup<'a>(network: &'a Network, groups: &'a Groups, options: &Options) -> Setup<'a> {
    Setup { network, groups: &groups.flows, seed: options.seed, draws: options.draws }
}

/// Returns whether the node decides by the headers of frames.
fn looks_inside(node: &Node) -> bool {
    match &node.kind {
        NodeKind::EndStation(station) => station.emulate,
        NodeKind::Switch(switch) => switch.has_ingress(),
        NodeKind::Hub(_) => false,
    }
}

fn place_of(token: u64) -> u32 {
    u32::try_from(token & u64::from(PLACES_MAX - 1)).unwrap_or(0)
}
