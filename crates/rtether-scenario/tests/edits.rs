//! Every edit that a message proposes fixes the mistake it is about. Oracle: the loader, which
//! reads the edited file again.
//!
//! Advice in prose ("use a faster link") is not an edit and is not tried.

use std::fs;
use std::path::Path;

use rtether_scenario::{Diagnostic, Override, Severity, load, load_with};

/// Returns the mistakes left after each edit proposed for a text, and the number of edits tried.
fn try_all(name: &str, text: &str) -> (Vec<String>, usize) {
    let (mut wrong, mut tried) = (Vec::new(), 0);
    let before = load(name, text).diagnostics;
    for diagnostic in &before {
        for (help, edit) in diagnostic.edits() {
            let edited = edit.apply(text).expect("a place in the text");
            tried += 1;
            let after = load(name, &edited).diagnostics;
            let is_same = |d: &Diagnostic| d.code == diagnostic.code && d.title == diagnostic.title;
            let count = |list: &[Diagnostic]| list.iter().filter(|d| is_same(d)).count();
            let errors = |list: &[Diagnostic]| {
                let errors = list.iter().filter(|d| d.severity == Severity::Error);
                errors.count()
            };
            // Mistakes in what could not be read before are not those of the edit.
            let is_more = errors(&after) > errors(&before) && !hides(&before);
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
            if count(&after) >= count(&before) || fresh.is_some() || is_more {
                let fresh = fresh.map_or("the same as before", |d| d.title.as_str());
                wrong.push(format!("{name}: {}: {help}: {fresh}\n{edited}", diagnostic.title));
            }
        }
    }
    (wrong, tried)
}

/// Returns whether mistakes hide others: a text that is no YAML, or has parts that cannot be read.
fn hides(diagnostics: &[Diagnostic]) -> bool {
    let whole = ["vlan-separation", "no-route", "unused-node", "overload", "loop"];
    diagnostics.iter().any(|d| d.severity == Severity::Error && !whole.contains(&d.code))
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
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(tried > 80, "{tried}");
}

#[test]
fn edits_for_what_people_write_mend_it() {
    let counts = ["0x4", "0X08", "4 ports", "0x", "0xffffff", "4.5", "-3", "four", "0"];
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
        let help: Vec<String> = diagnostics.iter().flat_map(helps).collect();
        assert_eq!(help, [expected]);
    }
}

/// Returns the lines of help of a message.
fn helps(diagnostic: &Diagnostic) -> Vec<String> {
    diagnostic.help.iter().map(ToString::to_string).collect()
}

/// Edits at the start of a text are made as well, whatever its first character is.
#[test]
fn a_text_that_begins_with_a_long_character_can_be_edited() {
    for first in ["a", "ü", "€", "𝄞", "\u{feff}name"] {
        let text = format!("{first}: 1\n");
        let loaded = load("first.yaml", &text);
        let edits = loaded.diagnostics.iter().flat_map(Diagnostic::edits);
        let edited: Vec<String> = edits.filter_map(|(_, edit)| edit.apply(&text)).collect();
        assert!(!edited.is_empty(), "{text}");
        let mark = text.starts_with('\u{feff}');
        assert!(edited.iter().all(|own| own.starts_with('\u{feff}') == mark), "{edited:?}");
    }
}

/// A line whose port 3 of `sw1` is in VLAN 10, with a flow from VLAN 20 to it: put into VLAN 20, the
/// port leaves all other flows of its station.
const TWO_VLANS: &str = "rtether: 1
nodes: { plc: { stack: zero }, drive: { stack: zero }, vision: { stack: zero } }
switches: { sw1: { ports: 3, port_settings: { 1: { access: 10 }, 2: { access: 10 }, 3: { access: 20 } } } }
links:
  - { ends: [plc, 'sw1:1'], rate: 100 Mbit/s }
  - { ends: [drive, 'sw1:2'], rate: 100 Mbit/s }
  - { ends: [vision, 'sw1:3'], rate: 100 Mbit/s }
flows:
  - { name: set, from: plc, to: drive, period: 1 ms, size: 64 B }
  - { name: act, from: drive, to: plc, period: 1 ms, size: 64 B }
  - { name: result, from: vision, to: plc, period: 1 ms, size: 64 B }
";

/// Oracle: the loader. The edit made one mistake into two, and was proposed nevertheless.
#[test]
fn an_edit_that_makes_more_mistakes_is_not_proposed() {
    let edit = Override::new("--set", "switches.sw1.port_settings.1.access", "20");
    let after = load_with("line.yaml", TWO_VLANS, &[edit]).diagnostics;
    let errors = after.iter().filter(|d| d.severity == Severity::Error).count();
    assert_eq!(errors, 2, "{after:?}");
    let before = load("line.yaml", TWO_VLANS).diagnostics;
    let [one] = &before[..] else { panic!("{before:?}") };
    let help = "not enough by itself (2 mistakes are left): set \
        `port_settings: { 1: { access: 20 } }` there; untagged frames belong to it where they enter";
    assert_eq!(helps(one), [help]);
    // Without the other two flows it is right, and proposed.
    let alone: Vec<&str> = TWO_VLANS
        .lines()
        .filter(|line| !line.contains("drive, ") || line.contains("nodes"))
        .collect();
    let alone = alone.join("\n").replace("from: drive", "from: vision");
    let found = load("line.yaml", &alone).diagnostics;
    let help: Vec<String> =
        found.iter().filter(|d| d.code == "vlan-separation").flat_map(helps).collect();
    assert!(help.iter().all(|own| own.starts_with("set `port_settings")), "{found:?}");
}

/// Oracle: the plant from which this was learned; put into VLAN 20, port 3 separates ten set points
/// and ten actual values.
#[test]
fn one_mistake_does_not_become_twenty() {
    let found = load("vlan.yaml", include_str!("model/vlan-help.yaml")).diagnostics;
    let help: Vec<String> =
        found.iter().filter(|d| d.code == "vlan-separation").flat_map(helps).collect();
    assert_eq!(help.len(), 1, "{found:?}");
    assert!(help[0].starts_with("not enough by itself (20 mistakes are left): set"), "{help:?}");
}

/// Oracle: the loader. Edits of a file that is included are tried in its text.
#[test]
fn edits_of_included_files_are_tried() {
    let main = "rtether: 1\ninclude: [flows.yaml]\nnodes: { a: { stack: zero }, b: { stack: zero } }\n\
        links: [{ ends: [a, b], rate: 100 Mbit/s }]\n";
    let flows = "flows: [{ name: f, from: a, to: b, period: 1 ms, size: 64 }]\n";
    let read = |path: &str| {
        if path == "flows.yaml" { Ok(flows.to_owned()) } else { Err("none".to_owned()) }
    };
    let loaded = rtether_scenario::load_from("main.yaml", main, &read, &[], &[]);
    let help: Vec<String> = loaded.diagnostics.iter().flat_map(helps).collect();
    assert!(!help.is_empty() && help.iter().all(|own| !own.contains("not enough")), "{help:?}");
}
