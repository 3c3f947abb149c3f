//! What a plant sends, against what was planned: two scenarios, flow by flow.
//!
//! One scenario is the plan, the other was imported from a capture (or from any other file).
//! [`against`] finds for each planned flow the one that was seen, and says how they differ. Names
//! decide where they are the same; else the group address of GOOSE and sampled values, which both say
//! in their description; else what is on the wire: protocol, size, tag and times, such that one
//! station is always the same one.

mod page;

use std::collections::{BTreeMap, BTreeSet};

use rtether_model::flow::{Delivery, Flow, Traffic};
use rtether_model::network::NodeId;
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::wire::{Encapsulation, frame_size};
use rtether_report::document::{self, Document};
use rtether_report::format::{Part, Render};
use rtether_report::table::{Screen, Table};
use rtether_report::text::{plain_line, plural};
use schemars::JsonSchema;
use serde::Serialize;

use crate::scenario::Scenario;
use crate::words::Conclusion;

pub use page::html;

/// Periods are equal up to this part: two clocks, each off by 100 ppm, and what was seen of them.
const PART: i64 = 1000;

/// How a flow that was seen differs from the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deviation {
    /// It was not seen.
    Missing,
    /// It is not in the plan.
    NotPlanned,
    /// It is sent more often than planned.
    Faster,
    /// It is sent less often than planned.
    Slower,
    /// It comes later behind its grid than jitter and deadline of the plan allow.
    Late,
    /// Its frames have another size.
    Size,
    /// Its frames have another priority.
    Priority,
    /// Its frames have another VLAN.
    Vlan,
}

impl Deviation {
    /// Returns the word in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::NotPlanned => "not-planned",
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Late => "late",
            Self::Size => "size",
            Self::Priority => "priority",
            Self::Vlan => "vlan",
        }
    }

    /// Says what it means, in a sentence.
    const fn meaning(self) -> &'static str {
        match self {
            Self::Missing => "It is in the plan and was not seen.",
            Self::NotPlanned => "It was seen and is not in the plan.",
            Self::Faster => "It is sent more often than planned.",
            Self::Slower => "It is sent less often than planned.",
            Self::Late => {
                "Frames were later behind their period than jitter and deadline of the plan together."
            }
            Self::Size => "Its frames have another size.",
            Self::Priority => "Its frames have another priority.",
            Self::Vlan => "Its frames have another VLAN.",
        }
    }
}

/// Frames of a flow, one way.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// Name of the flow.
    pub name: String,
    /// Name of the station that sends.
    pub from: String,
    /// Name of the station that receives; empty for a group.
    pub to: String,
    /// Octets of an untagged frame, or of a message that takes several.
    pub size: Bytes,
    /// Priority and VLAN of the tag.
    pub tag: Option<(u8, u16)>,
    /// When they are sent.
    pub times: Times,
    pub(crate) description: String,
    pub(crate) encapsulation: Encapsulation,
    pub(crate) deadline: Option<Duration>,
}

/// When frames are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// On a grid, late by at most the jitter.
    Periodic {
        /// Period of the grid.
        period: Duration,
        /// Largest lateness.
        jitter: Duration,
    },
    /// A burst in any such time.
    Sporadic {
        /// The least time between bursts.
        gap: Duration,
        /// Frames of a burst.
        burst: u32,
    },
    /// At random or as fast as it goes.
    Open,
}

impl Times {
    fn of(traffic: &Traffic) -> Self {
        match *traffic {
            Traffic::Periodic { period, release_jitter, .. } => {
                Self::Periodic { period, jitter: release_jitter }
            }
            Traffic::Flood { interval } => {
                Self::Periodic { period: interval, jitter: Duration::ZERO }
            }
            Traffic::Sporadic { min_gap, burst, .. } => Self::Sporadic { gap: min_gap, burst },
            Traffic::Poisson { .. } | Traffic::Adaptive { .. } | Traffic::Bulk(_) => Self::Open,
        }
    }

    /// Returns the time and the frames in it; `None` if there is no limit.
    const fn load(self) -> Option<(Duration, u32)> {
        match self {
            Self::Periodic { period, .. } => Some((period, 1)),
            Self::Sporadic { gap, burst } => Some((gap, burst)),
            Self::Open => None,
        }
    }

    pub(crate) fn words(self) -> String {
        match self {
            Self::Periodic { period, .. } => format!("every {period}"),
            Self::Sporadic { gap, burst: 1 } => format!("{gap} apart"),
            Self::Sporadic { gap, burst } => format!("{burst} in {gap}"),
            Self::Open => "open".into(),
        }
    }
}

