//! One self-contained HTML file: no network access, no scripts required, light and dark.
//!
//! [`Page`] takes sections of finished [`Markup`]; [`DataTable`] makes tables that a small script
//! makes sortable and filterable. Without the script the first rows of every table are shown.

mod cell;
mod table;

use super::markup::{Element, Markup, element};
pub use cell::TableCell;
pub use table::DataTable;

/// Tone of the banner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// No verdict.
    #[default]
    Neutral,
    /// Success.
    Good,
    /// Failure.
    Bad,
}

/// A page under construction.
#[derive(Clone, Debug, Default)]
pub struct Page {
    title: String,
    kicker: String,
    lead: Markup,
    sections: Vec<Section>,
}

/// One section.
#[derive(Clone, Debug)]
struct Section {
    id: &'static str,
    title: String,
    note: String,
    body: Markup,
}

/// Parts of a section that are shown without folding.
const MOST_OPEN: usize = 6;

const LIGHT: &str = include_str!("page/light.css");
const DARK: &str = include_str!("page/dark.css");
const STYLE: &str = include_str!("page/style.css");
/// One idea per file; they share one scope, and do nothing where a page has no use for them.
const SCRIPTS: [&str; 4] = [
    include_str!("page/rows.js"),
    include_str!("page/table.js"),
    include_str!("page/topology.js"),
    include_str!("page/because.js"),
];

impl Page {
    /// Starts a page.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// Sets the small line above the title.
    #[must_use]
    pub fn kicker(mut self, text: impl Into<String>) -> Self {
        self.kicker = text.into();
        self
    }

    /// Adds to the lead above the first section.
    #[must_use]
    pub fn lead(mut self, lead: impl Into<Markup>) -> Self {
        self.lead.push(lead);
        self
    }

    /// Adds a section; `id` is its URL fragment and must be unique.
    #[must_use]
    pub fn section(
        mut self,
        id: &'static str,
        title: impl Into<String>,
        note: impl Into<String>,
        body: impl Into<Markup>,
    ) -> Self {
        self.sections.push(Section {
            id,
            title: title.into(),
            note: note.into(),
            body: body.into(),
        });
        self
    }

    /// Returns the file.
    pub fn render(&self) -> String {
        let head = element("head")
            .child(element("meta").attr("charset", "utf-8"))
            .child(meta("viewport", "width=device-width, initial-scale=1"))
            .child(meta("color-scheme", "light dark"))
            .child(element("title").text(&self.title))
            .child(element("style").trusted(&style()));
        let toggle = element("input")
            .attr("type", "checkbox")
            .attr("id", "theme")
            .attr("aria-label", "Switch between light and dark");
        let main = element("main").children(self.sections.iter().map(Section::render));
        let footer = format!("rtether {}", env!("CARGO_PKG_VERSION"));
        let page = element("div")
            .class("page")
            .child(self.header())
            .child(main)
            .child(element("footer").text(footer));
        let body =
            element("body").child(toggle).child(page).child(element("script").trusted(&script()));
        let html = element("html")
            .attr("lang", "en")
            .attr("xmlns", "http://www.w3.org/1999/xhtml")
            .child(head)
            .child(body);
        format!("<!DOCTYPE html>\n{}\n", Markup::from(html).as_str())
    }

    fn header(&self) -> Element {
        let links = self.sections.iter().map(|section| {
            let link = element("a").attr("href", format!("#{}", section.id));
            link.text(&section.title)
        });
        let switch = element("label").attr("for", "theme").class("toggle");
        let bar = element("div")
            .class("bar-top")
            .child(element("nav").children(links))
            .child(switch.attr("title", "Light or dark").text("\u{25d0}"));
        let kicker = element("p").class("kicker").text(&self.kicker);
        let title = element("h1").text(&self.title);
        let lead = element("div").class("lead").child(self.lead.clone());
        element("header").child(bar).child(kicker).child(title).child(lead)
    }
}

impl Section {
    fn render(&self) -> Element {
        let mut section =
            element("section").attr("id", self.id).child(element("h2").text(&self.title));
        if !self.note.is_empty() {
            section = section.child(element("p").class("note").text(&self.note));
        }
        section.child(self.body.clone())
    }
}

fn meta(name: &str, content: &str) -> Element {
    element("meta").attr("name", name).attr("content", content)
}

/// The color scheme follows the system; the checkbox before the page inverts it.
fn style() -> String {
    let turned = "#theme:checked~.page";
    format!(
        ":root,.page{{{LIGHT}}}\n{turned}{{{DARK}}}\n\
         @media (prefers-color-scheme:dark){{:root,.page{{{DARK}}}\n{turned}{{{LIGHT}}}}}\n{STYLE}"
    )
}

/// The browser reads the first and last line as comments, and a reader of XML as the ends of text in
/// which no character is markup.
fn script() -> String {
    let scripts = SCRIPTS.concat();
    format!("//<![CDATA[\n(function () {{\n\"use strict\";\n{scripts}}})();\n//]]>")
}

/// Shows the verdict in a box.
pub fn banner(tone: Tone, word: &str, sentence: &str) -> Markup {
    let class = match tone {
        Tone::Neutral => "banner neutral",
        Tone::Good => "banner good",
        Tone::Bad => "banner bad",
    };
    let word = element("strong").text(word);
    let sentence = element("span").text(sentence);
    element("p").class(class).child(word).child(sentence).into()
}

/// Shows a few figures side by side: number and label.
pub fn figures(entries: &[(String, String)]) -> Markup {
    let tiles = entries.iter().map(|(number, meaning)| {
        let number = element("b").text(number);
        element("div").child(number).child(element("span").text(meaning))
    });
    element("div").class("figures").children(tiles).into()
}

/// Puts content behind a summary line that opens it.
pub fn details(summary: impl Into<Markup>, body: impl Into<Markup>, open: bool) -> Markup {
    let summary = element("summary").child(summary);
    let mut details = element("details");
    if open {
        details = details.attr("open", "open");
    }
    details.child(summary).child(body).into()
}

/// Shows the `first` parts, and has the others behind a line that opens them, if there are many.
pub fn folded<T>(
    mut parts: Vec<T>,
    first: usize,
    rest: &str,
    lay_out: fn(Vec<T>) -> Markup,
) -> Markup {
    if parts.len() <= MOST_OPEN {
        return lay_out(parts);
    }
    let others = parts.split_off(first);
    let more = if first > 0 { "more " } else { "" };
    let summary = Markup::text(format!("{} {more}{rest}", others.len()));
    let mut all = Markup::default();
    if first > 0 {
        all.push(lay_out(parts));
    }
    all.push(details(summary, lay_out(others), false));
    all
}

/// Lays out parts side by side, as many per row as fit.
pub fn grid(parts: Vec<Markup>) -> Markup {
    element("div").class("grid").children(parts).into()
}

/// Lays out parts side by side, two per row on a typical screen.
pub fn wide_grid(parts: impl IntoIterator<Item = Markup>) -> Markup {
    element("div").class("grid wide").children(parts).into()
}
