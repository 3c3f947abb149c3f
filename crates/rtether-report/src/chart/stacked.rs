//! Stacked horizontal bars on a common axis, one bar per row, each with a limit.

use super::super::markup::{Element, Markup, element};
use super::super::text::{real_len, shorten};
use super::{Axis, Fitted, entry, figure, key, label};

/// One part of a bar, from left to right.
#[derive(Clone, Debug, PartialEq)]
pub struct StackedPart {
    /// Color: a class of the style sheet.
    pub class: &'static str,
    /// Waiting rather than work: drawn pale with a pattern.
    pub is_wait: bool,
    /// Size in the unit of the axis.
    pub size: f64,
    /// Title text.
    pub title: String,
    /// Highlighted: the part that matters most.
    pub is_marked: bool,
}

/// One bar.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StackedRow {
    /// Text before the bar.
    pub name: String,
    /// Text after the bar.
    pub total: String,
    /// A limit, drawn as a line across the bar.
    pub limit: Option<f64>,
    /// Parts, left to right.
    pub parts: Vec<StackedPart>,
}

/// Bars one below the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StackedChart {
    /// Title.
    pub title: String,
    /// Note next to the title.
    pub note: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Rows, first on top.
    pub rows: Vec<StackedRow>,
    /// Colors in use: class and name.
    pub kinds: Vec<(&'static str, String)>,
    /// Legend entry of what is pale.
    pub pale_name: String,
    /// Legend entry of the limit line.
    pub limit_name: String,
    /// Legend entry of the mark above a bar.
    pub mark_name: String,
}

const WIDTH: f64 = 1_160.0;
const LEFT: f64 = 230.0;
const RIGHT: f64 = 80.0;
const TOP: f64 = 8.0;
const PITCH: f64 = 32.0;
const BAR: f64 = 16.0;
/// Space for the axis below.
const BOTTOM: f64 = 40.0;
/// Limits up to this multiple of the longest bar are included in the axis.
const NEAR: f64 = 1.6;
/// Largest ratio of the longest to the shortest bar on one axis.
const SPREAD: f64 = 6.0;
/// Longest name before a bar, in characters.
const NAME: usize = 34;

impl StackedChart {
    /// Splits rows whose lengths would not fit one axis: longest first, keeping the order inside a
    /// group.
    pub fn by_size(mut rows: Vec<StackedRow>) -> Vec<Vec<StackedRow>> {
        let mut groups = Vec::new();
        while !rows.is_empty() {
            let longest = rows.iter().map(StackedRow::size).fold(0.0, f64::max);
            let is_long = |row: &StackedRow| row.size() * SPREAD >= longest;
            let (long, short) = rows.into_iter().partition(is_long);
            groups.push(long);
            rows = short;
        }
        groups
    }

    /// Returns the chart as a figure with title and legend.
    pub fn render(&self) -> Markup {
        let longest = self.rows.iter().map(StackedRow::size).fold(0.0, f64::max);
        let limits = self.rows.iter().filter_map(|row| row.limit);
        let near = limits.filter(|limit| *limit <= longest * NEAR);
        let end = near.fold(longest, f64::max);
        let x = Fitted::new(&self.x, [0.0, end].into_iter(), 8);
        let height = TOP + PITCH * real_len(self.rows.len()) + BOTTOM;
        let mut svg = element("svg")
            .attr("viewBox", format!("0 0 {WIDTH} {height}"))
            .attr("role", "img")
            .attr("aria-label", &self.title)
            .child(self.draw_axis(&x, height - BOTTOM));
        for (number, row) in self.rows.iter().enumerate() {
            let top = TOP + PITCH * real_len(number) + (PITCH - BAR) / 2.0 + 2.0;
            svg = svg.child(draw_row(row, &x, top));
        }
        let drawn = figure(&self.title, &self.note, svg, Some(self.legend()));
        element("div").class("scroll stacked").child(drawn).into()
    }

    fn draw_axis(&self, x: &Fitted, bottom: f64) -> Markup {
        let mut all = Markup::default();
        for (place, text) in x.ticks() {
            let at = LEFT + place * (WIDTH - LEFT - RIGHT);
            let line = format!("M{at:.1} {TOP}V{bottom:.1}");
            all.push(element("path").class("grid").attr("d", line));
            all.push(label(at, bottom + 16.0, "middle").text(text));
        }
        let middle = f64::midpoint(LEFT, WIDTH - RIGHT);
        let title = label(middle, bottom + 34.0, "middle").class("axis");
        all.push(title.text(x.title(&self.x.label)));
        all
    }

