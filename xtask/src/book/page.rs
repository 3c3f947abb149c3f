//! One page of the book, from Markdown.

use std::collections::BTreeMap;

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

/// Where folders of the repository can be looked at.
const REPOSITORY: &str = "https://github.com/rtether/rtether/tree/main";

/// A page.
pub(super) struct Page {
    /// Where it is in the book.
    pub(super) place: String,
    pub(super) title: String,
    pub(super) body: String,
    pub(super) sections: Vec<Section>,
    /// Local files that it shows or names, as paths in the repository.
    pub(super) files: Vec<String>,
}

/// What stands below one heading.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) anchor: String,
    pub(super) heading: String,
    pub(super) text: String,
}

/// Returns where the page of a Markdown file is in the book.
pub(super) fn place(path: &str) -> String {
    let stem = path.strip_suffix(".md").unwrap_or(path);
    let stem = match stem.strip_suffix("README") {
        Some(folder) if folder.is_empty() || folder.ends_with('/') => format!("{folder}index"),
        _ => stem.to_owned(),
    };
    format!("{stem}.html")
}

impl Page {
    /// Reads the Markdown file of a path.
    pub(super) fn read(path: &str, text: &str) -> Self {
        let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
        let events: Vec<Event<'_>> = Parser::new_ext(text, options).collect();
        let mut page = Self {
            place: place(path),
            title: path.to_owned(),
            body: String::new(),
            sections: vec![Section::default()],
            files: Vec::new(),
        };
        let mut anchors = Anchors::default();
        let mut shown = Vec::with_capacity(events.len());
        let mut is_remark = false;
        for (index, event) in events.iter().enumerate() {
            match event {
                Event::Start(Tag::HtmlBlock) => {
                    let next = events.get(index + 1);
                    is_remark = matches!(next, Some(Event::Html(html)) if html.starts_with("<!--"));
                }
                Event::Html(html) | Event::InlineHtml(html) if html.starts_with("<!--") => continue,
                Event::Html(_) if is_remark => continue,
                _ => {}
            }
            let event = page.take(path, event.clone(), &events[index..], &mut anchors);
            shown.push(event);
        }
        html::push_html(&mut page.body, shown.into_iter());
        // Wide tables scroll by themselves, not the page.
        page.body = page.body.replace("<table>", "<div class=\"scroll\"><table>");
        page.body = page.body.replace("</table>", "</table></div>");
        if let Some(first) = page.sections.iter().find(|own| !own.heading.is_empty()) {
            page.title.clone_from(&first.heading);
        }
        page
    }

    /// Gives headings anchors and links their places in the book, and notes what can be found.
    fn take<'a>(
        &mut self,
        path: &str,
        event: Event<'a>,
        rest: &[Event<'a>],
        anchors: &mut Anchors,
    ) -> Event<'a> {
        match event {
            Event::Start(Tag::Heading { level, classes, attrs, .. }) => {
                let heading = plain(rest);
                let anchor = anchors.of(&heading);
                let id = Some(CowStr::from(anchor.clone()));
                self.sections.push(Section { anchor, heading, text: String::new() });
                Event::Start(Tag::Heading { level, id, classes, attrs })
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => Event::Start(Tag::Link {
                link_type,
                dest_url: self.link(path, &dest_url).into(),
                title,
                id,
            }),
            Event::Start(Tag::Image { ref dest_url, .. }) => {
                self.files.extend(within(path, dest_url));
                event
            }
            Event::Html(ref html) | Event::InlineHtml(ref html) => {
                let mut sources = html.split("src=\"").skip(1);
                let source = sources.next().and_then(|rest| rest.split('"').next());
                self.files.extend(source.and_then(|own| within(path, own)));
                event
            }
            Event::Text(ref text) | Event::Code(ref text) => {
                self.note(text);
                event
            }
            Event::SoftBreak | Event::HardBreak | Event::End(_) => {
                self.note(" ");
                event
            }
            other => other,
        }
    }

