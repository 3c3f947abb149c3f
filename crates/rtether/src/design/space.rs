//! What may change: parameters with their values, each an edit of the scenario.
//!
//! Flows of a class that are alike are one parameter, as are all switches, and the nodes of a stack:
//! an edit by a selector is one line. Single switches and nodes follow behind those, so that their
//! edits have the last word.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use rtether_model::endnode::{Receive, TransmitStrategy};
use rtether_model::flow::Flow;
use rtether_model::network::{EndStation, NodeKind, Pcp, Selection};

use super::alike::alike;
use super::links::links;
use super::parameter::{Kept, MOST_SINGLE, Parameter, set, stations, tcp};
use super::routes::{has_others, routes};
use super::smoothers::smoothers;
use super::stacks::has_selector;
use crate::scenario::{Freedom, Override, Priced, Scenario, Written};

/// Priorities from the most urgent to the least, in the queues of table 8-4 of IEEE 802.1D-2004:
/// priorities 1 and 2 rank below 0 there, in later standards above it, and come last.
pub(super) const URGENCY: [u8; 8] = [7, 6, 5, 4, 3, 0, 2, 1];
/// Most groups of flows that are searched one by one.
pub(super) const MANY: usize = 48;
/// The rank of flows that have several.
const SEVERAL: u8 = u8::MAX;

/// All parameters.
#[derive(Clone, Debug, Default)]
pub(super) struct Space {
    pub(super) parameters: Vec<Parameter>,
}

/// The number of the value of each parameter; zero is as written.
pub(super) type Point = Vec<u8>;

impl Space {
    /// Returns the parameters that the scenario allows to change.
    pub(super) fn new(scenario: &Scenario, written: &Written) -> Self {
        let kept = Kept::new(scenario);
        let mut parameters = Vec::new();
        let free = allowed(scenario);
        for freedom in &free {
            match freedom {
                Freedom::Pcp => {
                    let levels = Levels::new(scenario, &free);
                    priorities(scenario, written, (&levels, &kept), &mut parameters);
                }
                Freedom::Queues => queues(scenario, &kept, &mut parameters),
                Freedom::Selection => selections(scenario, &kept, &mut parameters),
                Freedom::Layers => layers(scenario, written, &kept, &mut parameters),
                Freedom::Window => windows(scenario, &kept, &mut parameters),
                Freedom::Segment => segments(scenario, &kept, &mut parameters),
                Freedom::Smoother => smoothers(scenario, written, &kept, &mut parameters),
                Freedom::Routes => routes(scenario, &kept, &mut parameters),
                Freedom::Links => links(scenario, &mut parameters),
                // What a proof lacks is known only once there is one.
                Freedom::Limits => {}
            }
        }
        Self { parameters }
    }

    /// Returns the point of the scenario as it is written.
    pub(super) fn written(&self) -> Point {
        vec![0; self.parameters.len()]
    }

    /// Returns the changes that a point takes.
    pub(super) fn changes(&self, point: &Point) -> Vec<Override> {
        let chosen = self.parameters.iter().zip(point);
        chosen.flat_map(|(own, value)| own.values[usize::from(*value)].clone()).collect()
    }

    /// Returns the edits that give all flows a value that may have it, and these flows.
    pub(super) fn with_value(
        &self,
        freedom: Freedom,
        value: &str,
    ) -> (Vec<Override>, BTreeSet<usize>) {
        let own = self.parameters.iter().filter(|own| own.freedom == Some(freedom));
        let found = own.filter_map(|own| {
            let edit = own.values.iter().flatten().find(|edit| edit.value == value)?;
            Some((edit.clone(), &own.flows))
        });
        let (edits, flows): (Vec<Override>, Vec<&Vec<usize>>) = found.unzip();
        (edits, flows.into_iter().flatten().copied().collect())
    }

