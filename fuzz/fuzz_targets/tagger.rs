//! Puts tags into arbitrary octets and takes them out: no panic, pop undoes push, and nothing but the
//! tag changes.
//!
//! `cargo +nightly fuzz run tagger -- -max_len=9200`
#![no_main]

#[path = "../../crates/rtether-proto/tests/frames/tagger.rs"]
mod tagger;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|octets: &[u8]| tagger::check(octets));
