//! Why a packet took as long as it did: its timeline, part by part, and the frames it waited for.
//!
//! A run is repeated under an observer that records the timeline of one packet ([`Timeline`]). The
//! parts follow each other without a gap: the first begins at the release, the last ends at the
//! delivery, and their sum is the latency to the picosecond.

mod bars;
mod bound;
mod fate;
mod picture;
mod text;

use rtether_model::flow::FlowId;
use rtether_model::network::NodeId;
use rtether_model::quantity::{Duration, Instant};
use rtether_report::document::Document;
use rtether_sim::BuildError;
use rtether_sim::observe::{Delivery, Observer, PacketInfo};
use rtether_sim::timeline::Trails;
pub use rtether_sim::timeline::{Cause, Part, Timeline, Wait};
use schemars::JsonSchema;
use serde::Serialize;

pub(crate) use bound::remedy;
pub use bound::{Explainer, Hop, OnlyIf, Parts, WhyBound};
pub use fate::{Fate, fate};

use bound::BoundJson;
use text::PacketJson;

use crate::adversary;
use crate::run::{self, Progress};
use crate::scenario::Scenario;

/// Why a packet took as long as it did, or what a bound is composed of.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum WhyJson<'a> {
    Packet(PacketJson<'a>),
    Bound(BoundJson<'a>),
}

impl Document for WhyJson<'_> {
    const SCHEMA: &'static str = "rtether.why/1";
}

/// Which packet of a stream is explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The one with the largest latency of all runs.
    Worst,
    /// The first one that is later than the deadline.
    Late,
    /// The one with this number, from zero, in the first run.
    Number(u32),
}

/// One flow to one listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The flow.
    pub flow: FlowId,
    /// The station that listens.
    pub listener: NodeId,
}

impl Stream {
    /// Returns the stream with this name: that of its flow, and with several listeners
    /// `FLOW > LISTENER`.
    pub fn named(scenario: &Scenario, name: &str) -> Option<Self> {
        let streams = || (0..).map(FlowId).zip(&scenario.flows);
        let only = |(flow, own): (FlowId, &rtether_model::flow::Flow)| {
            let [listener] = own.listeners[..] else {
                return None;
            };
            Some(Self { flow, listener })
        };
        if let Some(found) = streams().find(|(_, flow)| flow.name == name) {
            return only(found);
        }
        let (flow, listener) = name.rsplit_once(" > ")?;
        let listener = scenario.network.find(listener.trim())?;
        let (flow, own) = streams().find(|(_, own)| own.name == flow.trim())?;
        own.listeners.contains(&listener).then_some(Self { flow, listener })
    }

    /// Returns its name: that of the flow, with the listener if there are several.
    pub fn name(self, scenario: &Scenario) -> String {
        let flow = &scenario.flows[self.flow.index()];
        if flow.listeners.len() < 2 {
            return flow.name.clone();
        }
        format!("{} > {}", flow.name, scenario.network.node(self.listener).name)
    }

    /// Returns its position among the streams of a record.
    fn index(self, scenario: &Scenario) -> Option<usize> {
        let flow = scenario.flows.get(self.flow.index())?;
        let before = &scenario.flows[..self.flow.index()];
        let before: usize = before.iter().map(|flow| flow.listeners.len()).sum();
        let mut listeners = flow.listeners.iter();
        Some(before + listeners.position(|own| *own == self.listener)?)
    }
}

/// Why a packet took as long as it did.
#[derive(Clone, Debug, PartialEq)]
pub struct Why<'a> {
    /// The plant.
    pub scenario: &'a Scenario,
    /// The flow and its listener.
    pub stream: Stream,
    /// Seed of the run.
    pub seed: u64,
    /// The timeline of the packet.
    pub timeline: Timeline,
}

