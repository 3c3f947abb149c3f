//! Wrong values, and harmful names. Oracle: words that only programmers use, and the documented
//! exit codes.

use std::fs;
use std::path::PathBuf;

use rtether_testkit::Run;

use super::{line, rtether, run};

/// Words of the standard library and of the parser.
const WORDS: [&str; 9] = [
    "invalid digit",
    "invalid float",
    "invalid IPv4",
    "number would be",
    "number too",
    "empty string",
    "out of range integral",
    "is not in ",
    "os error",
];

const BAD: [&str; 10] = [
    "",
    "x",
    "-1",
    "-99999999999",
    "1e23",
    "0x",
    "4294967296",
    "99999999999999999999999999",
    "1.5.2",
    "NaN",
];

/// Options whose values are numbers, quantities or addresses.
const NUMERIC: [&str; 9] =
    ["N", "N,N", "OCTETS", "TIME", "RATE", "SIZE", "RATIO", "ADDRESS", "TYPE"];

fn visit(command: &clap::Command, path: &[String], tried: &mut usize, wrong: &mut Vec<String>) {
    for argument in command.get_arguments() {
        let Some(long) = argument.get_long() else {
            continue;
        };
        let names = argument.get_value_names().unwrap_or_default();
        if !names.iter().any(|name| NUMERIC.contains(&name.as_str())) {
            continue;
        }
        for bad in BAD {
            *tried += 1;
            let option = format!("--{long}={bad}");
            let words = path.iter().cloned().chain([option.clone()]);
            let Err(error) = rtether_cli::command().try_get_matches_from(words) else {
                continue;
            };
            let text = error.to_string();
            if let Some(word) = WORDS.iter().find(|word| text.contains(**word)) {
                wrong.push(format!("{} {option}: {word}\n{text}", path.join(" ")));
            }
        }
    }
    for verb in command.get_subcommands() {
        let mut path = path.to_vec();
        path.push(verb.get_name().to_owned());
        visit(verb, &path, tried, wrong);
    }
}

#[test]
fn bad_values_are_answered_in_words_for_people() {
    let (mut tried, mut wrong) = (0, Vec::new());
    visit(&rtether_cli::command(), &["rtether".into()], &mut tried, &mut wrong);
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(tried > 500, "{tried}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_type_file_that_is_missing_is_wrong_input() {
    let output = run(&["pub", "x", "--idl", "nowhere.idl", "--for", "1 s"]);
    output.exits(2);
    assert!(!output.err.contains("os error"), "{}", output.err);
}

#[cfg(target_os = "linux")]
#[test]
fn a_priority_without_stations_is_refused() {
    line("check dolejs-4nodes.yaml --for 1s --priority 20").exits(2).says("--live");
}

/// Two stations and a flow with this name, in a separate file.
fn named(test: &str, name: &str) -> PathBuf {
    let text = format!(
        "rtether: 1\nnodes: {{ a: {{ stack: zero }}, b: {{ stack: zero }} }}\n\
         links: [{{ ends: [a, b], rate: 100 Mbit/s }}]\n\
         flows: [{{ name: {name:?}, from: a, to: b, period: 2 ms, size: 64 B, deadline: 1 ms }}]\n\
         run: {{ for: 1 s }}\n"
    );
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}.yaml"));
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn names_that_turn_or_hide_text_are_refused() {
    // U+202E is RIGHT-TO-LEFT OVERRIDE, U+200B ZERO WIDTH SPACE, U+2066 LEFT-TO-RIGHT ISOLATE.
    for (index, name) in ["a\\u202Eb", "a\\u200Bb", "a\\u2066b"].iter().enumerate() {
        let path = named(&format!("unseen-{index}"), "NAME");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("NAME", name)).unwrap();
        let output = rtether().arg("check").arg(&path).run();
        output.exits(2).says("bad-name");
        let said = output.err;
        assert!(!said.contains(['\u{202e}', '\u{200b}', '\u{2066}']), "{said}");
    }
}

#[test]
fn a_name_is_no_formula_in_a_spreadsheet() {
    // Oracle: spreadsheets interpret a cell that starts with one of these as a formula.
    for (index, name) in ["=1+1", "+1+1x", "-x", "@sum"].iter().enumerate() {
        let path = named(&format!("formula-{index}"), name);
        for verb in [&["check", "--format", "csv"][..], &["bound", "--csv"]] {
            let output = rtether().args(verb).arg(&path).run();
            output.exits(0);
            let text = output.out;
            let row = text.lines().nth(1).unwrap_or_default();
            assert!(row.starts_with(&format!("'{name},")), "{verb:?}: {text}");
        }
    }
}
