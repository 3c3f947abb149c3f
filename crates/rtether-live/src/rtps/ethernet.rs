//! Sockets of a participant for Ethernet frames.
//!
//! ```text
//! destination  source  [8100 tag]  EtherType | source port  destination port | message
//!      6          6         4          2            2               2
//! ```
//!
//! A message is the payload of one frame (DDS-TSN 1.0, A.5). The annex gives stations logical ports
//! (A.6.1) but no field for them, so they precede the message, in the order of UDP. No message is
//! so short that its frame is padded: the shortest useful one has 48 octets.
//!
//! Frames to the own station or to the group are also sent over loopback, for other participants of
//! this host: a packet socket for one `EtherType` does not receive what its host sends.

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;

use rtether_rtps::engine::{self, Config};
use rtether_rtps::locator::{ETHERNET_GROUP, Locator, Origin, Ports};
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, sendmsg};
use socket2::{Domain as Family, Socket, Type};

use super::alarm::Alarm;
use super::options::failed;
use super::sieve::{OVERHEAD, Sieve, mark};
use super::socket::{Ready, sleep};
use super::udp::{NEIGHBORS, make_room};
use super::waker::Waker;
use super::watch::Envelope;
use super::{DATAGRAM_MAX, DomainError, DomainOptions, EthernetOptions};
use crate::host::address::interfaces;
use crate::link::{Device, DeviceError, ETHERTYPE_TAG, MacAddress, link_address, ready};
use crate::option;

/// The loopback device, whose frames return to the host.
const LOOPBACK: &str = "lo";
/// Highest VLAN identifier (IEEE 802.1Q-2018, table 9-2).
const VLAN_MAX: u16 = 4_094;
/// Smaller values are lengths (IEEE 802.3-2022, 3.2.6).
const ETHERTYPE_MIN: u16 = 0x0600;
/// Addresses, tag, `EtherType` and ports.
const HEAD_MAX: usize = OVERHEAD + 4;

/// The sockets: one that receives from the device and loopback, one to send on each.
#[derive(Debug)]
pub(super) struct Ethernet {
    inlet: Socket,
    /// `None` if the device is loopback.
    line: Option<Socket>,
    local: Socket,
    own: [u8; 6],
    /// Source address of frames on loopback.
    mark: [u8; 6],
    port: u16,
    ethertype: u16,
    vlan: u16,
    /// Whether the device adds tags itself.
    is_vlan: bool,
    /// Socket priority of the last frame.
    class: Cell<u8>,
    /// Reserves the participant number on this host.
    _claim: UnixDatagram,
}

impl Ethernet {
    /// Opens the sockets, and sets the locators in `config`; also returns the participant number on
    /// this host.
    pub(super) fn open(
        options: &DomainOptions,
        frames: &EthernetOptions,
        config: &mut Config,
    ) -> Result<(Self, u16), DomainError> {
        let ports = Ports::new(options.domain).ok_or(DomainError::Domain(options.domain))?;
        let device = Device::named(&frames.device)?;
        let loopback = Device::named(LOOPBACK)?;
        // `/proc/self` is that of the process, which may be in another network namespace.
        let is_vlan = Path::new("/proc/thread-self/net/vlan").join(&frames.device).exists();
        check(options, frames, is_vlan)?;
        let known = interfaces().map_err(failed("looking for devices"))?;
        if known.iter().any(|one| one.name == frames.device && !one.is_up) {
            return Err(DomainError::Down(frames.device.clone()));
        }
        let (claim, number, port) = claim(ports, options.domain, &device, frames.ethertype)?;
        let own = device.address().0;
        let is_loopback = device.index() == loopback.index();
        let hears_group = options.multicast;
        let sieve = Sieve {
            device: device.index().unsigned_abs(),
            loopback: loopback.index().unsigned_abs(),
            own,
            own_port: port,
            group: if hears_group { ETHERNET_GROUP } else { own },
            group_port: if hears_group { ports.discovery_multicast() } else { port },
        };
        let refused = |source| DeviceError::Socket { name: frames.device.clone(), source };
        let inlet = inlet(&device, frames.ethertype, sieve, hears_group).map_err(refused)?;
        let line = (!is_loopback).then(|| outlet(&device));
        let line = line.transpose().map_err(refused)?;
        let local = outlet(&loopback).map_err(refused)?;
        let this = Self {
            inlet,
            line,
            local,
            own,
            mark: mark(device.index().unsigned_abs()),
            port,
            ethertype: frames.ethertype,
            vlan: frames.vlan,
            is_vlan,
            class: Cell::new(0),
            _claim: claim,
        };
        // The port fields count against the MTU.
        let room = device.mtu().min(DATAGRAM_MAX).saturating_sub(4);
        config.datagram_max = config.datagram_max.min(room);
        this.enter(options, frames, ports, config);
        Ok((this, number))
    }

