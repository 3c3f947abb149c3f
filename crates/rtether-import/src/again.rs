//! A second import into the file of the first.
//!
//! What is imported is replaced as a whole, since nothing tells a value that was edited by hand from
//! one that the source file has changed. What a user adds lives in files of its own, which the
//! scenario names under `include`; these lines are kept. A digest at the end shows whether other
//! lines were edited.

use std::fmt::Write;

use crate::sheet::scalar;

/// Begin of the line with the digest.
const MARK: &str = "# Imported, digest ";
/// What follows the digest, and the next line.
const ADVICE: &str = ". Importing again replaces all lines but `include`;\n\
    # your flows, and `changes` of values, belong into a file that is named there.\n";

/// A scenario that was imported before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Before {
    /// Files that it includes, as the lines that name them.
    lines: String,
    /// Whether a line was edited that the next import replaces.
    pub is_edited: bool,
}

impl Before {
    /// Reads the text of a scenario; `None` if it was not written by [`stamp`].
    pub fn read(text: &str) -> Option<Self> {
        let mark = text.lines().rev().find_map(|line| line.strip_prefix(MARK))?;
        let digest = mark.split('.').next()?;
        let (lines, rest) = split(text);
        Some(Self { lines, is_edited: digest.trim() != self::digest(&rest) })
    }

    /// Returns whether the scenario includes files.
    pub fn includes(&self) -> bool {
        !self.lines.is_empty()
    }
}

/// Returns the text of a scenario with the files that it is to include, those of the import before
/// first, and with its digest. Lines keep their numbers.
pub fn stamp(scenario: &str, before: Option<&Before>, include: &[String]) -> String {
    let mut text = scenario.trim_end().to_owned();
    text.push('\n');
    let digest = digest(&split(&text).1);
    let lines = before.map_or("", |before| before.lines.as_str());
    if !lines.is_empty() {
        text.push('\n');
        text.push_str(lines);
    } else if !include.is_empty() {
        let names: Vec<String> = include.iter().map(|name| scalar(name)).collect();
        let _ = writeln!(text, "\ninclude: [{}]", names.join(", "));
    }
    let _ = write!(text, "\n{MARK}{digest}{ADVICE}");
    text
}

/// Parts a scenario into the lines of `include`, and what else is imported.
fn split(text: &str) -> (String, String) {
    let (mut lines, mut rest) = (String::new(), String::new());
    let mut is_inside = false;
    for line in text.lines() {
        if line.starts_with(MARK) {
            break;
        }
        let goes_on = line.starts_with([' ', '-', '\t']) || line.trim().is_empty();
        is_inside = line.starts_with("include:") || (is_inside && goes_on);
        let part = if is_inside { &mut lines } else { &mut rest };
        // Blank lines at the end of either mean nothing, nor does the kind of line ends.
        part.push_str(line.trim_end());
        part.push('\n');
    }
    let whole = |part: String| match part.trim_end() {
        "" => String::new(),
        part => format!("{part}\n"),
    };
    (whole(lines), whole(rest))
}

/// Returns the digest of a text: FNV-1a with 64 bits, against slips and not against intent.
fn digest(text: &str) -> String {
    let octets = text.bytes();
    let hash = octets.fold(0xcbf2_9ce4_8422_2325_u64, |hash, octet| {
        (hash ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "rtether: 1\nflows:\n  - { name: trip }\n\naccept: []\n";

    /// Oracle: the test vectors of FNV-1a, 64 bits (Fowler, Noll, Vo).
    #[test]
    fn the_digest_is_fnv_1a() {
        assert_eq!(digest(""), "cbf29ce484222325");
        assert_eq!(digest("a"), "af63dc4c8601ec8c");
        assert_eq!(digest("foobar"), "85944171f73967e8");
    }

    #[test]
    fn includes_are_kept_and_edits_are_noticed() {
        // By the rules at the head of this file.
        assert_eq!(Before::read(PLAN), None);
        let first = stamp(PLAN, None, &["own.yaml".into(), "no".into()]);
        assert!(first.starts_with(PLAN), "lines keep their numbers");
        assert!(first.contains("\ninclude: [own.yaml, \"no\"]\n"), "{first}");
        let before = Before::read(&first).expect("a stamped text");
        assert!(!before.is_edited && before.includes());
        let other = PLAN.replace("trip", "close");
        let second = stamp(&other, Some(&before), &["other.yaml".into()]);
        assert_eq!(second.replace("close", "trip").len(), first.len());
        assert!(second.contains("\ninclude: [own.yaml, \"no\"]\n"), "{second}");
        let edited = Before::read(&first.replace("trip", "close"));
        assert!(edited.expect("a stamped text").is_edited);
    }

    #[test]
    fn include_may_be_written_anywhere_and_in_any_form() {
        // By the grammar of YAML: a block ends with the next line that is not indented.
        let first = stamp(PLAN, None, &[]);
        let own = "include:\n  - own.yaml\n- more.yaml\n";
        for text in [
            first.replace("flows:", &format!("{own}flows:")),
            first.replace("accept: []\n", &format!("accept: []\n{own}")),
            format!("{own}\n{first}"),
            first.replace("flows:", &format!("{own}flows:")).replace('\n', "\r\n"),
        ] {
            let before = Before::read(&text).expect("a stamped text");
            assert!(!before.is_edited, "{text}");
            let again = stamp(PLAN, Some(&before), &[]);
            assert!(again.contains(own), "{again}");
            assert_eq!(Before::read(&again), Some(before));
        }
    }
}
