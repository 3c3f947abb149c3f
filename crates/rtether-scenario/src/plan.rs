//! A scenario as the engines see it: after parsing, checking and lowering.

use core::fmt;
use std::collections::BTreeSet;

use rtether_model::flow::{Flow, FlowId};
use rtether_model::network::{Network, NodeId};
use rtether_model::quantity::Duration;

/// A plant, its traffic, how long to run it and what to accept.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Title.
    pub name: String,
    /// Nodes and links.
    pub network: Network,
    /// All flows; indices are [`rtether_model::flow::FlowId`]s.
    pub flows: Vec<Flow>,
    /// How to simulate.
    pub run: RunPlan,
    /// Stages of the run with statistics of their own, in order of time.
    pub stages: Vec<Stage>,
    /// The verdict: a stream fails if a requirement that matches it does not hold.
    pub accept: Vec<Requirement>,
    /// Requirements over several flows.
    pub sums: Vec<Sum>,
    /// What is assumed and not known.
    pub assumptions: Assumptions,
    /// What a search for a design may change.
    pub design: Design,
}

/// What a search for a design may change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Design {
    /// What may change; `None` if the scenario does not say.
    pub allow: Option<BTreeSet<Freedom>>,
    /// What stays as it is.
    pub keep: Vec<About>,
    /// What edits cost; those that are not named cost 1.
    pub costs: Vec<Cost>,
}

/// What an edit costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Of what.
    pub of: Priced,
    /// Units of an edit, or of each step.
    pub units: u64,
}

/// What has a cost of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Priced {
    /// Each edit of a kind.
    Freedom(Freedom),
    /// A number that may be raised by steps.
    Number {
        /// Where it stands.
        path: String,
        /// The number, without its unit.
        number: u64,
        /// Its unit, empty for none.
        unit: String,
        /// A step, in percent of the number.
        percent: u64,
    },
}

/// Something that a design may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Freedom {
    /// Priorities of flows.
    Pcp,
    /// Number of queues of switches.
    Queues,
    /// Transmission selection of switches.
    Selection,
    /// Stack instances and transmit queues of nodes.
    Layers,
    /// Receive windows of TCP.
    Window,
    /// Segments of TCP.
    Segment,
    /// Smoothers of nodes that send over TCP.
    Smoother,
    /// Ways of flows.
    Routes,
    /// Memories: packets that may wait in nodes, buffers of switches.
    Limits,
    /// Rates of links.
    Links,
}

/// What a scenario says is assumed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assumptions {
    /// Those whose value is still the assumed one, in the order of the scenario.
    pub held: Vec<Assumption>,
    /// Paths of those that have ended, since the value was written.
    pub ended: Vec<String>,
    /// Stacks that come from the profiles of devices, by path.
    pub identified: Vec<Identified>,
    /// Whether nothing judged may rest on one, as `--strict` asks; no key of the file.
    pub is_strict: bool,
}

/// A stack that comes from the profile of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identified {
    /// Where it stands, for example `nodes.plc.stack`.
    pub path: String,
    /// The profile.
    pub file: String,
    /// The nodes that have it.
    pub about: About,
}

/// A value that is assumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumption {
    /// Where it stands, for example `switches.sw1.latency`.
    pub path: String,
    /// The value, on one line.
    pub value: String,
    /// Why it is assumed.
    pub why: String,
    /// What it is about.
    pub about: About,
}

impl Assumption {
    /// Returns what kind of value it is: `latency`, `stack`, `link`.
    pub fn kind(&self) -> &str {
        let section = self.path.split(['.', '[']).next().unwrap_or("");
        match section {
            "stacks" => "stack",
            "nodes" => match self.path.rsplit_once('.') {
                Some((_, "stack")) => "stack",
                _ => "node",
            },
            "links" => "link",
            _ => self.path.rsplit('.').next().unwrap_or(""),
        }
    }
}

/// What an assumption is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// These nodes, or what is at them.
    Nodes(Vec<NodeId>),
    /// A flow.
    Flow(FlowId),
    /// The whole plant, or its run.
    Plant,
}

impl Scenario {
    /// Returns the name of a flow in results; messages of ARP, or about channels, have numbers behind
    /// those of all flows. No plant has both.
    pub fn flow_name(&self, flow: FlowId) -> &str {
        let flow = self.flows.get(flow.index());
        let messages = if self.network.admission.is_some() { "admission" } else { "ARP" };
        flow.map_or(messages, |flow| &flow.name)
    }

    /// Leaves out the flows that are not kept, with the requirements on sums that name one. What the
    /// network has been given for all flows, such as the turns of stations at a hub, stays.
    pub fn retain_flows(&mut self, is_kept: impl Fn(&Flow) -> bool) {
        let mut numbers = Vec::new();
        let mut count = 0;
        for flow in &self.flows {
            let is_kept = is_kept(flow);
            numbers.push(is_kept.then_some(FlowId(count)));
            count += u32::from(is_kept);
        }
        self.assumptions.held.retain_mut(|own| own.about.renumber(&numbers));
        self.design.keep.retain_mut(|own| own.renumber(&numbers));
        self.flows.retain(is_kept);
        let names: BTreeSet<&String> = self.flows.iter().map(|flow| &flow.name).collect();
        self.sums.retain(|sum| sum.flows.iter().all(|name| names.contains(name)));
    }
}

impl About {
    /// Gives a flow its new number, by the one that it had, and returns whether it is still there.
    fn renumber(&mut self, numbers: &[Option<FlowId>]) -> bool {
        let Self::Flow(flow) = self else {
            return true;
        };
        let number = numbers[flow.index()];
        *flow = number.unwrap_or(*flow);
        number.is_some()
    }
}

