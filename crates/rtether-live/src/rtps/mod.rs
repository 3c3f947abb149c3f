//! Runs a participant of `rtether_rtps` on sockets: UDP, or Ethernet frames.
//!
//! There is a single thread: no lock and no other thread lies between a datagram and the
//! application, whose callbacks run, or which takes samples, where it drives the [`Domain`].

mod alarm;
mod application;
mod ethernet;
mod options;
mod sieve;
mod socket;
mod store;
mod transport;
mod udp;
mod v1;
mod waker;
mod watch;
mod yielding;

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::Ipv4Addr;

use rtether_rtps::engine::{Config, Participant, Protocol, Transmit};
use rtether_rtps::guid::GuidPrefix;
use rtether_rtps::locator::{Locator, Origin};
use rtether_rtps::time::{Duration, Instant, WallTime};
use rtether_rtps::wire::VENDOR;

use crate::clock::{monotonic_and_real_ns, monotonic_ns};
use crate::wait::Waiting;
use alarm::Alarm;
pub use application::{DomainApplication, SendError};
pub use options::{DomainError, DomainOptions, ETHERTYPE, EthernetOptions};
use socket::{Ready, Source};
pub use store::{Damage, Damaged, Kept, Store, StoreError, StoreOptions};
use transport::Transport;
pub use waker::Waker;
pub use watch::{Envelope, Seen, Watch};
use yielding::Rests;

/// Maximum size of a datagram, in octets.
const DATAGRAM_MAX: usize = 65_507;
/// Maximum size of what precedes a message in a frame, in octets.
const HEAD_MAX: usize = 32;
/// Datagrams received before any are sent, so that a flood does not delay answers.
const RECEIVED_IN_A_ROW: usize = 64;
/// What waits longer has slept.
const AT_ONCE: Duration = Duration::from_us(3);
/// How often the wall clock is read.
const WALL_PERIOD: Duration = Duration::from_s(1);
/// How often a spinning thread polls its own socket per poll of the group's.
const LOOKS: u32 = 64;

/// A participant on this host.
pub struct Domain {
    participant: Participant,
    transport: Transport,
    waiting: Waiting,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    place: Locator,
    /// Datagrams that the system refused.
    unsent: u64,
    /// Whether datagrams from devices other than the given one arrive empty.
    is_limited: bool,
    /// Datagrams received over such devices.
    elsewhere: u64,
    loss: Loss,
    disorder: Loss,
    /// A datagram held back to be overtaken by the next one.
    late: Option<(Origin, Vec<u8>)>,
    /// When the wall clock was last read.
    wall_at: Instant,
    rests: Rests,
    alarm: Alarm,
    /// Datagrams received at a time from a socket.
    in_a_row: usize,
    watch: Option<Watch>,
    waker: Option<Waker>,
}

/// Drops datagrams on purpose (xorshift, 64 bits).
struct Loss {
    of_thousand: u64,
    random: u64,
}

impl Loss {
    fn new(of_thousand: u16, now: Instant) -> Self {
        Self { of_thousand: u64::from(of_thousand), random: now.as_ns().unsigned_abs() | 1 }
    }

    fn strikes(&mut self) -> bool {
        if self.of_thousand == 0 {
            return false;
        }
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % 1_000 < self.of_thousand
    }
}

impl Domain {
    /// Opens the sockets of a participant.
    ///
    /// # Errors
    /// The domain or the address does not exist, or the system refuses.
    pub fn open(options: &DomainOptions) -> Result<Self, DomainError> {
        if options.lease <= Duration::ZERO {
            return Err(DomainError::Lease);
        }
        let secret = secret().map_err(options::failed("drawing a random number"))?;
        let mut config = Config::new(GuidPrefix([0; 12]), options.domain, secret);
        config.protocol = options.protocol;
        config.name.clone_from(&options.name);
        config.lease = options.lease;
        let third = Duration::from_ns(options.lease.as_ns() / 3);
        config.announce_period = options.announce_period.unwrap_or(third);
        config.datagram_max = options.datagram_max;
        config.fragments_max = options.fragments_max;
        config.may_multicast = options.multicast_data;
        config.any_source = options.any_source;
        config.discovery = options.discovery;
        config.type_lookup = options.type_lookup && options.protocol.role().is_none();
        let (transport, number) = Transport::open(options, &mut config)?;
        let place = config.metatraffic_unicast.first().copied();
        config.prefix = match options.protocol {
            Protocol::Rtps2 => prefix(number),
            Protocol::Rtps1(role) => v1::prefix(place, role),
        };
        let (now, wall) = monotonic_and_real_ns();
        let now = Instant::from_ns(now);
        let mut participant = Participant::new(config, now);
        participant.set_wall_clock(now, WallTime::from_ns(wall));
        Ok(Self {
            participant,
            transport,
            waiting: options.waiting,
            outgoing: Vec::with_capacity(DATAGRAM_MAX),
            incoming: vec![0; DATAGRAM_MAX + HEAD_MAX],
            place: place.unwrap_or(Locator::udp(Ipv4Addr::UNSPECIFIED, 0)),
            unsent: 0,
            is_limited: options.interface.is_some() && options.ethernet.is_none(),
            elsewhere: 0,
            loss: Loss::new(options.loss, now),
            disorder: Loss::new(options.disorder, now),
            late: None,
            wall_at: now,
            rests: Rests::new(now),
            alarm: Alarm::new().map_err(options::failed("setting a timer"))?,
            in_a_row: RECEIVED_IN_A_ROW,
            watch: None,
            waker: None,
        })
    }

