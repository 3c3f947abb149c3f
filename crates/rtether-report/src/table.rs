//! Tables: one value for the terminal, Markdown, files and pages.
//!
//! A [`Table`] has columns, each with a title for people, a name for files, or both, and typed
//! cells. A name for files ends in the unit; titles have none, since cells for people carry it.

mod draw;

use std::borrow::Cow;

use rtether_model::quantity::Duration;
use serde_json::Value as Json;

use super::markup::Markup;
use super::number::ns;
use super::page::{DataTable, TableCell};
use super::text::{exact_ns, plain_line, time};
use crate::sheet::Sheet;
pub use draw::Screen;
use rtether_model::characters::is_unseen;

/// A value as files have it.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// The column does not apply.
    #[default]
    None,
    /// Words.
    Text(String),
    /// A time; nanoseconds in files.
    Time(Duration),
    /// A whole number.
    Whole(i128),
    /// A ratio or another number with decimals.
    Number(f64),
    /// Yes or no; 1 or 0 in CSV.
    Flag(bool),
    /// A number that keeps the digits of JSON.
    Json(serde_json::Number),
}

impl Value {
    /// Returns the text for files.
    pub fn file(&self) -> String {
        match self {
            Self::None => String::new(),
            Self::Text(text) => text.clone(),
            Self::Time(span) => exact_ns(span.as_ps()),
            Self::Whole(number) => number.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Flag(flag) => u8::from(*flag).to_string(),
            Self::Json(number) => number.to_string(),
        }
    }
}

/// A cell: its value, and how people see it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    value: Value,
    shown: Option<String>,
}

impl Cell {
    /// Shows this text in place of the value.
    #[must_use]
    pub fn shown(mut self, text: impl Into<String>) -> Self {
        self.shown = Some(text.into());
        self
    }

    /// Returns the text for people.
    fn screen(&self) -> String {
        match (&self.shown, &self.value) {
            (Some(text), _) | (None, Value::Text(text)) => plain_line(text),
            (None, Value::None) => "-".into(),
            (None, Value::Time(span)) => time(*span),
            (None, _) => self.file(),
        }
    }

    /// Returns the text for files.
    fn file(&self) -> String {
        self.value.file()
    }

    /// Returns the value for JSON.
    fn json(&self) -> Json {
        match &self.value {
            Value::None => Json::Null,
            Value::Text(text) => text.as_str().into(),
            Value::Time(span) => ns(*span),
            Value::Whole(number) => i64::try_from(*number)
                .map_or_else(|_| u64::try_from(*number).map_or(Json::Null, Json::from), Json::from),
            Value::Number(number) => (*number).into(),
            Value::Flag(flag) => (*flag).into(),
            Value::Json(number) => number.clone().into(),
        }
    }

    /// Returns the number by which pages sort.
    fn key(&self) -> Option<String> {
        match &self.value {
            Value::None | Value::Text(_) | Value::Flag(_) => None,
            Value::Time(span) => Some(span.as_secs_f64().to_string()),
            Value::Whole(_) | Value::Number(_) | Value::Json(_) => Some(self.file()),
        }
    }

    fn is_none(&self) -> bool {
        self.value == Value::None && self.shown.is_none()
    }
}

impl From<Value> for Cell {
    fn from(value: Value) -> Self {
        Self { value, shown: None }
    }
}

impl From<()> for Cell {
    fn from((): ()) -> Self {
        Self::default()
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or_else(Self::default, Into::into)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Value::Text(text.to_owned()).into()
    }
}

impl From<&String> for Cell {
    fn from(text: &String) -> Self {
        Value::Text(text.clone()).into()
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Value::Text(text).into()
    }
}

impl From<Duration> for Cell {
    fn from(span: Duration) -> Self {
        Value::Time(span).into()
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        Value::Number(number).into()
    }
}

impl From<bool> for Cell {
    fn from(flag: bool) -> Self {
        Value::Flag(flag).into()
    }
}

macro_rules! whole {
    ($($kind:ty),*) => {$(
        impl From<$kind> for Cell {
            fn from(number: $kind) -> Self {
                Value::Whole(number.into()).into()
            }
        }
    )*};
}

whole!(u8, u16, u32, u64, i64);

impl From<usize> for Cell {
    fn from(number: usize) -> Self {
        Value::Whole(i128::try_from(number).unwrap_or(i128::MAX)).into()
    }
}

/// Title or name of a column.
type Name = Cow<'static, str>;

