//! Every requirement of the papers has a row in `docs/catalogue.md` that quotes it whole, and its
//! evidence exists.

use std::collections::BTreeMap;

use crate::finding::Finding;
use crate::repo::{Repo, TextFile};

const PAGE: &str = "docs/catalogue.md";
/// Verbs and options of the command, one section per verb.
const COMMANDS: &str = "docs/reference/cli.md";
/// Names of experiments, in the first column.
const EXPERIMENTS: &str = "crates/rtether-papers/reference/experiments.csv";
/// The requirements, word for word.
const REQUIREMENTS: &str = "crates/rtether-papers/reference/requirements.csv";
/// How many the five papers have.
const COUNT: u32 = 169;

/// Words that precede the name of a definition.
const DEFINITIONS: [&str; 9] =
    ["fn ", "struct ", "enum ", "trait ", "const ", "static ", "type ", "mod ", "macro_rules! "];

/// A row about a requirement.
struct Row<'t> {
    line: usize,
    number: u32,
    source: &'t str,
    /// What is asked for.
    text: &'t str,
    status: &'t str,
    /// Tests, commands and symbols, and words.
    shown: &'t str,
}

/// Checks the rows of all requirements.
pub(super) fn check(repo: &Repo, files: &[TextFile]) -> Vec<Finding> {
    let text = |path: &str| {
        let known = files.iter().find(|file| file.path == path);
        known.map(|file| file.text.clone()).or_else(|| repo.read(path))
    };
    check_page(&text(PAGE).unwrap_or_default(), text)
}

fn check_page(page: &str, text: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut say = |line: Option<usize>, message: String| {
        let path = PAGE.to_owned();
        findings.push(Finding { path, line, message });
    };
    let rows: Vec<Row<'_>> = page.lines().enumerate().filter_map(row).collect();
    let asked = requirements(&text(REQUIREMENTS).unwrap_or_default());
    for number in 1..=COUNT {
        let mut of_it = rows.iter().filter(|row| row.number == number);
        let Some(asked) = asked.get(&number) else {
            say(None, format!("R{number} is not in {REQUIREMENTS}"));
            continue;
        };
        match (of_it.next(), of_it.count()) {
            (Some(row), 0) => {
                for message in misquoted(row, asked) {
                    say(Some(row.line), format!("R{number}: {message}"));
                }
            }
            (first, more) => {
                let count = usize::from(first.is_some()) + more;
                say(None, format!("R{number} has {count} rows instead of one"));
            }
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
    let sum =
        format!("{} yes, {} partly, {} missing", count("yes"), count("partly"), count("missing"));
    if !page.contains(&sum) {
        say(None, format!("the sum is not that of the rows: {sum}"));
    }
    findings
}

/// What a requirement asks for, and where in the papers it stands.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    source: String,
    text: String,
}

/// Reads the requirements: code, source, class, experiments, text.
fn requirements(table: &str) -> BTreeMap<u32, Asked> {
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let records = reader.records().filter_map(Result::ok);
    let read = |record: csv::StringRecord| {
        let number = record.get(0)?.strip_prefix('R')?.parse().ok()?;
        let source = record.get(1)?.to_owned();
        let text = record.get(4)?.to_owned();
        Some((number, Asked { source, text }))
    };
    records.filter_map(read).collect()
}

/// Returns which cells of a row are not those of the requirement.
fn misquoted(row: &Row<'_>, asked: &Asked) -> Vec<String> {
    let cells = [(row.text, &asked.text), (row.source, &asked.source)];
    let wrong = cells.into_iter().filter(|(cell, asked)| cell != asked);
    let say = |(cell, asked)| format!("`{cell}` is not what {REQUIREMENTS} says: `{asked}`");
    wrong.map(say).collect()
}

/// Parses `| R1 | source | text | status | shown |`.
fn row((index, line): (usize, &str)) -> Option<Row<'_>> {
    let cells: Vec<&str> = line.split(" | ").map(|cell| cell.trim_matches(['|', ' '])).collect();
    let &[code, source, text, status, shown] = cells.as_slice() else {
        return None;
    };
    let number = code.strip_prefix('R')?.parse().ok()?;
    Some(Row { line: index + 1, number, source, text, status, shown })
}

