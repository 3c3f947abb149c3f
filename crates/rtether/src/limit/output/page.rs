//! The limit as one self-contained page.

use rtether_report::chart::{Axis, LineChart, Rule, RuleKind, Series, Style};
use rtether_report::markup::{Markup, element};
use rtether_report::page::{self, Page, Tone};
use rtether_report::text::real;

use super::{
    DEPTH, Limit, access_words, by_load, exact_percent, flow_names, loads, rate, sentence, stations,
};
use crate::limit::TrialVerdict;
use crate::scenario::Scenario;
use crate::words::Conclusion;

/// Returns the page.
pub fn html(scenario: &Scenario, limit: &Limit) -> String {
    let conclusion = limit.conclusion();
    let (tone, word) = match conclusion.holds() {
        Some(true) => (Tone::Good, ": \u{2713} the present load is within the limit"),
        Some(false) if conclusion == Conclusion::Failed => {
            (Tone::Bad, ": \u{2717} the present load exceeds the limit")
        }
        Some(false) | None => (Tone::Neutral, ""),
    };
    let word = format!("{}{word}", conclusion.word());
    let question = &limit.question;
    let mut page = Page::new(&scenario.name)
        .kicker("Input limit of the network")
        .lead(page::banner(tone, &word, &sentence(limit)))
        .lead(page::figures(&[
            (rate(limit.present_bps), "present load".into()),
            (
                limit.passing().map_or_else(|| "\u{2013}".into(), |t| rate(t.load_bps)),
                "limit".into(),
            ),
            (question.miss_ratio.to_string(), "largest miss ratio".into()),
            (exact_percent(question.confidence), "confidence".into()),
            (limit.trials.len().to_string(), "loads simulated".into()),
        ]));
    if !limit.trials.is_empty() {
        let note = format!("Scaled: {}. {LOADS_NOTE}", flow_names(scenario, limit));
        let mut body = page::wide_grid([misses(limit), throughput(limit)]);
        let trials = by_load(limit);
        body.push(loads(scenario, &trials).html(|row| trials[row].verdict != TrialVerdict::Pass));
        page = page.section("loads", "Loads", note, body);
    }
    if !limit.stations.is_empty() {
        let note = format!("{STATIONS_NOTE} RP goes with a depth, CBD, of {DEPTH}.");
        page = page.section(
            "stations",
            "Limits of stations",
            note,
            stations(scenario, limit).html(|_| false),
        );
    }
    if !limit.access.is_empty() {
        let lines = limit.access.iter().flat_map(|a| access_words(scenario, a));
        let body: Markup = lines.map(|line| element("p").text(line)).collect();
        page = page.section("access", "Shared media", ACCESS_NOTE, body);
    }
    page.render()
}

const LOADS_NOTE: &str = "The search has the seeds of the scenario, the certification those that \
    follow. The upper limit is that of the miss ratio of the worst flow.";
const STATIONS_NOTE: &str = "The limit of the network, the same for every station or the same \
    multiple of the present load of each. A credit bucket also charges real-time packets: RP lets \
    through the limit and the other flows of the station.";
const ACCESS_NOTE: &str = "Closed forms of IEEE 802.3 for the access of one frame, and how often \
    attempts collided at the limit.";

const MEGA: f64 = 1e-6;

fn load_axis() -> Axis {
    Axis::number("load (Mbit/s)")
}

fn rules(limit: &Limit) -> Vec<Rule> {
    let rule = limit.passing().map(|trial| Rule {
        at: trial.load_bps * MEGA,
        label: format!("limit {}", rate(trial.load_bps)),
        kind: RuleKind::Deadline,
    });
    rule.into_iter().collect()
}

/// Draws observed misses and the upper limit derived from them, over the load.
fn misses(limit: &Limit) -> Markup {
    let trials = by_load(limit);
    let points = |value: &dyn Fn(&super::Trial) -> f64| {
        let points = trials.iter().map(|t| (t.load_bps * MEGA, value(t)));
        // A logarithmic axis has no zero.
        points.filter(|(_, value)| *value > 0.0).collect::<Vec<_>>()
    };
    let target = limit.question.miss_ratio;
    let seen = |trial: &super::Trial| real(trial.worst.missed) / real(trial.worst.released.max(1));
    let series = [
        ("upper limit", points(&|t| t.worst.upper.unwrap_or(0.0)), Style::LineAndMarkers),
        ("target", points(&|_| target), Style::Line),
        ("seen", points(&seen), Style::Markers),
    ];
    LineChart {
        title: "Miss ratio of the worst flow".into(),
        note: "by load of the scaled flows".into(),
        x: load_axis(),
        y: Axis::number("").log(),
        series: series
            .into_iter()
            .filter(|(_, points, _)| !points.is_empty())
            .map(|(name, points, style)| Series { name: name.into(), points, style })
            .collect(),
        rules: rules(limit),
        bands: Vec::new(),
    }
    .render()
}

fn throughput(limit: &Limit) -> Markup {
    let points = by_load(limit)
        .into_iter()
        .map(|trial| (trial.load_bps * MEGA, trial.throughput_bps * MEGA));
    LineChart {
        title: "Delivered payload".into(),
        note: "of the scaled flows".into(),
        x: load_axis(),
        y: Axis::number("Mbit/s"),
        series: vec![Series {
            name: "throughput".into(),
            points: points.collect(),
            style: Style::LineAndMarkers,
        }],
        rules: rules(limit),
        bands: Vec::new(),
    }
    .render()
}