/// A planned flow and the one that was seen, or one of them.
#[derive(Clone, Debug)]
pub struct Row {
    /// As planned.
    pub planned: Option<Way>,
    /// As seen.
    pub seen: Option<Way>,
    /// How they differ; empty if they do not.
    pub deviations: Vec<Deviation>,
}

/// Two scenarios, flow by flow.
#[derive(Clone, Debug)]
pub struct Against {
    /// Name of the plan.
    pub plan: String,
    /// Name of what was seen.
    pub seen: String,
    /// Planned flows in the order of the plan, then the others.
    pub rows: Vec<Row>,
}

/// Compares what was seen with a plan.
pub fn against(plan: &Scenario, seen: &Scenario) -> Against {
    let planned = ways(plan);
    let found = ways(seen);
    let pairs = Matching::new(&planned, &found).done();
    let mut taken = BTreeSet::new();
    let mut rows = Vec::new();
    for (number, way) in planned.iter().enumerate() {
        let pair = pairs.get(&number).map(|number| &found[*number]);
        taken.extend(pairs.get(&number).copied());
        rows.push(Row {
            planned: Some(way.clone()),
            deviations: pair.map_or(vec![Deviation::Missing], |pair| deviations(way, pair)),
            seen: pair.cloned(),
        });
    }
    for (number, way) in found.iter().enumerate() {
        if !taken.contains(&number) {
            rows.push(Row {
                planned: None,
                seen: Some(way.clone()),
                deviations: vec![Deviation::NotPlanned],
            });
        }
    }
    Against { plan: plan.name.clone(), seen: seen.name.clone(), rows }
}

/// Returns what the flows of a scenario put on the wire, with their answers.
pub(crate) fn ways(scenario: &Scenario) -> Vec<Way> {
    let mut all = Vec::new();
    for flow in &scenario.flows {
        let to: Vec<Option<NodeId>> = match flow.delivery {
            Delivery::Multicast => vec![None],
            Delivery::Unicast => flow.listeners.iter().map(|to| Some(*to)).collect(),
        };
        all.extend(to.into_iter().map(|to| way(scenario, flow, flow.talker, to, flow.payload)));
        if let Some(reply) = &flow.reply {
            let from = flow.listeners.iter();
            all.extend(from.map(|from| Way {
                name: format!("{} reply", flow.name),
                ..way(scenario, flow, *from, Some(flow.talker), reply.payload)
            }));
        }
    }
    all
}

fn way(scenario: &Scenario, flow: &Flow, from: NodeId, to: Option<NodeId>, size: Bytes) -> Way {
    let named = |node: NodeId| scenario.network.node(node).name.clone();
    let over = flow.encapsulation;
    let fits = size <= over.max_payload();
    Way {
        name: flow.name.clone(),
        from: named(from),
        to: to.map_or_else(String::new, named),
        size: if fits { frame_size(size, over) } else { size },
        tag: flow.tag.map(|tag| (tag.pcp.get(), tag.vid.get())),
        times: Times::of(&flow.traffic),
        description: flow.description.clone(),
        // A capture shows datagrams, also those of publications.
        encapsulation: if over.is_ip() && flow.is_published() { Encapsulation::Udp } else { over },
        deadline: flow.deadline,
    }
}

/// Finds pairs of planned and seen flows.
struct Matching<'a> {
    planned: &'a [Way],
    found: &'a [Way],
    pairs: BTreeMap<usize, usize>,
    taken: BTreeSet<usize>,
    /// Stations of the plan, by those that were seen, and the other way round.
    stations: BTreeMap<&'a str, &'a str>,
    seen_as: BTreeMap<&'a str, &'a str>,
}

impl<'a> Matching<'a> {
    fn new(planned: &'a [Way], found: &'a [Way]) -> Self {
        Self {
            planned,
            found,
            pairs: BTreeMap::new(),
            taken: BTreeSet::new(),
            stations: BTreeMap::new(),
            seen_as: BTreeMap::new(),
        }
    }

    fn done(mut self) -> BTreeMap<usize, usize> {
        let kind = |way: &Way| matches!(way.times, Times::Periodic { .. });
        self.pass(|one, other| one.name == other.name && one.to.is_empty() == other.to.is_empty());
        self.pass(|one, other| {
            let is_group = one.description.contains("address");
            is_group && one.description == other.description && kind(one) == kind(other)
        });
        self.pass(|one, other| {
            (&one.from, &one.to) == (&other.from, &other.to) && is_alike(one, other)
        });
        self.pass(|one, other| (&one.from, &one.to) == (&other.from, &other.to));
        // What is there once in both comes first, since it tells which station is which.
        self.unique();
        self.pass(is_alike);
        // Stations are known by now, and say what belongs together.
        self.known();
        self.pairs
    }

