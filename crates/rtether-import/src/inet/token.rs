//! Words of NED, and of the values in `omnetpp.ini`.

/// Most words of a file.
const MOST: usize = 2_000_000;

/// A word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Word<'t> {
    Name(&'t str),
    /// A number with the unit behind it, which may be empty.
    Number(f64, &'t str),
    /// What stands in quotes, with its escapes.
    Text(&'t str),
    Mark(&'t str),
}

/// A word and where it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'t> {
    pub(super) word: Word<'t>,
    /// Line, counted from 1.
    pub(super) line: usize,
    /// Octets of the text.
    pub(super) from: usize,
    pub(super) to: usize,
}

impl Token<'_> {
    pub(super) fn is(&self, mark: &str) -> bool {
        self.word == Word::Mark(mark)
    }
}

/// Marks of several characters, longest first.
const MARKS: [&str; 12] =
    ["<-->", "-->", "<--", "++", "..", "==", "!=", "<=", ">=", "&&", "||", "**"];

/// Parts a text into words; an error has its line and what is wrong.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, (usize, String)> {
    let mut all = Vec::new();
    let (mut at, mut line) = (0, 1);
    while let Some(first) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = text.get(at..).unwrap_or_default();
        if first == '\n' {
            line += 1;
        }
        if first.is_whitespace() {
            at += first.len_utf8();
        } else if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else {
            let (word, length) = word(rest).map_err(|what| (line, what))?;
            all.push(Token { word, line, from: at, to: at + length });
            if all.len() > MOST {
                return Err((line, format!("it has more than {MOST} words")));
            }
            at += length;
        }
    }
    Ok(all)
}

/// Returns the first word of a text that begins with one, and its octets.
fn word(text: &str) -> Result<(Word<'_>, usize), String> {
    let first = text.chars().next().unwrap_or(' ');
    let part = |length: usize| text.get(..length).unwrap_or_default();
    if first == '"' {
        let inside = text.get(1..).unwrap_or_default();
        let length = quoted(inside).ok_or("a text has no end")?;
        let inside = inside.get(..length).unwrap_or_default();
        return Ok((Word::Text(inside), length + 2));
    }
    if first.is_ascii_digit() {
        return Ok(number(text));
    }
    if first.is_ascii_alphabetic() || first == '_' {
        let is_inside = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
        let length = text.find(|c| !is_inside(c)).unwrap_or(text.len());
        return Ok((Word::Name(part(length)), length));
    }
    let mark = MARKS.iter().find(|mark| text.starts_with(**mark));
    let length = mark.map_or(first.len_utf8(), |mark| mark.len());
    Ok((Word::Mark(part(length)), length))
}

/// Returns the octets before the quote that ends a text, which does not leave its line.
fn quoted(inside: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (at, c) in inside.char_indices() {
        match c {
            '\n' => return None,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return Some(at),
            _ => {}
        }
    }
    None
}

/// Returns a number with its unit, and its octets. In `0..3` the first number is 0.
fn number(text: &str) -> (Word<'_>, usize) {
    let octets = text.as_bytes();
    let digits = |mut at: usize| {
        while octets.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let mut end = digits(0);
    if octets.get(end) == Some(&b'.') && octets.get(end + 1).is_some_and(u8::is_ascii_digit) {
        end = digits(end + 1);
    }
    if matches!(octets.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(octets.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    let value = text.get(..end).and_then(|own| own.parse().ok());
    let rest = text.get(end..).unwrap_or_default();
    let unit = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let unit = rest.get(..unit).unwrap_or_default();
    let word = Word::Number(value.unwrap_or(f64::NAN), unit);
    (word, end + unit.len())
}

/// Returns a text without its escapes.
pub(super) fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut all = text.chars();
    while let Some(c) = all.next() {
        plain.push(if c == '\\' { all.next().unwrap_or(c) } else { c });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::Word::{Mark, Name, Number, Text};
    use super::*;

    /// Oracle: the grammar of NED (`OMNeT++` manual, appendix B), by hand.
    #[test]
    fn words_end_where_the_grammar_says() {
        let text = "a.ethg++ <--> Eth1G { delay = 0.5us; } // x\n[0..n-1] \"b \\\" c\" 1e3 2e != 7";
        let read = tokens(text).expect("words");
        let words: Vec<Word<'_>> = read.iter().map(|token| token.word).collect();
        let expected = [
            Name("a"),
            Mark("."),
            Name("ethg"),
            Mark("++"),
            Mark("<-->"),
            Name("Eth1G"),
            Mark("{"),
            Name("delay"),
            Mark("="),
            Number(0.5, "us"),
            Mark(";"),
            Mark("}"),
            Mark("["),
            Number(0.0, ""),
            Mark(".."),
            Name("n"),
            Mark("-"),
            Number(1.0, ""),
            Mark("]"),
            Text("b \\\" c"),
            Number(1000.0, ""),
            Number(2.0, "e"),
            Mark("!="),
            Number(7.0, ""),
        ];
        assert_eq!(words, expected);
        assert_eq!(unescaped("b \\\" c"), "b \" c");
        assert_eq!(read.last().map(|token| token.line), Some(2));
        assert_eq!(tokens("a\n\"b\n\"").map(|_| ()), Err((2, "a text has no end".into())));
    }
}
