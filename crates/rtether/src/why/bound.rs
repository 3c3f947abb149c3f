//! Why a bound is as large as it is: at each place what each flow adds to the wait, and the fixed
//! times in between.
//!
//! The contributions are those of [`rtether_bounds::Composer`], which proves that they add up to the
//! bound. Here they get names, and the passage over a link is told apart from the latency of the
//! switch behind it, as in the timeline of a packet.

mod advice;
mod text;

use rtether_bounds::{
    Analysis, Bound, Composer, Composition, Condition, Passage, Reason, Share, Step,
};
use rtether_model::network::PortId;
use rtether_model::quantity::Duration;
use rtether_model::record::{Place, Segment};

use super::Stream;
use crate::adversary::{self, Found, Plant, Target};
use crate::bound::names::Names;
use crate::bound::{Pool, condition};
use crate::place::place_name;
use crate::run::Progress;
use crate::scenario::Scenario;
pub(crate) use advice::remedy;
pub(super) use text::BoundJson;

/// Why a bound is as large as it is, or why there is none.
#[derive(Clone, Debug)]
pub struct WhyBound<'a> {
    /// The plant.
    pub scenario: &'a Scenario,
    /// The flow and its listener.
    pub stream: Stream,
    /// The bound with its parts, or why there is none.
    pub found: Result<Parts, Reason>,
    /// What must drop nothing for the bound to be a proof, if anything may.
    pub only_if: Option<OnlyIf>,
    /// A pattern of arrivals that comes near the bound, if one was looked for and found.
    pub pattern: Option<Found>,
}

impl WhyBound<'_> {
    /// Looks for a pattern of arrivals that comes near the bound, by simulation.
    pub fn look_for_pattern(&mut self) {
        let Ok(parts) = &self.found else { return };
        let Stream { flow, listener } = self.stream;
        let listeners = &self.scenario.flows[flow.index()].listeners;
        let listener = listeners.iter().position(|own| *own == listener);
        self.pattern = listener.and_then(|listener| {
            let (plant, target) = (Plant::of(self.scenario), Target { flow, listener });
            adversary::search(plant, target, Some(parts.bound.latency), PLANTS)
        });
    }
}

/// Plants that are tried to come near a bound.
const PLANTS: u64 = 800;

/// What must drop nothing for a bound to be a proof.
#[derive(Clone, Debug)]
pub struct OnlyIf {
    /// What drops do to the bound: `if delivered`.
    pub word: &'static str,
    /// The places in words: `if the port of sw to b (needs 12.3 kB, has 8 kB) drops nothing`.
    pub words: String,
    /// The same for files.
    places: condition::OnlyIf,
}

impl OnlyIf {
    fn of(scenario: &Scenario, analysis: &Analysis, own: &Condition) -> Self {
        let names = Names::new(scenario);
        Self {
            word: condition::effect(own.effect),
            words: condition::only_if(&names, analysis, own),
            places: condition::json(&names, analysis, own),
        }
    }
}

/// A bound and its parts.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The least bound.
    pub bound: Bound,
    /// What the bound of one method is composed of; the method is that of the least bound, unless
    /// its waits cannot be split.
    pub composition: Composition,
    /// The parts in the order in which a packet passes them, without a gap.
    pub hops: Vec<Hop>,
}

/// A part of a bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Its name.
    pub name: String,
    /// What it is, and where; the first of several.
    pub place: Place,
    /// The latest time at which the packet comes, counted from its release.
    pub enter: Duration,
    /// The latest time at which it leaves.
    pub leave: Duration,
    /// Waits for packets of other flows and earlier ones of its own.
    pub shares: Vec<Share>,
}

impl Hop {
    /// Returns the time of the part.
    pub fn time(&self) -> Duration {
        self.leave - self.enter
    }

    /// Returns what the waits leave uncovered: service, transmission, or a fixed time.
    pub fn rest(&self) -> Duration {
        self.time() - self.shares.iter().map(|share| share.time).sum()
    }
}

/// Analyzes a plant, to explain bounds of several of its streams.
#[derive(Debug)]
pub struct Explainer<'a> {
    scenario: &'a Scenario,
    composer: Composer,
}

impl<'a> Explainer<'a> {
    /// Analyzes a plant, on the threads of the current rayon pool.
    pub fn new(scenario: &'a Scenario) -> Self {
        Self::on(scenario, &Pool::default())
    }

    /// As [`Self::new`]; `None` if it was cancelled.
    pub(crate) fn new_while(scenario: &'a Scenario, progress: &Progress) -> Option<Self> {
        let this = Self::on(scenario, &Pool { progress: Some(progress) });
        (!progress.is_cancelled()).then_some(this)
    }