/// A column.
#[derive(Clone, Debug, Default)]
struct Column {
    /// Title for people; `None` if only files have it.
    title: Option<Name>,
    /// Name in files; `None` if only people see it.
    name: Option<Name>,
    is_right: bool,
    rank: u8,
    is_optional: bool,
}

/// A table.
#[derive(Clone, Debug, Default)]
pub struct Table {
    columns: Vec<(Column, Vec<Cell>)>,
    rows: usize,
    /// Width at which sentences are wrapped, and rows separated by lines.
    wrap: Option<u16>,
}

/// A table being built from rows of a type.
#[derive(Clone, Debug)]
pub struct Rows<T> {
    of: Vec<T>,
    table: Table,
}

impl<T> Rows<T> {
    /// Adds a column for people and files.
    #[must_use]
    pub fn both<C: Into<Cell>>(
        self,
        title: impl Into<Name>,
        name: impl Into<Name>,
        cell: impl Fn(&T) -> C,
    ) -> Self {
        self.column(Some(title.into()), Some(name.into()), false, cell)
    }

    /// Adds a column for people and files, aligned to the right.
    #[must_use]
    pub fn number<C: Into<Cell>>(
        self,
        title: impl Into<Name>,
        name: impl Into<Name>,
        cell: impl Fn(&T) -> C,
    ) -> Self {
        self.column(Some(title.into()), Some(name.into()), true, cell)
    }

    /// Adds a column for people only.
    #[must_use]
    pub fn shown<C: Into<Cell>>(self, title: impl Into<Name>, cell: impl Fn(&T) -> C) -> Self {
        self.column(Some(title.into()), None, false, cell)
    }

    /// Adds a column for people only, aligned to the right.
    #[must_use]
    pub fn amount<C: Into<Cell>>(self, title: impl Into<Name>, cell: impl Fn(&T) -> C) -> Self {
        self.column(Some(title.into()), None, true, cell)
    }

    /// Adds a column of files only.
    #[must_use]
    pub fn file<C: Into<Cell>>(self, name: impl Into<Name>, cell: impl Fn(&T) -> C) -> Self {
        self.column(None, Some(name.into()), false, cell)
    }

    fn column<C: Into<Cell>>(
        mut self,
        title: Option<Name>,
        name: Option<Name>,
        is_right: bool,
        cell: impl Fn(&T) -> C,
    ) -> Self {
        let column = Column { title, name, is_right, ..Column::default() };
        let cells = self.of.iter().map(|row| cell(row).into()).collect();
        self.table.columns.push((column, cells));
        self
    }

    /// Sets the rank of the last column on a narrow terminal: the lowest is dropped first, zero
    /// never.
    #[must_use]
    pub fn rank(mut self, rank: u8) -> Self {
        if let Some((column, _)) = self.table.columns.last_mut() {
            column.rank = rank;
        }
        self
    }

    /// Leaves out the last column if it applies to no row.
    #[must_use]
    pub fn optional(mut self) -> Self {
        if let Some((column, _)) = self.table.columns.last_mut() {
            column.is_optional = true;
        }
        self
    }

    /// Adds several columns if `condition` holds.
    #[must_use]
    pub fn when(self, condition: bool, add: impl FnOnce(Self) -> Self) -> Self {
        if condition { add(self) } else { self }
    }

    /// Returns the table.
    pub fn done(self) -> Table {
        self.table
    }
}

impl Table {
    /// Begins a table with a row for each of these.
    pub fn of<T>(rows: impl IntoIterator<Item = T>) -> Rows<T> {
        let of: Vec<T> = rows.into_iter().collect();
        let rows = of.len();
        Rows { of, table: Self { rows, ..Self::default() } }
    }

    /// Wraps sentences at this width, with lines between rows.
    #[must_use]
    pub const fn wrapped(mut self, width: u16) -> Self {
        self.wrap = Some(width);
        self
    }

    /// Returns the number of rows.
    pub const fn len(&self) -> usize {
        self.rows
    }

    /// Returns whether there are no rows.
    pub const fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Keeps the first rows only.
    pub fn truncate(&mut self, rows: usize) {
        self.rows = self.rows.min(rows);
        for (_, cells) in &mut self.columns {
            cells.truncate(rows);
        }
    }

