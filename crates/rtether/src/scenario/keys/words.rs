//! Keys whose value is a word, with the meaning of each word.

use crate::scenario::diagnostic::Span;

/// The words of one key. None can be listed without its meaning, so none is read as another.
pub(in crate::scenario) struct Words<T: 'static> {
    pub(in crate::scenario) key: &'static str,
    words: &'static [(&'static str, T)],
}

/// A word as it was found.
pub(in crate::scenario) struct Word<T> {
    pub(in crate::scenario) text: &'static str,
    pub(in crate::scenario) means: T,
    pub(in crate::scenario) span: Span,
}

impl<T> Words<T> {
    pub(super) const fn new(key: &'static str, words: &'static [(&'static str, T)]) -> Self {
        Self { key, words }
    }

    /// The first word, which is the default of keys that have one.
    pub(super) const fn first(&self) -> &'static str {
        self.words[0].0
    }
}

impl<T: Clone> Words<T> {
    /// Returns what a text means, if it is one of the words.
    pub(in crate::scenario) fn find(&self, text: &str, span: Span) -> Option<Word<T>> {
        let (text, means) = self.words.iter().find(|(word, _)| *word == text)?;
        Some(Word {
            text,
            means: means.clone(),
            span,
        })
    }

    pub(in crate::scenario) fn means(&self, text: &str) -> Option<T> {
        Some(self.find(text, Span::default())?.means)
    }

    /// Returns what the default means.
    pub(in crate::scenario) fn default(&self) -> T {
        self.words[0].1.clone()
    }

    pub(in crate::scenario) fn meanings(&self) -> impl Iterator<Item = &'static T> {
        self.words.iter().map(|(_, means)| means)
    }
}

/// The words alone, for schema, reference and messages.
pub(in crate::scenario) trait Texts: Sync {
    fn texts(&self) -> Vec<&'static str>;
}

impl<T: Sync> Texts for Words<T> {
    fn texts(&self) -> Vec<&'static str> {
        self.words.iter().map(|(word, _)| *word).collect()
    }
}
