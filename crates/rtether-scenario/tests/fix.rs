//! Edits of random mistakes, made one after the other. Oracles: the loader, which reads what comes of
//! them, and the octets outside of their ranges.

use std::fs;
use std::path::Path;

use rtether_scenario::{Diagnostic, Fix, Severity, Which, load};
use rtether_testkit::Dice;

/// Returns the shipped scenarios that stand alone, with a comment behind each line that can have one.
fn plants() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["scenarios", "crates/rtether-scenario/src/templates"];
    let files = folders.iter().flat_map(|folder| {
        let entries = fs::read_dir(root.join(folder)).unwrap();
        entries.map(|entry| entry.unwrap().path())
    });
    let mut files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|ending| ending == "yaml")).collect();
    files.sort();
    let texts = files.iter().map(|path| fs::read_to_string(path).unwrap());
    let alone = texts.filter(|text| text.len() < 8_000 && !text.contains("include:"));
    let commented = alone.map(|text| commented(&text));
    // A value of several lines takes no comments.
    commented.filter(|text| load("x.yaml", text).scenario.is_some()).collect()
}

fn commented(text: &str) -> String {
    let lines = text.lines().enumerate().map(|(number, line)| {
        let has_room = !line.contains('#') && !line.contains('"') && !line.ends_with('\\');
        if has_room && !line.trim().is_empty() {
            format!("{line}  # remark {number}\n")
        } else {
            format!("{line}\n")
        }
    });
    lines.collect()
}

/// Kinds of mistakes: each changes one place, or finds none.
const SLIPS: [fn(&str, &mut Dice) -> Option<String>; 8] = [
    |text, dice| {
        at_value(text, dice, |value| value.strip_suffix(" ms").map(|n| format!("{n},5 ms")))
    },
    |text, dice| {
        at_value(text, dice, |value| value.strip_suffix(" ms").map(|n| format!("{n} msec")))
    },
    |text, dice| at_value(text, dice, |value| value.strip_suffix(" B").map(str::to_owned)),
    |text, dice| {
        at_value(text, dice, |value| value.strip_suffix("bit/s").map(|n| format!("{n}bps")))
    },
    |text, dice| at_value(text, dice, |value| is_word(value).then(|| format!("“{value}”"))),
    |text, dice| {
        at_value(text, dice, |value| (is_word(value) && value.len() > 3).then(|| swapped(value)))
    },
    |text, dice| at_key(text, dice),
    |text, dice| without(text, dice, "}"),
];

fn is_word(value: &str) -> bool {
    !value.is_empty()
        && value.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        && value.starts_with(|c: char| c.is_ascii_lowercase())
}

fn swapped(word: &str) -> String {
    let (head, tail) = word.split_at(word.len() - 2);
    let tail: String = tail.chars().rev().collect();
    format!("{head}{tail}")
}

/// Changes one of the values that take it.
fn at_value(text: &str, dice: &mut Dice, slip: impl Fn(&str) -> Option<String>) -> Option<String> {
    let starts: Vec<usize> = text.match_indices(": ").map(|(at, _)| at + 2).collect();
    let places: Vec<(usize, usize, String)> = starts
        .into_iter()
        .filter_map(|start| {
            let line = text[..start].rfind('\n').map_or(0, |at| at + 1);
            let is_comment = text[line..start].contains('#');
            let end = start + text[start..].find([',', '}', ']', '\n', '#'])?;
            let value = text[start..end].trim_end();
            let end = start + value.len();
            Some((start, end, slip(value)?)).filter(|_| !is_comment)
        })
        .collect();
    let (start, end, new) = pick(places, dice)?;
    Some(format!("{}{new}{}", &text[..start], &text[end..]))
}

/// Swaps two letters of a key.
fn at_key(text: &str, dice: &mut Dice) -> Option<String> {
    let keys =
        ["period:", "deadline:", "ports:", "nodes:", "switches:", "stack:", "size:", "rate:"];
    let places: Vec<(usize, &str)> = keys.iter().flat_map(|key| text.match_indices(key)).collect();
    let (at, key) = pick(places, dice)?;
    let wrong = swapped(key.trim_end_matches(':'));
    Some(format!("{}{wrong}:{}", &text[..at], &text[at + key.len()..]))
}

/// Leaves out the sign at the end of a line.
fn without(text: &str, dice: &mut Dice, sign: &str) -> Option<String> {
    let ends: Vec<usize> = text
        .match_indices(sign)
        .map(|(at, _)| at)
        .filter(|at| text[at + 1..].starts_with("  # remark"))
        .collect();
    let at = pick(ends, dice)?;
    Some(format!("{}{}", text[..at].trim_end(), &text[at + 1..]))
}

