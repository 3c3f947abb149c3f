//! SVG charts, drawn without a browser and readable without JavaScript.
//!
//! Colors are those of [`super::page`] and safe for color-blind readers; series also differ by dash
//! or marker, and each is named in a legend.

mod columns;
mod scale;
mod stacked;
mod tail;

pub use columns::{Column, ColumnChart};
pub(crate) use scale::Fitted;
pub use scale::{Axis, Quantity, Scale};
pub use stacked::{StackedChart, StackedPart, StackedRow};
pub use tail::{Tail, TailChart};

use super::markup::{Element, Markup, element};
use super::text::real_len;

/// How a series is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Points joined by straight lines.
    #[default]
    Line,
    /// Each value holds until the next point, as in a cumulative distribution.
    Steps,
    /// Markers only, for published values.
    Markers,
    /// Straight lines with markers.
    LineAndMarkers,
}

/// A series of points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Points in ascending x.
    pub points: Vec<(f64, f64)>,
    /// Drawing style.
    pub style: Style,
}

/// A vertical line at an x value.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The x value.
    pub at: f64,
    /// Text beside it.
    pub label: String,
    /// The limit it marks.
    pub kind: RuleKind,
}

/// Kinds of vertical lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleKind {
    /// A required limit.
    Deadline,
    /// A proved bound.
    Bound,
}

/// Ranges of accepted values along the x axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Band {
    /// Name in the legend.
    pub name: String,
    /// x, lowest and highest accepted value.
    pub points: Vec<(f64, f64, f64)>,
}

/// Lines, steps and markers over two axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineChart {
    /// Title.
    pub title: String,
    /// Note next to the title.
    pub note: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Series; at most eight can be told apart.
    pub series: Vec<Series>,
    /// Vertical lines.
    pub rules: Vec<Rule>,
    /// Accepted ranges.
    pub bands: Vec<Band>,
}

/// Size of a chart and of its plot area, in drawing units.
pub(crate) const WIDTH: f64 = 440.0;
pub(crate) const HEIGHT: f64 = 250.0;
pub(crate) const LEFT: f64 = 46.0;
pub(crate) const RIGHT: f64 = 12.0;
pub(crate) const TOP: f64 = 30.0;
pub(crate) const BOTTOM: f64 = 38.0;

/// Number of colors, dashes and markers.
const KINDS: usize = 8;

/// The plot area and its axes.
pub(crate) struct Plot {
    pub(crate) x: Fitted,
    pub(crate) y: Fitted,
}

impl Plot {
    pub(crate) fn x(&self, value: f64) -> f64 {
        LEFT + self.x.place(value) * (WIDTH - LEFT - RIGHT)
    }

    pub(crate) fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - self.y.place(value) * (HEIGHT - TOP - BOTTOM)
    }
}

impl LineChart {
    /// Returns the chart as a figure with title and legend.
    pub fn render(&self) -> Markup {
        self.render_with(|_| Markup::default())
    }

    /// Draws something over the series.
    fn render_with(&self, over: impl FnOnce(&Plot) -> Markup) -> Markup {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let bands = || self.bands.iter().flat_map(|band| &band.points);
        let rules = self.rules.iter().map(|rule| rule.at);
        let xs = points().map(|p| p.0).chain(bands().map(|p| p.0)).chain(rules);
        let ys = points().map(|p| p.1).chain(bands().flat_map(|p| [p.1, p.2]));
        let plot = Plot { x: Fitted::new(&self.x, xs, 5), y: Fitted::new(&self.y, ys, 5) };
        let mut svg = canvas(&self.title);
        svg = svg.child(draw_vertical(&plot, &self.y));
        svg = svg.child(draw_horizontal(&plot, &self.x));
        svg = svg.children(self.bands.iter().map(|band| draw_band(&plot, band)));
        svg = svg.children(self.rules.iter().enumerate().map(|(i, r)| draw_rule(&plot, i, r)));
        let numbered = self.series.iter().enumerate();
        svg = svg.children(numbered.map(|(kind, series)| draw_series(&plot, kind % KINDS, series)));
        svg = svg.child(over(&plot));
        figure(&self.title, &self.note, svg, self.legend())
    }

    fn legend(&self) -> Option<Markup> {
        if self.series.len() + self.bands.len() < 2 {
            return None;
        }
        let series = self.series.iter().enumerate().map(|(kind, series)| {
            let mut key = key().class(format!("key s{}", kind % KINDS));
            if series.style != Style::Markers {
                key = key.child(element("path").class("line").attr("d", "M1 6H25"));
            }
            if matches!(series.style, Style::Markers | Style::LineAndMarkers) {
                key = key.child(marker(kind % KINDS, 13.0, 6.0));
            }
            entry(key, &series.name)
        });
        let bands = self.bands.iter().map(|band| {
            let shape = element("path").class("band").attr("d", "M1 1H25V11H1Z");
            entry(key().class("key").child(shape), &band.name)
        });
        Some(element("div").class("legend").children(series.chain(bands)).into())
    }
}

