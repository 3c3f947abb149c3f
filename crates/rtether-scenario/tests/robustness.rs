//! Untrusted files: for any bytes, an answer in bounded time and no panic.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proptest::prelude::*;
use rtether_scenario::{Override, load, load_with, render};
use rtether_testkit::processor_time;

use crate::included;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files_in(folder: &Path) -> Vec<Vec<u8>> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.is_file());
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("readable")).collect()
}

/// Loads a file and renders the result in every form.
fn survive(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let begin = processor_time();
    let loaded = load("fuzz.yaml", &text);
    assert_eq!(loaded.scenario.is_none(), loaded.has_errors());
    let _ = loaded.text(render::Style::Plain);
    let _ = loaded.json();
    for diagnostic in &loaded.diagnostics {
        for (help, edit) in diagnostic.edits() {
            assert!(edit.apply(&text).is_some(), "{help}: {edit:?} for\n{text}");
        }
    }
    // Generous: debug builds.
    let taken = processor_time().saturating_sub(begin);
    assert!(taken < Duration::from_secs(20), "{taken:?} for\n{text}");
}

#[test]
fn corpus_and_wrong_files() {
    let corpus = files_in(&root().join("fuzz/corpus/load"));
    assert!(!corpus.is_empty());
    for bytes in corpus {
        survive(&bytes);
    }
    for bytes in files_in(&root().join("crates/rtether-scenario/tests/bad")) {
        survive(&bytes);
    }
}

/// Oracle: `included::check`; some of them are scenarios, and lines of them in any order are none
/// of its failures.
#[test]
fn files_that_include_each_other() {
    let corpus = files_in(&root().join("fuzz/corpus/include"));
    let texts = corpus.iter().map(|bytes| String::from_utf8_lossy(bytes));
    let texts: Vec<String> = texts.map(Into::into).collect();
    let whole = texts.iter().filter(|text| included::check(text));
    assert!(whole.count() >= 1);
    let lines: Vec<&str> = texts.iter().flat_map(|text| text.lines()).collect();
    let mut random = Random(7);
    for _ in 0..3_000 {
        let count = 1 + random.below(20);
        let drawn = (0..count).map(|_| lines[random.below(lines.len())]);
        included::check(&drawn.collect::<Vec<&str>>().join("\n"));
    }
}

/// A small random number generator, independent of crates, so that the mutations stay the same
/// (xorshift64*, Vigna 2016).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let value = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(value).expect("31 bits") % bound.max(1)
    }
}

/// Words of the format, to be inserted in wrong places.
const WORDS: &[&str] = &[
    "0",
    "-1",
    "1e999",
    "1 ps",
    "10 days",
    "99999999999999999999",
    "1000 GB",
    "0 B",
    "0 s",
    "1 packets/s",
    "1e-9",
    "100 %",
    "[]",
    "{}",
    "~",
    "*a",
    "&a ",
    "<<: ",
    "- ",
    ": ",
    "\t",
    "\"",
    "1024",
    "65535",
    "sw1:1",
    "zero",
    "deadline",
    "random",
    "bulk",
    "flood",
    "poisson",
    "864000 s",
    "400 Gbit/s",
    "10 Mbit/s",
    "1000 km",
    "1 ps .. 864000 s",
    "1 ms/B",
    "\u{feff}",
    "\u{0}",
    "é",
];

fn mutate(seed: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        match random.below(6) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            1 => bytes.truncate(at),
            2 => {
                let end = (at + random.below(60)).min(bytes.len());
                let part = bytes[at..end].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, part);
            }
            3 => {
                let end = (at + random.below(20)).min(bytes.len());
                bytes.drain(at..end);
            }
            // Replace a value: from a colon to the next separator.
            4 => {
                let colon = bytes[at..].iter().position(|&b| b == b':');
                let Some(start) = colon.map(|n| at + n + 1) else {
                    continue;
                };
                let length = bytes[start..].iter().position(|b| b",}\n".contains(b));
                let end = start + length.unwrap_or(0);
                let word = WORDS[random.below(WORDS.len())];
                bytes.splice(start..end, format!(" {word}").into_bytes());
            }
            _ => {
                let word = WORDS[random.below(WORDS.len())];
                bytes.splice(at..at, word.bytes());
            }
        }
    }
    bytes
}