/// Explains a packet; `None` if the stream has no such packet, or the user cancelled.
///
/// # Errors
/// If the plant cannot be simulated.
pub fn explain<'a>(
    scenario: &'a Scenario,
    stream: Stream,
    choice: Choice,
    progress: &Progress,
) -> Result<Option<Why<'a>>, BuildError> {
    let Some(index) = stream.index(scenario) else {
        return Ok(None);
    };
    let Some(found) = find(scenario, index, choice, progress)? else {
        return Ok(None);
    };
    let timeline = trace(scenario, stream, found, (progress, &|| true))?;
    Ok(timeline.map(|timeline| Why { scenario, stream, seed: found.seed, timeline }))
}

/// Returns the timeline of a packet; `None` if the run does not have it, or was cancelled, or ended since
/// the caller does not go on.
pub(crate) fn trace(
    scenario: &Scenario,
    stream: Stream,
    packet: ChosenPacket,
    (progress, goes_on): (&Progress, adversary::GoesOn<'_>),
) -> Result<Option<Timeline>, BuildError> {
    let ChosenPacket { seed, released_at, latency } = packet;
    let Some(index) = stream.index(scenario) else {
        return Ok(None);
    };
    let is_it = |own: &PacketInfo, delivery: &Delivery| {
        delivery.stream == index && own.released_at == released_at && delivery.latency == latency
    };
    let (network, flows) = (&scenario.network, &scenario.flows);
    let mut trails = Trails::new(network, flows, Some(stream.flow), released_at, is_it);
    run::simulate_while(scenario, seed, progress, &mut trails, |trails| {
        trails.found().is_empty() && goes_on()
    })?;
    Ok(trails.into_found().into_iter().next())
}

/// A packet of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChosenPacket {
    pub(crate) seed: u64,
    pub(crate) released_at: Instant,
    pub(crate) latency: Duration,
}

/// Looks for the packet that is meant.
fn find(
    scenario: &Scenario,
    index: usize,
    choice: Choice,
    progress: &Progress,
) -> Result<Option<ChosenPacket>, BuildError> {
    let deadline = |flow: FlowId| scenario.flows[flow.index()].deadline;
    let first = scenario.run.seed;
    match choice {
        Choice::Worst => {
            let results = run::simulate(scenario, progress)?;
            let worst = results.record.streams[index].worst;
            Ok(worst.map(|worst| ChosenPacket {
                seed: worst.seed,
                released_at: worst.released_at,
                latency: worst.latency,
            }))
        }
        Choice::Late => {
            for run in 0..u64::from(scenario.run.runs) {
                let seed = first.wrapping_add(run);
                let is_late = |packet: &PacketInfo, delivery: &Delivery| {
                    let limit = deadline(packet.flow);
                    delivery.is_counted && limit.is_some_and(|limit| delivery.latency > limit)
                };
                let found = search(scenario, seed, index, is_late, progress)?;
                if found.is_some() || progress.is_cancelled() {
                    return Ok(found);
                }
            }
            Ok(None)
        }
        Choice::Number(number) => {
            let is_it = |packet: &PacketInfo, _: &Delivery| packet.number == number;
            search(scenario, first, index, is_it, progress)
        }
    }
}

/// Looks for the first delivery of a stream that fits.
fn search(
    scenario: &Scenario,
    seed: u64,
    index: usize,
    fits: impl Fn(&PacketInfo, &Delivery) -> bool,
    progress: &Progress,
) -> Result<Option<ChosenPacket>, BuildError> {
    let mut search = Search { index, seed, fits, found: None };
    run::simulate_while(scenario, seed, progress, &mut search, |search| search.found.is_none())?;
    Ok(search.found)
}

struct Search<F> {
    index: usize,
    seed: u64,
    fits: F,
    found: Option<ChosenPacket>,
}

impl<F: Fn(&PacketInfo, &Delivery) -> bool> Observer for Search<F> {
    fn delivered(&mut self, _now: Instant, packet: &PacketInfo, delivery: &Delivery) {
        if self.found.is_none() && delivery.stream == self.index && (self.fits)(packet, delivery) {
            self.found = Some(ChosenPacket {
                seed: self.seed,
                released_at: packet.released_at,
                latency: delivery.latency,
            });
        }
    }
}
