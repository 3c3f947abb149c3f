//! Background load: the protocol between client and sink, pacing, and counts of arrivals.
//!
//! The client opens a TCP connection and sends its request ([`Hello`]); the sink accepts or
//! declines in a [`Report`]. Data then flows over the connection, or in datagrams beside it, and a
//! second report closes. The sink sends no datagrams, so that forging a sender address is useless.

mod pace;
mod tally;
mod wire;

pub use pace::Pacer;
pub use tally::Tally;
pub use wire::{DATAGRAM_MIN, Datagram, Hello, Malformed, Report, Status, Wish};
