//! Tests of the test bed, of its topics, and of octets from outside.
//! Each file, or folder, is a module; `cargo test -p rtether-testbed --test it NAME::` runs one.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]
#![allow(clippy::print_stdout, reason = "figures, and what repeats a failure")]

mod octets;
mod testbed;
mod topics;
