//! Turns off offloads that virtual devices have no hardware for.

use std::io;
use std::os::fd::AsRawFd;

use socket2::{Domain, Socket, Type};

/// `SIOCETHTOOL` of `linux/sockios.h`.
const SIOCETHTOOL: libc::Ioctl = 0x8946;

/// One offload: its name in `ethtool -K`, and the commands that read and write it
/// (`linux/ethtool.h`).
struct Offload {
    name: &'static str,
    get: u32,
    set: u32,
}

/// Segmentation, aggregation, and checksums that no hardware would fill in.
const OFFLOADS: [Offload; 4] = [
    Offload { name: "tso", get: 0x1e, set: 0x1f },
    Offload { name: "gso", get: 0x23, set: 0x24 },
    Offload { name: "gro", get: 0x2b, set: 0x2c },
    Offload { name: "tx", get: 0x16, set: 0x17 },
];

/// An offload cannot be turned off.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot switch offload `{offload}` of `{device}` off: {source}; try `ethtool -K {device} {offload} off`"
)]
pub struct OffloadError {
    /// The device.
    pub device: String,
    /// The offload, by its name in `ethtool -K`.
    pub offload: &'static str,
    /// The error of the system.
    pub source: io::Error,
}

/// Arguments of the commands (`struct ethtool_value`).
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// Makes a device of the calling thread's namespace send and receive frames as on a wire:
/// segmentation, aggregation and checksum offloads off, as by `ethtool -K DEVICE tso off gso off
/// gro off tx off`.
///
/// Both ends of a veth pair need this if an emulator carries its frames: a sender that leaves
/// checksums and segmentation to hardware hands over frames of up to 64 KiB without checksums, and
/// nothing between two packet sockets corrects that.
///
/// # Errors
/// If an offload is on and the device refuses to turn it off.
pub fn offloads_off(device: &str) -> Result<(), OffloadError> {
    for offload in &OFFLOADS {
        let failed =
            |source| OffloadError { device: device.to_owned(), offload: offload.name, source };
        let socket = Socket::new(Domain::UNIX, Type::DGRAM, None).map_err(failed)?;
        let is_on = |get| match command(&socket, device, get, 0) {
            Ok(value) => Ok(value != 0),
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(false),
            Err(error) => Err(error),
        };
        if is_on(offload.get).map_err(failed)? {
            command(&socket, device, offload.set, 0).map_err(failed)?;
        }
        if is_on(offload.get).map_err(failed)? {
            let fixed = io::Error::other("the device keeps it on");
            return Err(failed(fixed));
        }
    }
    Ok(())
}

fn command(socket: &Socket, device: &str, command: u32, data: u32) -> io::Result<u32> {
    if device.len() >= libc::IFNAMSIZ {
        return Err(io::ErrorKind::NotFound.into());
    }
    let mut value = Value { command, data };
    // SAFETY: all zeros are a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(device.bytes()) {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: the descriptor is open; the request has a terminated name and points to a live
    // structure of the kind that these commands read and write.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(value.data)
}
