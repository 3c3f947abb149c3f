//! Background load: what client and sink say to each other, when to send, and what has arrived.
//!
//! The client opens a TCP connection and says what it wants ([`Hello`]); the sink answers with a
//! [`Report`] whether it will. Then octets flow over the connection, or datagrams beside it, and a
//! second report closes. The sink sends no datagram at all, so that a forged sender address gains
//! nothing.

mod pace;
mod tally;
mod wire;

pub use pace::Pacer;
pub use tally::Tally;
pub use wire::{DATAGRAM_MIN, Datagram, Hello, Malformed, Report, Status, Wish};
