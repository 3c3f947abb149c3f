//! The verdict on every flow.

mod cells;
mod shared;

use std::io::{self, Write};

use rtether_model::quantity::Duration;

use super::about::BESIDE;
use super::checked::{Checked, Group, Stream};
use super::format::{Part, Render};
use super::table::{Screen, Table};
use super::text::{self, percent, plain_line, plural, time, time_or_dash, wrapped};
use super::{csv, json, stages, sums};
use cells::{
    NOT_PROVED, all_channels, all_samples, channel, channels_line, culprit, live, live_missed,
    missed, samples_line, shout, slowest, with_stalls, word, worst_standing, worst_word,
};

/// Up to this number, streams are listed one by one.
pub const MOST_STREAMS: usize = 40;

/// Number of busiest links and nodes named below the table.
const BUSIEST: usize = 3;

/// A column: title, rank on a narrow terminal (the lowest is dropped first, zero never), and whether
/// it holds text.
type Column = (&'static str, u8, bool);

/// Columns behind the name and the texts beside it.
const FIGURES: [Column; 24] = [
    ("streams", 0, false),
    ("bound", 2, false),
    ("proof", 6, true),
    ("statistical", 9, true),
    ("p50", 4, false),
    ("p99.9", 5, false),
    ("max", 0, false),
    ("found", 1, false),
    ("live p50", 4, false),
    ("live p99", 4, false),
    ("live p99.9", 5, false),
    ("live max", 2, false),
    ("p50 with stalls", 3, false),
    ("p99 with stalls", 3, false),
    ("live missed", 3, false),
    ("measured", 6, true),
    ("channel", 3, true),
    ("deadline", 0, false),
    ("margin", 6, false),
    ("packets", 7, false),
    ("lost", 0, false),
    ("missed", 0, false),
    ("verdict", 0, true),
    ("most of it", 8, true),
];

/// All columns.
const COLUMNS: [Column; 1 + BESIDE.len() + FIGURES.len()] = {
    let mut all = [("flow", 0, true); 1 + BESIDE.len() + FIGURES.len()];
    let mut at = 0;
    while at < BESIDE.len() {
        all[1 + at] = (BESIDE[at].0, BESIDE[at].1, true);
        at += 1;
    }
    let (_, figures) = all.split_at_mut(1 + BESIDE.len());
    figures.copy_from_slice(&FIGURES);
    all
};
const MISSED: usize = COLUMNS.len() - 3;
const LIVE_MISSED: usize = COLUMNS.len() - 10;
const VERDICT: usize = COLUMNS.len() - 2;

/// Cells of one row, in the order of [`COLUMNS`]; empty where the column does not apply.
type Row = Vec<String>;

/// The verdict on every flow of a plant, in all formats.
#[derive(Clone, Copy, Debug)]
pub struct Verdicts<'a> {
    /// What is said.
    pub checked: &'a Checked,
    /// One row per stream, for any number of streams.
    pub all: bool,
    /// What JSON holds besides.
    pub json: json::Options,
}

impl<'a> From<&'a Checked> for Verdicts<'a> {
    fn from(checked: &'a Checked) -> Self {
        Self { checked, all: false, json: json::Options::default() }
    }
}

impl Render for Verdicts<'_> {
    fn parts(&self, screen: Screen) -> Vec<Part> {
        let Self { checked, all, .. } = *self;
        let mut drawn = table(checked, all).draw(screen);
        if screen.color {
            drawn = colored(&drawn);
        }
        let title = plain_line(&checked.scenario.name);
        let mut parts = vec![format!("{title}\n{drawn}\n\n").into()];
        let sums = sums::table(checked);
        if !sums.is_empty() {
            parts.extend([sums.into(), Part::Lines("\n".into())]);
        }
        let stages = stages::table(checked);
        if !stages.is_empty() {
            parts.extend([stages.into(), Part::Lines("\n".into())]);
        }
        parts.extend(shared::parts(checked, all));
        parts.extend(help(checked, screen.width));
        parts.push(footer(checked, screen.width).into());
        parts
    }

    fn document(&self) -> Vec<Part> {
        let Self { checked, all, .. } = *self;
        let title = Part::Lines(format!("# {}\n", checked.scenario.name));
        let table = Part::Table(table(checked, all));
        let mut parts = vec![title, table];
        let sums = sums::table(checked);
        let stages = stages::table(checked);
        let more = [sums, stages].into_iter().filter(|table| !table.is_empty());
        parts.extend(more.map(Part::Table));
        parts.extend(shared::tables(checked, all).into_iter().map(Part::Table));
        parts.extend(help(checked, None));
        parts.push(footer(checked, None).into());
        parts
    }

    fn rows(&self) -> Table {
        csv::flows(self.checked)
    }

    fn json(&self) -> String {
        json::text(self.checked, self.json)
    }

    fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        json::write(self.checked, self.json, out)
    }
}

