//! A participant on the sockets and threads of the standard library.
//!
//! One thread for each socket passes on what arrives; the caller's thread owns the engine. What
//! waits between them is limited: if the caller does not keep up, datagrams are counted and
//! dropped.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Instant as Clock, SystemTime};

use rtether_rtps::engine::{Config, Participant};
use rtether_rtps::guid::GuidPrefix;
use rtether_rtps::locator::{DISCOVERY_GROUP, Locator, Origin, Ports};
use rtether_rtps::time::{Duration, Instant, WallTime};
use rtether_rtps::wire::VENDOR;
use socket2::{Domain, Protocol, Socket, Type};

/// Largest datagram, in octets.
const DATAGRAM_MAX: usize = 65_507;
/// Datagrams that may wait for the engine.
const WAITING_MAX: usize = 256;
/// Participants of a host that are sought by unicast where there is no multicast.
const NEIGHBORS: u16 = 10;

type Datagram = (IpAddr, Vec<u8>);

/// A participant and its sockets.
pub(crate) struct Host {
    participant: Participant,
    socket: Arc<UdpSocket>,
    incoming: Receiver<Datagram>,
    dropped: Arc<AtomicU64>,
    outgoing: Vec<u8>,
    started: Clock,
}

impl Host {
    /// Opens a participant of a domain at an address of this machine. It sends to no other network
    /// than that of this prefix, in bits, whatever peers announce.
    ///
    /// # Errors
    /// There is no such domain, no port is free, or the system refuses.
    pub(crate) fn open(domain: u16, address: Ipv4Addr, bits: u8, name: &str) -> io::Result<Self> {
        let wrong = |text: &str| io::Error::new(ErrorKind::InvalidInput, text.to_owned());
        let ports = Ports::new(domain).ok_or_else(|| wrong("domains are 0 to 232"))?;
        let (socket, port) = open_unicast(address, ports)?;
        let here = Locator::udp(address, port);
        let mut config = Config::new(prefix(port), domain, secret());
        name.clone_into(&mut config.name);
        config.lease = Duration::from_s(10);
        config.announce_period = Duration::from_ms(500);
        config.metatraffic_unicast = vec![here];
        config.default_unicast = vec![here];
        config.own_addresses = vec![address.into()];
        config.networks = vec![(address, bits)];
        let (passing, incoming) = sync_channel(WAITING_MAX);
        let dropped = Arc::new(AtomicU64::new(0));
        let socket = Arc::new(socket);
        let counter = Arc::downgrade(&dropped);
        listen(Arc::clone(&socket), passing.clone(), counter.clone());
        if address.is_loopback() {
            let others = (0..NEIGHBORS).filter_map(|number| ports.discovery_unicast(number));
            config.announce_to = others.map(|port| Locator::udp(address, port)).collect();
        } else {
            let group = Locator::udp(DISCOVERY_GROUP, ports.discovery_multicast());
            config.announce_to = vec![group];
            config.metatraffic_multicast = vec![group];
            let group = open_group(address, ports.discovery_multicast())?;
            listen(Arc::new(group), passing, counter);
        }
        let started = Clock::now();
        let mut participant = Participant::new(config, Instant::ZERO);
        let wall = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let wall = i64::try_from(wall.as_nanos()).unwrap_or(i64::MAX);
        participant.set_wall_clock(Instant::ZERO, WallTime::from_ns(wall));
        Ok(Self {
            participant,
            socket,
            incoming,
            dropped,
            outgoing: Vec::with_capacity(DATAGRAM_MAX),
            started,
        })
    }

    /// Returns the time since the participant was opened.
    pub(crate) fn now(&self) -> Instant {
        let elapsed = self.started.elapsed().as_nanos();
        Instant::from_ns(i64::try_from(elapsed).unwrap_or(i64::MAX))
    }

    /// Returns the participant, to create endpoints, write and take.
    pub(crate) fn participant_mut(&mut self) -> &mut Participant {
        &mut self.participant
    }

