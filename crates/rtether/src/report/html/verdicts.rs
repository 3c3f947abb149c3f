//! Verdict tables.

use rtether_model::quantity::Duration;

use super::super::checked::{Checked, Group, Stream};
use super::super::markup::{Markup, element};
use super::super::page::{DataTable, TableCell, details};
use super::super::text::{self, percent, plural, time};
use super::super::verdicts::class_name;
use super::cells::{count_cell, judged_cell, mark, mark_cell, name_cell, time_cell};
use super::{MOST_ROWS, because, is_small, left_out, stations};
use crate::bound::Statistical;
use crate::verdict::{Assessment, Column, Standing};

/// Most failed streams shown in full in a large plant, besides one per class.
const MOST_FAILED: usize = 50;

/// Name of the data of all streams, worst first, that tables of the page share.
pub(super) const STREAMS: &str = "streams";

/// Returns one table of all streams, or those that failed, a table of classes followed by their
/// streams, and one of nodes.
pub(super) fn section(checked: &Checked) -> Markup {
    let order = checked.worst_first();
    let table = streams(checked, &order[..order.len().min(MOST_ROWS)]);
    let all_rows: Vec<usize> = (0..table.rows.len()).collect();
    let mut all = Markup::default();
    let shown = if is_small(checked) {
        all.push(table.part(STREAMS, &all_rows));
        order
    } else {
        let groups = checked.groups();
        all.push(failures(checked, &table, &order));
        all.push(classes(checked, &groups));
        let mut row_of = vec![None; order.len()];
        for (&row, &index) in all_rows.iter().zip(&order) {
            row_of[index] = Some(row);
        }
        let note = || left_out(order.len(), "stream", "failures and small margins");
        let mut by_class = note();
        for group in &groups {
            let rows = group.streams.iter().filter_map(|&index| row_of[index]);
            let rows: Vec<usize> = rows.collect();
            by_class.push(class(checked, group, table.part(STREAMS, &rows)));
        }
        all.push(details(Markup::text("Streams by class"), by_class, false));
        let mut every = note();
        every.push(table.part(STREAMS, &all_rows));
        all.push(details(Markup::text("All streams"), every, false));
        let nodes = stations::table_of(checked, &order);
        all.push(details(Markup::text("Streams by end station"), nodes, false));
        let failed = |index: &usize| checked.stream(*index).verdict().is_failure();
        let mut shown: Vec<usize> = order.into_iter().filter(failed).take(MOST_FAILED).collect();
        shown.extend(groups.iter().map(|group| group.streams[0]));
        shown.dedup();
        shown
    };
    let reasons = reasons(checked);
    if !reasons.is_empty() {
        all.push(details(Markup::text("What failed"), reasons, false));
    }
    all.push(details(Markup::text("More figures"), figures(checked, &shown), false));
    all.push(table.shared(STREAMS));
    all.push(because::data(checked));
    all
}

/// Returns an empty table of streams, which a script fills.
pub(super) fn chosen(checked: &Checked, id: &str) -> Markup {
    let table = DataTable {
        columns: columns(Figures::of(checked), "stream"),
        rows: Vec::new(),
        filter: true,
    };
    table.chosen(STREAMS, id)
}

/// Returns the streams that failed, open, or nothing.
fn failures(checked: &Checked, table: &DataTable, order: &[usize]) -> Markup {
    let failed = |index: &usize| checked.stream(*index).verdict().is_failure();
    let count = order.iter().filter(|index| failed(index)).count();
    if count == 0 {
        return Markup::default();
    }
    let rows: Vec<usize> = (0..count.min(MOST_ROWS)).collect();
    let mut summary = Markup::text("Failed");
    let note = element("span").class("note");
    summary.push(note.text(plural(count, "stream")));
    let mut body = left_out(count, "failed stream", "smallest margins");
    body.push(table.part(STREAMS, &rows));
    details(summary, body, true)
}