    fn legend(&self) -> Markup {
        let swatch = |class: String| {
            let shape = element("rect").class(class);
            let shape = shape.attr("x", 3).attr("y", 1).attr("width", 20);
            key().child(shape.attr("height", 10))
        };
        let kinds = self.kinds.iter();
        let mut entries: Vec<Element> =
            kinds.map(|(class, name)| entry(swatch(format!("hop {class}")), name)).collect();
        let has =
            |what: fn(&StackedPart) -> bool| self.rows.iter().any(|row| row.parts.iter().any(what));
        if has(|part| part.is_wait) {
            entries.push(entry(swatch("hop wait gray".into()), &self.pale_name));
        }
        if has(|part| part.is_marked) {
            entries.push(entry(key().child(mark(13.0, 9.0)), &self.mark_name));
        }
        if self.rows.iter().any(|row| row.limit.is_some()) {
            let line = element("path").class("rule").attr("d", "M13 0V12");
            entries.push(entry(key().child(line), &self.limit_name));
        }
        element("div").class("legend").children(entries).into()
    }
}

impl StackedRow {
    /// Returns the sum of the parts.
    pub fn size(&self) -> f64 {
        self.parts.iter().map(|part| part.size).sum()
    }
}

fn draw_row(row: &StackedRow, x: &Fitted, top: f64) -> Element {
    let place = |value: f64| LEFT + x.place(value) * (WIDTH - LEFT - RIGHT);
    let name = label(LEFT - 10.0, top + BAR - 4.0, "end").class("axis");
    let mut group = element("g").child(name.text(shorten(&row.name, NAME)));
    let mut from = 0.0;
    let mut marks = Markup::default();
    for part in row.parts.iter().filter(|part| part.size > 0.0) {
        let (left, right) = (place(from), place(from + part.size));
        from += part.size;
        let wait = if part.is_wait { " wait" } else { "" };
        let shape = element("rect")
            .class(format!("hop {}{wait}", part.class))
            .attr("x", format!("{left:.1}"))
            .attr("y", format!("{top:.1}"))
            .attr("width", format!("{:.1}", (right - left).max(0.5)))
            .attr("height", BAR);
        group = group.child(shape.child(element("title").text(&part.title)));
        if part.is_marked {
            marks.push(mark(f64::midpoint(left, right), top - 1.0));
        }
    }
    if let Some(limit) = row.limit.filter(|limit| !x.is_beyond(*limit)) {
        let at = place(limit);
        let line = format!("M{at:.1} {:.1}V{:.1}", top - 5.0, top + BAR + 5.0);
        group = group.child(element("path").class("rule").attr("d", line));
    }
    let total = label(place(from) + 8.0, top + BAR - 4.0, "start").class("axis");
    group.child(marks).child(total.text(&row.total))
}

/// A small triangle whose tip points down.
fn mark(x: f64, tip: f64) -> Element {
    let path = format!("M{:.1} {:.1}h10l-5 6Z", x - 5.0, tip - 6.0);
    element("path").class("hop-mark").attr("d", path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: an XML parser, and positions by hand: a part of half the axis is half as wide.
    #[test]
    fn parts_stand_one_after_the_other() {
        let part = |size, is_wait| StackedPart {
            class: "t-switch",
            is_wait,
            size,
            title: "<switch>".into(),
            is_marked: is_wait,
        };
        let chart = StackedChart {
            title: "Hops".into(),
            x: Axis::time("latency").between(0.0, 1e-3),
            rows: vec![StackedRow {
                name: "a".into(),
                total: "1 ms".into(),
                limit: Some(0.9e-3),
                parts: vec![part(0.5e-3, true), part(0.5e-3, false)],
            }],
            ..StackedChart::default()
        };
        let drawn = chart.render();
        let document = roxmltree::Document::parse(drawn.as_str()).unwrap();
        let bars: Vec<(f64, f64)> = document
            .descendants()
            .filter(|node| node.has_tag_name("rect") && node.attribute("width") != Some("20"))
            .map(|node| {
                let number = |name| node.attribute(name).unwrap().parse().unwrap();
                (number("x"), number("width"))
            })
            .collect();
        assert_eq!(bars, [(230.0, 425.0), (655.0, 425.0)]);
        let marks = document.descendants();
        let marks = marks.filter(|node| node.attribute("class") == Some("hop-mark"));
        // One in the row, one in the legend.
        assert_eq!(marks.count(), 2);
    }
}
