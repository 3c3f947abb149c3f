//! Collects findings with their lines.

use roxmltree::Document;

use super::xml::{Element, Lines};
use crate::plan::{Code, Finding};
use crate::text::plain;

/// Most findings that are kept; a file with more is not read to the end by anyone.
const MOST: usize = 2000;

/// Findings of files.
#[derive(Debug)]
pub(super) struct Notes {
    /// Address in memory, name and lines of each file.
    files: Vec<(*const Document<'static>, String, Lines)>,
    found: Vec<(usize, Finding)>,
}

impl Notes {
    /// Takes the files, each with its name.
    pub(super) fn new(files: &[(&str, &Document<'_>)]) -> Self {
        let files = files.iter().map(|(name, document)| {
            let lines = Lines::new(document.input_text());
            (place(document), (*name).to_owned(), lines)
        });
        Self { files: files.collect(), found: Vec::new() }
    }

    /// Adds a finding at an element.
    pub(super) fn add(&mut self, at: Element<'_>, code: Code, text: String) {
        if self.found.len() >= MOST {
            return;
        }
        let own = place(at.document());
        let Some(file) = self.files.iter().position(|(file, _, _)| *file == own) else {
            return;
        };
        let (_, name, lines) = &self.files[file];
        let line = lines.of(at);
        let text = if self.files.len() > 1 { format!("{}: {text}", plain(name, 80)) } else { text };
        self.found.push((file, Finding { line, code, text }));
    }

    /// Returns the findings by file and line.
    pub(super) fn done(mut self) -> Vec<Finding> {
        self.found.sort();
        self.found.dedup();
        self.found.into_iter().map(|(_, finding)| finding).collect()
    }
}

/// Returns where a file is in memory, to find it again; nothing is read there.
fn place(document: &Document<'_>) -> *const Document<'static> {
    std::ptr::from_ref(document).cast()
}
