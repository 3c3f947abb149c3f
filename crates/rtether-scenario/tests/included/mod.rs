//! What holds for a scenario that includes any files; for a test and the fuzz target.

use std::cell::Cell;
use std::collections::BTreeMap;

use rtether_scenario::{load_from, render};

/// Most files that a scenario includes.
const FILES: usize = 64;

/// Reads a text as files: each begins with a line `--- NAME`, and the part before the first is the
/// scenario. Returns whether they make a scenario.
///
/// # Panics
///
/// Panics if there is a scenario in spite of errors or none without, or if files are read again and
/// again.
#[allow(unreachable_pub, reason = "a test and a fuzz target have it as a module")]
pub fn check(text: &str) -> bool {
    let mut files: BTreeMap<&str, String> = BTreeMap::new();
    let mut name = "";
    for line in text.lines() {
        if let Some(next) = line.strip_prefix("--- ") {
            name = next.trim();
        } else {
            let own = files.entry(name).or_default();
            own.push_str(line);
            own.push('\n');
        }
    }
    let asked = Cell::new(0);
    let read = |path: &str| {
        asked.set(asked.get() + 1);
        let found = files.get(path).cloned();
        found.ok_or_else(|| "there is no such file".to_owned())
    };
    let main = files.get("").cloned().unwrap_or_default();
    let loaded = load_from("main.yaml", &main, &read, &[], &[]);
    assert!(asked.get() <= FILES, "{} files", asked.get());
    assert_eq!(loaded.scenario.is_none(), loaded.has_errors());
    let _ = loaded.text(render::Style::Plain);
    let _ = loaded.json();
    loaded.scenario.is_some()
}
