//! A scenario as it was written, to be read again with one more change.

use std::collections::BTreeSet;

use crate::assemble::assemble;
use crate::change::Override;
use crate::diagnostic::{Sink, Source};
use crate::help::{Edit, Replacement};
use crate::overrides;
use crate::pieces::Pieces;
use crate::plan::Scenario;
use crate::render::position;
use crate::tree::{self, Data, Entry, Value};
use crate::{Loaded, load_from, set};

/// Text of a scenario file, and the values replaced in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Name of the file, as messages have it; paths of included files are relative to it.
    pub name: String,
    /// Content of the file.
    pub text: String,
    /// Values replaced, in order.
    pub changes: Vec<Override>,
    /// The files that it includes, as [`Loaded::included`] returns them.
    pub included: Vec<Source>,
}

impl From<String> for Written {
    /// A file as it is.
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

impl Written {
    /// Reads the scenario with one more change; `None` if that is a mistake.
    pub fn with(&self, change: &Override) -> Option<Scenario> {
        self.with_all(std::slice::from_ref(change))
    }

    /// Reads the scenario with more changes; `None` if that is a mistake.
    pub fn with_all(&self, changes: &[Override]) -> Option<Scenario> {
        let mut more = self.clone();
        more.changes.extend_from_slice(changes);
        more.load().scenario
    }

    /// Returns the text of the file, and of those that it includes.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let included = self.included.iter().map(|file| file.text.as_str());
        std::iter::once(self.text.as_str()).chain(included)
    }

    /// Reads the scenario, as it is written here.
    pub fn load(&self) -> Loaded {
        self.load_and_add(&[])
    }

    /// Reads the scenario with more flows; [`Loaded::without_added`] is the one without them.
    pub fn load_and_add(&self, flows: &[Source]) -> Loaded {
        let read = |path: &str| self.read(path);
        load_from(&self.name, &self.text, &read, &self.changes, flows)
    }

    /// Returns how a scenario was written that has been read from a file.
    pub fn of(loaded: &Loaded, changes: Vec<Override>) -> Self {
        let file = loaded.sources.first();
        Self {
            name: file.map_or_else(String::new, |file| file.name.clone()),
            text: file.map_or_else(String::new, |file| file.text.clone()),
            changes,
            included: loaded.included().to_vec(),
        }
    }

    fn read(&self, path: &str) -> Result<String, String> {
        let found = self.included.iter().find(|file| file.name == path);
        let found = found.ok_or("it was not there when the scenario was read")?;
        Ok(found.text.clone())
    }

    /// Returns what all files hold, after their own changes and these, and their texts.
    pub(super) fn assembled(&self, changes: &[Override]) -> Option<(Value, Vec<Source>)> {
        let (root, sources, _) = self.assembled_of(changes)?;
        Some((root, sources))
    }

    /// Returns the same, and the numbers of the texts that are profiles.
    fn assembled_of(&self, changes: &[Override]) -> Option<(Value, Vec<Source>, Vec<u32>)> {
        let (name, text) = (self.name.clone(), self.text.clone());
        let mut sources = vec![Source { name, text }];
        let mut sink = Sink::default();
        let mut root = tree::parse(0, &self.text, &mut sink)?;
        let read = |path: &str| self.read(path);
        let taken = assemble(&mut root, &read, &mut sources, changes, &mut sink).taken;
        let profiles = taken.places().into_iter().map(|place| place.source).collect();
        Some((root, sources, profiles))
    }

    /// Returns what the scenario says with all that is included, generated and changed; `None` if the
    /// file is no YAML.
    pub fn tree(&self) -> Option<Value> {
        Some(self.assembled(&self.changes)?.0)
    }

    /// Returns one file that is read as the same scenario: with what other files hold and generators
    /// make, and with all changes. Comments are lost. `None` if something is no YAML.
    pub fn whole(&self) -> Option<String> {
        Some(self.pieces()?.text(&BTreeSet::new()))
    }

