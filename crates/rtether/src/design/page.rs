//! A design as one self-contained page: before and after.

use rtether_report::page::{self, Page, Tone};

use super::output::margins;
use super::{End, Outcome};

const EDITS: &str = "One line is one edit, however many flows or nodes it meets.";
const STREAMS: &str = "Proved bounds before and after the edits: what is not proved first, then the \
    least slack.";

/// Returns the design as a page.
pub fn html(outcome: &Outcome) -> String {
    let tone = match outcome.end {
        End::Proved => Tone::Good,
        End::Impossible => Tone::Bad,
        End::Best | End::Interrupted => Tone::Neutral,
    };
    let [before, after] = outcome.proved;
    let tiles = [
        (outcome.goals, "deadlines"),
        (before, "proved before"),
        (after, "proved after"),
        (outcome.edits.len(), "edits"),
        (outcome.trials, "designs tried"),
    ];
    let tiles = tiles.map(|(number, meaning)| (number.to_string(), meaning.to_owned()));
    let margins_table = margins(&outcome.margins());
    Page::new(&outcome.after.0.name)
        .kicker("A design, and what it proves")
        .lead(page::banner(tone, outcome.conclusion().word(), &outcome.headline()))
        .lead(page::figures(&tiles))
        .section("edits", "Edits", EDITS, outcome.edits().html(|_| false))
        .section("deadlines", "Deadlines", STREAMS, margins_table.html(|_| false))
        .render()
}
