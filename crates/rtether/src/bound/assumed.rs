//! What a verdict rests on: the assumptions of the scenario, and which of them matters most.
//!
//! **Which count.** Those that touch what is judged (`touching`).
//!
//! **Which matters most.** Of the kinds that have two ends (costs that are not known), each is
//! settled at its lower end, and all bounds are computed again: the kind with which most streams
//! gain a proof is the first, and of those the one that lowers the bounds most against their
//! limits. A kind whose lower end changes no bound is not named.

use std::collections::{BTreeMap, BTreeSet};

use rtether_bounds::Analysis;
use rtether_model::network::{Cost, EndStation, Interval, Network, NodeId, NodeKind, Stack};
use rtether_model::quantity::Duration;
use rtether_model::unknown::{CostName, stated};
use rtether_report::number::Ns;
use rtether_report::table::Table;
use rtether_report::text::{plural, time};
use schemars::JsonSchema;
use serde::Serialize;

use crate::bound;
use crate::scenario::{About, Assumption, Identified, Scenario, quote};
use crate::touching::{Reach, condition, is_judged};

/// Streams above which it is not computed what matters most.
const MOST_STREAMS: usize = 5_000;
/// Profiles that a sentence names.
const MOST_FILES: usize = 3;
/// Parts of a limit.
const WHOLE: i128 = 1_000_000;

/// What the verdict on a scenario rests on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assumed {
    /// Kinds of assumptions that touch what is judged: the one that matters most first, if it is
    /// known, the others by name.
    pub kinds: Vec<Kind>,
    /// Positions of these assumptions in the scenario.
    pub touching: Vec<usize>,
    /// By flow: how many assumptions touch it.
    pub by_flow: Vec<usize>,
    /// Judged streams with a bound within their deadline, whatever the costs that are not known;
    /// `None` without bounds.
    pub proved: Option<usize>,
    /// Streams that are judged.
    pub judged: usize,
    /// Stations with judged flows whose stacks take no time although nobody assumed that.
    pub zero: usize,
}

/// Assumptions about one kind of value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// `latency`, `stack`, `deadline`.
    pub name: String,
    /// How many.
    pub assumptions: usize,
    /// Nodes or flows that they are about.
    pub things: usize,
    /// What these are, in the singular.
    pub thing: &'static str,
    /// The least and the most that costs of this kind can be, if they are not known.
    pub ends: Option<[Duration; 2]>,
    /// With its costs at the lower end: streams with a bound within the limit, and by how many
    /// millionths of their limits the bounds are lower, all streams together.
    pub relief: Option<(usize, i128)>,
}

/// Returns how many assumptions touch each flow.
pub(crate) fn by_flow(scenario: &Scenario) -> Vec<usize> {
    if scenario.assumptions.held.is_empty() {
        return vec![0; scenario.flows.len()];
    }
    Reach::new(scenario).by_flow(scenario)
}

/// What a verdict rests on, as documents have it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AssumedJson<'a> {
    /// How many assumptions touch what is judged.
    assumptions: usize,
    /// How many do not.
    aside: usize,
    /// Paths of assumptions that have ended, since the value is written now.
    ended: &'a [String],
    /// Streams that are judged.
    judged: usize,
    /// How many of them are proved whatever the costs that are not known; `null` without bounds.
    proved: Option<usize>,
    /// The kind that matters most, or `null`.
    first: Option<&'a str>,
    /// Kinds of assumptions, the one that matters most first.
    kinds: Vec<KindJson<'a>>,
    /// All assumptions.
    list: Vec<HeldJson<'a>>,
    /// Stacks that come from profiles of devices: their intervals are those of a measurement.
    identified: Vec<IdentifiedJson<'a>>,
    /// Stations whose stacks take no time although nobody assumed it.
    zero_stacks: usize,
}

#[derive(Serialize, JsonSchema)]
struct KindJson<'a> {
    /// What is assumed: `latency`, `stack`, `deadline`.
    kind: &'a str,
    /// How many assumptions there are.
    assumptions: usize,
    /// How many nodes or flows they are about.
    things: usize,
    /// What these are, in the singular.
    of: &'static str,
    /// The least that costs of this kind can be, if they are not known.
    least_ns: Option<Ns>,
    /// The most.
    most_ns: Option<Ns>,
    /// How many streams are proved with these costs at the lower end.
    proved_at_least: Option<usize>,
}

