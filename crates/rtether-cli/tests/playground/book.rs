//! The book in a browser.

use rtether_testkit::skip;
use serde_json::json;

use super::browser::{self, Screen, Tab};
use super::page::wait;
use super::root;

/// Opens the first page where it is, since it has a folder beside it.
fn open(test: &str, screen: Screen) -> Option<Tab> {
    let Some(first) = std::env::var_os("RTETHER_BOOK") else {
        skip("needs the book that `cargo xtask book` builds, in RTETHER_BOOK");
        return None;
    };
    let browser = browser::find()?;
    let first = root().join(first).canonicalize().unwrap();
    let mut tab = Tab::open(&browser, test);
    tab.turn(screen);
    let url = format!("file://{}", first.display());
    tab.call("Page.navigate", &json!({ "url": url }));
    wait(&mut tab, "document.readyState === 'complete'");
    Some(tab)
}

#[test]
#[ignore = "long"]
fn a_word_is_found_by_keys_alone() {
    let Some(mut tab) = open("book-search", Screen::DESKTOP) else {
        return;
    };
    assert_eq!(tab.number("document.querySelectorAll('iframe').length"), 1);
    tab.picture("book-first");
    tab.eval("document.dispatchEvent(new KeyboardEvent('keydown', { key: '/', bubbles: true }))");
    assert_eq!(tab.text("document.activeElement.id"), "find");
    tab.write("credit bucket");
    wait(&mut tab, "document.querySelectorAll('#found a').length > 0");
    tab.picture("book-search");
    let marks = "[...document.querySelectorAll('#found mark')].map((own) => own.textContent)";
    let marks = tab.eval(marks);
    assert!(marks.as_array().unwrap().contains(&json!("bucket")), "{marks}");
    tab.press("Enter");
    wait(&mut tab, "!location.pathname.endsWith('/index.html')");
    wait(&mut tab, "document.readyState === 'complete'");
    let text = tab.text("document.querySelector('main').textContent");
    assert!(text.contains("bucket"), "{text}");
    // Nothing that is not there is found.
    tab.eval("find.focus()");
    tab.write("xyzzy");
    wait(&mut tab, "document.querySelector('#found .none') !== null");
}

#[test]
#[ignore = "long"]
fn no_page_is_wider_than_a_phone() {
    let Some(mut tab) = open("book-phone", Screen::PHONE) else {
        return;
    };
    tab.picture("book-phone");
    let places = "[...document.querySelectorAll('nav li a')].map((own) => own.href)";
    let places = tab.eval(places);
    assert!(places.as_array().unwrap().len() > 60, "{places}");
    for place in places.as_array().unwrap() {
        tab.call("Page.navigate", &json!({ "url": place }));
        let is_there = format!("location.href === {place} && document.readyState === 'complete'");
        wait(&mut tab, &is_there);
        let spills = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
        assert_eq!(tab.number(spills), 0, "{place}");
    }
}