/// How to simulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunPlan {
    /// Simulated time of one run, warm-up included.
    pub duration: Duration,
    /// Warm-up: the start of every run, left out of statistics.
    pub warmup: Duration,
    /// Number of replications, at least one; their seeds are consecutive.
    pub runs: u32,
    /// Seed of the first replication.
    pub seed: u64,
    /// Bucket length of the time series.
    pub bucket: Duration,
}

impl RunPlan {
    /// Most time-series points held in memory at once, over all streams (about 500 MB). A single
    /// run may not exceed it; runs with many points have fewer replications in parallel.
    pub const MOST_POINTS: i64 = 10_000_000;

    /// Returns the number of time-series points that `streams` streams take in one run.
    pub fn points(&self, streams: usize) -> i64 {
        let buckets = self.duration.as_ps().checked_div(self.bucket.as_ps());
        let streams = i64::try_from(streams).unwrap_or(i64::MAX);
        buckets.map_or(0, |buckets| buckets.saturating_mul(streams))
    }
}

/// A stage of the run: it lasts until the next one begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// When it begins.
    pub from: Duration,
}

/// One line of `accept:`.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    /// Flow name, class, or a pattern with `*`.
    pub flow: String,
    /// Upper limits on simulated statistics. Packets in flight past their deadline at the end of a
    /// run count against quantiles and maximum.
    pub simulated: Vec<(Statistic, Limit)>,
    /// Upper limits on measured statistics; if empty, those of `simulated` apply.
    pub measured: Vec<(Statistic, Limit)>,
    /// Upper limit on the proved bound.
    pub bound: Option<Limit>,
    /// Packets that may be dropped.
    pub lost: Option<Loss>,
    /// Largest ratio of late or lost packets, in parts per billion.
    pub miss_per_billion: Option<u64>,
}

/// A line of `accept:` over several flows: an upper limit on the sum of their largest latencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sum {
    /// Names of at least two flows with one listener each; a flow that counts twice is named twice.
    pub flows: Vec<String>,
    /// The limit.
    pub max: Duration,
}

/// A statistic of the latency of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// Mean.
    Mean,
    /// The quantile `part / whole`: 999/1000 for p99.9.
    Quantile {
        /// Numerator.
        part: u64,
        /// Denominator.
        whole: u64,
    },
    /// Largest value seen.
    Max,
}

/// How many packets may be dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// That many, over all runs.
    Count(u64),
    /// That many in a billion of those released.
    PerBillion(u64),
}

impl Loss {
    /// Returns whether `dropped` of `released` packets are within it.
    pub fn permits(self, dropped: u64, released: u64) -> bool {
        match self {
            Self::Count(count) => dropped <= count,
            Self::PerBillion(share) => {
                u128::from(dropped) * 1_000_000_000 <= u128::from(share) * u128::from(released)
            }
        }
    }
}

impl fmt::Display for Loss {
    /// Writes it as in a scenario: `3`, `0.1 %`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Count(count) => write!(f, "{count}"),
            Self::PerBillion(share) => {
                let digits = format!("{}.{:07}", share / 10_000_000, share % 10_000_000);
                let digits = digits.trim_end_matches('0').trim_end_matches('.');
                write!(f, "{digits} %")
            }
        }
    }
}

/// An upper limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The flow's deadline; always met by flows without one.
    Deadline,
    /// A fixed time.
    Time(Duration),
}

impl Requirement {
    /// Returns the requirement of a scenario without `accept:`: no packet lost, and in simulation
    /// no packet, delivered or in flight, later than its deadline.
    pub fn default_for_all() -> Self {
        Self {
            flow: "*".into(),
            simulated: vec![(Statistic::Max, Limit::Deadline)],
            measured: Vec::new(),
            bound: None,
            lost: Some(Loss::Count(0)),
            miss_per_billion: None,
        }
    }

    /// Returns the requirement of `accept: proved`: the default, plus a bound within every
    /// deadline.
    pub fn proved_for_all() -> Self {
        Self { bound: Some(Limit::Deadline), ..Self::default_for_all() }
    }

    /// Returns whether it applies to this flow: by name, class, or a pattern with `*`.
    pub fn matches(&self, flow: &Flow) -> bool {
        matches_pattern(&self.flow, &flow.name)
            || (!flow.class.is_empty() && matches_pattern(&self.flow, &flow.class))
    }

    /// Returns whether it limits the lateness of this flow's packets.
    pub fn judges_deadline(&self, flow: &Flow) -> bool {
        let limits_delay =
            !self.simulated.is_empty() || self.bound.is_some() || self.miss_per_billion.is_some();
        limits_delay && self.matches(flow)
    }
}

/// Returns whether a text is what a pattern says, in which `*` stands for any characters.
pub(super) fn matches_pattern(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut left) = text.strip_prefix(head) else {
        return false;
    };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    // Each part where it first occurs: that leaves the most for those behind.
    for part in middle.split('*') {
        let Some((_, behind)) = left.split_once(part) else {
            return false;
        };
        left = behind;
    }
    left.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::matches_pattern;

    /// Tries each place for each `*`.
    fn matches_anywhere(pattern: &str, text: &str) -> bool {
        let Some((head, rest)) = pattern.split_once('*') else {
            return pattern == text;
        };
        text.strip_prefix(head)
            .is_some_and(|left| (0..=left.len()).any(|at| matches_anywhere(rest, &left[at..])))
    }

    proptest! {
        /// Oracle: all ways in which a text may be what a pattern says.
        #[test]
        fn a_pattern_means_all_ways(pattern in "[ab*]{0,8}", text in "[ab]{0,10}") {
            prop_assert_eq!(
                matches_pattern(&pattern, &text), matches_anywhere(&pattern, &text)
            );
        }
    }
}
