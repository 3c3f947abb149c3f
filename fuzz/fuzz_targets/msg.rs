//! Reads arbitrary text as a message of ROS 2: no panic, and its empty value is written and read.
//!
//! `cargo +nightly fuzz run msg -- -max_len=2048`
#![no_main]

#[path = "../../crates/rtether-testbed/tests/octets/msg.rs"]
mod msg;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|octets: &[u8]| {
    msg::check(octets);
});
