//! What the texts of a scenario say together: included files, profiles of devices, what is generated, and
//! all changes.

use super::change::Override;
use super::diagnostic::{Sink, Source};
use super::generate;
use super::include::{self, Loader};
use super::overrides::Change;
use super::taken::Taken;
use super::tree::Value;

/// How far a tree has come.
pub(super) struct Assembled<'r> {
    /// Whether everything was generated.
    pub(super) is_generated: bool,
    /// The profiles that stacks come from.
    pub(super) taken: Taken<'r>,
}

/// Keys that a generator reads.
const READ_BY_GENERATORS: [&str; 2] = ["generate", "run"];

/// Adds to a tree what its file includes and generates, and makes the changes of all files, then those
/// of options. The text of an option is the source of its number, the first is 1; those of included
/// files are added to `sources`.
pub(super) fn assemble<'r>(
    root: &mut Value,
    read: &'r Loader<'r>,
    sources: &mut Vec<Source>,
    options: &[Override],
    sink: &mut Sink,
) -> Assembled<'r> {
    let mut changes = include::merge(root, read, sources, sink);
    // Ahead of the changes: these may be of what a profile says.
    let mut taken = Taken::new(read, root);
    taken.stacks(root, sources, sink);
    let numbered = (1..).zip(options);
    changes.extend(numbered.filter_map(|(source, option)| Change::read(option, source, sink)));
    // All other changes may be of what is generated, and come behind it.
    let (read, written): (Vec<_>, Vec<_>) =
        changes.into_iter().partition(|change| READ_BY_GENERATORS.contains(&change.first()));
    for change in read {
        if let Err(wrong) = change.put(root) {
            sink.push(*wrong);
        }
    }
    let is_generated = generate::expand(root, sources, sink);
    for change in written {
        // What is not there may be what was not generated.
        if let Err(wrong) = change.put(root)
            && is_generated
        {
            sink.push(*wrong);
        }
    }
    // Behind them: a change may name a profile.
    taken.stacks(root, sources, sink);
    taken.replies(root, sink);
    taken.assume(root);
    Assembled { is_generated, taken }
}
