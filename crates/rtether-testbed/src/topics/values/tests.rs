#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]
use std::io::Cursor;

use rtether_rtps::cdr::{ByteOrder, Encoding};

use super::*;
use crate::idl::Library;
use rtether::scenario::Source;

fn structure() -> Structure {
    let text = "
        enum Color { RED, @value(4) BLUE };
        struct Point { float x; double y; };
        struct All {
            @key Color color;
            boolean on;
            char letter;
            int8 tiny;
            unsigned long long large;
            string<5> name;
            sequence<octet> raw;
            sequence<Point, 2> path;
            short grid[2][3];
        };";
    let source = Source { name: "all.idl".to_owned(), text: text.to_owned() };
    let library = Library::parse(&source).unwrap();
    Structure::clone(library.structure("All").unwrap())
}

fn json_of(value: &Value) -> serde_json::Value {
    let structure = structure();
    let members = members(value, &structure, false).into_iter();
    let names = structure.members().iter().map(|member| member.name.clone());
    let members = names.zip(members).map(|(name, member)| {
        let Member::Tree(tree) = member else {
            panic!("{member:?}");
        };
        (name, tree)
    });
    serde_json::Value::Object(members.collect())
}

#[test]
fn what_is_shown_can_be_read_again() {
    // Oracle: the text that was read; nothing may be lost over the wire.
    let text = r#"{"color": "BLUE", "on": true, "letter": "x", "tiny": -128,
        "large": 18446744073709551615, "name": "a b", "raw": [0, 255],
        "path": [{"x": 0.1, "y": 0.1}], "grid": [[1, 2, 3], [4, 5, -6]]}"#;
    let structure = structure();
    let value = values_of(text, &structure).unwrap().remove(0);
    let mut payload = Vec::new();
    structure.to_payload(&value, Encoding::Xcdr2, ByteOrder::Little, &mut payload).unwrap();
    let value = structure.from_payload(&payload).unwrap();
    let shown = json_of(&value);
    assert_eq!(shown, serde_json::from_str::<serde_json::Value>(text).unwrap());
    assert_eq!(values_of(&shown.to_string(), &structure), Ok(vec![value]));
}

#[test]
fn what_is_not_said_is_zero() {
    // Oracle: the documented values; braces are optional, and numbers may replace names.
    let structure = structure();
    let expected = r#"{"color": "BLUE", "on": false, "letter": "\u0000", "tiny": 7, "large": 0,
        "name": "", "raw": [], "path": [{"x": 0.0, "y": 2.0}], "grid": [[0, 0, 0], [0, 0, 0]]}"#;
    let expected: serde_json::Value = serde_json::from_str(expected).unwrap();
    for text in [
        "color: BLUE, tiny: 7, path: [{y: 2}]",
        "{color: 4, tiny: 0x7, path: [{y: 2.0}]}",
        "color: BLUE\ntiny: 7\npath:\n  - y: 2\n",
    ] {
        let values = values_of(text, &structure).unwrap();
        assert_eq!(
            values.iter().map(json_of).collect::<Vec<_>>(),
            std::slice::from_ref(&expected),
            "{text}"
        );
    }
    assert_eq!(values_of("- color: RED\n- on: true\n", &structure).unwrap().len(), 2);
}

#[test]
fn mistakes_have_a_place_and_a_remedy() {
    // Oracle: the messages.
    let structure = structure();
    for (text, message) in [
        (
            "{colour: RED}",
            "`All` has no member `colour` at line 1, column 2; did you mean `color`?",
        ),
        (
            "{color: PINK}",
            "member `color`: `Color` has no name `PINK` at line 1, column 9; write one of RED, BLUE",
        ),
        (
            "{on: 1}",
            "member `on`: a truth value expected at line 1, column 6; write `true` or `false`",
        ),
        ("{tiny: 128}", "not an integer from -128 to 127"),
        ("{large: -1}", "not an integer from 0 to 18446744073709551615"),
        ("{name: longer}", "a text of 6 octets at line 1, column 8; the type allows 5"),
        ("{raw: [256]}", "not an integer from 0 to 255"),
        ("{path: [{}, {}, {}]}", "3 elements at line 1, column 8; the type allows 2"),
        ("{grid: [1, 2]}", "a list expected"),
        ("{grid: [1]}", "1 elements"),
        ("{letter: xy}", "a character of one octet expected"),
        ("{color: [}", "at line 1, column"),
        ("[]", "the list has 0 values"),
        ("7", "at line 1"),
    ] {
        let said = values_of(text, &structure).unwrap_err().to_string();
        assert!(said.contains(message), "{text}: {said}");
    }
}

#[test]
fn numbers_that_json_does_not_have_are_texts() {
    // Oracle: reading them again gives the same values.
    let structure = structure();
    let value = values_of("path: [{x: NaN, y: -inf}]", &structure).unwrap().remove(0);
    let shown = json_of(&value);
    assert_eq!(shown["path"][0]["x"], "NaN");
    assert_eq!(shown["path"][0]["y"], "-inf");
    let again = values_of(&shown.to_string(), &structure).unwrap();
    assert_eq!(json_of(&again[0]), shown);
}

#[test]
fn lines_are_values_until_one_is_wrong() {
    // Oracle: the lines.
    let input = Cursor::new("color: BLUE\n\n{\"tiny\": 3}\ntiny: 300\ntiny: 4\n");
    let Values::Fed(receiver) = lines_of(input, structure()) else {
        panic!("a feed");
    };
    let all: Vec<_> = receiver.iter().collect();
    assert_eq!(all.len(), 3);
    assert_eq!(json_of(all[1].as_ref().unwrap())["tiny"], 3);
    let said = all[2].as_ref().unwrap_err().to_string();
    assert!(said.contains("in line 4 of the input"), "{said}");
}

#[test]
fn of_a_key_the_other_members_are_absent() {
    // Oracle: the key is the color alone.
    let structure = structure();
    let members = members(&structure.missing(), &structure, true);
    assert_eq!(members[0], Member::Tree(json!("RED")));
    assert!(members[1..].iter().all(|member| *member == Member::Absent));
}