    /// Returns what the edits of a point cost.
    pub(super) fn cost(&self, point: &Point) -> u64 {
        let chosen = self.parameters.iter().zip(point);
        chosen.map(|(own, value)| own.costs[usize::from(*value)]).sum()
    }

    /// Returns the ranks of priorities that are treated in different ways, the most urgent first. Those
    /// below that of frames without a tag are left out if there are enough of them.
    pub(super) fn ranks(&self) -> Vec<u8> {
        const ENOUGH: usize = 6;
        let ranks = self.parameters.iter().flat_map(|own| &own.ranks);
        let ranks: BTreeSet<u8> = ranks.copied().filter(|own| *own != SEVERAL).collect();
        ranks.into_iter().take(ENOUGH).collect()
    }

    /// Returns the number of the value that gives a parameter this rank, or the next more urgent one.
    pub(super) fn value_at(&self, number: usize, rank: u8) -> u8 {
        self.value_from(number, rank, 0).unwrap_or(0)
    }

    /// The same of the values from this number on.
    pub(super) fn value_from(&self, number: usize, rank: u8, first: u8) -> Option<u8> {
        let ranks = (0u8..).zip(&self.parameters[number].ranks);
        let possible = ranks.filter(|(value, own)| **own <= rank && *value >= first);
        // Of equals, what is written.
        let best = possible.max_by_key(|(value, own)| (**own, Reverse(*value)));
        best.map(|(value, _)| value)
    }

    /// Returns whether there are too many groups of flows to change them one by one.
    pub(super) fn has_many(&self) -> bool {
        let flows = self.parameters.iter().filter(|own| own.freedom == Some(Freedom::Pcp));
        flows.count() > MANY
    }

    /// Returns how many points there are; `None` for more than can be counted.
    pub(super) fn size(&self) -> Option<usize> {
        let mut counts = self.parameters.iter().map(|own| own.values.len());
        counts.try_fold(1, usize::checked_mul)
    }

    /// Returns the points that differ from this one in one of the parameters that are meant, beginning
    /// with that of a number.
    pub(super) fn neighbors(
        &self,
        point: &Point,
        first: usize,
        is_meant: impl Fn(&Parameter) -> bool,
    ) -> Vec<Point> {
        let count = self.parameters.len();
        let numbers = (0..count).map(|number| (number + first) % count);
        let numbers = numbers.filter(|number| is_meant(&self.parameters[*number]));
        let others = numbers.flat_map(|number| {
            let values = 0..self.parameters[number].values.len();
            let values = values.filter_map(|value| u8::try_from(value).ok());
            let others = values.filter(move |value| *value != point[number]);
            others.map(move |value| with(point, number, value))
        });
        others.collect()
    }
}

/// Returns a point with another value of one parameter.
pub(super) fn with(point: &Point, number: usize, value: u8) -> Point {
    let mut other = point.clone();
    other[number] = value;
    other
}

/// Returns what may change: what costs no hardware, if the scenario does not say; and what has a cost
/// there.
pub(super) fn allowed(scenario: &Scenario) -> BTreeSet<Freedom> {
    const FREE: [Freedom; 9] = [
        Freedom::Pcp,
        Freedom::Queues,
        Freedom::Selection,
        Freedom::Layers,
        Freedom::Window,
        Freedom::Segment,
        Freedom::Smoother,
        Freedom::Routes,
        Freedom::Limits,
    ];
    let said = scenario.design.allow.clone();
    let mut all = said.unwrap_or_else(|| FREE.into_iter().collect());
    all.extend(scenario.design.costs.iter().filter_map(|own| match own.of {
        Priced::Freedom(freedom) => Some(freedom),
        Priced::Number { .. } => None,
    }));
    all
}

/// Whether packets may take less time than now without any wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Faster {
    /// All that may change lets them wait only.
    Never,
    /// By a rate.
    Here,
    /// On another way.
    Elsewhere,
}

