//! Arbitrary octets as values of described types. Oracles: no panic; a value that was read can be
//! written, and reads and writes the same again.

use std::sync::Arc;

use rtether_rtps::cdr::{ByteOrder, Encoding, Extensibility};
use rtether_rtps::dynamic::{Member, Primitive, Structure, Type};

fn member(id: u32, name: &str, kind: Type) -> Member {
    Member { name: name.to_owned(), id, is_key: id == 0, kind, default: None }
}

/// A structure with one member of each kind.
fn structure(extensibility: Extensibility, inner: Option<Type>) -> Structure {
    let float = Type::Primitive(Primitive::Float64);
    let octet = Type::Primitive(Primitive::Octet);
    let text = Type::Text(Some(5));
    let mut members = vec![
        member(0, "key", Type::Primitive(Primitive::Uint64)),
        member(1, "truth", Type::Primitive(Primitive::Boolean)),
        member(2, "text", Type::Text(None)),
        member(3, "texts", Type::Sequence(Arc::new(text), Some(4))),
        member(4, "numbers", Type::Sequence(Arc::new(float), None)),
        member(5, "octets", Type::Array(Arc::new(octet), vec![2, 3])),
    ];
    members.extend(inner.map(|inner| member(7, "inner", inner)));
    Structure::new("Fuzzed".to_owned(), extensibility, members).expect("within the limits")
}

/// Returns for how many of the types the octets are a value.
pub(crate) fn check(octets: &[u8]) -> usize {
    let kinds = [Extensibility::Final, Extensibility::Appendable, Extensibility::Mutable];
    let known = kinds.map(|kind| {
        let inner = Type::Structure(Arc::new(structure(kind, None)));
        let nested = structure(kind, Some(Type::Sequence(Arc::new(inner), Some(3))));
        check_type(&structure(kind, None), octets) + check_type(&nested, octets)
    });
    known.iter().sum()
}

fn check_type(structure: &Structure, octets: &[u8]) -> usize {
    let _ = structure.from_key_payload(octets);
    let Ok(value) = structure.from_payload(octets) else {
        return 0;
    };
    for encoding in [Encoding::Xcdr1, Encoding::Xcdr2] {
        for order in [ByteOrder::Big, ByteOrder::Little] {
            let (mut once, mut twice) = (Vec::new(), Vec::new());
            let written = structure.to_payload(&value, encoding, order, &mut once);
            written.expect("a value that was read");
            let again = structure.from_payload(&once).expect("a value that was written");
            let written = structure.to_payload(&again, encoding, order, &mut twice);
            written.expect("a value that was read");
            assert_eq!(once, twice);
        }
    }
    1
}
