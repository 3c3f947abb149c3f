//! Changes written into the text of a file, which keeps its comments and its form.
//!
//! A value is written where it stands, or behind the keys beside it. What has no single place in the
//! file, since another file or a generator makes it or several elements share it, becomes a line
//! under `changes`. The text counts only if it is read as the scenario with the changes.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::change::Override;
use super::diagnostic::{Sink, Source, Span};
use super::plan::Scenario;
use super::tree::{self, Data, Entry, Value};
use super::written::Written;
use super::{paths, set};

/// A text to write in place of a span.
type Place = (Span, String);

impl Written {
    /// Returns the text of the file with its own changes and these written into it. It includes the
    /// same files. `None` if a change is a mistake, or if no text is read as the same scenario.
    pub fn settled(&self, changes: &[Override]) -> Option<String> {
        let mut whole = self.clone();
        whole.changes.extend_from_slice(changes);
        let wanted = whole.load().scenario?;
        let (root, sources) = self.assembled(&[])?;
        let (mut placed, mut others) = (BTreeMap::new(), Vec::new());
        for (order, change) in whole.changes.iter().enumerate() {
            match places(&root, &sources, change) {
                // Of changes of the same value the last one counts.
                Some(own) => {
                    placed.extend(own.into_iter().map(|(path, place)| (path, (order, place))));
                }
                None => others.push(change.clone()),
            }
        }
        let mut placed: Vec<(usize, Place)> = placed.into_values().collect();
        placed.sort_by_key(|(order, _)| *order);
        let placed = placed.into_iter().map(|(_, place)| place).collect();
        let in_place = replaced(&self.text, placed).and_then(|text| with_lines(&text, &others));
        let in_place = in_place.filter(|text| self.with_text(text).as_ref() == Some(&wanted));
        in_place.or_else(|| {
            let below = with_lines(&self.text, &whole.changes)?;
            (self.with_text(&below)? == wanted).then_some(below)
        })
    }

    /// Reads a text in place of its own and its changes.
    fn with_text(&self, text: &str) -> Option<Scenario> {
        let text = text.to_owned();
        Self { text, changes: Vec::new(), ..self.clone() }.load().scenario
    }
}

/// Returns the places in the file itself that a change replaces, with their paths; `None` if it has
/// others, too.
fn places(root: &Value, sources: &[Source], change: &Override) -> Option<Vec<(String, Place)>> {
    let paths = paths::single(root, &change.path);
    let edits = paths.into_iter().map(|path| {
        let change = Override { path, ..change.clone() };
        let place = set::edit(root, sources, &change).filter(|(span, _)| span.source == 0)?;
        Some((change.path, place))
    });
    let edits: Vec<(String, Place)> = edits.collect::<Option<_>>()?;
    (!edits.is_empty()).then_some(edits)
}

/// Returns a text with all of these places replaced; `None` if two of them overlap.
fn replaced(text: &str, mut places: Vec<Place>) -> Option<String> {
    // From the last to the first, so that those before keep their place; of what is added at one
    // place, the first comes first.
    places.reverse();
    places.sort_by_key(|(span, _)| Reverse((span.start, span.end)));
    let (mut text, mut end) = (text.to_owned(), text.len());
    for (span, new) in places {
        let range = span.start as usize..span.end as usize;
        if range.end > end {
            return None;
        }
        end = range.start;
        text.get(range.clone())?;
        text.replace_range(range, &new);
    }
    Some(text)
}

/// Returns a text with these changes as lines under `changes`.
fn with_lines(text: &str, changes: &[Override]) -> Option<String> {
    let Some((first, more)) = changes.split_first() else {
        return Some(text.to_owned());
    };
    let root = tree::parse(0, text, &mut Sink::default())?;
    let Data::Map(entries) = &root.data else {
        return None;
    };
    let line = match entries.iter().find(|own| own.key == "changes") {
        None => {
            let lead = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            return with_lines(&format!("{text}{lead}changes:\n  {}\n", entry(first)), more);
        }
        Some(own) => beside(text, own, first)?,
    };
    with_lines(&replaced(text, vec![line])?, more)
}

/// Returns the place of one more line under `changes`, or of the value that it replaces there.
fn beside(text: &str, changes: &Entry, change: &Override) -> Option<Place> {
    let Data::Map(entries) = &changes.value.data else {
        return None;
    };
    if let Some(same) = entries.iter().find(|own| own.key == change.path) {
        return Some((same.value.span, change.value.clone()));
    }
    let last = entries.last()?;
    let written = text.get(changes.value.span.start as usize..)?;
    let behind = text.get(..last.value.span.end as usize)?.trim_end().len();
    let (at, new) = if written.starts_with('{') {
        (behind, format!(", {}", entry(change)))
    } else {
        let line = text[..last.key_span.start as usize].rfind('\n').map_or(0, |end| end + 1);
        let indent = last.key_span.start as usize - line;
        let end = text[behind..].find('\n').map_or(text.len(), |end| behind + end);
        (end, format!("\n{}{}", " ".repeat(indent), entry(change)))
    };
    let at = u32::try_from(at).ok()?;
    Some((Span { source: 0, start: at, end: at }, new))
}

