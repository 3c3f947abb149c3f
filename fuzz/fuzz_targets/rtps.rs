//! Reads arbitrary octets as messages of RTPS, parameter lists and discovery data: no panic, no octet
//! beyond a limit, and what is read is written again as it was.
//!
//! `cargo +nightly fuzz run rtps -- -max_len=2048`
#![no_main]

#[path = "../../crates/rtether-rtps/tests/octets/check.rs"]
mod check;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|octets: &[u8]| check::check(octets));
