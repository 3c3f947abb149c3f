//! Tests of the language: what is read, refused, edited and written.
//! Each file, or folder, is a module; `cargo test -p rtether-scenario --test it NAME::` runs one.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]
#![allow(clippy::print_stdout, reason = "figures, and what repeats a failure")]

mod documents;
mod edits;
mod fix;
mod generate;
mod hub;
mod identified;
mod include;
mod included;
mod messages;
mod model;
mod profile;
mod robustness;
mod shim;
mod stations;
