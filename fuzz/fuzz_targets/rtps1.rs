//! Reads arbitrary octets as messages of RTPS 1.0: no panic, no octet beyond a limit, and what is
//! read is written again as it was.
//!
//! `cargo +nightly fuzz run rtps1 -- -max_len=2048`
#![no_main]

#[path = "../../crates/rtether-rtps/tests/octets/v1.rs"]
#[allow(dead_code, reason = "the writer is also used by a test over captures")]
mod v1;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|octets: &[u8]| {
    v1::check(octets);
});
