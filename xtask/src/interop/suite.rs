//! Runs a fetched copy of the OMG's suite, and counts the passed cases.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The script of the suite that runs the cases of one pair of programs.
const SCRIPT: &str = "interoperability_report.py";

/// What to run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Suite {
    /// The folder with the scripts of the suite.
    pub(crate) folder: PathBuf,
    /// The program of another implementation; `None` for ours.
    pub(crate) peer: Option<PathBuf>,
    /// Arguments of the script, such as `-x 1` or `-t` with names of cases.
    pub(crate) rest: Vec<String>,
}

/// Runs the cases with our program in both roles; returns whether each passed or concerns a feature
/// that one side does not claim.
pub(super) fn run(suite: &Suite, ours: &Path) -> Result<bool> {
    let pairs = match &suite.peer {
        Some(peer) => {
            vec![("publisher", ours, peer.as_path()), ("subscriber", peer.as_path(), ours)]
        }
        None => vec![("publisher and subscriber", ours, ours)],
    };
    let mut is_good = true;
    for (role, publisher, subscriber) in pairs {
        println!("as {role}:");
        let tally = cases(suite, publisher, subscriber)?;
        if tally.cases.is_empty() {
            bail!("the suite ran no case");
        }
        print!("{}", tally.text());
        is_good &= tally.is_good();
    }
    Ok(is_good)
}

fn cases(suite: &Suite, publisher: &Path, subscriber: &Path) -> Result<Tally> {
    let folder = suite.folder.canonicalize();
    let folder = folder.with_context(|| format!("looking for {}", suite.folder.display()))?;
    let own = folder.join("venv/bin/python");
    let python = if own.exists() { own } else { PathBuf::from("python3") };
    let report = std::env::temp_dir().join(format!("rtether-suite-{}.xml", std::process::id()));
    let mut script = Command::new(python)
        .args(["-u", SCRIPT, "-P"])
        .arg(publisher.canonicalize().context("looking for the publisher")?)
        .arg("-S")
        .arg(subscriber.canonicalize().context("looking for the subscriber")?)
        .arg("-o")
        .arg(&report)
        .args(&suite.rest)
        .current_dir(&folder)
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("running {SCRIPT} in {}", folder.display()))?;
    let mut tally = Tally::default();
    let out = script.stdout.take().context("the script has no output")?;
    for line in BufReader::new(out).lines() {
        let line = line.context("reading what the suite says")?;
        println!("  {line}");
        tally.add(&line);
    }
    let status = script.wait().context("waiting for the suite")?;
    let _ = std::fs::remove_file(&report);
    if !status.success() {
        bail!("{SCRIPT} failed: {status}");
    }
    Ok(tally)
}

/// Results of the cases of a run.
#[derive(Debug, Default)]
struct Tally {
    /// In the order of execution.
    cases: Vec<Case>,
}

#[derive(Debug)]
struct Case {
    name: String,
    has_passed: bool,
    is_unsupported: bool,
}

impl Tally {
    /// Processes a line printed by the suite.
    fn add(&mut self, line: &str) {
        let ended = line.rsplit_once(" : ").and_then(|(name, end)| {
            let (_, name) = name.rsplit_once("Test_")?;
            let has_passed = match end.trim() {
                "OK" => true,
                "ERROR" => false,
                _ => return None,
            };
            Some((name, has_passed))
        });
        if let Some((name, has_passed)) = ended {
            self.cases.push(Case { name: name.to_owned(), has_passed, is_unsupported: false });
            return;
        }
        let code = line.rsplit_once("Code found: ").map(|(_, code)| code);
        if let (Some(code), Some(case)) = (code, self.cases.last_mut()) {
            case.is_unsupported |= code.contains("UNSUPPORTED");
        }
    }

    fn is_good(&self) -> bool {
        let mut cases = self.cases.iter();
        cases.all(|case| case.has_passed || case.is_unsupported)
    }

    /// Returns the numbers of passed cases in each group, and the cases that failed.
    fn text(&self) -> String {
        let mut groups: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
        let mut others = Vec::new();
        for case in &self.cases {
            let group = case.name.rsplit_once('_').map_or("", |(group, _)| group);
            let (passed, all) = groups.entry(group).or_default();
            *passed += u32::from(case.has_passed);
            *all += 1;
            if !case.has_passed {
                let why = if case.is_unsupported { "not supported" } else { "failed" };
                others.push(format!("  {}: {why}\n", case.name));
            }
        }
        let counted = groups.values();
        let sum = counted.fold((0, 0), |sum, group| (sum.0 + group.0, sum.1 + group.1));
        let rows = groups.into_iter().chain([("all", sum)]);
        let rows =
            rows.map(|(name, (passed, all))| format!("  {name:<20} {passed:>3} of {all:>3}\n"));
        rows.chain(others).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(lines: &[&str]) -> Tally {
        let mut tally = Tally::default();
        for line in lines {
            tally.add(line);
        }
        tally
    }

    #[test]
    fn cases_are_counted_by_group_and_the_others_named() {
        // Oracle: counted by hand.
        let tally = tally(&[
            "suite_Test_Sky_0 : OK",
            "Samples read: 5",
            "suite_Test_Sky_1 : ERROR",
            "Publisher_1 expected code: OK; Code found: OK",
            "Subscriber_1 expected code: OK; Code found: SUB_UNSUPPORTED_FEATURE",
            "suite_Test_Sea_0 : OK",
        ]);
        assert!(tally.is_good());
        let expected = "  Sea                    1 of   1\n  Sky                    1 of   2\n  \
                        all                    2 of   3\n  Sky_1: not supported\n";
        assert_eq!(tally.text(), expected);
    }

    #[test]
    fn a_failure_is_one() {
        let tally = tally(&[
            "suite_Test_Sky_0 : ERROR",
            "Subscriber_1 expected code: OK; Code found: DATA_NOT_RECEIVED",
        ]);
        assert!(!tally.is_good());
        assert!(tally.text().contains("Sky_0: failed"));
    }
}
