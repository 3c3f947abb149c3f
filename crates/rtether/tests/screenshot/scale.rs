//! The page of a plant of six thousand streams.

use std::sync::LazyLock;

use rtether::report::text::time;
use rtether::report::{Checked, html};
use rtether::verdict::assess;
use rtether_model::network::NodeId;
use rtether_model::quantity::Duration;

use crate::screenshot::browser::{Screen, Tab, find, keep};
use crate::screenshot::plants;

/// Most screens that the page may fill before someone opens something.
const SCREENS: usize = 10;
pub(crate) const SIZE: usize = 3_000_000;

fn checked(plant: &plants::Builder) -> Checked {
    let results = plant.results();
    let assessments = assess(&plant.scenario, &results);
    Checked::new(plant.scenario.clone(), results, assessments)
}

/// A substation of 94 bays and its page, made once for all tests.
static LARGE: LazyLock<(Checked, String)> = LazyLock::new(|| {
    let checked = large();
    let page = html::render(&checked);
    (checked, page)
});

/// A substation of 94 bays; some streams of protection are late.
pub(crate) fn large() -> Checked {
    let mut plant = plants::substation(94);
    for flow in &mut plant.scenario.flows {
        if flow.class == "ct-vt to protection unit" {
            flow.deadline = Some(Duration::from_us(175));
        }
    }
    let checked = checked(&plant);
    let counts = checked.counts();
    assert_eq!(counts.streams, 6_016);
    assert!(counts.failed() > 20, "{}", counts.failed());
    checked
}

/// Selects the opened part of the verdict with this title.
pub(crate) fn opened(title: &str) -> String {
    format!(
        "(() => {{ const parts = Array.from(document.querySelectorAll('#verdict details')); \
         const part = parts.find((one) => \
         one.querySelector('summary').textContent.startsWith({title:?})); \
         part.open = true; part.id = 'opened'; return parts.length; }})()"
    )
}

const ROWS: &str = "document.querySelectorAll('#opened tbody tr').length";
const SAID: &str = "document.querySelector('#opened .more span').textContent";

#[test]
fn six_thousand_streams_fit_ten_screens() {
    let test = "six_thousand_streams_fit_ten_screens";
    let Some(browser) = find() else { return };
    let (_, page) = &*LARGE;
    keep("large.html", page.as_bytes());
    assert!(page.len() < SIZE, "{} octets", page.len());
    let mut tab = Tab::open(&browser, test);
    for (name, screen) in [("desktop", Screen::DESKTOP), ("phone", Screen::PHONE)] {
        for (scheme, dark) in [("light", false), ("dark", true)] {
            let screen = Screen { dark, ..screen };
            tab.show(page, screen);
            let [width, height] = ["Width", "Height"]
                .map(|side| tab.number(&format!("document.documentElement.scroll{side}")));
            assert!(width <= screen.width, "{name}: {width}");
            let most = SCREENS * screen.height;
            assert!(height < most, "{name}: {height} of {most}");
            let painted = "Math.round(performance.getEntriesByName('first-contentful-paint')\
                .map((entry) => entry.startTime)[0])";
            let painted = tab.number_in_time(painted);
            println!("{name} {scheme}: {height} px, first paint after {painted} ms");
            let whole = Screen { height: height + 1, ..screen };
            tab.turn(whole);
            tab.picture(&format!("large-{name}-{scheme}"));
        }
    }
}

