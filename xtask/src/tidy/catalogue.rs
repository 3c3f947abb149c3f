//! Every requirement of the papers has a row in `docs/catalogue.md`, and its evidence exists.

use std::collections::BTreeMap;

use super::Finding;
use crate::repo::{Repo, TextFile};

const PAGE: &str = "docs/catalogue.md";
/// Verbs and options of the command, one section per verb.
const COMMANDS: &str = "docs/reference/cli.md";
/// Names of experiments, in the first column.
const EXPERIMENTS: &str = "crates/rtether-papers/reference/experiments.csv";
/// Requirements of the five papers.
const REQUIREMENTS: u32 = 169;

/// Words that precede the name of a definition.
const DEFINITIONS: [&str; 9] = [
    "fn ",
    "struct ",
    "enum ",
    "trait ",
    "const ",
    "static ",
    "type ",
    "mod ",
    "macro_rules! ",
];

/// A row about a requirement.
struct Row<'t> {
    line: usize,
    number: u32,
    status: &'t str,
    /// Tests, commands and symbols, and words.
    shown: &'t str,
}

/// Checks the rows of all requirements.
pub(super) fn check(repo: &Repo, files: &[TextFile]) -> Vec<Finding> {
    let text = |path: &str| {
        let known = files.iter().find(|file| file.path == path);
        known
            .map(|file| file.text.clone())
            .or_else(|| repo.read(path))
    };
    check_page(&text(PAGE).unwrap_or_default(), text)
}

fn check_page(page: &str, text: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut say = |line: Option<usize>, message: String| {
        let path = PAGE.to_owned();
        findings.push(Finding {
            path,
            line,
            message,
        });
    };
    let rows: Vec<Row<'_>> = page.lines().enumerate().filter_map(row).collect();
    for number in 1..=REQUIREMENTS {
        let count = rows.iter().filter(|row| row.number == number).count();
        if count != 1 {
            say(None, format!("R{number} has {count} rows instead of one"));
        }
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for row in &rows {
        *counts.entry(row.status).or_default() += 1;
        for message in wrong(row, &text) {
            say(Some(row.line), format!("R{}: {message}", row.number));
        }
    }
    let count = |status| counts.get(status).copied().unwrap_or_default();
    let sum = format!(
        "{} done, {} partly, {} missing",
        count("done"),
        count("partly"),
        count("missing")
    );
    if !page.contains(&sum) {
        say(None, format!("the sum is not that of the rows: {sum}"));
    }
    findings
}

/// Parses `| R1 | paper | what | status | shown |`.
fn row((index, line): (usize, &str)) -> Option<Row<'_>> {
    let cells: Vec<&str> = line
        .split(" | ")
        .map(|cell| cell.trim_matches(['|', ' ']))
        .collect();
    let &[code, _, _, status, shown] = cells.as_slice() else {
        return None;
    };
    let number = code.strip_prefix('R')?.parse().ok()?;
    Some(Row {
        line: index + 1,
        number,
        status,
        shown,
    })
}

fn wrong(row: &Row<'_>, text: &impl Fn(&str) -> Option<String>) -> Vec<String> {
    let parts: Vec<&str> = row.shown.split('`').collect();
    let quoted = parts.iter().skip(1).step_by(2).copied();
    let evidence: Vec<&str> = quoted.filter(|part| is_evidence(part)).collect();
    let has_words = parts
        .iter()
        .step_by(2)
        .any(|part| part.trim_matches([' ', ',', ';']).len() > 3);
    let mut wrong: Vec<String> = Vec::new();
    match row.status {
        "done" | "partly" if evidence.is_empty() => {
            wrong.push("no test, command or symbol shows it".to_owned());
        }
        "partly" if !has_words => wrong.push("what is not there has no words".to_owned()),
        "done" | "partly" | "missing" => {}
        other => wrong.push(format!("`{other}` is neither done, partly nor missing")),
    }
    wrong.extend(evidence.into_iter().filter_map(|part| absent(part, text)));
    wrong
}

fn is_evidence(part: &str) -> bool {
    part.contains("::") || part.starts_with("rtether ")
}

/// Returns what is missing of a test, command or symbol.
fn absent(part: &str, text: &impl Fn(&str) -> Option<String>) -> Option<String> {
    if let Some(words) = part.strip_prefix("rtether ") {
        return absent_command(words, text);
    }
    let (path, name) = part.split_once("::")?;
    let path = format!("crates/{path}");
    let Some(source) = text(&path) else {
        return Some(format!("there is no {path}"));
    };
    let is_defined = DEFINITIONS.iter().any(|word| defines(&source, word, name));
    (!is_defined).then(|| format!("{path} defines no `{name}`"))
}