    /// Makes pairs of those for which a rule holds, in their order.
    fn pass(&mut self, is_same: impl Fn(&Way, &Way) -> bool) {
        for number in 0..self.planned.len() {
            if self.pairs.contains_key(&number) {
                continue;
            }
            let found = (0..self.found.len()).find(|other| {
                self.may(number, *other) && is_same(&self.planned[number], &self.found[*other])
            });
            if let Some(found) = found {
                self.pair(number, found);
            }
        }
    }

    /// Makes pairs of those that only one other is like.
    fn unique(&mut self) {
        let mut likes: Vec<Vec<usize>> = vec![Vec::new(); self.found.len()];
        for (number, one) in self.planned.iter().enumerate() {
            for (likes, other) in likes.iter_mut().zip(self.found) {
                if is_alike(one, other) {
                    likes.push(number);
                }
            }
        }
        let mut times: BTreeMap<usize, usize> = BTreeMap::new();
        for number in likes.iter().flatten() {
            *times.entry(*number).or_default() += 1;
        }
        for (other, likes) in likes.iter().enumerate() {
            let [only] = likes[..] else { continue };
            let is_free = !self.pairs.contains_key(&only) && self.may(only, other);
            if times.get(&only) == Some(&1) && is_free {
                self.pair(only, other);
            }
        }
    }

    /// Makes pairs of those between known stations, and of those that differ little.
    fn known(&mut self) {
        for number in 0..self.planned.len() {
            if self.pairs.contains_key(&number) {
                continue;
            }
            let way = &self.planned[number];
            let is_known = |station: &str| station.is_empty() || self.seen_as.contains_key(station);
            // One with a single difference is the same, too, if nothing is known of its stations.
            let is_between = is_known(&way.from) && is_known(&way.to);
            let most = if is_between { usize::MAX } else { 1 };
            let candidates = (0..self.found.len()).filter(|other| self.may(number, *other));
            let counts = candidates.map(|other| (deviations(way, &self.found[other]).len(), other));
            let best = counts.filter(|(count, _)| *count <= most).min();
            let best = best.map(|(_, other)| other);
            if let Some(best) = best {
                self.pair(number, best);
            }
        }
    }

    /// Returns whether two may be the same: protocols agree, and stations that are known.
    fn may(&self, number: usize, other: usize) -> bool {
        let (one, two) = (&self.planned[number], &self.found[other]);
        let agrees = |planned: &str, seen: &str| {
            let known = self.seen_as.get(planned);
            let owner = self.stations.get(seen);
            planned.is_empty() == seen.is_empty()
                && known.is_none_or(|known| *known == seen)
                && owner.is_none_or(|owner| *owner == planned)
        };
        !self.taken.contains(&other)
            && one.encapsulation == two.encapsulation
            && agrees(&one.from, &two.from)
            && agrees(&one.to, &two.to)
    }

    fn pair(&mut self, number: usize, other: usize) {
        let (planned, found): (&'a [Way], &'a [Way]) = (self.planned, self.found);
        let (one, two) = (&planned[number], &found[other]);
        for (planned, seen) in [(&one.from, &two.from), (&one.to, &two.to)] {
            if !planned.is_empty() {
                self.seen_as.insert(planned, seen);
                self.stations.insert(seen, planned);
            }
        }
        self.taken.insert(other);
        self.pairs.insert(number, other);
    }
}

/// Returns whether nothing on the wire tells two apart, but for lateness.
fn is_alike(planned: &Way, seen: &Way) -> bool {
    let found = deviations(planned, seen);
    found.iter().all(|found| *found == Deviation::Late)
        && planned.encapsulation == seen.encapsulation
}

