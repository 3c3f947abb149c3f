//! Scenario, results and verdicts together, in the order and wording of a report.

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

use rtether_model::flow::Flow;
use rtether_model::network::{NodeId, NodeKind, PortId};
use rtether_model::quantity::Duration;
use rtether_model::record::{Place, Segment, StreamRecord};
use rtether_model::route::{Hop, Routing};

use rtether_bounds::Analysis;

pub use super::counts::Counts;
use crate::adversary::{Found, Search, Varied};
use crate::bound::Statistical;
use crate::bound::assumed::Assumed;
use crate::domain::Domain;
use crate::help::Help;
use crate::measured::{Distribution, Measurement};
use crate::place::Peers;
use crate::run::{Confidence, Results};
use crate::scenario::Scenario;
use crate::timeline::Explained;
use crate::verdict::{Assessment, Column, Conclusion, Standing, Verdict};

/// Result of a check, and input of every report: results, bounds, measurements and verdicts.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The plant.
    pub scenario: Arc<Scenario>,
    /// Text of the scenario file, to be shown with the results.
    pub source: Option<String>,
    /// Where the page lets a reader change the plant, by [`playground::link`](super::playground::link).
    pub what_if: Option<String>,
    /// Results of the runs.
    pub results: Results,
    /// The bounds, if they were computed.
    pub analysis: Option<Analysis>,
    /// Verdict and figures of each stream, in the order of the record.
    pub judged: Vec<Judged>,
    /// What was varied in the runs.
    pub varied: Varied,
    /// The search for bad releases, if there was one.
    pub adversarial: Option<Search>,
    /// The result in one word; decides the exit code.
    pub conclusion: Conclusion,
    /// What limits or contradicts the figures, the gravest last.
    pub notes: Vec<Note>,
    /// The assumptions that the verdict rests on.
    pub assumed: Assumed,
    /// What would help the stream that failed worst.
    pub help: Option<Help>,
    /// The worst streams explained, for the page; [`worst`](super::worst()) tells them.
    pub explained: Explained,
    /// Those of the network that it was created with.
    peers: Peers,
}

/// A remark on the figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Whether it makes the check fail.
    pub is_error: bool,
    /// The sentence.
    pub text: String,
}

/// Verdict and figures of a stream, besides the simulated ones.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The verdict.
    pub assessment: Assessment,
    /// Proved bound.
    pub bound: Option<Duration>,
    /// Probability of a late packet on a shared medium, by a model; not a bound.
    pub statistical: Option<Statistical>,
    /// Measured figures, and their distribution.
    pub measured: Option<(Measurement, Distribution)>,
    /// The worst that an adversary has found.
    pub found: Option<Found>,
}

/// One stream with all results.
#[derive(Clone, Copy, Debug)]
pub struct Stream<'a> {
    /// Position in the record.
    pub index: usize,
    /// Its flow.
    pub flow: &'a Flow,
    /// Simulation record.
    pub record: &'a StreamRecord,
    /// Verdict.
    pub assessment: &'a Assessment,
    /// Confidence intervals.
    pub confidence: Confidence,
    /// Proved bound.
    pub bound: Option<Duration>,
    /// Probability of being late on a shared medium, by a model; not a bound.
    pub statistical: Option<Statistical>,
    /// Measurement.
    pub measured: Option<Measurement>,
    /// Measured distribution.
    pub distribution: Option<&'a Distribution>,
    /// The worst that an adversary has found.
    pub found: Option<&'a Found>,
}

/// The streams of one class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The class; empty for flows without one.
    pub class: String,
    /// Positions in the record, worst first.
    pub streams: Vec<usize>,
}

impl Checked {
    /// Creates the result of a simulation, without bounds and measurements.
    pub fn new(
        scenario: impl Into<Arc<Scenario>>,
        results: Results,
        assessments: Vec<Assessment>,
    ) -> Self {
        let scenario = scenario.into();
        let judged = assessments.into_iter().map(|assessment| Judged {
            assessment,
            bound: None,
            statistical: None,
            measured: None,
            found: None,
        });
        let mut checked = Self {
            peers: Peers::new(&scenario.network),
            varied: Varied::of(&scenario.network, &scenario.flows),
            scenario,
            source: None,
            what_if: None,
            results,
            analysis: None,
            judged: judged.collect(),
            adversarial: None,
            conclusion: Conclusion::Met,
            notes: Vec::new(),
            assumed: Assumed::default(),
            help: None,
            explained: Explained::default(),
        };
        checked.conclusion = checked.required();
        checked
    }

