//! `omnetpp.ini`: sections with settings.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::ImportError;
use crate::text::quote;

/// Most settings.
const MOST: usize = 200_000;

/// A setting.
#[derive(Debug)]
pub(super) struct Setting<'t> {
    pub(super) line: usize,
    pub(super) key: &'t str,
    /// The value, with the line ends of those that have several.
    pub(super) value: String,
}

/// The sections of a file.
#[derive(Debug)]
pub(super) struct Ini<'t> {
    pub(super) name: &'t str,
    sections: Vec<(&'t str, Vec<Setting<'t>>)>,
    by_name: BTreeMap<&'t str, usize>,
}

/// Returns whether a text looks like such a file: its first line is a section, or a setting of all.
pub(super) fn is_ini(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    let first = without_comment(first.unwrap_or_default());
    let inside = first.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_- ".contains(c);
    let is_section = inside.is_some_and(|own| {
        own.starts_with(|c: char| c.is_ascii_alphabetic()) && own.chars().all(is_name)
    });
    is_section || text.lines().any(|line| line.trim_start().starts_with("[General]"))
}

/// Returns a line without its comment, and without the space around it.
fn without_comment(line: &str) -> &str {
    let mut is_text = false;
    let mut is_escaped = false;
    for (at, c) in line.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_text => is_escaped = true,
            '"' => is_text = !is_text,
            '#' if !is_text => return line.get(..at).unwrap_or_default().trim(),
            _ => {}
        }
    }
    line.trim()
}

/// Returns how many brackets of a line stay open, or are closed more often.
fn open(line: &str) -> i64 {
    let mut is_text = false;
    let mut is_escaped = false;
    let mut open = 0;
    for c in line.chars() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_text => is_escaped = true,
            '"' => is_text = !is_text,
            '(' | '[' | '{' if !is_text => open += 1,
            ')' | ']' | '}' if !is_text => open -= 1,
            _ => {}
        }
    }
    open
}

impl<'t> Ini<'t> {
    pub(super) fn read(name: &'t str, text: &'t str) -> Result<Self, ImportError> {
        let mut ini = Self {
            name,
            sections: vec![("General", Vec::new())],
            by_name: BTreeMap::from([("General", 0)]),
        };
        let mut section = 0;
        let mut count = 0;
        // Whether the next line belongs to the setting before, and its open brackets.
        let (mut goes_on, mut brackets) = (false, 0);
        for (number, raw) in text.lines().enumerate() {
            let refuse = |what: String, remedy: &str| {
                Err(ImportError::new(name, Some(number + 1), what, remedy))
            };
            let line = without_comment(raw);
            if line.is_empty() {
                goes_on = goes_on && raw.trim_start().starts_with('#');
                continue;
            }
            let (line, is_joined) = match line.strip_suffix('\\') {
                Some(line) => (line.trim_end(), true),
                None => (line, false),
            };
            let own = ini.sections.get_mut(section).map(|(_, own)| own);
            let last = own.and_then(|own| own.last_mut());
            let is_indented = raw.starts_with([' ', '\t']);
            let hangs = last.as_ref().is_some_and(|last| last.value.is_empty()) || brackets > 0;
            match last {
                Some(last) if goes_on || (is_indented && (hangs || !line.contains('='))) => {
                    last.value.push('\n');
                    last.value.push_str(line);
                    brackets += open(line);
                    goes_on = is_joined;
                    continue;
                }
                _ => {}
            }
            goes_on = is_joined;
            if line.starts_with('[') {
                section = ini.section(line, number + 1)?;
                brackets = 0;
                continue;
            }
            if line.split_ascii_whitespace().next() == Some("include") {
                let what = format!("it includes a file: {}", quote(line));
                return refuse(what, "put what is in that file in its place");
            }
            let Some((key, value)) = line.split_once('=') else {
                let what = format!("{} is neither a section nor a setting", quote(line));
                return refuse(what, "correct it");
            };
            count += 1;
            if count > MOST {
                return refuse(format!("it has more than {MOST} settings"), "import a part of it");
            }
            brackets = open(value);
            if let Some((_, own)) = ini.sections.get_mut(section) {
                own.push(Setting {
                    line: number + 1,
                    key: key.trim(),
                    value: value.trim().to_owned(),
                });
            }
        }
        Ok(ini)
    }

