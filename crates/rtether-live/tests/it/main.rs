//! Tests between network namespaces of this host.
//!
//! Needs root and iproute2, which `cargo xtask test` installs if permitted (`RTETHER_IP` is its
//! path); a test that cannot run prints why, and is counted.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]
#![allow(clippy::print_stdout, reason = "figures, and what repeats a failure")]

mod application;
mod bed;
mod connections;
mod emulator;
mod faults;
mod frames;
mod identify;
mod journal;
mod meter;
mod portable;
mod reflection;
mod shim;
mod shim_kernel;
mod station;
mod trust;
mod udp;
mod wire;
