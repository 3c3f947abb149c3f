//! Reads arbitrary scenarios of several files: no panic, a scenario exactly if there is no error,
//! and a limit on the files that are read.
//!
//! `cargo +nightly fuzz run include -- -dict=fuzz/load.dict -max_len=4096`
#![no_main]

#[path = "../../crates/rtether-scenario/tests/included/mod.rs"]
mod included;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    included::check(text);
});
