//! Drivers that host the engines of `rtether-proto` on Linux: clocks, threads, sockets.
//!
//! The only crate with `unsafe` code, and the only one that depends on an operating system. Drivers
//! carry out what an engine says and make no protocol decisions.
#![cfg(target_os = "linux")]
#![allow(
    unsafe_code,
    reason = "system calls without a safe wrapper; each block has its reason"
)]

mod bpf;
#[cfg(any(feature = "c", test))]
pub mod c;
pub mod calibrate;
pub mod clock;
pub mod confine;
pub mod emulator;
pub mod filter;
mod fit;
pub mod host;
mod informant;
pub mod link;
pub mod load;
pub mod meter;
pub mod mirror;
pub mod namespace;
mod option;
pub mod privileges;
pub mod process;
pub mod responder;
pub mod rtps;
pub mod shim;
mod spare;
pub mod stall;
pub mod stamps;
pub mod station;
pub mod thread;
pub mod timestamping;
pub mod wait;
mod wall;
