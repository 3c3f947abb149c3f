//! Addresses of the network devices.

use std::ffi::CStr;
use std::io;
use std::net::Ipv4Addr;
use std::ptr;

/// A device of this namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Whether it is up.
    pub is_up: bool,
    /// Its IPv4 addresses, the primary one first.
    pub addresses: Vec<Ipv4Addr>,
    /// Prefix lengths of these addresses, in bits.
    pub prefix_lengths: Vec<u8>,
}

/// Frees the list of the system.
struct List(*mut libc::ifaddrs);

impl Drop for List {
    fn drop(&mut self) {
        // SAFETY: the list comes from `getifaddrs` and is freed once.
        unsafe { libc::freeifaddrs(self.0) };
    }
}

/// Returns the devices of this namespace with their addresses, in kernel order.
///
/// # Errors
/// The error of the system.
pub fn interfaces() -> io::Result<Vec<Interface>> {
    let mut list = List(ptr::null_mut());
    // SAFETY: the pointer is to a live pointer, which the call sets.
    if unsafe { libc::getifaddrs(&raw mut list.0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut found: Vec<Interface> = Vec::new();
    let mut next = list.0;
    while !next.is_null() {
        // SAFETY: an entry of the list, which lives as long as `list`.
        let entry = unsafe { &*next };
        next = entry.ifa_next;
        // SAFETY: every entry has a null-terminated name that lives as long as the list.
        let name = unsafe { CStr::from_ptr(entry.ifa_name) };
        let name = name.to_string_lossy().into_owned();
        let index = found.iter().position(|known| known.name == name);
        let index = index.unwrap_or_else(|| {
            const UP: libc::c_uint = libc::IFF_UP.cast_unsigned();
            found.push(Interface {
                name,
                is_up: entry.ifa_flags & UP != 0,
                addresses: Vec::new(),
                prefix_lengths: Vec::new(),
            });
            found.len() - 1
        });
        if let Some(address) = ipv4(entry.ifa_addr) {
            found[index].addresses.push(address);
            let mask = ipv4(entry.ifa_netmask).unwrap_or(Ipv4Addr::BROADCAST);
            let bits = mask.to_bits().leading_ones();
            found[index].prefix_lengths.push(u8::try_from(bits).unwrap_or(32));
        }
    }
    Ok(found)
}

/// Reads an address of a live entry.
fn ipv4(address: *const libc::sockaddr) -> Option<Ipv4Addr> {
    if address.is_null() {
        return None;
    }
    // SAFETY: the pointer is not null, and every address begins with its family.
    let family = unsafe { (*address).sa_family };
    if i32::from(family) != libc::AF_INET {
        return None;
    }
    // SAFETY: an address of this family is a `sockaddr_in`, possibly unaligned.
    let address = unsafe { ptr::read_unaligned(address.cast::<libc::sockaddr_in>()) };
    Some(Ipv4Addr::from(address.sin_addr.s_addr.to_ne_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: RFC 1122, 3.2.1.3: a host has 127.0.0.1 on its loopback device.
    #[test]
    fn the_loopback_device_has_its_address() {
        let found = interfaces().unwrap();
        let loopback = found.iter().find(|device| device.name == "lo").unwrap();
        if loopback.is_up {
            assert!(loopback.addresses.contains(&Ipv4Addr::LOCALHOST));
        }
        let mut names: Vec<_> = found.iter().map(|device| &device.name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), found.len(), "each device once");
    }
}
