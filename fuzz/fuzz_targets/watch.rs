//! Watches arbitrary frames: none is lost from the counts, alerts are lines, and memory is bounded.
//!
//! `cargo +nightly fuzz run watch -- -max_len=8192`
#![no_main]

#[path = "../../crates/rtether/tests/watched/mod.rs"]
mod watched;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|octets: &[u8]| {
    watched::check(octets);
});
