//! A scenario in pieces that can be left out one by one: nodes, links, flows and whole sections.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::scalar::scalar;
use crate::tree::{Data, Entry, Value};

/// Sections that no scenario is without.
const KEPT: [&str; 2] = ["rtether", "run"];
/// Sections whose pieces are left out before all others, since most depends on them.
const FIRST: &str = "flows";

/// A scenario, with all that is included, generated and changed, in pieces.
#[derive(Clone, Debug)]
pub struct Pieces {
    sections: Vec<String>,
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug)]
struct Piece {
    /// Its section, by position.
    section: usize,
    /// Its name, by which others mention it.
    name: Option<String>,
    /// What it says.
    text: String,
    /// Names and numbers in it.
    words: Vec<String>,
}

impl Pieces {
    /// Takes a scenario apart.
    pub(crate) fn of(sections: &[&Entry]) -> Self {
        let mut all = Self { sections: Vec::new(), pieces: Vec::new() };
        for (section, entry) in sections.iter().enumerate() {
            let key = scalar(&entry.key);
            match &entry.value.data {
                Data::Map(parts) if !parts.is_empty() => {
                    for part in parts {
                        let text = format!("  {}: {}", scalar(&part.key), inline(&part.value));
                        all.add(section, Some(&part.key), text, &part.value);
                    }
                }
                Data::List(items) if !items.is_empty() => {
                    for item in items {
                        all.add(section, item.name(), format!("  - {}", inline(item)), item);
                    }
                }
                Data::Null | Data::Scalar(_) | Data::Map(_) | Data::List(_) => {
                    let text = format!("{key}: {}", inline(&entry.value));
                    all.add(section, None, text, &entry.value);
                }
            }
            all.sections.push(key);
        }
        all
    }

    fn add(&mut self, section: usize, name: Option<&str>, text: String, value: &Value) {
        let mut words = Vec::new();
        collect(value, &mut words);
        self.pieces.push(Piece { section, name: name.map(str::to_owned), text, words });
    }

    /// Returns the pieces that are left out together, by number: each piece that a scenario can be
    /// without, and with it those that mention its name. Flows come first.
    pub fn groups(&self) -> Vec<Vec<usize>> {
        let open = self.pieces.iter().enumerate();
        let open = open.filter(|(_, own)| !KEPT.contains(&self.sections[own.section].as_str()));
        let mut open: Vec<(usize, &Piece)> = open.collect();
        open.sort_by_key(|(_, own)| self.sections[own.section] != FIRST);
        open.iter().map(|(number, own)| self.with_mentions(*number, own)).collect()
    }

    fn with_mentions(&self, number: usize, own: &Piece) -> Vec<usize> {
        let mut group = vec![number];
        if let Some(name) = &own.name {
            let others = self.pieces.iter().enumerate();
            let others =
                others.filter(|(_, other)| other.section != own.section && other.mentions(name));
            group.extend(others.map(|(other, _)| other));
        }
        group
    }

    /// Returns how many pieces a section has that are not left out.
    pub fn count(&self, section: &str, left_out: &BTreeSet<usize>) -> usize {
        let own = self.pieces.iter().enumerate();
        let own = own.filter(|(_, own)| self.sections[own.section] == section);
        own.filter(|(number, _)| !left_out.contains(number)).count()
    }

    /// Returns the text of the scenario without some pieces; a section without pieces is left out.
    pub fn text(&self, left_out: &BTreeSet<usize>) -> String {
        let mut text = String::new();
        let mut begun = None;
        for (number, piece) in self.pieces.iter().enumerate() {
            if left_out.contains(&number) {
                continue;
            }
            // What has no parts stands on the line of its key.
            if begun != Some(piece.section) && piece.text.starts_with("  ") {
                _ = writeln!(text, "{}:", self.sections[piece.section]);
            }
            begun = Some(piece.section);
            _ = writeln!(text, "{}", piece.text);
        }
        text
    }
}

impl Piece {
    /// Returns whether it names something, or a port of it.
    fn mentions(&self, name: &str) -> bool {
        self.words.iter().any(|word| {
            word.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        })
    }
}

/// Collects the words of a value; keys are words, too, where they name something.
fn collect(value: &Value, words: &mut Vec<String>) {
    match &value.data {
        Data::Null => {}
        Data::Scalar(text) => words.push(text.clone()),
        Data::List(items) => items.iter().for_each(|item| collect(item, words)),
        Data::Map(entries) => {
            for entry in entries {
                words.push(entry.key.clone());
                collect(&entry.value, words);
            }
        }
    }
}

/// Returns a value on one line.
fn inline(value: &Value) -> String {
    match &value.data {
        Data::Null => "null".to_owned(),
        Data::Scalar(text) => scalar(text),
        Data::List(items) => {
            let items: Vec<String> = items.iter().map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        Data::Map(entries) => {
            let entries: Vec<String> = entries
                .iter()
                .map(|entry| format!("{}: {}", scalar(&entry.key), inline(&entry.value)))
                .collect();
            format!("{{ {} }}", entries.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Written;

    const TEXT: &str = "rtether: 1\nname: x\nnodes: { a: { stack: zero }, b: { stack: zero } }\n\
        switches: { s: { ports: 2 } }\n\
        links: [{ ends: [a, \"s:1\"], rate: 100 Mbit/s }, { ends: [b, \"s:2\"], rate: 100 Mbit/s }]\n\
        flows:\n  - { name: f, from: a, to: b, period: 1 ms, size: 60 B }\n  \
        - { name: g, from: b, to: a, period: 1 ms, size: 60 B }\n\
        releases: [{ flow: g, at: [1 us] }]\nrun: { for: 1 s }\n";

    fn pieces() -> Pieces {
        Written::from(TEXT.to_owned()).pieces().expect("it is YAML")
    }

    /// Returns how many pieces go with the one that begins so.
    fn group(pieces: &Pieces, begin: &str) -> usize {
        let own = pieces.pieces.iter().position(|own| own.text.trim_start().starts_with(begin));
        let group = pieces.groups().into_iter().find(|group| Some(group[0]) == own);
        group.expect("a piece").len()
    }

    /// Oracle: by hand; whatever mentions a name goes with it.
    #[test]
    fn what_mentions_a_name_goes_with_it() {
        let pieces = pieces();
        assert_eq!(pieces.groups().len(), pieces.pieces.len() - 2, "`rtether` and `run` stay");
        assert_eq!(group(&pieces, "- { name: g"), 2, "its releases go, too");
        assert_eq!(group(&pieces, "- { name: f"), 1);
        assert_eq!(group(&pieces, "a:"), 4, "its link and both flows go, too");
        assert_eq!(group(&pieces, "s:"), 3);
        assert!(pieces.pieces[pieces.groups()[0][0]].text.contains("name: f"), "flows come first");
    }

    /// Oracle: the scenario as it is written, and by hand.
    #[test]
    fn without_pieces_it_is_a_scenario() {
        let pieces = pieces();
        let whole = Written::from(pieces.text(&BTreeSet::new())).load().scenario;
        assert_eq!(
            whole.expect("a scenario"),
            Written::from(TEXT.to_owned()).load().scenario.expect("it")
        );
        let left_out: BTreeSet<usize> = pieces.groups()[1].iter().copied().collect();
        let text = pieces.text(&left_out);
        assert!(!text.contains("releases") && !text.contains("name: g"), "{text}");
        let fewer = Written::from(text).load().scenario.expect("a scenario");
        assert_eq!(fewer.flows.len(), 1);
        assert_eq!([pieces.count("flows", &left_out), pieces.count("nodes", &left_out)], [1, 2]);
    }
}