/// Returns the worst standing of several streams in one column; if held, with their total packets.
fn least<'a>(
    streams: impl Iterator<Item = Stream<'a>>,
    of: fn(&Assessment) -> Standing,
) -> Standing {
    let mut worst = Standing::Unjudged;
    let mut all = 0;
    for standing in streams.map(|stream| of(stream.assessment)) {
        all += standing.packets().unwrap_or(0);
        if standing.rank() > worst.rank() {
            worst = standing;
        }
    }
    match worst.packets() {
        Some(_) => Standing::Held { packets: all },
        None => worst,
    }
}

/// Which figures there are of any stream, looked for once for all rows.
#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a column of its own")]
struct Figures {
    bounds: bool,
    statistical: bool,
    measured: bool,
    found: bool,
}

impl Figures {
    fn of(checked: &Checked) -> Self {
        Self {
            bounds: checked.has_bounds(),
            statistical: checked.has_statistical(),
            measured: checked.has_measured(),
            found: checked.adversarial.is_some(),
        }
    }
}

fn columns(there_are: Figures, first: &str) -> Vec<(String, bool)> {
    let mut columns = vec![("verdict", false), (first, false)];
    if there_are.bounds {
        columns.push(("bound", true));
    }
    if there_are.statistical {
        columns.push(("statistical", false));
    }
    columns.extend([("p50", true), ("p99.9", true), ("max", true)]);
    if there_are.found {
        columns.push(("found", true));
    }
    if there_are.measured {
        columns.extend([
            ("measured p50", true),
            ("measured p99", true),
            ("measured max", true),
            ("p50 with stalls", true),
            ("p99 with stalls", true),
            ("measured late or lost", true),
        ]);
    }
    columns.extend([
        ("deadline", true),
        ("margin", true),
        ("lost", true),
        ("where most of it is spent", false),
    ]);
    columns.into_iter().map(|(name, number)| (name.to_owned(), number)).collect()
}

fn streams(checked: &Checked, order: &[usize]) -> DataTable {
    let there_are = Figures::of(checked);
    let rows = order.iter().map(|&index| {
        let stream = checked.stream(index);
        let row = stream_row(checked, there_are, &stream);
        (row, stream.verdict().is_failure())
    });
    DataTable { columns: columns(there_are, "stream"), rows: rows.collect(), filter: true }
}

fn stream_row(checked: &Checked, there_are: Figures, stream: &Stream<'_>) -> Vec<TableCell> {
    let record = stream.record;
    let name = checked.stream_name(stream);
    let said = stream.assessment;
    let name = name_cell(&name, &checked.notes(stream));
    let mut row = vec![mark_cell(said.standing()), name];
    if there_are.bounds {
        row.push(judged_cell(stream.bound, said.bound));
    }
    if there_are.statistical {
        row.push(statistical_cell(stream.statistical));
    }
    let is_over = said.margin.is_some_and(Duration::is_negative);
    let emphasized = |cell: TableCell| if is_over { cell.class("n over") } else { cell };
    let seen = judged_cell(stream.max(), said.simulated);
    let is_late = said.simulated == Standing::Late;
    row.extend([
        time_cell(record.quantile(1, 2)),
        time_cell(record.quantile(999, 1_000)),
        if is_late { seen.class("n over") } else { seen },
    ]);
    row.extend(found_cell(there_are, || std::iter::once(*stream)));
    row.extend(measured_cells(there_are, || std::iter::once(*stream)));
    row.extend([
        time_cell(stream.flow.deadline),
        emphasized(time_cell(said.margin)),
        count_cell(record.dropped),
        blame_cell(checked, stream),
    ]);
    row
}

/// Returns the slowest packet that was found, if one was searched for.
fn found_cell<'a, I: Iterator<Item = Stream<'a>>>(
    there_are: Figures,
    streams: impl Fn() -> I,
) -> Option<TableCell> {
    let found = streams().filter_map(|stream| stream.found);
    let found = found.map(|found| found.latency).max();
    there_are.found.then(|| time_cell(found))
}

