//! Why a file cannot be imported.

use std::fmt;

/// Why a file cannot be imported: where, what and what helps.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ImportError {
    /// Name of the file.
    pub file: String,
    /// Line, counted from 1, if one is to blame.
    pub line: Option<usize>,
    /// What is wrong.
    pub what: String,
    /// What the user can do.
    pub remedy: String,
}

impl ImportError {
    pub(crate) fn new(file: &str, line: Option<usize>, what: String, remedy: &str) -> Self {
        Self { file: file.to_owned(), line, what, remedy: remedy.to_owned() }
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, what, remedy, .. } = self;
        match self.line {
            Some(line) => write!(f, "{file}:{line}: {what}; {remedy}"),
            None => write!(f, "{file}: {what}; {remedy}"),
        }
    }
}
