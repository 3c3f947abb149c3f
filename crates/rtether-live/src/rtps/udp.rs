//! Sockets of a participant for UDP.

use std::cell::Cell;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};

use rtether_rtps::discovery::v1;
use rtether_rtps::engine::{Config, Protocol as Version};
use rtether_rtps::locator::{DISCOVERY_GROUP, Locator, Ports};
use rtether_rtps::wire::v1::Role;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use socket2::{Domain as Family, Protocol, Socket, Type};

use super::alarm::Alarm;
use super::options::failed;
use super::sieve::only_from;
use super::socket::{Ready, Source, sleep};
use super::waker::Waker;
use super::{DomainError, DomainOptions};
use crate::host::address::{Interface, interfaces};
use crate::link::ready;
use crate::option;
use crate::timestamping::closed;

/// Receive buffer, in octets: a sample of a megabyte in fragments, with the kernel's overhead.
const BUFFER: libc::c_int = 8 << 20;
/// Participants per host to announce to by unicast where there is no multicast, as on loopback.
pub(super) const NEIGHBORS: u16 = 10;
/// Messages of other hosts read at a time.
const ERRORS_MAX: usize = 64;
/// Errors of a socket that repeat what another host, or a forger, says of a datagram that it was
/// sent (`icmp_err_convert` of Linux): never a reason to end.
const ERRORS: [Errno; 9] = [
    Errno::CONNREFUSED,
    Errno::HOSTUNREACH,
    Errno::NETUNREACH,
    Errno::NOPROTOOPT,
    Errno::MSGSIZE,
    Errno::OPNOTSUPP,
    Errno::HOSTDOWN,
    Errno::NONET,
    Errno::PROTO,
];
/// How often a datagram is handed over that such an error has failed.
const SENT_AGAIN_MAX: usize = 4;

/// The sockets: unicast and multicast.
#[derive(Debug)]
pub(super) struct Udp {
    unicast: Port,
    group: Option<Port>,
    /// Managers of RTPS 1.0: where the applications of this host announce themselves.
    local: Option<Port>,
    /// Unicast address.
    address: SocketAddrV4,
    group_address: SocketAddrV4,
}

