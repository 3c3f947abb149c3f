//! The documentation as a book: a folder of pages with navigation, a search that needs no server, and
//! the playground on its first page.
//!
//! Each Markdown file is a page at the same place, so links stay what they are; what pages show or
//! name is copied beside them. All of it opens from a disk.

#[allow(clippy::wildcard_enum_match_arm, reason = "most of what a parser tells stays as it is")]
mod page;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::child::heed_signals;
use crate::playground;
use crate::repo::Repo;
use page::Page;

const FOLDER: &str = "target/book";
/// The playground, beside the first page.
const PLAYGROUND: &str = "playground.html";
const LOOK: &str = include_str!("book/look.css");
const SCRIPT: &str = include_str!("book/script.js");
const TEMPLATE: &str = include_str!("book/page.html");
/// Shelves of pages, in the order of navigation; `docs/README.md` has the same.
const SHELVES: [&str; 5] = ["Learn", "Do", "Look up", "Understand", "Project"];
const PROJECT: usize = SHELVES.len() - 1;
/// Shelf of all pages below a folder, or of a page; the first that fits.
const PLACES: [(&str, usize); 6] = [
    ("docs/guides/", 1),
    ("docs/reference/", 2),
    ("GLOSSARY", 2),
    ("docs/models/", 3),
    ("docs/decisions/", 3),
    ("ARCHITECTURE", 3),
];
/// Guides of the first shelf, in the order in which they are read.
const LEARN: [&str; 6] = ["install", "first-hour", "report", "why", "scenario", "playground"];
/// On the first page, before its picture.
const TRY: &str = "<section class=\"try\" aria-label=\"Playground\">\
<p><a href=\"playground.html\">Open the playground in a page of its own</a>: nothing to install, \
and nothing leaves it.</p>\
<iframe src=\"playground.html\" title=\"Playground\" loading=\"lazy\"></iframe></section>\n";

/// Builds the book into the folder, or `target/book`.
pub(crate) fn run(repo: &Repo, folder: Option<&str>) -> Result<bool> {
    heed_signals()?;
    let folder = repo.output(folder, FOLDER)?;
    let playground = playground::build_usual(repo)?;
    let first = build(repo, &folder, &playground)?;
    println!("{}", first.display());
    Ok(true)
}

/// Builds the book where builds go, with a playground; returns its first page.
pub(crate) fn build_usual(repo: &Repo, playground: &Path) -> Result<PathBuf> {
    build(repo, &repo.root.join(FOLDER), playground)
}

/// Builds the book; returns its first page.
fn build(repo: &Repo, folder: &Path, playground: &Path) -> Result<PathBuf> {
    let book = Book::read(repo)?;
    // Pages that are gone would still be there.
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("clearing {}", folder.display()))?;
    }
    for (place, text) in book.texts(repo)? {
        write(folder, &place, |to| fs::write(to, &text))?;
    }
    for file in book.files() {
        let from = repo.root.join(file);
        write(folder, file, |to| fs::copy(&from, to).map(drop))?;
    }
    write(folder, PLAYGROUND, |to| fs::copy(playground, to).map(drop))?;
    Ok(folder.join("index.html"))
}

/// Writes a file, in folders that are made for it.
fn write(
    folder: &Path,
    place: &str,
    with: impl FnOnce(&Path) -> std::io::Result<()>,
) -> Result<()> {
    let to = folder.join(place);
    let parent = to.parent().context("a file without a folder")?;
    fs::create_dir_all(parent).with_context(|| format!("making {}", parent.display()))?;
    with(&to).with_context(|| format!("writing {}", to.display()))
}

/// All pages, in the order of navigation.
struct Book {
    pages: Vec<Page>,
}

impl Book {
    fn read(repo: &Repo) -> Result<Self> {
        let files = repo.text_files()?;
        let is_page = |path: &str| path.to_ascii_lowercase().ends_with(".md");
        let mut files: Vec<_> = files.iter().filter(|own| is_page(&own.path)).collect();
        if files.is_empty() {
            bail!("there are no pages");
        }
        files.sort_by_key(|own| order(&own.path));
        let pages = files.iter().map(|own| Page::read(&own.path, &own.text));
        Ok(Self { pages: pages.collect() })
    }