/// Returns the slowest median and the slowest packet, if something was measured.
fn measured_cells<'a, I: Iterator<Item = Stream<'a>>>(
    there_are: Figures,
    streams: impl Fn() -> I,
) -> Vec<TableCell> {
    if !there_are.measured {
        return Vec::new();
    }
    let (mut times, mut max, mut missed) = ([None; 4], None, 0);
    for measured in streams().filter_map(|stream| stream.measured) {
        let with_stalls = measured.with_stalls;
        let own = [measured.p50, measured.p99, with_stalls.p50, with_stalls.p99];
        for (slowest, own) in times.iter_mut().zip(own) {
            *slowest = (*slowest).max(own);
        }
        max = max.max(measured.max);
        missed += measured.missed;
    }
    let said = least(streams(), |assessment| assessment.measured);
    let [p50, p99, p50_with, p99_with] = times.map(time_cell);
    let max = judged_cell(max, said);
    vec![p50, p99, max, p50_with, p99_with, count_cell(missed)]
}

fn statistical_cell(said: Option<Statistical>) -> TableCell {
    said.map_or_else(
        || TableCell::text("\u{2013}").sorted_by(""),
        |said| TableCell::text(said.words()).sorted_by(said.late_ratio),
    )
}

fn blame_cell(checked: &Checked, stream: &Stream<'_>) -> TableCell {
    let Some(blame) = stream.assessment.responsible else {
        return TableCell::text("\u{2013}").class("why");
    };
    let part = text::share(blame.delay, blame.of);
    let of = match blame.column {
        Column::Bound => " of the bound:",
        Column::Simulated | Column::Measured => "",
    };
    let words = format!("{}{of} {}", percent(part), checked.place_name(blame.place));
    TableCell::text(words).class("why").sorted_by(format!("{part:.3}"))
}

fn classes(checked: &Checked, groups: &[Group]) -> Markup {
    let there_are = Figures::of(checked);
    let rows = groups.iter().map(|group| {
        let failed = checked.count_of(group.streams.iter().copied()).failed() > 0;
        (class_row(checked, there_are, group), failed)
    });
    let table = DataTable {
        columns: columns(there_are, "class (worst of its streams)"),
        rows: rows.collect(),
        filter: false,
    };
    table.render()
}

fn class_row(checked: &Checked, there_are: Figures, group: &Group) -> Vec<TableCell> {
    let streams = || group.streams.iter().map(|&index| checked.stream(index));
    let worst = checked.stream(group.streams[0]);
    let margin = streams().filter_map(|s| s.assessment.margin).min();
    let is_over = margin.is_some_and(Duration::is_negative);
    let emphasized = |cell: TableCell| if is_over { cell.class("n over") } else { cell };
    let seen = least(streams(), |assessment| assessment.simulated);
    let max = judged_cell(streams().filter_map(|s| s.max()).max(), seen);
    let mut row = vec![
        mark_cell(least(streams(), Assessment::standing)),
        name_cell(class_name(&group.class), &[class_words(checked, group)]),
    ];
    if there_are.bounds {
        let bound = streams().filter_map(|s| s.bound).max();
        let proof = least(streams(), |assessment| assessment.bound);
        row.push(judged_cell(bound, proof));
    }
    if there_are.statistical {
        let said = streams().filter_map(|s| s.statistical);
        row.push(statistical_cell(said.max_by(|a, b| a.late_ratio.total_cmp(&b.late_ratio))));
    }
    row.extend([
        time_cell(streams().filter_map(|s| s.record.quantile(1, 2)).max()),
        time_cell(streams().filter_map(|s| s.record.quantile(999, 1_000)).max()),
        if seen == Standing::Late { max.class("n over") } else { max },
    ]);
    row.extend(found_cell(there_are, streams));
    row.extend(measured_cells(there_are, streams));
    row.extend([
        time_cell(streams().filter_map(|s| s.flow.deadline).min()),
        emphasized(time_cell(margin)),
        count_cell(streams().map(|s| s.record.dropped).sum()),
        blame_cell(checked, &worst),
    ]);
    row
}

/// Returns the number of streams, and of those that failed; the list below has all verdicts.
fn class_words(checked: &Checked, group: &Group) -> String {
    let streams = plural(group.streams.len(), "stream");
    let counts = checked.count_of(group.streams.iter().copied());
    match counts.failed() {
        0 => streams,
        failed => format!("{streams}, {failed} failed"),
    }
}

fn verdict_words(checked: &Checked, group: &Group) -> String {
    let counts = checked.count_of(group.streams.iter().copied());
    format!("{}: {}", plural(counts.streams, "stream"), counts.words())
}

