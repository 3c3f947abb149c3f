//! Latency: distributions, shares and time series.

use rtether_model::quantity::Duration;
use rtether_model::record::{Bucket, Segment};

use super::super::bars::{self, Bar, Part};
use super::super::chart::{Axis, LineChart, Rule, RuleKind, Series, Style, Tail, TailChart};
use super::super::markup::Markup;
use super::super::page::{DataTable, TableCell, details, folded, grid};
use super::super::text::{count, real_len, share, time};
use super::subtitle;
use super::view::{View, joined};
use crate::measured::Distribution;

/// Distributions and bars shown of many: one row on a typical screen.
const FIRST: usize = 3;
/// Ratio of largest to typical time above which an axis is logarithmic.
const LOG_FROM: f64 = 8.0;
/// Part of an axis kept free for numbers of packets.
const COUNTS: f64 = 0.2;
/// Most points of a time series.
const MOST_SLICES: usize = 150;

/// Draws one distribution per view.
pub(super) fn distributions(views: &[View<'_>]) -> Markup {
    folded(views.iter().map(distribution).collect(), FIRST, "charts", grid)
}

fn distribution(view: &View<'_>) -> Markup {
    let name = match (&view.measured, &view.worst_stream) {
        (Some(_), _) => "simulated",
        (None, Some(_)) => "all streams",
        (None, None) => "latency",
    };
    let tail = |name: String, histogram, latency| Tail { name, histogram, latency };
    let mut tails = vec![tail(name.into(), &view.histogram, &view.latency)];
    let packets = count(view.latency.count);
    let mut note = format!("{packets} packets");
    if let Some(Distribution { latency, histogram }) = &view.measured {
        tails.push(tail("measured".into(), histogram, latency));
        note = format!("{packets} packets, {} measured", count(latency.count));
    }
    if let Some((name, stream)) = &view.worst_stream {
        let name = format!("slowest: {name}");
        tails.push(tail(name, &stream.record.histogram, &stream.record.latency));
    }
    let mut rules = limits(view);
    rules.sort_by(|a, b| a.at.total_cmp(&b.at));
    let chart =
        TailChart { title: view.title.clone(), note, x: axis_of(view, &rules), tails, rules };
    chart.render()
}

/// Returns an axis that spans the data and all limits, with room for numbers of packets behind them.
fn axis_of(view: &View<'_>, rules: &[Rule]) -> Axis {
    let measured = view.measured.as_ref().map(|measured| &measured.latency);
    let all = || std::iter::once(&view.latency).chain(measured);
    let min = all().map(|one| one.min).min().unwrap_or_default();
    let max = all().map(|one| one.max).max().unwrap_or_default();
    let (min, max) = (min.as_secs_f64(), max.as_secs_f64());
    let limits = || rules.iter().map(|rule| rule.at);
    let (start, end) = (limits().fold(min, f64::min), limits().fold(max, f64::max));
    let typical = view.histogram.quantile(1, 2).unwrap_or(view.latency.max);
    let axis = Axis::time("latency");
    if start > 0.0 && end / typical.as_secs_f64().max(1e-12) > LOG_FROM {
        let low = start / 1.1;
        return axis.log().between(low, end * libm::pow(end / low, COUNTS));
    }
    let room = ((end - start) * 0.05).max(end * 0.001);
    let low = (start - room).max(0.0);
    axis.between(low, end + (end - low).max(room) * COUNTS)
}

fn limits(view: &View<'_>) -> Vec<Rule> {
    let deadlines = view.deadlines.iter().map(|&deadline| Rule {
        at: deadline.as_secs_f64(),
        label: format!("deadline {}", time(deadline)),
        kind: RuleKind::Deadline,
    });
    let bound = view.bound.map(|bound| Rule {
        at: bound.as_secs_f64(),
        label: format!("bound {}", time(bound)),
        kind: RuleKind::Bound,
    });
    deadlines.chain(bound).collect()
}

/// Draws the parts of the mean latency and of the worst packet for each view.
pub(super) fn shares(views: &[View<'_>]) -> Markup {
    let is_used = |segment: &Segment| {
        let used = |view: &View<'_>| view.segments_ps[segment.index()] > 0;
        let of_worst = |view: &View<'_>| {
            view.worst.is_some_and(|worst| worst.segments[segment.index()] > Duration::ZERO)
        };
        views.iter().any(|view| used(view) || of_worst(view))
    };
    let segments: Vec<Segment> = Segment::ALL.into_iter().filter(is_used).collect();
    let entries: Vec<_> = segments.iter().map(|s| (class(*s), s.name().to_owned())).collect();
    let mut all = bars::legend(&entries);
    let mean = views.iter().map(|view| {
        let parts = view.mean_segments();
        let total = view.latency.mean().unwrap_or_default();
        bar(&view.title, view.note.clone(), total, &parts)
    });
    all.push(subtitle("Mean"));
    all.push(folded_bars(mean.collect()));
    let worst = views.iter().filter_map(|view| {
        let worst = view.worst?;
        Some(bar(&view.title, view.blame.clone(), worst.latency, &worst.segments))
    });
    all.push(subtitle("Worst packet"));
    all.push(folded_bars(worst.collect()));
    all.push(details(Markup::text("Numbers"), numbers(views, &segments), false));
    all
}

fn folded_bars(bars: Vec<Bar>) -> Markup {
    let drawn = |bars: Vec<Bar>| bars::shares(&bars);
    folded(bars, FIRST, "bars", drawn)
}

fn bar(name: &str, note: String, total: Duration, parts: &[Duration; Segment::COUNT]) -> Bar {
    let parts = Segment::ALL.map(|segment| {
        let span = parts[segment.index()];
        Part {
            class: class(segment),
            name: segment.name().into(),
            size: span.as_secs_f64(),
            value: time(span),
        }
    });
    Bar { name: name.into(), note, total: time(total), parts: parts.into() }
}

fn class(segment: Segment) -> String {
    format!("t{}", segment.index())
}

fn numbers(views: &[View<'_>], segments: &[Segment]) -> Markup {
    let mut columns = vec![(String::new(), false), (String::new(), false)];
    columns.extend(segments.iter().map(|segment| (segment.name().to_owned(), true)));
    columns.push(("total".into(), true));
    columns.push(("in end nodes".into(), true));
    let row = |view: &View<'_>, kind: &str, parts: [Duration; Segment::COUNT], total: Duration| {
        let inside = Segment::ALL.iter().filter(|segment| segment.is_in_node());
        let inside: Duration = inside.map(|segment| parts[segment.index()]).sum();
        let cell = |span: Duration| TableCell::time(Some(span));
        let mut cells = vec![TableCell::text(&view.title).class("name"), TableCell::text(kind)];
        cells.extend(segments.iter().map(|segment| cell(parts[segment.index()])));
        cells.push(cell(total));
        let part = share(inside, total);
        cells.push(TableCell::number(super::super::text::percent(part), part));
        (cells, false)
    };
    let mut rows = Vec::new();
    for view in views {
        let mean = view.latency.mean().unwrap_or_default();
        rows.push(row(view, "mean", view.mean_segments(), mean));
        if let Some(worst) = view.worst {
            rows.push(row(view, "worst packet", worst.segments, worst.latency));
        }
    }
    let table = DataTable { columns, rows, filter: false };
    table.render()
}

/// Draws mean and largest latency over time for each view with time buckets.
pub(super) fn over_time(views: &[View<'_>], length: Duration) -> Markup {
    let with_slices = views.iter().filter(|view| view.buckets.len() > 1);
    let charts: Vec<Markup> = with_slices.map(|view| course(view, length)).collect();
    if charts.is_empty() {
        return Markup::default();
    }
    folded(charts, 0, "charts", grid)
}

fn course(view: &View<'_>, length: Duration) -> Markup {
    let per_point = view.buckets.len().div_ceil(MOST_SLICES);
    let slices = view
        .buckets
        .chunks(per_point)
        .map(|slices| slices.iter().fold(Bucket::default(), |all, slice| joined(&all, slice)));
    let width = length.as_secs_f64() * real_len(per_point);
    let (mut mean, mut max) = (Vec::new(), Vec::new());
    for (number, slice) in slices.enumerate() {
        let Some(value) = slice.mean() else { continue };
        let at = (real_len(number) + 0.5) * width;
        mean.push((at, value.as_secs_f64()));
        max.push((at, slice.max.as_secs_f64()));
    }
    let end = length.as_secs_f64() * real_len(view.buckets.len());
    let line = |name: &str, points| Series { name: name.into(), points, style: Style::Line };
    let mut series = vec![line("mean", mean), line("largest", max)];
    // A deadline far above would flatten the curves.
    let top = view.latency.max * 3;
    for deadline in view.deadlines.iter().filter(|deadline| **deadline <= top) {
        let at = deadline.as_secs_f64();
        series.push(line(&format!("deadline {}", time(*deadline)), vec![(0.0, at), (end, at)]));
    }
    LineChart {
        title: view.title.clone(),
        note: view.deadline_words(),
        x: Axis::time("time since start").between(0.0, end),
        y: Axis::time("latency"),
        series,
        ..LineChart::default()
    }
    .render()
}
