//! Tests of bounds against values worked out by hand.
//! Each file, or folder, is a module; `cargo test -p rtether-bounds --test it NAME::` runs one.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]
#![allow(clippy::print_stdout, reason = "figures, and what repeats a failure")]

mod arp;
mod connections;
mod copies;
mod exchanges;
mod gaps;
mod layers;
mod limited;
mod policed;
mod stacks;
mod worked;
