//! Captures of simulated traffic: bytes for simulated frames, readable by packet tools.
//!
//! # Scope and limitations
//!
//! The simulator moves descriptions of frames. [`FrameDescription`] turns one into the bytes it
//! would have had: real headers with valid checksums, and a payload of zeros; RTPS datagrams have
//! their real octets. [`Capture`] writes them to a pcapng file, one interface per port, with times
//! in nanoseconds (simulated picoseconds are rounded down). Captures carry no FCS, no preamble and
//! no bit errors. IPv6, ARP and the dynamic content of GOOSE, sampled values and PROFINET are left
//! out: a payload of zeros is not valid in those protocols. Of access schemes, the control frames
//! of TDMA and Powerlink are written; those of others have no format that is known.

mod control;
mod datagram;
pub mod frame;
pub mod pcapng;

pub use control::append_control;
pub use datagram::append_udp;
pub use frame::{Destination, FrameDescription, Tag, append_trailer};
pub use pcapng::{Capture, InterfaceId};
