//! Reads arbitrary octets as frames and classifies them: no panic, the fields that etherparse finds,
//! an existing class, and the rule that an evaluation bit by bit chooses.
//!
//! `cargo +nightly fuzz run classifier -- -max_len=9200`
#![no_main]

#[path = "../../crates/rtether-proto/tests/frames/classifier.rs"]
mod classifier;
#[path = "../../crates/rtether-proto/tests/frames/reading.rs"]
mod reading;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|octets: &[u8]| {
    classifier::check(octets);
});
