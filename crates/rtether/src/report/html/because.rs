//! Why streams take so long: timelines as data, from which a script makes rows below those of
//! streams.

use std::collections::BTreeMap;

use rtether_model::quantity::Duration;
use serde_json::{Map, Value, json};

use super::super::checked::Checked;
use super::super::markup::{Markup, element};
use super::super::text::{share, time};
use crate::timeline::{Bars, Dark, Kind};

/// Most waits of a part that are told apart.
const MOST_WAITS: usize = 12;

/// Texts of the page, each once.
#[derive(Default)]
struct Texts {
    known: BTreeMap<String, usize>,
    all: Vec<String>,
}

impl Texts {
    fn number(&mut self, text: &str) -> usize {
        // The page has names in a column of their own.
        let text = text.replace('`', "");
        if let Some(&known) = self.known.get(&text) {
            return known;
        }
        self.all.push(text.clone());
        self.known.insert(text, self.all.len() - 1);
        self.all.len() - 1
    }
}

/// Returns the data and a note, which the script shows; nothing without explained streams.
pub(super) fn data(checked: &Checked) -> Markup {
    let explained = &checked.explained;
    if explained.streams.is_empty() {
        return Markup::default();
    }
    let mut texts = Texts::default();
    let mut streams = Map::new();
    for own in &explained.streams {
        let name = checked.stream_name(&checked.stream(own.index));
        let [packet, bound] = [&own.packet, &own.bound].map(|told| {
            let told = told.as_ref();
            told.map(|(headline, bars)| timeline(&mut texts, headline, bars))
        });
        streams.insert(name, json!([packet, bound]));
    }
    let data = json!({
        "texts": texts.all,
        "streams": streams,
        "command": "rtether why SCENARIO.yaml",
    });
    let script =
        element("script").attr("type", "application/json").attr("id", "because").data(&data);
    let note = element("p")
        .class("note")
        .attr("id", "because-note")
        .attr("hidden", "hidden")
        .text(&explained.note);
    let mut all = Markup::from(note);
    all.push(script);
    all
}

/// Returns a timeline as a title and lines: kind, name, begin and length in thousandths, time.
fn timeline(texts: &mut Texts, headline: &str, bars: &Bars) -> Value {
    let title = headline.lines().take(2).collect::<Vec<_>>().join("; ");
    let mut all = vec![json!(texts.number(&title))];
    let mut line = |kind: Option<Kind>, name: &str, (begin, end): (Duration, Duration)| {
        let [from, to] = [begin, end].map(|at| thousandths(at, bars.whole));
        let kind = kind.map(|kind| kind as u8);
        let length = to.saturating_sub(from);
        json!([kind, texts.number(name), from, length, texts.number(&time(end - begin))])
    };
    for bar in &bars.bars {
        all.push(line(None, &bar.name, (bar.begin, bar.end)));
        let mut longest: Vec<&Dark> = bar.waits.iter().collect();
        longest.sort_by_key(|wait| (core::cmp::Reverse(wait.time), wait.begin));
        let rest = longest.split_off(longest.len().min(MOST_WAITS));
        longest.sort_by_key(|wait| wait.begin);
        for wait in longest {
            let span = (wait.begin, wait.begin + wait.time);
            all.push(line(Some(wait.kind), &wait.name, span));
        }
        if let Some(first) = rest.first() {
            let whole: Duration = rest.iter().map(|wait| wait.time).sum();
            let begin = rest.iter().map(|wait| wait.begin).min().unwrap_or(bar.begin);
            let name = format!("{} more", rest.len());
            all.push(line(Some(first.kind), &name, (begin, begin + whole)));
        }
    }
    all.into()
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place on a bar")]
fn thousandths(at: Duration, whole: Duration) -> u32 {
    (share(at, whole) * 1_000.0).round() as u32
}
