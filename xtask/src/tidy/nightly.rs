//! Every part of the long run has a row in the table of its results.

use crate::finding::Finding;
use crate::record::{PAGE, mistakes};
use crate::repo::TextFile;

/// Compares the rows with the parts.
pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    let page = files.iter().find(|file| file.path == PAGE);
    let mistakes = mistakes(page.map_or("", |file| &file.text));
    let findings =
        mistakes.into_iter().map(|message| Finding { path: PAGE.to_owned(), line: None, message });
    findings.collect()
}
