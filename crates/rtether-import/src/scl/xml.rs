//! XML within limits, and the elements of SCL in it.

use roxmltree::{Document, Error, Node, ParsingOptions};

/// An element of the file.
pub(super) type Element<'a> = Node<'a, 'a>;

/// Deepest nesting of elements; real files have some 15 levels.
const MAX_DEPTH: usize = 100;
/// Most attributes of an element, which are compared with each other.
const MAX_ATTRIBUTES: usize = 256;
/// Most nodes of a file, texts between elements included.
const MAX_NODES: u32 = 6_000_000;
/// Most comments and instructions beside the root element.
const MAX_BESIDE_ROOT: usize = 100;
/// Most comparisons of namespaces, which grow with the square of those in scope.
const MAX_COMPARISONS: u64 = 1 << 31;

/// Why a file is not read as XML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) line: Option<usize>,
    pub(crate) what: String,
    pub(crate) remedy: &'static str,
}

/// What is done about files that are no files of a plant.
const NOT_A_PLANT: &str = "no file of a real plant needs that";

/// Reads XML.
pub(crate) fn parse(text: &str) -> Result<Document<'_>, Refused> {
    survey(text).map_err(|(offset, what)| Refused {
        line: Some(Lines::new(text).at(offset)),
        what,
        remedy: NOT_A_PLANT,
    })?;
    let options =
        ParsingOptions { allow_dtd: false, nodes_limit: MAX_NODES, entity_resolver: None };
    let document =
        Document::parse_with_options(text, options).map_err(|error| explain(text, &error))?;
    // `is` walks over them to the root element.
    if document.root().children().nth(MAX_BESIDE_ROOT).is_some() {
        return Err(Refused {
            line: None,
            what: format!("more than {MAX_BESIDE_ROOT} comments stand outside of its root element"),
            remedy: NOT_A_PLANT,
        });
    }
    Ok(document)
}

fn explain(text: &str, error: &Error) -> Refused {
    if matches!(error, Error::NodesLimitReached) {
        return Refused {
            line: None,
            what: format!("it has more than {MAX_NODES} elements and texts"),
            remedy: "export the part of the plant you need",
        };
    }
    if matches!(error, Error::UnclosedRootNode | Error::UnexpectedEndOfStream) {
        return Refused {
            line: Some(text.lines().count().max(1)),
            what: "the file ends before its last element".into(),
            remedy: "copy or export it again",
        };
    }
    let what = crate::text::plain(&error.to_string(), 200);
    Refused {
        line: Some(usize::try_from(error.pos().row).unwrap_or(1)),
        what: format!("it is not XML: {what}"),
        remedy: "export it again",
    }
}

/// Looks for what would make the parser slow or the tree deep, before there is a tree. Returns the
/// offset and what is wrong there. It may take wrong XML for right; the parser will not.
fn survey(text: &str) -> Result<(), (usize, String)> {
    let mut rest = text;
    // Declared namespaces in scope of each open element.
    let mut open: Vec<u64> = Vec::new();
    let mut comparisons = 0_u64;
    while let Some(found) = rest.find('<') {
        rest = &rest[found..];
        let offset = text.len() - rest.len();
        let after = |end: &str| rest.find(end).map_or("", |at| &rest[at + end.len()..]);
        rest = if rest.starts_with("<!--") {
            after("-->")
        } else if rest.starts_with("<![CDATA[") {
            after("]]>")
        } else if rest.starts_with("<!") {
            return Err((offset, "it declares a document type or entities".into()));
        } else if rest.starts_with("<?") {
            after("?>")
        } else if let Some(end) = rest.strip_prefix("</") {
            open.pop();
            end
        } else {
            let tag = Tag::read(rest);
            if tag.attributes > MAX_ATTRIBUTES {
                let what = format!("an element has more than {MAX_ATTRIBUTES} attributes");
                return Err((offset, what));
            }
            let scope = open.last().copied().unwrap_or(0) + tag.namespaces;
            if tag.namespaces > 0 {
                comparisons = comparisons.saturating_add(scope.saturating_mul(scope));
            }
            if comparisons > MAX_COMPARISONS {
                return Err((offset, "it declares too many namespaces".into()));
            }
            if !tag.is_closed {
                open.push(scope);
            }
            if open.len() > MAX_DEPTH {
                let what = format!("elements are nested deeper than {MAX_DEPTH} levels");
                return Err((offset, what));
            }
            &rest[tag.length..]
        };
    }
    Ok(())
}

/// What matters of a start tag.
struct Tag {
    length: usize,
    attributes: usize,
    namespaces: u64,
    is_closed: bool,
}

impl Tag {
    /// Reads a start tag up to its end, or to where it cannot be one.
    fn read(text: &str) -> Self {
        let octets = text.as_bytes();
        let mut tag = Self { length: octets.len(), attributes: 0, namespaces: 0, is_closed: false };
        let mut quote = None;
        for (at, &octet) in octets.iter().enumerate().skip(1) {
            match (quote, octet) {
                (_, b'<') => {
                    tag.length = at;
                    break;
                }
                (None, b'>') => {
                    tag.length = at + 1;
                    tag.is_closed = octets[at - 1] == b'/';
                    break;
                }
                (None, b'"' | b'\'') => {
                    quote = Some(octet);
                    tag.attributes += 1;
                }
                (None, b'x') if octets[at..].starts_with(b"xmlns") => tag.namespaces += 1,
                (Some(begun), octet) if begun == octet => quote = None,
                (None | Some(_), _) => {}
            }
        }
        tag
    }
}