/// Oracle: the streams of the plant, counted here.
#[test]
fn rows_are_found_sorted_and_shown() {
    let test = "rows_are_found_sorted_and_shown";
    let Some(browser) = find() else { return };
    let (checked, page) = &*LARGE;
    let mut tab = Tab::open(&browser, test);
    tab.show(page, Screen::DESKTOP);
    let failed = checked.counts().failed();
    let first = "document.querySelector('#verdict details')";
    assert_eq!(tab.eval(&format!("{first}.open")), true, "failures are open");
    let words = tab.text(&format!("{first}.querySelector('summary').textContent"));
    assert_eq!(words, format!("Failed{failed} streams"));
    tab.eval(&opened("All streams"));
    assert_eq!(tab.number(ROWS), 8);
    assert_eq!(tab.text(SAID), "8 of 6 016 rows");
    // Show all, and the first again.
    let expanded = "document.querySelector('#opened .more button').ariaExpanded";
    assert_eq!(tab.text(expanded), "false");
    tab.click("#opened .more button");
    assert_eq!((tab.number(ROWS), tab.text(expanded)), (6_016, "true".into()));
    tab.click("#opened .more button");
    assert_eq!((tab.number(ROWS), tab.text(expanded)), (8, "false".into()));
    // Filter.
    tab.click("#opened input[type=search]");
    tab.write("BAY42.ct1");
    let found = checked.streams();
    let found = found.filter(|stream| checked.path_name(stream).contains("bay42.ct1"));
    let found = found.count();
    let shown = found.min(8);
    let said = format!("{shown} of {found} rows that match, 6 016 in all");
    assert_eq!((tab.number(ROWS), tab.text(SAID)), (shown, said));
    let texts = "Array.from(document.querySelectorAll('#opened tbody tr'))\
        .every((row) => row.textContent.includes('bay42.ct1'))";
    assert_eq!(tab.eval(texts), true);
    tab.eval("document.querySelector('#opened input').select()");
    tab.write("no such stream");
    assert_eq!(tab.number(ROWS), 0);
    // Failures only.
    tab.eval(
        "{ const field = document.querySelector('#opened input'); field.value = ''; \
         field.dispatchEvent(new Event('input', { bubbles: true })); }",
    );
    tab.click("#opened input[type=checkbox]");
    let said = format!("8 of {failed} rows that match, 6 016 in all");
    assert_eq!(tab.text(SAID), said);
}

/// Oracle: rows written by the library, which those made by the script replace.
#[test]
fn made_rows_are_like_written_ones() {
    let test = "made_rows_are_like_written_ones";
    let Some(browser) = find() else { return };
    let (_, page) = &*LARGE;
    let mut tab = Tab::open(&browser, test);
    tab.show(page, Screen::DESKTOP);
    tab.eval(&opened("All streams"));
    for table in ["#opened", "#ports", "#nodes"] {
        let cells = format!(
            "JSON.stringify(Array.from(document.querySelectorAll('{table} tbody tr'), (row) => \
             [row.className, ...Array.from(row.cells, (cell) => [cell.tagName, cell.scope, \
             cell.className, cell.innerHTML.replace(/ style=\"[^\"]*\"/g, '')])]))"
        );
        let written = tab.text(&cells);
        assert!(written.len() > 1_000, "{table}: {written}");
        let button = format!("document.querySelector('{table} .more button').click()");
        tab.eval(&button);
        assert!(tab.text(&cells).len() > 100 * written.len(), "{table}");
        tab.eval(&button);
        assert_eq!(tab.text(&cells), written, "{table}");
    }
}

