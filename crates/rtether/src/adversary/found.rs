//! What a search has found: the releases that delay a stream, as changes of the scenario.

use std::fmt::Write as _;

use rtether_model::flow::{FlowId, Traffic};
use rtether_model::quantity::{Duration, Instant};
use rtether_model::record::{Place, Record};
use rtether_sim::{Config, Simulation};

use super::climb::Climb;
use super::freedom::{Choice, Freedom};
use super::trial::slices;
use super::{GoesOn, Plant, Target};
use crate::scenario::{Override, Scenario, Written};

/// Most releases before a window that are written out.
const BEFORE: i64 = 5_000;

/// A plant that the scenario allows, and how long a packet of a stream takes in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The stream.
    pub target: Target,
    /// When flows release their first packets.
    pub releases: Vec<(FlowId, Vec<Duration>)>,
    /// Seed of all else.
    pub seed: u64,
    /// Time simulated.
    pub until: Duration,
    /// Largest latency of the stream, simulated in the whole plant.
    pub latency: Duration,
    /// When its packet is released.
    pub released_at: Instant,
    /// Where this packet spends most of its time, and how long.
    pub responsible: (Place, Duration),
    /// Packets of the stream that are dropped in this run.
    pub dropped: u64,
}

/// A run of the whole plant with releases that were found.
#[derive(Debug)]
pub(super) struct Shown {
    releases: Vec<(FlowId, Vec<Duration>)>,
    seed: u64,
    until: Duration,
    record: Record,
}

impl Shown {
    /// Simulates the whole plant with what a climb has found; `None` if the stream has no packet then, or
    /// the search ends.
    pub(super) fn of(plant: &Plant<'_>, climb: &Climb<'_>, goes_on: GoesOn<'_>) -> Option<Self> {
        let best = climb.best()?;
        let (part, window) = (climb.part(), climb.window());
        let mut releases = Vec::new();
        for &at in &part.free {
            let choice = &best.genes.choices[at];
            let trial = (climb.freedoms()[at], choice);
            let times = whole(part.freedoms[at], trial, window.skipped, window.until)?;
            let stop = part.flows[at].stop.unwrap_or(Duration::from_ps(i64::MAX));
            let times = times.into_iter().map(Duration::from_ps);
            let times: Vec<Duration> = times.take_while(|time| *time < stop).collect();
            if !times.is_empty() {
                releases.push((part.numbers[at], times));
            }
        }
        let until = Duration::from_ps(window.skipped + window.until);
        let seed = best.genes.seed;
        let record = replay(plant, (&releases, seed), until, goes_on)?;
        Some(Self { releases, seed, until, record })
    }

    /// Returns the largest latency of a stream, by its position; `None` if nothing arrives.
    pub(super) fn latency(&self, stream: usize) -> Option<Duration> {
        Some(self.record.streams.get(stream)?.worst?.latency)
    }

    /// Returns what the run shows of a stream, by its position; `None` if nothing arrives.
    pub(super) fn found(&self, target: Target, stream: usize) -> Option<Found> {
        let record = self.record.streams.get(stream)?;
        let worst = record.worst?;
        Some(Found {
            target,
            releases: self.releases.clone(),
            seed: self.seed,
            until: self.until,
            latency: worst.latency,
            released_at: worst.released_at,
            responsible: worst.responsible,
            dropped: record.dropped,
        })
    }
}

/// Simulates the whole plant with these releases, and a seed for all else; `None` if it cannot be
/// simulated, or the caller does not wait.
pub(crate) fn replay(
    plant: &Plant<'_>,
    (releases, seed): (&[(FlowId, Vec<Duration>)], u64),
    until: Duration,
    goes_on: GoesOn<'_>,
) -> Option<Record> {
    let mut flows = plant.flows.to_vec();
    for (flow, times) in releases {
        flows[flow.index()].releases.clone_from(times);
    }
    let config = Config { seed, warmup: plant.run.warmup, bucket: Duration::ZERO };
    let mut simulation = Simulation::new(plant.network, &flows, &config).ok()?;
    for until in slices(until.as_ps()) {
        if !goes_on() {
            return None;
        }
        simulation.advance_to(Instant::from_ps(until));
    }
    Some(simulation.finish())
}