fn key() -> Element {
    let size = |svg: Element| svg.attr("width", 26).attr("height", 12);
    size(element("svg").attr("viewBox", "0 0 26 12")).attr("aria-hidden", "true")
}

fn entry(key: Element, name: &str) -> Element {
    element("span").child(key).text(name)
}

/// Starts a drawing.
pub(crate) fn canvas(title: &str) -> Element {
    element("svg")
        .attr("viewBox", format!("0 0 {WIDTH} {HEIGHT}"))
        .attr("role", "img")
        .attr("aria-label", title)
}

/// Wraps a drawing in a figure with title and legend.
pub(crate) fn figure(title: &str, note: &str, svg: Element, legend: Option<Markup>) -> Markup {
    let mut caption = element("figcaption").child(element("b").text(title));
    if !note.is_empty() {
        caption = caption.child(element("span").class("note").text(note));
    }
    let figure = element("figure").class("chart").child(caption).child(svg);
    figure.child(legend.unwrap_or_default()).into()
}

/// Draws grid lines and numbers of the vertical axis.
pub(crate) fn draw_vertical(plot: &Plot, axis: &Axis) -> Markup {
    let mut all = Markup::default();
    for (place, text) in plot.y.ticks() {
        let y = HEIGHT - BOTTOM - place * (HEIGHT - TOP - BOTTOM);
        let line = format!("M{LEFT} {y:.1}H{:.1}", WIDTH - RIGHT);
        all.push(element("path").class("grid").attr("d", line));
        let label = label(LEFT - 6.0, y + 4.0, "end");
        all.push(label.text(text));
    }
    let (x, y) = (11.0, (TOP + HEIGHT - BOTTOM) / 2.0);
    let turn = format!("rotate(-90 {x} {y:.1})");
    let title = plot.y.title(&axis.label);
    all.push(label(x, y, "middle").attr("transform", turn).class("axis").text(title));
    all
}

/// Draws base line, ticks and numbers of the horizontal axis.
fn draw_horizontal(plot: &Plot, axis: &Axis) -> Markup {
    let mut all = Markup::default();
    let bottom = HEIGHT - BOTTOM;
    let mut free_from = 0.0;
    for (place, text) in plot.x.ticks() {
        let x = LEFT + place * (WIDTH - LEFT - RIGHT);
        let tick = format!("M{x:.1} {bottom}v4");
        all.push(element("path").class("tick").attr("d", tick));
        // Numbers that would overlap their neighbor are left out.
        let half = real_len(text.chars().count()) * 3.3;
        if x - half >= free_from {
            free_from = x + half + 6.0;
            let x = x.min(WIDTH - half - 1.0);
            all.push(label(x, bottom + 16.0, "middle").text(text));
        }
    }
    let base = format!("M{LEFT} {bottom}H{:.1}", WIDTH - RIGHT);
    all.push(element("path").class("base").attr("d", base));
    let title = match axis.scale {
        Scale::Linear => plot.x.title(&axis.label),
        Scale::Log => format!("{}, log scale", plot.x.title(&axis.label)),
    };
    let middle = (LEFT + WIDTH - RIGHT) / 2.0;
    all.push(label(middle, HEIGHT - 5.0, "middle").class("axis").text(title));
    all
}

/// Starts a text element.
pub(crate) fn label(x: f64, y: f64, anchor: &str) -> Element {
    element("text")
        .attr("x", format!("{x:.1}"))
        .attr("y", format!("{y:.1}"))
        .attr("text-anchor", anchor)
}

fn draw_band(plot: &Plot, band: &Band) -> Markup {
    let there = band.points.iter().map(|&(x, low, _)| (x, low));
    let back = band.points.iter().rev().map(|&(x, _, high)| (x, high));
    let outline: Vec<String> =
        there.chain(back).map(|(x, y)| format!("{:.1},{:.1}", plot.x(x), plot.y(y))).collect();
    let shape = element("polygon").class("band").attr("points", outline.join(" "));
    shape.into()
}

