//! Compares the output shown on a page with what the command prints.

use std::ops::Range;

use rtether::verdict::Standing;

use crate::page::{Block, Mark};

/// Returns the part of the output that the page should show.
pub(crate) fn shown(block: &Block, printed: &str) -> Vec<String> {
    let lines: Vec<String> = printed.lines().map(|line| line.trim_end().into()).collect();
    let chosen = block.marks.iter().find_map(|mark| {
        if let Mark::Lines(ranges) = mark { Some(pick(&lines, ranges)) } else { None }
    });
    let mut lines = chosen.unwrap_or(lines);
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    let empty = lines.iter().take_while(|line| line.is_empty()).count();
    lines.split_off(empty)
}

fn pick(lines: &[String], ranges: &[Range<usize>]) -> Vec<String> {
    let chosen = ranges.iter().flat_map(|range| {
        let lines = lines.iter().skip(range.start);
        lines.take(range.end.saturating_sub(range.start))
    });
    chosen.cloned().collect()
}

/// Returns whether both are equal; for measured output only the shape counts.
pub(crate) fn is_same(block: &Block, page: &[String], printed: &[String]) -> bool {
    if !block.has(&Mark::Measured) {
        return page == printed;
    }
    let shapes = |lines: &[String]| lines.iter().map(|line| shape(line)).collect::<Vec<_>>();
    shapes(page) == shapes(printed)
}

/// Writes every number with its unit as `#`, every verdict on a measurement as one word, and every
/// space, rule or repetition of them as one.
fn shape(line: &str) -> String {
    // A busy host makes packets late.
    const VERDICTS: [Standing; 4] =
        [Standing::Held { packets: 0 }, Standing::NoAnswer, Standing::Lost, Standing::Late];
    const UNITS: [&str; 12] =
        ["ps", "ns", "us", "ms", "s", "%", "B", "kB", "bit/s", "kbit/s", "Mbit/s", "Gbit/s"];
    let is_number = |word: &str| {
        let bare = word.trim_start_matches(['<', '(', '-', '+']);
        let bare = bare.trim_end_matches([',', ';', ':', ')', '.', '%']);
        bare == "-" || bare.chars().next().is_some_and(|c| c.is_ascii_digit())
    };
    let mut words: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        let bare = word.trim_end_matches([',', ';', ':', ')']);
        let after_number = words.last().is_some_and(|last| last == "#");
        if after_number && UNITS.contains(&bare) {
            continue;
        }
        if is_number(word) || word == "-" {
            words.push("#".into());
        } else if word == "ok" || VERDICTS.iter().any(|own| is_said(*own, word)) {
            words.push("VERDICT".into());
        } else if word.chars().all(|c| c == '─') {
            words.push("─".into());
        } else if after_number {
            // `1 segment`, `2 segments`.
            words.push(word.trim_end_matches('s').into());
        } else {
            words.push(word.into());
        }
    }
    words.join(" ")
}

/// Returns whether a table says this; in lower case, packets are lost.
fn is_said(verdict: Standing, word: &str) -> bool {
    verdict.name().eq_ignore_ascii_case(word) && word != Standing::Lost.name()
}

#[cfg(test)]
mod tests {
    use super::shape;

    #[test]
    fn numbers_and_widths_are_no_shape() {
        // Oracle: the same table of two runs, written by hand.
        let one = " flow   one way    360   1.275 ms   1.376 ms  12.5 %   -   ok";
        let two = " flow one way 9 999 ns 13 us  3 %   4 ms   ok";
        assert_eq!(shape(one), shape(two));
        for other in ["late", "LATE", "held", "LOST", "no-answer"] {
            assert_eq!(shape(one), shape(&two.replace("ok", other)), "{other}");
        }
        assert_ne!(shape(one), shape(&two.replace("ok", "proved")));
        assert_ne!(shape(one), shape(&two.replace("way", "ways")));
        assert_eq!(shape("────"), shape("──"));
        assert_eq!(shape("1 segment"), shape("12 segments"));
        assert_eq!(shape("median 5.181 ms, 3 lost"), "median # # lost");
    }
}
