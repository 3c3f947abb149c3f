//! YAML on pages: whole files load; in fragments every key, word and quantity is valid.

use rtether::scenario::{self, render};

use crate::page::{Mark, Page};

/// Diagnostics that a fragment of a scenario may cause.
const OF_PARTS: [&str; 9] = [
    "missing-key",
    "unknown-node",
    "unknown-stack",
    "unknown-port",
    "nothing-to-run",
    "unmatched-accept",
    "unused-node",
    "unused-stack",
    "no-route",
];

/// Returns what is wrong with the YAML of a page.
pub(crate) fn check(page: &Page) -> Vec<String> {
    let blocks = page.blocks.iter().filter(|block| block.language == "yaml");
    let mut mistakes = Vec::new();
    for block in blocks {
        let (place, text) = (page.place(block), page.text(block) + "\n");
        if block.has(&Mark::NotRun) {
            continue;
        }
        let is_part = block.has(&Mark::Fragment);
        if !is_part && !text.lines().any(|line| line == "rtether: 1") {
            let advice = "write `rtether: 1` first, or `<!-- fragment -->` above";
            mistakes.push(format!("{place}: {advice}"));
            continue;
        }
        if block.has(&Mark::Shim) {
            let loaded = rtether_testbed::shim::config::load(&place, &text);
            if !loaded.diagnostics.is_empty() {
                mistakes.push(loaded.text(render::Style::Plain));
            }
            continue;
        }
        let head = if is_part { "rtether: 1\n" } else { "" };
        let loaded = scenario::load(&place, &format!("{head}{text}"));
        for diagnostic in &loaded.diagnostics {
            if !is_part || !OF_PARTS.contains(&diagnostic.code) {
                mistakes.push(render::text(diagnostic, &loaded.sources, render::Style::Plain));
            }
        }
    }
    mistakes
}