/// Returns what would help the stream that failed worst.
fn help(checked: &Checked, width: Option<u16>) -> Vec<Part> {
    let Some(help) = &checked.help else {
        return Vec::new();
    };
    let name = plain(&checked.stream_name(&checked.stream(help.stream)));
    let lines = |text: &str| Part::Lines(wrapped(&plain_line(text), width, 0) + "\n");
    let mut parts = vec![lines(&help.title(&name))];
    if help.has_table() {
        parts.push(help.table().into());
    }
    let remark = help.remark();
    if !remark.is_empty() {
        parts.push(lines(&remark));
    }
    parts.push(Part::Lines("\n".into()));
    parts
}

/// Returns a row per stream, or per class if there are many streams.
fn table(checked: &Checked, all: bool) -> Table {
    let columns = COLUMNS.iter().enumerate();
    let rows = columns.fold(Table::of(rows(checked, all)), |rows, (index, &(title, rank, _))| {
        let cell = |row: &Row| Some(row[index].clone()).filter(|cell| !cell.is_empty());
        let rows = if is_text(index) { rows.shown(title, cell) } else { rows.amount(title, cell) };
        let rows = rows.rank(rank);
        if index == 0 { rows } else { rows.optional() }
    });
    rows.done()
}

fn rows(checked: &Checked, all: bool) -> Vec<Row> {
    let streams = checked.results.record.streams.len();
    let mut rows: Vec<Row> = if all || streams <= MOST_STREAMS {
        let order = checked.worst_first();
        let rows = order.into_iter();
        rows.map(|index| stream_row(checked, &checked.stream(index))).collect()
    } else {
        let groups = checked.groups();
        let rows = groups.iter();
        rows.map(|group| group_row(checked, group)).collect()
    };
    // The columns are useful only if a deadline was missed.
    for column in [MISSED, LIVE_MISSED] {
        if rows.iter().all(|row| matches!(&*row[column], "" | "0")) {
            for row in &mut rows {
                row[column].clear();
            }
        }
    }
    rows
}

fn stream_row(checked: &Checked, stream: &Stream<'_>) -> Row {
    let record = stream.record;
    let name = std::iter::once(plain(&checked.stream_name(stream)));
    let beside = BESIDE.map(|(_, _, text)| plain(&text(checked, stream)));
    let figures = [
        String::new(),
        stream.bound.map_or_else(String::new, time),
        word(stream.assessment.bound),
        stream.statistical.map_or_else(String::new, |said| said.words()),
        time_or_dash(record.quantile(1, 2)),
        time_or_dash(record.quantile(999, 1_000)),
        time_or_dash(stream.max()),
        stream.found.map_or_else(String::new, |found| time(found.latency)),
        live(stream, |measured| measured.p50),
        live(stream, |measured| measured.p99),
        live(stream, |measured| measured.p999),
        live(stream, |measured| measured.max),
        with_stalls([*stream], |of| of.p50, |with| with.p50),
        with_stalls([*stream], |of| of.p99, |with| with.p99),
        live_missed([*stream]),
        word(stream.assessment.measured),
        channel(record.channel.as_ref()),
        time_or_dash(stream.flow.deadline),
        time_or_dash(stream.assessment.margin),
        record.delivered.to_string(),
        record.dropped.to_string(),
        missed(std::iter::once(*stream)),
        shout(stream.standing()),
        culprit(checked, stream),
    ];
    name.chain(beside).chain(figures).collect()
}

/// Fills each column with the worst value among the streams of the class.
fn group_row(checked: &Checked, group: &Group) -> Row {
    let streams = || group.streams.iter().map(|&index| checked.stream(index));
    let worst = checked.stream(group.streams[0]);
    let counts = checked.count_of(group.streams.iter().copied());
    let largest = |value: &dyn Fn(&Stream<'_>) -> Option<Duration>| {
        time_or_dash(streams().filter_map(|s| value(&s)).max())
    };
    let least = |value: &dyn Fn(&Stream<'_>) -> Option<Duration>| {
        time_or_dash(streams().filter_map(|s| value(&s)).min())
    };
    let failed = match counts.failed() {
        0 => counts.streams.to_string(),
        failed => format!("{}, {failed} failed", counts.streams),
    };
    let bound = streams().filter_map(|s| s.bound).max();
    let found = streams().filter_map(|s| s.found).map(|found| found.latency);
    let found = found.max();
    let proofs = streams().map(|s| s.assessment.bound);
    let measured = streams().map(|s| s.assessment.measured);
    let likeliest = streams().filter_map(|s| s.statistical);
    let likeliest = likeliest.max_by(|a, b| a.late_ratio.total_cmp(&b.late_ratio));
    let name = std::iter::once(plain(class_name(&group.class)));
    let beside = BESIDE.map(|_| String::new());
    let figures = [
        failed,
        bound.map_or_else(String::new, time),
        worst_word(proofs),
        likeliest.map_or_else(String::new, |said| said.words()),
        largest(&|s| s.record.quantile(1, 2)),
        largest(&|s| s.record.quantile(999, 1_000)),
        largest(&|s| s.max()),
        found.map_or_else(String::new, time),
        slowest(streams(), |measured| measured.p50),
        slowest(streams(), |measured| measured.p99),
        slowest(streams(), |measured| measured.p999),
        slowest(streams(), |measured| measured.max),
        with_stalls(streams(), |of| of.p50, |with| with.p50),
        with_stalls(streams(), |of| of.p99, |with| with.p99),
        live_missed(streams()),
        worst_word(measured),
        channel(all_channels(streams()).as_ref()),
        least(&|s| s.flow.deadline),
        least(&|s| s.assessment.margin),
        streams().map(|s| s.record.delivered).sum::<u64>().to_string(),
        streams().map(|s| s.record.dropped).sum::<u64>().to_string(),
        missed(streams()),
        shout(worst_standing(streams().map(|s| s.standing()))),
        culprit(checked, &worst),
    ];
    name.chain(beside).chain(figures).collect()
}

