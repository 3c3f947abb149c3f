//! Proved bounds of a scenario, as text and files.
//!
//! The analysis is that of `rtether_bounds`; this module adds the names of the scenario and
//! verdicts.

mod admit;
mod analyze;
pub mod assumed;
mod compare;
mod conclusion;
pub(crate) mod condition;
mod contradiction;
mod diameter;
mod differences;
mod document;
pub(crate) mod loss;
pub(crate) mod names;
mod output;
mod page;
mod places;
mod ports;
mod sensitivity;
mod statistical;
mod waits;
mod what_if;

pub use rtether_bounds::{Analysis, Methods};
use rtether_bounds::{Bound, Condition, Effect, Reason, StreamBound};
use rtether_model::network::NodeId;
pub use rtether_model::quantity::Duration;

use crate::place::place_name;
use crate::scenario::Scenario;
use names::Names;

pub(crate) use admit::AdmitJson;
pub use admit::{Admission, Decision, admit};
pub(crate) use analyze::{Pool, analyze_with_while};
pub use analyze::{analyze, analyze_while, analyze_with};
pub use compare::{Answer, Comparison, Difference, Side, compare};
pub use contradiction::{Contradiction, contradictions};
pub use diameter::ByDiameter;
pub(crate) use diameter::DiameterJson;
pub(crate) use document::{Document, Said, said};
pub use loss::broken_assumption;
pub use output::Bounds;
pub use page::html;
pub(crate) use page::{NOTE, section};
pub use places::Places;
pub use ports::{PortUse, StackUse, State, ports, stacks};
pub(crate) use sensitivity::SensitivityJson;
pub(crate) use sensitivity::{Candidate, Search, faster, made};
pub use sensitivity::{Sensitivity, SensitivityError, Steps, Trial, sensitivity};
pub use statistical::{MODEL, Statistical, statistical};
pub(crate) use waits::WaitsJson;
pub use waits::{Model as WaitModel, NoModel, PortWaits, Waits, waits};
pub(crate) use what_if::WhatIfJson;
pub use what_if::{WhatIf, what_if};

/// Returns the bounds of all streams; `None` for a stream without a bound.
pub fn latencies(analysis: &Analysis) -> Vec<Option<Duration>> {
    let bounds = analysis.streams.iter().map(|stream| &stream.bound);
    bounds.map(|bound| Some(bound.as_ref().ok()?.latency)).collect()
}

/// Returns the bounds that hold for each packet that is delivered, whatever was dropped.
pub fn unconditional(analysis: &Analysis) -> Vec<Option<Duration>> {
    let bounds = analysis.judged().map(|(stream, condition)| {
        let is_void = condition.is_some_and(|own| own.effect == Effect::IfNothingDropped);
        let bound = stream.bound.as_ref().ok().filter(|_| !is_void);
        Some(bound?.latency)
    });
    bounds.collect()
}

/// Number of streams by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Streams with a deadline that their bound meets.
    pub ok: usize,
    /// Streams whose bound meets the deadline for packets that are delivered.
    pub if_delivered: usize,
    /// Streams whose bound meets the deadline if nothing is dropped.
    pub if_nothing_dropped: usize,
    /// Streams whose bound exceeds the deadline.
    pub late: usize,
    /// Streams with a deadline and without a bound.
    pub unknown: usize,
    /// Streams without a deadline.
    pub unjudged: usize,
}

/// Counts the verdicts.
pub fn counts(scenario: &Scenario, analysis: &Analysis) -> Counts {
    let mut counts = Counts::default();
    for judged in analysis.judged() {
        let slot = match verdict(scenario, judged) {
            "ok" => &mut counts.ok,
            IF_DELIVERED => &mut counts.if_delivered,
            IF_NOTHING_DROPPED => &mut counts.if_nothing_dropped,
            NOT_PROVED => &mut counts.late,
            "no-bound" => &mut counts.unknown,
            _ => &mut counts.unjudged,
        };
        *slot += 1;
    }
    counts
}

