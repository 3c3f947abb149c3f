//! Opens a store on arbitrary octets: no panic, nothing served that is not in the file, and nothing lost
//! that is kept from then on.
//!
//! `cargo +nightly fuzz run journal -- -max_len=8192`
#![no_main]

#[path = "../../crates/rtether-live/tests/it/journal/check.rs"]
mod check;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|octets: &[u8]| {
    check::check(octets);
});
