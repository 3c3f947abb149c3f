//! Getters of words and flags.

use super::{
    At, Diagnostic, Fields, Help, Reader, Span, Texts, Word, Words, codes, quote, suggest,
};

/// What `true` and `false` mean.
const FLAG: [(&str, bool); 2] = [("true", true), ("false", false)];

impl Reader<'_> {
    /// Returns one of the words of a key, with its meaning.
    pub(crate) fn word<T: Clone + Sync>(
        &mut self,
        fields: &Fields<'_>,
        words: &Words<T>,
    ) -> Option<Word<T>> {
        let At { value: text, span } = self.scalar(fields, words.key)?;
        let word = words.find(text, span);
        if word.is_none() {
            self.unknown_word(words.key, text, span, &words.texts());
        }
        word
    }

    /// Returns what the word of a key means, or its default.
    pub(crate) fn meaning<T: Clone + Sync>(&mut self, fields: &Fields<'_>, words: &Words<T>) -> T {
        let word = self.word(fields, words);
        word.map_or_else(|| words.default(), |word| word.means)
    }

    pub(crate) fn unknown_word(&mut self, key: &str, text: &str, span: Span, words: &[&str]) {
        let near = suggest::nearest_name(text, words.iter().copied());
        let help = near.map(|near| Help::did_you_mean(format!("{key}: {near}")));
        self.no_word(key, text, span, words, help);
    }

    /// Reports a word of a list that is none of these.
    pub(crate) fn unknown_item(&mut self, key: &str, text: &str, span: Span, words: &[&str]) {
        let help = suggest::nearest_name(text, words.iter().copied()).map(Help::did_you_mean);
        self.no_word(key, text, span, words, help);
    }

    fn no_word(&mut self, key: &str, text: &str, span: Span, words: &[&str], help: Option<Help>) {
        let title = format!("`{key}` cannot be {}", quote(text));
        let label = format!("one of {}", words.join(", "));
        self.report(Diagnostic::new(&codes::UNKNOWN_WORD, title, span, label).help_if(help));
    }

    pub(crate) fn flag(&mut self, fields: &Fields<'_>, key: &str) -> Option<bool> {
        let At { value: text, span } = self.scalar(fields, key)?;
        let flag = FLAG.into_iter().find(|(word, _)| *word == text);
        if flag.is_none() {
            self.unknown_word(key, text, span, &FLAG.map(|(word, _)| word));
        }
        Some(flag?.1)
    }
}
