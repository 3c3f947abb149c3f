//! Requests that only read, and their answers, in the protocols that devices speak.
//!
//! A host asks for what the prober wants in a [`Dialect`]: [`modbus`] over TCP, [`snmp`] over UDP,
//! [`enip`] over both, ICMP echo, rtether's own echo, datagrams and connections to closed ports.
//!
//! 1. [`Dialect::request`] builds the request of a packet; as its token it carries the lower bits of
//!    the prober's name for the packet, those in the protocol's `TOKEN`.
//! 2. Over TCP, a [`Splitter`] cuts what comes back into messages.
//! 3. [`Dialect::read`] reads a message: its token, the octets of its frame and its [`Outcome`].
//!
//! [`Carrier`] turns octets of messages into those of frames. A protocol whose sizes can be chosen
//! says which choice comes nearest to a frame, and what that is in truth.
//!
//! **Invariant:** no function builds a request that writes. What comes from the network is not
//! trusted: no claimed length or count is believed before its octets are there, nothing recurses,
//! and only texts, which are limited, are kept.

mod answer;
mod carrier;
mod cursor;
mod dialect;
pub mod enip;
pub mod modbus;
mod side;
pub mod snmp;
mod splitter;

pub use answer::{Answer, Malformed, Outcome, TEXT_MAX};
pub use carrier::Carrier;
pub use dialect::{Dialect, Ended, Heard, Request};
pub use side::{Conversation, Side};
pub use splitter::{Framing, Splitter};

#[cfg(test)]
mod tests;
