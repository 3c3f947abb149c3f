//! Times at which the kernel received a packet.
//!
//! `SO_TIMESTAMPNS` stamps with the real-time clock, so all times here are of that clock: the
//! nanoseconds since 1970. A step of the clock shows as a negative or absurd time.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::option;

/// Returns the real-time clock in nanoseconds.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
    })
}

/// Asks the kernel to stamp what the socket receives.
pub(super) fn enable(socket: BorrowedFd<'_>) -> io::Result<()> {
    let on: libc::c_int = 1;
    option::set(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &on)
}

/// Room for control messages, aligned as their heads are.
#[repr(C, align(8))]
struct Control([u8; 128]);

/// Returns the length of the next packet and its stamp; `None` if nothing is there.
pub(super) fn receive(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
) -> io::Result<Option<(usize, Option<i64>)>> {
    let mut vector = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    let mut control = Control([0; 128]);
    // SAFETY: all fields are integers or pointers, for which zero is a value.
    let mut header: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    header.msg_iov = &raw mut vector;
    header.msg_iovlen = 1;
    header.msg_control = (&raw mut control).cast();
    header.msg_controllen = size_of::<Control>();
    // SAFETY: the header names one vector over `buffer` and the room for control messages, all of
    // which live until after the call.
    let length = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, libc::MSG_DONTWAIT) };
    let Ok(length) = usize::try_from(length) else {
        let error = io::Error::last_os_error();
        let is_pause = matches!(
            error.kind(),
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
        );
        return if is_pause { Ok(None) } else { Err(error) };
    };
    Ok(Some((length, stamp(&header))))
}

fn stamp(header: &libc::msghdr) -> Option<i64> {
    // SAFETY: the kernel has filled the header and the room that it names.
    let mut item = unsafe { libc::CMSG_FIRSTHDR(header) };
    // SAFETY: null, or a head inside that room, which is aligned for heads.
    while let Some(head) = unsafe { item.as_ref() } {
        let is_stamp =
            head.cmsg_level == libc::SOL_SOCKET && head.cmsg_type == libc::SCM_TIMESTAMPNS;
        if is_stamp {
            // SAFETY: the data of this kind is one `timespec`, perhaps not aligned.
            let time = unsafe {
                libc::CMSG_DATA(item)
                    .cast::<libc::timespec>()
                    .read_unaligned()
            };
            return time
                .tv_sec
                .checked_mul(1_000_000_000)?
                .checked_add(time.tv_nsec);
        }
        // SAFETY: both belong to each other.
        item = unsafe { libc::CMSG_NXTHDR(header, item) };
    }
    None
}