fn pick<T>(mut places: Vec<T>, dice: &mut Dice) -> Option<T> {
    if places.is_empty() {
        return None;
    }
    let at = dice.index(places.len());
    Some(places.swap_remove(at))
}

fn errors(text: &str) -> usize {
    let loaded = load("x.yaml", text);
    let all = loaded.diagnostics.iter();
    all.filter(|own| own.severity == Severity::Error).count()
}

/// Returns what stands behind `#`, in order.
fn comments(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.split_once('#')).map(|(_, own)| own).collect()
}

/// Each edit that is called tried loads without the mistake, and every comment is still there.
#[test]
fn a_tried_edit_mends_and_keeps_comments() {
    let plants = plants();
    assert!(plants.len() > 8, "{}", plants.len());
    let mut dice = Dice::new(0x05EE_D0C3);
    let (mut made, mut tried) = ([0_u32; SLIPS.len()], [0_u32; SLIPS.len()]);
    for round in 0..320 {
        let plant = &plants[round % plants.len()];
        let kind = round / plants.len() % SLIPS.len();
        let Some(text) = SLIPS[kind](plant, &mut dice) else {
            continue;
        };
        let before = load("x.yaml", &text);
        let errors_before = errors(&text);
        if errors_before == 0 {
            continue;
        }
        made[kind] += 1;
        let edits = before.diagnostics.iter().flat_map(Diagnostic::edits);
        let mut is_mended = false;
        for (help, edit) in edits.filter(|(_, edit)| edit.is_tried) {
            let after = edit.apply(&text).unwrap();
            assert_eq!(comments(&after), comments(&text), "{help}\n{after}");
            let left = errors(&after);
            is_mended |= left == 0;
            assert!(left <= errors_before || left == 0, "{help}: {left} left\n{after}");
        }
        tried[kind] += u32::from(is_mended);
    }
    // Some slips have other readings: a number without a unit, a word of three letters.
    for (kind, (made, tried)) in made.into_iter().zip(tried).enumerate() {
        assert!(made >= 5, "kind {kind}: {made} made");
        assert!(tried * 2 >= made, "kind {kind}: {tried} of {made} mended");
    }
}

/// Several mistakes in one file: all edits together leave no more errors, and every comment.
#[test]
fn all_edits_of_a_file_leave_no_new_error() {
    let plants = plants();
    let mut dice = Dice::new(0x05EE_D0C4);
    let mut whole = 0;
    for round in 0..60 {
        let mut text = plants[round % plants.len()].clone();
        for _ in 0..3 {
            let kind = dice.index(SLIPS.len());
            text = SLIPS[kind](&text, &mut dice).unwrap_or(text);
        }
        let read = |_: &str| Err("no other file".to_owned());
        let fix =
            Fix { name: "x.yaml", text: &text, read: &read, overrides: &[], which: Which::Certain };
        let fixed = fix.make(|_| true);
        let after = fixed.files.get("x.yaml").unwrap_or(&text);
        assert_eq!(comments(after), comments(&text), "{after}");
        let (before, left) = (load("x.yaml", &text), load("x.yaml", after));
        whole += u32::from(left.scenario.is_some());
        if before.scenario.is_some() {
            assert!(left.scenario.is_some(), "{after}");
        }
        // What is not replaced stays octet for octet: as many lines, and none but those of edits differ.
        let changed = text.lines().zip(after.lines()).filter(|(a, b)| a != b).count();
        assert_eq!(text.lines().count(), after.lines().count());
        assert!(changed <= fixed.made.len(), "{changed} lines, {:?}", fixed.made);
    }
    assert!(whole > 30, "{whole} of 60 are scenarios again");
}

/// Oracle: the caller, who keeps nothing. The file is as it was.
#[test]
fn what_the_caller_does_not_keep_is_taken_back() {
    let text = include_str!("bad/deadline-smoothed.yaml");
    assert!(load("x.yaml", text).scenario.is_some(), "a warning only");
    let read = |_: &str| Err("none".to_owned());
    let fix = Fix { name: "x.yaml", text, read: &read, overrides: &[], which: Which::All };
    let kept = fix.make(|_| true);
    assert!(!kept.made.is_empty() && kept.taken_back.is_empty(), "{kept:?}");
    let back = fix.make(|_| false);
    assert!(back.made.is_empty() && !back.taken_back.is_empty(), "{back:?}");
    assert!(back.files.is_empty());
}
