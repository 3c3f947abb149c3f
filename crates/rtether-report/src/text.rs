//! Numbers for display, and exact numbers for files.

use rtether_model::characters::is_unseen;
use rtether_model::quantity::Duration;

/// Returns a time with four significant digits in a suitable unit: `812.4 us`, `1.113 ms`.
pub fn time(span: Duration) -> String {
    let (unit_ps, unit) = unit_of(span.as_ps().unsigned_abs());
    if span == Duration::ZERO {
        return "0 s".into();
    }
    let sign = if span.is_negative() { "-" } else { "" };
    let digits = four_digits(span.as_ps().unsigned_abs(), unit_ps);
    format!("{sign}{digits} {unit}")
}

/// Returns the time as [`time`] does, or a dash.
pub fn time_or_dash(span: Option<Duration>) -> String {
    span.map_or_else(|| "-".into(), time)
}

fn unit_of(ps: u64) -> (u64, &'static str) {
    // The thresholds leave room for rounding up: 999.96 us becomes 1 ms.
    match ps {
        ps if ps >= 999_950_000_000 => (1_000_000_000_000, "s"),
        ps if ps >= 999_950_000 => (1_000_000_000, "ms"),
        ps if ps >= 999_950 => (1_000_000, "us"),
        _ => (1_000, "ns"),
    }
}

/// Returns the time rounded to the digits that [`time`] shows.
pub fn rounded(span: Duration) -> Duration {
    let ps = span.as_ps();
    let (unit, _) = unit_of(ps.unsigned_abs());
    let (scaled, scale) = scaled(ps.unsigned_abs(), unit);
    let near = i64::try_from(scaled * u128::from(unit) / scale).unwrap_or(i64::MAX);
    Duration::from_ps(near * ps.signum())
}

/// Returns `value / unit` rounded to at most three decimals and four significant digits, times the
/// power of ten that makes it whole, and that power.
fn scaled(value: u64, unit: u64) -> (u128, u128) {
    let scale = match value / unit {
        1_000.. => 1,
        100.. => 10,
        10.. => 100,
        _ => 1_000,
    };
    let near = (u128::from(value) * scale + u128::from(unit) / 2) / u128::from(unit);
    (near, scale)
}

/// Formats `value / unit` with at most three decimals and four significant digits.
fn four_digits(value: u64, unit: u64) -> String {
    let (scaled, scale) = scaled(value, unit);
    let Some(width) = scale.checked_ilog10().filter(|width| *width > 0) else {
        return scaled.to_string();
    };
    let width = usize::try_from(width).unwrap_or(0);
    let text = format!("{}.{:0width$}", scaled / scale, scaled % scale);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns picoseconds as nanoseconds, exact: up to three decimals, no trailing zeros.
pub fn exact_ns(ps: i64) -> String {
    let sign = if ps < 0 { "-" } else { "" };
    let (whole, rest) = (ps.unsigned_abs() / 1_000, ps.unsigned_abs() % 1_000);
    if rest == 0 {
        return format!("{sign}{whole}");
    }
    let text = format!("{sign}{whole}.{rest:03}");
    text.trim_end_matches('0').to_owned()
}

/// Returns a share as a percentage: `62 %`, `3.1 %`, `< 0.1 %`.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent <= 0.0 {
        "0 %".into()
    } else if percent < 0.1 {
        "< 0.1 %".into()
    } else if percent < 9.95 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}

/// Returns `part / whole`; zero if `whole` is zero.
pub fn share(part: Duration, whole: Duration) -> f64 {
    let (part, whole) = (part.as_secs_f64(), whole.as_secs_f64());
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Returns a count with digits grouped by no-break spaces: `1 234 567`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push('\u{a0}');
        }
        text.push(digit);
    }
    text
}

/// Most names of one kind in a sentence.
const NAMED: usize = 3;

/// Returns a few names, with the number of the others; `None` if there are none.
pub fn few(names: &[String]) -> Option<String> {
    let shown: Vec<String> = names.iter().take(NAMED).map(|n| format!("`{n}`")).collect();
    let rest = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    (!names.is_empty()).then(|| format!("{}{rest}", shown.join(", ")))
}

/// Returns `1 stream`, `2 streams`.
pub fn plural(number: usize, word: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {word}{ending}")
}

/// Replaces control and other invisible characters, so that a text cannot act as a terminal
/// command.
pub fn plain_line(line: &str) -> String {
    line.chars().map(|c| if is_unseen(c) { '\u{fffd}' } else { c }).collect()
}

