//! How tight bounds are, in all formats.

use rtether_model::quantity::Duration;
use rtether_report::chart::{Axis, StackedChart, StackedPart, StackedRow};
use rtether_report::document::{self, Document};
use rtether_report::format::{Part, Render};
use rtether_report::markup::{Markup, element};
use rtether_report::number::Ns;
use rtether_report::page::{self, DataTable, Page, TableCell, Tone};
use rtether_report::table::{Cell, Screen, Table};
use rtether_report::text::{percent, plain_line, plural, time, time_or_dash};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Gap, Interval, Tightness};
use crate::bound;
use crate::words::Conclusion;

/// Most streams that are drawn, the loosest first.
const MOST_DRAWN: usize = 60;

/// How tight the bounds of a scenario are.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TightnessJson<'a> {
    /// Title of the scenario.
    scenario: &'a str,
    conclusion: Conclusion,
    /// The result in words.
    summary: String,
    /// Plants that were tried.
    tried: u64,
    /// Seed of the search.
    seed: u64,
    /// Whether a signal ended it early.
    partial: bool,
    /// Streams of which the largest delay that was found is the least that is proved, to a nanosecond.
    closed: usize,
    /// Middle and least quotient of found and proved; `null` without any.
    ratio: Option<RatiosJson>,
    /// Each stream.
    streams: Vec<IntervalJson<'a>>,
}

impl Document for TightnessJson<'_> {
    const SCHEMA: &'static str = "rtether.tightness/1";
}

#[derive(Clone, Copy, Serialize, JsonSchema)]
struct RatiosJson {
    /// Half of the streams have at least this.
    median: f64,
    /// The least of all.
    least: f64,
}

#[derive(Serialize, JsonSchema)]
struct IntervalJson<'a> {
    /// Name of the flow.
    flow: &'a str,
    /// Name of the listener.
    listener: &'a str,
    /// Largest delay that was found; `null` if no packet arrived.
    found_ns: Option<Ns>,
    /// Longest delay that is proved; `null` without a bound.
    proved_ns: Option<Ns>,
    /// Found over proved.
    ratio: Option<f64>,
    /// Deadline of the flow.
    deadline_ns: Option<Ns>,
    /// Why there is no bound, or of what it is a proof only.
    lack: Option<&'a str>,
    /// Where most of the distance comes from, if any is known.
    gap: Option<GapJson<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct GapJson<'a> {
    /// The place.
    place: &'a str,
    /// Time there by the bound.
    proved_ns: Ns,
    /// Time of the packet there.
    found_ns: Ns,
    /// Whose packets the bound counts for longest beyond those that the packet waited for.
    flow: Option<&'a str>,
}

