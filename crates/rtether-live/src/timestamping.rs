//! Kernel time stamps of a socket (`SO_TIMESTAMPING`, Documentation/networking/timestamping.rst).
//!
//! Three kinds are taken in software for every frame: on entry to the queueing discipline
//! (`TX_SCHED`), on handover to the driver (`TX_SOFTWARE`), and on delivery by the driver
//! (`RX_SOFTWARE`). All are of `CLOCK_REALTIME`, in nanoseconds since 1970. Hardware stamps are not
//! requested: they are of the interface's own clock.

use std::io;
use std::mem::{MaybeUninit, zeroed};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration as Span;

use socket2::{SockAddr, SockAddrStorage};

use crate::fit::fit;
use crate::option;

/// A stamp: nanoseconds since 1970.
pub type RealNs = i64;

/// Point at which a frame was stamped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampPoint {
    /// On entry to the queueing discipline.
    Queue,
    /// On handover to the driver.
    Driver,
}

/// The stamp of a sent payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Number of payloads sent on the socket before it, since stamps were enabled.
    pub number: u32,
    /// Point of the stamp.
    pub place: StampPoint,
    /// Time of the stamp.
    pub at: RealNs,
}

/// Kinds of transmit stamps (`include/uapi/linux/errqueue.h`), which `libc` lacks.
const SCM_TSTAMP_SND: u32 = 0;
const SCM_TSTAMP_SCHED: u32 = 1;

/// Time in which frames may still arrive without a stamp on a busy host, used where that cannot be
/// tested.
const SETTLE: Span = Span::from_millis(20);
/// Limit on that test.
const PATIENCE: Span = Span::from_secs(1);

/// Type and code of ICMP (RFC 792).
const PORT_UNREACHABLE: (u8, u8) = (3, 3);

/// Octets for control messages: one with three time stamps, and one error report with an address.
const CONTROL: usize = 256;

/// Buffer for control messages, aligned as their headers require.
#[repr(C, align(8))]
struct Control([u8; CONTROL]);

/// Enables stamps on everything that the socket sends and receives from now on.
///
/// The kernel enables receive stamps in a separate task, a little later: a packet to ourselves
/// shows when it has.
pub fn enable(socket: BorrowedFd<'_>) -> io::Result<()> {
    switch_on(socket)?;
    // Without a loopback device waiting is the only option.
    if !are_on_within(PATIENCE).unwrap_or(false) {
        std::thread::sleep(SETTLE);
    }
    Ok(())
}

fn are_on_within(patience: Span) -> io::Result<bool> {
    let own = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    own.connect(own.local_addr()?)?;
    own.set_read_timeout(Some(SETTLE))?;
    switch_on(own.as_fd())?;
    let begun = std::time::Instant::now();
    let mut buffer = [0; 8];
    while begun.elapsed() < patience {
        own.send(&[0])?;
        let is_stamped = receive(own.as_fd(), &mut buffer).is_ok_and(|found| found.1.is_some());
        if is_stamped {
            return Ok(true);
        }
        std::thread::sleep(Span::from_millis(1));
    }
    Ok(false)
}

fn switch_on(socket: BorrowedFd<'_>) -> io::Result<()> {
    let wanted = libc::SOF_TIMESTAMPING_TX_SCHED
        | libc::SOF_TIMESTAMPING_TX_SOFTWARE
        | libc::SOF_TIMESTAMPING_RX_SOFTWARE
        | libc::SOF_TIMESTAMPING_SOFTWARE
        | libc::SOF_TIMESTAMPING_OPT_ID
        | libc::SOF_TIMESTAMPING_OPT_TSONLY;
    option::set(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &wanted)
}

/// Result of one `recvmsg` call.
struct Received {
    len: usize,
    /// The sender; empty if the kernel does not say.
    address: SockAddr,
    stamp: Option<RealNs>,
    /// Kind and number of the stamp, if it is that of a sent payload.
    sent: Option<(u32, u32)>,
    /// Whether it is the message of a host that nobody listens at `address`.
    is_closed: bool,
}

