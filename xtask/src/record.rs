//! What a long run has shown, kept in `docs/nightly.md`: a row for each part, written when the part
//! passes under `--record`. Beside it, how long parts took last time, kept in the build folder.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::part::Part;
use crate::repo::Repo;

/// The page with the table.
pub(crate) const PAGE: &str = "docs/nightly.md";
/// What a row says before the part has passed.
const NOT_YET: &str = "not yet recorded | – | – | – | – | –";

/// What a part has shown.
pub(crate) struct Outcome {
    pub(crate) time: Duration,
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
    /// Inputs that fuzz targets have run.
    pub(crate) executions: u64,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, failed, skipped, executions, .. } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")?;
        if *executions > 0 {
            write!(f, ", {executions} executions")?;
        }
        Ok(())
    }
}

/// Writes the row of a part that has passed, unless a test of it skipped itself. Refuses if the files are not those of a commit, since
/// the row names one.
pub(crate) fn write(repo: &Repo, part: Part, outcome: &Outcome) -> Result<()> {
    if let Some(lack) = lack(outcome) {
        println!("not recorded: {lack}");
        return Ok(());
    }
    let status = output(repo, "git", &["status", "--porcelain", "--untracked-files=no"])?;
    let mut changed = status.lines().filter(|line| !line.ends_with(PAGE));
    if let Some(file) = changed.next() {
        println!("not recorded: `{}` is not committed", file.trim());
        return Ok(());
    }
    let commit = output(repo, "git", &["rev-parse", "--short=10", "HEAD"])?;
    let date = output(repo, "date", &["--utc", "+%Y-%m-%d"])?;
    let text = repo.read(PAGE).with_context(|| format!("reading {PAGE}"))?;
    let row = row(part, &result(outcome, date.trim(), commit.trim()));
    let Some(text) = replaced(&text, part, &row) else {
        bail!("{PAGE} has no row of `{}`; `cargo xtask tidy` says which", part.name());
    };
    fs::write(repo.root.join(PAGE), text).with_context(|| format!("writing {PAGE}"))
}

/// Returns why what a part has shown is not worth a row.
fn lack(outcome: &Outcome) -> Option<String> {
    let skipped = outcome.skipped;
    (skipped > 0).then(|| format!("{skipped} of its tests could not run here; see above"))
}

fn output(repo: &Repo, program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program).args(arguments).current_dir(&repo.root).output();
    let output = output.with_context(|| format!("running {program}"))?;
    if !output.status.success() {
        bail!("`{program} {}` failed", arguments.join(" "));
    }
    String::from_utf8(output.stdout).with_context(|| format!("reading what {program} says"))
}

/// Returns the cells behind name and purpose.
fn result(outcome: &Outcome, date: &str, commit: &str) -> String {
    // Rounded up, to a tenth of a minute.
    let tenths = outcome.time.as_secs().div_ceil(6).max(1);
    let executions = match outcome.executions {
        0 => "–".to_owned(),
        count => count.to_string(),
    };
    format!(
        "{date} | `{commit}` | {}.{} | {} | {} | {executions}",
        tenths / 10,
        tenths % 10,
        outcome.passed,
        outcome.skipped
    )
}

fn row(part: Part, result: &str) -> String {
    format!("{} {result} |", begin(part))
}

/// Returns how the row of a part begins.
fn begin(part: Part) -> String {
    format!("| `{}` | {} |", part.name(), part.purpose())
}

/// Returns the page with another row of a part.
fn replaced(text: &str, part: Part, row: &str) -> Option<String> {
    let begin = begin(part);
    let old = text.lines().find(|line| line.starts_with(&begin))?;
    Some(text.replacen(old, row, 1))
}

/// Returns what is wrong with the rows of the page.
pub(crate) fn mistakes(text: &str) -> Vec<String> {
    let parts = Part::of_run(true);
    let begins: Vec<String> = parts.iter().map(|part| begin(*part)).collect();
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| `")).collect();
    let mut found = Vec::new();
    for (part, begin) in parts.iter().zip(&begins) {
        let count = rows.iter().filter(|row| row.starts_with(begin)).count();
        if count != 1 {
            let row = row(*part, NOT_YET);
            found.push(format!("has {count} rows of a part, and needs one: {row}"));
        }
    }
    for row in rows {
        if !begins.iter().any(|begin| row.starts_with(begin)) {
            found.push(format!("no part of the long run has this name and purpose: {row}"));
        }
    }
    found
}

/// Reads how long parts took; empty without an earlier run.
pub(crate) fn read_times(file: &Path) -> BTreeMap<String, Duration> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    let times = lines.filter_map(|(time, name)| {
        let time = Duration::from_millis(time.parse().ok()?);
        Some((name.to_owned(), time))
    });
    times.collect()
}

/// Keeps how long parts took.
pub(crate) fn keep_times(file: &Path, times: &BTreeMap<String, Duration>) {
    let lines = times.iter();
    let lines = lines.map(|(name, time)| format!("{} {name}\n", time.as_millis()));
    // Without them the next run only tells less.
    drop(fs::write(file, lines.collect::<String>()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> String {
        let parts = Part::of_run(true);
        let rows = parts.into_iter().map(|part| row(part, NOT_YET) + "\n");
        format!("# Nightly\n\n| part |\n|---|\n{}", rows.collect::<String>())
    }

    #[test]
    fn a_row_is_written_in_place() {
        let outcome = Outcome {
            time: Duration::from_secs(181),
            passed: 14,
            failed: 0,
            skipped: 1,
            executions: 2_000_000,
        };
        let result = result(&outcome, "2026-11-23", "58936b96aa");
        assert_eq!(result, "2026-11-23 | `58936b96aa` | 3.1 | 14 | 1 | 2000000");
        let page = page();
        let written = replaced(&page, Part::Fuzz, &row(Part::Fuzz, &result)).unwrap();
        assert_eq!(written.lines().count(), page.lines().count());
        assert!(written.contains(&format!("{} {result} |\n", begin(Part::Fuzz))));
        assert!(mistakes(&written).is_empty());
        assert_eq!(replaced(&written, Part::Fuzz, &row(Part::Fuzz, NOT_YET)), Some(page));
    }

    #[test]
    fn a_part_that_could_not_run_has_no_row() {
        let outcome = |skipped| Outcome {
            time: Duration::from_mins(30),
            passed: 1,
            failed: 0,
            skipped,
            executions: 0,
        };
        assert_eq!(lack(&outcome(0)), None);
        assert!(lack(&outcome(1)).is_some_and(|lack| lack.contains("1 of its tests")));
    }

    #[test]
    fn each_part_needs_one_row() {
        let page = page();
        let lines = page.split_inclusive('\n');
        let without: String = lines.filter(|line| !line.contains("`fuzz`")).collect();
        let found = mistakes(&without);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("| `fuzz` |"), "{found:?}");
        assert_eq!(mistakes(&page.replace("`fuzz`", "`fuss`")).len(), 2);
    }
}
