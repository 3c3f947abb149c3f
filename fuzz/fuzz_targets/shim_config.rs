//! Reads arbitrary text as the configuration of a shim: no panic, and a configuration exactly if there is
//! no error.
//!
//! `cargo +nightly fuzz run shim_config -- -max_len=2048`
#![no_main]

#[path = "../../crates/rtether-testbed/tests/octets/shim_config.rs"]
mod shim_config;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|octets: &[u8]| {
    shim_config::check(octets);
});
