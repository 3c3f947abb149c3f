//! Requests that only read, and their answers, in the protocols that devices speak.
//!
//! A host asks for what the prober wants in a [`Dialect`]: [`modbus`] and [`opcua`] over TCP, [`snmp`]
//! and CNDEP over UDP, [`enip`] over both, ICMP echo, ARP, rtether's own echo, datagrams and connections
//! to closed ports.
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
mod arp;
mod carrier;
mod cndep;
mod cursor;
mod dialect;
pub mod enip;
mod message;
pub mod modbus;
pub mod opcua;
mod side;
pub mod snmp;
mod splitter;

pub use answer::{Answer, Channel, Malformed, Outcome, TEXT_MAX};
pub use carrier::Carrier;
pub use dialect::{Dialect, Ended};
pub use message::{Heard, Request};
pub use side::{Conversation, Side};
pub use splitter::{Framing, Splitter};

#[cfg(test)]
mod tests;
