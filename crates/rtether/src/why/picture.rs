//! A timeline as a drawing: a row for each part, over time.

use super::{Cause, Why};
use crate::report::markup::{Element, Markup, element};
use crate::report::text::{percent, share, shorten, time};
use rtether_model::quantity::Instant;

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
        let rows = self.timeline.parts.len();
        #[allow(clippy::cast_precision_loss, reason = "a timeline has few parts")]
        let height = TOP + ROW * rows as f64 + 36.0;
        let headline = self.headline();
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
        for row in 0..rows {
            svg = svg.children(self.row(row, y));
            y += ROW;
        }
        svg.children(legend(y + 8.0)).into()
    }

    /// Draws a part: name, bar, waits and time.
    fn row(&self, row: usize, y: f64) -> Vec<Element> {
        let part = &self.timeline.parts[row];
        let at = |instant: Instant| {
            let done = share(instant - self.timeline.released_at, self.timeline.latency);
            NAMES + done * (WIDTH - NAMES - TIMES)
        };
        let name = self.part_name(part);
        let (left, right) = (at(part.enter), at(part.leave));
        let color = if row.is_multiple_of(2) {
            "#f2f4f7"
        } else {
            "#ffffff"
        };
        let bar = area((left, y + 5.0), ((right - left).max(1.0), ROW - 10.0), OWN);
        let bar = bar.child(element("title").text(format!("{name}: {}", time(part.time()))));
        let mut shapes = vec![
            area((0.0, y), (WIDTH, ROW), color),
            label((12.0, y + 16.0), &shorten(&name, LETTERS)),
            bar,
        ];
        for wait in &part.waits {
            let begin = Ord::max(wait.since, part.enter);
            let (left, right) = (at(begin), at(begin + wait.time));
            let color = color_of(wait.cause);
            let title = format!(
                "{}, {}: {} since {}",
                self.frame_name(wait),
                wait.cause.name(),
                time(wait.time),
                time(wait.since.since_start())
            );
            // A gap tells frames apart.
            let width = (right - left - 0.5).max(0.5);
            let shape = area((left, y + 7.0), (width, ROW - 14.0), color);
            shapes.push(shape.child(element("title").text(title)));
        }
        let part_of = percent(share(part.time(), self.timeline.latency));
        let text = format!("{}  {part_of}", time(part.time()));
        shapes.push(label((WIDTH - 12.0, y + 16.0), &text).attr("text-anchor", "end"));
        shapes
    }
}

const fn color_of(cause: Cause) -> &'static str {
    match cause {
        Cause::InService => "#b45f06",
        Cause::Ahead => "#38618c",
        Cause::Collision => "#a61c1c",
    }
}

/// Draws what the colors mean.
fn legend(y: f64) -> Vec<Element> {
    let entries = [
        (OWN, "the packet's own time, or a pause"),
        (
            color_of(Cause::InService),
            "a frame in service when it came",
        ),
        (color_of(Cause::Ahead), "frames ahead of it"),
        (color_of(Cause::Collision), "collisions"),
    ];
    let mut x = 12.0;
    let mut shapes = Vec::new();
    for (color, text) in entries {
        shapes.push(area((x, y), (12.0, 12.0), color));
        shapes.push(label((x + 18.0, y + 10.0), text));
        x += 240.0;
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
    text.attr("x", format!("{x:.1}"))
        .attr("y", format!("{y:.1}"))
}