/// Oracle: the order of the numbers themselves.
#[test]
fn columns_are_sorted_by_keyboard() {
    let test = "columns_are_sorted_by_keyboard";
    let Some(browser) = find() else { return };
    let (checked, page) = &*LARGE;
    let mut tab = Tab::open(&browser, test);
    tab.show(page, Screen::DESKTOP);
    tab.eval(&opened("All streams"));
    // From the filter, tabs lead over the checkbox and the table to the titles.
    tab.click("#opened input[type=search]");
    let mut reached = String::new();
    for _ in 0..12 {
        tab.press("Tab");
        reached = tab.text("document.activeElement.textContent.trim()");
        if reached == "max" {
            break;
        }
    }
    assert_eq!(reached, "max");
    let outline = "getComputedStyle(document.activeElement).outlineStyle";
    assert_eq!(tab.text(outline), "solid", "the focus is seen");
    let column = "Array.from(document.querySelectorAll('#opened thead th'))\
        .findIndex((title) => title.textContent === 'max')";
    let column = tab.number(column);
    let top = format!("document.querySelector('#opened tbody tr').cells[{column}].textContent");
    let sorted = format!("document.querySelectorAll('#opened thead th')[{column}].ariaSort");
    let mut latencies: Vec<Duration> = checked.streams().filter_map(|s| s.max()).collect();
    latencies.sort_unstable();
    let [least, most] = [latencies[0], latencies[latencies.len() - 1]].map(time);
    tab.press("Enter");
    assert_eq!(tab.text(&sorted), "ascending");
    let text = tab.text(&top);
    assert!(text.starts_with(&least), "{text}: {least}");
    tab.press(" ");
    assert_eq!(tab.text(&sorted), "descending");
    let text = tab.text(&top);
    assert!(text.starts_with(&most), "{text}: {most}");
    // A line opens and closes.
    tab.eval("document.querySelector('#opened summary').focus()");
    tab.press("Enter");
    assert_eq!(tab.eval("document.getElementById('opened').open"), false);
    tab.press(" ");
    assert_eq!(tab.eval("document.getElementById('opened').open"), true);
}

/// Oracle: the ends of the flows.
#[test]
fn a_click_on_a_link_lists_its_streams() {
    let test = "a_click_on_a_link_lists_its_streams";
    let Some(browser) = find() else { return };
    let (checked, page) = &*LARGE;
    let mut tab = Tab::open(&browser, test);
    tab.show(page, Screen::DESKTOP);
    assert!(page.contains(" \u{d7} "), "equal bays are drawn once");
    let drawn = tab.number("document.querySelectorAll('.topology .station').length");
    assert!(drawn < 300, "{drawn} of 1136");
    let at = |end: &str| {
        let streams = checked.streams();
        let streams = streams.filter(|stream| {
            let path = checked.path_name(stream);
            path.starts_with(end) || path.ends_with(end)
        });
        streams.count()
    };
    let said = "document.getElementById('over-said').textContent";
    // The first link is that of scada, which is not folded.
    tab.click("#link-0 path:not(.hot)");
    let words = format!("{} streams over scada - station-level", at("scada"));
    assert_eq!(tab.text(said).replace(' ', ""), words.replace(' ', ""));
    let list = "document.querySelectorAll('#over-streams tbody tr').length";
    assert_eq!(tab.number(list), 8);
    assert_eq!(tab.number("document.querySelectorAll('.topology .on').length"), 1);
    // The same without a mouse, for a station.
    let option = "[data-part=\"node-5\"]";
    tab.eval(&format!(
        "over.value = document.querySelector('#over {option}').value; \
         over.dispatchEvent(new Event('change'))"
    ));
    let name = checked.node_name(NodeId(5)).to_owned();
    let words = tab.text(said);
    assert!(words.starts_with(&format!("{} streams", at(&name))), "{words}");
}

/// Oracle: names are text, wherever rows come from.
#[test]
fn hostile_names_in_data_stay_names() {
    let test = "hostile_names_in_data_stay_names";
    let Some(browser) = find() else { return };
    let mut plant = plants::hostile();
    let [a, b] = [0, 1].map(NodeId);
    for number in 0..60 {
        let name = format!("</script><img src=x onerror='document.title=1'>{number}");
        plant.flow(&name, "", a, &[b], None);
    }
    let mut tab = Tab::open(&browser, test);
    let page = html::render(&checked(&plant));
    assert!(!page.contains("<img"));
    tab.show(&page, Screen::PHONE);
    tab.eval(&opened("All streams"));
    tab.click("#opened .more button");
    assert_eq!(tab.number(ROWS), 62);
    assert_eq!(tab.number("document.querySelectorAll('img').length"), 0);
    let text = tab.text("document.getElementById('opened').textContent");
    assert!(text.contains("</script><img src=x onerror='document.title=1'>59"));
}