impl Faster {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let allowed = allowed(scenario);
        if allowed.contains(&Freedom::Routes) && has_others(scenario) {
            Self::Elsewhere
        } else if allowed.contains(&Freedom::Links) || !numbers(scenario).is_empty() {
            Self::Here
        } else {
            Self::Never
        }
    }
}

/// A group of flows, and the path that means them.
struct Group<'a> {
    path: String,
    flows: Vec<usize>,
    first: &'a Flow,
}

/// Returns the flows that may change, those of a class together if they are alike.
fn groups<'a>(
    scenario: &'a Scenario,
    kept: &Kept,
    is_meant: impl Fn(&Flow) -> bool,
) -> Vec<Group<'a>> {
    let mut classes: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (number, flow) in scenario.flows.iter().enumerate() {
        if !flow.class.is_empty() {
            classes.entry(&flow.class).or_default().push(number);
        }
    }
    // A selector means all of a class, and cannot tell these signs from its own.
    classes.retain(|class, own| {
        let first = &scenario.flows[own[0]];
        own.len() > 1
            && !has_selector(class)
            && own.iter().all(|number| {
                let flow = &scenario.flows[*number];
                is_meant(flow) && !kept.flows.contains(number) && is_alike(first, flow)
            })
    });
    let mut found = Vec::new();
    for (number, flow) in scenario.flows.iter().enumerate() {
        if kept.flows.contains(&number) || !is_meant(flow) {
            continue;
        }
        match classes.get(flow.class.as_str()) {
            None => found.push(Group {
                path: format!("flows.{}", flow.name),
                flows: vec![number],
                first: flow,
            }),
            Some(own) if own[0] == number => found.push(Group {
                path: format!("flows[class={}]", flow.class),
                flows: own.clone(),
                first: flow,
            }),
            Some(_) => {}
        }
    }
    found
}

/// Returns whether two flows are treated alike.
fn is_alike(one: &Flow, other: &Flow) -> bool {
    let [one, other] =
        [one, other].map(|flow| (flow.deadline, flow.tag, tcp(flow).map(|own| own.window)));
    one == other
}

fn priorities(
    scenario: &Scenario,
    written: &Written,
    (levels, kept): (&Levels, &Kept),
    found: &mut Vec<Parameter>,
) {
    let groups = groups(scenario, kept, |_| true);
    let are_many = groups.len() > MANY;
    if are_many {
        for (path, flows) in alike(scenario, written) {
            if flows.iter().all(|flow| !kept.flows.contains(flow)) {
                let parameter = priority(scenario, levels, (&path, flows), false);
                found.push(Parameter { is_wide: true, ..parameter });
            }
        }
    }
    for group in groups {
        found.push(priority(scenario, levels, (&group.path, group.flows), are_many));
    }
}

/// Returns the priority of some flows; `is_any` is whether it may also be the one that is written, where
/// an edit of more flows has changed that.
fn priority(
    scenario: &Scenario,
    levels: &Levels,
    (path, flows): (&str, Vec<usize>),
    is_any: bool,
) -> Parameter {
    let path = format!("{path}.pcp");
    let tags = flows.iter().map(|flow| scenario.flows[*flow].tag.map(|tag| tag.pcp.get()));
    let tags: BTreeSet<Option<u8>> = tags.collect();
    let now = tags.first().copied().flatten().filter(|_| tags.len() == 1);
    let others = levels.others(now.filter(|_| !is_any));
    let values: Vec<Vec<Override>> = others.iter().map(|pcp| set(&path, pcp)).collect();
    // Frames without a tag have the priority of the port, which is 0 unless it says otherwise.
    let written = if tags.len() > 1 { SEVERAL } else { levels.rank(now.unwrap_or(0)) };
    let others = others.iter().map(|pcp| levels.rank(*pcp));
    let ranks = [written].into_iter().chain(others).collect();
    let old =
        tags.iter().map(|own| own.map_or_else(|| "untagged".to_owned(), |pcp| pcp.to_string()));
    let old = old.collect::<Vec<_>>().join(", ");
    let parameter = Parameter::new(scenario, Freedom::Pcp, (path, old), values);
    Parameter { flows, ranks, ..parameter }
}

