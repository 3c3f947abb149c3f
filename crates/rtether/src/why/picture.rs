//! Timelines as drawings: a row for each part, over time.

use rtether_model::quantity::Duration;
use rtether_report::markup::{Element, Markup, element};
use rtether_report::text::{percent, share, shorten, time};

use super::{Why, WhyBound};
use crate::timeline::{Bar, Bars, Kind};

const WIDTH: f64 = 960.0;
const NAMES: f64 = 300.0;
const TIMES: f64 = 130.0;
const ROW: f64 = 24.0;
const TOP: f64 = 56.0;
/// Color of a part.
const OWN: &str = "#8fb3d9";
/// Longest name of a part, in letters.
const LETTERS: usize = 42;

impl Why<'_> {
    /// Draws the timeline as SVG. Bars are the packet's time in each part; what other frames took of it
    /// is dark, and says which frame in its title.
    pub fn draw(&self) -> Markup {
        draw(&self.headline(), &self.bars(), "its own time, or a pause")
    }
}

impl WhyBound<'_> {
    /// Draws the parts of the bound as SVG, waits behind other packets in dark, with the flow in
    /// their titles; `None` without a bound.
    pub fn draw(&self) -> Option<Markup> {
        Some(draw(&self.headline(), &self.bars()?, "fixed times"))
    }
}

const fn color_of(kind: Kind) -> &'static str {
    match kind {
        Kind::InService => "#b45f06",
        Kind::Ahead => "#38618c",
        Kind::Higher => "#6a3d9a",
        Kind::Collision => "#a61c1c",
        Kind::Earlier => "#4b5563",
    }
}

/// Draws bars below a headline, and a legend.
fn draw(headline: &str, all: &Bars, own: &str) -> Markup {
    #[allow(clippy::cast_precision_loss, reason = "a timeline has few parts")]
    let height = TOP + ROW * all.bars.len() as f64 + 36.0;
    let mut lines = headline.lines();
    let mut svg = element("svg")
        .attr("xmlns", "http://www.w3.org/2000/svg")
        .attr("viewBox", format!("0 0 {WIDTH} {height}"))
        .attr("font-family", "system-ui, sans-serif")
        .attr("font-size", 12)
        .child(element("title").text(headline.trim_end()))
        .child(area((0.0, 0.0), (WIDTH, height), "#ffffff"));
    for (y, size) in [(20.0, 15), (38.0, 12)] {
        let line = lines.next().unwrap_or_default();
        svg = svg.child(label((12.0, y), line).attr("font-size", size));
    }
    let mut y = TOP;
    for (row, bar) in all.bars.iter().enumerate() {
        svg = svg.children(draw_bar(row, y, bar, all.whole));
        y += ROW;
    }
    let mut colors = vec![(OWN, own)];
    colors.extend(all.kinds().map(|kind| (color_of(kind), kind.meaning())));
    svg.children(legend(y + 8.0, &colors)).into()
}

/// Draws a part: name, bar, waits and time.
fn draw_bar(row: usize, y: f64, part: &Bar, whole: Duration) -> Vec<Element> {
    let at = |since: Duration| NAMES + share(since, whole) * (WIDTH - NAMES - TIMES);
    let (left, right) = (at(part.begin), at(part.end));
    let color = if row.is_multiple_of(2) { "#f2f4f7" } else { "#ffffff" };
    let length = part.end - part.begin;
    let bar = area((left, y + 5.0), ((right - left).max(1.0), ROW - 10.0), OWN);
    let bar = bar.child(element("title").text(format!("{}: {}", part.name, time(length))));
    let mut shapes = vec![
        area((0.0, y), (WIDTH, ROW), color),
        label((12.0, y + 16.0), &shorten(&part.name, LETTERS)),
        bar,
    ];
    for wait in &part.waits {
        let (left, right) = (at(wait.begin), at(wait.begin + wait.time));
        // A gap tells frames apart.
        let width = (right - left - 0.5).max(0.5);
        let shape = area((left, y + 7.0), (width, ROW - 14.0), color_of(wait.kind));
        shapes.push(shape.child(element("title").text(&wait.title)));
    }
    let text = format!("{}  {}", time(length), percent(share(length, whole)));
    shapes.push(label((WIDTH - 12.0, y + 16.0), &text).attr("text-anchor", "end"));
    shapes
}

/// Draws what the colors mean.
fn legend(y: f64, entries: &[(&str, &str)]) -> Vec<Element> {
    let mut x = 12.0;
    let mut shapes = Vec::new();
    #[allow(clippy::cast_precision_loss, reason = "a handful of colors")]
    let step = 960.0 / entries.len() as f64;
    for (color, text) in entries {
        shapes.push(area((x, y), (12.0, 12.0), color));
        shapes.push(label((x + 18.0, y + 10.0), text));
        x += step;
    }
    shapes
}

fn area((x, y): (f64, f64), (width, height): (f64, f64), fill: &str) -> Element {
    element("rect")
        .attr("x", format!("{x:.1}"))
        .attr("y", format!("{y:.1}"))
        .attr("width", format!("{width:.1}"))
        .attr("height", format!("{height:.1}"))
        .attr("fill", fill)
}

fn label((x, y): (f64, f64), text: &str) -> Element {
    let text = element("text").text(text);
    text.attr("x", format!("{x:.1}")).attr("y", format!("{y:.1}"))
}
