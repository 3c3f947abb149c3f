//! How tight bounds are: of each stream the interval from the largest delay that a search has found to
//! the least that is proved, and where most of the distance between both comes from.
//!
//! The true worst case lies in that interval. Both ends are composed of parts, the bound of those of
//! [`Explainer`] and the packet of its timeline; the place at which the bound allows most beyond what
//! the packet took, and the flow that it allows it for, say which packets the bound assumes ahead of it
//! that were not there.

mod output;

use rayon::prelude::*;
use rtether_model::flow::FlowId;
use rtether_model::quantity::Duration;
use rtether_model::record::{Place, StreamRecord};

use crate::adversary::{self, Effort, Hunt, Plant, Progress};
use crate::bound::{self, Analysis, Counts};
use crate::place::place_name;
use crate::run;
use crate::scenario::Scenario;
use crate::sums;
use crate::why::{ChosenPacket, Explainer, Hop, Parts, Stream, Timeline, trace};
use crate::words::{Conclusion, Standing};

pub(crate) use output::TightnessJson;
pub use output::page;

/// Packets that are simulated again at the same time.
const BATCH: usize = 16;
/// Most that lies between the ends of an interval which counts as closed.
const EXACT: Duration = Duration::from_ns(1);

/// How tight the bounds of a scenario are.
#[derive(Clone, Debug)]
pub struct Tightness<'a> {
    /// The plant.
    pub scenario: &'a Scenario,
    /// Each stream, in the order of the record.
    pub streams: Vec<Interval>,
    /// Plants that were tried.
    pub tried: u64,
    /// Seed of the search.
    pub seed: u64,
    /// Whether the user ended it early.
    pub is_cut: bool,
    conclusion: Conclusion,
    /// What the conclusion rests on: streams, and sums of bounds beyond their limits.
    counts: (Counts, usize),
}

/// What is known of the longest delay of a stream.
#[derive(Clone, Debug)]
pub struct Interval {
    /// The stream.
    pub stream: Stream,
    /// Largest delay that was found; `None` if no packet has arrived.
    pub found: Option<Duration>,
    /// Longest delay that is proved; `None` without a bound.
    pub proved: Option<Duration>,
    /// Why there is no bound, or of what it is a proof only.
    pub lack: Option<String>,
    /// Where most of the distance comes from; `None` if there is none, or an end of it.
    pub gap: Option<Gap>,
}

/// A place at which a bound allows more than the packet took that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The place, in words.
    pub place: String,
    /// Time there by the bound.
    pub proved: Duration,
    /// Time of the packet there.
    pub found: Duration,
    /// Whose packets the bound assumes ahead of it for most of the difference.
    pub flow: Option<FlowId>,
}

impl Interval {
    /// Returns found over proved, at most one if the bound holds.
    pub fn ratio(&self) -> Option<f64> {
        let (found, proved) = self.found.zip(self.proved)?;
        (proved > Duration::ZERO).then(|| found.as_ns_f64() / proved.as_ns_f64())
    }

    /// Returns whether the longest delay is known to the nanosecond. A bound counts packets that come at
    /// the very same time ahead of each other, in whichever order a plant takes them.
    pub fn is_closed(&self) -> bool {
        self.found.zip(self.proved).is_some_and(|(found, proved)| proved - found <= EXACT)
    }

    /// Returns whether there is a distance to explain.
    fn is_open(&self) -> bool {
        self.ratio().is_some() && !self.is_closed()
    }

    /// Returns whether a packet took longer than is proved without a condition: a defect of rtether.
    fn is_contradicted(&self) -> bool {
        let is_beyond = self.found.zip(self.proved).is_some_and(|(found, proved)| found > proved);
        is_beyond && self.lack.is_none()
    }
}

/// A packet of a stream, and the plant in which it takes longest.
struct Worst {
    plant: Option<adversary::Found>,
    packet: ChosenPacket,
}

impl Worst {
    /// Returns the slowest packet of an ordinary run with this seed.
    fn of(seed: u64, record: &StreamRecord) -> Option<Self> {
        let worst = record.worst.as_ref()?;
        let (released_at, latency) = (worst.released_at, worst.latency);
        Some(Self { plant: None, packet: ChosenPacket { seed, released_at, latency } })
    }
}

