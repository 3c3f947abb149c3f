//! Any text as a message of ROS 2, which other messages may contain. Oracles: no panic; a mistake
//! is in its file and can be shown; the empty value is written and read again the same.

use rtether::scenario::Source;
use rtether::scenario::render::{self, Style};
use rtether_rtps::cdr::{ByteOrder, Encoding};
use rtether_testbed::msg::{Name, structure};

/// Returns whether it is a message.
pub(crate) fn check(octets: &[u8]) -> bool {
    let text = String::from_utf8_lossy(octets).into_owned();
    // Files are separated by a line `===`; the second is that of `Other`, and so on.
    let mut files = text.split("\n===\n").map(str::to_owned);
    let source = |name: &str, text: String| Source { name: format!("{name}.msg"), text };
    let first = source("First", files.next().unwrap_or_default());
    let name = Name::parse("fuzz_msgs/First").expect("a name");
    let mut load = |name: &Name| Some(source(&name.message, files.next()?));
    let structure = match structure(&name, first, &mut load) {
        Ok(structure) => structure,
        Err(mistake) => {
            let span = mistake.diagnostic.primary.span;
            let range = span.start as usize..span.end as usize;
            let source = mistake.sources.get(span.source as usize);
            let place = source.and_then(|source| source.text.get(range));
            assert!(place.is_some(), "{span:?}");
            let shown = render::text(&mistake.diagnostic, &mistake.sources, Style::Plain);
            assert!(shown.contains(mistake.diagnostic.code), "{shown}");
            return false;
        }
    };
    let value = structure.missing();
    let mut octets = Vec::new();
    let order = ByteOrder::Little;
    let written = structure.to_payload(&value, Encoding::Xcdr1, order, &mut octets);
    written.expect("a value of the type");
    assert_eq!(structure.from_payload(&octets), Ok(value));
    true
}
