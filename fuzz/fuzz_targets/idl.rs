//! Reads arbitrary text as types: no panic, and the empty value of each type is written and read.
//!
//! `cargo +nightly fuzz run idl -- -max_len=2048`
#![no_main]

#[path = "../../crates/rtether-testbed/tests/octets/idl.rs"]
mod idl;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|octets: &[u8]| {
    idl::check(octets);
});
