//! Access schemes compared: the same plant and flows with each of them on its hubs.
//!
//! Each scheme has the values that the frames of the plant need ([`Access::plan`]), except one that
//! the scenario itself gives. What a lost control frame costs is the worst of a few runs, in each of
//! which another frame in the middle of the run is lost.

mod output;

use rtether_bounds::analyze;
pub use rtether_model::access::SchemeKind;
use rtether_model::access::{Access, Domain, Scheme, Wish};
use rtether_model::flow::Flow;
use rtether_model::network::NodeId;
use rtether_model::quantity::Duration;
use rtether_model::record::{Record, StreamRecord};
use rtether_sim::BuildError;

use crate::run::{Progress, simulate};
use crate::scenario::Scenario;

/// Control frames in a row of which each is lost in a run of its own.
const LOSSES: u64 = 4;
/// Longest run in which something goes wrong, after the warm-up.
const FAULTY: Duration = Duration::from_secs(1);

/// A plant without a hub has nothing to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the scenario has no hub, so stations do not share a medium")]
pub struct NoHub;

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
    /// Largest and mean latency of all real-time streams.
    pub worst: Option<Duration>,
    /// Mean latency of their packets.
    pub mean: Option<Duration>,
    /// Largest difference between the latencies of two packets of a real-time stream.
    pub jitter: Option<Duration>,
    /// Octets of files and floods delivered, in bit/s.
    pub bulk: u64,
    /// Packets lost.
    pub lost: u64,
    /// Control frames, for all runs.
    pub control: u64,
    /// Share of the time in which the busiest medium carries frames.
    pub utilization: f64,
    /// With one control frame lost; `None` without control frames.
    pub after_loss: Option<Fault>,
    /// With the first master, or else the first member, silent from the middle of the run on.
    pub after_death: Option<Fault>,
}

/// What a fault does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// Largest latency of all real-time streams.
    pub worst: Duration,
    /// Packets that missed their deadline or were lost, of streams that can still be delivered.
    pub missed: u64,
}

impl Comparison {
    /// Returns whether some scheme keeps every deadline.
    pub fn has_answer(&self) -> bool {
        self.rows
            .iter()
            .any(|row| row.obstacle.is_none() && row.kept == self.judged)
    }
}

