//! What differs between two texts, as a unified diff.

use std::fmt::Write;

/// Lines shown around a change.
const AROUND: usize = 3;

/// Lines of the old text that go, and those of the new one that come in their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    old: (usize, usize),
    new: (usize, usize),
}

/// Returns the unified diff of a file, as `patch` reads it; empty if nothing differs.
pub(super) fn unified(name: &str, old: &str, new: &str) -> String {
    let (old, new) = (lines(old), lines(new));
    let blocks = blocks(&old, &new);
    if blocks.is_empty() {
        return String::new();
    }
    let mut text = format!("--- {name}\n+++ {name}\n");
    let mut rest = blocks.as_slice();
    while !rest.is_empty() {
        // Those whose surroundings meet are one hunk.
        let meets = |pair: &[Block]| pair[1].old.0 - pair[0].old.1 <= 2 * AROUND;
        let count = 1 + rest.windows(2).take_while(|pair| meets(pair)).count();
        hunk(&mut text, &old, &new, &rest[..count]);
        rest = &rest[count..];
    }
    text
}

/// Returns the lines with their ends.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Returns what differs. Where lines differ, both texts go on at the nearest line that they share.
fn blocks(old: &[&str], new: &[&str]) -> Vec<Block> {
    let (mut at, mut found) = ((0, 0), Vec::new());
    while at.0 < old.len() || at.1 < new.len() {
        if old.get(at.0) == new.get(at.1) {
            at = (at.0 + 1, at.1 + 1);
            continue;
        }
        let (gone, come) = next_shared(&old[at.0..], &new[at.1..]);
        let end = (at.0 + gone, at.1 + come);
        found.push(Block { old: (at.0, end.0), new: (at.1, end.1) });
        at = end;
    }
    found
}

/// Returns how many lines of each go before a line that both share: the fewest together.
fn next_shared(old: &[&str], new: &[&str]) -> (usize, usize) {
    for sum in 1..old.len() + new.len() {
        for gone in sum.saturating_sub(new.len())..=sum.min(old.len()) {
            let come = sum - gone;
            let shared = old.get(gone).is_some() && old.get(gone) == new.get(come);
            if shared {
                return (gone, come);
            }
        }
    }
    (old.len(), new.len())
}

fn hunk(text: &mut String, old: &[&str], new: &[&str], blocks: &[Block]) {
    let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else {
        return;
    };
    let before = first.old.0.min(AROUND);
    let after = (old.len() - last.old.1).min(AROUND);
    let range = |start: usize, end: usize| {
        let count = end - start;
        // An empty range is named by the line before it.
        let start = if count == 0 { start } else { start + 1 };
        format!("{start},{count}")
    };
    let old_range = range(first.old.0 - before, last.old.1 + after);
    let new_range = range(first.new.0 - before, last.new.1 + after);
    _ = writeln!(text, "@@ -{old_range} +{new_range} @@");
    let mut at = first.old.0 - before;
    for block in blocks {
        old[at..block.old.0].iter().for_each(|own| line(text, ' ', own));
        old[block.old.0..block.old.1].iter().for_each(|own| line(text, '-', own));
        new[block.new.0..block.new.1].iter().for_each(|own| line(text, '+', own));
        at = block.old.1;
    }
    old[at..at + after].iter().for_each(|own| line(text, ' ', own));
}

fn line(text: &mut String, sign: char, line: &str) {
    text.push(sign);
    text.push_str(line);
    if !line.ends_with('\n') {
        text.push_str("\n\\ No newline at end of file\n");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Applies a diff by its own rules: what stays and goes is the old text, what stays and comes the
    /// new one.
    fn applied(old: &str, diff: &str) -> String {
        let old = lines(old);
        let (mut out, mut at) = (String::new(), 0);
        let mut rows = diff.split_inclusive('\n').skip(2).peekable();
        while let Some(row) = rows.next() {
            if let Some(range) = row.strip_prefix("@@ -") {
                let start = range.split(' ').next().unwrap().split_once(',').unwrap();
                let (line, count) = (start.0.parse::<usize>().unwrap(), start.1);
                let begin = if count == "0" { line } else { line - 1 };
                out.extend(old[at..begin].iter().copied());
                at = begin;
                continue;
            }
            let (sign, body) = row.split_at(1);
            let is_open = rows.next_if(|next| next.starts_with('\\')).is_some();
            let body = if is_open { &body[..body.len() - 1] } else { body };
            if sign != "+" {
                assert_eq!(old[at], body);
                at += 1;
            }
            if sign != "-" {
                out.push_str(body);
            }
        }
        out.extend(old[at..].iter().copied());
        out
    }

    proptest! {
        /// Oracle: the new text.
        #[test]
        fn a_diff_leads_to_the_new_text(old in "[abc\n]{0,40}", new in "[abc\n]{0,40}") {
            let diff = unified("x", &old, &new);
            prop_assert_eq!(diff.is_empty(), old == new);
            prop_assert_eq!(applied(&old, &diff), new);
        }
    }

    /// Oracle: `diff -u` of GNU diffutils, by hand.
    #[test]
    fn a_line_that_changes_stands_between_three_others() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9";
        let new = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n";
        let expected = "--- x\n+++ x\n@@ -2,8 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n-9\n\
            \\ No newline at end of file\n+9\n";
        assert_eq!(unified("x", old, new), expected);
    }
}