#[derive(Serialize, JsonSchema)]
struct HeldJson<'a> {
    /// The value, as a path in the scenario.
    path: &'a str,
    /// What is assumed.
    value: &'a str,
    /// Why.
    why: &'a str,
    /// Whether it touches what is judged.
    touches: bool,
}

#[derive(Serialize, JsonSchema)]
struct IdentifiedJson<'a> {
    /// The stack, as a path in the scenario.
    path: &'a str,
    /// File of the profile.
    profile: &'a str,
}

impl Assumed {
    /// Finds what the verdict rests on; with bounds, also what matters most.
    pub fn of(scenario: &Scenario, analysis: Option<&Analysis>) -> Self {
        let held = &scenario.assumptions.held;
        if held.is_empty() {
            return Self {
                by_flow: vec![0; scenario.flows.len()],
                zero: zero_stacks(scenario),
                judged: judged_streams(scenario).count(),
                proved: analysis.map(|analysis| proved(scenario, analysis).0),
                ..Self::default()
            };
        }
        let reach = Reach::new(scenario);
        let touching: Vec<usize> =
            (0..held.len()).filter(|&index| reach.touches(&held[index])).collect();
        let mut found = Self {
            by_flow: reach.by_flow(scenario),
            zero: zero_stacks(scenario),
            ..Self::default()
        };
        found.judged = judged_streams(scenario).count();
        found.kinds = kinds(scenario, touching.iter().map(|&index| &held[index]));
        found.touching = touching;
        if let Some(analysis) = analysis {
            found.proved = Some(proved(scenario, analysis).0);
            found.rank(scenario, analysis);
        }
        found
    }

    /// Returns how many assumptions touch what is judged.
    pub const fn count(&self) -> usize {
        self.touching.len()
    }

    /// Computes the bounds with each kind at its lower end, and puts the kind first that gains most.
    fn rank(&mut self, scenario: &Scenario, analysis: &Analysis) {
        if analysis.streams.len() > MOST_STREAMS {
            return;
        }
        let before = proved(scenario, analysis);
        let held = &scenario.assumptions.held;
        for kind in &mut self.kinds {
            if kind.ends.is_none() {
                continue;
            }
            let own = self.touching.iter().map(|&index| &held[index]);
            let own: Vec<&Assumption> = own.filter(|own| own.kind() == kind.name).collect();
            let covered = covered(&own);
            let network = scenario.network.clone();
            let network = settled(network, |node, cost| covered.contains(&(node, group(cost))));
            let relieved = Scenario { network, ..scenario.clone() };
            let after = proved(scenario, &bound::analyze(&relieved));
            kind.relief = Some((after.0, before.1 - after.1));
        }
        let gain = |kind: &Kind| kind.relief.filter(|relief| relief.1 > 0);
        self.kinds.sort_by(|a, b| gain(b).cmp(&gain(a)).then(a.name.cmp(&b.name)));
    }

    /// Returns the kind that matters most, if that is known.
    pub fn first(&self) -> Option<&Kind> {
        let first = self.kinds.first()?;
        first.relief.filter(|relief| relief.1 > 0).map(|_| first)
    }

    /// Returns what stands behind *proved*: ` if 141 assumptions hold`; empty without any.
    pub fn condition(&self) -> String {
        condition(self.count())
    }

    /// Returns why a strict reader takes no verdict for met; `None` if nothing judged rests on an
    /// assumption.
    pub fn objection(&self) -> Option<String> {
        let number = match self.count() {
            0 => return None,
            1 => "1 assumption touches".to_owned(),
            count => format!("{count} assumptions touch"),
        };
        Some(format!("--strict: {number} what is judged; write the values that `assumed` names"))
    }

    /// Returns whether there is anything to say.
    pub fn is_any(&self, scenario: &Scenario) -> bool {
        let own = &scenario.assumptions;
        let is_stated = own.held.is_empty() && own.ended.is_empty() && own.identified.is_empty();
        self.zero > 0 || !is_stated
    }