    /// Appends the rows of a table by the names of its columns in files; cells that it lacks are
    /// empty.
    #[must_use]
    pub fn append(mut self, other: &Self) -> Self {
        for (column, cells) in &mut self.columns {
            let same = other.columns.iter().find(|(of, _)| of.name == column.name);
            let more =
                same.map_or_else(|| vec![Cell::default(); other.rows], |(_, more)| more.clone());
            cells.extend(more);
        }
        self.rows += other.rows;
        self
    }

    fn used(&self) -> impl Iterator<Item = &(Column, Vec<Cell>)> {
        let columns = self.columns.iter();
        columns.filter(|(column, cells)| !column.is_optional || !cells.iter().all(Cell::is_none))
    }

    /// Returns the columns for people.
    fn titled(&self) -> Vec<(&str, &Column, &[Cell])> {
        let titled = self.used().filter_map(|(column, cells)| {
            let title = column.title.as_deref()?;
            Some((title, column, cells.as_slice()))
        });
        titled.collect()
    }

    /// Returns the columns for files.
    fn named(&self) -> Vec<(&str, &[Cell])> {
        let named = self.used().filter_map(|(column, cells)| {
            let name = column.name.as_deref()?;
            Some((name, cells.as_slice()))
        });
        named.collect()
    }

    /// Returns the columns for files: names with units, and the values of all rows.
    pub fn values(&self) -> Vec<(&str, Vec<&Value>)> {
        let columns = self.named().into_iter();
        let values =
            columns.map(|(name, cells)| (name, cells.iter().map(|cell| &cell.value).collect()));
        values.collect()
    }

    /// Returns the number of rows.
    pub const fn height(&self) -> usize {
        self.rows
    }

    /// Draws the table for a terminal, without a line end.
    pub fn draw(&self, screen: Screen) -> String {
        draw::draw(self, screen)
    }

    /// Returns the columns for people as a Markdown table.
    pub fn markdown(&self) -> String {
        let columns = self.titled();
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let rule = |right: bool| if right { "--:" } else { "---" }.to_owned();
        let titles = columns.iter().map(|(title, ..)| (*title).to_owned());
        let rules = columns.iter().map(|(_, column, _)| rule(column.is_right));
        let mut text = line(titles.collect()) + &line(rules.collect());
        for row in 0..self.rows {
            let cells = columns.iter().map(|(.., cells)| escape_markdown(&cells[row].screen()));
            text.push_str(&line(cells.collect()));
        }
        text
    }

    /// Returns the columns for files as CSV with a header.
    pub fn csv(&self) -> String {
        let columns = self.named();
        let mut sheet = Sheet::from_writer(Vec::new());
        // Writing to memory cannot fail.
        drop(sheet.write_record(columns.iter().map(|(name, _)| *name)));
        for row in 0..self.rows {
            drop(sheet.write_record(columns.iter().map(|(_, cells)| cells[row].file())));
        }
        sheet.into_text()
    }

    /// Returns the columns for files as one JSON object per row.
    pub fn ndjson(&self) -> String {
        let columns = self.named();
        let objects = (0..self.rows).map(|row| {
            let members = columns.iter();
            let members = members.map(|(name, cells)| ((*name).to_owned(), cells[row].json()));
            format!("{}\n", Json::Object(members.collect()))
        });
        objects.collect()
    }

    /// Returns the columns for people as a table of a page; `is_bad` marks rows. Many rows have a
    /// filter, unless they are sentences.
    pub fn html(&self, is_bad: impl Fn(usize) -> bool) -> Markup {
        let columns = self.titled();
        let row = |row: usize| {
            let cells = columns.iter().map(|(_, column, cells)| {
                let cell = &cells[row];
                match cell.key().filter(|_| column.is_right) {
                    Some(key) => TableCell::number(cell.screen(), &key),
                    None => TableCell::text(cell.screen()),
                }
            });
            (cells.collect(), is_bad(row))
        };
        let titles = columns.iter();
        let table = DataTable {
            columns: titles
                .map(|(title, column, _)| ((*title).to_owned(), column.is_right))
                .collect(),
            rows: (0..self.rows).map(row).collect(),
            filter: self.rows > 8 && self.wrap.is_none(),
        };
        table.render()
    }
}

/// Escapes all Markdown and HTML syntax.
pub(super) fn escape_markdown(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            '\\' | '|' | '`' | '*' | '_' | '[' | ']' | '#' => escaped.extend(['\\', character]),
            c => escaped.push(if is_unseen(c) { ' ' } else { c }),
        }
    }
    escaped
}
