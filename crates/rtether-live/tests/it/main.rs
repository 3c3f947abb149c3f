//! The meter between two namespaces of this host.
//!
//! Needs root and iproute2, which `cargo xtask test` installs where it may (`RTETHER_IP` is its
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
mod station;
mod trust;
mod udp;
mod wire;

/// Repeats a call that a signal has interrupted, as the end of any child may do: the kernel repeats
/// no call with a time-out by itself.
pub(crate) fn repeated<T>(mut call: impl FnMut() -> std::io::Result<T>) -> std::io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}
