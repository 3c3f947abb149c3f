//! Hosts the prober of devices ([`rtether_proto::identify`]) on sockets.
//!
//! A [`Line`] carries the messages of one protocol to one device and back. [`Interview`] sends what
//! the prober asks for in the words of a [`Dialect`], and tells it when packets left and answers came:
//! by the clock of this host, at the call that sends and after the call that receives.
//!
//! What comes is not trusted: buffers are limited, and what is malformed, from another address or
//! too long is counted and dropped; a device that sends without end ends the measurement.

mod arps;
mod connects;
mod datagrams;
mod icmp;
mod interview;
mod stream;

use std::io;

use rtether_model::quantity::Duration;

pub use arps::Arps;
pub use connects::Connects;
pub use datagrams::Datagrams;
pub use icmp::{Pings, Quotes};
pub use interview::{Interview, Oddities, ask};
pub use stream::Stream;

/// Octets of the longest message that is received whole.
const MESSAGE_MAX: usize = 2_048;

/// What a line has received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received<'a> {
    /// Nothing is there now.
    Nothing,
    /// A message.
    Message(&'a [u8]),
    /// A message from another address than the device's.
    Foreign(&'a [u8]),
    /// A message above the longest that is received.
    TooLong,
}

/// Carries messages to one device and back. Only [`Line::wait`] blocks.
pub trait Line {
    /// Sends a message for a packet with this name.
    ///
    /// # Errors
    /// Those of the system; [`is_passing`](crate::meter) ones lose the message.
    fn send(&mut self, id: u32, message: &[u8]) -> io::Result<()>;

    /// As [`Self::send`], with high priority, where the line has one.
    ///
    /// # Errors
    /// As [`Self::send`].
    fn send_high(&mut self, id: u32, message: &[u8]) -> io::Result<()> {
        self.send(id, message)
    }

    /// Returns what has come.
    ///
    /// # Errors
    /// Those of the system, and a stream that is of no further use.
    fn receive(&mut self) -> io::Result<Received<'_>>;

    /// Waits until something comes, for at most this time.
    ///
    /// # Errors
    /// Those of the system.
    fn wait(&mut self, left: Duration) -> io::Result<()>;
}