fn class(checked: &Checked, group: &Group, streams: Markup) -> Markup {
    let worst = checked.stream(group.streams[0]);
    let note = element("span").class("note").text(verdict_words(checked, group));
    let mut summary = Markup::text(class_name(&group.class));
    summary.push(note);
    if worst.verdict().is_failure() {
        let (class, words) = mark(worst.standing());
        summary.push(element("span").class(class).text(words));
    }
    details(summary, streams, false)
}

/// Lists every failure reason, with the stream's name.
pub fn reasons(checked: &Checked) -> Markup {
    let order = checked.worst_first().into_iter();
    let with_reasons = order
        .map(|index| checked.stream(index))
        .filter(|stream| !stream.assessment.reasons.is_empty());
    let count = with_reasons.clone().count();
    let rows: Vec<_> = with_reasons
        .take(MOST_ROWS)
        .map(|stream| {
            let name = checked.stream_name(&stream);
            let reasons = stream.assessment.reasons.join("; ");
            let cells = vec![TableCell::text(name).class("name"), TableCell::text(reasons)];
            (cells, stream.verdict().is_failure())
        })
        .collect();
    if rows.is_empty() {
        return Markup::default();
    }
    let names = ["stream", "reason"].map(|name| (name.to_owned(), false));
    let table = DataTable { columns: names.into(), rows, filter: false };
    let mut all = left_out(count, "stream", "failures and small margins");
    all.push(table.render());
    all
}

fn figures(checked: &Checked, streams: &[usize]) -> Markup {
    let names = [
        ("stream", false),
        ("released", true),
        ("delivered", true),
        ("min", true),
        ("mean (95 % confidence)", true),
        ("std", true),
        ("p99 (95 % confidence)", true),
        ("late or lost", true),
        ("95 % rests on", false),
        ("on Ethernet: mean", true),
        ("max", true),
        ("in end nodes", true),
        ("payload", true),
    ];
    let rows = streams.iter().map(|&index| (figures_row(checked, &checked.stream(index)), false));
    let table = DataTable {
        columns: names.map(|(name, number)| (name.to_owned(), number)).into(),
        rows: rows.collect(),
        filter: false,
    };
    table.render()
}

fn figures_row(checked: &Checked, stream: &Stream<'_>) -> Vec<TableCell> {
    let (record, sure) = (stream.record, stream.confidence);
    let some = record.latency.count > 0;
    let p99 = record.quantile(99, 100);
    let between = |value: Option<Duration>, interval: Option<crate::run::Interval>| {
        let Some(value) = value else {
            return time_cell(None);
        };
        let ends = interval.map(|i| match i.high {
            Some(high) => format!(" ({} to {})", time(i.low), time(high)),
            None => format!(" (from {}; above needs more runs)", time(i.low)),
        });
        TableCell::number(format!("{}{}", time(value), ends.unwrap_or_default()), value.as_ps())
    };
    let missed = record.miss_ratio().map_or_else(
        || TableCell::number("\u{2013}", ""),
        |ratio| {
            let ends = sure.miss_ratio.map(|(l, h)| format!(" ({} to {})", percent(l), percent(h)));
            TableCell::number(format!("{}{}", percent(ratio), ends.unwrap_or_default()), ratio)
        },
    );
    let inside = record.node_share();
    let rate = super::super::json::throughput(checked, record);
    vec![
        TableCell::text(checked.stream_name(stream)).class("name"),
        count_cell(record.released),
        count_cell(record.delivered),
        time_cell(some.then_some(record.latency.min)),
        between(record.latency.mean(), sure.mean),
        time_cell(record.latency.standard_deviation()),
        between(p99, sure.p99),
        missed,
        TableCell::text(sure.basis()),
        time_cell(record.ethernet.mean()),
        time_cell((record.ethernet.count > 0).then_some(record.ethernet.max)),
        inside.map_or_else(
            || TableCell::number("\u{2013}", ""),
            |part| TableCell::number(percent(part), part),
        ),
        rate.map_or_else(
            || TableCell::number("\u{2013}", ""),
            |bps| TableCell::number(rtether_model::quantity::BitRate::from_bps(bps), bps),
        ),
    ]
}
