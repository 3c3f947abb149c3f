//! Reads arbitrary octets as what is asked of a shim: no panic, however they are cut into pieces.
//!
//! `cargo +nightly fuzz run control -- -max_len=1024`
#![no_main]

#[path = "../../crates/rtether-testbed/tests/octets/control.rs"]
mod control;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|octets: &[u8]| {
    control::check(octets);
});