/// Bounds all streams of a scenario and searches plants in which they take longest, for as long as
/// `progress` says.
pub fn tightness<'a>(scenario: &'a Scenario, progress: &Progress) -> Tightness<'a> {
    let explainer = Explainer::new(scenario);
    let analysis = explainer.analysis();
    let mut streams = intervals(scenario, analysis);
    let (worst, tried) = search(scenario, &streams, progress);
    for (own, worst) in streams.iter_mut().zip(&worst) {
        own.found = worst.as_ref().map(|worst| worst.packet.latency);
    }
    explain(&explainer, &mut streams, &worst, progress);
    let late_sums = sums::proved(scenario, analysis).into_iter();
    let late_sums = late_sums.filter(|sum| sum.added.standing == Standing::NotProved);
    let is_wrong = streams.iter().any(Interval::is_contradicted);
    let conclusion = bound::Bounds { scenario, analysis }.conclusion();
    Tightness {
        scenario,
        streams,
        tried,
        seed: scenario.run.seed,
        is_cut: progress.is_cancelled(),
        counts: (bound::counts(scenario, analysis), late_sums.count()),
        conclusion: if is_wrong { Conclusion::Contradiction } else { conclusion },
    }
}

/// Says what makes the difference, loosest first: each packet is simulated again, which for a whole plant may
/// take longer than the search has, so that it has half of that time.
fn explain(
    explainer: &Explainer<'_>,
    streams: &mut [Interval],
    worst: &[Option<Worst>],
    progress: &Progress,
) {
    let begun = progress.elapsed();
    let goes_on: adversary::GoesOn<'_> = &|| {
        let is_time = match progress.effort() {
            Effort::Time(limit) => progress.elapsed().saturating_sub(begun) < limit / 2,
            Effort::Plants(_) => true,
        };
        is_time && !progress.is_cancelled()
    };
    let mut order: Vec<usize> = (0..streams.len()).filter(|own| streams[*own].is_open()).collect();
    order.sort_by(|a, b| {
        let [a, b] = [a, b].map(|own| streams[*own].ratio().unwrap_or(1.0));
        a.total_cmp(&b)
    });
    for batch in order.chunks(BATCH) {
        let gaps = batch.par_iter().map(|&own| {
            let worst = worst[own].as_ref().filter(|_| goes_on())?;
            gap(explainer, streams[own].stream, worst, goes_on)
        });
        for (own, gap) in batch.iter().zip(gaps.collect::<Vec<_>>()) {
            streams[*own].gap = gap;
        }
    }
}

/// Returns each stream with what is proved of it.
fn intervals(scenario: &Scenario, analysis: &Analysis) -> Vec<Interval> {
    let proved = bound::proved(scenario, analysis);
    let streams = analysis.streams.iter().zip(proved);
    let streams = streams.map(|(stream, (proved, lack))| Interval {
        stream: Stream { flow: stream.flow, listener: stream.listener },
        found: None,
        proved,
        lack,
        gap: None,
    });
    streams.collect()
}

/// Searches for the packet of each stream that takes longest, beginning with an ordinary run; returns
/// how many plants were tried, too.
fn search(
    scenario: &Scenario,
    streams: &[Interval],
    progress: &Progress,
) -> (Vec<Option<Worst>>, u64) {
    let plant = Plant::of(scenario);
    let goes_on: adversary::GoesOn<'_> = &|| !progress.is_cancelled();
    let seed = scenario.run.seed;
    let ordinary = adversary::replay(&plant, (&[], seed), scenario.run.duration, goes_on);
    let mut all: Vec<Option<Worst>> = match &ordinary {
        Some(record) => record.streams.iter().map(|own| Worst::of(seed, own)).collect(),
        None => streams.iter().map(|_| None).collect(),
    };
    let bounds: Vec<Option<Duration>> = streams.iter().map(|own| own.proved).collect();
    let seen = all.iter().map(|own| own.as_ref().map_or(Duration::ZERO, |own| own.packet.latency));
    let seen: Vec<Duration> = seen.collect();
    let hunt = Hunt::new(plant, &bounds, &seen);
    let outcome = adversary::attack_until(hunt, (seed, &seen), progress, &|shown| {
        let mut all = bounds.iter().zip(shown.iter().zip(&seen));
        all.all(|(bound, (shown, seen))| *bound <= (*shown).max(Some(*seen)))
    });
    for ((own, found), seen) in all.iter_mut().zip(outcome.found).zip(seen) {
        let Some(found) = found.filter(|found| found.latency > seen) else { continue };
        let (released_at, latency) = (found.released_at, found.latency);
        let packet = ChosenPacket { seed: found.seed, released_at, latency };
        *own = Some(Worst { plant: Some(found), packet });
    }
    (all, outcome.search.tried)
}

