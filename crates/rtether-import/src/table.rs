//! Rows of CSV.

use csv::{ReaderBuilder, StringRecord, Trim};

use crate::error::ImportError;
use crate::text::quote;

/// Most rows of a list.
const MAX_ROWS: usize = 20_000;

/// A list with a line of titles.
#[derive(Debug)]
pub(crate) struct Table {
    name: String,
    titles: StringRecord,
    rows: Vec<(usize, StringRecord)>,
}

impl Table {
    /// Reads a list; cells are separated by commas, semicolons or tabs, as in its first line.
    pub(crate) fn read(name: &str, text: &str) -> Result<Self, ImportError> {
        let first = text.lines().next().unwrap_or_default();
        let count = |separator: &u8| first.bytes().filter(|octet| octet == separator).count();
        // The last of the largest counts: a comma, if all are equal.
        let separator = [b'\t', b';', b','].into_iter().max_by_key(count);
        let mut reader = ReaderBuilder::new()
            .delimiter(separator.unwrap_or(b','))
            .trim(Trim::All)
            .flexible(true)
            .from_reader(text.as_bytes());
        let wrong = |error: &csv::Error| {
            let line = error.position().and_then(|at| usize::try_from(at.line()).ok());
            let what = crate::text::plain(&error.to_string(), 200);
            ImportError::new(name, line, format!("it is not CSV: {what}"), "export it again")
        };
        let titles = reader.headers().map_err(|error| wrong(&error))?.clone();
        let mut rows = Vec::new();
        for row in reader.records() {
            let row = row.map_err(|error| wrong(&error))?;
            let line = row.position().and_then(|at| usize::try_from(at.line()).ok());
            rows.push((line.unwrap_or(1), row));
            if rows.len() > MAX_ROWS {
                let what = format!("it has more than {MAX_ROWS} rows");
                return Err(ImportError::new(name, None, what, "import a part of it"));
            }
        }
        Ok(Self { name: name.to_owned(), titles, rows })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the titles of all columns, in order.
    pub(crate) fn titles(&self) -> impl Iterator<Item = &str> {
        self.titles.iter()
    }

    /// Returns the number of a column.
    pub(crate) fn find(&self, title: &str) -> Option<usize> {
        let mut titles = self.titles.iter();
        titles.position(|known| known.eq_ignore_ascii_case(title))
    }

    /// Returns the number of a column, or what there is in its place.
    pub(crate) fn column(&self, title: &str) -> Result<usize, ImportError> {
        self.find(title).ok_or_else(|| {
            let remedy = "say which column is what: --columns from=TITLE,to=TITLE,size=TITLE,period=TITLE:us";
            self.lacks(title, remedy)
        })
    }

    /// Says that there is no such column.
    pub(crate) fn lacks(&self, title: &str, remedy: &str) -> ImportError {
        let known: Vec<String> = self.titles.iter().take(20).map(quote).collect();
        let what = format!("it has no column {}, but {}", quote(title), known.join(", "));
        ImportError::new(&self.name, Some(1), what, remedy)
    }

    /// Returns the rows that hold something.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Cells<'_>> {
        let rows =
            self.rows.iter().map(|(line, cells)| Cells { table: self, line: *line, record: cells });
        rows.filter(|row| row.record.iter().any(|cell| !cell.is_empty()))
    }
}

/// A row of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cells<'t> {
    table: &'t Table,
    pub(crate) line: usize,
    record: &'t StringRecord,
}

impl<'t> Cells<'t> {
    /// Returns the name of the file.
    pub(crate) fn file(&self) -> &'t str {
        &self.table.name
    }

    /// Returns a cell; empty if the row is short.
    pub(crate) fn cell(&self, column: usize) -> &'t str {
        self.record.get(column).unwrap_or_default()
    }

    /// Returns the number in a cell.
    pub(crate) fn number(&self, column: usize, most: u64) -> Result<u64, ImportError> {
        let text = self.cell(column);
        // Tables of numbers are often written with decimals.
        let whole = text.strip_suffix(".0").unwrap_or(text);
        let number = whole.parse::<u64>().ok().filter(|number| *number <= most);
        number.ok_or_else(|| self.wrong(column, &format!("a whole number up to {most}")))
    }

    /// Says that a cell is wrong.
    pub(crate) fn wrong(&self, column: usize, wanted: &str) -> ImportError {
        let title = quote(self.table.titles.get(column).unwrap_or_default());
        let what = format!("{title} is {}", quote(self.cell(column)));
        ImportError::new(&self.table.name, Some(self.line), what, &format!("write {wanted} there"))
    }
}
