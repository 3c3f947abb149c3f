//! Probes the requirements of `AF_XDP`.

use std::ffi::CString;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use crate::bpf::{self, EXIT, MOVE_VALUE, ProgramType, XDP_NATIVE, attach_xdp, op};

/// `XDP_PASS`.
const PASS: i32 = 2;

/// Opens an `AF_XDP` socket and closes it.
pub(super) fn try_socket() -> io::Result<()> {
    // SAFETY: no pointer is passed.
    let socket = unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    owned(socket.into()).map(drop)
}

/// Attaches a program that passes every frame to a device's driver, and detaches it.
pub(super) fn try_native(device: &str) -> io::Result<()> {
    let name = CString::new(device).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: the string is null-terminated and alive.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 {
        return Err(io::Error::last_os_error());
    }
    let pass = [op(MOVE_VALUE, 0, 0, 0, PASS), op(EXIT, 0, 0, 0, 0)];
    let program = bpf::load(ProgramType::Xdp, &pass)?;
    // Closing the link detaches the program.
    attach_xdp(&program, index, XDP_NATIVE).map(drop)
}

fn owned(result: libc::c_long) -> io::Result<OwnedFd> {
    let descriptor = i32::try_from(result).map_err(|_| io::ErrorKind::InvalidData)?;
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just returned this descriptor; it has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
