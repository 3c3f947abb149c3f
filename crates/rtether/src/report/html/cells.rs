//! Cells with verdicts, times and names.

use rtether_model::quantity::Duration;

use super::super::page::TableCell;
use super::super::text::count;
use crate::words::Standing;

/// Returns the class and the words of a standing, with a sign. Only a proof gets a check mark.
pub(super) fn mark(standing: Standing) -> (&'static str, String) {
    let (class, sign) = match standing {
        Standing::Proved => ("mark good", "\u{2713}"),
        Standing::Held { .. } => ("mark held", "\u{25cb}"),
        Standing::Late | Standing::Lost | Standing::NotProved => ("mark bad", "\u{2717}"),
        Standing::NoAnswer
        | Standing::IfDelivered
        | Standing::IfNothingDropped
        | Standing::NoBound => ("mark warn", "?"),
        Standing::NoDeadline | Standing::Unjudged => ("mark none", "\u{2013}"),
    };
    (class, format!("{sign} {}", word(standing)))
}

fn word(standing: Standing) -> String {
    standing.name().replace('-', " ")
}

/// Returns a cell with the word of a standing in its color.
pub fn mark_cell(standing: Standing) -> TableCell {
    // Ascending order puts failures first.
    let weight = u8::MAX - standing.rank();
    let (class, words) = mark(standing);
    TableCell::mark(class, words).sorted_by(weight)
}

/// Returns a time with the standing of its column below it.
pub(super) fn judged_cell(span: Option<Duration>, standing: Standing) -> TableCell {
    if matches!(standing, Standing::Unjudged | Standing::NoDeadline) {
        return time_cell(span);
    }
    let held = standing.packets();
    let said = held.map_or_else(|| word(standing), |packets| format!("held in {}", count(packets)));
    time_cell(span).noted(said)
}

/// Returns a cell with a time, or a dash.
pub fn time_cell(span: Option<Duration>) -> TableCell {
    TableCell::time(span)
}

pub(super) fn count_cell(value: u64) -> TableCell {
    TableCell::number(count(value), value)
}

/// Returns a cell with a name and a line for each note.
pub fn name_cell(name: &str, notes: &[String]) -> TableCell {
    let name = TableCell::text(name).class("name");
    notes.iter().fold(name, TableCell::noted)
}