/// Returns a priority of its own for each of these flows that shares one with its class, if that may
/// change: an edit of one flow has the last word.
pub(super) fn split(scenario: &Scenario, space: &Space, flows: &BTreeSet<usize>) -> Vec<Parameter> {
    let levels = Levels::new(scenario, &allowed(scenario));
    let parameters = space.parameters.iter();
    let classes = parameters.filter(|own| own.freedom == Some(Freedom::Pcp) && own.flows.len() > 1);
    let shared: BTreeSet<usize> = classes.flat_map(|own| own.flows.iter().copied()).collect();
    let apart = flows.intersection(&shared).take(MOST_SINGLE);
    // The class may have another priority than what is written.
    let apart = apart.map(|&number| {
        let path = format!("flows.{}", scenario.flows[number].name);
        priority(scenario, &levels, (&path, vec![number]), true)
    });
    apart.collect()
}

/// Which priorities are treated alike everywhere.
struct Levels {
    /// By priority: the queue at each place that chooses by it.
    queues: [Vec<u8>; 8],
}

impl Levels {
    fn new(scenario: &Scenario, free: &BTreeSet<Freedom>) -> Self {
        let nodes = &scenario.network.nodes;
        let is_fixed = !free.contains(&Freedom::Queues) && !free.contains(&Freedom::Layers);
        let queues = [0, 1, 2, 3, 4, 5, 6, 7].map(|value| {
            let pcp = Pcp::new(value).filter(|_| is_fixed && !has_rules(scenario));
            let Some(pcp) = pcp else { return vec![value] };
            let own = nodes.iter().filter_map(|node| match &node.kind {
                NodeKind::Switch(switch) => Some(switch.queues.queue_of(pcp)),
                NodeKind::EndStation(own) => Some(own.layer.as_ref()?.table.class_of(Some(pcp))),
                NodeKind::Hub(_) => None,
            });
            own.collect()
        });
        Self { queues }
    }

    /// Returns the priorities that are not treated as the one that is written, one of each kind.
    fn others(&self, now: Option<u8>) -> Vec<u8> {
        let mut seen: BTreeSet<&[u8]> = BTreeSet::new();
        seen.extend(now.map(|pcp| &self.queues[usize::from(pcp)][..]));
        let mut others = URGENCY.to_vec();
        others.retain(|pcp| seen.insert(&self.queues[usize::from(*pcp)]));
        others
    }

    /// Returns the place of the most urgent priority that is treated as this one.
    fn rank(&self, pcp: u8) -> u8 {
        let own = &self.queues[usize::from(pcp)];
        let mut ranks = (0u8..).zip(URGENCY);
        ranks
            .find(|(_, other)| self.queues[usize::from(*other)] == *own)
            .map_or(0, |(rank, _)| rank)
    }
}

/// Returns whether a switch has rules, which may look at priorities.
fn has_rules(scenario: &Scenario) -> bool {
    scenario.network.nodes.iter().any(|node| match &node.kind {
        NodeKind::Switch(own) => {
            !own.ingress.is_empty() || own.ports.iter().any(|port| port.ingress.is_some())
        }
        NodeKind::EndStation(_) | NodeKind::Hub(_) => false,
    })
}

/// Returns the switches that may change, with their names.
fn switches<'a>(scenario: &'a Scenario, kept: &Kept) -> Vec<(&'a str, (u8, Selection))> {
    let nodes = scenario.network.nodes.iter().enumerate();
    let switches = nodes.filter_map(|(number, node)| match &node.kind {
        NodeKind::Switch(own) if own.router.is_none() => {
            let is_kept = kept.nodes.iter().any(|kept| kept.index() == number);
            Some((is_kept, (node.name.as_str(), (own.queues.count(), own.selection))))
        }
        NodeKind::Switch(_) | NodeKind::EndStation(_) | NodeKind::Hub(_) => None,
    });
    let free = switches.filter(|(is_kept, _)| !is_kept);
    free.map(|(_, own)| own).collect()
}

