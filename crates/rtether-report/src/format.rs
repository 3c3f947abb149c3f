//! Formats of results, the same for every verb.

use std::io::{self, Write};

use serde::Serialize;

use super::markup::{Markup, element};
use super::openmetrics;
use super::table::{Screen, Table, escape_markdown};

/// Format of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Text and tables for people.
    #[default]
    Table,
    /// The same as Markdown.
    Md,
    /// CSV, one row per record.
    Csv,
    /// One JSON document.
    Json,
    /// One JSON object per record and line, with the names of CSV.
    Ndjson,
    /// Metrics for Prometheus, with the names of CSV.
    OpenMetrics,
}

impl Format {
    /// All formats, with name and description.
    pub const ALL: [(Self, &str, &str); 6] = [
        (Self::Table, "table", "Text and tables for people"),
        (Self::Md, "md", "The same as Markdown"),
        (Self::Csv, "csv", "CSV, one row per record"),
        (Self::Json, "json", "One JSON document"),
        (Self::Ndjson, "ndjson", "One JSON object per record"),
        (
            Self::OpenMetrics,
            "openmetrics",
            "Metrics for Prometheus, a gauge for each column of numbers",
        ),
    ];

    /// Returns the name.
    pub fn name(self) -> &'static str {
        let mut all = Self::ALL.into_iter();
        let known = all.find(|(format, ..)| *format == self);
        known.map_or("", |(_, name, _)| name)
    }

    /// Returns the format of a name.
    pub fn named(name: &str) -> Option<Self> {
        let known = Self::ALL.into_iter().find(|(_, known, _)| *known == name);
        known.map(|(format, ..)| format)
    }

    /// Returns whether it is JSON: one object per line for what comes over time.
    pub const fn is_json(self) -> bool {
        matches!(self, Self::Json | Self::Ndjson)
    }
}

/// A piece of a result for people.
#[derive(Clone, Debug)]
pub enum Part {
    /// Whole lines, with their line ends.
    Lines(String),
    /// A table.
    Table(Table),
}

impl From<String> for Part {
    fn from(lines: String) -> Self {
        Self::Lines(lines)
    }
}

impl From<Table> for Part {
    fn from(table: Table) -> Self {
        Self::Table(table)
    }
}

/// A result that can be shown in every format.
pub trait Render {
    /// Returns text and tables for people.
    fn parts(&self, screen: Screen) -> Vec<Part>;

    /// Returns the records as rows.
    fn rows(&self) -> Table;

    /// Returns one JSON document with a line end.
    fn json(&self) -> String;

    /// Writes the same document; one that is large is not made in memory first.
    ///
    /// # Errors
    /// Those of `out`.
    fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.json().as_bytes())
    }

    /// Returns text and tables for documents, whose lines begin with `# ` where they are titles.
    fn document(&self) -> Vec<Part> {
        self.parts(Screen::default())
    }

    /// Returns text and tables as Markdown.
    fn markdown(&self) -> String {
        markdown(&self.document())
    }

    /// Returns text and tables as a piece of HTML, for notebooks; it brings no style.
    fn fragment(&self) -> String {
        let pieces = self.document();
        let pieces = pieces.iter().map(|part| match part {
            Part::Lines(lines) => element("pre").text(lines).into(),
            Part::Table(table) => table.html(|_| false),
        });
        pieces.map(|piece: Markup| piece.as_str().to_owned()).collect()
    }

    /// Returns the result in a format.
    fn render(&self, format: Format, screen: Screen) -> String {
        match format {
            Format::Table => text(&self.parts(screen), screen),
            Format::Md => self.markdown(),
            Format::Csv => self.rows().csv(),
            Format::Json => self.json(),
            Format::Ndjson => self.rows().ndjson(),
            Format::OpenMetrics => openmetrics::write(subject(&self.json()), &self.rows()),
        }
    }
}

/// Returns a document as indented JSON with a line end.
///
/// # Panics
/// If it has a map whose keys are no text.
pub fn indented(document: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(document).expect("names are text");
    text.push('\n');
    text
}

/// Writes the same, piece by piece.
///
/// # Errors
/// Those of `out`.
pub fn write_indented(document: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let mut out = io::BufWriter::with_capacity(1 << 16, out);
    serde_json::to_writer_pretty(&mut out, document)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Returns what a result is of: the word of its schema, such as `bound` of `rtether.bound/1`.
fn subject(json: &str) -> &str {
    let (_, schema) = json.split_once("\"rtether.").unwrap_or_default();
    let (word, _) = schema.split_once('/').unwrap_or_default();
    if word.is_empty() { "result" } else { word }
}

/// Returns parts as text for a terminal.
fn text(parts: &[Part], screen: Screen) -> String {
    let parts = parts.iter().map(|part| match part {
        Part::Lines(lines) => lines.clone(),
        Part::Table(table) => table.draw(screen) + "\n",
    });
    parts.collect()
}

/// Returns parts as Markdown: a title on a line that begins with `# `, and each other line a
/// paragraph.
pub fn markdown(parts: &[Part]) -> String {
    let blocks = parts.iter().flat_map(|part| match part {
        Part::Lines(lines) => {
            let lines = lines.lines().filter(|line| !line.trim().is_empty());
            lines.map(paragraph).collect()
        }
        Part::Table(table) => vec![table.markdown()],
    });
    blocks.collect::<Vec<String>>().join("\n")
}

fn paragraph(line: &str) -> String {
    match line.strip_prefix("# ") {
        Some(title) => format!("# {}\n", escape_markdown(title)),
        None => escape_markdown(line) + "\n",
    }
}
