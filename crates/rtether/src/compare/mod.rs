//! Access schemes compared: the same plant and flows with each of them on its hubs, and with switches
//! and virtual links in place of these.
//!
//! Each scheme has the values that the frames of the plant need ([`Access::plan`]), except one that
//! the scenario itself gives. What a lost control frame costs is the worst of a few runs, in each of
//! which another frame in the middle of the run is lost.

mod fault;
mod output;
mod page;
mod virtual_links;

use rtether_bounds::analyze;
pub use rtether_model::access::SchemeKind;
use rtether_model::access::{Access, Domain, Wish};
use rtether_model::flow::Flow;
use rtether_model::histogram::Histogram;
use rtether_model::network::{Network, NodeId};
use rtether_model::quantity::Duration;
use rtether_model::record::{Record, StreamRecord, Summary};
use rtether_sim::BuildError;

use crate::run::{Progress, simulate};
use crate::scenario::Scenario;
use crate::words::Conclusion;
use virtual_links::with_virtual_links;

pub use fault::{Fault, Faults};
pub use output::ByFlow;
pub(crate) use output::CompareJson;
pub use page::html;

/// A plant without a hub has nothing to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the scenario has no hub, so stations do not share a medium")]
pub struct NoHub;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Candidate {
    /// The hubs of the plant under an access scheme.
    Scheme(SchemeKind),
    /// Switches in their place, with virtual links as of AFDX.
    VirtualLinks,
}

impl Candidate {
    /// Returns all, CSMA/CD first.
    pub fn all() -> Vec<Self> {
        let schemes = SchemeKind::ALL.iter().copied().map(Self::Scheme);
        schemes.chain([Self::VirtualLinks]).collect()
    }

    /// Returns the one of a name.
    ///
    /// # Errors
    /// If there is none; the message has all names.
    pub fn named(name: &str) -> Result<Self, String> {
        let all = Self::all();
        let found = all.iter().find(|own| own.name() == name);
        found.copied().ok_or_else(|| {
            let known: Vec<&str> = all.iter().map(|own| own.name()).collect();
            format!("no access scheme `{name}`; known are {}", known.join(", "))
        })
    }

    /// Returns the name in commands and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scheme(kind) => kind.name(),
            Self::VirtualLinks => "afdx",
        }
    }
}

/// One plant under several schemes.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Name of the scenario.
    pub scenario: String,
    /// Number of streams with a deadline.
    pub judged: usize,
    /// One for each scheme.
    pub rows: Vec<Row>,
    /// Whether it was interrupted.
    pub partial: bool,
}

/// The plant under one scheme.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Name of the scheme.
    pub scheme: &'static str,
    /// Why it cannot be simulated.
    pub obstacle: Option<String>,
    /// Streams whose packets all met their deadline.
    pub kept: usize,
    /// Streams whose bound is within their deadline.
    pub proved: usize,
    /// Latencies of all real-time packets.
    pub latency: Summary,
    /// Their distribution.
    pub histogram: Histogram,
    /// Largest difference between the latencies of two packets of a real-time stream.
    pub jitter: Option<Duration>,
    /// Octets of files and floods delivered, in bit/s.
    pub bulk: u64,
    /// Packets lost.
    pub lost: u64,
    /// Control frames, for all runs.
    pub control: u64,
    /// Of the busiest medium, or of the busiest direction of a link.
    pub shares: Shares,
    /// Each stream by itself, in the order of the scenario.
    pub streams: Vec<Stream>,
    /// What goes wrong if a control frame is lost, or a master dies.
    pub faults: Faults,
}

/// What a medium spends its time on, as parts of one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shares {
    /// Frames with data.
    pub data: f64,
    /// Control frames of the scheme.
    pub control: f64,
    /// Transmissions that collided; each port in a collision counts.
    pub wasted: f64,
}

impl Shares {
    /// Returns the share of the time in which frames are carried.
    pub fn carried(&self) -> f64 {
        self.data + self.control
    }
}