    /// Returns the kinds as a table.
    pub fn kinds_table(&self) -> Table {
        Table::of(&self.kinds)
            .both("kind", "kind", |kind| kind.name.clone())
            .number("assumptions", "assumptions", |kind| kind.assumptions)
            .both("about", "about", |kind| plural(kind.things, kind.thing))
            .both("ends", "ends", |kind| {
                kind.ends.map_or_else(String::new, |[least, most]| span(least, most))
            })
            .both("proved at the lower end", "proved_at_least", |kind| {
                let relief = kind.relief.map(|relief| relief.0.to_string());
                relief.unwrap_or_default()
            })
            .done()
    }

    /// Returns the assumptions as a table, those that touch what is judged first.
    pub fn table(&self, scenario: &Scenario) -> Table {
        let held = &scenario.assumptions.held;
        let touching: BTreeSet<usize> = self.touching.iter().copied().collect();
        let aside = (0..held.len()).filter(|index| !touching.contains(index));
        let all: Vec<usize> = self.touching.iter().copied().chain(aside).collect();
        Table::of(all)
            .both("value of", "path", |&index| held[index].path.clone())
            .both("assumed", "value", |&index| held[index].value.clone())
            .both("why", "why", |&index| held[index].why.clone())
            .both("judged", "touches", |index| if touching.contains(index) { "yes" } else { "no" })
            .done()
    }

    /// Returns what matters most, what is identified, and what takes no time, as sentences that begin
    /// with a blank.
    pub fn sentences(&self, scenario: &Scenario) -> String {
        let mut said = String::new();
        if let Some(text) = self.first().and_then(|first| self.first_words(first)) {
            said = format!(" First: {text}.");
        }
        said.push_str(&identified(&scenario.assumptions.identified));
        if self.zero > 0 {
            let stations = plural(self.zero, "station");
            let verb = if self.zero == 1 { "takes" } else { "take" };
            let stack = if self.zero == 1 { "stack" } else { "stacks" };
            said.extend([" The ", stack, " of ", stations.as_str(), " ", verb, " no time."]);
        }
        said
    }

    /// Returns `stack` of 20 stations, 20 us .. 200 us: at the upper end 10 of 16 streams proved, at
    /// the lower end 16.
    fn first_words(&self, first: &Kind) -> Option<String> {
        let [least, most] = first.ends?;
        let (relieved, _) = first.relief?;
        let now = self.proved?;
        let of = plural(first.things, first.thing);
        let ends = span(least, most);
        let all = self.judged;
        Some(format!(
            "`{}` of {of}, {ends}; at the upper end {now} of {all} proved, at the lower end {relieved}",
            first.name
        ))
    }

    /// Returns what bounds rest on; `None` if that is nothing.
    pub(crate) fn said(scenario: &Scenario, analysis: &Analysis) -> Option<Self> {
        Some(Self::of(scenario, Some(analysis))).filter(|own| own.is_any(scenario))
    }

    /// Returns it as documents have it.
    pub(crate) fn json<'a>(&'a self, scenario: &'a Scenario) -> AssumedJson<'a> {
        let own = &scenario.assumptions;
        let touching: BTreeSet<usize> = self.touching.iter().copied().collect();
        let kinds = self.kinds.iter().map(|kind| KindJson {
            kind: &kind.name,
            assumptions: kind.assumptions,
            things: kind.things,
            of: kind.thing,
            least_ns: kind.ends.map(|ends| Ns(ends[0])),
            most_ns: kind.ends.map(|ends| Ns(ends[1])),
            proved_at_least: kind.relief.map(|relief| relief.0),
        });
        let list = own.held.iter().enumerate().map(|(index, one)| HeldJson {
            path: &one.path,
            value: &one.value,
            why: &one.why,
            touches: touching.contains(&index),
        });
        AssumedJson {
            assumptions: self.count(),
            aside: own.held.len() - self.count(),
            ended: &own.ended,
            judged: self.judged,
            proved: self.proved,
            first: self.first().map(|first| first.name.as_str()),
            kinds: kinds.collect(),
            list: list.collect(),
            identified: own
                .identified
                .iter()
                .map(|one| IdentifiedJson { path: &one.path, profile: &one.file })
                .collect(),
            zero_stacks: self.zero,
        }
    }
}

