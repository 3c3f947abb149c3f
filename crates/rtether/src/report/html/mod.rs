//! The checked as one self-contained HTML page: verdicts, topology, distributions, shares.
//!
//! Up to [`super::verdicts::MOST_STREAMS`] streams are shown one by one. For more, charts show classes
//! and the failed streams, so that a plant with hundreds of streams stays readable and small. Tables
//! have at most [`MOST_ROWS`] rows, so that the page of the largest plant can be opened.

mod because;
mod cells;
mod delays;
mod ingress;
mod plant;
mod shared;
mod stations;
mod topology;
mod transfers;
mod verdicts;
mod view;

use super::checked::{Checked, Counts};
use super::markup::{Element, Markup, element};
use super::page::{Page, Tone, banner, details, figures};
use super::text::{count, plural, time};
use super::verdicts::MOST_STREAMS;
use super::{stages, sums};
use crate::bound;
use crate::rules::NOTE;
use view::View;

pub use cells::{mark_cell, name_cell, time_cell};
pub use plant::{number, table};
pub use topology::plan;
pub use transfers::section as transfers;
pub use verdicts::reasons;

/// Most rows of a table, worst or busiest first; the files of `--out` have all.
const MOST_ROWS: usize = 10_000;
/// Largest scenario that the page repeats, in octets.
const MOST_SOURCE: usize = 1 << 20;

/// Returns the page.
pub fn render(checked: &Checked) -> String {
    let views = View::all(checked);
    let mut page = Page::new(&checked.scenario.name)
        .kicker("Delay from application to application")
        .lead(lead(checked))
        .section("verdict", "Verdict", VERDICT_NOTE, verdicts::section(checked));
    page = extra_verdicts(page, checked);
    page = page.section("topology", "Topology", TOPOLOGY_NOTE, topology::topology(checked));
    if let Some(analysis) = &checked.analysis {
        let body = bound::section(&checked.scenario, analysis);
        page = page.section("bounds", "Bounds", bound::NOTE, body);
    }
    if !views.is_empty() {
        page = page
            .section("shares", "Where the time goes", SHARES_NOTE, delays::shares(&views))
            .section(
                "delays",
                "Delay distribution",
                delays_note(checked),
                delays::distributions(&views),
            );
    }
    let over_time = delays::over_time(&views, checked.results.record.bucket);
    if !over_time.is_empty() {
        page = page.section("time", "Delay over time", TIME_NOTE, over_time);
    }
    let transfers = transfers::section(checked);
    if !transfers.is_empty() {
        page = page.section("transfers", "Transfers", TRANSFERS_NOTE, transfers);
    }
    let media = shared::media(checked);
    if !media.is_empty() {
        page = page.section("media", "Shared media", MEDIA_NOTE, media);
    }
    let layers = shared::layers(checked);
    if !layers.is_empty() {
        page = page.section("layers", "End-node layers", LAYERS_NOTE, layers);
    }
    let ingress = ingress::section(checked);
    if !ingress.is_empty() {
        page = page.section("ingress", "Rules of switches", NOTE, ingress);
    }
    page.section("ports", "Links", PORTS_NOTE, plant::ports(checked))
        .section("nodes", "Nodes", NODES_NOTE, plant::nodes(checked))
        .section("run", "About this run", "", facts(checked))
        .render()
}

const VERDICT_NOTE: &str = "Worst first. Latency runs from the release by the talker's application \
    to the delivery to the listener's; with a reply, back to the talker. The margin is the deadline \
    minus the largest latency seen; where a requirement failed, its limit minus what failed. The word \
    below a time is what its column says: a bound is a proof, packets in time are not.";
const STAGES_NOTE: &str = "A packet belongs to the stage in which it was released.";
const SUMS_NOTE: &str =
    "Largest latencies of several flows added up, whichever packets they belong to.";
const HELP_NOTE: &str = "The single changes that help the stream that failed worst: those that prove it first, then those that lower its bound \
    most. An edit is an option of any command that reads the scenario.";
const TOPOLOGY_NOTE: &str = "Numbers are the load of a link in its busier direction; color and line \
    tell the worst verdict of the streams over it. The marked path is that of the chosen stream; a \
    click on a link or node lists its streams.";
const SHARES_NOTE: &str = "Mean over all packets, and the single packet with the largest latency. \
    Striped parts are waiting, plain parts are work or transport.";
const ASSUMED_NOTE: &str = "Values that are assumed and not known, as the scenario says under \
    `assumed`. An assumption ends when its value is written. Costs that are not known have two \
    ends: bounds hold for every value between them, and are computed again with each kind at its \
    lower end. Assumptions that may change the delay of a flow with a deadline are marked.";