/// Returns where the bound of a stream allows most beyond what its packet took.
fn gap(
    explainer: &Explainer<'_>,
    stream: Stream,
    worst: &Worst,
    goes_on: adversary::GoesOn<'_>,
) -> Option<Gap> {
    let scenario = explainer.scenario();
    let parts = explainer.explain(stream)?.found.ok()?;
    let plant = worst.plant.as_ref().map(|found| found.scenario(scenario));
    let plant = plant.as_ref().unwrap_or(scenario);
    let timeline =
        trace(plant, stream, worst.packet, (&run::Progress::default(), goes_on)).ok()??;
    widest(scenario, &parts, &timeline)
}

/// Returns the part of a bound that is longest beyond what the packet took there, the first of equals.
fn widest(scenario: &Scenario, parts: &Parts, timeline: &Timeline) -> Option<Gap> {
    let taken = by_hop(&parts.hops, timeline);
    let hops = parts.hops.iter().zip(&taken);
    let (hop, taken) = hops.rev().max_by_key(|(hop, taken)| hop.time() - taken.time)?;
    (hop.time() > taken.time).then(|| Gap {
        place: match hop.name.as_str() {
            "" => place_name(scenario, hop.place),
            name => name.to_owned(),
        },
        proved: hop.time(),
        found: taken.time,
        flow: absent(hop, taken),
    })
}

/// What a packet took of a part of its bound.
#[derive(Clone, Debug, Default)]
struct Taken {
    time: Duration,
    /// Waits for packets of other flows.
    waits: Vec<(FlowId, Duration)>,
}

/// Divides the timeline of a packet among the parts of its bound, which come in the same order: what the
/// bound has no part for belongs to the part before.
fn by_hop(hops: &[Hop], timeline: &Timeline) -> Vec<Taken> {
    let mut taken = vec![Taken::default(); hops.len()];
    let mut at = 0;
    for part in &timeline.parts {
        let ahead = hops[at..].iter().position(|hop| is_same(hop.place, part.place));
        at += ahead.unwrap_or(0);
        let Some(own) = taken.get_mut(at) else { break };
        own.time += part.time();
        own.waits.extend(part.waits.iter().map(|wait| (wait.flow, wait.time)));
    }
    taken
}

/// Returns whether both are one place; the switch that a packet passes has no port.
fn is_same(bound: Place, packet: Place) -> bool {
    bound.segment == packet.segment && bound.port.node == packet.port.node
}

/// Returns the flow whose packets the bound counts for longest beyond what the packet waited for them.
fn absent(hop: &Hop, taken: &Taken) -> Option<FlowId> {
    let mut flows: Vec<(FlowId, Duration)> = Vec::new();
    for share in &hop.shares {
        let Some(flow) = share.flow else { continue };
        match flows.iter_mut().find(|own| own.0 == flow) {
            Some(own) => own.1 += share.time,
            None => flows.push((flow, share.time)),
        }
    }
    for own in &mut flows {
        let waited = taken.waits.iter().filter(|(flow, _)| *flow == own.0);
        own.1 -= waited.map(|(_, time)| *time).sum();
    }
    let most = flows.into_iter().rev().max_by_key(|(_, time)| *time)?;
    (most.1 > Duration::ZERO).then_some(most.0)
}
