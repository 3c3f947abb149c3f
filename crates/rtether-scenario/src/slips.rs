//! Slips of the keyboard, named for what they are.
//!
//! A comma in a number, a typographic quote and a bracket that nothing closes are good YAML up to some
//! later place, where the reader then finds something else that is wrong: a key `5 ms`, a node `“sw2`,
//! a `-` outside a block. These messages are replaced by one that points to the slip.

use std::ops::Range;

use super::codes::SYNTAX;
use super::diagnostic::{Diagnostic, Source, Span, quote};
use super::help::Help;

/// Quotes that word processors write, which are letters to YAML.
const TYPOGRAPHIC: [char; 9] = ['“', '”', '„', '‟', '‘', '’', '‚', '«', '»'];
/// Farthest that a slip is looked for from where it was found, in octets.
const FAR: usize = 4_096;

/// Replaces what the reader says of a slip.
pub(super) fn name(diagnostics: &mut Vec<Diagnostic>, sources: &[Source]) {
    let mut explained: Vec<Span> = Vec::new();
    for diagnostic in diagnostics.iter_mut() {
        let span = diagnostic.primary.span;
        let Some(source) = sources.get(span.source as usize) else {
            continue;
        };
        let (text, at) = (source.text.as_str(), span.start as usize..span.end as usize);
        let Some(inside) = text.get(at.clone()) else {
            continue;
        };
        let found = match diagnostic.code {
            code if code == SYNTAX.name => unclosed(text, at.start, &diagnostic.primary.text),
            _ if inside.starts_with(TYPOGRAPHIC) => Some(typographic(text, at)),
            _ => decimal_comma(text, at),
        };
        if let Some(Slip { title, place, label, help }) = found {
            let place =
                Span { source: span.source, start: octet(place.start), end: octet(place.end) };
            let named = Diagnostic::new(&SYNTAX, title, place, label).help_if(help);
            *diagnostic = if place.start < span.start && diagnostic.code == SYNTAX.name {
                named.also(span, "here it must have been closed")
            } else {
                named
            };
            explained.push(place);
        }
    }
    // What the reader says of the parts of a number, it says of the slip.
    diagnostics.retain(|own| {
        let span = own.primary.span;
        let within = |slip: &&Span| {
            slip.source == span.source && slip.start <= span.start && span.end <= slip.end
        };
        explained.iter().find(within).is_none_or(|slip| *slip == span && own.code == SYNTAX.name)
    });
    diagnostics.dedup();
}

/// A slip, and the message about it.
struct Slip {
    title: String,
    place: Range<usize>,
    label: &'static str,
    help: Option<Help>,
}

/// Spans fit, since files do.
fn octet(at: usize) -> u32 {
    u32::try_from(at).expect("a place in a file of at most 64 MiB")
}

/// Finds the number that a comma parts: `4,5 ms`, of which the reader saw `4` and the key `5 ms`, or all.
fn decimal_comma(text: &str, at: Range<usize>) -> Option<Slip> {
    let is_digit = |c: char| c.is_ascii_digit();
    let behind = match text[at.start..].strip_prefix(',') {
        // Of `4,5 ms` on a line of its own, the reader points to `,5 ms`.
        Some(_) => Some(&text[..at.start]),
        None => text[..at.start].strip_suffix(','),
    };
    let head = behind.filter(|head| head.ends_with(is_digit));
    let start = match head {
        Some(head) => head.trim_end_matches(is_digit).len(),
        None => at.start,
    };
    let end = start + text[start..].find(['\n', '}', ']', '#', '"']).unwrap_or(text.len() - start);
    let (whole, rest) = text[start..end].split_once(',')?;
    let rest = &rest[..rest.find(',').unwrap_or(rest.len())];
    let part: &str = &rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())];
    let unit = rest[part.len()..].trim();
    // `[10, 20]` has a space, and `1,2` without a unit may be a list.
    let is_one = !whole.is_empty() && whole.chars().all(is_digit) && !part.is_empty();
    let has_unit = unit.starts_with(|c: char| c.is_alphabetic() || c == '%');
    if !is_one || !(has_unit || head.is_some()) || unit.contains(':') {
        return None;
    }
    let place = start..start + whole.len() + 1 + rest.trim_end().len();
    let written = format!("{whole}.{}", rest.trim());
    Some(Slip {
        title: format!("{} has a decimal comma", quote(&text[place.clone()])),
        place,
        label: "a comma ends the value",
        help: Some(Help::write(written)),
    })
}

/// Finds the other end of a text in typographic quotes.
fn typographic(text: &str, at: Range<usize>) -> Slip {
    let inside = text[at.clone()].trim_matches(TYPOGRAPHIC);
    let behind = &text[at.end..];
    let line = &behind[..behind.find('\n').unwrap_or(behind.len()).min(FAR)];
    // `“sw2:7”` was taken apart at the colon.
    let closes = line.find(TYPOGRAPHIC).filter(|_| !text[at.clone()].ends_with(TYPOGRAPHIC));
    let closes = closes.filter(|end| !line[..*end].contains([',', '}', ']']));
    let rest = closes.map_or("", |end| &line[..end]);
    let sign = &line[rest.len()..];
    let closing = closes.and_then(|_| sign.chars().next()).map_or(0, char::len_utf8);
    Slip {
        title: "typographic quotes are letters in YAML".to_owned(),
        place: at.start..at.end + rest.len() + closing,
        label: "a part of the value",
        help: Some(Help::write(format!("\"{inside}{rest}\""))),
    }
}

