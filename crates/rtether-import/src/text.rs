//! Octets to text, and text in messages.

use std::borrow::Cow;

use rtether_model::characters::is_unseen;

/// Why octets are not text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotText {
    pub(crate) line: Option<usize>,
    pub(crate) what: String,
}

/// Octets of the head of a file in which its encoding is declared.
const HEAD: usize = 200;

/// Decodes UTF-8, UTF-16 with a byte order mark, and what declares itself ISO-8859-1, as tools of
/// the first edition do.
pub(crate) fn decode(octets: &[u8]) -> Result<Cow<'_, str>, NotText> {
    let pair = |pair: &[u8]| [pair[0], pair[1]];
    match octets {
        [0xff, 0xfe, rest @ ..] => utf16(rest, |two| u16::from_le_bytes(pair(two))),
        [0xfe, 0xff, rest @ ..] => utf16(rest, |two| u16::from_be_bytes(pair(two))),
        [0xef, 0xbb, 0xbf, rest @ ..] => utf8(rest),
        _ if is_latin(octets) => Ok(octets.iter().map(|octet| char::from(*octet)).collect()),
        _ => utf8(octets),
    }
}

fn utf8(octets: &[u8]) -> Result<Cow<'_, str>, NotText> {
    let text = std::str::from_utf8(octets);
    text.map(Cow::Borrowed).map_err(|error| {
        let valid = &octets[..error.valid_up_to()];
        let line = valid.split(|octet| *octet == b'\n').count();
        let octet = octets[error.valid_up_to()];
        NotText { line: Some(line), what: format!("octet {octet:#04x} is not UTF-8") }
    })
}

fn utf16(octets: &[u8], unit: impl Fn(&[u8]) -> u16) -> Result<Cow<'_, str>, NotText> {
    let units = octets.chunks_exact(2).map(unit);
    let text: Result<String, _> = char::decode_utf16(units).collect();
    let wrong = || NotText { line: None, what: "it begins as UTF-16, which it is not".into() };
    let is_whole = octets.len().is_multiple_of(2);
    text.ok().filter(|_| is_whole).map(Cow::Owned).ok_or_else(wrong)
}

/// Returns whether the XML declaration names ISO-8859-1.
fn is_latin(octets: &[u8]) -> bool {
    let head = &octets[..octets.len().min(HEAD)];
    let end = head.iter().position(|octet| *octet == b'>').unwrap_or(0);
    let declaration = String::from_utf8_lossy(&head[..end]).to_lowercase();
    declaration.starts_with("<?xml") && declaration.contains("iso-8859-1")
}

/// Characters of a foreign text in a message; a file may hold names of any length.
const SHOWN: usize = 80;

/// Quotes foreign text for a message: one short line without invisible characters.
pub(crate) fn quote(text: &str) -> String {
    format!("`{}`", plain(text, SHOWN))
}

/// Returns text without invisible characters, and not longer than a number of characters.
pub(crate) fn plain(text: &str, limit: usize) -> String {
    let shown = text.chars().take(limit);
    let mut shown: String = shown.map(|c| if is_unseen(c) { '?' } else { c }).collect();
    if text.chars().nth(limit).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: the encodings of `é` (U+00E9), written out.
    #[test]
    fn encodings_are_recognized() {
        let latin = b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xe9</a>";
        assert!(decode(latin).unwrap().ends_with("<a>é</a>"));
        assert_eq!(decode(b"\xef\xbb\xbf<\xc3\xa9").unwrap(), "<é");
        assert_eq!(decode(b"\xff\xfe<\0\xe9\0").unwrap(), "<é");
        assert_eq!(decode(b"\xfe\xff\0<\0\xe9").unwrap(), "<é");
    }

    #[test]
    fn what_is_no_text_is_refused_with_its_line() {
        let wrong = decode(b"<a>\n\n\xe9</a>").unwrap_err();
        assert_eq!(wrong.line, Some(3));
        assert!(wrong.what.contains("0xe9"));
        assert!(decode(b"\xff\xfe<\0\xe9").is_err());
        // A lone surrogate.
        assert!(decode(b"\xff\xfe\x00\xd8").is_err());
    }

    #[test]
    fn names_in_messages_are_short_and_seen() {
        assert_eq!(quote("a\u{202e}b\n"), "`a?b?`");
        assert_eq!(quote(&"x".repeat(200)).chars().count(), 83);
    }
}
