//! Tests of the publish-subscribe engine, with several participants in virtual time.
//! Each file, or folder, is a module; `cargo test -p rtether-rtps --test it NAME::` runs one.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]
#![allow(clippy::print_stdout, reason = "figures, and what repeats a failure")]

mod along;
mod application;
mod content;
mod counts;
mod demand;
mod failover;
mod faults;
mod groups;
mod hostile;
#[path = "common/net.rs"]
mod net;
mod octets;
mod policies;
mod rtps1;
mod scale;
mod separation;
