//! Edits are tried before they are proposed.
//!
//! A line of help may be right about its place and wrong about the plant: a port put into another
//! VLAN mends one flow and separates twenty. So each edit is made and the scenario read again. An
//! edit that leaves its mistake, or makes others, stays as advice, with what it would leave.
//!
//! Reading again takes as long as reading, so that few edits of a large file are tried; which ones
//! depends on its size alone.

use super::Loaded;
use super::codes::Severity;
use super::diagnostic::Diagnostic;
use super::help::{Edit, Help, Proposal};

/// Octets of text and of what it stands for that are read again, over all trials: tenths of a
/// second. One edit is tried in any case.
const MOST: usize = 1 << 20;
/// Most edits tried.
const MOST_TRIALS: usize = 32;
/// What a flow, a node or a link takes to be read, in octets of text.
const DECLARATION: usize = 200;

/// A file with another text.
pub(super) struct Trial {
    /// Its number among the sources.
    pub(super) source: u32,
    /// Its name, by which it is included.
    pub(super) name: String,
    /// Its text after the edit.
    pub(super) text: String,
}

impl Trial {
    /// Returns what an edit makes of its file.
    pub(super) fn of(loaded: &Loaded, edit: &Edit) -> Option<Self> {
        let source = edit.span.source;
        let file = loaded.file(source)?;
        Some(Self { source, name: file.name.clone(), text: edit.apply(&file.text)? })
    }
}

/// Tries the edits of all messages, as many as there is time for.
pub(super) fn try_edits(loaded: &mut Loaded, load: impl Fn(&Trial) -> Loaded) {
    let places = &loaded.places;
    let declared = places.nodes.len() + places.links.len() + places.flows.len();
    let text: usize = loaded.sources.iter().map(|source| source.text.len()).sum();
    let effort = text + declared * DECLARATION;
    let most = (MOST / effort.max(1)).clamp(1, MOST_TRIALS);
    // Several messages may ask for the same edit, and each is another trial.
    let lines = loaded.diagnostics.iter().enumerate().flat_map(|(at, own)| {
        let lines = own.help.iter().enumerate();
        lines.filter_map(move |(line, help)| Some((at, line, help.edit.as_ref()?)))
    });
    let tried: Vec<(usize, usize, Result<(), usize>)> = lines
        .take(most)
        .filter_map(|(at, line, edit)| {
            let after = load(&Trial::of(loaded, edit)?);
            Some((at, line, judge(loaded, &loaded.diagnostics[at], &after)))
        })
        .collect();
    // From the last one, since lines may go.
    for (at, line, outcome) in tried.into_iter().rev() {
        let lines = &mut loaded.diagnostics[at].help;
        if outcome.is_err() && matches!(lines[line].proposal, Some(Proposal::Close(_))) {
            // Where else the bracket is to be closed is not known.
            lines.remove(line);
            continue;
        }
        let help = &mut loaded.diagnostics[at].help[line];
        match (outcome, &mut help.edit) {
            (Ok(()), Some(edit)) => edit.is_tried = true,
            (Ok(()), None) => {}
            (Err(errors), _) => *help = advice(help, errors),
        }
    }
}

/// Returns an edit as advice: it is named, but is none to paste.
fn advice(help: &Help, errors: usize) -> Help {
    let left = match errors {
        0 => "the mistake is left".to_owned(),
        1 => "1 mistake is left".to_owned(),
        errors => format!("{errors} mistakes are left"),
    };
    format!("not enough by itself ({left}): {help}").into()
}

/// Tells whether a mistake is gone and none is new; the error is how many are left.
pub(super) fn judge(before: &Loaded, of: &Diagnostic, after: &Loaded) -> Result<(), usize> {
    let same = |loaded: &Loaded| {
        let all = loaded.diagnostics.iter();
        all.filter(|own| own.code == of.code && own.title == of.title).count()
    };
    let errors = |loaded: &Loaded| {
        let all = loaded.diagnostics.iter();
        all.filter(|own| own.severity == Severity::Error).count()
    };
    let is_gone = same(after) < same(before);
    let left = errors(after);
    // What could not be read hid what is wrong elsewhere: then others may appear.
    let is_further = after.stage > before.stage;
    if is_gone && (is_further || left <= errors(before)) { Ok(()) } else { Err(left) }
}
