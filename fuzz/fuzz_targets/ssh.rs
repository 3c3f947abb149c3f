//! Reads arbitrary octets as what coordinator and agent say over ssh: no panic, up to the table of what
//! was measured.
//!
//! `cargo +nightly fuzz run ssh -- -max_len=2048`
#![no_main]

#[path = "../../crates/rtether-testbed/tests/octets/ssh.rs"]
mod ssh;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|octets: &[u8]| {
    ssh::check(octets);
});
