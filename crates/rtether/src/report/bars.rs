//! Stacked horizontal bars: parts of a whole, one bar a row.
//!
//! Plain HTML, so that texts keep their size on any screen. Parts differ by color and pattern,
//! carry their share where there is room for it and their number in a title.

use super::markup::{Markup, element};
use super::text::percent;

/// One part of a bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Which color and pattern: a class of the style sheet.
    pub class: String,
    /// What it is.
    pub name: String,
    /// Its size in any unit.
    pub size: f64,
    /// Its size in words.
    pub value: String,
}

/// One row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bar {
    /// Text before the bar.
    pub name: String,
    /// Smaller text below it.
    pub note: String,
    /// Text behind the bar.
    pub total: String,
    /// Its parts, left to right.
    pub parts: Vec<Part>,
}

/// Smallest share that has room for its number.
const LABEL_FROM: f64 = 0.07;
/// Smallest share that has room for it on a narrow screen.
const NARROW_FROM: f64 = 0.13;

/// Draws rows; every bar fills the width, so that shares can be compared.
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
    let words = |part: &Part| {
        format!(
            "{} {} ({})",
            part.name,
            part.value,
            percent(part.size / whole)
        )
    };
    let description: Vec<String> = shown().map(words).collect();
    let parts = shown().map(|part| {
        let share = part.size / whole;
        let text = if share >= LABEL_FROM {
            percent(share)
        } else {
            String::new()
        };
        let width = format!("width:{:.2}%", share * 100.0);
        let span = element("span").class(format!("part {}", part.class));
        let span = span.attr("style", width).attr("title", words(part));
        let label = element("i");
        let label = if share < NARROW_FROM {
            label.class("slim")
        } else {
            label
        };
        span.child(label.text(text))
    });
    let label = format!("{}: {}", bar.name, description.join(", "));
    let stack = element("div").class("bar").attr("role", "img");
    stack.attr("aria-label", label).children(parts).into()
}

/// Names colors and patterns: class and text.
pub fn legend(entries: &[(String, String)]) -> Markup {
    let entries = entries.iter().map(|(class, name)| {
        let swatch = element("i").class(format!("swatch part {class}"));
        element("span").child(swatch).text(name)
    });
    element("div").class("legend").children(entries).into()
}

/// Draws a small bar with its number: how much of something is used.
pub fn gauge(share: f64) -> Markup {
    let full = (share * 100.0).clamp(0.0, 100.0);
    let class = format!("fill {}", load_class(share));
    let fill = element("i")
        .class(class)
        .attr("style", format!("width:{full:.1}%"));
    let track = element("span").class("track").child(fill);
    element("span")
        .class("gauge")
        .child(track)
        .text(percent(share))
        .into()
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
