//! The values of parameters: settings whose patterns match the path of a parameter, of which the
//! first counts.

use std::cell::Cell;
use std::collections::BTreeMap;

/// Characters that are compared with patterns, in all.
const MOST: u64 = 50_000_000;
/// Longest pattern and path that are compared.
const LONGEST: usize = 300;

/// A setting of NED or of `omnetpp.ini`.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) pattern: String,
    pub(super) value: String,
    /// Number of the file, and its line.
    pub(super) place: (usize, usize),
}

/// The node, the module in it and the last name of a pattern, as far as these are plain.
type Key = [Option<String>; 3];

/// All settings, by their keys, so that those of other modules are not compared.
#[derive(Debug, Default)]
pub(super) struct Settings {
    entries: Vec<Entry>,
    index: BTreeMap<Key, Vec<usize>>,
    compared: Cell<u64>,
}

impl Settings {
    /// Adds a setting that counts less than those before.
    pub(super) fn add(&mut self, entry: Entry) {
        // The dots of a range separate nothing.
        let has_range = entry.pattern.contains("..");
        let last = entry.pattern.rsplit('.').next().unwrap_or_default();
        let is_last = is_plain(last) && !(has_range && last.ends_with([']', '}']));
        let last = is_last.then(|| last.to_owned());
        let mut parts = entry.pattern.split('.');
        let is_open = |part: &str| has_range || part.contains("**");
        let mut behind = parts.next().is_none_or(is_open);
        let mut part = || {
            let own = parts.next().filter(|_| !behind)?;
            behind = is_open(own);
            is_plain(own).then(|| own.to_owned())
        };
        let key = [part(), part(), last];
        self.index.entry(key).or_default().push(self.entries.len());
        self.entries.push(entry);
    }

    /// Returns whether comparing takes too long.
    pub(super) fn is_exhausted(&self) -> bool {
        self.compared.get() > MOST
    }

    pub(super) fn all(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the setting of a parameter.
    pub(super) fn find(&self, path: &str) -> Option<&Entry> {
        if self.is_exhausted() {
            return None;
        }
        let last = path.rsplit('.').next().map(str::to_owned);
        let mut parts = path.split('.').skip(1).map(str::to_owned);
        let whole = [parts.next(), parts.next(), last];
        let keys = (0..8).map(|open: usize| {
            let mut key = whole.clone();
            for (at, part) in key.iter_mut().enumerate() {
                if open & (1 << at) != 0 {
                    *part = None;
                }
            }
            key
        });
        let found = keys.filter_map(|key| {
            let mut own = self.index.get(&key)?.iter().copied();
            own.find(|number| {
                let entry = self.entries.get(*number);
                entry.is_some_and(|entry| self.is_match(&entry.pattern, path))
            })
        });
        self.entries.get(found.min()?)
    }

    fn is_match(&self, pattern: &str, path: &str) -> bool {
        if pattern.len() > LONGEST || path.len() > LONGEST {
            return false;
        }
        let mut matcher = Matcher {
            pattern: pattern.as_bytes(),
            path: path.as_bytes(),
            failed: Vec::new(),
            steps: 1,
        };
        let is_match = matcher.matches(0, 0);
        self.compared.set(self.compared.get() + matcher.steps);
        is_match
    }
}

/// Returns whether a part of a pattern is a name that stands for itself.
fn is_plain(part: &str) -> bool {
    !part.contains(['*', '?', '{'])
}

/// Compares a pattern with a path.
struct Matcher<'p> {
    pattern: &'p [u8],
    path: &'p [u8],
    /// Places that do not match, so that none is tried twice.
    failed: Vec<bool>,
    steps: u64,
}

