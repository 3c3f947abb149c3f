//! What the texts of a scenario say together: included files, what is generated, and all changes.

use super::change::Override;
use super::diagnostic::{Sink, Source};
use super::generate;
use super::include::{self, Loader};
use super::overrides::Change;
use super::tree::Value;

/// Keys that a generator reads.
const READ_BY_GENERATORS: [&str; 2] = ["generate", "run"];

/// Adds to a tree what its file includes and generates, and makes the changes of all files, then those
/// of options. The text of an option is the source of its number, the first is 1; those of included
/// files are added to `sources`. Returns whether everything was generated.
pub(super) fn assemble(
    root: &mut Value,
    read: &Loader<'_>,
    sources: &mut Vec<Source>,
    options: &[Override],
    sink: &mut Sink,
) -> bool {
    let mut changes = include::merge(root, read, sources, sink);
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
    is_generated
}