/// One stream under one scheme.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Name of its flow.
    pub flow: String,
    /// Name of the listener.
    pub listener: String,
    /// Its deadline.
    pub deadline: Option<Duration>,
    /// Whether its latency matters.
    pub is_real_time: bool,
    /// Packets that arrived.
    pub arrived: u64,
    /// Packets that arrived after their deadline, or had not arrived by then.
    pub late: u64,
    /// Packets lost.
    pub lost: u64,
    /// Largest latency.
    pub worst: Option<Duration>,
    /// Mean latency.
    pub mean: Option<Duration>,
    /// Largest difference between the latencies of two packets.
    pub jitter: Option<Duration>,
    /// Bound.
    pub bound: Option<Duration>,
    /// Whether it is a proof that each packet arrives within it.
    pub is_proof: bool,
    /// Octets delivered, in bit/s.
    pub rate: u64,
}

impl Stream {
    /// Returns whether all packets met their deadline; `None` without one, and without a packet of
    /// which anything is known.
    pub fn is_kept(&self) -> Option<bool> {
        self.deadline?;
        let is_broken = self.late + self.lost > 0;
        (is_broken || self.arrived > 0).then_some(!is_broken)
    }

    /// Returns whether it has a deadline, and no packet has shown whether it is kept.
    pub fn is_open(&self) -> bool {
        self.deadline.is_some() && self.is_kept().is_none()
    }

    /// Returns whether its bound is within its deadline.
    pub fn is_proved(&self) -> bool {
        let both = self.bound.zip(self.deadline);
        self.is_proof && both.is_some_and(|(bound, deadline)| bound <= deadline)
    }
}

impl Comparison {
    /// Returns the verdict: met if some scheme keeps every deadline, no answer if one might.
    pub fn conclusion(&self) -> Conclusion {
        if self.partial {
            Conclusion::Interrupted
        } else {
            let might = |row: &Row| {
                let is_broken = row.streams.iter().any(|own| own.is_kept() == Some(false));
                row.obstacle.is_none() && !is_broken
            };
            let is_open = !self.has_answer() && self.rows.iter().any(might);
            Conclusion::meets((!is_open).then_some(self.has_answer()))
        }
    }

    /// Returns whether some scheme keeps every deadline.
    pub fn has_answer(&self) -> bool {
        self.rows.iter().any(|row| row.obstacle.is_none() && row.kept == self.judged)
    }
}

/// Compares schemes on a plant.
///
/// # Errors
/// If the plant has no hub.
pub fn compare(
    scenario: &Scenario,
    candidates: &[Candidate],
    progress: &Progress,
) -> Result<Comparison, NoHub> {
    let hubs = first_hubs(scenario);
    if hubs.is_empty() {
        return Err(NoHub);
    }
    let judged = scenario.flows.iter().filter(|flow| flow.deadline.is_some());
    let judged = judged.map(|flow| flow.listeners.len()).sum();
    let mut rows = Vec::new();
    for &candidate in candidates {
        if !rows.is_empty() && progress.is_cancelled() {
            break;
        }
        let changed = match candidate {
            Candidate::Scheme(kind) => with_scheme(scenario, kind, &hubs),
            Candidate::VirtualLinks => with_virtual_links(scenario),
        };
        let name = candidate.name();
        let found = row(&changed, name, progress).unwrap_or_else(|error| Row {
            scheme: name,
            obstacle: Some(error.to_string()),
            ..Row::default()
        });
        // A scheme that was simulated for a shorter time than the others does not compare.
        if rows.is_empty() || !progress.is_cancelled() {
            rows.push(found);
        }
    }
    Ok(Comparison {
        scenario: scenario.name.clone(),
        judged,
        rows,
        partial: progress.is_cancelled(),
    })
}

/// Returns one hub of each collision domain.
fn first_hubs(scenario: &Scenario) -> Vec<NodeId> {
    let mut found: Vec<NodeId> = Vec::new();
    let mut seen = Vec::new();
    for (node, _) in scenario.network.iter_nodes() {
        let Some(domain) = Domain::of(&scenario.network, node) else {
            continue;
        };
        if !seen.contains(&node) {
            seen.extend(domain.hubs);
            found.push(node);
        }
    }
    found
}

/// Returns the plant with a scheme on all its media; its own where it is of this kind.
fn with_scheme(scenario: &Scenario, kind: SchemeKind, hubs: &[NodeId]) -> Scenario {
    let mut changed = scenario.clone();
    let (network, flows) = (&scenario.network, &scenario.flows[..]);
    changed.network.access = hubs
        .iter()
        .filter_map(|&hub| {
            let hubs = Domain::of(network, hub)?.hubs;
            let mut own = network.access.iter();
            let own = own.find(|own| own.scheme.kind() == kind && hubs.contains(&own.hub));
            let planned = || Access::plan(kind, (network, flows), hub, &Wish::default());
            own.cloned().or_else(planned)
        })
        .collect();
    changed
}

