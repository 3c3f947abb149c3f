//! Oracle: each condition evaluated by hand; the rules of DDS 1.4, annex B.

use alloc::string::{String, ToString};
use alloc::vec;

use proptest::prelude::*;

use super::*;
use crate::types::ShapeType;

struct Sample;

impl Fields for Sample {
    fn field(&self, name: &str) -> Option<Value<'_>> {
        Some(match name {
            "i" => Value::Integer(-3),
            "big" => Value::Integer(i128::from(u64::MAX)),
            "f" => Value::Float(2.5),
            "nan" => Value::Float(f64::NAN),
            "b" => Value::Bool(true),
            "a.b[2].c" => Value::Text("it's"),
            "c" => Value::Char('x'),
            "nothing" => Value::Integer(0),
            _ => return None,
        })
    }
}

#[track_caller]
fn passes(text: &str) -> bool {
    let filter = Filter::parse(text, &[]).expect("a condition");
    filter.check(&Sample).expect("members of the sample");
    filter.passes(&Sample).expect("members of the sample")
}

#[test]
fn conditions_hold_or_do_not() {
    for text in [
        "i = -3",
        "i<>3",
        "i != 3",
        "-4 < i",
        "i <= -3.0",
        "i > -3.5",
        "i < -2.5",
        "i = -0x3",
        "big = 0xFFFFFFFFFFFFFFFF",
        "big < 18446744073709551616.0",
        "f = 2.5",
        "f > 2 and f < 3",
        "f = 25e-1",
        "f > i",
        "nan <> nan",
        "not nan = nan",
        "b = TRUE",
        "b = 1",
        "a.b[2].c = 'it''s'",
        "a.b[2].c like 'i%'",
        "a.b[2].c LIKE '%''_'",
        "a.b[2].c LIKE '____'",
        "a.b[2].c NOT LIKE '___'",
        "a.b[2].c < 'iu'",
        "c = 'x'",
        "c like '_'",
        "'x' = c",
        "i between -3 and -3",
        "i NOT BETWEEN -2 AND 5",
        "nothing = 0",
        // NOT before AND before OR.
        "i = -3 OR i = 0 AND i = 1",
        "NOT i = 0 AND f = 2.5",
        "NOT (i = 0 OR f = 0)",
        "not not i = -3",
        "  ( ( i=-3 ) )  ",
    ] {
        assert!(passes(text), "{text}");
        assert!(!passes(&std::format!("NOT ({text})")), "{text}");
    }
    assert!(!passes("(i = -3 OR i = 0) AND i = 1"));
}

#[test]
fn patterns_are_searched_through() {
    for (text, pattern, expected) in [
        ("", "", true),
        ("", "%", true),
        ("", "_", false),
        ("abcbc", "a%bc", true),
        ("abcbd", "a%bc", false),
        ("BLUE", "blue", false),
        ("äö", "__", true),
        ("aaaa", "%a_a", true),
        ("ab", "%%%", true),
    ] {
        assert_eq!(compare::like(Value::Text(text), pattern), Some(expected), "{text} {pattern}");
    }
    // Oracle: the test completes; a search that starts over at every `%` would not.
    let text = "a".repeat(10_000);
    let pattern = "a%".repeat(100) + "b";
    assert_eq!(compare::like(Value::Text(&text), &pattern), Some(false));
}

#[test]
fn parameters_take_their_place() {
    let shape = |x| ShapeType { color: "BLUE".into(), x, ..ShapeType::default() };
    let mut filter = Filter::parse("color = %1 AND x > %0", &["10", "'BLUE'"]).expect("a filter");
    assert_eq!(filter.passes(&shape(11)), Ok(true));
    assert_eq!(filter.passes(&shape(10)), Ok(false));
    assert_eq!(filter.set_parameters(&["-5", "BLUE"]), Ok(()));
    assert_eq!(filter.passes(&shape(0)), Ok(true));
    let error = filter.set_parameters(&["10"]).expect_err("one too few");
    assert_eq!((error.offset, error.kind), (8, FilterErrorKind::Parameter(1)));
    assert_eq!(filter.passes(&shape(0)), Ok(true));
    let many = ["0"; 101];
    let error = filter.set_parameters(&many).expect_err("too many");
    assert_eq!(error.kind, FilterErrorKind::TooManyParameters);
}

