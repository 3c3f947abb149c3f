//! Bounds as a section of a report, and as a separate page.

use rtether_bounds::{Analysis, Bound, HopBound, PortBound, StackBound, StreamBound};
use rtether_model::quantity::Duration;
use rtether_model::record::Segment;
use rtether_report::chart::{Axis, StackedChart, StackedPart, StackedRow};
use rtether_report::markup::{Markup, element};
use rtether_report::page::{self, DataTable, Page, TableCell, Tone, details};
use rtether_report::text::{count, percent, plural, time};

use super::conclusion::conclusion;
use super::condition::only_if;
use super::names::Names;
use super::output::{share, signed};
use super::{Judged, MODEL, Statistical, counts, reason, responsible, statistical, verdict};
use crate::place::place_name;
use crate::scenario::Scenario;

/// Largest number of streams in the table, least slack first.
const MOST_STREAMS: usize = 400;
/// Largest number of streams whose hops are drawn; of more streams, the drawing is behind a line that
/// opens it.
const MOST_DRAWN: usize = 24;
/// Largest number of ports and of stacks in their tables, busiest first.
const MOST_PLACES: usize = 100;

/// Introduction of the section.
pub(crate) const NOTE: &str = "Proved for any phases and any seed; a proof that needs a place to drop nothing names it. Least slack first. Statistical results are shown separately and are not bounds.";

/// Returns the bounds as one self-contained page.
pub fn html(scenario: &Scenario, analysis: &Analysis) -> String {
    let found = counts(scenario, analysis);
    let (tone, word) = match found {
        super::Counts { late: 1.., .. } => (Tone::Bad, "\u{2717} a bound exceeds its deadline"),
        super::Counts { unknown: 1.., .. } => (Tone::Neutral, "? a deadline has no bound"),
        super::Counts { if_delivered: 1.., .. } | super::Counts { if_nothing_dropped: 1.., .. } => {
            (Tone::Neutral, "? a bound is a proof only if nothing is dropped")
        }
        super::Counts { ok: 1.., .. } => (Tone::Good, "\u{2713} every bound meets its deadline"),
        super::Counts { .. } => (Tone::Neutral, "no deadlines"),
    };
    let conclusion = conclusion(scenario, analysis);
    let word = format!("{}: {word}", conclusion.word());
    let closest = analysis.streams.iter();
    let closest = closest.filter_map(|s| Some((s.bound.as_ref().ok()?.slack?, s)));
    let sentence = closest.min_by_key(|(slack, _)| *slack).map(|(slack, s)| {
        let name = &scenario.flows[s.flow.index()].name;
        format!("Least slack: {name}, {}.", signed(slack))
    });
    let tiles = [
        (analysis.streams.len(), "streams"),
        (found.ok, "proved"),
        (found.if_delivered, "proved if delivered"),
        (found.if_nothing_dropped, "proved if nothing is dropped"),
        (found.late, "not proved"),
        (found.unknown, "without a bound"),
        (found.unjudged, "without a deadline"),
    ];
    let tiles = tiles.map(|(number, meaning)| (number.to_string(), meaning.to_owned()));
    Page::new(&scenario.name)
        .kicker("Proved bounds on the delay from application to application")
        .lead(page::banner(tone, &word, &sentence.unwrap_or_default()))
        .lead(page::figures(&tiles))
        .section("bounds", "Bounds", NOTE, streams(scenario, analysis))
        .section("ports", "Ports", PORTS_NOTE, ports(scenario, analysis))
        .section("stacks", "Stacks", STACKS_NOTE, stacks(scenario, analysis))
        .render()
}

/// Returns the same as the body of one section of another report.
pub(crate) fn section(scenario: &Scenario, analysis: &Analysis) -> Markup {
    let mut all = streams(scenario, analysis);
    let mut place = |title, note, body| {
        let mut inner = Markup::from(element("p").class("note").text(note));
        inner.push(body);
        all.push(details(Markup::text(title), inner, false));
    };
    place("Bounds of ports", PORTS_NOTE, ports(scenario, analysis));
    place("Bounds of stacks", STACKS_NOTE, stacks(scenario, analysis));
    all
}

const PORTS_NOTE: &str = "Utilization is the offered wire time. Memory is the largest backlog, \
    without the frame in transmission.";
const STACKS_NOTE: &str = "Stacks that take no time are left out.";

/// Returns the positions of all streams: not proved, without a bound, then least slack first.
fn order(scenario: &Scenario, analysis: &Analysis) -> Vec<usize> {
    let key = |index: usize| {
        let stream = &analysis.streams[index];
        let bound = stream.bound.as_ref().ok();
        let slack = bound.and_then(|bound| bound.slack);
        let rank = match verdict(scenario, (stream, analysis.condition(index))) {
            super::NOT_PROVED => 0,
            "no-bound" => 1,
            super::IF_DELIVERED | super::IF_NOTHING_DROPPED => 2,
            "ok" => 3,
            _ => 4,
        };
        let longest = std::cmp::Reverse(bound.map(|bound| bound.latency));
        (rank, slack, longest)
    };
    let mut order: Vec<usize> = (0..analysis.streams.len()).collect();
    order.sort_by_key(|&index| key(index));
    order
}

