//! Any text as a file of types. Oracles: no panic; a mistake is in the text and can be shown; the
//! empty value of each type is written and read again the same.

use rtether::scenario::Source;
use rtether::scenario::render::{self, Style};
use rtether_rtps::cdr::{ByteOrder, Encoding};
use rtether_rtps::dynamic::Structure;
use rtether_testbed::idl::Library;

/// Returns how many structures there are.
pub(crate) fn check(octets: &[u8]) -> usize {
    let text = String::from_utf8_lossy(octets).into_owned();
    let source = Source { name: "fuzz.idl".to_owned(), text };
    let library = match Library::parse(&source) {
        Ok(library) => library,
        Err(mistake) => {
            let span = mistake.primary.span;
            let range = span.start as usize..span.end as usize;
            assert!(source.text.get(range).is_some(), "{span:?}");
            let shown = render::text(&mistake, std::slice::from_ref(&source), Style::Plain);
            assert!(shown.contains(mistake.code), "{shown}");
            return 0;
        }
    };
    for name in library.names() {
        let structure = library.structure(name).expect("it is among the names");
        assert_eq!(structure.name(), name);
        check_structure(structure);
    }
    library.names().len()
}

fn check_structure(structure: &Structure) {
    let value = structure.missing();
    for encoding in [Encoding::Xcdr1, Encoding::Xcdr2] {
        let mut octets = Vec::new();
        let written = structure.to_payload(&value, encoding, ByteOrder::Little, &mut octets);
        written.expect("a value of the type");
        assert_eq!(structure.from_payload(&octets), Ok(value.clone()));
    }
}
