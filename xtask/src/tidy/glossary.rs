//! Names in the glossary's column "in code" exist in the code.

use std::collections::BTreeSet;

use super::Finding;
use crate::repo::TextFile;

const PAGE: &str = "GLOSSARY.md";
const COLUMN: &str = "in code";

/// Looks up every name of the column.
pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    let Some(page) = files.iter().find(|file| file.path == PAGE) else {
        return Vec::new();
    };
    let sources = files.iter().filter(|file| is_source(&file.path));
    let known: BTreeSet<&str> = sources.flat_map(|file| names(&file.text)).collect();
    let mut column = None;
    let mut findings = Vec::new();
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

fn is_source(path: &str) -> bool {
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
        let file = |path: &str, text: &str| TextFile {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let page = "| say | in code | meaning |\n|---|---|---|\n| `x` | `Frame`, `Gone` | `y` |\n";
        let files = [
            file(PAGE, page),
            file("crates/a/src/lib.rs", "struct Frame;"),
        ];
        let found = check(&files);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, Some(3));
        assert!(found[0].message.contains("`Gone`"));
    }
}
