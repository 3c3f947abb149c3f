//! Imports arbitrary octets: a plan that is consistent in itself, or a reason.
//!
//! `cargo +nightly fuzz run import -- -max_len=16384`
#![no_main]

#[path = "../../crates/rtether-import/tests/check/mod.rs"]
mod check;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|octets: &[u8]| {
    check::check(octets);
});