/// Shortens a text to `limit` characters, with an ellipsis in the middle.
pub fn shorten(text: &str, limit: usize) -> String {
    let length = text.chars().count();
    if length <= limit {
        return text.to_owned();
    }
    let kept = limit.saturating_sub(1);
    let tail = kept / 2;
    let head: String = text.chars().take(kept - tail).collect();
    let tail: String = text.chars().skip(length - tail).collect();
    format!("{head}\u{2026}{tail}")
}

/// Breaks a line at blanks, except between a number and its unit, so that no part is wider than
/// `width` columns unless a word is; parts after the first begin with `indent` blanks.
pub fn wrapped(line: &str, width: Option<u16>, indent: usize) -> String {
    let width = width.map_or(usize::MAX, usize::from);
    let mut words: Vec<String> = Vec::new();
    for word in line.split_inclusive(' ') {
        match words.last_mut() {
            Some(last) if last.trim_end().parse::<f64>().is_ok() => last.push_str(word),
            _ => words.push(word.to_owned()),
        }
    }
    let mut text = String::new();
    let mut at = 0;
    for word in &words {
        if at > indent && at + columns(word.trim_end()) > width {
            text.truncate(text.trim_end().len());
            text.push('\n');
            text.extend(std::iter::repeat_n(' ', indent));
            at = indent;
        }
        text.push_str(word);
        at += columns(word);
    }
    text
}

/// Returns the display width of a text; East Asian characters and emoji take two columns.
pub fn columns(text: &str) -> usize {
    text.chars()
        .map(|c| if matches!(c, '\u{1100}'..='\u{11ff}' | '\u{2e80}'..) { 2 } else { 1 })
        .sum()
}

/// Converts a count for drawing.
#[allow(clippy::cast_precision_loss, reason = "a position on paper needs no 53rd bit")]
pub const fn real(value: u64) -> f64 {
    value as f64
}

/// Converts an index or a length for drawing.
#[allow(clippy::cast_precision_loss, reason = "a position on paper needs no 53rd bit")]
pub const fn real_len(value: usize) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_four_digits() {
        for (ps, text) in [
            (0, "0 s"),
            (1, "0.001 ns"),
            (812_354_000, "812.4 us"),
            (1_113_000_000, "1.113 ms"),
            (18_240_000, "18.24 us"),
            (999_960_000, "1 ms"),
            (-113_000_000, "-113 us"),
            (1_234_567_000_000_000, "1235 s"),
        ] {
            let span = Duration::from_ps(ps);
            assert_eq!(time(span), text);
            assert_eq!(time(rounded(span)), text);
        }
    }

    /// Oracle: by hand.
    #[test]
    fn rounded_times_are_those_shown() {
        let ps = |ps| rounded(Duration::from_ps(ps)).as_ps();
        assert_eq!(ps(812_354_000), 812_400_000);
        assert_eq!(ps(-812_354_000), -812_400_000);
        assert_eq!(ps(1), 1);
        assert_eq!(ps(0), 0);
        assert_eq!(ps(i64::MAX), 9_223_372_000_000_000_000);
    }

    #[test]
    fn nanoseconds_are_exact() {
        assert_eq!(exact_ns(-1_500), "-1.5");
        assert_eq!(exact_ns(0), "0");
        assert_eq!(exact_ns(500), "0.5");
        assert_eq!(exact_ns(1_001), "1.001");
        assert_eq!(exact_ns(10_000), "10");
        assert_eq!(exact_ns(i64::MAX), "9223372036854775.807");
    }

    /// Oracle: by hand.
    #[test]
    fn lines_break_at_blanks() {
        let line = "busy  switch > bay 12 %";
        assert_eq!(wrapped(line, None, 6), line);
        assert_eq!(wrapped(line, Some(23), 6), line);
        assert_eq!(wrapped(line, Some(18), 6), "busy  switch > bay\n      12 %");
        assert_eq!(wrapped("a longerword b", Some(5), 0), "a\nlongerword\nb");
    }

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(shorten("substation.bay17.ct3", 11), "subst\u{2026}7.ct3");
        assert_eq!(shorten("short", 11), "short");
        assert_eq!(shorten("äöüäöüäöü", 5).chars().count(), 5);
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!(count(1_234_567), "1\u{a0}234\u{a0}567");
        assert_eq!(count(12), "12");
        assert_eq!(percent(0.0004), "< 0.1 %");
        assert_eq!(percent(0.62), "62 %");
    }
}