    /// Returns the same in pieces that can be left out.
    pub fn pieces(&self) -> Option<Pieces> {
        let Data::Map(entries) = self.tree()?.data else {
            return None;
        };
        let is_own =
            |entry: &&Entry| !["include", "changes", "generate"].contains(&entry.key.as_str());
        let sections: Vec<&Entry> = entries.iter().filter(is_own).collect();
        Some(Pieces::of(&sections))
    }

    /// Returns the file and the line where a change is to be written: that of the value that it
    /// replaces, or of what it adds a value to. Lines count from 1. `None` for a value of a profile, which
    /// stays as it was measured.
    pub fn place(&self, change: &Override) -> Option<(String, usize)> {
        let (root, sources, profiles) = self.assembled_of(&[])?;
        let span = overrides::place(&root, &change.path);
        if profiles.contains(&span.source) {
            return None;
        }
        let source = sources.into_iter().nth(span.source as usize)?;
        let (line, _) = position(&source.text, span.start);
        Some((source.name, line))
    }

    /// Returns the edit of a file that makes a change; `None` if no edit of one place does, or if what
    /// comes of it is not read as the same scenario. A profile stays as it was measured.
    pub fn edit(&self, change: &Override) -> Option<Replacement> {
        let (root, sources, profiles) = self.assembled_of(&[])?;
        let (span, new) = set::edit(&root, &sources, change)?;
        if profiles.contains(&span.source) {
            return None;
        }
        let edit = Edit { span, new, is_certain: false, is_tried: true };
        let place = Replacement::of(&edit, &sources);
        let edited = self.replaced(&place)?;
        (edited.load().scenario? == self.with(change)?).then_some(place)
    }

    /// Returns it with an edit made in the file that it names; `None` if that is not here.
    pub fn replaced(&self, edit: &Replacement) -> Option<Self> {
        let mut edited = self.clone();
        let text = if edit.file == self.name {
            &mut edited.text
        } else {
            let mut files = edited.included.iter_mut();
            &mut files.find(|file| file.name == edit.file)?.text
        };
        text.get(edit.range.clone())?;
        text.replace_range(edit.range.clone(), &edit.new);
        Some(edited)
    }

    /// Returns the value at a path of keys; `None` if it is not written.
    pub fn value(&self, path: &str) -> Option<String> {
        let replaced = self.changes.iter().rev().find(|change| change.path == path);
        if let Some(change) = replaced {
            return Some(change.value.clone());
        }
        let (root, _) = self.assembled(&[])?;
        let value = path.split('.').try_fold(&root, |at, key| entry(at, key))?;
        match &value.data {
            Data::Scalar(text) => Some(text.clone()),
            Data::Null | Data::List(_) | Data::Map(_) => None,
        }
    }
}

fn entry<'v>(at: &'v Value, key: &str) -> Option<&'v Value> {
    let Data::Map(entries) = &at.data else {
        return None;
    };
    let entry = entries.iter().find(|entry| entry.key == key)?;
    Some(&entry.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_comes_after_those_that_were_made() {
        // By hand: the period of the file is 1 ms.
        let text = "rtether: 1\nnodes: { a: { stack: zero }, b: { stack: zero } }\n\
            links: [{ ends: [a, b], rate: 100 Mbit/s }]\n\
            flows: [{ name: f, from: a, to: b, period: 1 ms, size: 60 B }]\n\
            run: { for: 1 s }\n";
        let written = Written {
            text: text.to_owned(),
            changes: vec![Override::new("--set", "run.for", "2 s")],
            ..Written::default()
        };
        assert_eq!(written.value("run.for").as_deref(), Some("2 s"));
        assert_eq!(written.value("rtether").as_deref(), Some("1"));
        assert_eq!(written.value("flows"), None);
        let changed = written.with(&Override::new("--set", "flows.f.period", "4 ms"));
        let changed = changed.expect("a good change");
        assert_eq!(changed.run.duration.to_string(), "2 s");
        assert_eq!(written.with(&Override::new("--set", "flows.g.period", "4 ms")), None);
    }
}