    /// Returns how many datagrams found no room because the caller did not keep up.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Sends what is due, and takes in what arrives until `until` or the next timer.
    pub(crate) fn step(&mut self, until: Instant) {
        self.flush();
        let left = until.min(self.participant.poll_timeout()) - self.now();
        let left = std::time::Duration::from_nanos(left.as_ns().try_into().unwrap_or(0));
        match self.incoming.recv_timeout(left) {
            Ok(first) => {
                self.take_in(&first);
                for _ in 1..WAITING_MAX {
                    let Ok(next) = self.incoming.try_recv() else {
                        break;
                    };
                    self.take_in(&next);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            // Both threads have ended with their sockets; timers go on.
            Err(RecvTimeoutError::Disconnected) => thread::sleep(left),
        }
        let now = self.now();
        if self.participant.poll_timeout() <= now {
            self.participant.handle_timeout(now);
        }
        self.flush();
    }

    fn take_in(&mut self, (from, datagram): &Datagram) {
        let now = self.now();
        let origin = Origin::Ip(*from);
        self.participant.handle_datagram(now, origin, datagram);
    }

    fn flush(&mut self) {
        let now = self.now();
        while let Some(transmit) = self.participant.poll_transmit(now, &mut self.outgoing) {
            if let Locator::Udp(to) = transmit.to {
                // What the system refuses is lost, as on the wire; the engine repeats it.
                let _ = self.socket.send_to(&self.outgoing, to);
            }
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.participant.leave();
        self.flush();
    }
}

/// Passes on what a socket receives, until the host is gone, whose counter this is.
fn listen(socket: Arc<UdpSocket>, passing: SyncSender<Datagram>, dropped: Weak<AtomicU64>) {
    thread::spawn(move || {
        let mut buffer = vec![0; DATAGRAM_MAX];
        while dropped.strong_count() > 0 {
            let (length, from) = match socket.recv_from(&mut buffer) {
                Ok(received) => received,
                // Windows tells the sender of a datagram here that nobody listens.
                Err(error) if is_passing(&error) => continue,
                Err(_) => return,
            };
            let datagram = buffer.get(..length).unwrap_or_default().to_vec();
            match passing.try_send((from.ip(), datagram)) {
                Ok(()) => {}
                Err(TrySendError::Full(_)) => {
                    if let Some(dropped) = dropped.upgrade() {
                        dropped.fetch_add(1, Ordering::Relaxed);
                    }
                }
                Err(TrySendError::Disconnected(_)) => return,
            }
        }
    });
}

fn is_passing(error: &io::Error) -> bool {
    use ErrorKind::{ConnectionRefused, ConnectionReset, Interrupted, TimedOut, WouldBlock};
    matches!(
        error.kind(),
        ConnectionRefused | ConnectionReset | Interrupted | TimedOut | WouldBlock
    )
}

/// Opens the first free port of a participant in the domain.
fn open_unicast(address: Ipv4Addr, ports: Ports) -> io::Result<(UdpSocket, u16)> {
    let mut last = io::Error::from(ErrorKind::AddrInUse);
    for port in (0..Ports::PARTICIPANTS_MAX).filter_map(|number| ports.discovery_unicast(number)) {
        match UdpSocket::bind((address, port)) {
            Ok(socket) => {
                // The receiving thread looks whether the host is gone.
                socket.set_read_timeout(Some(std::time::Duration::from_secs(1)))?;
                return Ok((socket, port));
            }
            Err(error) if error.kind() == ErrorKind::AddrInUse => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

/// Joins the group of the domain; participants of one host share the port.
fn open_group(address: Ipv4Addr, port: u16) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_reuse_address(true)?;
    let at = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port));
    socket.bind(&at.into())?;
    socket.join_multicast_v4(&DISCOVERY_GROUP, &address)?;
    socket.set_read_timeout(Some(std::time::Duration::from_secs(1)))?;
    Ok(socket.into())
}

/// Returns a number that nobody can guess.
fn secret() -> [u8; 16] {
    let mut secret = [0; 16];
    for part in secret.chunks_exact_mut(8) {
        part.copy_from_slice(&RandomState::new().hash_one(part.len()).to_be_bytes());
    }
    secret
}

/// Returns a prefix that no other participant has: vendor, eight random octets, port.
fn prefix(port: u16) -> GuidPrefix {
    let mut prefix = [0; 12];
    prefix[..2].copy_from_slice(&VENDOR);
    // The system draws the keys of the standard library's hashes.
    let random = RandomState::new().hash_one(port);
    prefix[2..10].copy_from_slice(&random.to_be_bytes());
    prefix[10..].copy_from_slice(&port.to_be_bytes());
    GuidPrefix(prefix)
}
