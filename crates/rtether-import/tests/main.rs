//! Tests of the importers.
//! Each file, or folder, is a module; `cargo test -p rtether-import --test it NAME::` runs one.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]
#![allow(clippy::print_stdout, reason = "figures, and what repeats a failure")]

mod cabling;
mod capture;
mod captures;
mod check;
mod devices;
mod hostile;
mod inet;
mod lists;
mod qcc;
mod saihu;
mod substation;
mod written;
