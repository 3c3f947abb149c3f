//! Mends a scenario by the edits that its messages propose, and by the first of those that would help.
//!
//! An edit stays if the loader then finds its mistake gone and no other one, and if the check is no
//! worse than before: no worse conclusion, and as many deadlines proved. Mistakes come first; what
//! would help is a change of the plant, and is made only if all edits are asked for.

mod lines;

use std::cell::RefCell;
use std::collections::BTreeMap;

use rtether_report::document::{self, Document};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::report::Checked;
use crate::scenario::{EditJson, Loaded, Scenario, Written};
pub use crate::scenario::{Fix, Fixed, Made, Which};
use crate::words::Conclusion;

/// What became of a scenario.
#[derive(Debug)]
pub struct Mended {
    /// The edits, and the files that they changed.
    pub fixed: Fixed,
    /// Texts of these files as they were read, by name.
    pub originals: BTreeMap<String, String>,
    /// The scenario as it is read afterwards.
    pub loaded: Loaded,
    /// What the check said before; `None` if it was no scenario.
    pub before: Option<Conclusion>,
    /// What it says afterwards; `None` if it is no scenario.
    pub after: Option<Checked>,
    /// The changes as a unified diff.
    pub diff: String,
}

/// Ends early: what checks a scenario was interrupted, or could not be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended;

/// Makes the edits. `check` judges a scenario, with what would help it. Each file is read once, so that
/// all edits are of the same text.
///
/// # Errors
/// If `check` ended early.
pub fn mend(
    fix: &Fix<'_>,
    mut check: impl FnMut(Scenario, Written) -> Option<Checked>,
) -> Result<Mended, Ended> {
    let texts = RefCell::new(BTreeMap::new());
    let read = |path: &str| {
        if let Some(text) = texts.borrow().get(path) {
            return Ok(String::clone(text));
        }
        let text = (fix.read)(path)?;
        texts.borrow_mut().insert(path.to_owned(), text.clone());
        Ok(text)
    };
    let fix = &Fix { read: &read, ..*fix };
    let mut judged = |loaded: &Loaded| {
        let written = Written::of(loaded, fix.overrides.to_vec());
        let scenario = loaded.scenario.clone()?;
        Some(check(scenario, written).ok_or(Ended))
    };
    let first = fix.load(&BTreeMap::new());
    let mut latest = judged(&first).transpose()?;
    let before = latest.as_ref().map(|checked| checked.conclusion);
    let mut ended = false;
    let mut fixed = fix.make(|after| {
        let Some(Ok(checked)) = judged(after) else {
            ended = true;
            return false;
        };
        let keeps = latest.as_ref().is_none_or(|old| !is_worse(old, &checked));
        if keeps {
            latest = Some(checked);
        }
        keeps
    });
    if ended {
        return Err(Ended);
    }
    let mut loaded = fix.load(&fixed.files);
    if latest.is_none() {
        latest = judged(&loaded).transpose()?;
    }
    if fix.which == Which::All
        && let Some(old) = &latest
        && let Some(change) = first_change(old)
    {
        let written = Written::of(&loaded, fix.overrides.to_vec());
        let edited = written.replaced(&change.at);
        let after = edited.as_ref().map(Written::load);
        let checked = after.as_ref().and_then(&mut judged).transpose()?;
        match (edited, after, checked) {
            (Some(edited), Some(after), Some(checked)) if !is_worse(old, &checked) => {
                take(&mut fixed, &edited, &change.at.file);
                fixed.made.push(change);
                (loaded, latest) = (after, Some(checked));
            }
            _ => fixed.taken_back.push(change),
        }
    }
    let mut originals = texts.take();
    originals.insert(fix.name.to_owned(), fix.text.to_owned());
    originals.retain(|name, _| fixed.files.contains_key(name));
    let diff = fixed.files.iter().map(|(name, new)| {
        let old = originals.get(name).map_or("", String::as_str);
        lines::unified(name, old, new)
    });
    let diff = diff.collect();
    Ok(Mended { fixed, originals, loaded, before, after: latest, diff })
}

/// Takes the text that an edit left in a file.
fn take(fixed: &mut Fixed, edited: &Written, name: &str) {
    let text = if edited.name == name {
        Some(&edited.text)
    } else {
        let mut files = edited.included.iter();
        files.find(|file| file.name == name).map(|file| &file.text)
    };
    if let Some(text) = text {
        fixed.files.insert(name.to_owned(), text.clone());
    }
}

/// Returns the first change that would help and is an edit of one place.
fn first_change(checked: &Checked) -> Option<Made> {
    let help = checked.help.as_ref()?;
    let change = help.changes.iter().flatten().next()?;
    let stream = checked.stream(help.stream);
    Some(Made {
        code: stream.assessment.verdict.name(),
        title: checked.stream_name(&stream),
        help: change.words.clone(),
        at: change.written.clone()?,
    })
}

/// Returns whether a check says something worse, or proves less.
fn is_worse(old: &Checked, new: &Checked) -> bool {
    let rank = |own: &Checked| match own.conclusion {
        Conclusion::Met => 0,
        Conclusion::NoAnswer => 1,
        Conclusion::Failed => 2,
        Conclusion::Unmeasured => 3,
        Conclusion::Contradiction => 4,
        Conclusion::Interrupted => 5,
    };
    rank(new) > rank(old) || new.counts().proved < old.counts().proved
}

impl Mended {
    /// Returns it as a document; `is_written` tells whether the files have been changed.
    pub fn json(&self, is_written: bool) -> Value {
        document::value(&FixJson {
            version: env!("CARGO_PKG_VERSION"),
            before: self.before,
            after: self.after.as_ref().map(|own| own.conclusion),
            proved: self.after.as_ref().map(|own| own.counts().proved),
            written: is_written,
            made: self.fixed.made.iter().map(MadeJson::of).collect(),
            taken_back: self.fixed.taken_back.iter().map(MadeJson::of).collect(),
            left: self.fixed.left.iter().map(MadeJson::of).collect(),
            is_cut: self.fixed.is_cut,
            diff: &self.diff,
        })
    }
}

/// What became of the edits of a scenario.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FixJson<'a> {
    /// Version of rtether.
    version: &'static str,
    /// What the check said before the edits; `null` if it was no scenario.
    before: Option<Conclusion>,
    /// What it says afterwards; `null` if it is no scenario.
    after: Option<Conclusion>,
    /// How many deadlines are proved afterwards; `null` without a check.
    proved: Option<usize>,
    /// Whether the files were changed.
    written: bool,
    /// Edits that were made, in order; each is an edit in the text as those before left it.
    made: Vec<MadeJson<'a>>,
    /// Edits that would have left more mistakes or a worse check.
    taken_back: Vec<MadeJson<'a>>,
    /// Edits that the author has to choose.
    left: Vec<MadeJson<'a>>,
    /// Whether there are more than are made in one go.
    is_cut: bool,
    /// All changes as a unified diff.
    diff: &'a str,
}

impl Document for FixJson<'_> {
    const SCHEMA: &'static str = "rtether.fix/1";
}

#[derive(Serialize, JsonSchema)]
struct MadeJson<'a> {
    #[serde(flatten)]
    edit: EditJson<'a>,
    /// Code of its message.
    code: &'a str,
    /// Title of its message.
    title: &'a str,
    /// The line of help that proposes it.
    help: &'a str,
}

impl<'a> MadeJson<'a> {
    fn of(own: &'a Made) -> Self {
        Self { edit: own.at.json(), code: own.code, title: &own.title, help: &own.help }
    }
}
