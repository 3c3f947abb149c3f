//! Diagnostics: what is wrong with a scenario, where, why, and how to fix it.
//!
//! Titles say what is wrong in the user's terms, labels say why, and help is an edit to paste. The
//! text form is in [`super::render`].

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::codes::{Code, Severity, TOO_MANY_MISTAKES};
use super::help::Help;
pub use super::span::{Source, Span};
use rtether_model::characters::is_unseen;

/// A place and a note about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// Why it is shown; may be empty.
    pub text: String,
}

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Stable name of the kind of mistake, in kebab-case.
    pub code: &'static str,
    /// What is wrong.
    pub title: String,
    /// Where, and why.
    pub primary: Label,
    /// Other places involved.
    pub secondary: Vec<Label>,
    /// What mends it: edits, and advice.
    pub help: Vec<Help>,
}

impl Diagnostic {
    pub(super) fn new(
        code: &'static Code,
        title: impl Into<String>,
        span: Span,
        label: impl Into<String>,
    ) -> Self {
        Self {
            severity: code.severity,
            code: code.name,
            title: title.into(),
            primary: Label { span, text: label.into() },
            secondary: Vec::new(),
            help: Vec::new(),
        }
    }

    #[must_use]
    pub(super) fn also(mut self, span: Span, label: impl Into<String>) -> Self {
        self.secondary.push(Label { span, text: label.into() });
        self
    }

    #[must_use]
    pub(super) fn help(mut self, line: impl Into<Help>) -> Self {
        self.help.push(line.into());
        self
    }

    #[must_use]
    pub(super) fn help_if(mut self, line: Option<impl Into<Help>>) -> Self {
        self.help.extend(line.map(Into::into));
        self
    }

    #[must_use]
    pub(super) const fn with_severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }
}

/// Collects diagnostics: keeps the first [`Self::MOST`], errors rather than warnings, and counts
/// the rest.
#[derive(Debug, Default)]
pub(super) struct Sink {
    list: Vec<Diagnostic>,
    errors: usize,
    dropped: usize,
}

impl Sink {
    const MOST: usize = 200;
    /// Most of one kind that are shown: who reads twenty knows it.
    const MOST_OF_A_KIND: usize = 20;

    pub(super) fn push(&mut self, diagnostic: Diagnostic) {
        if diagnostic.severity == Severity::Error {
            self.errors += 1;
        }
        if self.list.len() < Self::MOST {
            self.list.push(diagnostic);
            return;
        }
        self.dropped += 1;
        // A file that is refused shows why, however much it was warned of before.
        if diagnostic.severity == Severity::Error && self.errors <= Self::MOST {
            let is_warning = |own: &Diagnostic| own.severity == Severity::Warning;
            if let Some(last) = self.list.iter().rposition(is_warning) {
                self.list[last] = diagnostic;
            }
        }
    }

    /// Returns whether further diagnostics are only counted, so that looking for help is wasted
    /// effort.
    pub(super) const fn is_full(&self) -> bool {
        self.list.len() >= Self::MOST
    }

    pub(super) const fn errors(&self) -> usize {
        self.errors
    }

    /// Returns the diagnostics in file order; if some were dropped, the last one gives their
    /// number.
    pub(super) fn finish(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|d| d.primary.span);
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        self.list.retain(|own| {
            let count = counts.entry(own.code).or_default();
            *count += 1;
            *count <= Self::MOST_OF_A_KIND
        });
        for (code, count) in counts {
            let more = count.saturating_sub(Self::MOST_OF_A_KIND);
            let last = self.list.iter_mut().rfind(|own| own.code == code);
            if let Some(last) = last.filter(|_| more > 0) {
                let text = format!("{more} more of this kind are counted and not shown");
                last.help.insert(0, text.into());
            }
        }
        if self.dropped > 0 {
            let span = self.list.last().map_or(Span::default(), |d| d.primary.span);
            let title = format!("{} more mistakes are not shown", self.dropped);
            let label = "the last one shown is here";
            let severity = if self.errors > 0 { Severity::Error } else { Severity::Warning };
            let rest = Diagnostic::new(&TOO_MANY_MISTAKES, title, span, label);
            self.list.push(rest.with_severity(severity));
        }
        self.list
    }
}

/// Puts a word from the user into backticks, shortened, with invisible characters replaced by
/// spaces.
pub fn quote(word: &str) -> String {
    const LONGEST: usize = 60;
    let clean: Cow<'_, str> = if word.chars().any(is_unseen) {
        word.chars().map(|c| if is_unseen(c) { ' ' } else { c }).collect::<String>().into()
    } else {
        word.into()
    };
    if clean.chars().count() > LONGEST {
        let head: String = clean.chars().take(LONGEST).collect();
        format!("`{head}…`")
    } else {
        format!("`{clean}`")
    }
}