fn defines(source: &str, word: &str, name: &str) -> bool {
    let words = format!("{word}{name}");
    let found = source.match_indices(&words);
    let ends = found.map(|(at, found)| source[at + found.len()..].chars().next());
    ends.into_iter()
        .any(|next| next.is_none_or(|c| !c.is_ascii_alphanumeric() && c != '_'))
}

fn absent_command(words: &str, text: &impl Fn(&str) -> Option<String>) -> Option<String> {
    let commands = text(COMMANDS).unwrap_or_default();
    let words: Vec<&str> = words.split_whitespace().collect();
    let (options, names): (Vec<&str>, Vec<&str>) =
        words.iter().partition(|word| word.starts_with("--"));
    let verb = names.first()?;
    let section = |verb: &str| {
        let (_, rest) = commands.split_once(&format!("\n## `rtether {verb}`\n"))?;
        Some(rest.split("\n## ").next().unwrap_or(rest).to_owned())
    };
    let nested = names
        .get(1)
        .and_then(|word| section(&format!("{verb} {word}")));
    let Some(section) = nested.or_else(|| section(verb)) else {
        return Some(format!("there is no `rtether {verb}`"));
    };
    let known = |option: &&&str| {
        let ends = |next: Option<char>| next.is_none_or(|c| !c.is_ascii_alphanumeric() && c != '-');
        let found = section.match_indices(**option);
        found
            .into_iter()
            .any(|(at, found)| ends(section[at + found.len()..].chars().next()))
    };
    if let Some(option) = options.iter().find(|option| !known(option)) {
        return Some(format!("`rtether {verb}` has no option `{option}`"));
    }
    if *verb != "reproduce" {
        return None;
    }
    let experiments = text(EXPERIMENTS).unwrap_or_default();
    let is_known = |name: &&&str| {
        experiments
            .lines()
            .any(|line| line.split(',').next() == Some(**name))
    };
    let unknown = names.iter().skip(1).find(|name| !is_known(name));
    unknown.map(|name| format!("there is no experiment `{name}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &str) -> Option<String> {
        let text = match path {
            "crates/a/src/b.rs" => "fn one_two() {}\nstruct Three;\n",
            COMMANDS => "\n## `rtether ping`\n\n      --via <WAY>\n\n## `rtether reproduce`\n",
            EXPERIMENTS => "experiment_id,paper\nskeie-flat,000\n",
            _ => return None,
        };
        Some(text.to_owned())
    }

    #[test]
    fn what_shows_a_requirement_has_to_exist() {
        // Oracle: the texts above, by eye.
        let said = |line: &str| {
            let row = row((0, line)).expect("a row");
            wrong(&row, &text).join("; ")
        };
        assert_eq!(
            said("| R1 | all | x | done | `a/src/b.rs::one_two`, `rtether ping --via` |"),
            ""
        );
        assert_eq!(
            said("| R1 | all | x | done | `rtether reproduce skeie-flat` |"),
            ""
        );
        assert_eq!(said("| R1 | all | x | missing |  |"), "");
        assert_eq!(
            said("| R1 | all | x | partly | `a/src/b.rs::Three`; no fourth |"),
            ""
        );
        for (line, part) in [
            (
                "| R1 | all | x | done | `a/src/b.rs::one` |",
                "defines no `one`",
            ),
            (
                "| R1 | all | x | done | `a/src/c.rs::one` |",
                "there is no crates/a/src/c.rs",
            ),
            (
                "| R1 | all | x | done | `rtether pong` |",
                "no `rtether pong`",
            ),
            (
                "| R1 | all | x | done | `rtether ping --vi` |",
                "no option `--vi`",
            ),
            (
                "| R1 | all | x | done | `rtether reproduce skeie` |",
                "no experiment `skeie`",
            ),
            ("| R1 | all | x | done | by eye |", "no test"),
            (
                "| R1 | all | x | partly | `a/src/b.rs::Three` |",
                "has no words",
            ),
            (
                "| R1 | all | x | good | `a/src/b.rs::Three` |",
                "neither done",
            ),
        ] {
            assert!(said(line).contains(part), "{line}: {}", said(line));
        }
    }

    #[test]
    fn every_requirement_has_one_row_and_the_sum_is_right() {
        let page = (1..=168).map(|n| format!("| R{n} | all | x | missing |  |\n"));
        let page = page.collect::<String>() + "0 done, 0 partly, 168 missing\n";
        let found = check_page(&page, text);
        assert_eq!(found.len(), 1);
        assert!(found[0].message.contains("R169 has 0 rows"));
        let found = check_page(&page.replace("168 missing", "7 missing"), text);
        assert_eq!(found.len(), 2);
    }
}
