//! Proved bounds of a scenario, in words and files.
//!
//! The analysis is that of `rtether_bounds`; here its answer gets the names of the scenario and a
//! verdict.

mod output;

pub use rtether_bounds::Methods;
use rtether_bounds::{Analysis, Bound, Reason, StreamBound};
use rtether_model::network::{NodeId, PortId};
use rtether_model::quantity::Duration;
use rtether_model::record::{Place, Segment};

use crate::run::Results;
use crate::scenario::Scenario;

pub use output::{csv, json, table};

/// Computes the bounds of all streams, in the order of a run's record.
pub fn analyze(scenario: &Scenario) -> Analysis {
    rtether_bounds::analyze(&scenario.network, &scenario.flows)
}

/// The same by the chosen methods.
pub fn analyze_with(scenario: &Scenario, methods: Methods) -> Analysis {
    rtether_bounds::analyze_with(&scenario.network, &scenario.flows, methods)
}

/// Returns the bounds of all streams; `None` where there is none.
pub fn latencies(analysis: &Analysis) -> Vec<Option<Duration>> {
    let bounds = analysis.streams.iter().map(|stream| &stream.bound);
    bounds
        .map(|bound| Some(bound.as_ref().ok()?.latency))
        .collect()
}

/// Returns the streams whose largest simulated latency exceeds their bound: a defect of rtether,
/// in the simulator or in the bounds.
pub fn contradictions(analysis: &Analysis, results: &Results) -> Vec<usize> {
    let streams = results.record.streams.iter().zip(latencies(analysis));
    let exceeds = streams.map(|(stream, bound)| bound.is_some_and(|b| stream.latency.max > b));
    let found = exceeds.enumerate().filter(|&(_, exceeds)| exceeds);
    found.map(|(index, _)| index).collect()
}

/// What the bounds say of a scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Streams with a deadline that their bound meets.
    pub ok: usize,
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
    for stream in &analysis.streams {
        let slot = match verdict(scenario, stream) {
            "ok" => &mut counts.ok,
            "late" => &mut counts.late,
            "no-bound" => &mut counts.unknown,
            _ => &mut counts.unjudged,
        };
        *slot += 1;
    }
    counts
}

fn verdict(scenario: &Scenario, stream: &StreamBound) -> &'static str {
    let deadline = scenario.flows[stream.flow.index()].deadline;
    match (deadline, &stream.bound) {
        (None, _) => "unjudged",
        (Some(_), Err(_)) => "no-bound",
        (Some(deadline), Ok(bound)) if bound.latency > deadline => "late",
        (Some(_), Ok(_)) => "ok",
    }
}

/// Returns why there is no bound, with names: `overload: 103.2 % of the switch queue of sw1 to plc`.
pub fn reason(scenario: &Scenario, reason: &Reason) -> String {
    let network = &scenario.network;
    let node = |id: NodeId| network.node(id).name.as_str();
    match reason {
        Reason::SharedMedium { port } => {
            format!("{reason} ({} stands at it)", node(port.node))
        }
        Reason::Overload { place, .. } | Reason::Cycle { place } => {
            format!("{reason}, at the {}", place_name(scenario, *place))
        }
        Reason::UnlimitedArrivals { flow } => {
            format!("{reason} of `{}`", scenario.flows[flow.index()].name)
        }
        Reason::EndNodeLayer { node: id } => format!("{reason}: {}", node(*id)),
        Reason::LinkRate { port } => format!("{reason}: at {}", node(port.node)),
        Reason::FloodingLoop { flow } => {
            format!("{reason}: those of `{}`", scenario.flows[flow.index()].name)
        }
        Reason::NoRoute(_) | Reason::NotDelivered | Reason::OutOfRange => reason.to_string(),
    }
}

/// Returns a place in words: `switch queue of sw1 to plc`.
fn place_name(scenario: &Scenario, place: Place) -> String {
    let network = &scenario.network;
    let node = &network.node(place.port.node).name;
    let segment = place.segment.name();
    match (place.segment, peer(scenario, place.port)) {
        (Segment::SwitchQueue, Some(peer)) => {
            format!("{segment} of {node} to {}", network.node(peer).name)
        }
        _ => format!("{segment} of {node}"),
    }
}

/// Returns the node at the other end of the link at a port.
fn peer(scenario: &Scenario, port: PortId) -> Option<NodeId> {
    let links = scenario.network.links.iter();
    let mut links = links.filter(|link| !link.standby);
    Some(links.find_map(|link| link.peer_of(port))?.node)
}

/// Returns the hop that contributes most, in words, and its share.
fn responsible(scenario: &Scenario, bound: &Bound) -> Option<(String, f64)> {
    let hop = bound.responsible()?;
    let share = hop.delay().as_ns_f64() / bound.latency.as_ns_f64();
    Some((place_name(scenario, hop.place), share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;

    fn load(text: &str) -> Scenario {
        scenario::load("test.yaml", text)
            .scenario
            .expect("a good scenario")
    }

    const STAR: &str = "rtether: 1\nname: two\n\
        nodes: { a: { stack: zero }, b: { stack: zero } }\n\
        switches: { sw: { ports: 2 } }\n\
        links:\n  - { ends: [a, \"sw:1\"], rate: 100 Mbit/s }\n  - { ends: [b, \"sw:2\"], rate: 100 Mbit/s }\n\
        flows:\n  - { name: f, from: a, to: b, period: 1 ms, size: 60 B, deadline: 20 us }\n\
        run: { for: 10 ms, seeds: 1 }\n";

    #[test]
    fn one_flow_alone_by_hand() {
        // 114 octets with preamble over two links of 100 Mbit/s: 18.24 us, and nothing to wait for.
        let scenario = load(STAR);
        let analysis = analyze(&scenario);
        assert_eq!(latencies(&analysis), [Some(Duration::from_ns(18_240))]);
        let counts = counts(&scenario, &analysis);
        assert_eq!((counts.ok, counts.late, counts.unknown), (1, 0, 0));
        let results = crate::run::simulate(&scenario, &crate::run::Progress::default());
        assert_eq!(
            contradictions(&analysis, &results.expect("runs")),
            [0usize; 0]
        );
    }

    #[test]
    fn what_has_no_bound_says_why() {
        let text = STAR.replace("period: 1 ms", "kind: poisson, mean_gap: 1 ms");
        let scenario = load(&text);
        let analysis = analyze(&scenario);
        let why = analysis.streams[0].bound.as_ref().expect_err("no bound");
        assert_eq!(reason(&scenario, why), "nothing limits the arrivals of `f`");
        assert_eq!(counts(&scenario, &analysis).unknown, 1);
    }
}
