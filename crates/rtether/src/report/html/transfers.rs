//! The table of bulk transfers.

use rtether_model::quantity::Duration;
use rtether_model::record::TransferRecord;

use super::super::checked::{Checked, Stream};
use super::super::markup::{Markup, element};
use super::super::page::{DataTable, TableCell};
use super::super::text::{count, time};

/// Most rows on a page; the files have all rows.
const MOST_ROWS: usize = 200;

/// Returns the table; empty if there were no transfers.
pub fn section(checked: &Checked) -> Markup {
    let all = || {
        checked.streams().flat_map(|stream| {
            let transfers = stream.record.transfers.iter();
            transfers.map(move |transfer| (stream, transfer))
        })
    };
    let rows: Vec<_> = all()
        .take(MOST_ROWS)
        .map(|(stream, transfer)| (row(checked, &stream, transfer), false))
        .collect();
    let mut body = Markup::default();
    if rows.is_empty() {
        return body;
    }
    let names = [
        ("flow", false),
        ("talker > listener", false),
        ("started", true),
        ("took", true),
        ("delivered", true),
        ("rate", true),
        ("sent again", true),
        ("timeouts", true),
    ];
    let columns = names.map(|(name, is_number)| (name.to_owned(), is_number));
    body.push(DataTable { columns: columns.to_vec(), rows, filter: false }.render());
    let left_out = all().count().saturating_sub(MOST_ROWS);
    if left_out > 0 {
        let text = format!("{left_out} more are in the JSON and CSV files.");
        body.push(element("p").text(text));
    }
    body
}

fn row(checked: &Checked, stream: &Stream<'_>, transfer: &TransferRecord) -> Vec<TableCell> {
    let span = |value: Duration| TableCell::number(time(value), value.as_ps());
    let number = |value: u64| TableCell::number(count(value), value);
    let took = transfer.finished_at.map(|end| end - transfer.started_at);
    let rate = took.filter(|took| *took > Duration::ZERO).map(|took| {
        let bits_per_second = u128::from(transfer.delivered.bits()) * 1_000_000_000_000
            / u128::from(took.as_ps().unsigned_abs());
        u64::try_from(bits_per_second).unwrap_or(u64::MAX)
    });
    vec![
        TableCell::text(&stream.flow.name),
        TableCell::text(checked.path_name(stream)),
        span(transfer.started_at.since_start()),
        took.map_or_else(|| TableCell::number("not finished", i64::MAX), span),
        TableCell::number(
            format!("{} B", count(transfer.delivered.get())),
            transfer.delivered.get(),
        ),
        rate.map_or_else(
            || TableCell::number("\u{2013}", 0),
            |rate| {
                let shown = rtether_model::quantity::BitRate::from_bps(rate);
                TableCell::number(shown, rate)
            },
        ),
        number(transfer.retransmissions),
        number(transfer.timeouts),
    ]
}