/// Verdict on a stream whose bound exceeds its deadline: packets may or may not be late.
pub(crate) const NOT_PROVED: &str = "not-proved";

/// Verdict on a stream whose bound meets the deadline for each packet that is delivered.
const IF_DELIVERED: &str = "if-delivered";
/// Verdict on a stream whose bound meets the deadline if nothing is dropped.
const IF_NOTHING_DROPPED: &str = "if-nothing-dropped";

/// A stream with what its bound is a proof of only.
pub(crate) type Judged<'a> = (&'a StreamBound, Option<&'a Condition>);

/// Returns a verdict as shown to users: a bound within the deadline is a proof if nothing on the way may
/// drop packets.
pub(crate) fn words(verdict: &str) -> String {
    match verdict {
        "ok" => "proved".into(),
        IF_DELIVERED => "proved if delivered".into(),
        IF_NOTHING_DROPPED => "proved if nothing is dropped".into(),
        other => other.replace('-', " "),
    }
}

pub(crate) fn verdict(scenario: &Scenario, (stream, condition): Judged<'_>) -> &'static str {
    let deadline = scenario.flows[stream.flow.index()].deadline;
    match (deadline, &stream.bound) {
        (None, _) => "unjudged",
        (Some(_), Err(_)) => "no-bound",
        (Some(deadline), Ok(bound)) if bound.latency > deadline => NOT_PROVED,
        (Some(_), Ok(_)) => match condition.map(|condition| condition.effect) {
            None => "ok",
            Some(Effect::IfDelivered) => IF_DELIVERED,
            Some(Effect::IfNothingDropped) => IF_NOTHING_DROPPED,
        },
    }
}

/// Returns what is proved of each stream, with what the proof lacks: why there is no bound, or of what it
/// is a proof only.
pub(crate) fn proved(
    scenario: &Scenario,
    analysis: &Analysis,
) -> Vec<(Option<Duration>, Option<String>)> {
    let names = names::Names::new(scenario);
    let streams = analysis.judged().map(|(stream, condition)| {
        let lack = match (&stream.bound, condition) {
            (Err(why), _) => Some(reason(scenario, why)),
            (Ok(_), Some(own)) => {
                Some(format!("only {}", condition::only_if(&names, analysis, own)))
            }
            (Ok(_), None) => None,
        };
        (stream.bound.as_ref().ok().map(|bound| bound.latency), lack)
    });
    streams.collect()
}

/// Returns why there is no bound, with names: `overload: 103.2 % of the switch queue of sw1 to plc`.
pub fn reason(scenario: &Scenario, reason: &Reason) -> String {
    let network = &scenario.network;
    let node = |id: NodeId| network.node(id).name.as_str();
    match reason {
        Reason::SharedMedium { port } => {
            format!("{reason} ({} is attached to it)", node(port.node))
        }
        Reason::Access { port, .. } => format!("{reason} (at {})", node(port.node)),
        Reason::Overload { place, .. } | Reason::Cycle { place } => {
            format!("{reason}, at the {}", place_name(scenario, *place))
        }
        Reason::UnlimitedArrivals { flow } => {
            format!("{reason} of `{}`", scenario.flow_name(*flow))
        }
        Reason::Ingress { port, .. } => {
            format!("{reason}: at port {} of {}", port.port + 1, node(port.node))
        }
        Reason::EndNodeLayer { node: id, .. } => format!("{reason}: {}", node(*id)),
        Reason::Resolution { from, to, .. } => {
            format!("{reason} (`{}` asks for `{}`)", node(*from), node(*to))
        }
        Reason::LinkRate { port } => format!("{reason}: at {}", node(port.node)),
        Reason::FloodingLoop { flow } => {
            format!("{reason}: frames of `{}`", scenario.flow_name(*flow))
        }
        Reason::NoRoute(_)
        | Reason::NotDelivered
        | Reason::OutOfRange
        | Reason::Connection { .. }
        | Reason::Files { .. }
        | Reason::Samples { .. } => reason.to_string(),
    }
}

/// Returns the hop that contributes most, in words, and its share.
fn responsible(names: &Names<'_>, bound: &Bound) -> Option<(String, f64)> {
    let hop = bound.responsible()?;
    let share = hop.delay().as_ns_f64() / bound.latency.as_ns_f64();
    Some((names.place(hop.place), share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtether_model::network::PortId;

    use crate::run::Results;
    use crate::scenario;

    fn load(text: &str) -> Scenario {
        scenario::load("test.yaml", text).scenario.expect("a good scenario")
    }

    const STAR: &str = "rtether: 1\nname: two\n\
        nodes: { a: { stack: zero }, b: { stack: zero } }\n\
        switches: { sw: { ports: 2 } }\n\
        links:\n  - { ends: [a, \"sw:1\"], rate: 100 Mbit/s }\n  - { ends: [b, \"sw:2\"], rate: 100 Mbit/s }\n\
        flows:\n  - { name: f, from: a, to: b, period: 1 ms, size: 60 B, deadline: 20 us }\n\
        run: { for: 10 ms, seeds: 1 }\n";

    /// Returns what a run shows that the analysis excludes.
    fn excluded(scenario: &Scenario, analysis: &Analysis, results: &Results) -> Vec<Contradiction> {
        let Scenario { network, flows, .. } = scenario;
        contradictions(network, flows, analysis, &results.record)
    }

    #[test]
    fn one_flow_alone_by_hand() {
        // 114 octets with preamble over two links of 100 Mbit/s: 18.24 us, and no wait.
        let scenario = load(STAR);
        let analysis = analyze(&scenario);
        assert_eq!(latencies(&analysis), [Some(Duration::from_ns(18_240))]);
        let counts = counts(&scenario, &analysis);
        assert_eq!((counts.ok, counts.late, counts.unknown), (1, 0, 0));
        let results = crate::run::simulate(&scenario, &crate::run::Progress::default());
        assert_eq!(excluded(&scenario, &analysis, &results.expect("runs")), []);
    }

    /// Oracle: by hand, six frames into a port whose buffer holds fewer.
    #[test]
    fn a_full_buffer_breaks_the_assumption() {
        let mut text = STAR.replace("ports: 2 }", "ports: 2, buffer: 2 kB }");
        text = text.replace("period: 1 ms, size: 60 B", "min_gap: 8 ms, burst: 6, size: 1000 B");
        let text = text.replacen(
            "100 Mbit/s }\n  - { ends: [b, \"sw:2\"], rate: 100",
            "1 Gbit/s }\n  - { ends: [b, \"sw:2\"], rate: 10",
            1,
        );
        let scenario = load(&text);
        let results = crate::run::simulate(&scenario, &crate::run::Progress::default());
        let results = results.expect("runs");
        assert_eq!(excluded(&scenario, &analyze(&scenario), &results), []);
        // The same drops where the buffer is proved to suffice.
        let large = load(&text.replace("buffer: 2 kB", "buffer: 20 kB"));
        let port = PortId { node: NodeId(2), port: 1 };
        assert_eq!(
            excluded(&large, &analyze(&large), &results),
            [Contradiction::Lost(0), Contradiction::Port(port)]
        );
        let words = broken_assumption(&scenario, &results).expect("drops");
        assert!(words.starts_with("the port of sw to b dropped "), "{words}");
        let results = crate::run::simulate(&load(STAR), &crate::run::Progress::default());
        assert_eq!(broken_assumption(&load(STAR), &results.expect("runs")), None);
    }

    #[test]
    fn what_has_no_bound_says_why() {
        let text = STAR.replace("period: 1 ms", "kind: poisson, mean_gap: 1 ms");
        let scenario = load(&text);
        let analysis = analyze(&scenario);
        let why = analysis.streams[0].bound.as_ref().expect_err("no bound");
        assert_eq!(reason(&scenario, why), "unlimited arrivals of `f`");
        assert_eq!(counts(&scenario, &analysis).unknown, 1);
    }
}