impl Tightness<'_> {
    fn flow(&self, own: &Interval) -> &str {
        self.scenario.flow_name(own.stream.flow)
    }

    fn talker(&self, own: &Interval) -> &str {
        let flow = &self.scenario.flows[own.stream.flow.index()];
        &self.scenario.network.node(flow.talker).name
    }

    fn listener(&self, own: &Interval) -> &str {
        &self.scenario.network.node(own.stream.listener).name
    }

    fn deadline(&self, own: &Interval) -> Option<Duration> {
        self.scenario.flows[own.stream.flow.index()].deadline
    }

    /// Returns the verdict of the bounds, or that one of them is contradicted.
    pub const fn conclusion(&self) -> Conclusion {
        self.conclusion
    }

    fn ratios(&self) -> Option<RatiosJson> {
        let mut all: Vec<f64> = self.streams.iter().filter_map(Interval::ratio).collect();
        all.sort_by(f64::total_cmp);
        Some(RatiosJson { median: *all.get(all.len() / 2)?, least: *all.first()? })
    }

    fn closed(&self) -> usize {
        self.streams.iter().filter(|own| own.is_closed()).count()
    }

    /// Returns the result in a sentence.
    pub fn summary(&self) -> String {
        let all = plural(self.streams.len(), "stream");
        let unbounded = self.streams.iter().filter(|own| own.proved.is_none()).count();
        let unbounded = unbounded - self.counts.0.unknown;
        let without = match unbounded {
            0 => String::new(),
            number => format!(", {number} without a bound or deadline"),
        };
        let ratios = self.ratios().map_or_else(String::new, |own| {
            format!(
                " Of what is proved, {} was found in the median and {} at least, {} to the nanosecond.",
                percent(own.median),
                percent(own.least),
                match self.closed() {
                    0 => "none".to_owned(),
                    closed => plural(closed, "stream"),
                }
            )
        });
        let unseen = self.streams.iter().filter(|own| own.is_open() && own.gap.is_none()).count();
        let unseen = match unseen {
            0 => String::new(),
            number => {
                format!(" The gaps of {} were not looked at in time.", plural(number, "stream"))
            }
        };
        let cut = if self.is_cut { ", interrupted" } else { "" };
        let tried = format!(" {} plants tried (seed {}{cut}).", self.tried, self.seed);
        let why = self.verdict();
        self.conclusion.sentence(&format!("{all}{without}{why}.{ratios}{unseen}{tried}"))
    }

    /// Returns what the verdict rests on, if it is not that all is well.
    fn verdict(&self) -> String {
        let beyond = self.streams.iter().filter(|own| own.is_contradicted()).count();
        let (counts, sums) = self.counts;
        let bound::Counts { late, unknown, if_delivered, if_nothing_dropped, .. } = counts;
        let all = [
            (beyond, "found beyond the bound, which is a defect of rtether (please report it)"),
            (late, "with a bound beyond the deadline"),
            (sums, "sums of bounds beyond their limits"),
            (unknown, "with a deadline and no bound"),
            (if_delivered, "proved if delivered"),
            (if_nothing_dropped, "proved if nothing is dropped"),
        ];
        let all = all.iter().filter(|(count, _)| *count > 0);
        all.map(|(count, words)| format!(", {count} {words}")).collect::<Vec<_>>().concat()
    }

    fn gap_words(&self, gap: &Gap) -> String {
        let whose = gap.flow.map_or_else(String::new, |flow| {
            format!(", mostly for `{}`", self.scenario.flow_name(flow))
        });
        format!("{}: {} for {}{whose}", gap.place, time(gap.proved), time(gap.found))
    }

    fn why(&self, own: &Interval) -> String {
        let gap = own.gap.as_ref().map(|gap| self.gap_words(gap));
        let closed = own.is_closed().then(|| "none, to a nanosecond".to_owned());
        gap.or(closed).or_else(|| own.lack.clone()).unwrap_or_default()
    }

    fn table(&self) -> Table {
        Table::of(&self.streams)
            .both("flow", "flow", |own| self.flow(own))
            .shown("talker > listener", |own| {
                format!("{} > {}", self.talker(own), self.listener(own))
            })
            .rank(2)
            .file("talker", |own| self.talker(own))
            .file("listener", |own| self.listener(own))
            .number("found", "found_ns", |own| own.found)
            .number("proved", "proved_ns", |own| own.proved)
            .number("ratio", "ratio", |own| {
                own.ratio()
                    .map_or_else(Cell::default, |ratio| Cell::from(ratio).shown(percent(ratio)))
            })
            .number("deadline", "deadline_ns", |own| self.deadline(own))
            .shown("most of the gap", |own| self.why(own))
            .rank(1)
            .file("gap_place", |own| own.gap.as_ref().map(|gap| gap.place.clone()))
            .file("gap_proved_ns", |own| own.gap.as_ref().map(|gap| gap.proved))
            .file("gap_found_ns", |own| own.gap.as_ref().map(|gap| gap.found))
            .file("gap_flow", |own| {
                let flow = own.gap.as_ref().and_then(|gap| gap.flow);
                flow.map(|flow| self.scenario.flow_name(flow).to_owned())
            })
            .file("lack", |own| own.lack.clone())
            .done()
    }
}

impl Render for Tightness<'_> {
    fn parts(&self, _: Screen) -> Vec<Part> {
        vec![
            format!("{}\n", plain_line(&self.scenario.name)).into(),
            self.table().into(),
            format!("\n{}\n", self.summary()).into(),
        ]
    }

    /// One row for each stream.
    fn rows(&self) -> Table {
        self.table()
    }

    fn json(&self) -> String {
        let streams = self.streams.iter().map(|own| IntervalJson {
            flow: self.flow(own),
            listener: self.listener(own),
            found_ns: own.found.map(Ns),
            proved_ns: own.proved.map(Ns),
            ratio: own.ratio(),
            deadline_ns: self.deadline(own).map(Ns),
            lack: own.lack.as_deref(),
            gap: own.gap.as_ref().map(|gap| GapJson {
                place: &gap.place,
                proved_ns: Ns(gap.proved),
                found_ns: Ns(gap.found),
                flow: gap.flow.map(|flow| self.scenario.flow_name(flow)),
            }),
        });
        document::text(&TightnessJson {
            scenario: &self.scenario.name,
            conclusion: self.conclusion,
            summary: self.summary(),
            tried: self.tried,
            seed: self.seed,
            partial: self.is_cut,
            closed: self.closed(),
            ratio: self.ratios(),
            streams: streams.collect(),
        })
    }
}

