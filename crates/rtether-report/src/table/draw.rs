//! Tables within the width of a terminal.

use comfy_table::{Cell as Drawn, CellAlignment, ContentArrangement, LineStyle, TableStyle};

use super::super::text::shorten;
use super::{Cell, Column, Table};

/// Below this width, each row is a card if its columns do not fit.
const CARDS: u16 = 80;
/// Lengths to which names are shortened, longest first, until the mandatory columns fit.
const LENGTHS: [usize; 5] = [60, 40, 28, 20, 14];

/// Where a table is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Screen {
    /// Columns of the terminal; `None` for no limit.
    pub width: Option<u16>,
    /// Use color escape sequences; verdicts are words in any case.
    pub color: bool,
    /// Draw lines with ASCII characters only.
    pub ascii: bool,
}

/// A column with its texts.
#[derive(Clone)]
struct Texts<'a> {
    title: &'a str,
    column: &'a Column,
    cells: Vec<String>,
}

impl<'a> Texts<'a> {
    fn new((title, column, cells): (&'a str, &'a Column, &'a [Cell])) -> Self {
        Self { title, column, cells: cells.iter().map(Cell::screen).collect() }
    }

    /// Returns the column with names of at most this length.
    fn shortened(&self, length: usize) -> Self {
        let cells = self.cells.iter();
        let cells = cells
            .map(|text| if self.column.is_right { text.clone() } else { shorten(text, length) });
        Self { cells: cells.collect(), ..self.clone() }
    }

    /// Returns the characters that it takes, with a blank on each side.
    fn width(&self) -> usize {
        let cells = self.cells.iter().map(String::as_str).chain([self.title]);
        cells.map(|text| text.chars().count()).max().unwrap_or(0) + 2
    }
}

pub(super) fn draw(table: &Table, screen: Screen) -> String {
    let columns: Vec<Texts<'_>> = table.titled().into_iter().map(Texts::new).collect();
    let Some(width) = screen.width.filter(|_| table.wrap.is_none()) else {
        return plain(table, &columns, screen, table.wrap);
    };
    let fits = |columns: &[Texts<'_>]| total(columns) <= usize::from(width);
    if fits(&columns) {
        return plain(table, &columns, screen, None);
    }
    if width < CARDS {
        return cards(table, &columns, usize::from(width));
    }
    let mandatory = |length: usize| {
        let columns = columns.iter().map(move |column| column.shortened(length));
        columns.filter(|column| column.column.rank == 0).collect::<Vec<_>>()
    };
    let Some(length) = LENGTHS.into_iter().find(|&length| fits(&mandatory(length))) else {
        return plain(table, &mandatory(LENGTHS[LENGTHS.len() - 1]), screen, Some(width));
    };
    let mut left = usize::from(width) - total(&mandatory(length));
    let mut kept: Vec<bool> = columns.iter().map(|column| column.column.rank == 0).collect();
    let columns: Vec<Texts<'_>> = columns.iter().map(|column| column.shortened(length)).collect();
    let mut others: Vec<usize> = (0..columns.len()).filter(|&index| !kept[index]).collect();
    others.sort_by_key(|&index| std::cmp::Reverse(columns[index].column.rank));
    for index in others {
        if let Some(rest) = left.checked_sub(columns[index].width() + 1) {
            (left, kept[index]) = (rest, true);
        }
    }
    let columns = columns.into_iter().zip(kept).filter(|(_, kept)| *kept);
    plain(table, &columns.map(|(column, _)| column).collect::<Vec<_>>(), screen, None)
}

/// Returns the characters that a line takes; one is between columns.
fn total(columns: &[Texts<'_>]) -> usize {
    let widths: usize = columns.iter().map(Texts::width).sum();
    (widths + columns.len()).saturating_sub(1)
}

/// Draws a block for each row, with a line for each column.
fn cards(table: &Table, columns: &[Texts<'_>], width: usize) -> String {
    let titles = columns.iter().map(|column| column.title.chars().count());
    let indent = titles.max().unwrap_or(0) + 2;
    let cards = (0..table.rows).map(|row| {
        let lines = columns.iter().map(|column| {
            let text = shorten(&column.cells[row], width.saturating_sub(indent).max(LENGTHS[4]));
            format!("{:<indent$}{text}", column.title).trim_end().to_owned()
        });
        lines.collect::<Vec<_>>().join("\n")
    });
    cards.collect::<Vec<_>>().join("\n\n")
}

fn plain(table: &Table, columns: &[Texts<'_>], screen: Screen, width: Option<u16>) -> String {
    let mut drawn = comfy_table::Table::new();
    let rule = if screen.ascii { '-' } else { '\u{2500}' };
    let rule = LineStyle::none().fill(rule).junction(rule);
    let style = TableStyle::new().header_separator(rule);
    drawn.load_style(if table.wrap.is_some() { style.row_separator(rule) } else { style });
    if let Some(width) = width {
        drawn.set_content_arrangement(ContentArrangement::Dynamic);
        drawn.set_width(width);
    }
    let cell = |column: &Column, text: &str| {
        Drawn::new(text).set_alignment(if column.is_right {
            CellAlignment::Right
        } else {
            CellAlignment::Left
        })
    };
    drawn.set_header(columns.iter().map(|of| cell(of.column, of.title)));
    for row in 0..table.rows {
        drawn.add_row(columns.iter().map(|of| cell(of.column, &of.cells[row])));
    }
    drawn.trim_fmt()
}
