//! Messages by hand, and mistakes.

use rtether_rtps::cdr::{ByteOrder, Encoding};
use rtether_rtps::dynamic::Value;

use super::*;

fn source(name: &str, text: &str) -> Source {
    Source { name: name.to_owned(), text: text.to_owned() }
}

fn read(text: &str) -> Result<Arc<Structure>, Mistake> {
    let name = Name::parse("plant_msgs/Pose").expect("a name");
    let mut load = |name: &Name| {
        let text = match (name.package.as_str(), name.message.as_str()) {
            ("plant_msgs", "Point") => "float64 x\nfloat64 y\n",
            ("plant_msgs", "Turn") => "float64 z\nfloat64 w 1\n",
            ("plant_msgs", "Loop") => "plant_msgs/Pose again\n",
            _ => return None,
        };
        Some(source(&name.message, text))
    };
    structure(&name, source("Pose.msg", text), &mut load)
}

#[test]
fn a_message_has_the_octets_of_ros() {
    // Oracle: CDR by hand, as of the DDS mapping of ROS 2: final, aligned to each number.
    let text = "# A place\nint32 LIMIT=4\nstring NAME = \"a # b\"\nstd_msgs/Header header\n\
                string<=16 frame\nPoint place   # in meters\nPoint[<=4] path\nfloat32[3] spread\n\
                int16[] codes\nbool is_new true\nchar letter\n";
    let kind = read(text).expect("a message");
    assert_eq!(kind.name(), "plant_msgs::msg::dds_::Pose_");
    let names: Vec<&str> = kind.members().iter().map(|one| one.name.as_str()).collect();
    let expected = ["header", "frame", "place", "path", "spread", "codes", "is_new", "letter"];
    assert_eq!(names, expected);
    let mut octets = vec![0, 1, 0, 0];
    octets.extend(7_i32.to_le_bytes());
    octets.extend(8_u32.to_le_bytes());
    octets.extend([4, 0, 0, 0, b'm', b'a', b'p', 0]);
    octets.extend([2, 0, 0, 0, b'f', 0, 0, 0]);
    octets.extend(1.5_f64.to_le_bytes());
    octets.extend((-2.0_f64).to_le_bytes());
    octets.extend(1_u32.to_le_bytes());
    octets.extend([0; 4]);
    octets.extend(3.0_f64.to_le_bytes());
    octets.extend(4.0_f64.to_le_bytes());
    for spread in [1.0_f32, 2.0, 3.0] {
        octets.extend(spread.to_le_bytes());
    }
    octets.extend([2, 0, 0, 0, 5, 0, 251, 255]);
    octets.extend([1, b'A']);
    let value = kind.from_payload(&octets).expect("a value");
    let point = |x, y| Value::Structure(vec![Value::Double(x), Value::Double(y)]);
    let stamp = Value::Structure(vec![Value::Signed(7), Value::Unsigned(8)]);
    let spread = [1.0, 2.0, 3.0].map(Value::Float);
    let expected = Value::Structure(vec![
        Value::Structure(vec![stamp, Value::Text("map".to_owned())]),
        Value::Text("f".to_owned()),
        point(1.5, -2.0),
        Value::List(vec![point(3.0, 4.0)]),
        Value::List(spread.to_vec()),
        Value::List(vec![Value::Signed(5), Value::Signed(-5)]),
        Value::Boolean(true),
        Value::Unsigned(65),
    ]);
    assert_eq!(value, expected);
    let mut written = Vec::new();
    let order = ByteOrder::Little;
    let put = kind.to_payload(&value, Encoding::Xcdr1, order, &mut written);
    put.expect("octets");
    assert_eq!(written.get(4..octets.len()), octets.get(4..));
}