fn streams(scenario: &Scenario, analysis: &Analysis) -> Markup {
    let found = statistical(scenario);
    let has_statistical = found.iter().any(Option::is_some);
    let mut columns = vec![
        ("verdict", false),
        ("stream", false),
        ("bound", true),
        ("deadline", true),
        ("slack", true),
        ("method", false),
    ];
    if has_statistical {
        columns.push(("statistical", false));
    }
    columns.push(("largest part, or why there is no bound", false));
    let order = order(scenario, analysis);
    let names = Names::new(scenario);
    let rows = order.iter().take(MOST_STREAMS).map(|&index| {
        let stream = &analysis.streams[index];
        let said = found.get(index).copied().flatten();
        let cell = has_statistical.then(|| statistical_cell(said));
        let judged = (stream, analysis.condition(index));
        let only = judged.1.map(|own| only_if(&names, analysis, own));
        let row = stream_row((scenario, &names), judged, only, cell);
        (row, verdict(scenario, judged) == super::NOT_PROVED)
    });
    let mut all = data_table(&columns, rows.collect());
    if order.len() > MOST_STREAMS {
        let rest = order.len() - MOST_STREAMS;
        let words = format!("{} with more slack left out.", plural(rest, "stream"));
        all.push(element("p").class("note").text(words));
    }
    if has_statistical {
        all.push(element("p").class("note").text(MODEL));
    }
    let hops = hops(scenario, analysis, &order);
    if order.len() > MOST_DRAWN {
        all.push(details(Markup::text("Parts of the bounds"), hops, false));
    } else {
        all.push(hops);
    }
    all
}

