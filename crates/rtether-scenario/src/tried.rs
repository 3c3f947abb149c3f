//! Edits are tried before they are proposed.
//!
//! A line of help may be right about its place and wrong about the plant: a port put into another
//! VLAN mends one flow and separates twenty. So each edit is made and the scenario read again. An
//! edit that leaves its mistake, or makes others, stays as advice, with what it would leave.
//!
//! Reading again takes as long as reading, so that few edits of a large file are tried; which ones
//! depends on its size alone.

use super::codes::Severity;
use super::diagnostic::Diagnostic;
use super::mend::mend_source;
use super::{Loaded, Override};

/// Octets of text and of what it stands for that are read again, over all trials: tenths of a
/// second. One edit is tried in any case.
const MOST: usize = 1 << 20;
/// Most edits tried.
const MOST_TRIALS: usize = 32;
/// What a flow, a node or a link takes to be read, in octets of text.
const DECLARATION: usize = 200;

/// One changed input.
#[derive(Clone, Copy, Default)]
pub(super) struct Trial<'a> {
    /// Number and name of a file with another text.
    pub(super) file: Option<(u32, &'a str, &'a str)>,
    /// One more change of a value.
    pub(super) change: Option<&'a Override>,
}

impl Trial<'_> {
    /// Returns the text of a file.
    pub(super) fn text_of<'t>(&'t self, source: u32, text: &'t str) -> &'t str {
        match self.file {
            Some((number, _, edited)) if number == source => edited,
            _ => text,
        }
    }
}

/// How a trial ended.
enum Outcome {
    Mends,
    /// That many errors are left.
    Fails(usize),
    /// The line is no edit, or stands for none that can be made.
    NoEdit,
}

/// Tries the edits of all messages.
pub(super) fn try_edits(loaded: &mut Loaded, load: impl Fn(Trial<'_>) -> Loaded) {
    let places = &loaded.places;
    let declared = places.nodes.len() + places.links.len() + places.flows.len();
    let text: usize = loaded.sources.iter().map(|source| source.text.len()).sum();
    let effort = text + declared * DECLARATION;
    let mut left = (MOST / effort.max(1)).clamp(1, MOST_TRIALS);
    let mut diagnostics = std::mem::take(&mut loaded.diagnostics);
    let mut trials = Vec::new();
    for (at, diagnostic) in diagnostics.iter().enumerate() {
        for (line, help) in diagnostic.help.iter().enumerate() {
            // Several messages may ask for the same edit, and each is another trial.
            if left > 0 {
                let is_last = line + 1 == diagnostic.help.len();
                let outcome = outcome(loaded, &diagnostics, (diagnostic, help, is_last), &load);
                left -= usize::from(!matches!(outcome, Outcome::NoEdit));
                trials.push((at, line, outcome));
            } else if mend_source(text_at(loaded, diagnostic), diagnostic, help).is_some() {
                trials.push((at, line, Outcome::NoEdit));
            }
        }
    }
    for (at, line, outcome) in trials {
        if let Outcome::Fails(errors) = outcome {
            let help = &mut diagnostics[at].help[line];
            *help = advice(help, errors);
        }
    }
    loaded.diagnostics = diagnostics;
}

fn text_at<'l>(loaded: &'l Loaded, diagnostic: &Diagnostic) -> &'l str {
    let source = loaded.sources.get(diagnostic.primary.span.source as usize);
    source.map_or("", |source| &source.text)
}

/// Returns an edit as advice: it is named, but is none to paste.
fn advice(help: &str, errors: usize) -> String {
    let left = match errors {
        0 => "the mistake is left".to_owned(),
        1 => "1 mistake is left".to_owned(),
        errors => format!("{errors} mistakes are left"),
    };
    format!("not enough by itself ({left}): {help}")
}

fn outcome(
    loaded: &Loaded,
    before: &[Diagnostic],
    (diagnostic, help, is_last): (&Diagnostic, &str, bool),
    load: &impl Fn(Trial<'_>) -> Loaded,
) -> Outcome {
    let number = diagnostic.primary.span.source;
    let index = number as usize;
    let is_file = index == 0 || index >= loaded.first_included;
    let source = loaded.sources.get(index).filter(|_| is_file);
    let edited = source.and_then(|source| {
        let edited = mend_source(&source.text, diagnostic, help)?;
        Some((source.name.as_str(), edited))
    });
    if let Some((name, edited)) = edited {
        let file = Some((number, name, edited.as_str()));
        let after = load(Trial {
            file,
            ..Trial::default()
        });
        return judge(loaded, before, diagnostic, &after);
    }
    let changes = diagnostic.changes.iter().filter(|_| is_last);
    let mut tried = changes.map(|change| {
        load(Trial {
            change: Some(change),
            ..Trial::default()
        })
    });
    // A path that does not exist is another way to write the same.
    let applies = |after: &Loaded| {
        let is_unknown = |own: &Diagnostic| own.code == super::codes::UNKNOWN_PATH.name;
        !after.diagnostics.iter().any(is_unknown)
    };
    match tried.find(applies) {
        Some(after) => judge(loaded, before, diagnostic, &after),
        None => Outcome::NoEdit,
    }
}

/// Tells whether a mistake is gone and none is new.
fn judge(loaded: &Loaded, before: &[Diagnostic], of: &Diagnostic, after: &Loaded) -> Outcome {
    let same = |list: &[Diagnostic]| {
        let same = list
            .iter()
            .filter(|own| own.code == of.code && own.title == of.title);
        same.count()
    };
    let errors = |list: &[Diagnostic]| {
        let errors = list.iter().filter(|own| own.severity == Severity::Error);
        errors.count()
    };
    let is_gone = same(&after.diagnostics) < same(before);
    let left = errors(&after.diagnostics);
    // What could not be read hid what is wrong elsewhere: then others may appear.
    let is_further = after.stage > loaded.stage;
    if is_gone && (is_further || left <= errors(before)) {
        Outcome::Mends
    } else {
        Outcome::Fails(left)
    }
}
