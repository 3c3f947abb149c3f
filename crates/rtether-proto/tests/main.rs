//! Tests of engines that are simulated and deployed.
//! Each file, or folder, is a module; `cargo test -p rtether-proto --test it NAME::` runs one.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]
#![allow(clippy::print_stdout, reason = "figures, and what repeats a failure")]

mod egress;
mod frames;
mod smoother;