    /// Adds the text of the scenario file.
    #[must_use]
    pub fn with_source(self, source: impl Into<String>) -> Self {
        Self { source: Some(source.into()), ..self }
    }

    /// Adds bounds, the analysis behind them, and the model's predictions for shared media.
    #[must_use]
    pub fn with_analysis(mut self, analysis: Analysis) -> Self {
        let bounds = crate::bound::latencies(&analysis);
        let statistical = crate::bound::statistical(&self.scenario);
        for (judged, bound) in self.judged.iter_mut().zip(bounds) {
            judged.bound = bound;
        }
        for (judged, statistical) in self.judged.iter_mut().zip(statistical) {
            judged.statistical = statistical;
        }
        self.analysis = Some(analysis);
        self
    }

    /// Adds measurements, one per stream.
    #[must_use]
    pub fn with_measured(mut self, measured: Vec<(Measurement, Distribution)>) -> Self {
        for (judged, measured) in self.judged.iter_mut().zip(measured) {
            judged.measured = Some(measured);
        }
        self
    }

    /// Returns whether any stream has a bound.
    pub fn has_bounds(&self) -> bool {
        self.judged.iter().any(|judged| judged.bound.is_some())
    }

    /// Returns whether any stream was measured.
    pub fn has_measured(&self) -> bool {
        self.judged.iter().any(|judged| judged.measured.is_some())
    }

    /// Returns whether the model has a prediction for any stream.
    pub fn has_statistical(&self) -> bool {
        self.judged.iter().any(|judged| judged.statistical.is_some())
    }

    /// Returns one stream.
    ///
    /// # Panics
    /// If the record has no such stream or it was not judged.
    pub fn stream(&self, index: usize) -> Stream<'_> {
        let record = &self.results.record.streams[index];
        let judged = &self.judged[index];
        let measured = judged.measured.as_ref();
        Stream {
            index,
            flow: &self.scenario.flows[record.flow_id().index()],
            record,
            assessment: &judged.assessment,
            confidence: self.results.confidence.get(index).copied().unwrap_or_default(),
            bound: judged.bound,
            statistical: judged.statistical,
            measured: measured.map(|(measurement, _)| *measurement),
            distribution: measured.map(|(_, distribution)| distribution),
            found: judged.found.as_ref(),
        }
    }

    /// Returns all streams in the order of the record.
    pub fn streams(&self) -> impl Iterator<Item = Stream<'_>> {
        (0..self.results.record.streams.len()).map(|index| self.stream(index))
    }

    /// Returns the positions of all streams: worst verdict first, then closest to the deadline.
    pub fn worst_first(&self) -> Vec<usize> {
        let ranks: Vec<Rank> = self.streams().map(|stream| stream.rank()).collect();
        let mut order: Vec<usize> = (0..ranks.len()).collect();
        order.sort_by(|&a, &b| ranks[a].compare(&ranks[b]).then(a.cmp(&b)));
        order
    }

    /// Returns the classes, sorted by their worst stream.
    pub fn groups(&self) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for index in self.worst_first() {
            let class = &self.stream(index).flow.class;
            match groups.iter_mut().find(|group| group.class == *class) {
                Some(group) => group.streams.push(index),
                None => groups.push(Group { class: class.clone(), streams: vec![index] }),
            }
        }
        groups
    }

    /// Counts verdicts.
    pub fn counts(&self) -> Counts {
        self.count_of(0..self.judged.len())
    }

    /// Counts the verdicts of some streams.
    pub fn count_of(&self, streams: impl IntoIterator<Item = usize>) -> Counts {
        let mut counts = Counts::default();
        for index in streams {
            counts.add(&self.judged[index].assessment);
        }
        counts
    }

    /// Returns the name of a node.
    pub fn node_name(&self, node: NodeId) -> &str {
        &self.scenario.network.node(node).name
    }

    /// Returns `station`, `switch` or `hub`.
    pub fn kind_name(&self, node: NodeId) -> &'static str {
        match self.scenario.network.node(node).kind {
            NodeKind::EndStation(_) => "station",
            NodeKind::Switch(_) => "switch",
            NodeKind::Hub(_) => "hub",
        }
    }

    /// Returns the collision domains.
    pub fn domains(&self) -> Vec<Domain<'_>> {
        Domain::all(&self.scenario.network, &self.results.record)
    }

    /// Returns `talker > listener`.
    pub fn path_name(&self, stream: &Stream<'_>) -> String {
        let talker = self.node_name(stream.flow.talker);
        format!("{talker} > {}", self.node_name(stream.record.listener_id()))
    }

    /// Returns a unique stream name: the flow's, with the listener if there are several.
    pub fn stream_name(&self, stream: &Stream<'_>) -> String {
        let name = &stream.flow.name;
        if stream.flow.listeners.len() < 2 {
            return name.clone();
        }
        format!("{name} > {}", self.node_name(stream.record.listener_id()))
    }

    /// Returns the node at the other end of a port's link.
    pub fn peer_name(&self, port: PortId) -> Option<&str> {
        self.peers.name(&self.scenario, port)
    }

    /// Returns a place in words: `driver queue of bay01.ct2`, `switch queue of sw1 to bay01.pu`.
    pub fn place_name(&self, place: Place) -> String {
        self.peers.place(&self.scenario, place)
    }

    /// Returns the indices of the nodes and links on a stream's path, in both networks of a talker in
    /// two.
    pub fn path_of(&self, routing: &Routing, stream: &Stream<'_>) -> Option<(Vec<u32>, Vec<u32>)> {
        let listener = stream.record.listener_id();
        let network = &self.scenario.network;
        let paths = routing.flow_paths(network, stream.flow, listener).ok()?;
        let hops: Vec<Hop> = paths.into_iter().flatten().collect();
        let mut nodes = vec![stream.flow.talker.0];
        nodes.extend(hops.iter().map(|hop| hop.ingress.node.0));
        Some((nodes, hops.iter().map(|hop| hop.link.0).collect()))
    }
}

