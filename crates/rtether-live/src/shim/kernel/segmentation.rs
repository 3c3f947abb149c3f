//! Segmentation that a device leaves to itself, which is switched off while the shim is there.
//!
//! A sender hands over up to 64 KiB in one piece if the device can split it. To a queue that is one
//! packet: it would block a link of 100 Mbit/s for five milliseconds. `ethtool -K DEVICE tso on`
//! switches on more than it has switched off, so features are kept and restored one by one
//! (`linux/ethtool.h`, *features*).

use std::io;
use std::os::fd::AsRawFd;

use socket2::{Domain, Socket, Type};

/// `SIOCETHTOOL` of `linux/sockios.h`, and its commands.
const SIOCETHTOOL: libc::Ioctl = 0x8946;
const GET_SET_INFO: u32 = 0x37;
const GET_STRINGS: u32 = 0x1b;
const GET_FEATURES: u32 = 0x3a;
const SET_FEATURES: u32 = 0x3b;
/// The set of strings that names the features.
const FEATURES: u32 = 4;
/// Octets of a name.
const NAME: usize = 32;
/// More features than any kernel has.
const FEATURES_MAX: usize = 512;

/// Features of a device by their numbers, 32 in each word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Features(pub(super) Vec<u32>);

impl Features {
    fn is_on(&self, number: usize) -> bool {
        let word = self.0.get(number / 32).copied().unwrap_or(0);
        word >> (number % 32) & 1 == 1
    }

    /// Returns whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }
}

/// Returns the segmentation features of a device that somebody wants, with their names.
pub(super) fn wanted(device: &str) -> io::Result<(Features, Vec<String>)> {
    let socket = Socket::new(Domain::UNIX, Type::DGRAM, None)?;
    let names = names(&socket, device)?;
    let words = names.len().div_ceil(32);
    // Command, words; of each word what can be changed, what is wanted, what is on, what never
    // changes.
    let mut request = vec![0; 2 + 4 * words];
    request[0] = GET_FEATURES;
    request[1] = u32::try_from(words).unwrap_or(0);
    ethtool(&socket, device, &mut request)?;
    let blocks = request[2..].chunks_exact(4);
    let changeable = Features(
        blocks
            .map(|block| block[0] & block[1] & !block[3])
            .collect(),
    );
    let mut found = Features(vec![0; words]);
    let mut found_names = Vec::new();
    for (number, name) in names.into_iter().enumerate() {
        let is_segmentation = name.starts_with("tx-") && name.ends_with("-segmentation");
        if is_segmentation && changeable.is_on(number) {
            found.0[number / 32] |= 1 << (number % 32);
            found_names.push(name);
        }
    }
    Ok((found, found_names))
}

/// Switches features of a device on or off, and no others.
pub(super) fn switch(device: &str, features: &Features, on: bool) -> io::Result<()> {
    let socket = Socket::new(Domain::UNIX, Type::DGRAM, None)?;
    let words = u32::try_from(features.0.len()).unwrap_or(0);
    let mut request = vec![SET_FEATURES, words];
    for &word in &features.0 {
        request.extend([word, if on { word } else { 0 }]);
    }
    ethtool(&socket, device, &mut request)
}

/// Returns the names of all features.
fn names(socket: &Socket, device: &str) -> io::Result<Vec<String>> {
    // Command, reserved, the mask of sets in two words, then the length of each.
    let mut info = [GET_SET_INFO, 0, 0, 0, 0];
    let mask = (1_u64 << FEATURES).to_ne_bytes();
    for (to, from) in info[2..4].iter_mut().zip(mask.chunks_exact(4)) {
        *to = from
            .first_chunk()
            .map_or(0, |word| u32::from_ne_bytes(*word));
    }
    ethtool(socket, device, &mut info)?;
    let count = usize::try_from(info[4]).unwrap_or(0).min(FEATURES_MAX);
    let mut strings = vec![0; 3 + count * NAME / 4];
    strings[..2].copy_from_slice(&[GET_STRINGS, FEATURES]);
    strings[2] = u32::try_from(count).unwrap_or(0);
    ethtool(socket, device, &mut strings)?;
    let octets: Vec<u8> = strings[3..]
        .iter()
        .flat_map(|word| word.to_ne_bytes())
        .collect();
    let names = octets.chunks_exact(NAME).map(super::message::text);
    Ok(names.collect())
}

/// Carries out a command that reads and writes these words; they are as many as it needs.
fn ethtool(socket: &Socket, device: &str, words: &mut [u32]) -> io::Result<()> {
    if device.len() >= libc::IFNAMSIZ {
        return Err(io::ErrorKind::NotFound.into());
    }
    // SAFETY: all zeros are a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(device.bytes()) {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
    // SAFETY: the descriptor is open; the request has a name that ends and points to live words
    // that nobody else uses, as many as the numbers among them tell the kernel.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