    /// Returns its locator.
    pub fn address(&self) -> Locator {
        self.place
    }

    /// Returns the participant.
    pub fn participant(&self) -> &Participant {
        &self.participant
    }

    /// Returns the participant mutably, to create endpoints, write and take.
    pub fn participant_mut(&mut self) -> &mut Participant {
        &mut self.participant
    }

    /// Returns the current time of the participant's clock.
    pub fn now(&self) -> Instant {
        Instant::from_ns(monotonic_ns())
    }

    /// Returns how many datagrams the system refused.
    pub fn unsent(&self) -> u64 {
        self.unsent
    }

    /// Returns how many datagrams arrived over a device other than that of
    /// [`DomainOptions::interface`], or empty, and were ignored.
    pub fn elsewhere(&self) -> u64 {
        self.elsewhere
    }

    /// Sets a function that gets every datagram from now on: those the system accepts, and those
    /// passed to the participant.
    pub fn watch(&mut self, watch: Watch) {
        self.watch = Some(watch);
    }

    /// Returns what ends a sleep in [`Self::step`] from another thread.
    ///
    /// # Errors
    /// The system refuses.
    pub fn waker(&mut self) -> io::Result<Waker> {
        if let Some(waker) = &self.waker {
            return Ok(waker.clone());
        }
        let waker = Waker::new()?;
        self.waker = Some(waker.clone());
        Ok(waker)
    }

