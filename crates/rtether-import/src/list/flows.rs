//! What a row of a list says of a flow.

use std::collections::BTreeSet;

use rtether_model::quantity::Duration;
use rtether_model::wire::MAX_DATAGRAM;

use crate::columns::{Column, Columns, Source, picoseconds, unit_of_time};
use crate::error::ImportError;
use crate::table::{Cells, Table};

/// Largest message over UDP.
const LARGEST: u64 = MAX_DATAGRAM.get();

/// A flow of a list.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) line: usize,
    pub(crate) name: String,
    pub(crate) from: String,
    pub(crate) to: Vec<String>,
    pub(crate) size: u64,
    pub(crate) period: Duration,
    /// Packets that come at once; more than one are no nearer than the period.
    pub(crate) burst: u64,
    /// First release, if it is stated, and how much later than its grid one may be.
    pub(crate) phase: Option<Duration>,
    pub(crate) jitter: Option<Duration>,
    pub(crate) deadline: Option<Duration>,
    pub(crate) pcp: Option<u64>,
    pub(crate) vlan: Option<u64>,
}

/// Reads the flows of a list.
pub(super) fn read(list: &Table, columns: &Columns) -> Result<Vec<Row>, ImportError> {
    let mut found: Vec<(usize, &Source)> = Vec::new();
    for source in columns.sources() {
        // A column that nobody stated may be missing, if a flow can be without.
        let is_needed = Column::NEEDED.contains(&source.column);
        let is_optional = columns.is_usual() && !is_needed;
        if !is_optional || list.find(&source.title).is_some() {
            found.push((list.column(&source.title)?, source));
        }
    }
    let rows: Vec<Row> = list.rows().map(|cells| row(cells, &found)).collect::<Result<_, _>>()?;
    if rows.is_empty() {
        let what = "it has a line of titles and no rows".to_owned();
        return Err(ImportError::new(list.name(), None, what, "export it again"));
    }
    Ok(rows)
}

fn row(cells: Cells<'_>, columns: &[(usize, &Source)]) -> Result<Row, ImportError> {
    let mut row = Row {
        line: cells.line,
        name: String::new(),
        from: String::new(),
        to: Vec::new(),
        size: 0,
        period: Duration::ZERO,
        burst: 1,
        phase: None,
        jitter: None,
        deadline: None,
        pcp: None,
        vlan: None,
    };
    for &(column, source) in columns {
        let cell = cells.cell(column);
        match source.column {
            Column::Name => cell.clone_into(&mut row.name),
            Column::From => {
                let one = names(cell);
                let [name] = one.as_slice() else {
                    return Err(cells.wrong(column, "one station"));
                };
                row.from.clone_from(name);
            }
            Column::To => {
                row.to = names(cell);
                if row.to.is_empty() || row.to.contains(&row.from) {
                    return Err(cells.wrong(column, "stations other than the sender"));
                }
            }
            Column::Size => {
                row.size = size(cells, column)?.max(1);
            }
            Column::Period => row.period = span(cells, column, source.unit)?,
            Column::Deadline if cell.is_empty() => {}
            Column::Deadline => row.deadline = Some(span(cells, column, source.unit)?),
            Column::Pcp if cell.is_empty() => {}
            Column::Pcp => row.pcp = Some(cells.number(column, 7)?),
            Column::Vlan if cell.is_empty() => {}
            Column::Vlan => {
                row.vlan = Some(cells.number(column, 4094)?).filter(|number| *number > 0);
            }
        }
    }
    // A sender that stands behind its receivers in the order of columns.
    if row.to.contains(&row.from) {
        let what = format!("{} sends to itself", crate::text::quote(&row.from));
        return Err(ImportError::new(cells.file(), Some(cells.line), what, "correct it"));
    }
    if row.name.is_empty() {
        row.name = format!("{} > {}", row.from, row.to.join(" "));
    }
    Ok(row)
}

/// Reads names that are separated, in brackets or not: `[3, 4]`, `a;b`.
fn names(cell: &str) -> Vec<String> {
    let inside = cell.trim_matches(|c: char| "[](){} ".contains(c));
    let names = inside.split([',', ';', '|']).map(|name| {
        let quotes = |c: char| c == '\'' || c == '"';
        name.trim().trim_matches(quotes).to_owned()
    });
    let mut seen = BTreeSet::new();
    let names = names.filter(|name| !name.is_empty() && seen.insert(name.clone()));
    names.collect()
}

/// Reads octets, of which a cell may say the unit.
fn size(cells: Cells<'_>, column: usize) -> Result<u64, ImportError> {
    match cells.cell(column).strip_suffix('B').map(str::trim_end) {
        None => cells.number(column, LARGEST),
        Some(octets) => {
            let octets = octets.parse().ok().filter(|octets| *octets <= LARGEST);
            octets.ok_or_else(|| cells.wrong(column, "octets, such as 64 B"))
        }
    }
}

/// Reads a time in a unit, with decimals; without a unit, the cell has its own.
fn span(cells: Cells<'_>, column: usize, unit: Option<Duration>) -> Result<Duration, ImportError> {
    let text = cells.cell(column);
    let (text, unit) = if let Some(unit) = unit {
        (text, unit)
    } else {
        let at = text.find(char::is_alphabetic).unwrap_or(text.len());
        let (number, unit) = text.split_at(at);
        let unit = unit_of_time(unit);
        let unit = unit.ok_or_else(|| cells.wrong(column, "a time with its unit, as 2 ms"))?;
        (number.trim_end(), unit)
    };
    let time = picoseconds(text, unit).filter(|time| *time > Duration::ZERO);
    time.ok_or_else(|| cells.wrong(column, "a time above zero, as a number of its unit"))
}
