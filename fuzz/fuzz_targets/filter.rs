//! Reads arbitrary text as content filters with parameters: no panic, negation negates, and what the
//! check of a filter promises holds.
//!
//! `cargo +nightly fuzz run filter -- -max_len=512`
#![no_main]

#[path = "../../crates/rtether-rtps/tests/octets/filter.rs"]
mod filter;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|octets: &[u8]| {
    filter::check(octets);
});