/// Returns how many switches there are, routers left out.
fn count_of_switches(scenario: &Scenario) -> usize {
    switches(scenario, &Kept { flows: BTreeSet::new(), nodes: BTreeSet::new() }).len()
}

fn queues(scenario: &Scenario, kept: &Kept, found: &mut Vec<Parameter>) {
    let switches = switches(scenario, kept);
    let counts: BTreeSet<u8> = switches.iter().map(|(_, (queues, _))| *queues).collect();
    let is_all = switches.len() > 1 && switches.len() == count_of_switches(scenario);
    let all = counts.iter().map(u8::to_string).collect::<Vec<_>>().join(", ");
    let wide = is_all.then(|| ("switches[*].queues".to_owned(), counts, all));
    let single = switches.iter().filter(|_| !is_all || switches.len() <= MOST_SINGLE);
    let single = single.map(|(name, (queues, _))| {
        (format!("switches.{name}.queues"), BTreeSet::from([*queues]), queues.to_string())
    });
    for (path, now, old) in wide.into_iter().chain(single) {
        let others = [8, 4, 2].into_iter().filter(|count| !now.iter().all(|own| own == count));
        let values: Vec<Vec<Override>> = others.map(|count| set(&path, &count)).collect();
        let is_wide = path.contains('[');
        let parameter = Parameter::new(scenario, Freedom::Queues, (path, old), values);
        found.push(Parameter { is_wide, ..parameter });
    }
}

fn selections(scenario: &Scenario, kept: &Kept, found: &mut Vec<Parameter>) {
    for (name, (_, selection)) in switches(scenario, kept) {
        if selection == Selection::StrictPriority {
            continue;
        }
        let path = format!("switches.{name}.selection");
        let strict = [set(&path, "strict")];
        let place = (path, "another".to_owned());
        found.push(Parameter::new(scenario, Freedom::Selection, place, strict));
    }
}

fn layers(scenario: &Scenario, written: &Written, kept: &Kept, found: &mut Vec<Parameter>) {
    let flows = scenario.flows.iter();
    let ends = flows.flat_map(|flow| flow.listeners.iter().copied().chain([flow.talker]));
    for (path, node, is_wide) in stations(scenario, written, kept, ends) {
        let NodeKind::EndStation(station) = &scenario.network.node(node).kind else {
            continue;
        };
        let values = layers_of(&path, station);
        if !values.is_empty() {
            let old = if station.layer.is_some() { "others" } else { "none" };
            let place = (path, old.to_owned());
            let parameter = Parameter::new(scenario, Freedom::Layers, place, values);
            found.push(Parameter { is_wide, ..parameter });
        }
    }
}

/// Returns the layers that a station may have: what it has stays.
fn layers_of(path: &str, station: &EndStation) -> Vec<Vec<Override>> {
    let mut values = Vec::new();
    if station.redundancy.is_some() || station.by_deadline {
        return values;
    }
    let layer = station.layer.as_deref();
    let has_instances =
        layer.is_some_and(|own| matches!(own.receive, Some(Receive::Instances { .. })));
    let has_transmit = layer.is_some_and(|own| {
        let strategy = own.transmit.as_ref().map(|own| own.strategy);
        strategy.is_some_and(|own| own != TransmitStrategy::Fifo)
    });
    let mut first = Vec::new();
    let queues = station.layer.as_ref().map_or(8, |layer| layer.table.count());
    if station.layer.is_none() {
        first.extend(set(&format!("{path}.priorities"), "{ queues: 8 }"));
    }
    if !has_instances {
        first.extend(set(&format!("{path}.receive_queues"), "{ selection: instances }"));
    }
    let transmit = format!("{path}.transmit_queues");
    if !has_transmit {
        let mut all = first.clone();
        all.extend(set(&transmit, "{ strategy: moderate }"));
        values.push(all);
        // A higher part of the priorities goes straight into the ring.
        for high in (queues.saturating_sub(5).max(1)..queues.saturating_sub(1)).rev() {
            let mut all = first.clone();
            all.extend(set(&transmit, &format!("{{ strategy: moderate, high_from: {high} }}")));
            values.push(all);
        }
    }
    if !has_instances {
        values.push(first);
    }
    values
}