/// Where lines begin.
#[derive(Debug)]
pub(crate) struct Lines(Vec<usize>);

impl Lines {
    pub(crate) fn new(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, octet)| *octet == b'\n');
        Self(ends.map(|(at, _)| at).collect())
    }

    /// Returns the line of an offset, counted from 1.
    pub(crate) fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|end| *end < offset) + 1
    }

    /// Returns the line on which an element begins.
    pub(super) fn of(&self, element: Element<'_>) -> usize {
        self.at(element.range().start)
    }
}

/// Returns whether an element is one of SCL, of this name. Tools put elements of their own, in other
/// namespaces, anywhere.
pub(super) fn is(element: Element<'_>, name: &str) -> bool {
    let root = element.document().root_element();
    element.is_element()
        && element.tag_name().name() == name
        && element.tag_name().namespace() == root.tag_name().namespace()
}

/// Returns the children of this name.
pub(super) fn children<'a>(
    element: Element<'a>,
    name: &'static str,
) -> impl Iterator<Item = Element<'a>> {
    element.children().filter(move |child| is(*child, name))
}

/// Returns the elements of this name at any depth.
pub(super) fn all<'a>(
    element: Element<'a>,
    name: &'static str,
) -> impl Iterator<Item = Element<'a>> {
    element.descendants().filter(move |found| is(*found, name))
}

/// Returns the first child of this name.
pub(super) fn child<'a>(element: Element<'a>, name: &'static str) -> Option<Element<'a>> {
    children(element, name).next()
}

/// Returns an attribute without spaces around it; `None` if it is missing or empty.
pub(super) fn attribute<'a>(element: Element<'a>, name: &str) -> Option<&'a str> {
    let value = element.attribute(name)?.trim();
    (!value.is_empty()).then_some(value)
}

/// Returns an attribute; empty if it is missing.
pub(super) fn word<'a>(element: Element<'a>, name: &str) -> &'a str {
    attribute(element, name).unwrap_or_default()
}

/// Returns the text of an element without spaces around it.
pub(super) fn content(element: Element<'_>) -> &str {
    element.text().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> Refused {
        parse(text).expect_err("refused")
    }

    /// Oracle: the two classical attacks by entities, and a harmless declaration.
    #[test]
    fn entities_are_refused_with_their_line() {
        let bomb =
            "<?xml version='1.0'?>\n<!DOCTYPE a [<!ENTITY x 'y'><!ENTITY z '&x;&x;'>]>\n<a>&z;</a>";
        let file = "<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a>&x;</a>";
        for (text, line) in [(bomb, 2), (file, 1), ("<!DOCTYPE a><a/>", 1)] {
            let refused = refusal(text);
            assert_eq!(refused.line, Some(line), "{text}");
            assert!(refused.what.contains("document type"), "{refused:?}");
        }
    }

    #[test]
    fn depth_attributes_and_namespaces_are_limited() {
        let nested = |depth| format!("{}{}", "<a>".repeat(depth), "</a>".repeat(depth));
        assert!(parse(&nested(MAX_DEPTH)).is_ok());
        assert!(refusal(&nested(MAX_DEPTH + 1)).what.contains("deeper"));
        let wide = |count: usize| {
            let list: Vec<String> = (0..count).map(|n| format!(" a{n}=''")).collect();
            let list = list.concat();
            format!("<a{list}/>")
        };
        assert!(parse(&wide(MAX_ATTRIBUTES)).is_ok());
        assert!(refusal(&wide(MAX_ATTRIBUTES + 1)).what.contains("attributes"));
        let names: Vec<String> = (0..250).map(|n| format!(" xmlns:n{n}='u'")).collect();
        let names = names.concat();
        let many = "<c xmlns:m='u'/>".repeat(40_000);
        let text = format!("<a{names}>{many}</a>");
        assert!(refusal(&text).what.contains("namespaces"));
    }

    /// Oracle: XML 1.0, 2.5 and 2.7: what stands in comments and CDATA is no markup.
    #[test]
    fn comments_and_character_data_hold_no_tags() {
        let hidden = "<b>".repeat(MAX_DEPTH * 2);
        for text in [
            format!("<a><!-- {hidden} <!DOCTYPE --></a>"),
            format!("<a><![CDATA[{hidden}<!ENTITY]]></a>"),
            format!("<a><?b {hidden}?></a>"),
            "<a b='<' c='>'/>".replace("b='<' ", ""),
        ] {
            assert!(parse(&text).is_ok(), "{text}");
        }
    }

    #[test]
    fn mistakes_have_lines() {
        assert_eq!(refusal("<a>\n<b>\n</a>").line, Some(3));
        assert_eq!(refusal("<a>\n<b/>\n").line, Some(2));
        assert_eq!(refusal("<a b='1'\n b='2'/>").line, Some(2));
    }

    #[test]
    fn lines_count_from_one() {
        let lines = Lines::new("a\nb\n\nc");
        let at: Vec<usize> = [0, 1, 2, 4, 5].map(|offset| lines.at(offset)).into();
        assert_eq!(at, [1, 1, 2, 3, 4]);
    }
}