impl Stream<'_> {
    /// Returns the verdict.
    pub const fn verdict(&self) -> Verdict {
        self.assessment.verdict
    }

    /// Returns what the verdict rests on.
    pub fn standing(&self) -> Standing {
        self.assessment.standing()
    }

    /// Returns the largest latency observed.
    pub fn max(&self) -> Option<Duration> {
        (self.record.latency.count > 0).then_some(self.record.latency.max)
    }

    /// Returns the mean time spent in a segment, rounded down to a picosecond.
    pub fn mean_in(&self, segment: Segment) -> Option<Duration> {
        let count = i128::from(self.record.latency.count);
        let mean = self.record.segments_ps[segment.index()].checked_div(count)?;
        i64::try_from(mean).ok().map(Duration::from_ps)
    }

    /// Returns the mean time in the protocol in which what was waited for was in a segment, rounded down
    /// to a picosecond.
    pub fn mean_awaited(&self, segment: Segment) -> Option<Duration> {
        let count = i128::from(self.record.latency.count);
        let mean = self.record.awaited_ps[segment.index()].checked_div(count)?;
        i64::try_from(mean).ok().map(Duration::from_ps)
    }

    /// Returns the largest latency in the column that failed, else the largest observed.
    fn worst_figure(&self) -> Option<Duration> {
        match self.assessment.failed {
            Some(Column::Bound) => self.bound,
            Some(Column::Measured) => self.measured.and_then(|measured| measured.max),
            Some(Column::Simulated) | None => self.max(),
        }
    }

    /// Returns what decides its place among others.
    fn rank(&self) -> Rank {
        Rank {
            verdict: self.verdict(),
            used: self.worst_figure().zip(self.flow.deadline),
            max: self.max(),
        }
    }
}

/// What decides the place of a stream among others.
struct Rank {
    verdict: Verdict,
    /// Largest latency in the column that failed, or observed, and the deadline.
    used: Option<(Duration, Duration)>,
    max: Option<Duration>,
}

impl Rank {
    /// Orders by verdict, then by the share of the deadline used, then by latency; worst first.
    fn compare(&self, other: &Self) -> Ordering {
        let by_verdict = Reverse(self.verdict).cmp(&Reverse(other.verdict));
        let by_use = match (self.used, other.used) {
            (Some((a, limit_a)), Some((b, limit_b))) => {
                product(b, limit_a).cmp(&product(a, limit_b))
            }
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => other.max.cmp(&self.max),
        };
        by_verdict.then(by_use)
    }
}

fn product(a: Duration, b: Duration) -> i128 {
    i128::from(a.as_ps()) * i128::from(b.as_ps())
}
