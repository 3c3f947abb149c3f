//! From a scenario to a capture of its simulation, and from the capture back to the same flows.
//!
//! Oracle: the scenario. A capture shows what talkers put on the wire, so for each flow there must be
//! one with the same talker, listener, protocol, frames, tag and times; members of groups are not
//! shown. The plan that comes back passes its check as it is. What a capture cannot show is listed with its reason, and must not begin to work unnoticed.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rtether::check::{Options as CheckOptions, check};
use rtether::import::{Options, import};
use rtether::run::{Progress, simulate_seed};
use rtether::scenario::{Override, Scenario, load, load_with};
use rtether::trace::CaptureLog;
use rtether::verdict::Conclusion;
use rtether_model::flow::{Delivery, Flow, Traffic};
use rtether_model::network::NodeId;
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::wire::frame_size;

/// What of a flow is on the wire, one way.
#[derive(Clone, Debug)]
struct Shown {
    name: String,
    from: NodeId,
    /// `None` for a group.
    to: Option<NodeId>,
    /// Octets of an untagged frame, or of all that a message takes.
    size: Bytes,
    tag: Option<(u8, u16)>,
    dscp: u8,
    when: When,
}

#[derive(Clone, Copy, Debug)]
enum When {
    Periodic(Duration),
    Sporadic {
        least: Duration,
        burst: u32,
    },
    Bulk,
    /// At random.
    Random,
}

fn when(traffic: &Traffic) -> When {
    match *traffic {
        Traffic::Periodic { period, .. } => When::Periodic(period),
        Traffic::Flood { interval } => When::Periodic(interval),
        Traffic::Sporadic { min_gap, burst, .. } => When::Sporadic { least: min_gap, burst },
        Traffic::Poisson { .. } | Traffic::Adaptive { .. } => When::Random,
        Traffic::Bulk(_) => When::Bulk,
    }
}

/// Returns what frames of a flow show, with those of its answers.
fn shown(flow: &Flow) -> Vec<Shown> {
    let one = |to: Option<NodeId>, size: Bytes| Shown {
        name: flow.name.clone(),
        from: flow.talker,
        to,
        size: if size <= flow.encapsulation.max_payload() {
            frame_size(size, flow.encapsulation)
        } else {
            size
        },
        tag: flow.tag.map(|tag| (tag.pcp.get(), tag.vid.get())),
        dscp: flow.dscp,
        when: when(&flow.traffic),
    };
    let mut all = Vec::new();
    if flow.delivery == Delivery::Multicast {
        all.push(one(None, flow.payload));
    } else {
        let to = flow.listeners.iter();
        all.extend(to.map(|to| one(Some(*to), flow.payload)));
    }
    if let Some(reply) = flow.reply {
        for listener in &flow.listeners {
            all.push(Shown { from: *listener, ..one(Some(flow.talker), reply.payload) });
        }
    }
    all
}

/// Returns why two flows differ, if they do.
fn difference(planned: &Shown, seen: &Shown) -> Option<&'static str> {
    let near = |one: Duration, other: Duration, parts: i64| {
        (one.as_ps() - other.as_ps()).abs() <= one.as_ps() / parts
    };
    if planned.from != seen.from || planned.to != seen.to {
        return Some("ends");
    }
    let is_bulk = matches!(planned.when, When::Bulk);
    if planned.size != seen.size && !is_bulk {
        return Some("size");
    }
    if planned.tag != seen.tag || planned.dscp != seen.dscp {
        return Some("tag");
    }
    match (planned.when, seen.when) {
        (When::Periodic(one), When::Periodic(other)) if near(one, other, 1000) => None,
        (
            When::Sporadic { least, burst },
            When::Sporadic { least: seen, burst: together },
            // Exponential times are added to the least gap, and queues may shorten it a little.
        ) if burst == together && seen.as_ps() >= least.as_ps() * 9 / 10 => None,
        (When::Bulk, When::Bulk) => None,
        _ => Some("times"),
    }
}

/// Simulates and imports; station names are numbers in the addresses of the capture.
fn again(scenario: &Scenario) -> Scenario {
    let mut octets = Vec::new();
    let mut log = CaptureLog::new(scenario, &mut octets);
    simulate_seed(scenario, 1, &Progress::default(), &mut log).expect("runs");
    log.finish().expect("memory takes everything");
    let plan = import("again.pcapng", &octets, &Options::new()).expect("a plan");
    let loaded = load("again.yaml", &plan.scenario);
    loaded.into_scenario().unwrap_or_else(|_| panic!("{}", plan.scenario))
}

/// Returns the number of a station that was named by its address.
fn number(name: &str) -> Option<NodeId> {
    let octets: Vec<u32> = if name.starts_with("10.") {
        name.split('.').filter_map(|part| part.parse().ok()).collect()
    } else {
        let parts = name.split('-');
        parts.filter_map(|part| u32::from_str_radix(part, 16).ok()).collect()
    };
    let low = octets.get(octets.len().checked_sub(3)?..)?;
    Some(NodeId(low.iter().fold(0, |sum, octet| sum << 8 | octet)))
}

