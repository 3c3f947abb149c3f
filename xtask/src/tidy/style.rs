//! Habits that may only become rarer: closures bound by `let`, conversions that saturate, and type names
//! that say nothing. The counts are in `xtask/style.csv`.

use std::cmp::Ordering;

use super::glossary::is_source;
use crate::finding::Finding;
use crate::house::{binds_closure, saturates};
use crate::repo::TextFile;

/// The counts: a habit and its number per line.
const LIST: &str = "xtask/style.csv";
/// Names that a type of any crate could have.
const GENERIC: [&str; 10] =
    ["State", "Row", "Kind", "Step", "Part", "Plant", "Station", "Way", "Seen", "Parts"];

/// Compares the counts with the list.
pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    let list = files.iter().find(|file| file.path == LIST);
    let known = list.map_or("", |file| &file.text);
    compare(&counts(files), known)
}

/// Counts each habit.
fn counts(files: &[TextFile]) -> [(&'static str, usize); 3] {
    let mut counts =
        [("closures bound by let", 0), ("conversions that saturate", 0), ("generic type names", 0)];
    for file in files.iter().filter(|file| is_source(&file.path)) {
        for line in file.text.lines().map(str::trim) {
            counts[0].1 += usize::from(binds_closure(line));
            counts[1].1 += usize::from(saturates(line));
            counts[2].1 += usize::from(names_generically(line));
        }
    }
    counts
}

/// Returns whether a line defines a type with a generic name.
fn names_generically(line: &str) -> bool {
    let behind_pub = line.strip_prefix("pub").and_then(|rest| rest.split_once(' '));
    let line = behind_pub.map_or(line, |(_, rest)| rest);
    let Some((word, rest)) = line.split_once(' ') else {
        return false;
    };
    let name = rest.split(|own: char| !own.is_alphanumeric()).next();
    ["struct", "enum", "type"].contains(&word) && name.is_some_and(|own| GENERIC.contains(&own))
}

/// Compares counts with those of the list, whose first line is a heading.
fn compare(counts: &[(&str, usize)], list: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for &(habit, count) in counts {
        let known = (2..).zip(list.lines().skip(1)).find_map(|(line, text)| {
            let (name, most) = text.rsplit_once(',')?;
            (name == habit).then_some((line, most.parse().ok()?))
        });
        let (line, most) = known.map_or((None, 0), |(line, most)| (Some(line), most));
        let message = match count.cmp(&most) {
            Ordering::Equal => continue,
            Ordering::Greater => format!(
                "{habit}: {count}, {most} were known; CONTRIBUTING.md#style says what to write"
            ),
            Ordering::Less => format!("{habit}: only {count} are left; write {count} here"),
        };
        findings.push(Finding { path: LIST.to_owned(), line, message });
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    // Oracle of all: by eye.

    #[test]
    fn habits_are_counted() {
        let text = "let a = |b| c;\nlet d = u8::try_from(e).unwrap_or(0);\nstruct Row {\n\
                    pub(crate) enum Kind<T> {\npub struct Rows(u8);\n// struct Row\n";
        let file = TextFile { path: "a.rs".to_owned(), text: text.to_owned() };
        assert_eq!(counts(&[file]).map(|(_, count)| count), [1, 1, 2]);
    }

    #[test]
    fn a_count_may_only_fall() {
        let known = "habit,count\na,3\nb,3\nc,3\n";
        let found = compare(&[("a", 4), ("b", 3), ("c", 2)], known);
        let found: Vec<_> = found.iter().map(|own| (own.line, own.message.as_str())).collect();
        assert_eq!(found.len(), 2);
        assert!(found[0].0 == Some(2) && found[0].1.starts_with("a: 4, 3 were known"));
        assert!(found[1].0 == Some(4) && found[1].1.starts_with("c: only 2"));
    }
}
