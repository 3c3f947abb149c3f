//! Cells of tables, written into the page or kept as data.

use rtether_model::quantity::Duration;
use serde_json::{Number, Value, json};

use super::super::bars::{filled, gauge};
use super::super::markup::{Element, Markup, element};
use super::super::text::{self, percent, plain_line};

/// One cell of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableCell {
    text: String,
    notes: Vec<String>,
    look: Look,
    key: Option<String>,
    class: &'static str,
}

/// What surrounds the text of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Look {
    #[default]
    Plain,
    /// A frame of this class of the style sheet.
    Mark(&'static str),
    /// A bar, full at one.
    Gauge(f64),
}

impl TableCell {
    /// Creates a text cell.
    pub fn text(text: impl std::fmt::Display) -> Self {
        Self { text: text.to_string(), ..Self::default() }
    }

    /// Creates a number cell: displayed text and sort key.
    pub fn number(text: impl std::fmt::Display, key: impl std::fmt::Display) -> Self {
        Self { key: Some(key.to_string()), class: "n", ..Self::text(text) }
    }

    /// Creates a cell with a time, or a dash. It is sorted by the digits shown, so that cells which
    /// look alike are alike.
    pub fn time(span: Option<Duration>) -> Self {
        span.map_or_else(
            || Self::number("\u{2013}", ""),
            |span| Self::number(text::time(span), text::rounded(span).as_ps()),
        )
    }

    /// Creates a cell with a framed word.
    pub fn mark(class: &'static str, text: impl std::fmt::Display) -> Self {
        Self { look: Look::Mark(class), ..Self::text(text) }
    }

    /// Creates a cell with a utilization and its bar.
    pub fn gauge(share: f64) -> Self {
        let look = Look::Gauge(share);
        Self { look, ..Self::text(percent(share)).sorted_by(format!("{share:.5}")) }
    }

    /// Adds a line in small print.
    #[must_use]
    pub fn noted(mut self, note: impl std::fmt::Display) -> Self {
        self.notes.push(note.to_string());
        self
    }

    /// Sets the sort key, in place of the text.
    #[must_use]
    pub fn sorted_by(mut self, key: impl std::fmt::Display) -> Self {
        self.key = Some(key.to_string());
        self
    }

    /// Adds a class of the style sheet.
    #[must_use]
    pub const fn class(mut self, class: &'static str) -> Self {
        self.class = class;
        self
    }

    /// Returns the element; the cell that names a row is its header.
    pub(super) fn render(&self) -> Element {
        let mut cell = match self.class {
            "name" => element("th").attr("scope", "row"),
            _ => element("td"),
        };
        if !self.class.is_empty() {
            cell = cell.class(self.class);
        }
        if let Some(key) = &self.key {
            cell = cell.attr("data-v", key);
        }
        let content: Markup = match self.look {
            Look::Plain => Markup::text(&self.text),
            Look::Mark(class) => element("span").class(class).text(&self.text).into(),
            Look::Gauge(share) => gauge(share),
        };
        let notes = self.notes.iter().map(|note| element("small").text(note));
        cell.child(content).children(notes)
    }

    /// Returns the cell as data: its text, or a list of text, key, look, class and notes without
    /// empty ones at the end. The script makes of it what [`Self::render`] makes.
    pub(super) fn held(&self) -> Value {
        let look = match self.look {
            Look::Plain => Value::Null,
            Look::Mark(class) => json!(class),
            Look::Gauge(share) => json!(filled(share)),
        };
        let key = self.key.as_ref().map_or(Value::Null, |key| {
            key.parse::<Number>().map_or_else(|_| json!(key), Value::Number)
        });
        let class = match self.class {
            "" => Value::Null,
            class => json!(class),
        };
        let mut parts = vec![json!(plain_line(&self.text)), key, look, class];
        parts.extend(self.notes.iter().map(|note| json!(plain_line(note))));
        while parts.len() > 1 && parts.last().is_some_and(Value::is_null) {
            parts.pop();
        }
        match parts.as_slice() {
            [text] => text.clone(),
            _ => Value::Array(parts),
        }
    }
}
