//! Collects findings with their lines.

use super::xml::{Element, Lines};
use crate::plan::{Code, Finding};

/// Most findings that are kept; a file with more is not read to the end by anyone.
const MOST: usize = 2000;

/// Findings of a file.
#[derive(Debug)]
pub(super) struct Notes {
    lines: Lines,
    found: Vec<Finding>,
}

impl Notes {
    pub(super) fn new(text: &str) -> Self {
        Self {
            lines: Lines::new(text),
            found: Vec::new(),
        }
    }

    /// Adds a finding at an element.
    pub(super) fn add(&mut self, at: Element<'_>, code: Code, text: String) {
        if self.found.len() < MOST {
            let line = self.lines.of(at);
            self.found.push(Finding { line, code, text });
        }
    }

    /// Returns the findings by line.
    pub(super) fn done(mut self) -> Vec<Finding> {
        self.found.sort();
        self.found.dedup();
        self.found
    }
}
