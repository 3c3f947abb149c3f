//! Words not allowed in the tree, each with its replacement.

use crate::finding::Finding;
use crate::repo::TextFile;

/// A word to look for.
struct Banned {
    word: &'static str,
    /// Whether case matters.
    exact_case: bool,
    /// Whether the neighboring text must not continue the word.
    whole: bool,
    instead: &'static str,
}

const BANNED: &[Banned] = &[
    marker("TODO", "an issue, or the work itself"),
    marker("FIXME", "an issue, or the work itself"),
    marker("XXX", "a comment that says what is wrong"),
    word("hack", "the reason for the unusual code"),
    word("sanity", "`consistency`, or what is checked"),
    word("blacklist", "`deny-list`"),
    word("whitelist", "`allow-list`"),
    word("so many", "the number, or `that many`"),
    word("somebody", "who: a station, a program, a participant"),
    word("whoever", "who: a station, a program, a participant"),
    word("lest", "`so that ... not`"),
    word("none if there is none", "`None` and when"),
    part("/home/", "a path inside the checkout"),
    part("/root/", "a path inside the checkout"),
    part("/tmp/", "a temporary directory of the system's choice"),
];

/// Files that must quote these words.
const EXEMPT: &[&str] = &["Cargo.lock", "LICENSE-APACHE", "LICENSE-MIT", "xtask/src/tidy/words.rs"];

const fn marker(word: &'static str, instead: &'static str) -> Banned {
    Banned { word, exact_case: true, whole: true, instead }
}

const fn word(word: &'static str, instead: &'static str) -> Banned {
    Banned { word, exact_case: false, whole: true, instead }
}

const fn part(word: &'static str, instead: &'static str) -> Banned {
    Banned { word, exact_case: true, whole: false, instead }
}

/// Looks for the words in every text file.
pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| !EXEMPT.contains(&file.path.as_str())) {
        for (index, line) in file.text.lines().enumerate() {
            for banned in BANNED.iter().filter(|banned| banned.is_in(line)) {
                findings.push(Finding {
                    path: file.path.clone(),
                    line: Some(index + 1),
                    message: format!("`{}`: write {} instead", banned.word, banned.instead),
                });
            }
        }
    }
    findings
}

impl Banned {
    fn is_in(&self, line: &str) -> bool {
        if self.exact_case { self.occurs(line) } else { self.occurs(&line.to_lowercase()) }
    }

    fn occurs(&self, line: &str) -> bool {
        let continues = |c: char| c.is_alphanumeric() || c == '_';
        line.match_indices(self.word).any(|(at, found)| {
            let before = line[..at].chars().next_back();
            let after = line[at + found.len()..].chars().next();
            !self.whole || !before.is_some_and(continues) && !after.is_some_and(continues)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Vec<Finding> {
        check(&[TextFile { path: "a.md".to_owned(), text: format!("first\n{line}\n") }])
    }

    #[test]
    fn a_banned_word_is_found_with_its_line_and_replacement() {
        let found = found("a Sanity check");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, Some(2));
        assert!(found[0].message.contains("consistency"));
    }

    #[test]
    fn a_word_that_only_contains_it_passes() {
        assert_eq!(found("hackney, TODOS, a todo list of the user, template XXXXXX"), []);
    }

    #[test]
    fn a_path_is_found_inside_a_word() {
        assert_eq!(found("see file:///home/me/notes").len(), 1);
        assert_eq!(found("at home/ or in the network/tmp folder"), []);
    }
}
