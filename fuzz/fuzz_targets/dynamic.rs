//! Reads arbitrary octets as values of types that are described at run time: no panic, and what is
//! read is written and read again the same.
//!
//! `cargo +nightly fuzz run dynamic -- -max_len=512`
#![no_main]

#[path = "../../crates/rtether-rtps/tests/octets/dynamic.rs"]
mod dynamic;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|octets: &[u8]| {
    dynamic::check(octets);
});
