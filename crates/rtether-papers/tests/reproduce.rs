//! Verdicts on the papers' claims: any change of a verdict is noticed.
//!
//! `docs/models/claims.md` holds status and basis of each claim. The cheap experiments are
//! compared with it in every run, all of them with `RTETHER_NIGHTLY=1`; with `RTETHER_BLESS=1` in
//! addition, the page is written.

use std::fs;
use std::path::PathBuf;

use rtether::run::Progress;
use rtether_papers::{Mode, Reproduction, fitted, reference};

/// Experiments that run quickly.
const CHEAP: &[&str] = &[
    "skeie-volume",
    "kweon-bucket",
    "kweon-deadline",
    "dolejs-backoff",
    "dolejs-sim-4nodes",
    "dolejs-orte-4nodes",
    "dolejs-orte-loopback",
    "dolejs-orte-repetition",
    "dolejs-orte-size",
    "kakanakov-stack",
    "valentim-rtt",
    "valentim-loopback",
    "valentim-decomposition",
    "valentim-switch-hub",
];

fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| value == "1")
}

fn page() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/models/claims.md")
}

/// Returns the range of a generated part of the page.
fn part(text: &str, name: &str) -> std::ops::Range<usize> {
    let (begin, end) =
        (format!("<!-- generated: {name} -->\n\n"), format!("\n<!-- end: {name} -->"));
    let start = text.find(&begin).expect("the page has the mark") + begin.len();
    let length = text[start..].find(&end).expect("the page has the mark");
    start..start + length
}

/// Compares a generated part of the page, or writes it.
fn check(name: &str, now: &str) {
    let mut text = fs::read_to_string(page()).expect("the page is there");
    let range = part(&text, name);
    if is_set("RTETHER_BLESS") {
        text.replace_range(range.clone(), now);
        fs::write(page(), &text).expect("writable");
    }
    let range = part(&text, name);
    similar(&text[range], now, name);
}

/// Asserts equality line by line, so that a failure shows what changed.
fn similar(committed: &str, now: &str, name: &str) {
    for (old, new) in committed.lines().zip(now.lines()) {
        assert_eq!(old, new, "{name}: run all experiments with RTETHER_BLESS=1 if this is meant");
    }
    assert_eq!(committed.lines().count(), now.lines().count(), "{name}");
}

fn repeat(ids: &[String]) -> Vec<Reproduction> {
    let progress = Progress::default();
    ids.iter()
        .map(|id| rtether_papers::reproduce(id, Mode::Sim, &progress).expect("can be repeated"))
        .collect()
}

#[test]
fn lists_of_the_guide_are_up_to_date() {
    // Oracle: the list in the source, which experiments print.
    let (fitted, constructed) = fitted::tables();
    check("fitted", &fitted);
    check("constructed", &constructed);
}

#[test]
fn cheap_experiments_judge_as_before() {
    // Oracle: the committed table, for claims judged by cheap experiments only.
    let ids: Vec<String> = CHEAP.iter().map(ToString::to_string).collect();
    let table = rtether_papers::verdict_table(&repeat(&ids));
    let text = fs::read_to_string(page()).expect("the page is there");
    let committed = &text[part(&text, "verdicts")];
    let mut compared = 0;
    for claim in reference::claims() {
        if claim.experiments.split('|').all(|id| CHEAP.contains(&id)) {
            let begins = format!("| {} |", claim.id);
            let row = |table: &str| {
                let row = table.lines().find(|line| line.starts_with(&begins));
                row.map(str::to_owned)
            };
            assert_eq!(row(committed), row(&table), "{}", claim.id);
            compared += 1;
        }
    }
    assert_eq!(compared, 19, "C001, C002, C045, C046, C076 to C081, C083 to C087, C089 to C092");
}

#[test]
fn all_experiments_judge_as_before() {
    // Oracle: the committed table.
    if !is_set("RTETHER_NIGHTLY") {
        return;
    }
    let ids = rtether_papers::expand(&["all".to_owned()], &[Mode::Sim]).expect("they are there");
    check("verdicts", &rtether_papers::verdict_table(&repeat(&ids)));
}