    /// Returns the files that pages show or name, each once.
    fn files(&self) -> Vec<&str> {
        let all = self.pages.iter().flat_map(|own| &own.files);
        let mut files: Vec<&str> = all.map(String::as_str).collect();
        files.sort_unstable();
        files.dedup();
        files
    }

    /// Returns place and text of each page, of its look and of what the search reads.
    fn texts(&self, repo: &Repo) -> Result<Vec<(String, String)>> {
        let mut texts = Vec::new();
        for index in 0..self.pages.len() {
            texts.push((self.pages[index].place.clone(), self.page(index)?));
        }
        let color = |name: &str| {
            let path = format!("crates/rtether-report/src/page/{name}.css");
            repo.read(&path).with_context(|| format!("there is no {path}"))
        };
        let (light, dark) = (color("light")?, color("dark")?);
        let look = format!(
            ":root{{{light}}}\n@media (prefers-color-scheme:dark){{:root{{{dark}}}}}\n{LOOK}"
        );
        texts.push(("book.css".to_owned(), look));
        texts.push(("book.js".to_owned(), SCRIPT.to_owned()));
        texts.push(("search.js".to_owned(), self.index()));
        Ok(texts)
    }

    fn page(&self, index: usize) -> Result<String> {
        let page = &self.pages[index];
        let up = "../".repeat(page.place.matches('/').count());
        let mut body = page.body.clone();
        if index == 0 {
            let part =
                body.find("<p><img").or(body.find("<h2")).context("the first page has one part")?;
            body.insert_str(part, TRY);
        }
        let beside = |other: Option<&Page>, word: &str| {
            let link = |own: &Page| {
                let (place, title) = (&own.place, escaped(&own.title));
                format!("<a rel=\"{word}\" href=\"{up}{place}\">{title}</a>")
            };
            other.map(link).unwrap_or_default()
        };
        let before = index.checked_sub(1).and_then(|own| self.pages.get(own));
        let parts = [
            ("up", up.clone()),
            ("title", escaped(&page.title)),
            ("navigation", self.navigation(page, &up)),
            ("body", body),
            ("before", beside(before, "prev")),
            ("after", beside(self.pages.get(index + 1), "next")),
        ];
        playground::fill(TEMPLATE, &parts)
    }

    /// Returns the list of all pages, as seen from one of them.
    fn navigation(&self, from: &Page, up: &str) -> String {
        let mut html = String::new();
        let mut last = "";
        for page in &self.pages {
            let group = group(&page.place);
            if group.is_empty() {
                continue;
            }
            if group != last {
                if !last.is_empty() {
                    html += "</ul></details>\n";
                }
                let is_open = group == self::group(&from.place) || group == SHELVES[0];
                let open = if is_open { " open" } else { "" };
                let _ = writeln!(html, "<details{open}><summary>{group}</summary><ul>");
                last = group;
            }
            let here = if page.place == from.place { " aria-current=\"page\"" } else { "" };
            let (place, title) = (&page.place, escaped(&page.title));
            let _ = writeln!(html, "<li><a href=\"{up}{place}\"{here}>{title}</a></li>");
        }
        html + "</ul></details>\n"
    }

    /// Returns what the search reads: place, title, heading and words of each section.
    fn index(&self) -> String {
        let mut sections = Vec::new();
        for page in &self.pages {
            for own in &page.sections {
                let words: Vec<&str> = own.text.split_whitespace().collect();
                if words.is_empty() && own.heading.is_empty() {
                    continue;
                }
                let place = format!("{}#{}", page.place, own.anchor);
                sections.push(json!([place, page.title, own.heading, words.join(" ")]));
            }
        }
        format!("globalThis.sections = {};\n", Value::from(sections))
    }
}

/// Returns what a page is sorted by.
fn order(path: &str) -> (usize, usize, String) {
    // The first page is on no shelf.
    if path == "README.md" {
        return (0, 0, String::new());
    }
    let rank = match (shelf(path), learned(path)) {
        (0, Some(rank)) => rank,
        // A folder begins with its README.
        _ => usize::from(!path.ends_with("README.md")),
    };
    (1 + shelf(path), rank, path.to_owned())
}