/// Returns how a flow that was seen differs from the plan.
fn deviations(planned: &Way, seen: &Way) -> Vec<Deviation> {
    let mut found = Vec::new();
    let is_open = planned.times == Times::Open;
    if let (Some((time, frames)), Some((seen_time, seen_frames))) =
        (planned.times.load(), seen.times.load())
    {
        // Frames in the time of the other.
        let one = i128::from(seen_time.as_ps()) * i128::from(frames);
        let other = i128::from(time.as_ps()) * i128::from(seen_frames);
        let slack = other / i128::from(PART);
        let is_grid = matches!(planned.times, Times::Periodic { .. });
        if one + slack < other {
            found.push(Deviation::Faster);
        } else if is_grid && one > other + slack {
            // What is sporadic may come less often.
            found.push(Deviation::Slower);
        }
    }
    if let (Times::Periodic { jitter, .. }, Times::Periodic { jitter: late, .. }) =
        (planned.times, seen.times)
        && late > jitter + planned.deadline.unwrap_or(jitter)
        && planned.deadline.is_some()
    {
        found.push(Deviation::Late);
    }
    if !is_open && planned.size != seen.size {
        found.push(Deviation::Size);
    }
    let pcp = |way: &Way| way.tag.map_or(0, |(pcp, _)| pcp);
    let vid = |way: &Way| way.tag.map_or(0, |(_, vid)| vid);
    if pcp(planned) != pcp(seen) {
        found.push(Deviation::Priority);
    }
    if vid(planned) != vid(seen) {
        found.push(Deviation::Vlan);
    }
    found
}

impl Row {
    /// Returns the words for how they differ; `matches` if they do not.
    pub fn standing(&self) -> String {
        if self.deviations.is_empty() {
            return "matches".into();
        }
        let names = self.deviations.iter();
        let names: Vec<&str> = names.map(|deviation| deviation.name()).collect();
        names.join(", ")
    }

    /// Returns the flow, as planned if it is.
    fn way(&self) -> Option<&Way> {
        self.planned.as_ref().or(self.seen.as_ref())
    }

    fn of<T>(&self, value: impl Fn(&Way) -> T) -> [Option<T>; 2] {
        [&self.planned, &self.seen].map(|way| way.as_ref().map(&value))
    }

    /// Returns the planned and the seen value: once if they are equal.
    fn both(&self, value: impl Fn(&Way) -> String) -> String {
        match self.of(value) {
            [Some(one), Some(other)] if one == other => one,
            [Some(one), Some(other)] => format!("{one} / {other}"),
            [one, other] => one.or(other).unwrap_or_default(),
        }
    }
}

impl Against {
    /// Returns whether anything deviates.
    pub fn deviates(&self) -> bool {
        self.rows.iter().any(|row| !row.deviations.is_empty())
    }

    /// Returns the verdict: failed if anything deviates.
    pub fn conclusion(&self) -> Conclusion {
        Conclusion::meets(Some(!self.deviates()))
    }

    /// Returns the verdict in a sentence.
    pub fn summary(&self) -> String {
        self.conclusion().sentence(&self.said())
    }

    /// Says how many flows match, and how many deviate in each way.
    pub fn said(&self) -> String {
        let mut counts: BTreeMap<Deviation, usize> = BTreeMap::new();
        for deviation in self.rows.iter().flat_map(|row| &row.deviations) {
            *counts.entry(*deviation).or_default() += 1;
        }
        let matches = self.rows.iter().filter(|row| row.deviations.is_empty());
        let planned = self.rows.iter().filter(|row| row.planned.is_some()).count();
        let matches = matches.count();
        let verb = if matches == 1 { "matches" } else { "match" };
        let counts = counts.iter();
        let counts: Vec<String> =
            counts.map(|(deviation, count)| format!(", {count} {}", deviation.name())).collect();
        format!("{matches} of {} {verb}{}", plural(planned, "planned flow"), counts.concat())
    }
}

/// Returns flows for people, with what was planned and what was seen.
fn shown<'r>(rows: impl Iterator<Item = &'r Row>) -> Table {
    Table::of(rows)
        .both("flow", "flow", |row| row.way().map_or("", |way| way.name.as_str()))
        .both("standing", "standing", |row| row.standing())
        .both("talker", "talker", |row| row.both(|way| way.from.clone()))
        .both("listener", "listener", |row| row.both(|way| way.to.clone()))
        .both("times", "times", |row| row.both(|way| way.times.words()))
        .both("size", "size", |row| row.both(|way| way.size.get().to_string()))
        .both("pcp", "pcp", |row| row.both(pcp_words))
        .both("vlan", "vlan", |row| row.both(vlan_words))
        .done()
}

impl Against {
    /// Returns the flows that deviate: what matches needs no look.
    fn apart(&self) -> Table {
        shown(self.rows.iter().filter(|row| !row.deviations.is_empty()))
    }
}

impl Render for Against {
    fn parts(&self, _: Screen) -> Vec<Part> {
        let head = format!(
            "plan: {}, seen: {} (planned / seen)\n",
            plain_line(&self.plan),
            plain_line(&self.seen)
        );
        let mut parts: Vec<Part> = vec![head.into()];
        if self.deviates() {
            parts.push(self.apart().into());
        }
        parts.push(format!("{}\n", self.summary()).into());
        parts
    }

