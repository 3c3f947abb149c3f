//! Lines of a scenario whose comments say what was assumed, and which holds the same as data under
//! `assumed`: path, value and reason. Names, times and rates as a scenario has them.

use std::collections::BTreeMap;
use std::fmt::Write;

use rtether_model::characters::is_unseen;
use rtether_model::quantity::Duration;

use crate::basis::Basis;
use crate::plan::Assumption;
use crate::text::plain;

/// Column at which comments begin, if the line is not longer.
const COMMENT_COLUMN: usize = 44;

/// The lines of a scenario, with what was assumed for them.
#[derive(Debug, Default)]
pub(crate) struct Sheet {
    text: String,
    lines: usize,
    assumptions: Vec<Assumption>,
    /// Their values, as they are written.
    values: Vec<String>,
}

impl Sheet {
    /// Writes a line.
    pub(crate) fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
        self.lines += 1 + line.matches('\n').count();
    }

    /// Writes a line with what is said of its value, which has this path in the scenario.
    pub(crate) fn noted(&mut self, line: &str, value: &str, path: &str, basis: &Basis) {
        match basis {
            Basis::Stated => self.line(line),
            Basis::Follows(from) => self.commented(line, from),
            Basis::Assumed(why) => {
                self.commented(line, &format!("assumed: {why}"));
                self.assumptions.push(Assumption {
                    line: self.lines,
                    key: path.to_owned(),
                    text: why.clone(),
                });
                self.values.push(value.to_owned());
            }
        }
    }

    fn commented(&mut self, line: &str, comment: &str) {
        let width = line.chars().count();
        let space = COMMENT_COLUMN.saturating_sub(width).max(1);
        self.line(&format!("{line}{:space$}# {}", "", one_line(comment)));
    }

    /// Returns the text, with the assumptions as data, and the assumptions.
    pub(crate) fn done(mut self) -> (String, Vec<Assumption>) {
        let values = core::mem::take(&mut self.values);
        if !values.is_empty() {
            self.line("");
            self.line(
                "# An assumption ends when its value is written, here or in a file of yours.",
            );
            self.line("assumed:");
        }
        for (number, is) in values.iter().enumerate() {
            let Assumption { key, text, .. } = &self.assumptions[number];
            let (path, why) = (quoted(key), quoted(&one_line(text)));
            self.line(&format!("  {path}: {{ is: {is}, why: {why} }}"));
        }
        (self.text, self.assumptions)
    }
}

/// A comment ends with its line, whatever a foreign name holds.
fn one_line(comment: &str) -> String {
    let seen = |c| if is_unseen(c) { '?' } else { c };
    comment.chars().map(seen).collect()
}

/// Names in use, so that each is given once, with the number that the next of the same name gets.
#[derive(Debug, Default)]
pub(crate) struct Names(BTreeMap<String, usize>);

/// Longest name made from foreign text; a scenario takes 100 characters.
const LONGEST: usize = 90;

impl Names {
    /// Returns a name that the language takes and nothing else has.
    pub(crate) fn take(&mut self, wanted: &str) -> String {
        let allowed = |c: char| !is_unseen(c) && !":*".contains(c);
        let clean: String = wanted.chars().map(|c| if allowed(c) { c } else { '_' }).collect();
        let clean = plain(clean.trim(), LONGEST);
        let clean = match clean.trim() {
            "" => "unnamed",
            clean => clean,
        };
        let Some(&next) = self.0.get(clean) else {
            self.0.insert(clean.to_owned(), 2);
            return clean.to_owned();
        };
        let mut number = next;
        let mut name = format!("{clean}-{number}");
        while self.0.contains_key(&name) {
            number += 1;
            name = format!("{clean}-{number}");
        }
        self.0.insert(clean.to_owned(), number + 1);
        self.0.insert(name.clone(), 2);
        name
    }
}

/// Returns text as a YAML scalar in double quotes.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            // Names hold none, but a quoted text must end where it should in any case.
            c if is_unseen(c) => _ = write!(quoted, "\\U{:08x}", u32::from(c)),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// Returns text as a YAML scalar: plain if nothing can misread it, else in double quotes.
pub(crate) fn scalar(text: &str) -> String {
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./ ".contains(c);
    let words = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    let is_word = words.contains(&text.to_ascii_lowercase().as_str());
    if begins && text.chars().all(is_plain) && !text.ends_with(' ') && !is_word {
        return text.to_owned();
    }
    quoted(text)
}

/// Returns a time in the largest unit that leaves a whole number.
pub(crate) fn time(span: Duration) -> String {
    let ps = span.as_ps();
    let units = [("s", 1_000_000_000_000), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1_000)];
    let whole = units.into_iter().find(|(_, unit)| ps % unit == 0);
    let (unit, divisor) = whole.unwrap_or(("ps", 1));
    format!("{} {unit}", ps / divisor)
}

/// Returns a rate of bits per second in the largest unit that leaves a whole number.
pub(crate) fn rate(bits: u64) -> String {
    let units = [(1_000_000_000, "Gbit/s"), (1_000_000, "Mbit/s")];
    let whole = units.into_iter().find(|(unit, _)| bits > 0 && bits.is_multiple_of(*unit));
    // Whole bits are exact at any rate.
    let (unit, word) = whole.unwrap_or((1, "bit/s"));
    format!("{} {word}", bits / unit)
}

/// Writes thousandths as a decimal number.
pub(crate) fn thousandths(number: u64) -> String {
    let text = format!("{}.{:03}", number / 1000, number % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_their_value() {
        for (ps, text) in [
            (4_000_000_000, "4 ms"),
            (250_000_000, "250 us"),
            (3_000_000_000_000, "3 s"),
            (208_333_333, "208333333 ps"),
        ] {
            assert_eq!(time(Duration::from_ps(ps)), text);
        }
    }

    /// Oracle: YAML 1.2, 7.3.1 and 10.3.2, and the words of YAML 1.1.
    #[test]
    fn names_are_quoted_where_yaml_would_misread_them() {
        for (text, scalar_text) in [
            ("AA1 trip", "AA1 trip"),
            ("no", "\"no\""),
            ("1e3", "\"1e3\""),
            ("a: b", "\"a: b\""),
            ("a #b", "\"a #b\""),
            ("say \"x\\\"", "\"say \\\"x\\\\\\\"\""),
            ("~", "\"~\""),
            ("é", "\"é\""),
        ] {
            assert_eq!(scalar(text), scalar_text);
        }
    }

    #[test]
    fn names_are_given_once_and_fit() {
        let mut names = Names::default();
        assert_eq!(names.take(" a:b "), "a_b");
        assert_eq!(names.take("a:b"), "a_b-2");
        assert_eq!(names.take("\n"), "_");
        assert_eq!(names.take(""), "unnamed");
        let long = names.take(&"x".repeat(300));
        assert!(long.chars().count() <= 100);
        assert_ne!(names.take(&"x".repeat(300)), long);
    }

    #[test]
    fn a_comment_cannot_leave_its_line() {
        let mut sheet = Sheet::default();
        let basis = Basis::Assumed("from `x\ny: 2`".into());
        sheet.noted("a: 1", "1", "a", &basis);
        let (text, assumptions) = sheet.done();
        // An empty one, a comment, `assumed` and its entry.
        assert_eq!(text.lines().count(), 5);
        assert_eq!(assumptions[0].line, 1);
    }
}