#[test]
fn mistakes_have_their_place() {
    use FilterErrorKind as Kind;
    let nested = "(".repeat(40) + "x=1";
    let long = "x=1 AND ".repeat(600) + "x=1";
    for (text, offset, kind) in [
        ("", 0, Kind::Expected("a member, a value, NOT or (")),
        ("x", 1, Kind::Expected("a comparison, BETWEEN or LIKE")),
        ("x =", 3, Kind::Expected("a member or a value")),
        ("x = and", 4, Kind::Expected("a member or a value")),
        ("x = 1 y", 6, Kind::Expected("AND, OR or the end")),
        ("(x = 1", 6, Kind::Expected("AND, OR or )")),
        ("x BETWEEN 1 OR 2", 12, Kind::Expected("AND")),
        ("x LIKE y", 7, Kind::Expected("a text or a parameter")),
        ("x NOT = 1", 6, Kind::Expected("BETWEEN or LIKE")),
        ("x = %100", 4, Kind::Expected("a parameter from %0 to %99")),
        ("x = ;", 4, Kind::Expected("a member, a value or a comparison")),
        ("x = %3", 4, Kind::Parameter(3)),
        ("x = 'BLUE", 4, Kind::OpenText),
        ("x = 1e999", 4, Kind::Number),
        ("x = 12ab", 4, Kind::Number),
        ("x = 0x", 4, Kind::Number),
        (nested.as_str(), 32, Kind::TooDeep),
        (long.as_str(), TEXT_MAX, Kind::TooLong),
    ] {
        let error = Filter::parse(text, &[]).expect_err("a mistake");
        assert_eq!((error.offset, error.kind), (offset, kind), "{text}");
    }
    for (text, offset, kind) in [
        ("i = -3 OR missing = 1", 10, Kind::UnknownField),
        ("i = -3 OR i = 'text'", 10, Kind::Mismatch),
        ("i = -3 OR i LIKE 'text'", 10, Kind::Mismatch),
    ] {
        let filter = Filter::parse(text, &[]).expect("a condition");
        assert_eq!(filter.passes(&Sample), Ok(true));
        assert_eq!(filter.check(&Sample), Err(FilterError { offset, kind }));
    }
    let pattern = "%".repeat(PATTERN_MAX + 1);
    let filter = Filter::parse("c LIKE %0", &[&std::format!("'{pattern}'")]).expect("a condition");
    let error = filter.passes(&Sample).expect_err("a long pattern");
    assert_eq!((error.offset, error.kind), (7, Kind::PatternTooLong));
    assert!(error.to_string().contains("at octet 7"));
}

proptest! {
    /// Oracle: floats of small integers and halves are ordered as twice their value.
    #[test]
    fn integers_and_floats_have_one_order(integer in -100_i32..100, halves in -200_i32..200) {
        let expected = (integer * 2).cmp(&halves);
        let (integer, float) = (i128::from(integer), f64::from(halves) / 2.0);
        let found = compare::values(Value::Integer(integer), Value::Float(float));
        prop_assert_eq!(found, Ok(Some(expected)));
    }

    /// Oracle: every text gives a filter or an error.
    #[test]
    fn arbitrary_texts_are_a_filter_or_an_error(
        words in proptest::collection::vec(
            prop_oneof![
                Just("AND".to_string()), Just("NOT".into()), Just("BETWEEN".into()),
                Just("LIKE".into()), Just("(".into()), Just(")".into()), Just("i".into()),
                Just("=".into()), Just("1".into()), Just("'t'".into()), Just("%0".into()),
                ".{0,4}",
            ],
            0..12,
        ),
    ) {
        let words: Vec<String> = words;
        if let Ok(filter) = Filter::parse(&words.join(" "), &["'a'"]) {
            let _ = filter.passes(&Sample);
            let _ = filter.check(&Sample);
        }
    }
}

#[test]
fn extreme_floats_have_their_place() {
    // Oracle: 2^64 is above every `u64`; a fractional part counts.
    let order = |integer, float| compare::values(Value::Integer(integer), Value::Float(float));
    assert_eq!(order(i128::MAX, f64::INFINITY), Ok(Some(Ordering::Less)));
    assert_eq!(order(i128::MIN, f64::NEG_INFINITY), Ok(Some(Ordering::Greater)));
    assert_eq!(order(0, f64::MIN_POSITIVE / 4.0), Ok(Some(Ordering::Less)));
    assert_eq!(order(0, -0.0), Ok(Some(Ordering::Equal)));
    assert_eq!(order(1 << 53, 9_007_199_254_740_992.0), Ok(Some(Ordering::Equal)));
    assert_eq!(order((1 << 53) + 1, 9_007_199_254_740_992.0), Ok(Some(Ordering::Greater)));
    assert_eq!(order(1 << 100, 2_f64.powi(100)), Ok(Some(Ordering::Equal)));
    assert_eq!(order(-(1 << 126), -(2_f64.powi(126))), Ok(Some(Ordering::Equal)));
}
