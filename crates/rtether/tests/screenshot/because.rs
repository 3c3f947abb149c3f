//! Timelines on a click: the worst packet and the bound of a stream, below its row.

use rtether::check::{Options, check};
use rtether::report::{self, Checked, html};
use rtether::scenario::{Override, load_with};
use rtether::timeline::Bars;
use rtether_model::network::{NodeKind, Stack};

use crate::screenshot::browser::{Screen, Tab, find, keep};
use crate::screenshot::scale::{SIZE, large, opened};

/// Returns the substation after a short run, with its worst streams explained.
fn substation() -> Checked {
    let text = include_str!("../../../../scenarios/substation.yaml");
    let short = [Override::new("--set", "run.for", "1 s"), Override::new("--set", "accept", "[]")];
    let scenario = load_with("substation.yaml", text, &short).scenario.unwrap();
    let mut checked = check(&scenario, Options::default()).unwrap();
    checked.explained = report::worst(&checked);
    checked
}

/// Returns the lines that a timeline has on the page: parts, and the waits in them.
fn lines(told: Option<&(String, Bars)>) -> usize {
    let bars = told.iter().flat_map(|(_, bars)| &bars.bars);
    bars.map(|bar| 1 + bar.waits.len().min(13)).sum()
}

const OPEN: &str = "document.querySelectorAll('#opened tr.because').length";
const EXPANDED: &str = "document.querySelector('#opened tbody .open').ariaExpanded";

/// Oracle: the timelines of the library, and where the focus is.
#[test]
fn a_click_opens_the_timelines_of_a_stream() {
    let test = "a_click_opens_the_timelines_of_a_stream";
    let Some(browser) = find() else { return };
    let checked = substation();
    let page = html::render(&checked);
    keep("because.html", page.as_bytes());
    let worst = &checked.explained.streams[0];
    assert!(worst.packet.is_some() && worst.bound.is_some());
    let mut tab = Tab::open(&browser, test);
    for (name, screen) in [("desktop", Screen::DESKTOP), ("phone", Screen::PHONE)] {
        for (scheme, dark) in [("light", false), ("dark", true)] {
            tab.show(&page, Screen { dark, ..screen });
            tab.eval(&opened("All streams"));
            let note = tab.text("document.getElementById('because-note').innerText");
            assert_eq!(note, checked.explained.note);
            tab.click("#opened tbody tr td");
            assert_eq!((tab.number(OPEN), tab.text(EXPANDED)), (1, "true".into()));
            let titles = "Array.from(document.querySelectorAll('#opened figcaption'), (one) => \
                one.textContent).join('|')";
            let titles = tab.text(titles);
            let name_of = checked.stream_name(&checked.stream(worst.index));
            assert!(titles.starts_with(&format!("{name_of}: packet ")), "{titles}");
            assert!(titles.contains(&format!("|{name_of}: bound ")), "{titles}");
            let shown =
                tab.number("document.querySelectorAll('#opened .because figure tr').length");
            let both = lines(worst.packet.as_ref()) + lines(worst.bound.as_ref());
            assert_eq!(shown, both);
            let width = tab.number("document.documentElement.scrollWidth");
            assert!(width <= screen.width, "{name}: {width}");
            tab.eval("document.querySelector('#opened tr.because').scrollIntoView()");
            tab.picture(&format!("because-{name}-{scheme}"));
        }
    }
}

/// Oracle: the keys that a browser gives to buttons.
#[test]
fn timelines_open_by_keyboard_and_close_with_other_rows() {
    let test = "timelines_open_by_keyboard_and_close_with_other_rows";
    let Some(browser) = find() else { return };
    let checked = substation();
    let mut tab = Tab::open(&browser, test);
    tab.show(&html::render(&checked), Screen::DESKTOP);
    tab.eval(&opened("All streams"));
    tab.eval("document.querySelector('#opened tbody .open').focus()");
    let said = tab.text("document.activeElement.ariaLabel");
    let name = checked.stream_name(&checked.stream(checked.worst_first()[0]));
    assert_eq!(said, format!("Why {name}"));
    for (open, expanded) in [(1, "true"), (0, "false"), (1, "true")] {
        tab.press("Enter");
        assert_eq!((tab.number(OPEN), tab.text(EXPANDED)), (open, expanded.into()));
    }
    // Sorted rows are without it, and it opens again.
    tab.click("#opened thead th button");
    assert_eq!((tab.number(OPEN), tab.text(EXPANDED)), (0, "false".into()));
    // Of the last stream the page has nothing but the command.
    tab.click("#opened .more button");
    tab.eval(
        "{ const rows = document.querySelectorAll('#opened tbody > tr'); \
         rows[rows.length - 1].querySelector('.open').click(); }",
    );
    let text = tab.text("document.querySelector('#opened tr.because').innerText");
    assert!(text.contains("rtether why SCENARIO.yaml '"), "{text}");
}

/// Oracle: the limit of a page.
#[test]
fn the_page_of_six_thousand_streams_stays_small() {
    let mut checked = large();
    // The stack of the control centre is overloaded, and an overloaded plant has no bounds.
    for node in &mut std::sync::Arc::make_mut(&mut checked.scenario).network.nodes {
        if let NodeKind::EndStation(station) = &mut node.kind {
            station.stack = Stack::Zero;
        }
    }
    let analysis = rtether::bound::analyze(&checked.scenario);
    checked = checked.with_analysis(analysis);
    // As after a run that takes long to repeat.
    checked.results.record.events = 1 << 40;
    checked.explained = report::worst(&checked);
    let note = &checked.explained.note;
    assert!(note.ends_with("so only bounds are here."), "{note}");
    assert_eq!(checked.explained.streams.len(), 24);
    assert!(checked.explained.streams.iter().all(|own| own.bound.is_some()));
    let page = html::render(&checked);
    assert!(page.len() < SIZE, "{} octets", page.len());
    println!("{} octets", page.len());
}
