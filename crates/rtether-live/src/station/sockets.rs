//! The sockets of a station: one that receives for each carrier, one that sends for each way.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::{Duration as Span, SystemTime};

use rtether_model::quantity::{Duration, Instant};
use socket2::{Domain, Protocol, Socket, Type};

use super::{Carrier, PORT, Peer, Tagging};
use crate::clock::Clock;
use crate::filter::TAG_PRIORITY;
use crate::link::{Device, MacAddress, link_address, set_priority, write_header};

/// Octets of addresses and type.
const HEADER: usize = 14;
/// Addresses, type and the smallest payload.
const FRAME_MIN: usize = 60;

/// A way out.
pub(super) enum Outlet {
    Udp(UdpSocket),
    Raw {
        socket: Socket,
        /// The frame, with the payload behind `start`.
        frame: Vec<u8>,
        start: usize,
    },
}

impl Outlet {
    /// Opens a way to one peer.
    pub(super) fn open(
        device: &Device,
        carrier: Carrier,
        peer: Peer,
        tagging: Tagging,
        payload: usize,
    ) -> io::Result<Self> {
        match carrier {
            Carrier::Udp => Ok(Self::Udp(udp(peer.ip, tagging)?)),
            Carrier::Raw { ethertype, header } => {
                // Protocol 0: this socket receives nothing.
                let socket = Socket::new(Domain::PACKET, Type::RAW, None)?;
                socket.bind(&link_address(device, 0))?;
                socket.set_nonblocking(true)?;
                let mut frame = Vec::new();
                write_header(
                    &mut frame,
                    peer.mac,
                    device.address(),
                    tagging.tag,
                    ethertype,
                );
                let start = frame.len() + header;
                let tag = frame.len() - HEADER;
                frame.resize((start + payload).max(FRAME_MIN + tag), 0);
                Ok(Self::Raw {
                    socket,
                    frame,
                    start,
                })
            }
        }
    }

    /// Sends a payload.
    pub(super) fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        match self {
            Self::Udp(socket) => socket.send(payload).map(|_| ()),
            Self::Raw {
                socket,
                frame,
                start,
            } => {
                frame[*start..*start + payload.len()].copy_from_slice(payload);
                socket.send(frame).map(|_| ())
            }
        }
    }
}

fn udp(to: Ipv4Addr, tagging: Tagging) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    mark(&socket, tagging)?;
    socket.set_nonblocking(true)?;
    socket.connect(&SocketAddrV4::new(to, PORT).into())?;
    Ok(socket.into())
}

/// Has all packets of an IP socket carry marks; the kernel's own priority would follow the DSCP, so
/// it is set last.
pub(super) fn mark(socket: &Socket, tagging: Tagging) -> io::Result<()> {
    if tagging.dscp > 0 {
        socket.set_tos_v4(u32::from(tagging.dscp) << 2)?;
    }
    if let Some((pcp, vid)) = tagging.tag {
        let control = u32::from(pcp.get()) << 13 | u32::from(vid.get());
        set_priority(socket, TAG_PRIORITY | control)?;
    }
    Ok(())
}

/// A way in.
pub(super) struct Inlet {
    socket: Socket,
    carrier: Carrier,
    own: MacAddress,
}

impl Inlet {
    /// Opens the way in for a carrier.
    pub(super) fn open(
        device: &Device,
        address: Ipv4Addr,
        groups: &[Ipv4Addr],
        carrier: Carrier,
    ) -> io::Result<Self> {
        let socket = match carrier {
            Carrier::Udp => {
                let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
                let any = Ipv4Addr::UNSPECIFIED;
                let own = if groups.is_empty() { address } else { any };
                socket.bind(&SocketAddrV4::new(own, PORT).into())?;
                for group in groups {
                    socket.join_multicast_v4(group, &address)?;
                }
                socket
            }
            Carrier::Raw { ethertype, .. } => {
                let protocol = Protocol::from(i32::from(ethertype.to_be()));
                let socket = Socket::new(Domain::PACKET, Type::RAW, Some(protocol))?;
                socket.bind(&link_address(device, ethertype))?;
                socket
            }
        };
        // What arrives while the thread sleeps must find room; the system may grant less.
        drop(socket.set_recv_buffer_size(4 << 20));
        socket.set_nonblocking(true)?;
        stamp_received(&socket)?;
        Ok(Self {
            socket,
            carrier,
            own: device.address(),
        })
    }

    /// Returns where in `buffer` the next payload for us lies, and the kernel's stamp.
    pub(super) fn receive(
        &self,
        buffer: &mut [u8],
    ) -> io::Result<Option<(std::ops::Range<usize>, Option<SystemTime>)>> {
        loop {
            let Some((len, stamp)) = receive_stamped(&self.socket, buffer)? else {
                return Ok(None);
            };
            let start = match self.carrier {
                Carrier::Udp => 0,
                Carrier::Raw { header, .. } => {
                    let is_for_us = buffer
                        .first_chunk::<6>()
                        .is_some_and(|to| *to == self.own.0 || to[0] & 1 == 1);
                    if !is_for_us {
                        continue;
                    }
                    HEADER + header
                }
            };
            return Ok(Some((start.min(len)..len, stamp)));
        }
    }
}

