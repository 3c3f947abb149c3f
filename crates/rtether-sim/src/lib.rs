//! Deterministic discrete-event simulator of Ethernet networks and their end nodes.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod tcp;
pub mod trace;