fn wrong(row: &Row<'_>, text: &impl Fn(&str) -> Option<String>) -> Vec<String> {
    let parts: Vec<&str> = row.shown.split('`').collect();
    let quoted = parts.iter().skip(1).step_by(2).copied();
    let evidence: Vec<&str> = quoted.filter(|part| is_evidence(part)).collect();
    let has_words =
        parts.iter().step_by(2).any(|part| part.trim_matches([' ', ',', ';']).len() > 3);
    let mut wrong: Vec<String> = Vec::new();
    match row.status {
        "yes" | "partly" if evidence.is_empty() => {
            wrong.push("no test, command or symbol shows it".to_owned());
        }
        "partly" if !has_words => wrong.push("what is not there has no words".to_owned()),
        "yes" | "partly" | "missing" => {}
        other => wrong.push(format!("`{other}` is neither yes, partly nor missing")),
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
    ends.into_iter().any(|next| next.is_none_or(|c| !c.is_ascii_alphanumeric() && c != '_'))
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
    let nested = names.get(1).and_then(|word| section(&format!("{verb} {word}")));
    let Some(section) = nested.or_else(|| section(verb)) else {
        return Some(format!("there is no `rtether {verb}`"));
    };
    let known = |option: &&&str| {
        let ends = |next: Option<char>| next.is_none_or(|c| !c.is_ascii_alphanumeric() && c != '-');
        let found = section.match_indices(**option);
        found.into_iter().any(|(at, found)| ends(section[at + found.len()..].chars().next()))
    };
    if let Some(option) = options.iter().find(|option| !known(option)) {
        return Some(format!("`rtether {verb}` has no option `{option}`"));
    }
    if *verb != "reproduce" {
        return None;
    }
    let experiments = text(EXPERIMENTS).unwrap_or_default();
    let is_known =
        |name: &&&str| experiments.lines().any(|line| line.split(',').next() == Some(**name));
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
            said("| R1 | all | x | yes | `a/src/b.rs::one_two`, `rtether ping --via` |"),
            ""
        );
        assert_eq!(said("| R1 | all | x | yes | `rtether reproduce skeie-flat` |"), "");
        assert_eq!(said("| R1 | all | x | missing |  |"), "");
        assert_eq!(said("| R1 | all | x | partly | `a/src/b.rs::Three`; no fourth |"), "");
        for (line, part) in [
            ("| R1 | all | x | yes | `a/src/b.rs::one` |", "defines no `one`"),
            ("| R1 | all | x | yes | `a/src/c.rs::one` |", "there is no crates/a/src/c.rs"),
            ("| R1 | all | x | yes | `rtether pong` |", "no `rtether pong`"),
            ("| R1 | all | x | yes | `rtether ping --vi` |", "no option `--vi`"),
            ("| R1 | all | x | yes | `rtether reproduce skeie` |", "no experiment `skeie`"),
            ("| R1 | all | x | yes | by eye |", "no test"),
            ("| R1 | all | x | partly | `a/src/b.rs::Three` |", "has no words"),
            ("| R1 | all | x | good | `a/src/b.rs::Three` |", "neither yes"),
        ] {
            assert!(said(line).contains(part), "{line}: {}", said(line));
        }
    }

    /// A page with all requirements but one, and their table.
    fn page_and_table() -> (String, String) {
        let row = |n| format!("| R{n} | all | hubs, and switches | missing |  |\n");
        let page = (1..COUNT).map(row).collect::<String>() + "0 yes, 0 partly, 168 missing\n";
        let line = |n| format!("R{n},all,core,,\"hubs, and switches\"\n");
        let head = "requirement,source,class,experiments,text\n".to_owned();
        (page, head + &(1..=COUNT).map(line).collect::<String>())
    }

    fn found(page: &str, table: &str) -> Vec<String> {
        let text = |path: &str| match path {
            REQUIREMENTS => Some(table.to_owned()),
            _ => text(path),
        };
        let found = check_page(page, text).into_iter();
        found.map(|finding| finding.message).collect()
    }

    #[test]
    fn every_requirement_has_one_row_and_the_sum_is_right() {
        let (page, table) = page_and_table();
        let said = found(&page, &table);
        assert_eq!(said.len(), 1);
        assert!(said[0].contains("R169 has 0 rows"));
        let said = found(&page.replace("168 missing", "7 missing"), &table);
        assert_eq!(said.len(), 2);
        let twice = page.clone() + "| R9 | all | hubs, and switches | missing |  |\n";
        let said = found(&twice, &table).join("; ");
        assert!(said.contains("R9 has 2 rows"), "{said}");
    }

    #[test]
    fn a_requirement_is_quoted_whole() {
        // Oracle: one word or the source of R7 changed in the page, R8 cut from the table.
        let (page, table) = page_and_table();
        let row = "| R7 | all | hubs, and switches |";
        for (cut, part) in [
            ("| R7 | all | hubs |", "R7: `hubs` is not what"),
            ("| R7 | all | hubs, and a switch |", "`hubs, and switches`"),
            ("| R7 | 000 | hubs, and switches |", "R7: `000` is not what"),
        ] {
            let said = found(&page.replace(row, cut), &table).join("; ");
            assert!(said.contains(part), "{said}");
        }
        let less = table.replace("R8,all,core,,\"hubs, and switches\"\n", "");
        let said = found(&page, &less).join("; ");
        assert!(said.contains("R8 is not in"), "{said}");
    }
}