#[test]
fn defaults_hold_for_what_is_not_given() {
    // Oracle: by hand, by the documentation of ROS 2, *Interfaces*.
    let text = "float64 w 1\nint8 low -128\nuint64 high 18446744073709551615\nbool on True\n\
                string name \"a, \\\"b\\\"\"\nstring bare word # behind\nbyte[] raw [1, 255]\n\
                float32[2] pair [0.5, -2]\nstring[<=3] words ['x, y', \"z\"]\nint32[] none []\n\
                Turn turn\nint16 plain\n";
    let kind = read(text).expect("a message");
    let expected = vec![
        Value::Double(1.0),
        Value::Signed(-128),
        Value::Unsigned(u64::MAX),
        Value::Boolean(true),
        Value::Text("a, \"b\"".to_owned()),
        Value::Text("word".to_owned()),
        Value::Octets(vec![1, 255]),
        Value::List(vec![Value::Float(0.5), Value::Float(-2.0)]),
        Value::List(["x, y", "z"].map(|one| Value::Text(one.to_owned())).to_vec()),
        Value::List(Vec::new()),
        Value::Structure(vec![Value::Double(0.0), Value::Double(1.0)]),
        Value::Signed(0),
    ];
    assert_eq!(kind.missing(), Value::Structure(expected));
}

#[test]
fn a_message_without_fields_has_an_octet() {
    // Oracle: the generators of ROS 2, since IDL has no empty structure.
    let kind = read("# std_msgs/Empty\n").expect("a message");
    assert_eq!(kind.members().len(), 1);
    assert_eq!(kind.from_payload(&[0, 1, 0, 0, 0, 0, 0, 0]), Ok(kind.missing()));
}

#[test]
fn mistakes_have_a_place() {
    // Oracle: the octets of the text that are wrong, by hand.
    for (text, code, place) in [
        ("int32\n", "msg-syntax", "int32"),
        ("int32 a\n int32 9b\n", "msg-syntax", "9b"),
        ("int32[x] a\n", "msg-syntax", "int32[x]"),
        ("int32] a\n", "msg-syntax", "int32]"),
        ("string<=x a\n", "msg-syntax", "string<=x"),
        ("int32<=4 a\n", "msg-syntax", "int32<=4"),
        ("wstring a\n", "msg-unsupported", "wstring"),
        ("time a\n", "msg-unsupported", "time"),
        ("Robot a\n", "msg-type", "Robot"),
        ("other/Robot[] a\n", "msg-type", "other/Robot[]"),
        ("Point p\nPoint p\n", "msg-type", ""),
        ("int32[0] a\n", "msg-type", ""),
        ("int8 a 128 # large\n", "msg-default", "128"),
        ("bool a maybe\n", "msg-default", "maybe"),
        ("float32 a 1e99\n", "msg-default", "1e99"),
        ("string<=2 a \"abc\"\n", "msg-default", "\"abc\""),
        ("string a \"b\"c\"\n", "msg-default", "\"b\"c\""),
        ("int32[2] a [1]\n", "msg-default", "[1]"),
        ("int32[<=1] a [1, 2]\n", "msg-default", "[1, 2]"),
        ("int32[] a 1, 2\n", "msg-default", "1, 2"),
        ("byte[] a [1,, 2]\n", "msg-default", "[1,, 2]"),
        ("int32 a b\nPoint p 1\n", "msg-default", "b"),
        ("Point p [1, 2]\n", "msg-default", "[1, 2]"),
        ("Point[] p [1]\n", "msg-default", "[1]"),
    ] {
        let mistake = read(text).expect_err(text);
        let span = mistake.diagnostic.primary.span;
        assert_eq!(mistake.diagnostic.code, code, "{text}");
        let source = &mistake.sources[span.source as usize].text;
        assert_eq!(&source[span.start as usize..span.end as usize], place, "{text}");
    }
    let circle = read("Loop a\n").expect_err("a circle");
    assert_eq!(circle.diagnostic.primary.span.source, 1);
    assert!(circle.diagnostic.title.contains("contains itself"));
    let long = format!("# {}\n", "x".repeat(FILE_MAX));
    assert_eq!(read(&long).expect_err("too long").diagnostic.code, "msg-too-large");
}

#[test]
fn names_of_messages() {
    let name = |text: &str| Name::parse(text).map(|name| name.type_name());
    let expected = Some("std_msgs::msg::dds_::String_".to_owned());
    assert_eq!(name("std_msgs/String"), expected);
    assert_eq!(name("std_msgs/msg/String"), expected);
    for wrong in ["String", "std_msgs/", "/String", "a/b/c", "std msgs/String"] {
        assert_eq!(name(wrong), None, "{wrong}");
    }
}