    /// Sets the locators in `config`.
    fn enter(
        &self,
        options: &DomainOptions,
        frames: &EthernetOptions,
        ports: Ports,
        config: &mut Config,
    ) {
        let at = |address, port| Locator::Ethernet { address, vid: self.vlan, port };
        config.transport = engine::Transport::Ethernet;
        config.metatraffic_unicast = vec![at(self.own, self.port)];
        config.default_unicast = vec![at(self.own, self.port)];
        if options.multicast {
            let group = at(ETHERNET_GROUP, ports.discovery_multicast());
            config.announce_to.push(group);
            config.metatraffic_multicast = vec![group];
            if options.multicast_data {
                config.default_multicast = vec![group];
            }
        }
        for MacAddress(peer) in &frames.peers {
            let ports = (0..NEIGHBORS).filter_map(|number| ports.discovery_unicast(number));
            config.announce_to.extend(ports.map(|port| at(*peer, port)));
        }
    }

    /// Sends a message.
    pub(super) fn send(
        &self,
        message: &[u8],
        to: [u8; 6],
        port: u16,
        priority: i32,
    ) -> io::Result<()> {
        let (is_group, is_own) = (to[0] & 1 == 1, to == self.own);
        let mut sent = Err(io::ErrorKind::AddrNotAvailable.into());
        if let Some(line) = self.line.as_ref().filter(|_| !is_own) {
            let class = class(priority);
            if class != self.class.get() {
                // Values above 6 require a privilege; without it the frame is still tagged.
                let value = libc::c_int::from(class);
                let _ = option::set(line, libc::SOL_SOCKET, libc::SO_PRIORITY, &value);
                self.class.set(class);
            }
            sent = self.put(line, message, (to, self.own), self.tag(priority), port);
        }
        if is_group || is_own {
            let heard = self.put(&self.local, message, (to, self.mark), None, port);
            // Loopback may be down if there is only one participant.
            sent = sent.or(heard);
        }
        sent
    }

    fn put(
        &self,
        socket: &Socket,
        message: &[u8],
        (to, from): ([u8; 6], [u8; 6]),
        tag: Option<u16>,
        port: u16,
    ) -> io::Result<()> {
        let mut head = [0; HEAD_MAX];
        head[..6].copy_from_slice(&to);
        head[6..12].copy_from_slice(&from);
        let mut len = 12;
        let mut append = |field: u16| {
            head[len..len + 2].copy_from_slice(&field.to_be_bytes());
            len += 2;
        };
        if let Some(tag) = tag {
            append(ETHERTYPE_TAG);
            append(tag);
        }
        append(self.ethertype);
        append(self.port);
        append(port);
        let parts = [IoSlice::new(&head[..len]), IoSlice::new(message)];
        let mut control = SendAncillaryBuffer::default();
        sendmsg(socket, &parts, &mut control, SendFlags::NOSIGNAL)?;
        Ok(())
    }

    /// Returns the position of the next message in `buffer`; empty if the frame is too short.
    pub(super) fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<Range<usize>>> {
        let received = rustix::net::recv(&self.inlet, buffer, RecvFlags::empty());
        let len = ready(received.map(|(len, _)| len).map_err(Into::into))?;
        Ok(len.map(|len| OVERHEAD.min(len)..len))
    }

    /// Returns the envelope of a message sent.
    pub(super) fn sent_in(&self, to: [u8; 6], port: u16, priority: i32) -> Envelope {
        let tag = self.tag(priority);
        let is_here = self.line.is_none() || to == self.own;
        Envelope::Frame {
            to,
            from: if is_here { self.mark } else { self.own },
            tag: tag.filter(|_| !is_here),
            ethertype: self.ethertype,
            ports: [self.port, port],
        }
    }

    /// Returns the tag of frames with this priority.
    fn tag(&self, priority: i32) -> Option<u16> {
        let pcp = if self.is_vlan { 0 } else { class(priority) };
        let tag = u16::from(pcp) << 13 | self.vlan;
        (tag > 0).then_some(tag)
    }

    /// Returns the origin of a message, from its envelope.
    pub(super) fn origin(&self, head: &[u8]) -> Option<Origin> {
        let (_, rest) = head.split_first_chunk::<6>()?;
        let station = *rest.first_chunk()?;
        let is_here = station == self.mark;
        Some(if is_here { Origin::Host } else { Origin::Station(station) })
    }