/// Compares schemes on a plant.
///
/// # Errors
/// If the plant has no hub.
pub fn compare(
    scenario: &Scenario,
    kinds: &[SchemeKind],
    progress: &Progress,
) -> Result<Comparison, NoHub> {
    let hubs = first_hubs(scenario);
    if hubs.is_empty() {
        return Err(NoHub);
    }
    let judged = scenario.flows.iter().filter(|flow| flow.deadline.is_some());
    let judged = judged.map(|flow| flow.listeners.len()).sum();
    let mut rows = Vec::new();
    for &kind in kinds {
        if !rows.is_empty() && progress.is_cancelled() {
            break;
        }
        let changed = with_scheme(scenario, kind, &hubs);
        let found = row(&changed, kind, progress);
        rows.push(found.unwrap_or_else(|error| Row {
            scheme: kind.name(),
            obstacle: Some(error.to_string()),
            ..Row::default()
        }));
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

fn row(scenario: &Scenario, kind: SchemeKind, progress: &Progress) -> Result<Row, BuildError> {
    let results = simulate(scenario, progress)?;
    let record = &results.record;
    let flow = |stream: &StreamRecord| &scenario.flows[stream.flow_id().index()];
    let real_time = || record.streams.iter().filter(|own| flow(own).is_real_time());
    let judged = record
        .streams
        .iter()
        .filter(|own| flow(own).deadline.is_some());
    let kept = judged.filter(|own| own.missed + own.dropped == 0).count();
    let sum: i128 = real_time().map(|own| own.latency.sum_ps).sum();
    let count: u64 = real_time().map(|own| own.latency.count).sum();
    let mean = i64::try_from(sum / i128::from(count.max(1)));
    let media = record.media.iter();
    let busy = media.map(|own| own.utilization(record.observed));
    let control: u64 = record.media.iter().map(|own| own.control).sum();
    Ok(Row {
        scheme: kind.name(),
        obstacle: None,
        kept,
        proved: proved(scenario),
        worst: worst(scenario, record),
        mean: mean.ok().filter(|_| count > 0).map(Duration::from_ps),
        jitter: real_time()
            .filter(|own| own.latency.count > 0)
            .map(|own| own.latency.max - own.latency.min)
            .max(),
        bulk: bulk(record, &scenario.flows),
        lost: record.streams.iter().map(|own| own.dropped).sum(),
        control,
        utilization: busy.fold(0.0, f64::max),
        after_loss: after_loss(scenario, control / u64::from(record.runs.max(1)), progress)?,
        after_death: after_death(scenario, progress)?,
    })
}

/// Returns the largest latency of real-time streams.
fn worst(scenario: &Scenario, record: &Record) -> Option<Duration> {
    let own = record.streams.iter().filter(|own| {
        own.latency.count > 0 && scenario.flows[own.flow_id().index()].is_real_time()
    });
    own.map(|own| own.latency.max).max()
}

/// Returns the number of streams whose bound is within their deadline.
fn proved(scenario: &Scenario) -> usize {
    let analysis = analyze(&scenario.network, &scenario.flows);
    let is_proved = |own: &&rtether_bounds::StreamBound| {
        let deadline = scenario.flows[own.flow.index()].deadline;
        matches!((&own.bound, deadline), (Ok(bound), Some(most)) if bound.latency <= most)
    };
    analysis.streams.iter().filter(is_proved).count()
}

/// Returns the rate of files and floods delivered, in bit/s.
fn bulk(record: &Record, flows: &[Flow]) -> u64 {
    let is_ordinary = |own: &&StreamRecord| !flows[own.flow_id().index()].is_real_time();
    let counted = record.observed - record.warmup * i64::from(record.runs);
    let own = record.streams.iter().filter(is_ordinary);
    let bits = rate(own.map(|own| own.payload_bytes).sum(), counted);
    u64::try_from(bits).unwrap_or(u64::MAX)
}

/// Returns octets in a time as bit/s.
fn rate(octets: u64, time: Duration) -> u128 {
    let second = u128::from(Duration::from_secs(1).as_ps().unsigned_abs());
    let time = u128::from(time.as_ps().max(1).unsigned_abs());
    u128::from(octets) * 8 * second / time
}

/// Returns the plant with one short run.
fn short(scenario: &Scenario) -> Scenario {
    let mut short = scenario.clone();
    short.run.runs = 1;
    short.run.duration = short.run.duration.min(short.run.warmup + FAULTY);
    short
}

/// Returns the worst that the loss of one control frame does.
fn after_loss(
    scenario: &Scenario,
    control: u64,
    progress: &Progress,
) -> Result<Option<Fault>, BuildError> {
    if control == 0 {
        return Ok(None);
    }
    let mut short = short(scenario);
    // In the middle of the short run.
    let length = short.run.duration.as_ps().max(1);
    let whole = scenario.run.duration.as_ps().max(1);
    let part = i128::from(control) * i128::from(length) / i128::from(whole) / 2;
    let first = u64::try_from(part).unwrap_or(0).max(1);
    let mut found: Option<Fault> = None;
    for number in first..first + LOSSES {
        for own in &mut short.network.access {
            own.faults.lost = vec![number];
        }
        let fault = fault(&short, None, progress)?;
        found = Some(found.map_or(fault, |other| Fault {
            worst: other.worst.max(fault.worst),
            missed: other.missed.max(fault.missed),
        }));
    }
    Ok(found)
}

/// Returns what the death of a master does.
fn after_death(scenario: &Scenario, progress: &Progress) -> Result<Option<Fault>, BuildError> {
    let mut short = short(scenario);
    let middle = short.run.warmup + (short.run.duration - short.run.warmup) / 2;
    let mut dead = None;
    for own in &mut short.network.access {
        let master = match &own.scheme {
            Scheme::Tdma(own) => own.master,
            Scheme::Polling(own) => own.master,
            Scheme::Powerlink(own) => own.master,
            Scheme::TimedToken(_) | Scheme::VirtualToken(_) | Scheme::DemandPriority(_) => 0,
        };
        let member = own.members.get(master as usize).map(|own| own.node);
        own.faults.silent.extend(member.map(|node| (node, middle)));
        dead = dead.or(member);
    }
    if dead.is_none() {
        return Ok(None);
    }
    fault(&short, dead, progress).map(Some)
}

/// Simulates a plant in which something goes wrong. Streams from or to a dead station do not count.
fn fault(
    scenario: &Scenario,
    dead: Option<NodeId>,
    progress: &Progress,
) -> Result<Fault, BuildError> {
    let record = simulate(scenario, progress)?.record;
    let lives = |own: &&StreamRecord| {
        let flow = &scenario.flows[own.flow_id().index()];
        dead.is_none_or(|dead| flow.talker != dead && own.listener_id() != dead)
    };
    let missed = record.streams.iter().filter(lives);
    Ok(Fault {
        worst: worst(scenario, &record).unwrap_or(Duration::ZERO),
        missed: missed.map(|own| own.missed + own.dropped).sum(),
    })
}
