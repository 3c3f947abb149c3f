//! Socket options for which the wrappers in use have no call.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Sets an option whose value is a number or a plain structure of the system.
pub(crate) fn set<T: Copy>(
    socket: &impl AsFd,
    level: libc::c_int,
    name: libc::c_int,
    value: &T,
) -> io::Result<()> {
    let length = libc::socklen_t::try_from(size_of::<T>());
    let length = length.map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: the descriptor is open while it is borrowed; pointer and length are those of a live
    // value, which the kernel only reads.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(value).cast(),
            length,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Number of memory counters that the kernel keeps for a socket (`linux/sock_diag.h`).
const NUMBERS: usize = 9;
/// Index of the counter of drops.
const DROPS: usize = 8;

/// Returns how many payloads the kernel has dropped because the socket's buffer was full: what
/// `SO_RXQ_OVFL` reports with the next payload, but without one.
pub(crate) fn drops(socket: &impl AsFd) -> io::Result<u32> {
    let mut numbers = [0_u32; NUMBERS];
    let mut length = libc::socklen_t::try_from(size_of_val(&numbers)).unwrap_or(0);
    // SAFETY: the descriptor is open while it is borrowed; pointer and length are those of a live
    // array, which the kernel fills as far as it can.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            numbers.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if result == 0 { Ok(numbers[DROPS]) } else { Err(io::Error::last_os_error()) }
}

/// Returns whether segments of a connection carry timestamps (RFC 7323); `false` if the kernel does
/// not say.
pub(crate) fn has_timestamps(socket: &impl AsFd) -> bool {
    /// Octet of `tcp_info` with the options, and the bit of timestamps (`linux/tcp.h`).
    const OPTIONS: usize = 5;
    const TIMESTAMPS: u8 = 1;
    const ROOM: libc::socklen_t = 8;
    let mut info = [0_u8; ROOM as usize];
    let mut length = ROOM;
    // SAFETY: the descriptor is open while it is borrowed; pointer and length are those of a live
    // array, which the kernel fills as far as it can.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    result == 0 && info[OPTIONS] & TIMESTAMPS != 0
}

/// Makes a device also receive frames for other stations while the packet socket is open.
pub(crate) fn promiscuous(socket: &impl AsFd, device: i32) -> io::Result<()> {
    membership(socket, device, libc::PACKET_MR_PROMISC, None)
}

/// Makes a device also receive frames for a group while the packet socket is open.
pub(crate) fn join(socket: &impl AsFd, device: i32, group: [u8; 6]) -> io::Result<()> {
    membership(socket, device, libc::PACKET_MR_MULTICAST, Some(group))
}

fn membership(
    socket: &impl AsFd,
    device: i32,
    kind: libc::c_int,
    group: Option<[u8; 6]>,
) -> io::Result<()> {
    let mut address = [0; 8];
    address[..6].copy_from_slice(&group.unwrap_or_default());
    let membership = libc::packet_mreq {
        mr_ifindex: device,
        mr_type: u16::try_from(kind).unwrap_or_default(),
        mr_alen: if group.is_some() { 6 } else { 0 },
        mr_address: address,
    };
    set(socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &membership)
}
