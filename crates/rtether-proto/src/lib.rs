//! Wire formats and sans-IO engines of the end-node layer.
//!
//! Time, frames and seeds are passed in and work is returned: nothing here reads a clock, opens a
//! socket or starts a thread, so the same engine runs in the simulator and on a wire (R70).
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod access;
pub mod admission;
pub mod arp;
pub mod egress;
pub mod endnode;
pub mod ingress;
pub mod load;
pub mod port;
pub mod probe;
pub mod smoother;
pub mod spacer;
