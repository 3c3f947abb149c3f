//! Hosts a participant of `rtether_rtps` on UDP sockets.
//!
//! One thread does everything: no lock and no other thread lies between a datagram and the
//! application, which is called back or takes samples where it drives the [`Domain`].

mod socket;
mod store;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;

use rtether_rtps::engine::{Config, Participant};
use rtether_rtps::guid::GuidPrefix;
use rtether_rtps::locator::{DISCOVERY_GROUP, Locator, Ports};
use rtether_rtps::time::{Duration, Instant, WallTime};
use rtether_rtps::wire::VENDOR;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::clock::{monotonic_and_real_ns, monotonic_ns};
use crate::host::address::{Interface, interfaces};
use crate::wait::Waiting;
use socket::{Port, open_group, open_unicast};
pub use store::{Kept, Store, StoreError, StoreOptions};

/// Octets of the largest datagram.
const DATAGRAM_MAX: usize = 65_507;
/// Datagrams that are taken in before anything is sent: a flood must not keep answers waiting.
const RECEIVED_IN_A_ROW: usize = 64;
/// How often the clock of the day is looked at.
const WALL_PERIOD: Duration = Duration::from_s(1);
/// Participants of this host that are announced to where there is no group, as on loopback.
const NEIGHBORS: u16 = 10;
/// How often a spinning thread looks at its own socket between two looks at the group's.
const LOOKS: u32 = 64;

/// What a participant is to be on this host.
#[derive(Clone, Debug)]
pub struct DomainOptions {
    /// The domain, 0 to 232.
    pub domain: u16,
    /// A name for people.
    pub name: String,
    /// The address whose network it talks to; the first device that is up and is not loopback, if not
    /// given, or else loopback.
    pub interface: Option<Ipv4Addr>,
    /// Hosts that groups do not reach.
    pub peers: Vec<Ipv4Addr>,
    /// Whether it announces itself to the group of the domain and listens there.
    pub multicast: bool,
    /// Whether samples may go to a group, too.
    pub multicast_data: bool,
    /// How it waits. The kernel takes 50 ms of each second from a thread of real-time priority that never
    /// sleeps, unless `kernel.sched_rt_runtime_us` is -1.
    pub waiting: Waiting,
    /// How long others wait for its next announcement.
    pub lease: Duration,
    /// So many of a thousand datagrams are lost on purpose, each way, to see what becomes of a plant.
    pub loss: u16,
    /// Between announcements; a third of the lease, if not given.
    pub announce_period: Option<Duration>,
    /// Octets of a datagram at most; samples that need more are sent in fragments.
    pub datagram_max: usize,
}

impl Default for DomainOptions {
    fn default() -> Self {
        Self {
            domain: 0,
            name: "rtether".to_owned(),
            interface: None,
            peers: Vec::new(),
            multicast: true,
            multicast_data: false,
            waiting: Waiting::Block,
            lease: Duration::from_s(10),
            loss: 0,
            announce_period: None,
            datagram_max: 1_472,
        }
    }
}