/// Returns whose stacks are identified, and by which profiles, as a sentence behind a blank.
fn identified(all: &[Identified]) -> String {
    let mut nodes = BTreeSet::<NodeId>::new();
    let mut files = BTreeSet::new();
    for one in all {
        files.insert(one.file.as_str());
        if let About::Nodes(own) = &one.about {
            nodes.extend(own);
        }
    }
    if nodes.is_empty() {
        return String::new();
    }
    let (stack, verb) = if nodes.len() == 1 { ("stack", "is") } else { ("stacks", "are") };
    let more = files.len().saturating_sub(MOST_FILES);
    let mut named: Vec<String> = files.into_iter().take(MOST_FILES).map(quote).collect();
    named.extend((more > 0).then(|| format!("{more} more")));
    let of = plural(nodes.len(), "station");
    format!(" The {stack} of {of} {verb} identified, {}.", named.join(", "))
}

/// Returns two ends as a scenario has them.
fn span(least: Duration, most: Duration) -> String {
    format!("{} .. {}", time(least), time(most))
}

/// Returns the limit of each judged stream, by its position.
fn judged_streams(scenario: &Scenario) -> impl Iterator<Item = (usize, Option<Duration>)> {
    let streams = scenario.flows.iter().flat_map(|flow| {
        let own = is_judged(scenario, flow).then_some(flow.deadline);
        core::iter::repeat_n(own, flow.listeners.len())
    });
    let streams: Vec<_> = streams.enumerate().collect();
    let judged = streams.into_iter();
    judged.filter_map(|(index, own)| Some((index, own?)))
}

/// Returns how many judged streams are proved within their deadline, and the sum of all bounds in
/// millionths of their deadlines; a missing one counts as a hundred deadlines.
fn proved(scenario: &Scenario, analysis: &Analysis) -> (usize, i128) {
    let streams: Vec<_> = analysis.judged().collect();
    let (mut within, mut sum) = (0, 0);
    for (index, deadline) in judged_streams(scenario) {
        let Some(deadline) = deadline else { continue };
        let known = streams.get(index).copied();
        let bound = known.and_then(|(stream, _)| Some(stream.bound.as_ref().ok()?.latency));
        // A bound with a condition is no proof.
        let arrives = known.is_some_and(|(_, condition)| condition.is_none());
        within += usize::from(arrives && bound.is_some_and(|bound| bound <= deadline));
        let limit = i128::from(deadline.as_ps().max(1));
        let share = bound.map_or(100 * WHOLE, |bound| i128::from(bound.as_ps()) * WHOLE / limit);
        sum += share.min(100 * WHOLE);
    }
    (within, sum)
}

/// Costs that one assumption covers together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Stack,
    Latency,
    Router,
}

const fn group(cost: CostName) -> Group {
    match cost {
        CostName::Latency => Group::Latency,
        CostName::Router => Group::Router,
        CostName::Service
        | CostName::Send
        | CostName::Receive
        | CostName::Both
        | CostName::Sum
        | CostName::Interface
        | CostName::Datagram
        | CostName::Segment
        | CostName::Acknowledgement
        | CostName::TaskMessage
        | CostName::TaskSegment => Group::Stack,
    }
}

/// Returns the costs that assumptions of one kind are about.
fn covered(assumptions: &[&Assumption]) -> BTreeSet<(NodeId, Group)> {
    let mut found = BTreeSet::new();
    for one in assumptions {
        let About::Nodes(nodes) = &one.about else {
            continue;
        };
        let group = match one.kind() {
            "latency" => Group::Latency,
            "cost" => Group::Router,
            "stack" => Group::Stack,
            _ => continue,
        };
        found.extend(nodes.iter().map(|node| (*node, group)));
    }
    found
}