impl Udp {
    /// Opens the sockets, and sets the locators in `config`; also returns the participant number on
    /// this host.
    pub(super) fn open(
        options: &DomainOptions,
        config: &mut Config,
    ) -> Result<(Self, u16), DomainError> {
        if let Version::Rtps1(role) = options.protocol {
            return Ok((Self::open_v1(options, role, config)?, 0));
        }
        let ports = Ports::new(options.domain).ok_or(DomainError::Domain(options.domain))?;
        let (own, device, networks) = place(options.interface)?;
        let devices = match options.interface {
            Some(_) => Some(limits(&device).map_err(failed("looking for the device"))?),
            None => None,
        };
        let (unicast, number) = open_unicast(own, devices, ports, options.domain)?;
        let group = if options.multicast {
            let port = ports.discovery_multicast();
            let opened = open_group(own, devices, port);
            Some(opened.map_err(|error| {
                if error.kind() == io::ErrorKind::AddrInUse {
                    DomainError::Group { port }
                } else {
                    failed("listening to the group of the domain")(error)
                }
            })?)
        } else {
            None
        };
        let port = ports.discovery_unicast(number).unwrap_or_default();
        let locator = Locator::udp(own, port);
        config.metatraffic_unicast = vec![locator];
        config.default_unicast = vec![locator];
        let addresses = networks.iter().map(|(address, _)| (*address).into());
        config.own_addresses = addresses.collect();
        config.networks = networks;
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
            let ports = (0..NEIGHBORS).filter_map(|number| ports.discovery_unicast(number));
            let places = ports.map(|port| Locator::udp(peer, port));
            config.announce_to.extend(places);
            config.networks.push((peer, 32));
        }
        let this = Self {
            unicast,
            group,
            local: None,
            address: SocketAddrV4::new(own, port),
            group_address: SocketAddrV4::new(DISCOVERY_GROUP, ports.discovery_multicast()),
        };
        Ok((this, number))
    }

    /// Returns the unicast address.
    pub(super) const fn address(&self) -> SocketAddrV4 {
        self.address
    }

    /// Returns the destination address of datagrams received from `source`.
    pub(super) fn address_of(&self, source: Source) -> Option<SocketAddrV4> {
        match source {
            Source::Own => Some(self.address),
            Source::Group => self.group_or_local().then_some(self.group_address),
        }
    }

    const fn group_or_local(&self) -> bool {
        self.group.is_some() || self.local.is_some()
    }

    /// Opens the sockets of a participant of RTPS 1.0, and sets the locators in `config`.
    ///
    /// A manager holds the port of its domain at each address by itself, not at the wildcard: so a
    /// second manager is refused, and participants of 2.5, which listen to their group at the same
    /// port, are not.
    fn open_v1(
        options: &DomainOptions,
        role: Role,
        config: &mut Config,
    ) -> Result<Self, DomainError> {
        let ports = v1::Ports::new(options.domain).ok_or(DomainError::Domain(options.domain))?;
        let (own, device, networks) = place(options.interface)?;
        let devices = match options.interface {
            Some(_) => Some(limits(&device).map_err(failed("looking for the device"))?),
            None => None,
        };
        let open = |address, port| open_at(own, devices, SocketAddrV4::new(address, port));
        let is_manager = role == Role::Manager;
        let unicast = if is_manager {
            open(own, ports.manager).map_err(managing(ports.manager))?
        } else {
            open(Ipv4Addr::UNSPECIFIED, 0).map_err(failed("opening the socket"))?
        };
        let local = if is_manager && !own.is_loopback() {
            let opened = open(Ipv4Addr::LOCALHOST, ports.manager);
            Some(opened.map_err(managing(ports.manager))?)
        } else {
            None
        };
        let group = if is_manager && options.multicast {
            let opened = open_group(own, devices, ports.manager);
            Some(opened.map_err(failed("listening to the group of managers"))?)
        } else {
            None
        };
        let at = unicast.socket.local_addr().map_err(failed("naming the socket"))?;
        let port = at.as_socket_ipv4().map_or(0, |at| at.port());
        let here = Locator::udp(own, port);
        config.metatraffic_unicast = vec![here];
        if !is_manager {
            config.default_unicast = vec![here];
        }
        config.own_addresses = networks.iter().map(|(address, _)| (*address).into()).collect();
        config.networks = networks;
        let mut managers = options.peers.clone();
        if !is_manager && managers.is_empty() {
            managers.push(Ipv4Addr::LOCALHOST);
        }
        if group.is_some() {
            let group = Locator::udp(DISCOVERY_GROUP, ports.manager);
            config.announce_to.push(group);
            config.metatraffic_multicast = vec![group];
        }
        for manager in managers {
            config.announce_to.push(Locator::udp(manager, ports.manager));
            config.networks.push((manager, 32));
        }
        Ok(Self {
            unicast,
            group,
            local,
            address: SocketAddrV4::new(own, port),
            group_address: SocketAddrV4::new(Ipv4Addr::LOCALHOST, ports.manager),
        })
    }

    pub(super) fn send(&self, datagram: &[u8], to: SocketAddr, priority: i32) -> io::Result<()> {
        self.unicast.send(datagram, to, priority)
    }

    /// Returns the position of the next datagram in `buffer`, and its sender.
    pub(super) fn receive(
        &self,
        source: Source,
        buffer: &mut [u8],
    ) -> io::Result<Option<(Range<usize>, Option<SocketAddrV4>)>> {
        for port in self.ports(source).into_iter().flatten() {
            if let Some((len, from)) = port.receive(buffer)? {
                return Ok(Some((0..len, from)));
            }
        }
        Ok(None)
    }

    const fn ports(&self, source: Source) -> [Option<&Port>; 2] {
        match source {
            Source::Own => [Some(&self.unicast), None],
            Source::Group => [self.group.as_ref(), self.local.as_ref()],
        }
    }

    /// Passes the addresses at which nobody listens, as their hosts say, to `tell`.
    pub(super) fn read_errors(&self, mut tell: impl FnMut(SocketAddr)) -> io::Result<()> {
        for _ in 0..ERRORS_MAX {
            if !closed(self.unicast.as_fd(), &mut tell)? {
                break;
            }
        }
        Ok(())
    }

    pub(super) fn sleep(&self, alarm: &Alarm, waker: Option<&Waker>) -> io::Result<Ready> {
        let others = [self.group.as_ref(), self.local.as_ref()];
        sleep(self.unicast.as_fd(), others, alarm, waker)
    }
}

