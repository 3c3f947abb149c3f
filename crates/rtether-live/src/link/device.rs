//! Network devices of this host.

use std::io;
use std::os::fd::AsRawFd;

use rtether_model::mac::MacAddress;
use socket2::{Domain, Socket, Type};

use crate::fit::fit;

/// A network device of this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    pub(super) index: i32,
    pub(super) address: MacAddress,
    mtu: usize,
}

/// Why a device cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// No device has this name.
    #[error("no network device `{name}`; `ip -br link` lists those there are")]
    Unknown {
        /// The name.
        name: String,
    },
    /// It has no Ethernet address.
    #[error("`{name}` is not an Ethernet device")]
    NoEthernet {
        /// The name.
        name: String,
    },
    /// No right to raw frames.
    #[error(
        "raw frames on `{name}`: {source}; run as root, or `sudo setcap cap_net_raw+ep` on the \
         program"
    )]
    Socket {
        /// The device.
        name: String,
        /// The error of the system.
        source: io::Error,
    },
    /// `AF_XDP` does not work here.
    #[error("AF_XDP on `{name}`, {doing}: {source}{remedy}")]
    Xdp {
        /// The device.
        name: String,
        /// What was attempted.
        doing: &'static str,
        /// The error of the system.
        source: io::Error,
        /// What to do about it, with a leading separator.
        remedy: &'static str,
    },
}

impl Device {
    /// Finds a device of the calling thread's network namespace.
    pub fn named(name: &str) -> Result<Self, DeviceError> {
        let unknown = || DeviceError::Unknown { name: name.to_owned() };
        let socket = Socket::new(Domain::UNIX, Type::DGRAM, None).map_err(|_| unknown())?;
        let index = rustix::net::netdevice::name_to_index(&socket, name).map_err(|_| unknown())?;
        let index = i32::try_from(index).map_err(|_| unknown())?;
        // `/sys` shows the namespace in which it was mounted, so ask the kernel by a socket.
        let address = hardware_address(&socket, name)
            .ok_or_else(|| DeviceError::NoEthernet { name: name.to_owned() })?;
        let mtu = mtu(&socket, name).ok_or_else(unknown)?;
        Ok(Self { index, address, mtu })
    }

    /// Returns its index in its namespace.
    pub fn index(&self) -> i32 {
        self.index
    }

    /// Returns its Ethernet address.
    pub fn address(&self) -> MacAddress {
        self.address
    }

    /// Returns the largest payload, in octets: between the type of a frame and its check sequence.
    pub fn mtu(&self) -> usize {
        self.mtu
    }
}

/// Queries the kernel about a device by one of the `SIOCGIF` calls.
fn ask(socket: &Socket, name: &str, call: libc::Ioctl) -> Option<libc::ifreq> {
    if name.len() >= libc::IFNAMSIZ {
        return None;
    }
    // SAFETY: all zeros are a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    // SAFETY: the descriptor is open, and the pointer is to a live `ifreq` with a terminated name.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), call, &raw mut request) };
    (result == 0).then_some(request)
}

fn mtu(socket: &Socket, name: &str) -> Option<usize> {
    let answer = ask(socket, name, fit(libc::SIOCGIFMTU))?;
    // SAFETY: the call has filled in this member of the union.
    usize::try_from(unsafe { answer.ifr_ifru.ifru_mtu }).ok()
}

fn hardware_address(socket: &Socket, name: &str) -> Option<MacAddress> {
    let answer = ask(socket, name, fit(libc::SIOCGIFHWADDR))?;
    // SAFETY: the call has filled in this member of the union.
    let address = unsafe { answer.ifr_ifru.ifru_hwaddr };
    // Loopback carries Ethernet frames, too; its address is all zeros.
    if ![libc::ARPHRD_ETHER, libc::ARPHRD_LOOPBACK].contains(&address.sa_family) {
        return None;
    }
    let mut octets = [0; 6];
    for (to, from) in octets.iter_mut().zip(address.sa_data) {
        [*to] = from.to_ne_bytes();
    }
    Some(MacAddress(octets))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_not_there_is_named() {
        let message = Device::named("nosuch0").expect_err("none").to_string();
        assert!(message.contains("nosuch0") && message.contains("ip -br link"), "{message}");
    }
}
