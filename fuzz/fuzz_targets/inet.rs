//! Imports arbitrary networks of INET: NED, a line of `%%`, and `omnetpp.ini`.
//!
//! `cargo +nightly fuzz run inet -- -max_len=8192`
#![no_main]

#[path = "../../crates/rtether-import/tests/check/mod.rs"]
mod check;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|octets: &[u8]| {
    check::check_parts(&["Plant.ned", "omnetpp.ini"], octets);
});