/// A socket.
#[derive(Debug)]
struct Port {
    socket: Socket,
    /// Priority of the last datagram.
    priority: Cell<i32>,
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Port {
    /// Sends a datagram; the priority is its DSCP, whose upper three bits are the PCP.
    fn send(&self, datagram: &[u8], to: SocketAddr, priority: i32) -> io::Result<()> {
        if priority != self.priority.get() {
            self.mark(priority)?;
        }
        let mut sent = Err(Errno::CONNREFUSED);
        for _ in 0..SENT_AGAIN_MAX {
            sent = rustix::net::sendto(&self.socket, datagram, SendFlags::NOSIGNAL, &to);
            // What a host has said of an earlier datagram fails the next one, whatever its
            // destination.
            if !sent.is_err_and(|error| ERRORS.contains(&error)) {
                break;
            }
        }
        sent.map_err(passing)?;
        Ok(())
    }

    fn mark(&self, priority: i32) -> io::Result<()> {
        let dscp = priority.clamp(0, 63);
        self.socket.set_tos_v4(u32::try_from(dscp << 2).unwrap_or(0))?;
        // Values above 6 require a privilege; without it the packet still has its DSCP.
        let class: libc::c_int = dscp >> 3;
        let _ = option::set(&self.socket, libc::SOL_SOCKET, libc::SO_PRIORITY, &class);
        self.priority.set(priority);
        Ok(())
    }

    /// Returns the size of the next datagram and its sender; `None` if none waits.
    fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<(usize, Option<SocketAddrV4>)>> {
        let received = rustix::net::recvfrom(&self.socket, buffer, RecvFlags::empty());
        let received = received.map(|(len, _, from)| {
            let from = from.and_then(|from| SocketAddrV4::try_from(from).ok());
            (len, from)
        });
        ready(received.map_err(passing))
    }
}

/// Returns the indices of the devices over which datagrams are accepted: the given one, and
/// loopback for those of this host.
fn limits(device: &str) -> io::Result<[u32; 2]> {
    let socket = Socket::new(Family::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    let number = |name| rustix::net::netdevice::name_to_index(&socket, name);
    Ok([number(device)?, number("lo")?])
}

/// Returns a non-blocking socket with large buffers.
fn datagrams(devices: Option<[u32; 2]>) -> io::Result<Socket> {
    let socket = Socket::new(Family::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_nonblocking(true)?;
    make_room(&socket)?;
    // Before binding, so that no other datagrams are queued already.
    if let Some(devices) = devices {
        only_from(&socket, devices)?;
    }
    // Excludes groups that other processes of this host have joined on other devices.
    option::set(&socket, libc::IPPROTO_IP, libc::IP_MULTICAST_ALL, &0_i32)?;
    Ok(socket)
}

/// Returns an error that may be gone the next time for each of [`ERRORS`].
fn passing(error: Errno) -> io::Error {
    if ERRORS.contains(&error) {
        return io::ErrorKind::ConnectionRefused.into();
    }
    error.into()
}

/// Queues what hosts say of datagrams that they were sent.
fn hear_errors(socket: &Socket) -> io::Result<()> {
    option::set(socket, libc::IPPROTO_IP, libc::IP_RECVERR, &1_i32)
}

/// Enlarges the buffers of a socket.
pub(super) fn make_room(socket: &Socket) -> io::Result<()> {
    // More than the system's limit requires a privilege; without it the buffers are smaller.
    for (forced, usual) in
        [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)]
    {
        if option::set(socket, libc::SOL_SOCKET, forced, &BUFFER).is_err() {
            option::set(socket, libc::SOL_SOCKET, usual, &BUFFER)?;
        }
    }
    Ok(())
}

/// Opens the socket of the first participant number that is free on this host.
fn open_unicast(
    own: Ipv4Addr,
    devices: Option<[u32; 2]>,
    ports: Ports,
    domain: u16,
) -> Result<(Port, u16), DomainError> {
    for number in 0..Ports::PARTICIPANTS_MAX {
        let Some(port) = ports.discovery_unicast(number) else {
            break;
        };
        let opening = || -> io::Result<Socket> {
            let socket = datagrams(devices)?;
            socket.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)).into())?;
            socket.set_multicast_if_v4(&own)?;
            socket.set_multicast_loop_v4(true)?;
            socket.set_multicast_ttl_v4(1)?;
            hear_errors(&socket)?;
            Ok(socket)
        };
        match opening() {
            Ok(socket) => {
                let priority = Cell::new(0);
                return Ok((Port { socket, priority }, number));
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(failed("opening the socket of the participant")(error)),
        }
    }
    Err(DomainError::Ports { domain })
}