/// Why there is no participant.
#[derive(Debug, thiserror::Error)]
pub enum DomainError {
    /// There is no such domain.
    #[error("there is no domain {0}; the ports of UDP allow 0 to {max}", max = Ports::DOMAIN_MAX)]
    Domain(u16),
    /// No device has the address.
    #[error("no device of this host has the address {0}; `ip -brief address` shows those it has")]
    Interface(Ipv4Addr),
    /// All ports of the domain are taken.
    #[error("all {max} ports of participants in domain {domain} are taken on this host", max = Ports::PARTICIPANTS_MAX)]
    Ports {
        /// The domain.
        domain: u16,
    },
    /// The system refuses.
    #[error("{doing}: {source}")]
    Socket {
        /// What was tried.
        doing: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

fn failed(doing: &'static str) -> impl Fn(io::Error) -> DomainError {
    move |source| DomainError::Socket { doing, source }
}

/// A participant on this host.
pub struct Domain {
    participant: Participant,
    unicast: Port,
    group: Option<Port>,
    waiting: Waiting,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    address: SocketAddr,
    /// Datagrams that the system did not take.
    unsent: u64,
    loss: Loss,
    /// When the clock of the day was looked at last.
    wall_at: Instant,
}

/// Loses datagrams on purpose (xorshift, 64 bits).
struct Loss {
    of_thousand: u64,
    random: u64,
}

impl Loss {
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
    /// If the domain or the address does not exist, or the system refuses.
    pub fn open(options: &DomainOptions) -> Result<Self, DomainError> {
        let ports = Ports::new(options.domain).ok_or(DomainError::Domain(options.domain))?;
        let (own, networks) = place(options.interface)?;
        let (unicast, number) = open_unicast(own, ports, options.domain)?;
        let group = if options.multicast {
            let port = ports.discovery_multicast();
            Some(open_group(own, port).map_err(failed("listening to the group of the domain"))?)
        } else {
            None
        };
        let port = ports.discovery_unicast(number).unwrap_or_default();
        let locator = Locator::udp(own, port);
        let mut config = Config::new(prefix(number), options.domain);
        config.name.clone_from(&options.name);
        config.metatraffic_unicast = vec![locator];
        config.default_unicast = vec![locator];
        config.lease = options.lease;
        let third = Duration::from_ns(options.lease.as_ns() / 3);
        config.announce_period = options.announce_period.unwrap_or(third);
        config.datagram_max = options.datagram_max;
        config.networks = networks;
        config.may_multicast = options.multicast_data;
        if options.multicast {
            let group = Locator::udp(DISCOVERY_GROUP, ports.discovery_multicast());
            config.announce_to.push(group);
            config.metatraffic_multicast = vec![group];
            if options.multicast_data {
                config.default_multicast = vec![group];
            }
        }
        let mut peers = options.peers.clone();
        if own.is_loopback() && !peers.contains(&own) {
            peers.push(own);
        }
        for peer in peers {
            for neighbor in 0..NEIGHBORS {
                if let Some(port) = ports.discovery_unicast(neighbor) {
                    config.announce_to.push(Locator::udp(peer, port));
                }
            }
            config.networks.push((peer, 32));
        }
        let (now, wall) = monotonic_and_real_ns();
        let now = Instant::from_ns(now);
        let mut participant = Participant::new(config, now);
        participant.set_wall_clock(now, WallTime::from_ns(wall));
        Ok(Self {
            participant,
            unicast,
            group,
            waiting: options.waiting,
            outgoing: Vec::with_capacity(DATAGRAM_MAX),
            incoming: vec![0; DATAGRAM_MAX],
            address: SocketAddr::from((own, port)),
            unsent: 0,
            loss: Loss {
                of_thousand: u64::from(options.loss),
                random: now.as_ns().unsigned_abs() | 1,
            },
            wall_at: now,
        })
    }

    /// Returns where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the participant.
    pub fn participant(&self) -> &Participant {
        &self.participant
    }

    /// Returns the participant, to make endpoints, write and take.
    pub fn participant_mut(&mut self) -> &mut Participant {
        &mut self.participant
    }

    /// Returns what the clock shows that the participant goes by.
    pub fn now(&self) -> Instant {
        Instant::from_ns(monotonic_ns())
    }

    /// Returns how many datagrams the system did not take.
    pub fn unsent(&self) -> u64 {
        self.unsent
    }

    /// Sends what there is to send.
    ///
    /// # Errors
    /// If the socket fails. What the system does not take now is lost, as on the wire.
    pub fn flush(&mut self) -> io::Result<()> {
        let now = self.now();
        while let Some(transmit) = self.participant.poll_transmit(now, &mut self.outgoing) {
            let Locator::Udp(to) = transmit.to else {
                self.unsent += 1;
                continue;
            };
            if self.loss.strikes() {
                continue;
            }
            match self.unicast.send(&self.outgoing, to, transmit.priority) {
                Ok(()) => {}
                Err(error) if crate::meter::is_passing(&error) => self.unsent += 1,
                Err(error) if is_unroutable(&error) => self.unsent += 1,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Sends what there is to send, waits until something comes or is due, but not beyond `until`, and
    /// takes it in. Returns whether a datagram came.
    ///
    /// # Errors
    /// If a socket fails.
    pub fn step(&mut self, until: Instant) -> io::Result<bool> {
        self.flush()?;
        let came = match self.waiting {
            Waiting::Block => self.step_asleep(until)?,
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

    /// Looks at the clock of the day, which may have been set.
    fn look_at_the_wall(&mut self) {
        let (now, wall) = monotonic_and_real_ns();
        self.wall_at = Instant::from_ns(now);
        let wall = WallTime::from_ns(wall);
        self.participant.set_wall_clock(self.wall_at, wall);
    }

    fn step_asleep(&mut self, until: Instant) -> io::Result<bool> {
        if self.receive()? {
            return Ok(true);
        }
        let until = self.participant.poll_timeout().min(until);
        let left = until - self.now();
        if left <= Duration::ZERO {
            return Ok(false);
        }
        self.sleep(left)?;
        self.receive()
    }

    /// Sleeps until a datagram is there, `left` is over or a signal comes.
    fn sleep(&self, left: Duration) -> io::Result<()> {
        let ns = left.as_ns();
        let limit = Timespec {
            tv_sec: ns / 1_000_000_000,
            tv_nsec: ns % 1_000_000_000,
        };
        let own = PollFd::from_borrowed_fd(self.unicast.as_fd(), PollFlags::IN);
        let polled = match &self.group {
            Some(group) => {
                let group = PollFd::from_borrowed_fd(group.as_fd(), PollFlags::IN);
                poll(&mut [own, group], Some(&limit))
            }
            None => poll(&mut [own], Some(&limit)),
        };
        match polled {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn step_awake(&mut self, until: Instant) -> io::Result<bool> {
        let until = self.participant.poll_timeout().min(until);
        loop {
            for _ in 0..LOOKS {
                if self.receive_from(false)? {
                    return Ok(true);
                }
            }
            if self.receive_from(true)? {
                return Ok(true);
            }
            if self.now() >= until {
                return Ok(false);
            }
        }
    }

    /// Takes in what is there, from both sockets; returns whether anything was.
    fn receive(&mut self) -> io::Result<bool> {
        let mut came = false;
        for is_group in [false, true] {
            for _ in 0..RECEIVED_IN_A_ROW {
                if !self.receive_from(is_group)? {
                    break;
                }
                came = true;
            }
        }
        Ok(came)
    }

    fn receive_from(&mut self, is_group: bool) -> io::Result<bool> {
        let port = if is_group {
            let Some(group) = &self.group else {
                return Ok(false);
            };
            group
        } else {
            &self.unicast
        };
        let received = match port.receive(&mut self.incoming) {
            Err(error) if crate::meter::is_passing(&error) => None,
            other => other?,
        };
        let Some(len) = received else {
            return Ok(false);
        };
        if self.loss.strikes() {
            return Ok(true);
        }
        let now = Instant::from_ns(monotonic_ns());
        let datagram = self.incoming.get(..len).unwrap_or_default();
        self.participant.handle_datagram(now, datagram);
        Ok(true)
    }
}

impl Drop for Domain {
    fn drop(&mut self) {
        self.participant.leave();
        // The others notice all the same, later.
        let _ = self.flush();
    }
}

/// Returns whether a host says that there is no way to a place.
fn is_unroutable(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::AddrNotAvailable
            | io::ErrorKind::InvalidInput
    )
}

/// Returns the own address, and the networks of this host.
fn place(wish: Option<Ipv4Addr>) -> Result<(Ipv4Addr, Vec<(Ipv4Addr, u8)>), DomainError> {
    let found = interfaces().map_err(failed("looking for devices"))?;
    let up: Vec<&Interface> = found.iter().filter(|one| one.is_up).collect();
    let networks = up.iter().flat_map(|one| {
        let bits = one.prefix_lengths.iter().copied();
        one.addresses.iter().copied().zip(bits)
    });
    let networks: Vec<(Ipv4Addr, u8)> = networks.collect();
    let mut own = networks.iter().map(|(address, _)| *address);
    let own = match wish {
        Some(wish) => own
            .find(|address| *address == wish)
            .ok_or(DomainError::Interface(wish))?,
        None => own
            .find(|address| !address.is_loopback())
            .unwrap_or(Ipv4Addr::LOCALHOST),
    };
    Ok((own, networks))
}

/// Returns a name that no other participant has: vendor, host, process, start and number.
fn prefix(number: u16) -> GuidPrefix {
    let mut prefix = [0; 12];
    prefix[..2].copy_from_slice(&VENDOR);
    let (monotonic, real) = monotonic_and_real_ns();
    let host = crate::host::identity();
    let host = host
        .unwrap_or_default()
        .iter()
        .fold(0xCBF2_9CE4_8422_2325_u64, |sum, octet| {
            (sum ^ u64::from(*octet)).wrapping_mul(0x0100_0000_01B3)
        });
    let moment = (monotonic ^ real.rotate_left(17)).cast_unsigned();
    let mixed = host ^ moment.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    prefix[2..6].copy_from_slice(&std::process::id().to_be_bytes());
    prefix[6..10].copy_from_slice(&mixed.to_be_bytes()[..4]);
    prefix[10..].copy_from_slice(&number.to_be_bytes());
    GuidPrefix(prefix)
}
