//! Datagrams as somebody sees them who keeps a trace.

use std::net::SocketAddrV4;

/// Between whom a datagram goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Envelope {
    /// UDP.
    Udp {
        /// Who has sent it.
        from: SocketAddrV4,
        /// To whom; of datagrams that came, the socket that heard it.
        to: SocketAddrV4,
        /// DSCP of those that went out.
        dscp: u8,
    },
    /// A frame of its own: what stands before the message.
    Frame {
        /// To which station.
        to: [u8; 6],
        /// From which.
        from: [u8; 6],
        /// The tag, if there is one; the kernel takes that of frames that came.
        tag: Option<u16>,
        /// The `EtherType`.
        ethertype: u16,
        /// The ports of source and destination.
        ports: [u16; 2],
    },
}

/// A datagram that went out or came in.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Time of day in nanoseconds, when it was handed to the system or taken from it.
    pub wall_ns: i64,
    /// Whether it went out.
    pub is_sent: bool,
    /// Between whom.
    pub envelope: Envelope,
    /// The message.
    pub message: &'a [u8],
}

/// Is shown every datagram; it must not wait.
pub type Watch = Box<dyn FnMut(&Seen<'_>) + Send>;