    fn note(&mut self, text: &str) {
        if let Some(last) = self.sections.last_mut() {
            last.text += text;
        }
    }

    /// Returns where a link leads in the book.
    fn link(&mut self, path: &str, target: &str) -> String {
        let (file, anchor) =
            target.split_once('#').map_or((target, None), |(file, anchor)| (file, Some(anchor)));
        let Some(whole) = within(path, file) else {
            return target.to_owned();
        };
        if whole.rsplit('.').next() == Some("md") {
            let up = "../".repeat(path.matches('/').count());
            let anchor = anchor.map_or(String::new(), |anchor| format!("#{anchor}"));
            return format!("{up}{}{anchor}", place(&whole));
        }
        let name = whole.rsplit('/').next().unwrap_or_default();
        if !name.contains('.') && !name.starts_with("LICENSE") {
            return format!("{REPOSITORY}/{whole}");
        }
        self.files.push(whole);
        target.to_owned()
    }
}

/// Returns the path in the repository of a target that a file names; `None` if it is elsewhere.
pub(super) fn within(path: &str, target: &str) -> Option<String> {
    if target.is_empty() || target.contains(':') {
        return None;
    }
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Returns the words of the heading that begins.
fn plain(events: &[Event<'_>]) -> String {
    let mut text = String::new();
    for event in events {
        match event {
            Event::End(TagEnd::Heading(_)) => break,
            Event::Text(own) | Event::Code(own) => text += own,
            _ => {}
        }
    }
    text
}

/// Anchors of a page, each once.
#[derive(Default)]
struct Anchors(BTreeMap<String, usize>);

impl Anchors {
    /// Returns the anchor of a heading, by the rules of hosts of repositories.
    fn of(&mut self, heading: &str) -> String {
        let kept = heading.chars().filter_map(|letter| match letter {
            ' ' => Some('-'),
            '-' | '_' => Some(letter),
            letter if letter.is_alphanumeric() => Some(letter),
            _ => None,
        });
        let anchor = kept.collect::<String>().to_lowercase();
        let count = self.0.entry(anchor.clone()).or_default();
        *count += 1;
        match *count {
            1 => anchor,
            more => format!("{anchor}-{}", more - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_places() {
        assert_eq!(place("README.md"), "index.html");
        assert_eq!(place("docs/models/README.md"), "docs/models/index.html");
        assert_eq!(place("docs/guides/why.md"), "docs/guides/why.html");
        let found = within("docs/guides/why.md", "../images/a.png");
        assert_eq!(found.as_deref(), Some("docs/images/a.png"));
        assert_eq!(within("README.md", "https://example.org/a.md"), None);
        assert_eq!(within("README.md", "../outside"), None);
    }

    #[test]
    fn headings_links_and_words_are_taken() {
        let text = "# A page\n\nOf `words`.\n\n<!-- a remark\nof two lines -->\n## Why, and why\n\n\
            [on](../models/bounds.md#x), [file](shim.yaml), [all](../../packaging/systemd)\n\n\
            | a |\n|---|\n| b |\n\n## Why, and why\n";
        let page = Page::read("docs/guides/p.md", text);
        assert_eq!(page.title, "A page");
        let anchors: Vec<&str> = page.sections.iter().map(|own| &*own.anchor).collect();
        assert_eq!(anchors, ["", "a-page", "why-and-why", "why-and-why-1"]);
        assert!(page.sections[1].text.contains("Of words."));
        assert!(page.body.contains("<h2 id=\"why-and-why\">"), "{}", page.body);
        assert!(page.body.contains("href=\"../../docs/models/bounds.html#x\""));
        assert!(page.body.contains("rtether/tree/main/packaging/systemd"));
        assert!(page.body.contains("<div class=\"scroll\"><table>"));
        assert!(!page.body.contains("remark") && !page.body.contains("of two lines"));
        assert_eq!(page.files, ["docs/guides/shim.yaml"]);
    }
}
