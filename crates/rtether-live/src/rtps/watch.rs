//! Datagrams as seen by a trace.

use std::net::SocketAddrV4;

/// Source and destination of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Envelope {
    /// UDP.
    Udp {
        /// Sender.
        from: SocketAddrV4,
        /// Destination; for received datagrams, the address of the receiving socket.
        to: SocketAddrV4,
        /// DSCP of sent datagrams.
        dscp: u8,
    },
    /// An Ethernet frame: the fields before the message.
    Frame {
        /// Destination station.
        to: [u8; 6],
        /// Source station.
        from: [u8; 6],
        /// Tag, if any; the kernel removes that of received frames.
        tag: Option<u16>,
        /// The `EtherType`.
        ethertype: u16,
        /// Source and destination port.
        ports: [u16; 2],
    },
}

/// A datagram sent or received.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Time of day in nanoseconds, when it was passed to the system or received from it.
    pub wall_ns: i64,
    /// Whether it was sent.
    pub is_sent: bool,
    /// Source and destination.
    pub envelope: Envelope,
    /// The message.
    pub message: &'a [u8],
}

/// Called with every datagram; must not block.
pub type Watch = Box<dyn FnMut(&Seen<'_>) + Send>;
