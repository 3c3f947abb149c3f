//! Stacked horizontal bars: parts of a whole, one bar per row.
//!
//! Plain HTML, so that text keeps its size on any screen. Parts differ by color and pattern, show
//! their share if it fits, and have the value in a title.

use super::markup::{Markup, element};
use super::text::percent;

/// One part of a bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Color and pattern: a class of the style sheet.
    pub class: String,
    /// Name of the part.
    pub name: String,
    /// Size in any unit.
    pub size: f64,
    /// Size as text.
    pub value: String,
}

/// One row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bar {
    /// Text before the bar.
    pub name: String,
    /// Smaller text below the name.
    pub note: String,
    /// Text after the bar.
    pub total: String,
    /// Parts, left to right.
    pub parts: Vec<Part>,
}

/// Smallest share with room for its label.
const LABEL_FROM: f64 = 0.07;
/// Smallest share with room for its label on a narrow screen.
const NARROW_FROM: f64 = 0.13;

/// Draws the rows; every bar has full width, so that shares can be compared.
pub fn shares(bars: &[Bar]) -> Markup {
    let rows = bars.iter().map(|bar| {
        let name = element("div").class("bar-name").text(&bar.name);
        let note = element("small").text(&bar.note);
        let total = element("div").class("bar-total").text(&bar.total);
        let row = element("div").class("bar-row").child(name.child(note));
        row.child(stack(bar)).child(total)
    });
    element("div").class("bars").children(rows).into()
}

fn stack(bar: &Bar) -> Markup {
    let whole: f64 = bar.parts.iter().map(|part| part.size).sum();
    let shown = || bar.parts.iter().filter(|part| part.size > 0.0);
    let words =
        |part: &Part| format!("{} {} ({})", part.name, part.value, percent(part.size / whole));
    let description: Vec<String> = shown().map(words).collect();
    let parts = shown().map(|part| {
        let share = part.size / whole;
        let text = if share >= LABEL_FROM { percent(share) } else { String::new() };
        let width = format!("width:{:.2}%", share * 100.0);
        let span = element("span").class(format!("part {}", part.class));
        let span = span.attr("style", width).attr("title", words(part));
        let label = element("i");
        let label = if share < NARROW_FROM { label.class("slim") } else { label };
        span.child(label.text(text))
    });
    let label = format!("{}: {}", bar.name, description.join(", "));
    let stack = element("div").class("bar").attr("role", "img");
    stack.attr("aria-label", label).children(parts).into()
}

/// Draws a legend of colors and patterns: class and text.
pub fn legend(entries: &[(String, String)]) -> Markup {
    let entries = entries.iter().map(|(class, name)| {
        let swatch = element("i").class(format!("swatch part {class}"));
        element("span").child(swatch).text(name)
    });
    element("div").class("legend").children(entries).into()
}

/// Draws a small utilization bar with its value.
pub fn gauge(share: f64) -> Markup {
    let (class, width) = filled(share);
    let fill = element("i").class(format!("fill {class}")).attr("style", format!("width:{width}"));
    let track = element("span").class("track").child(fill);
    element("span").class("gauge").child(track).text(percent(share)).into()
}

/// Returns the class of a load and the width of its bar.
pub(crate) fn filled(share: f64) -> (&'static str, String) {
    let full = (share * 100.0).clamp(0.0, 100.0);
    (load_class(share), format!("{full:.1}%"))
}

/// Returns the class of a load: `u0` (idle) to `u4` (full).
pub fn load_class(share: f64) -> &'static str {
    match share {
        s if s >= 0.75 => "u4",
        s if s >= 0.5 => "u3",
        s if s >= 0.25 => "u2",
        s if s >= 0.05 => "u1",
        _ => "u0",
    }
}