/// Returns a change as an entry of a map.
fn entry(change: &Override) -> String {
    format!("'{}': {}", change.path.replace('\'', "''"), change.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLANT: &str = "\
rtether: 1
x-slow: &slow { period: 1 ms, size: 60 B }  # shared
stacks:
  plc: { send: 1 us, receive: 1 us }  # of a data sheet
nodes:
  a: { stack: plc }  # left
  b: { stack: plc }
  c: { stack: zero }
switches:
  sw: { ports: 3 }
links:
  - { ends: [a, \"sw:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"sw:2\"], rate: 100 Mbit/s }
  - { ends: [c, \"sw:3\"], rate: 100 Mbit/s }
flows:
  - { name: f, class: x, from: a, to: b, period: 1 ms, size: 60 B }  # first
  - name: g
    class: x
    from: b
    to: a      # back
    pcp: 3     # low
    <<: *slow
  - { name: h, from: c, to: a, <<: *slow }
run: { for: 1 s }
";

    fn changes(list: &[(&str, &str)]) -> Vec<Override> {
        list.iter().map(|(path, value)| Override::new("design", *path, *value)).collect()
    }

    /// Returns the lines of a text that are not in the other.
    fn other_lines<'t>(new: &'t str, old: &str) -> Vec<&'t str> {
        new.lines().filter(|line| old.lines().all(|own| own != *line)).collect()
    }

    /// Oracle: the lines, by eye.
    #[test]
    fn changes_stand_where_the_values_do_and_comments_stay() {
        let written = Written::from(PLANT.to_owned());
        let changes = changes(&[
            ("flows[class=x].pcp", "6"),
            ("switches[*].queues", "2"),
            ("nodes[stack=plc].receive_queues", "{ selection: instances }"),
            ("nodes[stack=plc].transmit_queues", "{ strategy: moderate }"),
        ]);
        let text = written.settled(&changes).expect("they can be written");
        let layers =
            "receive_queues: { selection: instances }, transmit_queues: { strategy: moderate } }";
        assert_eq!(
            other_lines(&text, PLANT),
            [
                format!("  a: {{ stack: plc, {layers}  # left"),
                format!("  b: {{ stack: plc, {layers}"),
                "  sw: { ports: 3, queues: 2 }".to_owned(),
                "  - { name: f, class: x, from: a, to: b, period: 1 ms, size: 60 B, pcp: 6 }  # first"
                    .to_owned(),
                "    pcp: 6     # low".to_owned(),
            ]
        );
        assert_eq!(text.lines().count(), PLANT.lines().count());
    }

    /// Oracle: the lines, by eye; the shared value belongs to three flows.
    #[test]
    fn what_several_share_becomes_a_line_of_changes() {
        let written = Written::from(PLANT.to_owned());
        let one = changes(&[("flows.h.period", "2 ms"), ("flows.g.pcp", "5")]);
        let text = written.settled(&one).expect("they can be written");
        assert_eq!(
            other_lines(&text, PLANT),
            ["changes:", "  'flows.h.period': 2 ms", "  'flows.g.pcp': 5"]
        );
        // The lines are there: further ones come behind them, or replace them.
        let again = Written::from(text.clone());
        let more = changes(&[("flows.g.pcp", "7"), ("flows.g.size", "70 B")]);
        let more = again.settled(&more).expect("they can be written");
        assert_eq!(other_lines(&more, &text), ["  'flows.g.pcp': 7", "  'flows.g.size': 70 B"]);
        assert!(!more.contains("'flows.g.pcp': 5"), "{more}");
    }

    /// Oracle: the lines, by eye.
    #[test]
    fn of_changes_of_the_same_value_the_last_one_is_written() {
        let written = Written::from(PLANT.to_owned());
        let both = changes(&[("flows[class=x].pcp", "6"), ("flows.g.pcp", "5")]);
        let text = written.settled(&both).expect("they can be written");
        assert_eq!(
            other_lines(&text, PLANT),
            [
                "  - { name: f, class: x, from: a, to: b, period: 1 ms, size: 60 B, pcp: 6 }  # first",
                "    pcp: 5     # low",
            ]
        );
    }

    /// Oracle: the scenario with the changes, which are those of `--set`, too.
    #[test]
    fn what_options_replaced_is_written_as_well() {
        let mut written = Written::from(PLANT.to_owned());
        written.changes = changes(&[("run.for", "3 s")]);
        let own = changes(&[("flows.f.pcp", "1")]);
        let text = written.settled(&own).expect("they can be written");
        assert_eq!(crate::load("", &text).scenario, written.with_all(&own));
        assert_eq!(written.settled(&changes(&[("flows.f.pcp", "9")])), None);
        assert_eq!(written.settled(&changes(&[("flows[class=z].pcp", "1")])), None);
    }
}