/// Returns the class name, or a placeholder for flows without a class.
pub fn class_name(class: &str) -> &str {
    if class.is_empty() { "(no class)" } else { class }
}

/// Returns a name without control characters, so that it cannot act as a terminal command,
/// shortened to 60 characters.
fn plain(name: &str) -> String {
    text::shorten(&plain_line(name), 60)
}

const fn is_text(column: usize) -> bool {
    COLUMNS[column].2
}

/// Colors the verdicts, located by the position of their column.
fn colored(table: &str) -> String {
    let title = COLUMNS[VERDICT].0;
    let header = table.lines().find(|line| line.contains(title));
    let Some(place) = header.and_then(|line| {
        let at = line.find(title)?;
        Some(line[..at].chars().count())
    }) else {
        return table.to_owned();
    };
    let lines = table.lines().map(|line| colored_line(line, place));
    lines.collect::<Vec<_>>().join("\n")
}

fn colored_line(line: &str, place: usize) -> String {
    let Some((at, _)) = line.char_indices().nth(place) else {
        return line.to_owned();
    };
    let (head, tail) = line.split_at(at);
    let word = if tail.starts_with(NOT_PROVED) {
        NOT_PROVED
    } else {
        tail.split(' ').next().unwrap_or_default()
    };
    let color = match word {
        "proved" => "32",
        "held" => "36",
        "LATE" | "LOST" | NOT_PROVED => "1;31",
        "no-answer" => "33",
        _ => return line.to_owned(),
    };
    format!("{head}\u{1b}[{color}m{word}\u{1b}[0m{}", &tail[word.len()..])
}

/// Returns the busiest links and nodes, and the verdict in words, in lines of limited width.
fn footer(checked: &Checked, width: Option<u16>) -> String {
    let record = &checked.results.record;
    let observed = record.observed;
    let mut ports: Vec<_> = record.ports.iter().collect();
    ports.sort_by(|a, b| b.utilization(observed).total_cmp(&a.utilization(observed)));
    let links = ports.iter().take(BUSIEST).map(|port| {
        let node = checked.node_name(port.port.node);
        let peer = checked.peer_name(port.port).unwrap_or("-");
        format!("{node} > {peer} {}", percent(port.utilization(observed)))
    });
    let mut nodes: Vec<_> = record.nodes.iter().collect();
    nodes.sort_by_key(|node| std::cmp::Reverse(node.stack_busy));
    let busy = nodes.iter().filter(|node| node.stack_busy > Duration::ZERO);
    let stacks = busy.take(BUSIEST).map(|node| {
        let load = percent(node.stack_utilization(observed));
        format!("{} {load}", checked.node_name(node.node))
    });
    let list = |title: &str, entries: Vec<String>| {
        if entries.is_empty() {
            return String::new();
        }
        let line = format!("{title} {}", plain_list(&entries));
        wrapped(&line, width, title.len() + 1) + "\n"
    };
    let statistical = if checked.has_statistical() {
        wrapped(crate::bound::MODEL, width, 0) + "\n"
    } else {
        String::new()
    };
    let channels = all_channels(checked.streams());
    let channels = channels.as_ref().map(channels_line).unwrap_or_default();
    let samples = all_samples(checked.streams());
    let samples = samples.as_ref().map(samples_line).unwrap_or_default();
    let runs = plural(checked.results.seeds.len(), "run");
    let length = time(record.duration);
    format!(
        "{}{}{}{}{statistical}simulated      {runs} of {length}\n{}\n",
        list("busiest links ", links.collect()),
        list("busiest stacks", stacks.collect()),
        list("channels      ", channels),
        list("samples       ", samples),
        wrapped(&plain_line(&checked.summary()), width, 0),
    )
}

fn plain_list(entries: &[String]) -> String {
    let entries: Vec<String> = entries.iter().map(|entry| plain(entry)).collect();
    entries.join(", ")
}
