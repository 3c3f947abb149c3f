//! `check --fix`: files that are read while others write them.

use std::cell::Cell;

use rtether::check;
use rtether::fix::{Fix, Which, mend};
use rtether::run::{Progress, simulate};

/// Oracle: the text that was read first. One that changes while edits are tried is neither the old side of
/// the diff nor what a file is compared with before it is written.
#[test]
fn edits_are_of_the_files_as_they_were_read() {
    let text = "rtether: 1\ninclude: more.yaml\nnodes: { a: { stack: zero }, b: { stack: zero } }\n\
                links: [{ ends: [a, b], rate: 100 Mbit/s }]\nrun: { for: 1 ms }\n";
    let more = "flows: [{ name: f, from: a, to: b, size: 64, period: 1 ms }]\n";
    let reads = Cell::new(0);
    let read = |_: &str| {
        reads.set(reads.get() + 1);
        let change = if reads.get() > 1 { "# changed meanwhile\n" } else { "" };
        Ok(format!("{more}{change}"))
    };
    let fix = Fix { name: "plant.yaml", text, read: &read, overrides: &[], which: Which::Certain };
    let mended = mend(&fix, |scenario, _| {
        let results = simulate(&scenario, &Progress::default()).ok()?;
        Some(check::conclude(scenario, results, check::Options::default()))
    });
    let mended = mended.expect("nothing ends it early");
    let name = mended.fixed.files.keys().next().expect("a missing unit is an edit").clone();
    assert!(name.ends_with("more.yaml"), "{name}");
    assert_eq!(mended.originals[&name], more);
    assert_eq!(mended.fixed.files[&name], more.replace("size: 64", "size: 64 B"));
    assert!(!mended.diff.contains("meanwhile"), "{}", mended.diff);
}
