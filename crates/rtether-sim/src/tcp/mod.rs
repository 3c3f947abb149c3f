//! TCP for bulk and application-limited transfers and for messages, on segments without bytes.
//!
//! # Scope and limitations
//!
//! A [`Sender`] and a [`Receiver`] carry data one way; an [`Endpoint`] has one of each and carries
//! it both ways, acknowledging with its data (RFC 9293, 3.4). Modeled: the opening handshake, slow
//! start and congestion avoidance (RFC 5681, RFC 3465), fast retransmit and `NewReno` recovery (RFC
//! 6582), limited transmit (RFC 3042), the retransmission timer with Karn's rule and back-off (RFC
//! 6298), delayed acknowledgements (RFC 1122, 4.2.3.2; RFC 5681, 4.2), Nagle's rule (RFC 1122,
//! 4.2.3.4), the initial window (RFC 6928, RFC 3390), the restart after idleness (RFC 5681, 4.1),
//! the receive window, and the sender's FIN.
//!
//! Left out on purpose:
//! - data or a FIN from a receiver alone; a connection is half closed when it ends;
//! - handshake and end of a connection between endpoints, which is always open;
//! - the zero window: the receiving application reads at once, so the window is constant;
//! - SACK, timestamps, ECN, window scaling as an option (windows are simply 32 bits wide), RST,
//!   path MTU discovery, pacing, urgent data, keep-alive;
//! - wrapping sequence numbers: they are 64 bits, start at 0 for the SYN, and the first octet of
//!   data is number 1;
//! - Linux's quick acknowledgements at the start of a connection, its RTO of SRTT plus at least
//!   the floor (here, as in RFC 6298, the floor holds for the whole RTO), and its CUBIC.
//!
//! # Model
//!
//! The engines do no input or output. Each change (`open`, `write`, `finish`, `handle_segment`,
//! `handle_timeout`) is followed by `poll_transmit` until it returns `None`, before the next
//! change: an out-of-order segment whose acknowledgement is not fetched at once is not acknowledged
//! twice. Then `poll_timeout` says when to call `handle_timeout`. `now` may never decrease. Nothing
//! is allocated; the one buffer, the receiver's list of out-of-order ranges, has a fixed capacity.
//!
//! Checked against worked examples of the RFCs, under random loss, duplication and reordering, and
//! against the throughput of `smoltcp` over the same bottleneck (`tests/tcp`).

mod config;
mod congestion;
mod endpoint;
mod receiver;
mod rto;
mod segment;
mod sender;

pub use config::{Config, CongestionControl, Counting, InitialWindow, MAX_RANGES};
pub use endpoint::Endpoint;
pub use receiver::{Receiver, ReceiverStatistics};
pub use segment::{Flags, Segment};
pub use sender::{Sender, SenderStatistics, State};