    /// Sends the datagrams that are due.
    ///
    /// # Errors
    /// The socket fails. A datagram that the system does not accept now is lost, as on the wire.
    pub fn flush(&mut self) -> io::Result<()> {
        let now = self.now();
        while let Some(transmit) = self.participant.poll_transmit(now, &mut self.outgoing) {
            if self.loss.strikes() {
                continue;
            }
            let Transmit { to, priority, .. } = transmit;
            match self.transport.send(&self.outgoing, to, priority) {
                Ok(()) => {
                    if let Some(watch) = &mut self.watch {
                        let envelope = self.transport.sent_in(to, priority);
                        show(watch, true, envelope, &self.outgoing);
                    }
                }
                Err(error) if crate::meter::is_passing(&error) => self.unsent += 1,
                Err(error) if is_unroutable(&error) => self.unsent += 1,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Sends what is due, waits for a datagram, timer or [`Waker`] until `until` at most, and
    /// handles what came.
    /// Returns whether a datagram arrived.
    ///
    /// # Errors
    /// A socket fails.
    pub fn step(&mut self, until: Instant) -> io::Result<bool> {
        self.flush()?;
        let came = match self.waiting {
            Waiting::Block => self.step_asleep(until)?,
            Waiting::Spin if self.rests.is_due(self.now()) => self.step_asleep(until)?,
            Waiting::Spin => self.step_awake(until)?,
        };
        let now = self.now();
        if self.participant.poll_timeout() <= now {
            self.participant.handle_timeout(now);
        }
        if now - self.wall_at > WALL_PERIOD {
            self.look_at_the_wall();
        }
        self.flush()?;
        Ok(came)
    }

    /// Reads the wall clock, which may have been set.
    fn look_at_the_wall(&mut self) {
        let (now, wall) = monotonic_and_real_ns();
        self.wall_at = Instant::from_ns(now);
        let wall = WallTime::from_ns(wall);
        self.participant.set_wall_clock(self.wall_at, wall);
    }

    fn step_asleep(&mut self, until: Instant) -> io::Result<bool> {
        let until = self.participant.poll_timeout().min(until);
        let now = self.now();
        let left = until - now;
        if left <= Duration::ZERO || self.late.is_some() {
            let came = self.receive(Ready::PERHAPS, self.in_a_row)?;
            if came || left <= Duration::ZERO {
                return Ok(came);
            }
        }
        // Tells at once what waits already, and where: each look at an empty socket is a call.
        self.alarm.wake_by(until)?;
        let ready = self.transport.sleep(&self.alarm, self.waker.as_ref())?;
        let awake_at = self.now();
        if ready.error {
            self.read_errors(awake_at)?;
        }
        self.alarm.pass(awake_at);
        self.rests.on_slept(now, awake_at);
        // What ends a sleep comes mostly alone, and a look for more would find nothing; what is there
        // before a sleep has others behind it.
        let most = if awake_at - now > AT_ONCE { 1 } else { self.in_a_row };
        self.receive(ready, most)
    }

    fn step_awake(&mut self, until: Instant) -> io::Result<bool> {
        let until = self.participant.poll_timeout().min(until);
        loop {
            for _ in 0..LOOKS {
                if self.receive_from(Source::Own)? {
                    return Ok(true);
                }
            }
            if self.receive_from(Source::Group)? {
                return Ok(true);
            }
            let now = self.now();
            if now >= until || self.rests.is_due(now) {
                return Ok(false);
            }
        }
    }

    /// Receives waiting datagrams from the sockets named, at most `most` of each; returns whether
    /// there were any.
    fn receive(&mut self, ready: Ready, most: usize) -> io::Result<bool> {
        let mut came = false;
        for source in ready.sources() {
            for _ in 0..most {
                if !self.receive_from(source)? {
                    break;
                }
                came = true;
            }
        }
        Ok(came)
    }

    fn receive_from(&mut self, source: Source) -> io::Result<bool> {
        let received = self.transport.receive(source, &mut self.incoming);
        let received = match received {
            Err(error) if crate::meter::is_passing(&error) => {
                if error.kind() != io::ErrorKind::WouldBlock {
                    self.read_errors(self.now())?;
                }
                None
            }
            other => other?,
        };
        let Some((range, from)) = received else {
            return Ok(self.take_in_late());
        };
        if range.is_empty() && self.is_limited {
            self.elsewhere += 1;
            return Ok(true);
        }
        if self.loss.strikes() {
            return Ok(true);
        }
        let now = Instant::from_ns(monotonic_ns());
        let head = self.incoming.get(..range.start).unwrap_or_default();
        let datagram = self.incoming.get(range.clone()).unwrap_or_default();
        if let Some(watch) = &mut self.watch {
            let envelope = self.transport.came_in(source, from, head);
            show(watch, false, envelope, datagram);
        }
        if let Some(origin) = self.transport.origin(from, head) {
            if self.late.is_none() && self.disorder.strikes() {
                self.late = Some((origin, datagram.to_vec()));
                return Ok(true);
            }
            self.participant.handle_datagram(now, origin, datagram);
        }
        self.take_in_late();
        Ok(true)
    }

    /// Handles what hosts have said of datagrams that they were sent.
    fn read_errors(&mut self, now: Instant) -> io::Result<()> {
        let participant = &mut self.participant;
        self.transport.read_errors(|at| participant.handle_unreachable(now, at))
    }

    /// Handles the datagram that was held back; returns whether there was one.
    fn take_in_late(&mut self) -> bool {
        let Some((origin, datagram)) = self.late.take() else {
            return false;
        };
        let now = self.now();
        self.participant.handle_datagram(now, origin, &datagram);
        true
    }
}

/// Passes a datagram to the watch function, if its envelope is known.
fn show(watch: &mut Watch, is_sent: bool, envelope: Option<Envelope>, message: &[u8]) {
    let (_, wall_ns) = monotonic_and_real_ns();
    if let Some(envelope) = envelope {
        watch(&Seen { wall_ns, is_sent, envelope, message });
    }
}

impl Drop for Domain {
    fn drop(&mut self) {
        self.participant.leave();
        // On failure the others notice when the lease expires.
        let _ = self.flush();
    }
}

/// Returns whether an error means that there is no route to the destination.
fn is_unroutable(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::AddrNotAvailable
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::NetworkDown
    )
}

/// Returns a number that nobody can guess.
fn secret() -> io::Result<[u8; 16]> {
    let mut secret = [0; 16];
    // The kernel always gives as few octets as these at once.
    rustix::rand::getrandom(&mut secret, rustix::rand::GetRandomFlags::empty())?;
    Ok(secret)
}

/// Returns a unique prefix that cannot be guessed without receiving it: vendor id, eight random
/// octets, and participant number.
fn prefix(number: u16) -> GuidPrefix {
    let mut prefix = [0; 12];
    prefix[..2].copy_from_slice(&VENDOR);
    // The kernel draws the keys of the standard library's hashes.
    let random = RandomState::new().hash_one(number);
    prefix[2..10].copy_from_slice(&random.to_be_bytes());
    prefix[10..].copy_from_slice(&number.to_be_bytes());
    GuidPrefix(prefix)
}