impl AsFd for Inlet {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn stamp_received(socket: &Socket) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the descriptor is open, and pointer and length are those of a live integer.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            (&raw const on).cast(),
            libc::socklen_t::try_from(size_of_val(&on)).unwrap_or(4),
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Receives one packet with the time at which the kernel took it in.
fn receive_stamped(
    socket: &Socket,
    buffer: &mut [u8],
) -> io::Result<Option<(usize, Option<SystemTime>)>> {
    let mut vector = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    let mut control = [0u64; 16];
    // SAFETY: all zeros are a valid `msghdr`.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut vector;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control);
    // SAFETY: the descriptor is open; vector and control buffer are live and of the stated lengths.
    let len = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) };
    let Ok(len) = usize::try_from(len) else {
        let error = io::Error::last_os_error();
        // A port that is unreachable concerns packets sent before.
        let is_nothing = matches!(
            error.kind(),
            io::ErrorKind::WouldBlock
                | io::ErrorKind::Interrupted
                | io::ErrorKind::ConnectionRefused
        );
        return if is_nothing { Ok(None) } else { Err(error) };
    };
    let mut stamp = None;
    // SAFETY: the kernel has filled in the message, whose buffers are still live.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
    while !header.is_null() {
        // SAFETY: the pointer comes from the two functions that walk the control buffer.
        let found = unsafe { &*header };
        if found.cmsg_level == libc::SOL_SOCKET && found.cmsg_type == libc::SCM_TIMESTAMPNS {
            // SAFETY: a control message of this type holds a `timespec`, not necessarily aligned.
            let time: libc::timespec = unsafe {
                libc::CMSG_DATA(header)
                    .cast::<libc::timespec>()
                    .read_unaligned()
            };
            let seconds = Span::from_secs(u64::try_from(time.tv_sec).unwrap_or(0));
            let rest = Span::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0));
            stamp = Some(SystemTime::UNIX_EPOCH + seconds + rest);
        }
        // SAFETY: as above; the message and the header belong together.
        header = unsafe { libc::CMSG_NXTHDR(&raw const message, header) };
    }
    Ok(Some((len, stamp)))
}

/// Turns stamps of the wall clock into times of the run.
///
/// The difference of the two clocks is looked at again and again: it drifts when the wall clock is
/// slewed, and jumps when it is set.
pub(super) struct Stamps {
    clock: Clock,
    /// Time of the run at the wall clock's epoch, negative.
    offset_ns: i128,
    looked_at: Instant,
    steps: u64,
}

/// How often the difference of the clocks is taken.
const LOOK: Duration = Duration::from_ms(100);
/// A difference that changes by more was a step of the wall clock.
const STEP_NS: u128 = 100_000;

impl Stamps {
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            clock,
            offset_ns: offset(&clock),
            looked_at: clock.now(),
            steps: 0,
        }
    }

    /// Takes the difference again if it is old.
    pub(super) fn refresh(&mut self, now: Instant) {
        if now - self.looked_at < LOOK {
            return;
        }
        let offset_ns = offset(&self.clock);
        self.steps += u64::from(offset_ns.abs_diff(self.offset_ns) > STEP_NS);
        self.offset_ns = offset_ns;
        self.looked_at = now;
    }

    /// Returns the span from a stamp to `now`; `None` if it cannot be: a clock was set in between.
    pub(super) fn since(&self, stamp: SystemTime, now: Instant) -> Option<Duration> {
        let at = ns_of(stamp) + self.offset_ns;
        let ns = i128::from(now.since_start().as_ns_floor()) - at;
        let ns = i64::try_from(ns).ok()?;
        // Two readings of the clocks are some ten nanoseconds apart.
        (-1_000..1_000_000_000)
            .contains(&ns)
            .then(|| Duration::from_ns(ns.max(0)))
    }

    pub(super) fn steps(&self) -> u64 {
        self.steps
    }
}

fn ns_of(time: SystemTime) -> i128 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    i128::try_from(since.unwrap_or_default().as_nanos()).unwrap_or(0)
}

/// Returns run time minus wall time in nanoseconds: of several readings the one that took least.
fn offset(clock: &Clock) -> i128 {
    let readings = (0..5).map(|_| {
        let before = clock.now().since_start().as_ns_floor();
        let wall = ns_of(SystemTime::now());
        let after = clock.now().since_start().as_ns_floor();
        (after - before, i128::from(before.midpoint(after)) - wall)
    });
    readings.min().map_or(0, |(_, offset)| offset)
}