fn draw_rule(plot: &Plot, number: usize, rule: &Rule) -> Markup {
    let (x, bottom) = (plot.x(rule.at), HEIGHT - BOTTOM);
    let kind = match rule.kind {
        RuleKind::Deadline => "deadline",
        RuleKind::Bound => "bound",
    };
    // Labels are above the data, neighbors at different heights.
    let y = TOP - 5.0 - 13.0 * real_len(number % 2);
    if plot.x.is_beyond(rule.at) {
        let text = format!("{} \u{2192}", rule.label);
        let label = label(WIDTH - RIGHT, y, "end").class(format!("rule-label {kind}"));
        return label.text(text).into();
    }
    if plot.x.is_before(rule.at) {
        let text = format!("\u{2190} {}", rule.label);
        let label = label(LEFT, y, "start").class(format!("rule-label {kind}"));
        return label.text(text).into();
    }
    let line = element("path").class(format!("rule {kind}"));
    let mut all = Markup::from(line.attr("d", format!("M{x:.1} {TOP}V{bottom}")));
    let half = real_len(rule.label.chars().count()) * 3.9;
    let middle = x.min(WIDTH - half - 1.0).max(LEFT + half);
    let label = label(middle, y, "middle").class(format!("rule-label {kind}"));
    all.push(label.text(&rule.label));
    all
}

fn draw_series(plot: &Plot, kind: usize, series: &Series) -> Markup {
    let places = series.points.iter().map(|&(x, y)| (plot.x(x), plot.y(y)));
    let places: Vec<(f64, f64)> = places.collect();
    let mut group = element("g").class(format!("s{kind}"));
    if series.style != Style::Markers && !places.is_empty() {
        let kept = thin(&places);
        let path = path(&kept, series.style == Style::Steps);
        group = group.child(element("path").class("line").attr("d", path));
    }
    if matches!(series.style, Style::Markers | Style::LineAndMarkers) {
        group = group.children(places.iter().map(|&(x, y)| marker(kind, x, y)));
    }
    group.into()
}

fn path(places: &[(f64, f64)], steps: bool) -> String {
    let numbered = places.iter().enumerate();
    let parts = numbered.map(|(number, (x, y))| match (number, steps) {
        (0, _) => format!("M{x:.1} {y:.1}"),
        (_, true) => format!("H{x:.1}V{y:.1}"),
        (_, false) => format!("L{x:.1} {y:.1}"),
    });
    parts.collect()
}

/// Thins out points for display: keeps the first, lowest, highest and last of each screen column.
fn thin(places: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut kept = Vec::new();
    for column in places.chunk_by(|a, b| same(a.0.floor(), b.0.floor())) {
        let by_height = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let ends = [column.first(), column.iter().min_by(by_height)];
        let others = [column.iter().max_by(by_height), column.last()];
        let mut seen: Vec<(f64, f64)> = ends.into_iter().chain(others).flatten().copied().collect();
        seen.sort_by(|a, b| a.0.total_cmp(&b.0));
        seen.dedup_by(|a, b| same(a.0, b.0) && same(a.1, b.1));
        kept.extend(seen);
    }
    kept
}

fn same(a: f64, b: f64) -> bool {
    a.total_cmp(&b).is_eq()
}

/// Draws the marker of a series.
pub(crate) fn marker(kind: usize, x: f64, y: f64) -> Element {
    let shape = match kind % 4 {
        0 => "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0",
        1 => "m-3.5-3.5h7v7h-7z",
        2 => "m0-5l5 5l-5 5l-5-5z",
        _ => "m0-4.5l4.5 8h-9z",
    };
    let path = format!("M{x:.1} {y:.1}{shape}");
    element("path").class("marker").attr("d", path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_peaks_and_ends() {
        let mut places: Vec<(f64, f64)> =
            (0..10_000u32).map(|i| (f64::from(i) / 100.0, 5.0)).collect();
        places[4_321].1 = 99.0;
        let kept = thin(&places);
        assert!(kept.len() <= 400, "{}", kept.len());
        assert!(kept.contains(&(43.21, 99.0)));
        assert_eq!(kept.first(), places.first());
        assert_eq!(kept.last(), places.last());
    }

    #[test]
    fn a_chart_without_data_is_still_a_chart() {
        let chart = LineChart::default().render();
        assert!(roxmltree::Document::parse(chart.as_str()).is_ok());
    }

    #[test]
    fn all_parts_are_drawn() {
        let series = |style| Series {
            name: format!("{style:?}"),
            points: vec![(1e-6, 0.0), (2e-6, 0.5), (5e-4, 1.0)],
            style,
        };
        let styles = [Style::Line, Style::Steps, Style::Markers, Style::LineAndMarkers];
        let chart = LineChart {
            title: "<all>".into(),
            note: "n = 3".into(),
            x: Axis::time("latency").log(),
            y: Axis::share("packets"),
            series: styles.map(series).into(),
            rules: vec![Rule {
                at: 1e-4,
                label: "deadline 100 us".into(),
                kind: RuleKind::Deadline,
            }],
            bands: vec![Band {
                name: "accepted".into(),
                points: vec![(1e-6, 0.1, 0.2), (1e-5, 0.1, 0.3)],
            }],
        };
        insta::assert_snapshot!(chart.render().as_str().replace("><", ">\n<"));
    }
}
