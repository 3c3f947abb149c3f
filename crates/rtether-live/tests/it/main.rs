//! Tests between network namespaces of this host.
//!
//! Needs root and iproute2, which `cargo xtask test` installs if permitted (`RTETHER_IP` is its
//! path); a test that cannot run prints why, and is counted.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod bed;
mod connections;
mod emulator;
mod faults;
mod frames;
mod journal;
mod meter;
mod shim;
mod shim_kernel;
#[path = "../common/skip.rs"]
mod skip;
mod station;
mod trust;
mod udp;
mod wire;

/// Repeats a call interrupted by a signal, such as that of any child that ends: the kernel does not
/// restart calls with a time-out.
pub(crate) fn repeated<T>(mut call: impl FnMut() -> std::io::Result<T>) -> std::io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}
