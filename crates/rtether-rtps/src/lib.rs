//! Publish-subscribe over RTPS 2.5, sans-IO.
//!
//! Time and datagrams go in, datagrams and samples come out: no code here reads a clock, opens a
//! socket or starts a thread, so that the same engine runs in the simulator and on a wire (R70).
//!
//! Clauses are those of DDSI-RTPS 2.5 (OMG formal/2022-04-01) unless another standard is named.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;
// Code from `#[derive(Data)]` names the crate `rtether_rtps`, inside this crate too.
extern crate self as rtether_rtps;

pub mod application;
pub mod cdr;
pub mod discovery;
pub mod dynamic;
pub mod engine;
pub mod filter;
pub mod guid;
pub mod locator;
pub mod matching;
pub mod qos;
pub mod reader;
pub mod sequence;
pub mod time;
pub mod typed;
pub mod types;
pub mod wire;
pub mod writer;
pub mod xtypes;
