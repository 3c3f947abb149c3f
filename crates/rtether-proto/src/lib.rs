//! Wire formats and sans-IO engines of the end-node layer.
//!
//! Engines take the time as an argument and return work; they read no clock, open no socket and
//! draw no random number, so that the simulator and a live driver run the same code (R70).
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod endnode;