/// Returns the assumptions by kind, and one by one.
fn assumed(checked: &Checked) -> Markup {
    let own = &checked.assumed;
    let said =
        format!("{}.{}", plural(own.count(), "assumption"), own.sentences(&checked.scenario));
    let mut body = Markup::from(element("p").text(said));
    body.push(own.kinds_table().html(|_| false));
    let mut all = own.table(&checked.scenario);
    all.truncate(MOST_ROWS);
    body.push(details(Markup::text("All of them"), all.html(|_| false), false));
    body
}

/// Adds what has rows of its own beside the streams: sums of delays, and stages of the run.
fn extra_verdicts(mut page: Page, checked: &Checked) -> Page {
    let sums = checked.sums();
    if !sums.is_empty() {
        let body = sums::table(checked).html(|row| sums[row].failed.is_some());
        page = page.section("sums", "Sums of delays", SUMS_NOTE, body);
    }
    let late = stages::late(checked);
    if !late.is_empty() {
        let body = stages::table(checked).html(|row| late[row]);
        page = page.section("stages", "Stages of the run", STAGES_NOTE, body);
    }
    let assumptions = &checked.scenario.assumptions;
    if !assumptions.held.is_empty() || !assumptions.identified.is_empty() {
        page = page.section("assumed", "What it rests on", ASSUMED_NOTE, assumed(checked));
    }
    if let Some(help) = &checked.help {
        let name = checked.stream_name(&checked.stream(help.stream));
        let mut body = Markup::from(element("p").text(help.title(&name)));
        if help.has_table() {
            body.push(help.table().html(|_| false));
        }
        let remark = help.remark();
        if !remark.is_empty() {
            body.push(element("p").text(remark));
        }
        page = page.section("help", "What would help", HELP_NOTE, body);
    }
    page
}

/// What the curves of [`distributions`] say.
pub const DELAYS_NOTE: &str = "Share and number of packets that take longer than a time, down to a single \
    packet. Where a curve crosses the deadline, packets are late.";
const MEASURED_NOTE: &str = " Measured is this host; packets that its stalls touched are left out.";
const TIME_NOTE: &str = "Mean and largest latency of the packets delivered in each slice of time, \
    over all runs.";
const TRANSFERS_NOTE: &str =
    "TCP transfers of all runs, from the opening of the connection to the last octet.";
const MEDIA_NOTE: &str = "One row for each collision domain, busiest first. The load is the time of \
    frames that got through; wasted is the time of transmissions that collided, each port's counted. \
    Fairness is Jain's index over the ports that offered anything: 1 if all sent the same, 1/n if \
    one of n sent all.";
const LAYERS_NOTE: &str = "Queues between driver and stack of each station, and its traffic \
    smoother; lowest queue first.";
const PORTS_NOTE: &str = "One row for each sending port, busiest first. The load counts preambles \
    and gaps.";
const NODES_NOTE: &str = "Busiest protocol stacks first.";

fn delays_note(checked: &Checked) -> String {
    if checked.has_measured() { [DELAYS_NOTE, MEASURED_NOTE].concat() } else { DELAYS_NOTE.into() }
}

/// Draws latency distributions, one chart per stream or class; empty if nothing was delivered.
pub fn distributions(checked: &Checked) -> Markup {
    let views = View::all(checked);
    if views.is_empty() {
        return Markup::default();
    }
    delays::distributions(&views)
}

/// Returns what the number of proved streams is called.
fn proved_words(checked: &Checked) -> &'static str {
    if checked.assumed.count() == 0 { "proved" } else { "proved, if what is assumed holds" }
}

/// Shows the overall verdict.
pub fn verdict(checked: &Checked) -> Markup {
    let counts = checked.counts();
    let condition = checked.assumed.condition();
    let is_late = checked.sums().iter().any(|sum| sum.failed.is_some());
    let (tone, word): (Tone, String) = match (counts.failed(), counts.no_answer, counts.judged()) {
        (0, ..) if is_late => (Tone::Bad, "\u{2717} a sum of delays is late".into()),
        (0, 0, 0) => (Tone::Neutral, "no latency is judged".into()),
        (0, 0, _) if counts.held == 0 && condition.is_empty() => {
            (Tone::Good, "\u{2713} proved".into())
        }
        (0, 0, _) if counts.held == 0 => (Tone::Neutral, format!("proved{condition}")),
        (0, 0, _) if counts.proved == 0 => (Tone::Neutral, "all held so far, none proved".into()),
        (0, 0, _) => {
            let Counts { proved, held, .. } = counts;
            let word = format!("{proved} proved{condition}, {held} held so far, not proved");
            (Tone::Neutral, word)
        }
        (0, _, _) => (Tone::Neutral, "? nothing was delivered or due".into()),
        _ if counts.late + counts.lost == 0 => {
            (Tone::Bad, "\u{2717} a proof is required and missing".into())
        }
        _ => (Tone::Bad, "\u{2717} a requirement does not hold".into()),
    };
    let word = format!("{}: {word}", checked.conclusion.word());
    banner(tone, &word, &checked.said())
}