fn row(scenario: &Scenario, scheme: &'static str, progress: &Progress) -> Result<Row, BuildError> {
    let record = simulate(scenario, progress)?.record;
    let is_real_time = |own: &&StreamRecord| scenario.flows[own.flow_id().index()].is_real_time();
    let mut latency = Summary::default();
    let mut histogram = Histogram::default();
    for own in record.streams.iter().filter(is_real_time) {
        latency.merge(&own.latency);
        histogram.merge(&own.histogram);
    }
    let control: u64 = record.media.iter().map(|own| own.control).sum();
    let streams = streams(scenario, &record, progress);
    let each = control / u64::from(record.runs.max(1));
    Ok(Row {
        scheme,
        obstacle: None,
        kept: streams.iter().filter(|own| own.is_kept() == Some(true)).count(),
        proved: streams.iter().filter(|own| own.is_proved()).count(),
        latency,
        histogram,
        jitter: streams.iter().filter(|own| own.is_real_time).filter_map(|own| own.jitter).max(),
        bulk: bulk(&record, &scenario.flows),
        lost: record.streams.iter().map(|own| own.dropped).sum(),
        control,
        shares: shares(&record),
        streams,
        faults: fault::faults(scenario, each, progress)?,
    })
}

/// Returns what each stream has had. Bounds cannot be interrupted, and are left out then.
fn streams(scenario: &Scenario, record: &Record, progress: &Progress) -> Vec<Stream> {
    let analysis = (!progress.is_cancelled()).then(|| analyze(&scenario.network, &scenario.flows));
    let bounds = analysis.iter().flat_map(rtether_bounds::Analysis::judged);
    let mut bounds = bounds.map(|(own, condition)| {
        let bound = own.bound.as_ref().ok();
        (bound.map(|bound| bound.latency), condition.is_none())
    });
    let counted = record.observed - record.warmup * i64::from(record.runs);
    let stream = |own: &StreamRecord| {
        let flow = &scenario.flows[own.flow_id().index()];
        let latency = &own.latency;
        let seen = |time: Duration| (latency.count > 0).then_some(time);
        let (bound, is_proof) = bounds.next().unwrap_or_default();
        Stream {
            flow: flow.name.clone(),
            listener: name(&scenario.network, own.listener_id()),
            deadline: flow.deadline,
            is_real_time: flow.is_real_time(),
            arrived: own.delivered,
            late: own.missed.saturating_sub(own.dropped),
            lost: own.dropped,
            worst: seen(latency.max),
            mean: latency.mean(),
            jitter: seen(latency.max).map(|worst| worst - latency.min),
            bound,
            is_proof,
            rate: rate(own.payload_bytes, counted),
        }
    };
    record.streams.iter().map(stream).collect()
}

fn name(network: &Network, node: NodeId) -> String {
    network.node(node).name.clone()
}

/// Returns what the busiest medium spends its time on; without one, the busiest direction of a link.
fn shares(record: &Record) -> Shares {
    let of = |time: Duration| time.as_secs_f64() / record.observed.as_secs_f64().max(1e-12);
    if let Some(own) = record.media.iter().max_by_key(|own| own.carried) {
        return Shares {
            data: of(own.carried - own.control_time),
            control: of(own.control_time),
            wasted: of(own.wasted),
        };
    }
    let busiest = record.ports.iter().map(|own| own.busy).max();
    Shares { data: busiest.map_or(0.0, of), ..Shares::default() }
}

/// Returns the rate of files and floods delivered, in bit/s.
fn bulk(record: &Record, flows: &[Flow]) -> u64 {
    let is_ordinary = |own: &&StreamRecord| !flows[own.flow_id().index()].is_real_time();
    let counted = record.observed - record.warmup * i64::from(record.runs);
    let own = record.streams.iter().filter(is_ordinary);
    rate(own.map(|own| own.payload_bytes).sum(), counted)
}

/// Returns octets in a time as bit/s.
fn rate(octets: u64, time: Duration) -> u64 {
    let second = u128::from(Duration::from_secs(1).as_ps().unsigned_abs());
    let time = u128::from(time.as_ps().max(1).unsigned_abs());
    u64::try_from(u128::from(octets) * 8 * second / time).unwrap_or(u64::MAX)
}