fn windows(scenario: &Scenario, kept: &Kept, found: &mut Vec<Parameter>) {
    for group in groups(scenario, kept, |flow| tcp(flow).is_some()) {
        let Some(tcp) = tcp(group.first) else { continue };
        let (window, segment) = (tcp.window.get(), tcp.segment.get());
        let halves = std::iter::successors(Some(window / 2), |half| Some(half / 2));
        // Whole segments, down to one.
        let fewer = halves.map(|half| half / segment * segment).take_while(|own| *own > 0);
        let values = (window, fewer.collect());
        number(scenario, (Freedom::Window, "window", segment), &group, values, found);
    }
}

fn segments(scenario: &Scenario, kept: &Kept, found: &mut Vec<Parameter>) {
    const SMALLER: [u64; 3] = [1024, 536, 256];
    for group in groups(scenario, kept, |flow| tcp(flow).is_some()) {
        let Some(tcp) = tcp(group.first) else { continue };
        let segment = tcp.segment.get();
        let smaller = SMALLER.into_iter().filter(|own| *own < segment);
        let values = (segment, smaller.collect());
        number(scenario, (Freedom::Segment, "segment", 0), &group, values, found);
    }
}

/// Adds a value of TCP in octets.
fn number(
    scenario: &Scenario,
    (freedom, key, grain): (Freedom, &str, u64),
    group: &Group<'_>,
    (now, others): (u64, Vec<u64>),
    found: &mut Vec<Parameter>,
) {
    if others.is_empty() {
        return;
    }
    let path = format!("{}.tcp.{key}", group.path);
    let values: Vec<Vec<Override>> =
        others.into_iter().map(|octets| set(&path, &format!("{octets} B"))).collect();
    let parameter = Parameter::new(scenario, freedom, (path, format!("{now} B")), values);
    found.push(Parameter { flows: group.flows.clone(), grain, ..parameter });
}

/// Returns the numbers that may be raised, each step at its cost.
pub(super) fn numbers(scenario: &Scenario) -> Vec<Parameter> {
    /// Most steps of a number.
    const STEPS: u64 = 20;
    let numbers = scenario.design.costs.iter().filter_map(|own| match &own.of {
        Priced::Freedom(_) => None,
        Priced::Number { path, number, unit, percent } => {
            let steps = 1..=STEPS;
            let raised = steps.clone().map(|step| {
                set(path, format!("{} {unit}", raised(*number, step * percent)).trim_end())
            });
            Some(Parameter {
                freedom: None,
                is_wide: false,
                path: path.clone(),
                old: format!("{number} {unit}").trim_end().to_owned(),
                values: [Vec::new()].into_iter().chain(raised).collect(),
                flows: Vec::new(),
                ranks: Vec::new(),
                costs: [0].into_iter().chain(steps.map(|step| step * own.units)).collect(),
                // Three digits count.
                grain: 10_u64.pow(number.ilog10().saturating_sub(2)),
            })
        }
    });
    numbers.collect()
}

/// Returns a number raised by this many percent, rounded up.
fn raised(number: u64, percent: u64) -> u64 {
    (number * (100 + percent)).div_ceil(100)
}