fn lead(checked: &Checked) -> Markup {
    let counts = checked.counts();
    let record = &checked.results.record;
    let sum = |value: fn(&rtether_model::record::StreamRecord) -> u64| {
        count(record.streams.iter().map(value).sum())
    };
    let runs = format!("runs of {}", time(record.duration));
    let tiles = [
        (counts.streams.to_string(), "streams"),
        (counts.proved.to_string(), proved_words(checked)),
        (counts.held.to_string(), "held, not proved"),
        (counts.no_deadline.to_string(), "without a deadline"),
        (counts.late.to_string(), "late"),
        (counts.lost.to_string(), "with losses"),
        (sum(|stream| stream.delivered), "packets delivered"),
        (sum(|stream| stream.dropped), "packets lost"),
        (checked.results.seeds.len().to_string(), runs.as_str()),
    ];
    let mut lead = verdict(checked);
    lead.push(figures(&tiles.map(|(number, meaning)| (number, meaning.to_owned()))));
    if let Some(link) = &checked.what_if {
        let link = element("a").attr("href", link).text("What if?");
        let words = "Open this scenario in the playground, and change it.";
        let note = element("p").class("note").child(link).text(" ").text(words);
        lead.push(note);
    }
    lead
}

fn facts(checked: &Checked) -> Markup {
    let (results, record) = (&checked.results, &checked.results.record);
    let network = &checked.scenario.network;
    let ids = || network.iter_nodes().map(|(id, _)| id);
    let count_of = |kind| ids().filter(|&id| checked.kind_name(id) == kind).count();
    let (stations, switches, hubs) = (count_of("station"), count_of("switch"), count_of("hub"));
    let mut facts = vec![
        (
            "Simulated time",
            format!("{} per run, of which {} warm-up", time(record.duration), time(record.warmup)),
        ),
        ("Runs", plural(results.seeds.len(), "run")),
        ("Seeds", seeds(&results.seeds)),
        ("Events", count(record.events)),
        (
            "Plant",
            format!(
                "{}, {switches} {}, {}{}",
                plural(stations, "end station"),
                if switches == 1 { "switch" } else { "switches" },
                if hubs > 0 { format!("{}, ", plural(hubs, "hub")) } else { String::new() },
                plural(network.links.len(), "link")
            ),
        ),
        ("Flows", checked.scenario.flows.len().to_string()),
        ("Version", format!("rtether {}", env!("CARGO_PKG_VERSION"))),
    ];
    if results.partial {
        facts.push(("Interrupted", "yes: the results are partial".into()));
    }
    let entries = facts
        .into_iter()
        .flat_map(|(name, value)| [element("dt").text(name), element("dd").text(value)]);
    let mut all = Markup::from(element("dl").children(entries));
    if let Some(source) = &checked.source {
        if source.len() > MOST_SOURCE {
            let octets = count(u64::try_from(source.len()).unwrap_or(u64::MAX));
            let words = format!("The scenario has {octets} octets and is not repeated here.");
            all.push(element("p").class("note").text(words));
            return all;
        }
        let text = element("pre").child(element("code").text(source));
        all.push(details(Markup::text("Scenario"), text, false));
    }
    all
}

/// Formats ascending seeds as ranges: `1 to 32`.
fn seeds(seeds: &[u64]) -> String {
    let follows = |a: &u64, b: &u64| a.checked_add(1) == Some(*b);
    let ranges = seeds.chunk_by(follows).map(|range| match range {
        [one] => one.to_string(),
        [first, .., last] => format!("{first} to {last}"),
        [] => String::new(),
    });
    ranges.collect::<Vec<_>>().join(", ")
}

/// Returns whether streams are shown one by one.
fn is_small(checked: &Checked) -> bool {
    checked.results.record.streams.len() <= MOST_STREAMS
}

/// Says how many rows of a table are on the page, and which; nothing if all are.
fn left_out(rows: usize, name: &str, which: &str) -> Markup {
    if rows <= MOST_ROWS {
        return Markup::default();
    }
    let number = |rows: usize| count(u64::try_from(rows).unwrap_or(u64::MAX));
    let words = format!(
        "The page has {} of {}, {which} first; the files of `--out` have all.",
        number(MOST_ROWS),
        plural(rows, name)
    );
    element("p").class("note").text(words).into()
}

/// Starts a subtitle inside a section.
fn subtitle(text: &str) -> Element {
    element("h3").text(text)
}