/// Returns the intervals as one self-contained page.
pub fn page(tightness: &Tightness<'_>) -> String {
    let tone = match tightness.conclusion {
        Conclusion::Met => Tone::Good,
        Conclusion::Failed | Conclusion::Contradiction => Tone::Bad,
        Conclusion::NoAnswer | Conclusion::Unmeasured | Conclusion::Interrupted => Tone::Neutral,
    };
    let word = tightness.conclusion.word();
    let sentence = tightness.summary();
    let sentence = sentence
        .strip_prefix(word)
        .map_or(sentence.as_str(), |rest| rest.trim_start_matches(['.', ' ']));
    Page::new(&tightness.scenario.name)
        .kicker("How tight proved bounds are")
        .lead(page::banner(tone, word, sentence))
        .section("intervals", "Intervals", NOTE, intervals(tightness))
        .render()
}

const NOTE: &str = "The longest delay that can occur lies between the largest that a search has found \
    and the least that is proved. Loosest first.";

/// Returns streams with both ends, the loosest first.
fn loosest<'a>(tightness: &'a Tightness<'_>) -> Vec<&'a Interval> {
    let mut streams: Vec<&Interval> = tightness.streams.iter().collect();
    streams.sort_by(|a, b| {
        let [a, b] = [a, b].map(|own| own.ratio().unwrap_or(f64::INFINITY));
        a.total_cmp(&b)
    });
    streams
}

fn intervals(tightness: &Tightness<'_>) -> Markup {
    let streams = loosest(tightness);
    let drawn = streams.iter().filter(|own| own.ratio().is_some());
    let rows: Vec<StackedRow> = drawn.take(MOST_DRAWN).map(|own| bar(tightness, own)).collect();
    let note = match tightness.streams.len() - rows.len() {
        0 => String::new(),
        _ => format!("the loosest {} of {}", rows.len(), plural(tightness.streams.len(), "stream")),
    };
    let charts = StackedChart::by_size(rows).into_iter().enumerate().map(|(number, rows)| {
        let chart = StackedChart {
            title: if number == 0 { "Found and proved" } else { "The same, shorter delays" }.into(),
            note: if number == 0 { note.clone() } else { String::new() },
            x: Axis::time("longest delay"),
            rows,
            kinds: vec![("f-talker", "found".to_owned())],
            pale_name: "proved, not found".into(),
            limit_name: "deadline".into(),
            mark_name: String::new(),
        };
        chart.render()
    });
    let mut all: Markup = charts.collect();
    all.push(table(tightness, &streams));
    all.push(element("p").class("note").text(
        "Most of the gap: the place at which the bound allows most beyond what the packet took there, \
         and whose packets it counts that were not ahead of it.",
    ));
    all
}

fn bar(tightness: &Tightness<'_>, own: &Interval) -> StackedRow {
    let found = own.found.unwrap_or_default();
    let proved = own.proved.unwrap_or_default();
    let ends = [
        (false, found, format!("found: {}", time(found))),
        (
            true,
            proved.max(found) - found,
            format!("proved: {}; {}", time(proved), tightness.why(own)),
        ),
    ];
    let parts = ends.map(|(is_wait, span, title)| StackedPart {
        class: "f-talker",
        is_wait,
        size: span.as_secs_f64(),
        title,
        is_marked: false,
    });
    StackedRow {
        name: own.stream.name(tightness.scenario),
        total: time(proved),
        limit: tightness.deadline(own).map(Duration::as_secs_f64),
        parts: parts.into(),
    }
}

/// Returns a time that is sorted by its value.
fn cell(span: Option<Duration>) -> TableCell {
    let order = span.map_or_else(String::new, |own| own.as_ps().to_string());
    TableCell::number(time_or_dash(span), order)
}

fn table(tightness: &Tightness<'_>, streams: &[&Interval]) -> Markup {
    let rows = streams.iter().map(|own| {
        let ratio = own.ratio();
        let row = vec![
            TableCell::text(own.stream.name(tightness.scenario)).class("name"),
            cell(own.found),
            cell(own.proved),
            ratio.map_or_else(
                || TableCell::number("\u{2013}", ""),
                |ratio| TableCell::gauge(ratio).sorted_by(ratio),
            ),
            cell(tightness.deadline(own)),
            // Names have no marks on a page.
            TableCell::text(tightness.why(own).replace('`', "")).class("why"),
        ];
        (row, own.is_contradicted())
    });
    let columns = [
        ("stream", false),
        ("found", true),
        ("proved", true),
        ("ratio", false),
        ("deadline", true),
        ("most of the gap", false),
    ];
    DataTable {
        columns: columns.map(|(name, number)| (name.to_owned(), number)).into(),
        filter: streams.len() > 8,
        rows: rows.collect(),
    }
    .render()
}
