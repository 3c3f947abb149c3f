//! One packet socket for all devices of a namespace, with receive stamps and tags.
//!
//! The kernel strips the tag of a received frame and passes it as ancillary data. One socket for
//! all devices delivers frames in order of arrival and takes one system call instead of one per
//! device.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use socket2::{Domain, Socket, Type};

use crate::fit::fit;
use crate::option;

/// Receive buffer, in octets.
const BUFFER: i32 = 16 << 20;

/// A received frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Index of the device.
    pub(crate) device: i32,
    /// Length without tag and check sequence, in octets; more than the buffer if it was too long.
    pub(crate) length: usize,
    /// Real time in nanoseconds since 1970 at which the driver delivered it.
    pub(crate) stamp: Option<i64>,
    /// Tag control information.
    pub(crate) tag: Option<u16>,
    /// The sender left the checksum to hardware that does not exist.
    pub(super) lacks_checksum: bool,
}

/// The socket.
#[derive(Debug)]
pub(crate) struct Tap {
    socket: Socket,
}

impl Tap {
    /// Opens a socket in the namespace of the calling thread that receives all frames on these
    /// devices, for any address.
    pub(crate) fn open(devices: &[i32]) -> io::Result<Self> {
        // Nothing is received before the socket is bound.
        let this = Self { socket: Socket::new(Domain::PACKET, Type::RAW, None)? };
        this.socket.set_nonblocking(true)?;
        let on: libc::c_int = 1;
        option::set(&this.socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &on)?;
        option::set(&this.socket, libc::SOL_PACKET, libc::PACKET_AUXDATA, &on)?;
        option::set(&this.socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &on)?;
        option::set(&this.socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &on)?;
        // Exceeding `rmem_max` needs a right that raw sockets do not.
        let socket = &this.socket;
        if option::set(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &BUFFER).is_err() {
            option::set(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &BUFFER)?;
        }
        for &device in devices {
            option::promiscuous(socket, device)?;
        }
        this.bind()?;
        Ok(this)
    }

    fn bind(&self) -> io::Result<()> {
        let all = u16::try_from(libc::ETH_P_ALL).unwrap_or(3);
        let address = address(0, all);
        // SAFETY: the descriptor is open; pointer and length are those of a live address.
        let result = unsafe {
            libc::bind(self.socket.as_raw_fd(), (&raw const address).cast(), length_of(&address))
        };
        check(result).map(|_| ())
    }

    /// Receives the next frame; `None` if there is none now.
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<Seen>> {
        // Aligned for the headers of control messages; two of them take 72 octets.
        let mut control = [0_u64; 32];
        // SAFETY: all zeros are a valid address.
        let mut from: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        // SAFETY: all zeros are a valid, empty header.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_name = (&raw mut from).cast();
        header.msg_namelen = length_of(&from);
        header.msg_iov = &raw mut part;
        header.msg_iovlen = 1;
        header.msg_control = control.as_mut_ptr().cast();
        header.msg_controllen = fit(size_of_val(&control));
        // Returns the length of the whole frame even if it did not fit.
        let flags = libc::MSG_TRUNC | libc::MSG_DONTWAIT;
        // SAFETY: the descriptor is open, and all pointers of the header are to live buffers of the
        // stated lengths.
        let result = unsafe { libc::recvmsg(self.socket.as_raw_fd(), &raw mut header, flags) };
        let Ok(length) = usize::try_from(result) else {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::WouldBlock
                || error.kind() == io::ErrorKind::Interrupted
            {
                Ok(None)
            } else {
                Err(error)
            };
        };
        let mut seen = Seen { device: from.sll_ifindex, length, ..Seen::default() };
        read_control(&header, &mut seen);
        Ok(Some(seen))
    }

    /// Sends a frame out of a device.
    pub(super) fn send(&self, device: i32, frame: &[u8]) -> io::Result<()> {
        let to = address(device, 0);
        // SAFETY: the descriptor is open; pointers and lengths are those of live buffers, which the
        // kernel only reads.
        let result = unsafe {
            libc::sendto(
                self.socket.as_raw_fd(),
                frame.as_ptr().cast(),
                frame.len(),
                libc::MSG_DONTWAIT,
                (&raw const to).cast(),
                length_of(&to),
            )
        };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Returns how many frames were dropped for lack of room in the socket since the last call.
    pub(crate) fn overruns(&self) -> u64 {
        let mut statistics = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut length = length_of(&statistics);
        // SAFETY: the descriptor is open; pointer and length are those of a live structure, which
        // the kernel fills in.
        let result = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut statistics).cast(),
                &raw mut length,
            )
        };
        if result == 0 { u64::from(statistics.tp_drops) } else { 0 }
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Reads stamp and tag from the control messages of a received frame.
fn read_control(header: &libc::msghdr, seen: &mut Seen) {
    // SAFETY: the header has been filled in by the kernel, and its buffer is still alive.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(header) };
    // SAFETY: the macro returns null or a pointer to a whole header inside the buffer.
    while let Some(message) = unsafe { next.as_ref() } {
        // SAFETY: the message lies in the buffer, and so does its data.
        let data = unsafe { libc::CMSG_DATA(next) };
        let length = fit(message.cmsg_len);
        match (message.cmsg_level, message.cmsg_type) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) if has_room::<libc::timespec>(length) => {
                // SAFETY: the message holds such a structure, as its length says; it may be
                // unaligned, and any octets are a valid one.
                let time: libc::timespec = unsafe { std::ptr::read_unaligned(data.cast()) };
                let seconds = time.tv_sec.checked_mul(1_000_000_000);
                seen.stamp = seconds.and_then(|ns| ns.checked_add(time.tv_nsec));
            }
            (libc::SOL_PACKET, libc::PACKET_AUXDATA)
                if has_room::<libc::tpacket_auxdata>(length) =>
            {
                // SAFETY: as above.
                let auxiliary: libc::tpacket_auxdata =
                    unsafe { std::ptr::read_unaligned(data.cast()) };
                let has = |flag: libc::__u32| auxiliary.tp_status & flag != 0;
                seen.tag = has(libc::TP_STATUS_VLAN_VALID).then_some(auxiliary.tp_vlan_tci);
                seen.lacks_checksum = has(libc::TP_STATUS_CSUMNOTREADY);
            }
            _ => {}
        }
        // SAFETY: as for the first one.
        next = unsafe { libc::CMSG_NXTHDR(header, next) };
    }
}

fn has_room<T>(length: usize) -> bool {
    // SAFETY: arithmetic only.
    let header = unsafe { libc::CMSG_LEN(0) };
    length >= header as usize + size_of::<T>()
}

fn address(device: i32, protocol: u16) -> libc::sockaddr_ll {
    libc::sockaddr_ll {
        sll_family: libc::sa_family_t::try_from(libc::AF_PACKET).unwrap_or_default(),
        sll_protocol: protocol.to_be(),
        sll_ifindex: device,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 6,
        sll_addr: [0; 8],
    }
}

fn length_of<T>(value: &T) -> libc::socklen_t {
    libc::socklen_t::try_from(size_of_val(value)).unwrap_or(0)
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}
