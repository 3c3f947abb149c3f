//! The meter between two namespaces of this host.
//!
//! Needs root and iproute2; a test that cannot run prints why. `cargo xtask test` counts them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod faults;
mod meter;
mod wire;