    fn on(scenario: &'a Scenario, pool: &Pool<'_>) -> Self {
        let composer = Composer::new_on(&scenario.network, &scenario.flows, pool);
        Self { scenario, composer }
    }

    /// Returns the plant.
    pub const fn scenario(&self) -> &'a Scenario {
        self.scenario
    }

    /// Returns the analysis.
    pub const fn analysis(&self) -> &Analysis {
        self.composer.analysis()
    }

    /// Explains the bound of a stream; `None` if the plant has no such stream.
    pub fn explain(&self, stream: Stream) -> Option<WhyBound<'a>> {
        let index = stream.index(self.scenario)?;
        let analysis = self.composer.analysis();
        let bound = &analysis.streams[index].bound;
        let own = analysis.condition(index);
        let found = self.composer.compose(index).and_then(|composition| {
            let hops = hops(self.scenario, &composition);
            let bound = bound.clone()?;
            Ok(Parts { bound, composition, hops })
        });
        Some(WhyBound {
            scenario: self.scenario,
            stream,
            found,
            only_if: own.map(|own| OnlyIf::of(self.scenario, analysis, own)),
            pattern: None,
        })
    }
}

/// Returns the parts of a bound with their names and times.
fn hops(scenario: &Scenario, composition: &Composition) -> Vec<Hop> {
    let mut hops = Vec::new();
    let mut now = Duration::ZERO;
    for step in &composition.steps {
        for (place, name, time, shares) in parts(scenario, step) {
            if time > Duration::ZERO {
                hops.push(Hop { name, place, enter: now, leave: now + time, shares });
                now += time;
            }
        }
    }
    hops
}

/// A part: where, its name, its time and the waits in it.
type Raw = (Place, String, Duration, Vec<Share>);

/// Returns the wait of a step and its passages as parts.
fn parts(scenario: &Scenario, step: &Step) -> Vec<Raw> {
    let Some(&first) = step.passages.first() else {
        return Vec::new();
    };
    let (place, passages) = match first.place.segment {
        Segment::DriverQueue | Segment::SwitchQueue => (first.place, &step.passages[..]),
        Segment::ReceiveStack => {
            let queue = Place { segment: Segment::ReceiveQueue, ..first.place };
            (queue, &step.passages[..])
        }
        Segment::TalkerStack
        | Segment::MediumAccess
        | Segment::Wire
        | Segment::SwitchLatency
        | Segment::ReceiveQueue
        | Segment::Application
        | Segment::Protocol => (first.place, &step.passages[1..]),
    };
    let is_within = passages.len() < step.passages.len();
    let service = if is_within { first.time } else { Duration::ZERO };
    let places = passages.iter().map(|own| own.place);
    let places = places.filter(|own| {
        is_port(*own) || matches!(own.segment, Segment::ReceiveStack | Segment::SwitchLatency)
    });
    let places: Vec<String> = places.map(|own| place_name(scenario, own)).collect();
    let name = match &places[..] {
        [_, _, ..] => format!("{}, taken together", places.join(", ")),
        _ => place_name(scenario, place),
    };
    let mut parts = vec![(place, name, step.wait() + service, step.shares.clone())];
    parts.extend(passages.iter().flat_map(|own| passage(scenario, *own)));
    parts
}

const fn is_port(place: Place) -> bool {
    matches!(place.segment, Segment::DriverQueue | Segment::SwitchQueue)
}

/// Returns a fixed time as parts: behind a port the link, then the switch.
fn passage(scenario: &Scenario, own: Passage) -> Vec<Raw> {
    let port = own.place.port;
    if !is_port(own.place) {
        return vec![(own.place, place_name(scenario, own.place), own.time, Vec::new())];
    }
    let network = &scenario.network;
    let mut links = network.links.iter().filter(|link| !link.standby);
    let peer = links.find_map(|link| link.peer_of(port));
    let switch = peer.and_then(|peer| Some((peer, network.switch(peer.node)?)));
    let latency = switch
        .map_or(Duration::ZERO, |(_, own)| own.latency + own.unknown_latency + own.latency_jitter);
    let latency = Ord::min(latency, own.time);
    let wire = Place { segment: Segment::Wire, port };
    let inside = Place {
        segment: Segment::SwitchLatency,
        port: PortId { node: switch.map_or(port.node, |(peer, _)| peer.node), port: 0 },
    };
    vec![
        (wire, place_name(scenario, wire), own.time - latency, Vec::new()),
        (inside, place_name(scenario, inside), latency, Vec::new()),
    ]
}
