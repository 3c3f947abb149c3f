//! Names in the glossary's column "in code" exist in the code, and no term has two rows.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::Finding;
use crate::repo::TextFile;

const PAGE: &str = "GLOSSARY.md";
const COLUMN: &str = "in code";

/// Looks up every name of the column, and every term.
pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    let Some(page) = files.iter().find(|file| file.path == PAGE) else {
        return Vec::new();
    };
    let mut findings = twice(&page.text);
    let sources = files.iter().filter(|file| is_source(&file.path));
    let known: BTreeSet<&str> = sources.flat_map(|file| names(&file.text)).collect();
    let mut column = None;
    for (index, line) in page.text.lines().enumerate() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if !line.starts_with('|') {
            column = None;
        } else if let Some(place) = cells.iter().position(|cell| *cell == COLUMN) {
            column = Some(place);
        } else if let Some(cell) = column.and_then(|column| cells.get(column)) {
            let quoted = cell.split('`').skip(1).step_by(2).flat_map(names);
            let missing = quoted.filter(|name| !known.contains(name));
            findings.extend(missing.map(|name| Finding {
                path: PAGE.to_owned(),
                line: Some(index + 1),
                message: format!("no source has the name `{name}`"),
            }));
        }
    }
    findings
}

/// Returns a finding for each term whose second row this is.
fn twice(page: &str) -> Vec<Finding> {
    let mut first = BTreeMap::new();
    let mut findings = Vec::new();
    let rows = page.lines().zip(1..).filter(|(text, _)| text.starts_with('|'));
    for (text, line) in rows {
        let cell = text.split('|').nth(1).unwrap_or_default();
        // Each table begins with the same heads.
        for term in cell.split(", ").map(str::trim) {
            if term.starts_with("---") || term == "say" {
                continue;
            }
            let row = *first.entry(term).or_insert(line);
            if row != line {
                findings.push(Finding {
                    path: PAGE.to_owned(),
                    line: Some(line),
                    message: format!("`{term}` has a row already, line {row}"),
                });
            }
        }
    }
    findings
}

pub(super) fn is_source(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, end)| end == "rs")
}

/// Returns the identifiers of a text.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_no_source_has_is_found() {
        // Oracle: by eye. `Gone` is in no source; the first column and prose are not looked at.
        let file =
            |path: &str, text: &str| TextFile { path: path.to_owned(), text: text.to_owned() };
        let page = "| say | in code | meaning |\n|---|---|---|\n| `x` | `Frame`, `Gone` | `y` |\n";
        let files = [file(PAGE, page), file("crates/a/src/lib.rs", "struct Frame;")];
        let found = check(&files);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, Some(3));
        assert!(found[0].message.contains("`Gone`"));
    }

    #[test]
    fn a_term_with_two_rows_is_found() {
        // Oracle: by eye. The second table repeats the heads, and `stall` of the first.
        let page = "| say | meaning |\n|---|---|\n| probe, stall | a |\n\n\
                    | say | in code | meaning |\n|---|---|---|\n| stall | | b |\n| gap | | c |\n";
        let found = twice(page);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, Some(7));
        assert!(found[0].message.contains("`stall` has a row already, line 3"));
    }
}