fn stream_row(
    (scenario, names): (&Scenario, &Names<'_>),
    judged: Judged<'_>,
    only: Option<String>,
    statistical: Option<TableCell>,
) -> Vec<TableCell> {
    let stream = judged.0;
    let flow = &scenario.flows[stream.flow.index()];
    let name = |id| scenario.network.node(id).name.as_str();
    let way = format!("{} > {}", name(flow.talker), name(stream.listener));
    let bound = stream.bound.as_ref().ok();
    let slack = bound.and_then(|bound| bound.slack);
    let slack_cell = slack.map_or_else(none, |s| TableCell::number(signed(s), s.as_ps()));
    let is_over = slack.is_some_and(Duration::is_negative);
    let named = TableCell::text(&flow.name).class("name");
    let named = if way == flow.name { named } else { named.noted(way) };
    let mut row = vec![
        only.into_iter().fold(mark(verdict(scenario, judged)), TableCell::noted),
        named,
        bound.map_or_else(none, |bound| time_cell(bound.latency)),
        flow.deadline.map_or_else(none, time_cell),
        if is_over { slack_cell.class("n over") } else { slack_cell },
        TableCell::text(bound.map_or("\u{2013}", |bound| bound.method.name())),
    ];
    row.extend(statistical);
    row.push(TableCell::text(remark(scenario, names, stream)).class("why"));
    row
}

fn statistical_cell(said: Option<Statistical>) -> TableCell {
    said.map_or_else(
        || TableCell::text("\u{2013}"),
        |said| TableCell::text(said.words()).sorted_by(said.late_ratio),
    )
}

fn remark(scenario: &Scenario, names: &Names<'_>, stream: &StreamBound) -> String {
    match &stream.bound {
        Ok(bound) => responsible(names, bound)
            .map_or_else(String::new, |(place, share)| format!("{} {place}", percent(share))),
        Err(why) => reason(scenario, why),
    }
}

/// Returns a verdict as a word with a sign; failures come first in ascending order.
fn mark(verdict: &str) -> TableCell {
    let (class, sign, weight) = match verdict {
        super::NOT_PROVED => ("mark bad", "\u{2717}", 0),
        "no-bound" => ("mark warn", "?", 1),
        "ok" => ("mark good", "\u{2713}", 3),
        _ => ("mark none", "\u{2013}", 2),
    };
    let word = super::words(verdict);
    TableCell::mark(class, format!("{sign} {word}")).sorted_by(weight)
}

/// Draws the hops of the bounds with the least slack.
fn hops(scenario: &Scenario, analysis: &Analysis, order: &[usize]) -> Markup {
    let bounded = order.iter().filter_map(|&index| {
        let stream = &analysis.streams[index];
        Some((stream, stream.bound.as_ref().ok()?))
    });
    let mut kinds = Vec::new();
    let rows = bounded.take(MOST_DRAWN).map(|(stream, bound)| {
        let flow = &scenario.flows[stream.flow.index()];
        for hop in &bound.hops {
            let kind = (class(hop), hop.place.segment.name().to_owned());
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        let name = if flow.listeners.len() == 1 {
            flow.name.clone()
        } else {
            let listener = &scenario.network.node(stream.listener).name;
            format!("{} > {listener}", flow.name)
        };
        StackedRow {
            name,
            total: time(bound.latency),
            limit: flow.deadline.map(Duration::as_secs_f64),
            parts: parts(scenario, bound),
        }
    });
    let rows: Vec<StackedRow> = rows.collect();
    let drawn = rows.len();
    kinds.sort();
    let charts = StackedChart::by_size(rows).into_iter().enumerate().map(|(number, rows)| {
        let (title, note) = match number {
            0 if drawn < analysis.streams.len() => {
                ("Parts of the bounds", format!("{}, least slack first", plural(drawn, "stream")))
            }
            0 => ("Parts of the bounds", String::new()),
            _ => ("The same, shorter bounds", String::new()),
        };
        let chart = StackedChart {
            title: title.into(),
            note,
            x: Axis::time("latency at most"),
            rows,
            kinds: kinds.clone(),
            pale_name: "pale: waiting".into(),
            limit_name: "deadline".into(),
            mark_name: "the hop that contributes most".into(),
        };
        chart.render()
    });
    charts.collect()
}

/// Returns waits and passages of all hops.
fn parts(scenario: &Scenario, bound: &Bound) -> Vec<StackedPart> {
    let most = bound.responsible();
    let hops = bound.hops.iter().flat_map(|hop| {
        let is_most = most.is_some_and(|most| std::ptr::eq(most, hop));
        let place = place_name(scenario, hop.place);
        let part = |span: Duration, is_wait: bool, word: &str| StackedPart {
            class: class(hop),
            is_wait,
            size: span.as_secs_f64(),
            title: format!("{place}: {word} {}", time(span)),
            is_marked: is_most && is_wait == (hop.queueing > hop.passage),
        };
        [part(hop.queueing, true, "waiting"), part(hop.passage, false, "service or transmission")]
    });
    hops.collect()
}

/// Returns the color class of a hop.
fn class(hop: &HopBound) -> &'static str {
    match hop.place.segment {
        Segment::TalkerStack => "f-talker",
        Segment::DriverQueue | Segment::MediumAccess | Segment::Wire => "f-driver",
        Segment::SwitchQueue | Segment::SwitchLatency => "f-switch",
        Segment::ReceiveStack | Segment::ReceiveQueue => "f-receive",
        Segment::Application | Segment::Protocol => "f-app",
    }
}

fn ports(scenario: &Scenario, analysis: &Analysis) -> Markup {
    let columns = [
        ("port", false),
        ("utilization", false),
        ("longest wait", true),
        ("memory (octets)", true),
    ];
    let mut ports: Vec<&PortBound> = analysis.ports.iter().collect();
    ports.sort_by_key(|port| std::cmp::Reverse(port.utilization_ppm.unwrap_or(u64::MAX)));
    let names = Names::new(scenario);
    let rows = ports.into_iter().take(MOST_PLACES).map(|port| {
        let backlog = port.backlog.map(rtether_model::quantity::Bytes::get);
        let row = vec![
            TableCell::text(names.port(port.port)).class("name"),
            load(port.utilization_ppm),
            port.queueing.map_or_else(none, time_cell),
            backlog.map_or_else(none, |octets| TableCell::number(count(octets), octets)),
        ];
        (row, is_overloaded(port.utilization_ppm))
    });
    data_table(&columns, rows.collect())
}

fn stacks(scenario: &Scenario, analysis: &Analysis) -> Markup {
    let columns = [
        ("stack", false),
        ("serves", false),
        ("utilization", false),
        ("longest wait", true),
        ("packets waiting", true),
    ];
    let mut stacks: Vec<&StackBound> = analysis.stacks.iter().collect();
    stacks.sort_by_key(|stack| std::cmp::Reverse(stack.utilization_ppm.unwrap_or(u64::MAX)));
    let rows = stacks.into_iter().take(MOST_PLACES).map(|stack| {
        let serves = if stack.is_receiver { "receive" } else { "send" };
        let waiting = stack.waiting;
        let row = vec![
            TableCell::text(&scenario.network.node(stack.node).name).class("name"),
            TableCell::text(serves),
            load(stack.utilization_ppm),
            stack.queueing.map_or_else(none, time_cell),
            waiting.map_or_else(none, |number| TableCell::number(count(number), number)),
        ];
        (row, is_overloaded(stack.utilization_ppm))
    });
    data_table(&columns, rows.collect())
}

fn is_overloaded(ppm: Option<u64>) -> bool {
    ppm.is_some_and(|ppm| ppm >= 1_000_000)
}

fn load(ppm: Option<u64>) -> TableCell {
    match ppm {
        Some(ppm) => TableCell::gauge(share(ppm)).sorted_by(ppm),
        None => TableCell::text("unlimited").sorted_by(u64::MAX),
    }
}

/// Returns a time that is sorted by its value, not by the digits shown.
fn time_cell(span: Duration) -> TableCell {
    TableCell::number(time(span), span.as_ps())
}

fn none() -> TableCell {
    TableCell::number("\u{2013}", "")
}

fn data_table(columns: &[(&str, bool)], rows: Vec<(Vec<TableCell>, bool)>) -> Markup {
    let columns = columns.iter();
    DataTable {
        columns: columns.map(|(name, number)| ((*name).to_owned(), *number)).collect(),
        filter: rows.len() > 8,
        rows,
    }
    .render()
}
