//! Every requirement of the papers has a row, and the evidence that it names exists.

use crate::finding::Finding;
use crate::repo::{Repo, TextFile};
use crate::requirements::{FILE as REQUIREMENTS, Requirement, requirements};

/// Verbs and options of the command, one section per verb.
const COMMANDS: &str = "docs/reference/cli.md";
/// Names of experiments, in the first column.
const EXPERIMENTS: &str = "crates/rtether-papers/reference/experiments.csv";
/// How many the five papers have.
const COUNT: u32 = 169;

/// Words that precede the name of a definition.
const DEFINITIONS: [&str; 9] =
    ["fn ", "struct ", "enum ", "trait ", "const ", "static ", "type ", "mod ", "macro_rules! "];

/// Checks the rows of all requirements.
pub(super) fn check(repo: &Repo, files: &[TextFile]) -> Vec<Finding> {
    check_table(|path: &str| {
        let known = files.iter().find(|file| file.path == path);
        known.map(|file| file.text.clone()).or_else(|| repo.read(path))
    })
}

fn check_table(text: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut say =
        |message| findings.push(Finding { path: REQUIREMENTS.to_owned(), line: None, message });
    let all = match requirements(&text(REQUIREMENTS).unwrap_or_default()) {
        Ok(all) => all,
        Err(error) => {
            say(error.to_string());
            return findings;
        }
    };
    for number in 1..=COUNT {
        let count = all.iter().filter(|own| own.number == number).count();
        if count != 1 {
            say(format!("R{number} has {count} rows instead of one"));
        }
    }
    for own in &all {
        for message in wrong(own, &text) {
            say(format!("R{}: {message}", own.number));
        }
    }
    findings
}

fn wrong(own: &Requirement, text: &impl Fn(&str) -> Option<String>) -> Vec<String> {
    let parts: Vec<&str> = own.shown_by.split('`').collect();
    let quoted = parts.iter().skip(1).step_by(2).copied();
    let evidence: Vec<&str> = quoted.filter(|part| is_evidence(part)).collect();
    let has_words =
        parts.iter().step_by(2).any(|part| part.trim_matches([' ', ',', ';']).len() > 3);
    let mut wrong: Vec<String> = Vec::new();
    match own.met.as_str() {
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

    const HEAD: &str = "requirement,source,class,experiments,text,met,shown_by\n";

    #[test]
    fn what_shows_a_requirement_has_to_exist() {
        // Oracle: the texts above, by eye.
        let said = |cells: &str| {
            let rows = requirements(&format!("{HEAD}R1,all,core,,x,{cells}\n")).expect("a row");
            wrong(&rows[0], &text).join("; ")
        };
        assert_eq!(said("yes,\"`a/src/b.rs::one_two`, `rtether ping --via`\""), "");
        assert_eq!(said("yes,`rtether reproduce skeie-flat`"), "");
        assert_eq!(said("missing,"), "");
        assert_eq!(said("partly,`a/src/b.rs::Three`; no fourth"), "");
        for (cells, part) in [
            ("yes,`a/src/b.rs::one`", "defines no `one`"),
            ("yes,`a/src/c.rs::one`", "there is no crates/a/src/c.rs"),
            ("yes,`rtether pong`", "no `rtether pong`"),
            ("yes,`rtether ping --vi`", "no option `--vi`"),
            ("yes,`rtether reproduce skeie`", "no experiment `skeie`"),
            ("yes,by eye", "no test"),
            ("partly,`a/src/b.rs::Three`", "has no words"),
            ("good,`a/src/b.rs::Three`", "neither yes"),
        ] {
            assert!(said(cells).contains(part), "{cells}: {}", said(cells));
        }
    }

    fn found(table: &str) -> Vec<String> {
        let found = check_table(|path| (path == REQUIREMENTS).then(|| table.to_owned()));
        found.into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn every_requirement_has_one_row() {
        let row = |number| format!("R{number},all,core,,hubs,missing,\n");
        let table = HEAD.to_owned() + &(1..=COUNT).map(row).collect::<String>();
        assert_eq!(found(&table), [""; 0]);
        assert_eq!(found(&table.replace(&row(8), "")), ["R8 has 0 rows instead of one"]);
        assert_eq!(found(&(table.clone() + &row(9))), ["R9 has 2 rows instead of one"]);
        let said = found(&table.replace("R7,", "7,")).join("; ");
        assert!(said.contains("`7` is no code"), "{said}");
    }
}