/// Opens a socket at an address and a port that no other socket shares; port 0 means any.
fn open_at(own: Ipv4Addr, devices: Option<[u32; 2]>, at: SocketAddrV4) -> io::Result<Port> {
    let socket = datagrams(devices)?;
    socket.bind(&SocketAddr::from(at).into())?;
    socket.set_multicast_if_v4(&own)?;
    socket.set_multicast_loop_v4(false)?;
    socket.set_multicast_ttl_v4(1)?;
    hear_errors(&socket)?;
    Ok(Port { socket, priority: Cell::new(0) })
}

/// Returns the error of a manager whose port is taken.
fn managing(port: u16) -> impl Fn(io::Error) -> DomainError {
    move |error| {
        if error.kind() == io::ErrorKind::AddrInUse {
            DomainError::Manager { port }
        } else {
            failed("opening the socket of the manager")(error)
        }
    }
}

/// Opens a socket that listens to the discovery group.
fn open_group(own: Ipv4Addr, devices: Option<[u32; 2]>, port: u16) -> io::Result<Port> {
    let socket = datagrams(devices)?;
    // All participants of a host listen to it, also those of other implementations.
    socket.set_reuse_address(true)?;
    socket.bind(&SocketAddr::from((DISCOVERY_GROUP, port)).into())?;
    socket.join_multicast_v4(&DISCOVERY_GROUP, &own)?;
    Ok(Port { socket, priority: Cell::new(0) })
}

/// An address with its prefix length.
type AddressPrefix = (Ipv4Addr, u8);

/// Returns the own address, the name of its device, and the networks of this host.
fn place(wish: Option<Ipv4Addr>) -> Result<(Ipv4Addr, String, Vec<AddressPrefix>), DomainError> {
    let found = interfaces().map_err(failed("looking for devices"))?;
    let up: Vec<&Interface> = found.iter().filter(|one| one.is_up).collect();
    let all = up.iter().flat_map(|one| {
        let bits = one.prefix_lengths.iter().copied();
        let places = one.addresses.iter().copied().zip(bits);
        places.map(|place| (place, one.name.as_str()))
    });
    let all: Vec<(AddressPrefix, &str)> = all.collect();
    let mut own = all.iter().map(|((address, _), name)| (*address, *name));
    let (own, device) = match wish {
        Some(wish) => {
            own.find(|(address, _)| *address == wish).ok_or(DomainError::Interface(wish))?
        }
        None => {
            own.find(|(address, _)| !address.is_loopback()).unwrap_or((Ipv4Addr::LOCALHOST, "lo"))
        }
    };
    let networks = all.iter().map(|(place, _)| *place).collect();
    Ok((own, device.to_owned(), networks))
}
