//! Captures of simulated traffic: frames without bytes become bytes that packet tools can read.
//!
//! # Scope and limitations
//!
//! The simulator moves descriptions of frames. [`FrameDescription`] gives one the bytes it would
//! have had: real headers with valid checksums, and a payload of zeros. [`Capture`] puts them into
//! a pcapng file, one interface per port, with times in nanoseconds (simulated picoseconds are
//! rounded down). Captures carry no FCS, no preamble, and nothing of bit errors. IP packets are
//! never fragmented; IPv6, ARP and the dynamic content of GOOSE, sampled values and PROFINET are
//! left out: their payload of zeros is not valid in those protocols.

mod datagram;
pub mod frame;
pub mod pcapng;

pub use datagram::append_udp;
pub use frame::{Destination, FrameDescription, Tag};
pub use pcapng::{Capture, InterfaceId};
