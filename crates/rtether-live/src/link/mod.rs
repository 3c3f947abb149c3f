//! Ways for a payload to a peer and back.

mod icmp;
mod raw;
mod udp;

use std::io;
use std::ops::Range;
use std::os::fd::AsFd;

pub use icmp::Icmp;
pub use raw::{Device, DeviceError, MacAddress, ParseMacError, Raw, RawOptions};
pub(crate) use raw::{link_address, write_header};
pub(crate) use udp::set_priority;
pub use udp::{Udp, UdpOptions};

/// A socket that sends payloads to one peer and receives what comes back from it.
///
/// Neither call waits: [`crate::wait::Waiter`] does.
pub trait Link: AsFd {
    /// Octets of a payload at least; shorter ones cannot be told from padding.
    fn payload_min(&self) -> usize {
        0
    }

    /// Sends one payload.
    fn send(&mut self, payload: &[u8]) -> io::Result<()>;

    /// Returns where in `buffer` the next payload lies; `None` if there is none now.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Range<usize>>>;
}

/// A socket that receives payloads from anybody and answers them.
pub trait Service: AsFd {
    /// Who is to get the answer.
    type Peer: Copy;

    /// Returns where in `buffer` the next payload lies and who has sent it.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<(Range<usize>, Self::Peer)>>;

    /// Sends a payload back. `buffer` is the one it was received in: what lies before `payload` may
    /// be overwritten.
    fn answer(
        &mut self,
        buffer: &mut [u8],
        payload: Range<usize>,
        to: Self::Peer,
    ) -> io::Result<()>;
}

/// Turns "nothing there" into `None`.
fn ready<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