    /// Returns the number of the section that begins in a line.
    fn section(&mut self, line: &'t str, number: usize) -> Result<usize, ImportError> {
        let inside = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let Some(inside) = inside.map(str::trim).filter(|own| !own.is_empty()) else {
            let what = format!("{} is no section", quote(line));
            return Err(ImportError::new(self.name, Some(number), what, "correct it"));
        };
        let name = inside.strip_prefix("Config ").map_or(inside, str::trim);
        let next = self.sections.len();
        let section = *self.by_name.entry(name).or_insert(next);
        if section == next {
            self.sections.push((name, Vec::new()));
        }
        Ok(section)
    }

    fn own(&self, name: &str) -> Option<&[Setting<'t>]> {
        let section = self.sections.get(*self.by_name.get(name)?);
        section.map(|(_, own)| own.as_slice())
    }

    /// Returns the option of a section itself, which is not one of modules.
    pub(super) fn option(&self, section: &str, key: &str) -> Option<&Setting<'t>> {
        self.own(section)?.iter().find(|own| own.key == key)
    }

    /// Returns the names of sections that can be run.
    pub(super) fn configs(&self) -> Vec<&'t str> {
        let names = self.sections.iter().map(|(name, _)| *name);
        names
            .filter(|name| {
                let is_abstract = self.option(name, "abstract");
                *name != "General" && is_abstract.is_none_or(|own| own.value != "true")
            })
            .collect()
    }

    /// Returns the settings of a section, those that count first at the head: its own, those of the
    /// sections that it extends, and those of all.
    pub(super) fn chain(&self, section: &str) -> Result<Vec<&Setting<'t>>, ImportError> {
        let mut known = BTreeSet::new();
        let mut chain = Vec::new();
        let mut open = vec![(section.to_owned(), None)];
        while let Some((name, line)) = open.pop() {
            if !known.insert(name.clone()) {
                continue;
            }
            let Some(own) = self.own(&name) else {
                let what = format!("there is no section {}", quote(&name));
                let known = self.configs().into_iter().map(quote);
                let known: Vec<String> = known.take(20).collect();
                let remedy = format!("name one of its sections: {}", known.join(", "));
                return Err(ImportError::new(self.name, line, what, &remedy));
            };
            chain.extend(own);
            let bases = own.iter().find(|setting| setting.key == "extends");
            if let Some(bases) = bases {
                let names = bases.value.split(',').map(|name| name.trim().to_owned());
                let names: Vec<(String, Option<usize>)> =
                    names.map(|name| (name, Some(bases.line))).collect();
                open.extend(names.into_iter().rev());
            }
        }
        if known.insert("General".to_owned()) {
            chain.extend(self.own("General").unwrap_or_default());
        }
        Ok(chain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# all\n[General]\nnetwork = N # here\n*.a.name = \"x # y\"\n\
        *.a.mapping = [{a: 1},\n  # between\n               {b: 2}]\n*.a.long = 1 \\\n   + 2\n\
        [Config One]\nextends = Base\n*.a.one = 1\n  *.a.two = 2\n[Base]\nabstract = true\n*.a.one = 3\n";

    /// Oracle: the `OMNeT++` manual, chapter 10, by hand.
    #[test]
    fn settings_have_lines_and_sections_their_bases() {
        let ini = Ini::read("o.ini", TEXT).expect("sections");
        assert_eq!(ini.configs(), ["One"]);
        let chain = ini.chain("One").expect("a section");
        let values: Vec<(usize, &str, &str)> =
            chain.iter().map(|own| (own.line, own.key, own.value.as_str())).collect();
        let expected = [
            (11, "extends", "Base"),
            (12, "*.a.one", "1"),
            (13, "*.a.two", "2"),
            (15, "abstract", "true"),
            (16, "*.a.one", "3"),
            (3, "network", "N"),
            (4, "*.a.name", "\"x # y\""),
            (5, "*.a.mapping", "[{a: 1},\n{b: 2}]"),
            (8, "*.a.long", "1\n+ 2"),
        ];
        assert_eq!(values, expected);
        assert!(ini.chain("Two").is_err());
        assert!(
            is_ini(TEXT) && is_ini("[Eager]\nx = 1") && !is_ini("[1, 2]") && !is_ini("a,b\n1,2")
        );
    }

    #[test]
    fn what_is_no_setting_is_refused_with_its_line() {
        for (text, line, what) in [
            ("[General]\ninclude other.ini\n", 2, "it includes a file"),
            ("[General]\nword\n", 2, "`word` is neither"),
            ("[General\n", 1, "`[General` is no section"),
        ] {
            let error = Ini::read("o.ini", text).map(|_| ()).expect_err(text);
            assert_eq!(error.line, Some(line));
            assert!(error.what.starts_with(what), "{error}");
        }
    }
}
