//! Every edit that a message proposes fixes the mistake it is about. Oracle: the loader, which
//! reads the edited file again.
//!
//! Advice in prose ("use a faster link") is not an edit and is not tried.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::fs;
use std::path::Path;

use rtether_scenario::mend::mend;
use rtether_scenario::{Diagnostic, load};

/// Returns the mistakes left after each edit proposed for a text, and the number of edits tried.
fn try_all(name: &str, text: &str) -> (Vec<String>, usize) {
    let (mut wrong, mut tried) = (Vec::new(), 0);
    let before = load(name, text).diagnostics;
    for diagnostic in &before {
        for help in &diagnostic.help {
            let Some(edited) = mend(text, diagnostic, help) else {
                continue;
            };
            tried += 1;
            let after = load(name, &edited).diagnostics;
            let is_same = |d: &Diagnostic| d.code == diagnostic.code && d.title == diagnostic.title;
            let count = |list: &[Diagnostic]| list.iter().filter(|d| is_same(d)).count();
            // The edit itself must not introduce one of these mistakes.
            let kinds = [
                "syntax",
                "value-out-of-range",
                "wrong-quantity",
                "wrong-type",
                "missing-unit",
                "unknown-unit",
                "unknown-key",
                "unknown-word",
            ];
            let is_new = |d: &&Diagnostic| {
                kinds.contains(&d.code) && before.iter().all(|b| b.title != d.title)
            };
            let fresh = after.iter().find(is_new);
            if count(&after) >= count(&before) || fresh.is_some() {
                let fresh = fresh.map_or("the same as before", |d| d.title.as_str());
                wrong.push(format!(
                    "{name}: {}: {help}: {fresh}\n{edited}",
                    diagnostic.title
                ));
            }
        }
    }
    (wrong, tried)
}

/// A one-line-per-key scenario to try values in.
fn plant(ports: &str, flow: &str) -> String {
    format!(
        "rtether: 1\nnodes: {{ a: {{ stack: zero }}, b: {{ stack: zero }} }}\n\
         switches: {{ s: {{ ports: {ports} }} }}\n\
         links: [{{ ends: [a, \"s:1\"], rate: 100 Mbit/s }}, {{ ends: [b, \"s:2\"], rate: 100 Mbit/s }}]\n\
         flows:\n  - {{ name: x, from: a, to: b, period: 2 ms, size: 64 B{flow} }}\n"
    )
}

#[test]
fn edits_for_the_files_of_bad_mend_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "yaml") {
            let name = path.file_name().unwrap().to_str().unwrap();
            let (found, count) = try_all(name, &fs::read_to_string(&path).unwrap());
            wrong.extend(found);
            tried += count;
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {tried}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(tried > 80, "{tried}");
}

#[test]
fn edits_for_what_people_write_mend_it() {
    let counts = [
        "0x4", "0X08", "4 ports", "0x", "0xffffff", "4.5", "-3", "four", "0",
    ];
    let texts = counts.iter().map(|ports| plant(ports, "")).chain(
        [
            ", reply: 200 B",
            ", reply: 200",
            ", reply: none",
            ", deadline: 0",
            ", deadline: -5",
            ", deadline: -5 sec",
            ", deadline: 3 sec",
            ", deadline: 99999999999",
            ", deadline: 1e99",
            ", pcp: 0x6",
            ", pcp: 9 high",
            ", vlan: 0x10",
            ", jitter: 1e-20",
            ", dscp: 0x2e",
            ", reply: { size: -4 bytes }",
            ", reply: { size: 4 Mb }",
            ", tcp: 1460 B",
        ]
        .iter()
        .map(|flow| plant("4", flow)),
    );
    let mut wrong = Vec::new();
    for text in texts {
        wrong.extend(try_all("x.yaml", &text).0);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_was_written_is_kept_in_the_edit() {
    // Oracle: the author's intent, by eye.
    for (text, expected) in [
        (plant("0x4", ""), "write `ports: 4`"),
        (plant("4", ", reply: 200 B"), "write `{ size: 200 B }`"),
    ] {
        let diagnostics = load("x.yaml", &text).diagnostics;
        let help: Vec<_> = diagnostics.iter().flat_map(|d| d.help.clone()).collect();
        assert_eq!(help, [expected]);
    }
}

/// Places at the start of a text are tried as well, whatever its first character is.
#[test]
fn a_text_that_begins_with_a_long_character_can_be_edited() {
    for first in ["a", "ü", "€", "𝄞"] {
        let text = format!("{first}: 1\n");
        let mut tried = 0;
        for diagnostic in &load("first.yaml", &text).diagnostics {
            for help in ["write `rtether: 1`", "add `rtether: 1`", "remove `a`"] {
                tried += usize::from(mend(&text, diagnostic, help).is_some());
            }
        }
        assert!(tried > 0, "{text}");
    }
}