#[test]
fn mutations_of_good_files() {
    let mut seeds = files_in(&root().join("scenarios"));
    seeds.extend(files_in(&root().join("crates/rtether-scenario/src/templates")));
    let mut random = Random(0x5EED_0001);
    for round in 0..4_000 {
        let seed = &seeds[round % seeds.len()];
        survive(&mutate(seed, &mut random));
    }
}

#[test]
fn a_short_file_cannot_ask_for_much() {
    for text in [
        "rtether: 1\ngenerate: { substation: { feeder_bays: 500, transformer_bays: 500, ct_vt: 100, distance_earth: 100, fast_earth: 100, circuit_breakers: 100 } }\n",
        "rtether: 1\nnodes: { a: { stack: zero }, b: { stack: zero } }\nflows: [{ name: x, from: a, to: b, kind: bulk, total: 1 B, every: 1 ps }]\nrun: { for: 864000 s }\n",
        "rtether: 1\nnodes: { a: { stack: zero }, b: { stack: zero } }\nflows: [{ name: x, from: a, to: b, kind: flood, rate: 1 packets/s, size: 1 B }]\nrun: { for: 864000 s, bucket: 1 ps }\n",
    ] {
        let begin = processor_time();
        let loaded = load("short.yaml", text);
        assert!(loaded.scenario.is_none());
        let taken = processor_time().saturating_sub(begin);
        assert!(taken < Duration::from_secs(5), "{taken:?} for\n{text}");
    }
    let large = " ".repeat(rtether_scenario::MAX_FILE_SIZE + 1);
    let loaded = load("large.yaml", &large);
    assert_eq!(loaded.diagnostics[0].code, "too-large");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn overrides_of_any_text(path in "[a-z0-9.]{1,30}|flows\\[[a-z*=\\]\\[.]{1,20}", value in "\\PC{0,20}") {
        let text = "rtether: 1\nnodes: { a: { stack: zero } }\nflows: [{ name: x.y, from: a }]\n";
        let loaded = load_with("x.yaml", text, &[Override::new("--set", path, value)]);
        let _ = loaded.text(render::Style::Plain);
    }
}

/// Oracle: the limit on alias expansion. A hundred copies of a mebibyte are few values but much
/// memory.
#[test]
fn long_texts_do_not_multiply() {
    let long = "a".repeat(1 << 20);
    let copies = vec!["*a"; 100].join(", ");
    let text = format!("rtether: 1\nx-a: &a \"{long}\"\nx-b: [{copies}]\n");
    let loaded = load("long.yaml", &text);
    let codes: Vec<&str> = loaded.diagnostics.iter().map(|d| d.code).collect();
    assert_eq!(codes, ["too-large"]);
}

/// Oracle: time. Merging looks up each key by name among the known ones; comparing with all of them
/// would take three billion comparisons.
#[test]
fn merged_maps_take_no_longer_than_their_keys() {
    let map = |letter: char| {
        let keys: Vec<String> = (0..60_000).map(|n| format!("{letter}{n}: 1")).collect();
        keys.join(", ")
    };
    let text = format!(
        "rtether: 1\nx-a: &a {{ {} }}\nx-b: &b {{ {} }}\nx-c: {{ <<: [*a, *b] }}\n",
        map('a'),
        map('b')
    );
    let begin = processor_time();
    let loaded = load("merge.yaml", &text);
    let taken = processor_time().saturating_sub(begin);
    assert!(taken < Duration::from_secs(8), "{taken:?}");
    assert!(loaded.diagnostics.iter().all(|d| d.code != "too-large"));
}

/// Oracle: the documented limit of 32 levels, and the library's own limit; both give the same code.
#[test]
fn depth_has_one_name() {
    for depth in [40, 5_000] {
        let text = format!("rtether: 1\nlinks: {}{}\n", "[".repeat(depth), "]".repeat(depth));
        let codes: Vec<&str> =
            load("deep.yaml", &text).diagnostics.iter().map(|d| d.code).collect();
        assert_eq!(codes, ["too-large"], "{depth}");
    }
}
