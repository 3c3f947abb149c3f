//! Public files of the field, by `validation/public.csv`: what an import makes of each. The files are not
//! in this repository; `RTETHER_PUBLIC` is a folder with clones of theirs, `OWNER/NAME` each.
//! Oracle: the loader and the checks of these plans; what is not a plan has a reason.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use rayon::prelude::*;
use rtether::check::{Options as CheckOptions, check};
use rtether::import::{Options, import};
use rtether::report::text::plural;
use rtether::scenario::{Override, load_with};
use rtether_testkit::skip;

/// How long a plan is simulated at most: to see that it runs, not how late its packets are.
const RUN: &str = "5 ms";
/// Largest plan that is simulated and proved, in flows.
const LARGEST: usize = 200;

/// A row of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    repository: String,
    commit: String,
    path: String,
    /// `taken`: imported, and a check takes it; `refused`: the import says no; `absent`: the commit that
    /// is there has no such octets.
    result: String,
    /// How many flows were found, or why it is refused.
    what: String,
}

fn list() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/public.csv")
}

fn read() -> Vec<Row> {
    let mut rows = csv::Reader::from_path(list()).expect("a list");
    let rows = rows.records().map(|row| {
        let row = row.expect("a row");
        let [repository, commit, path, result, what] = [0, 1, 2, 3, 4].map(|at| row[at].to_owned());
        Row { repository, commit, path, result, what }
    });
    rows.collect()
}

/// Returns what a commit has at a path; `None` if the clone lacks it.
fn octets(folder: &Path, row: &Row) -> Option<Vec<u8>> {
    let object = format!("{}:{}", row.commit, row.path);
    let git = Command::new("git")
        .arg("-C")
        .arg(folder.join(&row.repository))
        .args(["cat-file", "blob", &object])
        .output()
        .expect("git");
    git.status.success().then_some(git.stdout)
}

/// Imports a file and checks its plan.
fn tried(row: &Row, octets: &[u8]) -> [String; 2] {
    let name = row.path.rsplit('/').next().unwrap_or(&row.path);
    let plan = match import(name, octets, &Options::new()) {
        Ok(plan) => plan,
        Err(error) => return ["refused".to_owned(), error.what],
    };
    let short = [Override::new("--for", "run.for", RUN)];
    let loaded = load_with("plan.yaml", &plan.scenario, &short).into_scenario();
    let scenario = loaded.unwrap_or_else(|words| panic!("{row:?}: {words}"));
    if scenario.flows.len() <= LARGEST {
        let checked = check(&scenario, CheckOptions::default());
        checked.unwrap_or_else(|words| panic!("{row:?}: {words}"));
    }
    let [flows, findings] =
        [plural(scenario.flows.len(), "flow"), plural(plan.findings.len(), "finding")];
    let what = format!("{flows}, {findings}");
    ["taken".to_owned(), what]
}

/// With `RTETHER_BLESS=1` it writes what was found into the list.
#[test]
#[ignore = "long"]
fn public_files_are_taken_or_refused_with_a_reason() {
    let Some(folder) = env::var_os("RTETHER_PUBLIC").map(PathBuf::from) else {
        skip("needs public repositories, whose folder is in RTETHER_PUBLIC");
        return;
    };
    let listed = read();
    let found: Vec<Row> = listed
        .par_iter()
        .map(|row| {
            let [result, what] = octets(&folder, row)
                .map_or_else(|| ["absent".to_owned(), String::new()], |octets| tried(row, &octets));
            Row { result, what, ..row.clone() }
        })
        .collect();
    let of = |result: &str| found.iter().filter(|row| row.result == result).count();
    println!(
        "{} files: {} taken, {} refused, {} absent",
        found.len(),
        of("taken"),
        of("refused"),
        of("absent")
    );
    if env::var("RTETHER_BLESS").is_ok_and(|value| value == "1") {
        let mut rows = csv::Writer::from_path(list()).expect("a list");
        let head = ["repository", "commit", "path", "result", "what"];
        rows.write_record(head).expect("a head");
        for row in found {
            let row = [row.repository, row.commit, row.path, row.result, row.what];
            rows.write_record(row).expect("a row");
        }
        return;
    }
    for (row, listed) in found.iter().zip(&listed) {
        assert_eq!(row, listed);
        assert!(row.result != "refused" || !row.what.is_empty(), "{row:?}");
    }
}
