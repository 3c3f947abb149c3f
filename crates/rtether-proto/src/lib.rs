//! Wire formats and sans-IO engines of the end-node layer.
//!
//! Time and frames are handed in, work is handed out: nothing here reads a clock, opens a socket,
//! starts a thread or draws a random number, so that one engine runs in the simulator and on a
//! wire (R70).
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod endnode;
pub mod smoother;
