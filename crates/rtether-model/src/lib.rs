//! The foundation of rtether: quantities, the network, its flows, and the record of a run.
//!
//! Everything here is plain data with integer arithmetic. The crate parses no files, knows no
//! protocol state, reads no clock and has no dependencies, so that the simulator and the bounds
//! engine share its types without sharing any algorithm.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod access;
pub mod admission;
pub mod arp;
pub mod characters;
pub mod demand;
pub mod empirical;
pub mod endnode;
pub mod flow;
pub mod histogram;
mod index;
pub mod ingress;
pub mod mac;
pub mod network;
pub mod partition;
mod priority;
pub mod quantity;
pub mod record;
mod redundancy;
pub mod registration;
pub mod route;
mod scheme;
mod second;
mod selection;
pub mod shim;
pub mod smoother;
pub mod stall;
pub mod unknown;
pub mod wire;
