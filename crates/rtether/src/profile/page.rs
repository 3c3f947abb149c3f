//! A profile as one self-contained page.

use rtether_report::markup::{Markup, element};
use rtether_report::page::{self, Page, Tone};
use rtether_report::table::Table;
use rtether_report::text::{plural, time};

use super::show::{Shown, picture};
use super::{Profile, Series};

/// What is not known of a series, or does not fit.
struct Gap<'p> {
    protocol: &'p str,
    what: &'p str,
    why: &'p str,
}

/// Returns the page.
pub fn html(profile: &Profile) -> String {
    let shown = Shown { profile };
    let host = profile.host.as_ref().map_or_else(String::new, |own| format!(" from {own}"));
    let (tone, word, sentence) = verdict(profile);
    let sent: u64 = profile.requests.iter().map(|own| own.sent).sum();
    let gaps = gaps(profile);
    Page::new(&profile.device)
        .kicker(format!("Profile of a device, {}{host}", profile.date))
        .lead(page::banner(tone, word, &sentence))
        .lead(page::figures(&[
            (profile.requests.len().to_string(), "protocols".into()),
            (sent.to_string(), "packets sent".into()),
            (shown.known().to_string(), "figures known".into()),
            (gaps.len().to_string(), "not identified".into()),
        ]))
        .section("figures", "Figures", FIGURES_NOTE, shown.table().html(|_| false))
        .section("trips", "Round trips", TRIPS_NOTE, trips(profile))
        .section("open", "What is not identified", OPEN_NOTE, open(&gaps))
        .section("scenario", "In a scenario", "", element("p").text(shown.tail().trim()))
        .render()
}

const FIGURES_NOTE: &str = "Each with the interval that holds the true one in 95 % of all \
    measurements. Sizes are those of frames.";
const TRIPS_NOTE: &str = "Less the share of the network. What the model of a device does not have is \
    seen here: groups at equal distances, or answers far behind all others.";
const OPEN_NOTE: &str = "What the device does that the model does not have, and figures with the reason \
    why they are not known.";

/// Returns what the page says first.
fn verdict(profile: &Profile) -> (Tone, &'static str, String) {
    let series = &profile.requests;
    if let Some(misfit) = series.iter().flat_map(|own| &own.misfits).next() {
        let sentence = format!("It is not as the model has it: {}.", misfit.why);
        return (Tone::Bad, "NOT CONFIRMED", sentence);
    }
    let trials: Vec<bool> =
        series.iter().filter_map(|own| own.confirmed.map(|trial| trial.holds)).collect();
    if trials.contains(&false) {
        let sentence = "The figures do not predict other requests.".to_owned();
        return (Tone::Bad, "NOT CONFIRMED", sentence);
    }
    let number = plural(series.len(), "protocol");
    if !series.is_empty() && trials.len() == series.len() {
        let sentence =
            format!("The figures of {number} predict requests that no estimate has used.");
        return (Tone::Good, "CONFIRMED", sentence);
    }
    let sentence = format!("{} of {number} have predicted other requests.", trials.len());
    (Tone::Neutral, "WITHOUT A TRIAL", sentence)
}

/// Draws the round trips of each series, with the table behind each picture.
fn trips(profile: &Profile) -> Markup {
    let drawn = profile.requests.iter().filter(|own| !own.histogram.is_empty());
    let mut body = page::wide_grid(drawn.clone().map(picture));
    for series in drawn.clone() {
        let title = element("span").text(format!("{}: the bins as a table", series.protocol));
        body.push(page::details(title, bins(series).html(|_| false), false));
    }
    if drawn.count() == 0 {
        body.push(element("p").text("No series has kept its round trips."));
    }
    body
}

fn bins(series: &Series) -> Table {
    let all: u64 = series.histogram.iter().map(|bin| bin.count).sum();
    Table::of(&series.histogram)
        .amount("from", |bin| time(bin.from))
        .amount("to", |bin| time(bin.to))
        .amount("round trips", |bin| format!("{} of {all}", bin.count))
        .done()
}

fn gaps(profile: &Profile) -> Vec<Gap<'_>> {
    let mut all = Vec::new();
    for series in &profile.requests {
        let protocol = series.protocol.as_str();
        all.extend(series.misfits.iter().map(|own| Gap {
            protocol,
            what: own.kind.word(),
            why: &own.why,
        }));
        all.extend(series.unknown.iter().map(|own| Gap {
            protocol,
            what: &own.figure,
            why: &own.why,
        }));
    }
    all
}

fn open(gaps: &[Gap<'_>]) -> Markup {
    if gaps.is_empty() {
        return element("p").text("All that was looked for is known.").into();
    }
    Table::of(gaps)
        .shown("protocol", |own| own.protocol)
        .shown("what", |own| own.what)
        .shown("why", |own| own.why)
        .done()
        .html(|_| false)
}