/// Returns the flows that the capture does not show as they are, each with the first difference, and
/// the names of those that it shows besides.
fn differences(scenario: &Scenario) -> (Vec<(String, String)>, Vec<String>) {
    let again = again(scenario);
    // The substations have hundreds of flows of a few kinds, and take long.
    if scenario.flows.len() < 100 {
        let checked = check(&again, CheckOptions::default()).expect("a run");
        assert_eq!(checked.conclusion, Conclusion::Met, "{}", scenario.name);
    }
    let seen: Vec<Shown> = again
        .flows
        .iter()
        .flat_map(shown)
        .filter_map(|flow| {
            let named = |node: NodeId| again.network.node(node).name.as_str();
            Some(Shown {
                from: number(named(flow.from))?,
                to: flow.to.map(|to| number(named(to)).unwrap_or(NodeId(u32::MAX))),
                ..flow
            })
        })
        .collect();
    let mut found = Vec::new();
    let mut used = BTreeSet::new();
    for planned in scenario.flows.iter().flat_map(shown) {
        let candidates = seen.iter().enumerate().filter(|(n, _)| !used.contains(n));
        let same = candidates.clone().find(|(_, seen)| difference(&planned, seen).is_none());
        if let Some((number, _)) = same {
            used.insert(number);
            continue;
        }
        let near: Vec<&Shown> = candidates
            .map(|(_, seen)| seen)
            .filter(|seen| (seen.from, seen.to) == (planned.from, planned.to))
            .collect();
        let why = near.iter().filter_map(|seen| difference(&planned, seen));
        let why = why.min().unwrap_or("not seen");
        found.push((planned.name.clone(), format!("{why}: {planned:?}, seen {near:?}")));
    }
    let planned: Vec<Shown> = scenario.flows.iter().flat_map(shown).collect();
    // One that differs was found missing, and is no further one.
    let is_more = |seen: &Shown| {
        let ends = |flow: &&Shown| (flow.from, flow.to) == (seen.from, seen.to);
        !planned.iter().any(|flow| ends(&flow))
    };
    let more = seen.iter().filter(|seen| is_more(seen));
    (found, more.map(|seen| seen.name.clone()).collect())
}

/// What a capture does not show as the scenario says it: scenario, beginning of the flow's name, why.
const HIDDEN: [(&str, &str, &str); 11] = [
    (
        "afdx",
        "picture",
        "the end system spreads each burst of three over its period: on the wire it is periodic",
    ),
    (
        "bottling-line",
        "feedback",
        "waits in the stack behind a recipe for longer than half a period",
    ),
    ("fast-hub", "message", "random times have no period and no least gap"),
    ("hub", "message", "random times have no period and no least gap"),
    ("hubs-and-switch", "message", "random times have no period and no least gap"),
    ("prp", "trip", "comes as often as it may, which is a period"),
    (
        "substation-slow",
        "bay01.ct1 > bay01.bc",
        "waits in a slow stack behind a file for longer than half a period",
    ),
    ("substation-slow", "bay01.ct1 > bay01.pu", "the same"),
    ("substation-slow", "bay01.ct1 > bay01.du", "the same"),
    ("substation-slow", "bay01.ct1 > busbar", "the same"),
    ("vlans-1p3q1t", "remote control", "random times have no period and no least gap"),
];

/// Simulated time, in which each flow sends often enough, and files that begin later.
const SET: [&str; 1] = ["run.for=4 s"];
const SET_FLAT: [&str; 3] = ["run.for=4 s", "flows.upload.start=1 s", "flows.download.start=3 s"];

#[test]
fn scenarios_come_back_from_their_captures() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let files = fs::read_dir(folder).expect("scenarios");
    let mut files: Vec<_> = files.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    let mut hidden: BTreeSet<(&str, &str)> = BTreeSet::new();
    for file in files {
        let name = file.file_stem().expect("a name").to_string_lossy();
        let text = fs::read_to_string(&file).expect("a scenario");
        let set = if name == "skeie-flat" { &SET_FLAT[..] } else { &SET[..] };
        let set = set.iter().map(|set| Override::parse(set).expect("an override"));
        let set: Vec<Override> = set.collect();
        // Those with a long warm-up run as they are; it does not count in a capture.
        let short = load_with(&name, &text, &set).into_scenario();
        let scenario = short.or_else(|_| load(&name, &text).into_scenario());
        let scenario = scenario.expect("a right scenario");
        let (missing, more) = differences(&scenario);
        for (flow, why) in missing {
            let known = HIDDEN.iter();
            let mut known = known.filter(|(of, begin, _)| *of == name && flow.starts_with(begin));
            let Some((of, begin, _)) = known.next() else {
                panic!("{name}: {flow}: {why}");
            };
            hidden.insert((of, begin));
        }
        // Discovery and acknowledgements of RTPS, and the polls of Powerlink, belong to no flow.
        let is_control = |flow: &&String| flow.contains("RTPS") || flow.contains("Powerlink");
        let more: Vec<&String> = more.iter().filter(|flow| !is_control(flow)).collect();
        assert!(more.is_empty(), "{name}: {more:?}");
    }
    for (of, begin, why) in HIDDEN {
        assert!(hidden.contains(&(of, begin)), "{of}: {begin} is shown: {why}");
    }
}