/// Finds the bracket that is open where the file is no YAML any more: the one that the reader names, or
/// the innermost of an earlier line.
fn unclosed(text: &str, error: usize, reason: &str) -> Option<Slip> {
    let is_named = ["unclosed bracket", "mismatched bracket"];
    let at = if is_named.iter().any(|words| reason.starts_with(words)) {
        error
    } else {
        let at = innermost(&text[..error])?;
        text[at..error].contains('\n').then_some(at)?
    };
    let sign = text.get(at..=at)?;
    let closing = if sign == "{" { "}" } else { "]" };
    Some(Slip {
        title: format!("no `{closing}` closes this `{sign}`"),
        place: at..at + 1,
        label: "opened here",
        help: Some(Help::close(closing)),
    })
}

/// Returns the innermost bracket that is open at the end of a text.
fn innermost(text: &str) -> Option<usize> {
    let mut open = Vec::new();
    let mut quoted = None;
    let mut is_comment = false;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match (quoted, c) {
            (_, '\n') => is_comment = false,
            _ if is_comment => {}
            (Some(sign), _) if sign == c && before != '\\' => quoted = None,
            (Some(_), _) => {}
            // Within a word it is a letter: `Bob's`.
            (None, '"' | '\'') if !before.is_alphanumeric() => quoted = Some(c),
            (None, '#') if before.is_whitespace() => is_comment = true,
            (None, '{' | '[') => open.push(at),
            (None, '}' | ']') => drop(open.pop()),
            (None, _) => {}
        }
        before = c;
    }
    open.pop()
}

#[cfg(test)]
mod tests {
    use crate::load;

    const PLANT: &str = "rtether: 1\nname: it\nnodes: { a: { stack: zero }, b: { stack: zero } }\n\
        links:\n  - { ends: [a, b], rate: 100 Mbit/s }\nflows:\n  \
        - { name: f, from: a, to: b, period: 4 ms, size: 64 B, deadline: 2 ms }\n";

    /// Returns title, text at the place, and help of each message.
    fn said(from: &str, to: &str) -> Vec<(String, String, Vec<String>)> {
        let text = PLANT.replace(from, to);
        assert_ne!(text, PLANT);
        let loaded = load("it.yaml", &text);
        let all = loaded.diagnostics.into_iter().map(|own| {
            let span = own.primary.span;
            let place = text[span.start as usize..span.end as usize].to_owned();
            let help = own.help.iter().map(ToString::to_string).collect();
            (own.title, place, help)
        });
        all.collect()
    }

    /// Oracle: by hand; each plant has one slip.
    #[test]
    fn each_slip_has_one_message_at_its_place() {
        let comma = |wrong: &str, right: &str| {
            (
                format!("`{wrong}` has a decimal comma"),
                wrong.to_owned(),
                vec![format!("write `{right}`")],
            )
        };
        assert_eq!(said("4 ms", "4,5 ms"), [comma("4,5 ms", "4.5 ms")]);
        assert_eq!(said("64 B", "64,5 kB"), [comma("64,5 kB", "64.5 kB")]);
        assert_eq!(said("100 Mbit/s", "0,1 Gbit/s"), [comma("0,1 Gbit/s", "0.1 Gbit/s")]);
        let block =
            "flows:\n  - name: f\n    from: a\n    to: b\n    period: 4,5 ms\n    size: 64 B\n";
        let found = said(&PLANT[PLANT.find("flows:").expect("flows")..], block);
        assert_eq!(found, [comma("4,5 ms", "4.5 ms")]);
        let quotes = |wrong: &str, right: &str| {
            let title = "typographic quotes are letters in YAML".to_owned();
            (title, wrong.to_owned(), vec![format!("write `\"{right}\"`")])
        };
        assert_eq!(said("from: a", "from: “a”"), [quotes("“a”", "a")]);
        assert_eq!(said("ends: [a,", "ends: [“a”,"), [quotes("“a”", "a")]);
        assert_eq!(said("ends: [a,", "ends: [„a:1“,"), [quotes("„a:1“", "a:1")]);
        let bracket = |open: &str, close: &str, is_told: bool| {
            let help = format!("write `{close}` at the end of this line");
            (
                format!("no `{close}` closes this `{open}`"),
                open.to_owned(),
                if is_told { vec![help] } else { vec![] },
            )
        };
        for (from, to) in [
            ("rate: 100 Mbit/s }", "rate: 100 Mbit/s"),
            ("deadline: 2 ms }", "deadline: 2 ms"),
            ("deadline: 2 ms }\n", "deadline: 2 ms"),
        ] {
            assert_eq!(said(from, to), [bracket("{", "}", true)]);
        }
        // At the end of its line it would hold the rate.
        assert_eq!(said("[a, b]", "[a, b"), [bracket("[", "]", false)]);
    }

    /// Oracle: what the reader says without this module.
    #[test]
    fn other_mistakes_keep_their_message() {
        for (from, to, title) in [
            ("from: a", "from: c", "no node named `c`"),
            ("size: 64 B", "size: 64", "`size` needs a unit, found 64"),
            ("name: f", "naem: f", "no key `naem` in a flow"),
        ] {
            let found = said(from, to);
            assert!(found.iter().any(|own| own.0 == title), "{found:?}");
        }
    }
}