fn receive_message(socket: BorrowedFd<'_>, buffer: &mut [u8], flags: i32) -> io::Result<Received> {
    let mut control = MaybeUninit::<Control>::uninit();
    let mut address = SockAddrStorage::zeroed();
    // SAFETY: all zeros are a valid `msghdr`.
    let mut message: libc::msghdr = unsafe { zeroed() };
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    message.msg_name = (&raw mut address).cast();
    message.msg_namelen = address.size_of();
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = fit(CONTROL);
    // SAFETY: the descriptor is open; all pointers are to live memory of the lengths given.
    let len = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) };
    let len = usize::try_from(len).map_err(|_| io::Error::last_os_error())?;
    let mut found = Received {
        len,
        // SAFETY: the kernel has written an address of this length, possibly zero.
        address: unsafe { SockAddr::new(address, message.msg_namelen) },
        stamp: None,
        sent: None,
        is_closed: false,
    };
    // SAFETY: the kernel has filled in the message; the macros stay within its control part.
    let mut head = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
    while !head.is_null() {
        // SAFETY: `head` is a whole control message, which starts with this structure.
        let (level, kind, octets): (_, _, usize) =
            unsafe { ((*head).cmsg_level, (*head).cmsg_type, fit((*head).cmsg_len)) };
        // SAFETY: as above.
        let data = unsafe { libc::CMSG_DATA(head) };
        // The kernel shortens a message for which there is no room.
        let octets = octets.saturating_sub(size_of::<libc::cmsghdr>());
        if (level, kind) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING)
            && octets >= size_of::<[libc::timespec; 3]>()
        {
            // SAFETY: this kind carries three `timespec`, the first of which is the software stamp.
            let stamps: [libc::timespec; 3] = unsafe { data.cast::<[_; 3]>().read_unaligned() };
            let software = Some(stamps[0]).filter(|stamp| stamp.tv_sec != 0);
            found.stamp = software.map(|stamp| stamp.tv_sec * 1_000_000_000 + stamp.tv_nsec);
        } else if flags & libc::MSG_ERRQUEUE != 0 && octets >= size_of::<libc::sock_extended_err>()
        {
            // SAFETY: on the error queue, all other kinds (IP_RECVERR, IPV6_RECVERR,
            // PACKET_TX_TIMESTAMP) start with this structure, and this one is as long.
            let error: libc::sock_extended_err =
                unsafe { data.cast::<libc::sock_extended_err>().read_unaligned() };
            if error.ee_origin == libc::SO_EE_ORIGIN_TIMESTAMPING {
                found.sent = Some((error.ee_info, error.ee_data));
            }
            found.is_closed |= error.ee_origin == libc::SO_EE_ORIGIN_ICMP
                && (error.ee_type, error.ee_code) == PORT_UNREACHABLE;
        }
        // SAFETY: `head` is a message of this header.
        head = unsafe { libc::CMSG_NXTHDR(&raw const message, head) };
    }
    Ok(found)
}

/// Receives a payload with its stamp and the sender's address.
pub(crate) fn receive(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
) -> io::Result<(usize, Option<RealNs>, SockAddr)> {
    let found = receive_message(socket, buffer, 0)?;
    Ok((found.len, found.stamp, found.address))
}

/// Takes the next message from the error queue, and passes the address at which nobody listens to
/// `tell`, if it says so. Returns whether there was a message.
pub(crate) fn closed(
    socket: BorrowedFd<'_>,
    tell: &mut impl FnMut(SocketAddr),
) -> io::Result<bool> {
    match receive_message(socket, &mut [], libc::MSG_ERRQUEUE) {
        Ok(found) => {
            let address = found.address.as_socket();
            address.filter(|_| found.is_closed).into_iter().for_each(tell);
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns the next stamp of a sent payload; `None` if there is none now.
///
/// Other messages on the error queue are skipped.
pub(crate) fn sent(socket: BorrowedFd<'_>) -> io::Result<Option<Sent>> {
    loop {
        let found = match receive_message(socket, &mut [], libc::MSG_ERRQUEUE) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        };
        let (Some(at), Some((info, number))) = (found.stamp, found.sent) else {
            continue;
        };
        let place = match info {
            SCM_TSTAMP_SCHED => StampPoint::Queue,
            SCM_TSTAMP_SND => StampPoint::Driver,
            _ => continue,
        };
        return Ok(Some(Sent { number, place, at }));
    }
}
