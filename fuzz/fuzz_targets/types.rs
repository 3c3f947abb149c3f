//! Reads arbitrary octets as descriptions of types and as messages that ask for them: no panic, and
//! a type that is built is described and built the same again.
//!
//! `cargo +nightly fuzz run types -- -max_len=1024`
#![no_main]

#[path = "../../crates/rtether-rtps/tests/octets/types.rs"]
mod types;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|octets: &[u8]| {
    types::check(octets);
});