impl Matcher<'_> {
    fn matches(&mut self, mut at: usize, mut to: usize) -> bool {
        loop {
            self.steps += 1;
            let next = self.path.get(to).copied();
            match self.pattern.get(at) {
                None => return next.is_none(),
                Some(b'*') => return self.any(at, to),
                Some(b'?') if next.is_some_and(|c| c != b'.') => at += 1,
                Some(b'{') => match self.set(at, to) {
                    Some((end, length)) => {
                        at = end;
                        to += length;
                        continue;
                    }
                    None => return false,
                },
                Some(b'[') if next == Some(b'[') => match self.range(at + 1, b']', to + 1) {
                    Some((end, length)) => {
                        at = end - 1;
                        to += 1 + length;
                        continue;
                    }
                    None => at += 1,
                },
                Some(own) if Some(*own) == next => at += 1,
                Some(_) => return false,
            }
            to += 1;
        }
    }

    /// Matches what follows a star at every place that it may lead to.
    fn any(&mut self, at: usize, to: usize) -> bool {
        let is_deep = self.pattern.get(at + 1) == Some(&b'*');
        let rest = at + 1 + usize::from(is_deep);
        let width = self.path.len() + 1;
        if self.failed.is_empty() {
            self.failed = vec![false; (self.pattern.len() + 1) * width];
        }
        for place in to..width {
            let key = rest * width + place;
            if self.failed.get(key) == Some(&false) {
                if self.matches(rest, place) {
                    return true;
                }
                if let Some(failed) = self.failed.get_mut(key) {
                    *failed = true;
                }
            }
            if !is_deep && self.path.get(place) == Some(&b'.') {
                return false;
            }
        }
        false
    }

    /// Matches `{a-z}`, `{^x}` or `{3..12}`: where the pattern goes on, and octets of the path.
    fn set(&self, at: usize, to: usize) -> Option<(usize, usize)> {
        if let Some((end, length)) = self.range(at + 1, b'}', to) {
            return Some((end, length));
        }
        let inside = self.pattern.get(at + 1..)?;
        let length = inside.iter().position(|c| *c == b'}')?;
        let inside = inside.get(..length)?;
        let (inside, is_other) = match inside {
            [b'^', rest @ ..] => (rest, true),
            all => (all, false),
        };
        let next = *self.path.get(to)?;
        let mut is_in = false;
        let mut rest = inside;
        while let Some((first, others)) = rest.split_first() {
            rest = match others {
                [b'-', last, behind @ ..] => {
                    is_in |= (*first..=*last).contains(&next);
                    behind
                }
                others => {
                    is_in |= *first == next;
                    others
                }
            };
        }
        (is_in != is_other && next != b'.').then_some((at + length + 2, 1))
    }

    /// Matches a range of numbers that begins here and ends with a bracket.
    fn range(&self, at: usize, close: u8, to: usize) -> Option<(usize, usize)> {
        let rest = self.pattern.get(at..)?;
        let length = rest.iter().position(|c| *c == close)?;
        let inside = std::str::from_utf8(rest.get(..length)?).ok()?;
        let (first, last) = inside.split_once("..")?;
        let bound = |text: &str, open: u64| match text.trim() {
            "" => Some(open),
            digits => digits.parse::<u64>().ok(),
        };
        let (first, last) = (bound(first, 0)?, bound(last, u64::MAX)?);
        let digits = self.path.get(to..)?;
        let count = digits.iter().take_while(|c| c.is_ascii_digit()).count();
        let number = std::str::from_utf8(digits.get(..count)?).ok()?;
        let number = number.parse::<u64>().ok()?;
        (first <= number && number <= last).then_some((at + length + 1, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(patterns: &[&str]) -> Settings {
        let mut settings = Settings::default();
        for (number, pattern) in patterns.iter().enumerate() {
            settings.add(Entry {
                pattern: (*pattern).to_owned(),
                value: number.to_string(),
                place: (0, number + 1),
            });
        }
        settings
    }

    /// Oracle: the `OMNeT++` manual, 10.3.1, by hand.
    #[test]
    fn patterns_match_as_the_manual_says() {
        for (pattern, path, expected) in [
            ("*.host.app[0].x", "Net.host.app[0].x", true),
            ("*.host.app[*].x", "Net.host.app[12].x", true),
            ("*.host.app[0..1].x", "Net.host.app[1].x", true),
            ("*.host.app[0..1].x", "Net.host.app[2].x", false),
            ("*.host.app[2..].x", "Net.host.app[12].x", true),
            ("*.host*.x", "Net.host[3].x", true),
            ("*.host*.x", "Net.host.y.x", false),
            ("**.x", "Net.host.y.x", true),
            ("**host**.x", "Net.ahost.y.x", true),
            ("Net.h?st.x", "Net.host.x", true),
            ("Net?host.x", "Net.host.x", false),
            ("*.h{a-p}st.x", "Net.host.x", true),
            ("*.h{^a-p}st.x", "Net.host.x", false),
            ("*.h{3..12}.x", "Net.h12.x", true),
            ("*.h{3..12}.x", "Net.h13.x", false),
            ("*.*Switch.x", "Net.rearSwitch.x", true),
            ("*.x", "Net.host.x", false),
        ] {
            let found = settings(&[pattern]).find(path).is_some();
            assert_eq!(found, expected, "{pattern} {path}");
        }
    }

    #[test]
    fn the_first_of_several_counts() {
        let settings = settings(&["*.a.y", "**.x", "*.a.x", "*.b.x"]);
        assert_eq!(settings.find("N.a.x").map(|own| own.value.as_str()), Some("1"));
    }

    /// Oracle: time. Stars that are tried everywhere would take for ever.
    #[test]
    fn stars_take_no_longer_than_their_square() {
        let pattern = "**a".repeat(90);
        let path = format!("N.{}", "a".repeat(280));
        let settings = settings(&[&format!("{pattern}b")]);
        assert!(settings.find(&path).is_none());
        assert!(!settings.is_exhausted());
    }
}
