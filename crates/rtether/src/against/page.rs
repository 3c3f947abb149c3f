//! What was seen against a plan, as one self-contained HTML page.

use std::collections::BTreeMap;

use rtether_report::markup::{Markup, element};
use rtether_report::page::{self, Page, Tone};
use rtether_report::table::Table;
use rtether_report::text::plural;

use super::{Against, Deviation, Row, shown};
use crate::import::Plan;

const DEVIATIONS_NOTE: &str = "Planned / seen, or one value if both are the same.";
const FLOWS_NOTE: &str = "All flows of the plan, and all that was seen: planned / seen, or one value if \
    both are the same.";
const MEANING_NOTE: &str = "What the words above mean.";
const FINDINGS_NOTE: &str = "What else the files show, by line or number of the packet.";

/// Returns the page; `seen` is what was imported.
pub fn html(against: &Against, seen: &Plan) -> String {
    let (tone, word) = if against.deviates() {
        (Tone::Bad, "\u{2717} it deviates from the plan")
    } else {
        (Tone::Good, "\u{2713} all is as planned")
    };
    let word = format!("{}: {word}", against.conclusion().word());
    let mut page = Page::new(&against.plan)
        .kicker(format!("The plan against {}", against.seen))
        .lead(page::banner(tone, &word, &against.said()))
        .lead(page::figures(&figures(against)));
    if against.deviates() {
        let table = against.apart().html(|_| true);
        page = page.section("deviations", "Deviations", DEVIATIONS_NOTE, table);
        page = page.section("meaning", "Meaning", MEANING_NOTE, meanings(against));
    }
    let rows = shown(against.rows.iter());
    let is_bad = |row: usize| !against.rows[row].deviations.is_empty();
    page = page.section("flows", "All flows", FLOWS_NOTE, rows.html(is_bad));
    if !seen.findings.is_empty() {
        page = page.section("findings", "Findings", FINDINGS_NOTE, findings(seen));
    }
    page.render()
}

fn figures(against: &Against) -> Vec<(String, String)> {
    let count = |is: &dyn Fn(&Row) -> bool| {
        let found = against.rows.iter().filter(|row| is(row));
        found.count().to_string()
    };
    let matches = |row: &Row| row.deviations.is_empty();
    let entry = |number: String, what: &str| (number, what.to_owned());
    vec![
        entry(count(&|row| row.planned.is_some()), "planned flows"),
        entry(count(&matches), "as planned"),
        entry(
            count(&|row| row.planned.is_some() && row.seen.is_some() && !matches(row)),
            "otherwise than planned",
        ),
        entry(count(&|row| row.seen.is_none()), "missing"),
        entry(count(&|row| row.planned.is_none()), "not planned"),
    ]
}

/// Explains each deviation that there is.
fn meanings(against: &Against) -> Markup {
    let mut found: BTreeMap<Deviation, usize> = BTreeMap::new();
    for deviation in against.rows.iter().flat_map(|row| &row.deviations) {
        *found.entry(*deviation).or_default() += 1;
    }
    let table = Table::of(found)
        .shown("deviation", |(deviation, _)| deviation.name())
        .shown("flows", |(_, count)| plural(*count, "flow"))
        .shown("meaning", |(deviation, _)| deviation.meaning());
    table.done().html(|_| false)
}

fn findings(seen: &Plan) -> Markup {
    let table = Table::of(&seen.findings)
        .amount("line", |finding| finding.line)
        .shown("finding", |finding| finding.code.name())
        .shown("what", |finding| finding.text.as_str())
        .shown("what helps", |finding| finding.code.help());
    let mut all: Markup = table.done().html(|_| false);
    let assumed = seen.assumptions.len();
    if assumed > 0 {
        let text = format!("{} in what was imported.", plural(assumed, "assumption"));
        all.push(element("p").class("note").text(&text));
    }
    all
}