    pub(super) fn sleep(&self, alarm: &Alarm, waker: Option<&Waker>) -> io::Result<Ready> {
        sleep::<OwnedFd>(self.inlet.as_fd(), [None, None], alarm, waker)
    }
}

/// Returns the PCP of a priority, a DSCP: its upper three bits.
fn class(priority: i32) -> u8 {
    u8::try_from(priority.clamp(0, 63) >> 3).unwrap_or(0)
}

/// Returns the envelope of a message received.
pub(super) fn came_in(head: &[u8]) -> Option<Envelope> {
    let (to, rest) = head.split_first_chunk()?;
    let (from, rest) = rest.split_first_chunk()?;
    let &[e0, e1, s0, s1, d0, d1] = rest.first_chunk()?;
    Some(Envelope::Frame {
        to: *to,
        from: *from,
        tag: None,
        ethertype: u16::from_be_bytes([e0, e1]),
        ports: [u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1])],
    })
}

fn check(
    options: &DomainOptions,
    frames: &EthernetOptions,
    is_vlan: bool,
) -> Result<(), DomainError> {
    let wrong = |why| Err(DomainError::Ethernet(why));
    if options.interface.is_some() || !options.peers.is_empty() {
        return wrong("frames have no IP addresses: give a device, and peers by station address");
    }
    if frames.ethertype < ETHERTYPE_MIN || frames.ethertype == ETHERTYPE_TAG {
        return wrong(
            "an EtherType is 0x0600 or more, and not 0x8100 (VLAN tag); 0x88b6 is free to use",
        );
    }
    if frames.vlan > VLAN_MAX {
        return wrong("VLANs are 1 to 4094");
    }
    if is_vlan && frames.vlan > 0 {
        return wrong("the device is a VLAN device and adds the tags itself: omit the VLAN");
    }
    Ok(())
}

/// Reserves the first free number on this host, device and `EtherType`: a socket name in the
/// network namespace, which the kernel assigns to one process and frees when it ends.
fn claim(
    ports: Ports,
    domain: u16,
    device: &Device,
    ethertype: u16,
) -> Result<(UnixDatagram, u16, u16), DomainError> {
    for number in 0..Ports::PARTICIPANTS_MAX {
        let Some(port) = ports.discovery_unicast(number) else {
            break;
        };
        let name = format!("rtether/rtps/{ethertype:04x}/{}/{port}", device.index());
        let claimed = SocketAddr::from_abstract_name(name)
            .and_then(|address| UnixDatagram::bind_addr(&address));
        match claimed {
            Ok(claim) => return Ok((claim, number, port)),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(failed("reserving a participant number")(error)),
        }
    }
    Err(DomainError::Ports { domain })
}

/// Opens the receiving socket.
fn inlet(device: &Device, ethertype: u16, sieve: Sieve, hears_group: bool) -> io::Result<Socket> {
    // Nothing is received before the socket is bound.
    let socket = Socket::new(Family::PACKET, Type::RAW, None)?;
    socket.set_nonblocking(true)?;
    make_room(&socket)?;
    sieve.attach(&socket)?;
    if hears_group {
        option::join(&socket, device.index(), ETHERNET_GROUP)?;
    }
    socket.bind(&link_address(0, ethertype))?;
    Ok(socket)
}

/// Opens a socket that only sends.
fn outlet(device: &Device) -> io::Result<Socket> {
    let socket = Socket::new(Family::PACKET, Type::RAW, None)?;
    socket.set_nonblocking(true)?;
    make_room(&socket)?;
    socket.bind(&link_address(device.index(), 0))?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: the documentation of the options.
    #[test]
    fn what_cannot_be_is_refused() {
        let options = DomainOptions::default();
        let frames = EthernetOptions::on("eth1");
        assert!(check(&options, &frames, false).is_ok());
        assert!(check(&options, &frames, true).is_ok());
        let in_vlan = |vlan| EthernetOptions { vlan, ..frames.clone() };
        assert!(check(&options, &in_vlan(9), false).is_ok());
        let words = |frames: &EthernetOptions, is_vlan| {
            check(&options, frames, is_vlan).map_err(|error| error.to_string())
        };
        let refused = words(&in_vlan(9), true).expect_err("two VLANs");
        assert!(refused.contains("is a VLAN device"), "{refused}");
        assert!(words(&in_vlan(4_095), false).is_err());
        let other = |ethertype| EthernetOptions { ethertype, ..frames.clone() };
        assert!(words(&other(0x05FF), false).is_err());
        assert!(words(&other(0x8100), false).is_err());
        let with_peers = DomainOptions {
            peers: vec![std::net::Ipv4Addr::LOCALHOST],
            ..DomainOptions::default()
        };
        assert!(check(&with_peers, &frames, false).is_err());
    }
}
