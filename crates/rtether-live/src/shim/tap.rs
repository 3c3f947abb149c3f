//! TAP devices: the shim reads what the kernel sends out of one, and the kernel receives what the
//! shim writes.
//!
//! A TAP disappears with its descriptor, however the process ends.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use super::ShimError;
use crate::link::Device;

/// Largest frame, in octets, short of a jumbogram.
pub(super) const FRAME_MAX: usize = 65_535;
/// Largest MTU of a TAP: the device's MTU may grow, but never beyond this.
pub(super) const MTU: usize = FRAME_MAX - 14;
/// Frames that may wait to be read; further ones are dropped and counted.
pub(super) const QUEUE: usize = 1_000;

/// A TAP in the namespace in which it was opened.
#[derive(Debug)]
pub(super) struct Tap {
    file: File,
    name: String,
    index: i32,
}

impl Tap {
    /// Creates a TAP that is down and has IPv6 disabled; `None` if a device of this name is in use.
    pub(super) fn open(name: &str) -> Result<Option<Self>, ShimError> {
        let failed = |source| ShimError::Tap { name: name.to_owned(), source };
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        options.custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC);
        let file = options.open("/dev/net/tun").map_err(failed)?;
        if let Err(error) = set_name(&file, name) {
            let is_there = error.raw_os_error() == Some(libc::EBUSY);
            return if is_there { Ok(None) } else { Err(failed(error)) };
        }
        // Best effort: IPv6 may be absent. `/proc/sys/net` is that of the namespace.
        let switch = format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6");
        let _ = std::fs::write(switch, "1");
        let index = Device::named(name)?.index();
        let name = name.to_owned();
        Ok(Some(Self { file, name, index }))
    }

    /// Returns its name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns its interface index.
    pub(super) fn index(&self) -> i32 {
        self.index
    }

    /// Reads the next frame; `None` if none is waiting.
    pub(super) fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match (&self.file).read(buffer) {
            Ok(length) => Ok(Some(length)),
            Err(error) if is_later(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes a frame, which the kernel receives on this device.
    pub(super) fn write(&self, frame: &[u8]) -> io::Result<()> {
        (&self.file).write(frame).map(|_| ())
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Returns whether the error only means that nothing is available now.
pub(super) fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Attaches a descriptor of `/dev/net/tun` to a new device.
fn set_name(file: &File, name: &str) -> io::Result<()> {
    if name.len() >= libc::IFNAMSIZ {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: all zeros are a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    let flags = libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_TUN_EXCL;
    request.ifr_ifru.ifru_flags =
        libc::c_short::from_ne_bytes(u16::try_from(flags).unwrap_or(0).to_ne_bytes());
    // SAFETY: the descriptor is open, and the pointer is to a live `ifreq` with a terminated name.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
