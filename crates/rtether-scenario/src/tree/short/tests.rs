//! Oracle: the YAML library, which reads the same text as it is.

use proptest::prelude::*;

use super::Shorts;
use crate::diagnostic::Sink;
use crate::tree::{Value, parse, read};

/// Reads a text both ways; returns the tree and how many short maps were taken out of it.
fn both(text: &str) -> (Option<Value>, usize) {
    let (mut own, mut other) = (Sink::default(), Sink::default());
    let found = parse(0, text, &mut own);
    let expected = read(0, text, None, &mut other);
    assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{text}");
    let said = |sink: Sink| format!("{:?}", sink.finish());
    assert_eq!(said(own), said(other), "{text}");
    let shorts = Shorts::find(0, text);
    (found, shorts.map_or(0, |shorts| shorts.maps.len()))
}

/// A list with as many lines of a kind as it takes for the library to be relieved.
fn many(line: &str) -> String {
    let line = format!("  - {line}\n");
    format!("flows:\n{}", line.repeat(Shorts::FROM))
}

#[test]
fn short_maps_are_read_as_the_library_does() {
    for line in [
        "{ name: f1, from: a, to: b, period: 2 ms, size: 64 B }",
        "{name: f1,to: [a, b,c ], jitter: 1 us .. 5 us,   loss: 1e-9}",
        "{ ends: [a, \"w1:12\"], rate: 10 Gbit/s, name: 'it is {so}', empty: '' }   ",
        "{ reply: { size: 64 B, after: 8 us + 12 ns/B }, null: null, text: \"null\" }",
        "- { a: 1 }",
        "key: { a: 1-2, b: a_b - c }",
    ] {
        let (found, taken) = both(&many(line));
        assert!(found.is_some() && taken == Shorts::FROM, "{line}");
    }
}

/// What YAML gives a meaning is left to the library.
#[test]
fn other_maps_are_left_alone() {
    for line in [
        "{ a: b:c }",
        "{ a: &x 1 }",
        "{ a: -1 }",
        "{ a: 1 } # comment",
        "{ a: 'it''s' }",
        "{ a: \"x\\ty\" }",
        "{ a: ~ }",
        "{ a: }",
        "{ a: 1, a: 2 }",
        "{ a: 1, }",
        "{ a }",
        "{}",
        "{ a: 5 µs }",
        "{ <<: 1 }",
        "{ a: [] }",
        "{ a: [[[[1]]]] }",
        "{ a: 1 }\r",
    ] {
        let (_, taken) = both(&many(line));
        assert_eq!(taken, 0, "{line}");
    }
}

/// Lines that look like short maps and are something else, or have mistakes around them.
#[test]
fn a_line_means_what_it_is_part_of() {
    let maps = many("{ a: 1 }");
    for text in [
        format!("x: |\n{maps}"),
        format!("x: \"\n{maps}\""),
        format!("{maps}x: |\n  - {{ a: 1 }}\n"),
        format!("{maps}    b: 2\n"),
        format!("{maps}    b\n"),
        format!("{maps}\tb\n"),
        format!("{maps}flows: 1\n"),
        format!("{maps}: 1\n"),
        format!("{maps}--- \n{maps}"),
        format!("[\n{maps}]\n"),
        format!("{{\n{maps}\n"),
        format!("x-a: &a {{ b: 1 }}\n{maps}  - *a\n  - \"\"\n"),
    ] {
        both(&text);
    }
    let deep: String = (0..40).map(|_| "- ").collect();
    both(&format!("{maps}x:\n  {deep}{{ a: [1] }}\n"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn any_lines_are_read_as_the_library_does(
        lines in proptest::collection::vec("[- ]{0,3}[a:]{0,2} ?[{}\\[\\]a1:, '\"#&-]{0,12}}?", 1..8),
        place in 0..4usize,
    ) {
        let mut text = many("{ a: 1, b: [x, 'y'] }");
        let lines = lines.join("\n");
        match place {
            0 => text.insert_str(0, &format!("{lines}\n")),
            1 => text.push_str(&lines),
            _ => {
                let middle = text.find("  - {").unwrap_or(0);
                text.insert_str(middle, &format!("  {lines}\n"));
            }
        }
        both(&text);
    }
}
