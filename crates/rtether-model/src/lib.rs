//! The ground floor of rtether: quantities, the network, its flows, and what a run says of them.
//!
//! Everything here is plain data with integer arithmetic. The crate parses no files, knows no
//! protocol state, reads no clock and depends on nothing, so that the simulator and the bounds
//! engine can share these words without sharing any algorithm.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod empirical;
pub mod endnode;
pub mod flow;
pub mod histogram;
pub mod network;
pub mod quantity;
pub mod record;
pub mod route;
pub mod smoother;
pub mod wire;
