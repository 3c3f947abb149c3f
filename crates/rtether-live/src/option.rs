//! Options of sockets for which no wrapper in use has a call.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Sets an option whose value is a number or a plain structure of the system's.
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
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Has a device also take in frames for others, as long as the packet socket is open.
pub(crate) fn promiscuous(socket: &impl AsFd, device: i32) -> io::Result<()> {
    let membership = libc::packet_mreq {
        mr_ifindex: device,
        mr_type: u16::try_from(libc::PACKET_MR_PROMISC).unwrap_or(1),
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set(
        socket,
        libc::SOL_PACKET,
        libc::PACKET_ADD_MEMBERSHIP,
        &membership,
    )
}
