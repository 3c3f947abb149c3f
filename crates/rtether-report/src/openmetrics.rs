//! The rows of a result as `OpenMetrics` 1.0, for Prometheus and what reads its text.
//!
//! Each column of numbers is a metric, `rtether_SUBJECT_COLUMN`: a gauge, also for what was counted,
//! since a program that has ended counts no further. Its labels are the words that tell rows apart,
//! those before the first number; all words of a row are labels of `rtether_SUBJECT_info`, which is
//! always 1, so that a verdict that changes begins no new series of numbers. Times are in seconds, as
//! their names say.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::table::{Table, Value};

/// Ends of names in files with another unit, the base unit, and the power of ten between them.
const UNITS: [(&str, &str, u32); 3] =
    [("_ns", "_seconds", 9), ("_us", "_seconds", 6), ("_ms", "_seconds", 3)];

/// Columns of words that do not tell rows apart.
const VERDICTS: [&str; 3] = ["verdict", "standing", "result"];

/// Returns the rows of a table. `subject` is what they are of, such as `check`.
pub(crate) fn write(subject: &str, table: &Table) -> String {
    let columns = table.values();
    let is_words = |values: &[&Value]| values.iter().any(|value| matches!(value, Value::Text(_)));
    let is_empty = |values: &[&Value]| values.iter().all(|value| **value == Value::None);
    let begin = columns.iter().position(|(_, values)| !is_words(values) && !is_empty(values));
    let (words, numbers): (Vec<_>, Vec<_>) =
        columns.iter().partition(|(_, values)| is_words(values));
    let leading = columns.iter().take(begin.unwrap_or(columns.len()));
    let keys: Vec<_> =
        leading.filter(|(name, values)| is_words(values) && !VERDICTS.contains(name)).collect();
    let rows = 0..table.height();
    let all: Vec<String> = rows.clone().map(|row| labels(&words, row)).collect();
    let keys: Vec<String> = rows.map(|row| labels(&keys, row)).collect();
    let mut out = String::new();
    if !words.is_empty() && table.height() > 0 {
        let (name, ..) = named(subject, "info");
        _ = writeln!(out, "# TYPE {name} gauge");
        for labels in unlike(all) {
            _ = writeln!(out, "{name}{labels} 1");
        }
    }
    let labels = unlike(keys);
    let mut known = BTreeSet::new();
    for (name, values) in numbers {
        if is_empty(values) {
            continue;
        }
        let (name, unit, power) = named(subject, name);
        if !known.insert(name.clone()) {
            continue;
        }
        _ = writeln!(out, "# TYPE {name} gauge");
        if !unit.is_empty() {
            _ = writeln!(out, "# UNIT {name} {unit}");
        }
        for (value, labels) in values.iter().zip(&labels) {
            if let Some(number) = number(value, power) {
                _ = writeln!(out, "{name}{labels} {number}");
            }
        }
    }
    out + "# EOF\n"
}

/// Returns the name of a metric, its unit if it has one, and the power of ten that its values are
/// divided by.
fn named(subject: &str, column: &str) -> (String, &'static str, u32) {
    let clean = |text: &str| -> String {
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }
        };
        text.chars().map(plain).collect()
    };
    let (base, suffix, power) = UNITS
        .iter()
        .find_map(|&(end, unit, power)| Some((column.strip_suffix(end)?, unit, power)))
        .unwrap_or((column, "", 0));
    // The end `_total` is for counters, which these are not.
    let base = clean(base);
    let base = base.strip_suffix("_total").unwrap_or(&base);
    let subject = clean(subject);
    // The bound of `bound` is said once.
    let name = if subject == base {
        format!("rtether_{base}{suffix}")
    } else {
        format!("rtether_{subject}_{base}{suffix}")
    };
    (name, suffix.trim_start_matches('_'), power)
}

/// Returns the labels of a row, in braces; nothing if it has no words.
fn labels(words: &[&(&str, Vec<&Value>)], row: usize) -> String {
    let found = words.iter().filter_map(|(name, values)| match values.get(row) {
        Some(Value::Text(text)) if !text.is_empty() => {
            let name: String =
                name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
            Some(format!("{name}=\"{}\"", escaped(text)))
        }
        _ => None,
    });
    let found: Vec<String> = found.collect();
    if found.is_empty() { String::new() } else { format!("{{{}}}", found.join(",")) }
}

