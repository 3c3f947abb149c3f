//! Edits that messages propose, made one after the other.
//!
//! Each is made in the text of its file, and the scenario is read again; an edit that leaves its
//! mistake, or makes others, is taken back. What is outside its range stays as it is, octet for octet.

use std::collections::{BTreeMap, BTreeSet};

use super::change::Override;
use super::diagnostic::Diagnostic;
use super::help::{Edit, Help, Replacement};
use super::include::Loader;
use super::tried::{Trial, judge};
use super::{Loaded, load_once, mend};

/// Most edits that are made: each is a load.
const MOST: usize = 200;

/// Which edits are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Those that follow from what is written.
    Certain,
    /// Also those with an example, or with one of several meanings.
    All,
}

/// Files to be mended.
#[derive(Clone, Copy)]
pub struct Fix<'a> {
    /// Name of the scenario's file.
    pub name: &'a str,
    /// Its text.
    pub text: &'a str,
    /// Returns the text of a file that it includes.
    pub read: &'a Loader<'a>,
    /// Values replaced.
    pub overrides: &'a [Override],
    /// Which edits are made.
    pub which: Which,
}

/// What became of the edits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fixed {
    /// The files that changed, by name, with their texts.
    pub files: BTreeMap<String, String>,
    /// Edits that were made, in order.
    pub made: Vec<Made>,
    /// Edits that were taken back.
    pub taken_back: Vec<Made>,
    /// Edits that the author has to choose, and that were left for that.
    pub left: Vec<Made>,
    /// Whether there are more than are made in one go.
    pub is_cut: bool,
}

/// One edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// Code of the mistake.
    pub code: &'static str,
    /// The mistake.
    pub title: String,
    /// The line of help.
    pub help: String,
    /// The edit, in the text as those before left it.
    pub at: Replacement,
}

impl Fix<'_> {
    /// Reads the files, with those that were changed.
    pub fn load(&self, files: &BTreeMap<String, String>) -> Loaded {
        let text = files.get(self.name).map_or(self.text, String::as_str);
        let read = |path: &str| match files.get(path) {
            Some(text) => Ok(text.clone()),
            None => (self.read)(path),
        };
        let mut loaded = load_once(self.name, text, &read, self.overrides, &[]);
        mend::place(&mut loaded);
        loaded
    }

    /// Makes the edits. `keeps` is asked about each that leaves a scenario which was one before, and
    /// may be worse as such.
    pub fn make(&self, mut keeps: impl FnMut(&Loaded) -> bool) -> Fixed {
        let mut fixed = Fixed::default();
        let mut loaded = self.load(&fixed.files);
        let mut seen = BTreeSet::new();
        while let Some((own, help, edit)) = self.next(&loaded, &seen) {
            if fixed.made.len() + fixed.taken_back.len() >= MOST {
                fixed.is_cut = true;
                break;
            }
            let made = Made::of(&loaded, own, help, edit);
            let Some(trial) = Trial::of(&loaded, edit) else {
                break;
            };
            let before = fixed.files.insert(trial.name.clone(), trial.text);
            let after = self.load(&fixed.files);
            let is_better =
                judge(&loaded, own, &after).is_ok() && (loaded.scenario.is_none() || keeps(&after));
            if is_better {
                fixed.made.push(made);
                loaded = after;
            } else {
                match before {
                    Some(text) => fixed.files.insert(trial.name, text),
                    None => fixed.files.remove(&trial.name),
                };
                seen.insert(made.key());
                fixed.taken_back.push(made);
            }
        }
        fixed.left = self.left(&loaded);
        fixed
    }

    /// Returns the next edit that was not tried.
    fn next<'l>(
        &self,
        loaded: &'l Loaded,
        seen: &BTreeSet<Key>,
    ) -> Option<(&'l Diagnostic, &'l Help, &'l Edit)> {
        let all = loaded.diagnostics.iter().flat_map(|own| {
            let edits = own.edits();
            edits.map(move |(help, edit)| (own, help, edit))
        });
        let mut wanted = all.filter(|(_, _, edit)| edit.is_certain || self.which == Which::All);
        wanted.find(|&(own, help, edit)| !seen.contains(&Made::of(loaded, own, help, edit).key()))
    }

    /// Returns the edits that are the author's to choose.
    fn left(&self, loaded: &Loaded) -> Vec<Made> {
        if self.which == Which::All {
            return Vec::new();
        }
        let edits = loaded.diagnostics.iter().flat_map(|own| {
            let open = own.edits().filter(|(_, edit)| !edit.is_certain);
            open.map(move |(help, edit)| Made::of(loaded, own, help, edit))
        });
        edits.collect()
    }
}

/// By what an edit is known again when others have moved it.
type Key = (String, String, String, (usize, usize));

impl Made {
    fn of(loaded: &Loaded, own: &Diagnostic, help: &Help, edit: &Edit) -> Self {
        Self {
            code: own.code,
            title: own.title.clone(),
            help: help.text.clone(),
            at: Replacement::of(edit, &loaded.sources),
        }
    }

    fn key(&self) -> Key {
        let (title, help) = (self.title.clone(), self.help.clone());
        (title, help, self.at.file.clone(), self.at.begin)
    }
}