impl Found {
    /// Returns whether its run may end when the packet has arrived. It goes on if files, flows or stages
    /// begin later, which the scenario would lose; then it may show a packet that takes longer.
    fn is_cut(&self, scenario: &Scenario) -> bool {
        let stages = scenario.stages.iter().map(|stage| stage.from);
        let flows = scenario.flows.iter().flat_map(|flow| {
            let files = match &flow.traffic {
                Traffic::Bulk(bulk) => bulk.transfers.last().map(|last| last.start),
                Traffic::Periodic { .. }
                | Traffic::Sporadic { .. }
                | Traffic::Poisson { .. }
                | Traffic::Flood { .. }
                | Traffic::Adaptive { .. } => None,
            };
            [Some(flow.start), flow.stop, files].into_iter().flatten()
        });
        stages.chain(flows).all(|time| time < self.until)
    }

    /// Returns the scenario with these releases, run once for this time.
    #[must_use]
    pub fn scenario(&self, scenario: &Scenario) -> Scenario {
        let mut changed = scenario.clone();
        for (flow, times) in &self.releases {
            changed.flows[flow.index()].releases.clone_from(times);
        }
        if self.is_cut(scenario) {
            changed.run.duration = self.until;
        }
        changed.run.runs = 1;
        changed.run.seed = self.seed;
        changed
    }

    /// Returns the changes with which the file is this plant, as arguments of `--set`.
    pub fn edits(&self, scenario: &Scenario) -> Vec<Override> {
        let set = |path: &str, value: String| Override::new("--set", path, value);
        let mut lines = Vec::new();
        for (flow, times) in &self.releases {
            let name = serde_json::Value::from(scenario.flows[flow.index()].name.as_str());
            let times: Vec<String> = times.iter().map(|time| exact(*time)).collect();
            lines.push(format!("{{ flow: {name}, at: [{}] }}", times.join(", ")));
        }
        let mut edits = Vec::new();
        if !lines.is_empty() {
            edits.push(set("releases", format!("[{}]", lines.join(", "))));
        }
        if self.is_cut(scenario) {
            edits.push(set("run.for", exact(self.until)));
        }
        edits.push(set("run.seed", self.seed.to_string()));
        edits.push(set("run.seeds", "1".to_owned()));
        edits
    }

    /// Returns a scenario file that is this plant; `None` if its text is not that of `scenario`.
    pub fn file(&self, scenario: &Scenario, written: &Written) -> Option<String> {
        let mut changed = written.clone();
        changed.changes.extend(self.edits(scenario));
        let mut text = String::new();
        let stream = self.target.name(&scenario.network, &scenario.flows);
        writeln!(
            text,
            "# Releases that delay `{stream}` by {}, which the scenario allows.",
            self.latency
        )
        .ok()?;
        text.push_str(&changed.whole()?);
        let read = Written::from(text.clone()).load().scenario?;
        let wanted = self.scenario(scenario);
        let is_same = read.flows == wanted.flows
            && read.network == wanted.network
            && read.run.seed == wanted.run.seed
            && read.run.warmup == wanted.run.warmup
            && read.run.duration == wanted.run.duration;
        is_same.then_some(text)
    }
}

/// Returns a time that is read as the same.
fn exact(time: Duration) -> String {
    format!("{} ps", time.as_ps())
}

/// Returns the releases in the whole run that those of a trial stand for; `None` if they are too many
/// to be written.
fn whole(
    open: Freedom,
    (trial, choice): (Freedom, &Choice),
    skipped: i64,
    until: i64,
) -> Option<Vec<i64>> {
    let times = trial.releases(choice, until);
    let later = times.iter().map(|time| time + skipped);
    match open {
        Freedom::None => Some(Vec::new()),
        Freedom::Grid { jitter: 0, .. } => Some(vec![open.at(choice.begin + skipped).begin]),
        Freedom::Grid { period, .. } => {
            let begin = open.at(choice.begin + skipped).begin;
            let before = (choice.begin + skipped - begin) / period;
            let before = (0..=BEFORE).contains(&before).then_some(before)?;
            let before = (0..before).map(|number| begin + number * period);
            Some(before.chain(later).collect())
        }
        Freedom::Gaps { .. } => Some(later.collect()),
    }
}
