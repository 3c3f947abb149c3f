//! Reads arbitrary scenarios: no panic, and a scenario exactly if there is no error.
//!
//! `cargo +nightly fuzz run load -- -dict=fuzz/load.dict -max_len=4096`
#![no_main]

use libfuzzer_sys::fuzz_target;
use rtether::scenario::{load, render};

fuzz_target!(|text: &str| {
    let loaded = load("fuzz.yaml", text);
    assert_eq!(loaded.scenario.is_none(), loaded.has_errors());
    let _ = loaded.text(render::Style::Plain);
    let _ = loaded.json();
    for diagnostic in &loaded.diagnostics {
        for (_, edit) in diagnostic.edits() {
            assert!(edit.apply(text).is_some());
        }
    }
});