/// Numbers rows whose labels are the same, since samples of a metric must differ.
fn unlike(labels: Vec<String>) -> Vec<String> {
    let mut known = BTreeSet::new();
    let all: BTreeSet<&String> = labels.iter().collect();
    if all.len() == labels.len() {
        return labels;
    }
    let number = |(row, labels): (usize, String)| {
        if known.insert(labels.clone()) {
            return labels;
        }
        match labels.strip_suffix('}') {
            Some(open) => format!("{open},row=\"{}\"}}", row + 1),
            None => format!("{{row=\"{}\"}}", row + 1),
        }
    };
    labels.into_iter().enumerate().map(number).collect()
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Returns a number divided by a power of ten, exactly; `None` for what is none.
fn number(value: &Value, power: u32) -> Option<String> {
    let text = match value {
        Value::None | Value::Text(_) => return None,
        Value::Flag(_) | Value::Whole(_) | Value::Time(_) => value.file(),
        Value::Number(number) if number.is_finite() => value.file(),
        Value::Number(_) => return None,
        Value::Json(_) => value.file(),
    };
    Some(shifted(&text, power))
}

/// Divides a decimal number by a power of ten.
fn shifted(text: &str, power: u32) -> String {
    let power = usize::try_from(power).unwrap_or(0);
    if power == 0 || text.contains(['e', 'E']) {
        return match text.parse::<f64>() {
            Ok(number) if power > 0 => {
                let exponent = i32::try_from(power).unwrap_or(0);
                (number / 10_f64.powi(exponent)).to_string()
            }
            Ok(_) | Err(_) => text.to_owned(),
        };
    }
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let padded = format!("{whole:0>width$}", width = power + 1);
    let (whole, low) = padded.split_at(padded.len() - power);
    let part = format!("{low}{part}");
    let part = part.trim_end_matches('0');
    if part.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part}") }
}

#[cfg(test)]
mod tests {
    use rtether_model::quantity::Duration;

    use super::*;

    /// Oracle: the text format of `OpenMetrics` 1.0: types and units before samples, escapes in
    /// labels, base units, no sample twice, and the end.
    #[test]
    fn columns_of_numbers_are_metrics_and_words_their_labels() {
        let rows = [("a", 1_500_000_i64, true), ("b\"\\\n", -5, false), ("a", 0, true)];
        let table = Table::of(rows)
            .file("flow", |row| row.0)
            .file("verdict", |row| if row.2 { "ok" } else { "late" })
            .file("max_ns", |row| Duration::from_ps(row.1))
            .file("held", |row| row.2)
            .file("left_out", |_| ())
            .file("ratio", |row| if row.2 { f64::NAN } else { 0.25 })
            .done();
        let expected = "# TYPE rtether_check_info gauge
rtether_check_info{flow=\"a\",verdict=\"ok\"} 1
rtether_check_info{flow=\"b\\\"\\\\\\n\",verdict=\"late\"} 1
rtether_check_info{flow=\"a\",verdict=\"ok\",row=\"3\"} 1
# TYPE rtether_check_max_seconds gauge
# UNIT rtether_check_max_seconds seconds
rtether_check_max_seconds{flow=\"a\"} 0.0000015
rtether_check_max_seconds{flow=\"b\\\"\\\\\\n\"} -0.000000000005
rtether_check_max_seconds{flow=\"a\",row=\"3\"} 0
# TYPE rtether_check_held gauge
rtether_check_held{flow=\"a\"} 1
rtether_check_held{flow=\"b\\\"\\\\\\n\"} 0
rtether_check_held{flow=\"a\",row=\"3\"} 1
# TYPE rtether_check_ratio gauge
rtether_check_ratio{flow=\"b\\\"\\\\\\n\"} 0.25
# EOF
";
        assert_eq!(write("check", &table), expected);
    }

    #[test]
    fn names_say_their_subject_once() {
        for (subject, column, name) in [
            ("result", "margin_ns", "rtether_result_margin_seconds"),
            ("bound", "bound_ns", "rtether_bound_seconds"),
            ("shim-state", "Frames_total", "rtether_shim_state_frames"),
        ] {
            assert_eq!(named(subject, column).0, name);
        }
    }

    /// Oracle: decimal notation.
    #[test]
    fn decimal_points_move() {
        for (text, power, expected) in [
            ("1", 9, "0.000000001"),
            ("1500000000", 9, "1.5"),
            ("12.5", 3, "0.0125"),
            ("-7", 3, "-0.007"),
            ("0", 9, "0"),
            ("1e3", 3, "1"),
            ("25", 0, "25"),
        ] {
            assert_eq!(shifted(text, power), expected, "{text}");
        }
    }
}
