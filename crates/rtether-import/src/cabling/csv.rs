//! A list of links.

use super::{Cable, LONGEST};
use crate::error::ImportError;
use crate::table::{Cells, Table};
use crate::text::plain;

/// Fastest rate that is taken, in megabits per second.
const FASTEST: u64 = 400_000;

/// Reads the columns `node`, `neighbor` and, if there, `port`, `neighbor_port` and `rate`.
pub(super) fn read(name: &str, text: &str) -> Result<Vec<Cable>, ImportError> {
    let table = Table::read(name, text)?;
    let column = |title: &str| {
        table.find(title).ok_or_else(|| {
            let what = format!("it has no column `{title}`");
            let remedy = "give a list of links with the columns `node`, `neighbor` and, if known, \
                          `port`, `neighbor_port`, `rate`, or what `lldpcli -f json show neighbors` \
                          prints";
            ImportError::new(name, Some(1), what, remedy)
        })
    };
    let ends =
        [(column("node")?, table.find("port")), (column("neighbor")?, table.find("neighbor_port"))];
    let rate = table.find("rate");
    table
        .rows()
        .map(|cells| {
            let text = |column: usize| plain(cells.cell(column), LONGEST);
            let ends = ends.map(|(node, port)| (text(node), port.map_or_else(String::new, text)));
            if ends.iter().any(|(node, _)| node.is_empty()) || ends[0].0 == ends[1].0 {
                let column = table.find("neighbor").unwrap_or(0);
                return Err(cells.wrong(column, "another node"));
            }
            let megabits = rate.map_or(Ok(None), |column| megabits(cells, column))?;
            let source = format!("{}:{}", plain(name, 80), cells.line);
            Ok(Cable { ends, megabits, source })
        })
        .collect()
}

/// Returns the rate in a cell: `100 Mbit/s`, `1 Gbit/s`; `None` if it is empty.
fn megabits(cells: Cells<'_>, column: usize) -> Result<Option<u64>, ImportError> {
    let text = cells.cell(column);
    if text.is_empty() {
        return Ok(None);
    }
    let number = |unit: &str| text.strip_suffix(unit)?.trim().parse::<u64>().ok();
    let rate = number("Mbit/s").or_else(|| number("Gbit/s")?.checked_mul(1_000));
    let rate = rate.filter(|rate| (1..=FASTEST).contains(rate));
    let wrong = || cells.wrong(column, "a rate such as 100 Mbit/s or 1 Gbit/s");
    rate.map(Some).ok_or_else(wrong)
}
