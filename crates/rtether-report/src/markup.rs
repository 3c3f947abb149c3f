//! HTML and SVG elements as values.
//!
//! Text enters a page only through [`Element::text`] and [`Element::attr`], which escape it, so
//! that a name from a scenario cannot become markup. The result is well-formed XML.

use rtether_model::characters::is_unseen;
use std::fmt::{Display, Write as _};

/// Finished, well-formed markup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Markup(String);

/// An element under construction.
#[derive(Clone, Debug)]
#[must_use]
pub struct Element {
    name: &'static str,
    attributes: String,
    body: String,
}

/// Starts an element.
pub fn element(name: &'static str) -> Element {
    Element { name, attributes: String::new(), body: String::new() }
}

impl Element {
    /// Adds an attribute; the value is escaped.
    pub fn attr(mut self, name: &'static str, value: impl Display) -> Self {
        let _ = write!(self.attributes, " {name}=\"");
        escape(&value.to_string(), &mut self.attributes);
        self.attributes.push('"');
        self
    }

    /// Adds the attribute `class`.
    pub fn class(self, class: impl Display) -> Self {
        self.attr("class", class)
    }

    /// Adds escaped text.
    pub fn text(mut self, text: impl Display) -> Self {
        escape(&text.to_string(), &mut self.body);
        self
    }

    /// Adds a child.
    pub fn child(mut self, child: impl Into<Markup>) -> Self {
        self.body.push_str(&child.into().0);
        self
    }

    /// Adds children.
    pub fn children<M: Into<Markup>>(mut self, children: impl IntoIterator<Item = M>) -> Self {
        for child in children {
            self.body.push_str(&child.into().0);
        }
        self
    }

    /// Adds data for a script, as JSON without characters that could end the element.
    pub fn data(mut self, data: &serde_json::Value) -> Self {
        for character in data.to_string().chars() {
            match character {
                '<' | '>' | '&' | '\u{fffe}' | '\u{ffff}' => {
                    let _ = write!(self.body, "\\u{:04x}", u32::from(character));
                }
                c => self.body.push(c),
            }
        }
        self
    }

    /// Adds markup, style or script as is.
    pub(crate) fn trusted(mut self, source: &str) -> Self {
        self.body.push_str(source);
        self
    }
}

impl From<Element> for Markup {
    fn from(element: Element) -> Self {
        let Element { name, attributes, body } = element;
        if body.is_empty() && is_void(name) {
            return Self(format!("<{name}{attributes}/>"));
        }
        Self(format!("<{name}{attributes}>{body}</{name}>"))
    }
}

impl Markup {
    /// Returns escaped text.
    pub fn text(text: impl Display) -> Self {
        let mut escaped = String::new();
        escape(&text.to_string(), &mut escaped);
        Self(escaped)
    }

    /// Appends markup.
    pub fn push(&mut self, more: impl Into<Self>) {
        self.0.push_str(&more.into().0);
    }

    /// Returns whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the text of the markup.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<M: Into<Self>> FromIterator<M> for Markup {
    fn from_iter<I: IntoIterator<Item = M>>(parts: I) -> Self {
        let mut all = Self::default();
        for part in parts {
            all.push(part);
        }
        all
    }
}

/// Whether an element is written without an end tag: HTML void elements and SVG shapes.
fn is_void(name: &str) -> bool {
    matches!(
        name,
        "br" | "meta" | "input" | "line" | "rect" | "path" | "circle" | "polyline" | "polygon"
    )
}

/// Escapes text for content and quoted attributes; characters that XML forbids become U+FFFD.
fn escape(text: &str, out: &mut String) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(character),
            c if is_unseen(c) || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        let cell = element("td").attr("title", "\"'><i>").text("<script>&\u{0}\u{202e}");
        assert_eq!(
            Markup::from(cell).as_str(),
            "<td title=\"&quot;&#39;&gt;&lt;i&gt;\">&lt;script&gt;&amp;\u{fffd}\u{fffd}</td>"
        );
    }

    #[test]
    fn empty_elements_close() {
        let both: Markup = [element("br"), element("div")].into_iter().collect();
        assert_eq!(both.as_str(), "<br/><div></div>");
    }
}