/// Returns the index in `SHELVES` of a page, by its path or its place in the book.
fn shelf(path: &str) -> usize {
    if learned(path).is_some() {
        return 0;
    }
    let own = PLACES.iter().find(|(start, _)| path.starts_with(start));
    own.map_or(PROJECT, |(_, shelf)| *shelf)
}

/// Returns the place of a guide among those of the first shelf.
fn learned(path: &str) -> Option<usize> {
    let name = path.strip_prefix("docs/guides/")?;
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    LEARN.iter().position(|own| *own == stem)
}

/// Returns the name of the shelf of a page; empty for the first page and for those next to tests.
fn group(place: &str) -> &'static str {
    if place == "index.html" || place.starts_with("crates/") {
        return "";
    }
    SHELVES[shelf(place)]
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// Returns the values of an attribute in a page.
    fn values<'a>(text: &'a str, attribute: &str) -> Vec<&'a str> {
        let pieces = text.split(attribute).skip(1);
        pieces.filter_map(|rest| rest.split('"').next()).collect()
    }

    #[test]
    fn every_link_of_the_book_leads_somewhere() {
        let repo = Repo::find().unwrap();
        let book = Book::read(&repo).unwrap();
        let texts: BTreeMap<String, String> = book.texts(&repo).unwrap().into_iter().collect();
        let mut there: BTreeSet<&str> = book.files().into_iter().collect();
        for file in &there {
            assert!(repo.root.join(file).is_file(), "{file}");
        }
        there.extend(texts.keys().map(String::as_str));
        there.insert(PLAYGROUND);
        let (mut count, mut lost) = (0, Vec::new());
        for (place, text) in texts.iter().filter(|(place, _)| place.contains(".html")) {
            let targets = [" href=\"", " src=\""].map(|own| values(text, own)).concat();
            for target in targets {
                let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
                let whole = if file.is_empty() {
                    place.clone()
                } else if let Some(whole) = page::within(place, file) {
                    whole
                } else {
                    let is_elsewhere = ["://", "data:", "mailto:"].map(|own| target.contains(own));
                    assert!(is_elsewhere.contains(&true), "{place}: {target}");
                    continue;
                };
                let id = format!(" id=\"{anchor}\"");
                let is_there = there.contains(&*whole);
                if !is_there || !anchor.is_empty() && !texts[&whole].contains(&id) {
                    lost.push(format!("{place}: {target}"));
                }
                count += 1;
            }
        }
        assert!(lost.is_empty(), "{lost:#?}");
        assert!(count > 5000, "{count}");
    }

    #[test]
    fn shelves_are_those_of_the_list_of_pages() {
        let repo = Repo::find().unwrap();
        let list = repo.read("docs/README.md").unwrap();
        for part in list.split("\n## ").skip(1) {
            let shelf = part.lines().next().unwrap();
            for link in part.split("](").skip(1) {
                let target = link.split([')', '#']).next().unwrap();
                let place = page::within("docs/README.md", target).unwrap();
                assert_eq!(group(&place), shelf, "{place}");
            }
        }
        let guides = Book::read(&repo).unwrap().pages;
        let on_shelf = guides.iter().filter(|own| own.place.starts_with("docs/guides/"));
        for own in on_shelf {
            let name = own.place.rsplit('/').next().unwrap().replace(".html", ".md");
            assert!(list.contains(&format!("guides/{name}")), "{name} is in no list");
        }
    }

    #[test]
    fn the_search_reads_every_page() {
        let repo = Repo::find().unwrap();
        let book = Book::read(&repo).unwrap();
        let index = book.index();
        for page in &book.pages {
            assert!(index.contains(&format!("\"{}#", page.place)), "{}", page.place);
        }
        assert!(index.contains("credit bucket"));
        // The first page has the playground, and no other.
        let texts = book.texts(&repo).unwrap();
        assert_eq!(texts[0].0, "index.html");
        let frames = texts.iter().filter(|(_, text)| text.contains("<iframe"));
        assert_eq!(frames.count(), 1);
    }
}
