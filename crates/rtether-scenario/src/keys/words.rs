//! Keys whose value is a word, with the meaning of each word.

use crate::diagnostic::Span;

/// The words of one key. None can be listed without its meaning, so none is read as another.
pub(crate) struct Words<T: 'static> {
    pub(crate) key: &'static str,
    words: &'static [(&'static str, T)],
}

/// A word as it was found.
pub(crate) struct Word<T> {
    pub(crate) text: &'static str,
    pub(crate) means: T,
    pub(crate) span: Span,
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
    pub(crate) fn find(&self, text: &str, span: Span) -> Option<Word<T>> {
        let (text, means) = self.words.iter().find(|(word, _)| *word == text)?;
        Some(Word { text, means: means.clone(), span })
    }

    pub(crate) fn means(&self, text: &str) -> Option<T> {
        Some(self.find(text, Span::default())?.means)
    }

    /// Returns what the default means.
    pub(crate) fn default(&self) -> T {
        self.words[0].1.clone()
    }

    pub(crate) fn meanings(&self) -> impl Iterator<Item = &'static T> {
        self.words.iter().map(|(_, means)| means)
    }
}

/// The words alone, for schema, reference and messages.
pub(crate) trait Texts: Sync {
    fn texts(&self) -> Vec<&'static str>;
}

impl<T: Sync> Texts for Words<T> {
    fn texts(&self) -> Vec<&'static str> {
        self.words.iter().map(|(word, _)| *word).collect()
    }
}
