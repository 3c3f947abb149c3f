//! A device that is only looked at, such as one at the mirror port of a switch.
//!
//! Frames for any address are received with the stamp of the kernel; a tag that the card has taken
//! out is put back. Nothing is sent.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::clock::monotonic_and_real_ns;
use crate::emulator::tap::Tap;
use crate::link::{Device, DeviceError};

/// Octets of a frame that are received: all of usual ones, and the headers of larger ones.
const OCTETS: usize = 2_048;
/// Octets of a tag, and of the addresses before it.
const TAG: usize = 4;
const ADDRESSES: usize = 12;
const TAGGED: [u8; 2] = [0x81, 0x00];

/// A frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen<'a> {
    /// When the driver delivered it, in nanoseconds since 1970.
    pub at: i64,
    /// Its octets, as far as they are kept, with its tag.
    pub octets: &'a [u8],
    /// Octets on the wire, without check sequence.
    pub length: usize,
}

/// The device.
#[derive(Debug)]
pub struct Mirror {
    tap: Tap,
    device: i32,
    buffer: Vec<u8>,
}

impl Mirror {
    /// Opens a device of the calling thread's network namespace.
    ///
    /// # Errors
    /// If there is no such device, or no right to receive its frames; later none is needed.
    pub fn open(name: &str) -> Result<Self, DeviceError> {
        let device = Device::named(name)?.index();
        let tap = Tap::open(&[device])
            .map_err(|source| DeviceError::Socket { name: name.to_owned(), source })?;
        Ok(Self { tap, device, buffer: vec![0; TAG + OCTETS] })
    }

    /// Returns the next frame; `None` if there is none now.
    ///
    /// # Errors
    /// If the device is down or gone.
    pub fn receive(&mut self) -> io::Result<Option<Seen<'_>>> {
        let seen = loop {
            match self.tap.receive(&mut self.buffer[TAG..])? {
                None => return Ok(None),
                // The socket receives from all devices of its namespace.
                Some(seen) if seen.device == self.device => break seen,
                Some(_) => {}
            }
        };
        let kept = seen.length.min(OCTETS);
        let at = seen.stamp.unwrap_or_else(now);
        let Some(tag) = seen.tag.filter(|_| kept >= ADDRESSES) else {
            return Ok(Some(Seen {
                at,
                octets: &self.buffer[TAG..TAG + kept],
                length: seen.length,
            }));
        };
        self.buffer.copy_within(TAG..TAG + ADDRESSES, 0);
        self.buffer[ADDRESSES..ADDRESSES + 2].copy_from_slice(&TAGGED);
        self.buffer[ADDRESSES + 2..ADDRESSES + 4].copy_from_slice(&tag.to_be_bytes());
        Ok(Some(Seen { at, octets: &self.buffer[..TAG + kept], length: seen.length + TAG }))
    }

    /// Returns how many frames were dropped for lack of room since the last call.
    pub fn dropped(&self) -> u64 {
        self.tap.overruns()
    }

    /// Waits for a frame, at most this long.
    ///
    /// # Errors
    /// That of the system.
    pub fn wait(&self, most: Duration) -> io::Result<()> {
        let most = Timespec {
            tv_sec: i64::try_from(most.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: most.subsec_nanos().into(),
        };
        let socket = self.tap.as_fd();
        match poll(&mut [PollFd::new(&socket, PollFlags::IN)], Some(&most)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns the clock of the stamps, in nanoseconds since 1970.
pub fn now() -> i64 {
    monotonic_and_real_ns().1
}
