//! Kernel receive stamps of packets.
//!
//! `SO_TIMESTAMPNS` stamps with the real-time clock, so all times here are of that clock, in
//! nanoseconds since 1970. A step of the clock shows as a negative or implausible time.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::fit::fit;
use crate::option;

/// Returns the real-time clock in nanoseconds.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

/// Makes the kernel stamp what the socket receives.
pub(super) fn enable(socket: BorrowedFd<'_>) -> io::Result<()> {
    let on: libc::c_int = 1;
    option::set(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &on)
}

/// Buffer for control messages, aligned as their headers require.
#[repr(C, align(8))]
struct Control([u8; 128]);

/// Returns the length of the next packet and its stamp; `None` if there is none now.
pub(super) fn receive(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
) -> io::Result<Option<(usize, Option<i64>)>> {
    let mut vector = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let mut control = Control([0; 128]);
    // SAFETY: all fields are integers or pointers, for which zero is a value.
    let mut header: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    header.msg_iov = &raw mut vector;
    header.msg_iovlen = 1;
    header.msg_control = (&raw mut control).cast();
    header.msg_controllen = fit(size_of::<Control>());
    // SAFETY: the header names one vector over `buffer` and the buffer for control messages, all of
    // which live until after the call.
    let length = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, libc::MSG_DONTWAIT) };
    let Ok(length) = usize::try_from(length) else {
        let error = io::Error::last_os_error();
        let is_pause =
            matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted);
        return if is_pause { Ok(None) } else { Err(error) };
    };
    Ok(Some((length, stamp(&header))))
}

fn stamp(header: &libc::msghdr) -> Option<i64> {
    // SAFETY: the kernel has filled the header and the buffer it names.
    let mut item = unsafe { libc::CMSG_FIRSTHDR(header) };
    // SAFETY: null, or a header inside that buffer, which is aligned for headers.
    while let Some(head) = unsafe { item.as_ref() } {
        let is_stamp =
            head.cmsg_level == libc::SOL_SOCKET && head.cmsg_type == libc::SCM_TIMESTAMPNS;
        if is_stamp {
            // SAFETY: the data of this kind is one `timespec`, possibly unaligned.
            let time = unsafe { libc::CMSG_DATA(item).cast::<libc::timespec>().read_unaligned() };
            return time.tv_sec.checked_mul(1_000_000_000)?.checked_add(time.tv_nsec);
        }
        // SAFETY: the item belongs to the header.
        item = unsafe { libc::CMSG_NXTHDR(header, item) };
    }
    None
}
