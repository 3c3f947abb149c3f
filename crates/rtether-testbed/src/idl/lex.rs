//! Words, numbers and signs.

use rtether::scenario::{Diagnostic, quote};

use super::mistake;

/// A place in the text: start and end, in octets.
pub(super) type TextRange = (usize, usize);

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A name or a keyword.
    Word,
    /// A number.
    Number,
    /// A quoted text.
    Text,
    /// A quoted character.
    Character,
    /// A sign; `::` is one.
    Sign,
    /// End of the text.
    End,
}

/// A token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind,
    pub(super) text: &'a str,
    pub(super) place: TextRange,
}

/// `#pragma keylist NAME MEMBERS`.
#[derive(Clone, Debug)]
pub(super) struct Keys<'a> {
    pub(super) structure: &'a str,
    pub(super) members: Vec<&'a str>,
    pub(super) place: TextRange,
    pub(super) is_used: bool,
}

/// The tokens and key lists of a text.
#[derive(Debug)]
pub(super) struct Lexed<'a> {
    pub(super) tokens: Vec<Token<'a>>,
    pub(super) keys: Vec<Keys<'a>>,
}

/// Splits a text into tokens.
pub(super) fn lex(text: &str) -> Result<Lexed<'_>, Box<Diagnostic>> {
    let mut lexer = Lexer { text, at: 0, keys: Vec::new(), is_line_start: true };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next()? {
        tokens.push(token);
    }
    tokens.push(Token { kind: TokenKind::End, text: "", place: (text.len(), text.len()) });
    let keys = lexer.keys;
    Ok(Lexed { tokens, keys })
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    keys: Vec<Keys<'a>>,
    /// Only blanks precede on this line.
    is_line_start: bool,
}

const fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Takes characters while `fits` holds.
    fn take(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let len = rest.find(|c| !fits(c)).unwrap_or(rest.len());
        self.at += len;
        rest.get(..len).unwrap_or_default()
    }

    fn next(&mut self) -> Result<Option<Token<'a>>, Box<Diagnostic>> {
        loop {
            let blank = self.take(char::is_whitespace);
            self.is_line_start |= blank.contains('\n');
            let rest = self.rest();
            if rest.starts_with("//") {
                self.take(|c| c != '\n');
            } else if rest.starts_with("/*") {
                self.block_comment()?;
            } else if rest.starts_with('#') && self.is_line_start {
                self.directive()?;
            } else {
                break;
            }
        }
        self.is_line_start = false;
        let start = self.at;
        let Some(first) = self.rest().chars().next() else {
            return Ok(None);
        };
        let kind = if first.is_ascii_digit() {
            self.number();
            TokenKind::Number
        } else if is_word(first) {
            self.take(is_word);
            TokenKind::Word
        } else if first == '"' {
            self.text_in_quotes()?;
            TokenKind::Text
        } else if first == '\'' {
            self.character()?;
            TokenKind::Character
        } else if self.rest().starts_with("::") {
            self.at += 2;
            TokenKind::Sign
        } else if "{}<>[]();,=@:-+*/".contains(first) {
            self.at += 1;
            TokenKind::Sign
        } else {
            let what = format!("{} means nothing here", quote(&first.to_string()));
            let place = (start, start + first.len_utf8());
            let why = "names have letters, digits and `_`";
            return Err(mistake("idl-syntax", what, place, why, "leave it out"));
        };
        Ok(Some(Token {
            kind,
            text: self.text.get(start..self.at).unwrap_or_default(),
            place: (start, self.at),
        }))
    }

    /// Takes a number, which may have a point, and an exponent with a sign.
    fn number(&mut self) {
        let whole = self.take(is_word);
        if self.rest().starts_with('.') {
            self.at += 1;
            self.take(is_word);
        }
        let is_hexadecimal = whole.starts_with("0x") || whole.starts_with("0X");
        let taken = self.text.get(..self.at).unwrap_or_default();
        if !is_hexadecimal && taken.ends_with(['e', 'E']) && self.rest().starts_with(['+', '-']) {
            self.at += 1;
            self.take(is_word);
        }
    }

    /// Takes a character in quotes; only annotations have them.
    fn character(&mut self) -> Result<(), Box<Diagnostic>> {
        let start = self.at;
        let mut characters = self.rest().chars().skip(1);
        let inside = match characters.next() {
            Some('\\') => characters.next().map(|escaped| 1 + escaped.len_utf8()),
            Some(one) => Some(one.len_utf8()),
            None => None,
        };
        self.at += 1 + inside.unwrap_or(0);
        if inside.is_some() && self.rest().starts_with('\'') {
            self.at += 1;
            return Ok(());
        }
        let place = (start, start + 1);
        let (what, help) = ("a character does not end", "write `'` after one character");
        Err(mistake("idl-syntax", what, place, "it begins here", help))
    }

    fn block_comment(&mut self) -> Result<(), Box<Diagnostic>> {
        let start = self.at;
        let end = self.rest().find("*/").ok_or_else(|| {
            let what = "a comment does not end";
            let place = (start, start + 2);
            mistake("idl-syntax", what, place, "it begins here", "write `*/` at its end")
        })?;
        self.at += end + 2;
        Ok(())
    }

    /// Takes a quoted text; only annotations have them.
    fn text_in_quotes(&mut self) -> Result<(), Box<Diagnostic>> {
        let start = self.at;
        self.at += 1;
        loop {
            self.take(|c| !matches!(c, '"' | '\\' | '\n'));
            match self.rest().chars().next() {
                Some('"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some('\\') => {
                    let escaped = self.rest().chars().nth(1);
                    self.at += 1 + escaped.map_or(0, char::len_utf8);
                }
                _ => {
                    let (what, place) = ("a text does not end", (start, start + 1));
                    let help = "write `\"` at its end";
                    let why = "it begins here";
                    return Err(mistake("idl-syntax", what, place, why, help));
                }
            }
        }
    }

    /// Takes a preprocessor line.
    fn directive(&mut self) -> Result<(), Box<Diagnostic>> {
        let start = self.at;
        let line = self.take(|c| c != '\n');
        let place = (start, start + line.trim_end().len());
        let without = line.split("//").next().unwrap_or_default();
        let mut words = without.get(1..).unwrap_or_default().split_whitespace();
        let (first, second) = (words.next().unwrap_or_default(), words.next());
        match (first, second) {
            ("pragma", Some("keylist")) => {
                let Some(structure) = words.next() else {
                    let help = "write `#pragma keylist Structure member`";
                    let what = "a list of keys names no structure";
                    return Err(mistake("idl-key", what, place, "", help));
                };
                self.keys.push(Keys { structure, members: words.collect(), place, is_used: false });
                Ok(())
            }
            // Include guards.
            ("ifndef" | "define", Some(_)) if words.next().is_none() => Ok(()),
            ("endif" | "pragma", _) => Ok(()),
            _ => {
                let what = format!("there is no preprocessor for {}", quote(without.trim()));
                let why = "only guards and `#pragma keylist` are known";
                let help = "let a compiler do it: `cpp -P types.idl > plain.idl`";
                Err(mistake("idl-preprocessor", what, place, why, help))
            }
        }
    }
}