/// Returns the network with the chosen costs at their lower ends.
fn settled(mut network: Network, chosen: impl Fn(NodeId, CostName) -> bool) -> Network {
    for (node, number) in network.nodes.iter_mut().zip(0..) {
        let id = NodeId(number);
        match &mut node.kind {
            NodeKind::EndStation(station) => at_least(station, |cost| chosen(id, cost)),
            NodeKind::Switch(switch) => {
                if chosen(id, CostName::Latency) {
                    switch.unknown_latency = Duration::ZERO;
                }
                if let Some(router) = &mut switch.router
                    && chosen(id, CostName::Router)
                {
                    router.unknown = Duration::ZERO;
                }
            }
            NodeKind::Hub(_) => {}
        }
    }
    network
}

/// Takes chosen costs of a station at their lower ends; of a sum its split stays unknown.
fn at_least(station: &mut EndStation, chosen: impl Fn(CostName) -> bool) {
    let range = stated(&station.unknown, CostName::Sum);
    for own in &mut station.unknown {
        if own.cost == CostName::Both && chosen(CostName::Sum) {
            own.more -= range;
        }
    }
    station.unknown.retain(|own| {
        let is_split = own.cost == CostName::Both && own.more > Duration::ZERO;
        is_split || !chosen(own.cost)
    });
}

/// Returns the kinds of some assumptions, by name.
fn kinds<'s>(scenario: &Scenario, held: impl Iterator<Item = &'s Assumption>) -> Vec<Kind> {
    let mut by_name: BTreeMap<&str, Vec<&Assumption>> = BTreeMap::new();
    for one in held {
        by_name.entry(one.kind()).or_default().push(one);
    }
    let intervals = scenario.network.intervals();
    let kinds = by_name.into_iter().map(|(name, own)| {
        let mut nodes = BTreeSet::<NodeId>::new();
        let mut flows = 0;
        for one in &own {
            match &one.about {
                About::Nodes(about) => nodes.extend(about),
                About::Flow(_) => flows += 1,
                About::Plant => {}
            }
        }
        let (things, thing) = match name {
            _ if flows > 0 => (flows, "flow"),
            "link" => (own.len(), "link"),
            "stack" | "node" => (nodes.len(), "station"),
            _ if nodes.is_empty() => (own.len(), "value"),
            _ => (nodes.len(), "node"),
        };
        Kind {
            name: name.to_owned(),
            assumptions: own.len(),
            things,
            thing,
            ends: ends(&intervals, &covered(&own)),
            relief: None,
        }
    });
    kinds.collect()
}

/// Returns the least and the most of some costs that are not known.
fn ends(intervals: &[Interval], covered: &BTreeSet<(NodeId, Group)>) -> Option<[Duration; 2]> {
    let own = intervals.iter();
    let own = own.filter(|one| covered.contains(&(one.node, group(one.cost))));
    own.fold(None, |ends: Option<[Duration; 2]>, one| {
        let [least, most] = ends.unwrap_or([one.least, one.most]);
        Some([least.min(one.least), most.max(one.most)])
    })
}

/// Returns how many stations with judged flows take no time although nobody assumed that.
fn zero_stacks(scenario: &Scenario) -> usize {
    let judged = scenario.flows.iter();
    let judged = judged.filter(|flow| is_judged(scenario, flow));
    let ends: BTreeSet<NodeId> =
        judged.flat_map(|flow| flow.listeners.iter().chain([&flow.talker]).copied()).collect();
    let held = scenario.assumptions.held.iter().filter(|own| own.kind() == "stack");
    let held: Vec<&Assumption> = held.collect();
    let covered = covered(&held);
    let takes_none = |node: &&NodeId| {
        let station = scenario.network.end_station(**node);
        station.is_some_and(is_zero) && !covered.contains(&(**node, Group::Stack))
    };
    ends.iter().filter(takes_none).count()
}

/// Returns whether the stack of a station takes no time.
fn is_zero(station: &EndStation) -> bool {
    let none = |cost: &Cost| *cost == Cost::default();
    let is_free = match &station.stack {
        Stack::Zero => true,
        Stack::IpRate { service } => *service == Duration::ZERO,
        Stack::Linear(own) => [&own.send, &own.receive, &own.interface].into_iter().all(none),
        Stack::Rtos(own) => {
            [&own.datagram, &own.segment, &own.acknowledgement].into_iter().all(none)
        }
    };
    is_free && station.unknown.is_empty() && station.tasks.is_none()
}