    /// One row for each flow, those that match too.
    fn rows(&self) -> Table {
        let name = |way: &Option<Way>| way.as_ref().map_or(String::new(), |way| way.name.clone());
        let ns = |way: &Option<Way>| {
            let load = way.as_ref().and_then(|way| way.times.load());
            load.map_or(String::new(), |(time, _)| time.as_ns_floor().to_string())
        };
        Table::of(&self.rows)
            .both("planned", "planned", move |row| name(&row.planned))
            .both("seen", "seen", move |row| name(&row.seen))
            .both("standing", "standing", |row| row.standing())
            .both("talker", "talker", |row| row.both(|way| way.from.clone()))
            .both("listener", "listener", |row| row.both(|way| way.to.clone()))
            .both("planned time", "planned_ns", move |row| ns(&row.planned))
            .both("seen time", "seen_ns", move |row| ns(&row.seen))
            .both("size", "size", |row| row.both(|way| way.size.get().to_string()))
            .both("pcp", "pcp", |row| row.both(pcp_words))
            .both("vlan", "vlan", |row| row.both(vlan_words))
            .done()
    }

    fn json(&self) -> String {
        let flows = self.rows.iter().map(|row| RowJson {
            planned: row.planned.as_ref().map(WayJson::of),
            seen: row.seen.as_ref().map(WayJson::of),
            deviations: row.deviations.iter().map(|deviation| deviation.name()).collect(),
        });
        document::text(&AgainstJson {
            plan: &self.plan,
            seen: &self.seen,
            conclusion: self.conclusion(),
            summary: self.summary(),
            deviates: self.deviates(),
            flows: flows.collect(),
        })
    }
}

fn pcp_words(way: &Way) -> String {
    way.tag.map_or("-".into(), |(pcp, _)| pcp.to_string())
}

fn vlan_words(way: &Way) -> String {
    let vid = way.tag.map(|(_, vid)| vid).filter(|vid| *vid > 0);
    vid.map_or("-".into(), |vid| vid.to_string())
}

/// What was seen against a plan.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AgainstJson<'a> {
    /// Title of the plan.
    plan: &'a str,
    /// Title of what was seen.
    seen: &'a str,
    conclusion: Conclusion,
    /// How many flows match and deviate.
    summary: String,
    /// Whether anything deviates.
    deviates: bool,
    /// Planned flows in the order of the plan, then those that are not planned.
    flows: Vec<RowJson<'a>>,
}

impl Document for AgainstJson<'_> {
    const SCHEMA: &'static str = "rtether.against/1";
}

#[derive(Serialize, JsonSchema)]
struct RowJson<'a> {
    /// The flow in the plan; `null` if it is not planned.
    planned: Option<WayJson<'a>>,
    /// The flow that was seen; `null` if it was not.
    seen: Option<WayJson<'a>>,
    /// `missing`, `not-planned`, `faster`, `slower`, `late`, `size`, `priority` or `vlan`.
    deviations: Vec<&'static str>,
}

#[derive(Serialize, JsonSchema)]
struct WayJson<'a> {
    /// Name of the flow; an answer has a row of its own.
    name: &'a str,
    /// Station that sends.
    talker: &'a str,
    /// Station that receives; `null` for a group.
    listener: Option<&'a str>,
    /// Period, or least time of a burst; `null` if nothing limits it.
    time_ns: Option<i64>,
    /// Frames in this time; `null` if nothing limits them.
    frames: Option<u32>,
    /// Lateness on the grid, or `null`.
    jitter_ns: Option<i64>,
    /// Octets of an untagged frame, or of a message that takes several.
    size: u64,
    /// Priority of the tag, or `null`.
    pcp: Option<u8>,
    /// VLAN of the tag, or `null`.
    vlan: Option<u16>,
}

impl<'a> WayJson<'a> {
    fn of(way: &'a Way) -> Self {
        let load = way.times.load();
        let jitter = match way.times {
            Times::Periodic { jitter, .. } => Some(jitter.as_ns_floor()),
            Times::Sporadic { .. } | Times::Open => None,
        };
        Self {
            name: &way.name,
            talker: &way.from,
            listener: (!way.to.is_empty()).then_some(&way.to),
            time_ns: load.map(|(time, _)| time.as_ns_floor()),
            frames: load.map(|(_, frames)| frames),
            jitter_ns: jitter,
            size: way.size.get(),
            pcp: way.tag.map(|(pcp, _)| pcp),
            vlan: way.tag.map(|(_, vid)| vid),
        }
    }
}
