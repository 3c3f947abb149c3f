//! One trial: a part of a plant is simulated with the releases that were chosen.

use rtether_model::flow::{Flow, Phase, Traffic};
use rtether_model::network::PortId;
use rtether_model::quantity::{Duration, Instant};
use rtether_sim::passages::Passage;
use rtether_sim::{Config, Simulation};

use super::GoesOn;
use super::freedom::{Choice, Freedom};
use super::part::{Part, Place};

/// Which part of the run is tried. Times of a trial are those of the run less `skipped`, so that a
/// search late in a run need not simulate what is before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// Left out, picoseconds: a multiple of all periods of the part.
    pub(super) skipped: i64,
    /// What is released before this time of the trial does not count.
    pub(super) warmup: i64,
    /// When the packet of the stream should be released, in the trial.
    pub(super) aim: i64,
    /// End of the trial.
    pub(super) until: i64,
    /// End of the run.
    pub(super) end: i64,
}

impl Window {
    /// Lets a trial take twice as long after the aim, as far as the run goes; `false` if that is no longer.
    pub(super) fn lengthen(&mut self) -> bool {
        let before = self.until;
        self.until = (self.until + (self.until - self.aim).max(1)).min(self.end);
        self.until > before
    }
}

/// What is chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Genes {
    /// By flow of the part.
    pub(super) choices: Vec<Choice>,
    /// Seed of everything that is drawn.
    pub(super) seed: u64,
}

/// A packet came to a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visit {
    pub(super) flow: u32,
    pub(super) number: u32,
    pub(super) place: u32,
    pub(super) released_at: i64,
    pub(super) time: i64,
}

/// A choice with what it did.
#[derive(Clone, Debug)]
pub(super) struct Tried {
    pub(super) genes: Genes,
    /// Largest latency of the stream; zero if nothing arrived.
    pub(super) latency: i64,
    /// Release of this packet.
    pub(super) released_at: i64,
    /// Visits of this packet, in order.
    pub(super) own: Vec<Visit>,
    /// Those of the packet released nearest to the aim of the window, and its release.
    pub(super) aimed: (i64, Vec<Visit>),
    /// Visits of others while it was under way, or somewhat before.
    pub(super) others: Vec<Visit>,
    /// Events that were simulated.
    pub(super) events: u64,
}

impl Tried {
    /// Returns when the stream's slowest packet came to a place on its way.
    pub(super) fn came(&self, part: &Part<'_>, at: usize) -> Option<i64> {
        Self::came_to(part, at, (self.released_at, &self.own))
    }

    /// Returns when the packet that is aimed at came to a place on its way.
    pub(super) fn aimed_came(&self, part: &Part<'_>, at: usize) -> Option<i64> {
        Self::came_to(part, at, (self.aimed.0, &self.aimed.1))
    }

    fn came_to(part: &Part<'_>, at: usize, (released_at, own): (i64, &[Visit])) -> Option<i64> {
        arrival(part, part.own, at, released_at, |place| {
            let mut own = own.iter();
            own.find(|own| part.place(place) == Some(own.place)).map(|own| own.time)
        })
    }

    /// Returns the packet of a flow that came to a place on its way nearest to this time: its number,
    /// and when it came.
    pub(super) fn other(
        &self,
        part: &Part<'_>,
        (flow, at): (usize, usize),
        time: i64,
    ) -> Option<(u32, i64)> {
        let place = part.place(part.ways[flow].get(at)?.place)?;
        let there = self.nearest(flow, place, time)?;
        let came = arrival(part, flow, at, there.released_at, |place| {
            let place = part.place(place)?;
            let mut own = self.others.iter().filter(|own| own.flow as usize == flow);
            own.find(|own| own.place == place && own.number == there.number).map(|own| own.time)
        });
        Some((there.number, came?))
    }

    /// Returns the visit of a flow to a place that was nearest to this time.
    pub(super) fn nearest(&self, flow: usize, place: u32, time: i64) -> Option<Visit> {
        let visits = self.others.iter();
        let visits = visits.filter(|own| own.flow as usize == flow && own.place == place);
        visits.copied().min_by_key(|own| own.time.abs_diff(time))
    }
}

/// Returns when a packet came to a place on the way of its flow. Visits to ports are departures: it
/// came there when it had left the port before.
fn arrival(
    part: &Part<'_>,
    flow: usize,
    at: usize,
    released_at: i64,
    visited: impl Fn(Place) -> Option<i64>,
) -> Option<i64> {
    let way = &part.ways[flow];
    let here = way.get(at)?.place;
    if matches!(here, Place::Node(_)) {
        return visited(here);
    }
    let Some(before) = at.checked_sub(1).map(|before| way[before]) else {
        return Some(released_at);
    };
    match before.place {
        Place::Port(_) => Some(visited(before.place)? + before.time),
        // The stack, where others may have been in front: behind it there is hardly a queue.
        Place::Node(_) => visited(here),
    }
}

/// Has flows as they are in a trial that begins this much later.
pub(super) fn skip(flow: &mut Flow, skipped: i64) {
    if skipped == 0 {
        return;
    }
    let by = Duration::from_ps(skipped);
    if let Traffic::Bulk(bulk) = &mut flow.traffic {
        bulk.transfers.retain(|transfer| transfer.start >= by);
        for transfer in &mut bulk.transfers {
            transfer.start -= by;
        }
    }
    if let Traffic::Periodic { period, phase: Phase::Fixed(phase), .. } = &mut flow.traffic {
        let point = flow.start.as_ps() + phase.as_ps() - skipped;
        *phase = Duration::ZERO;
        let first = if point < 0 { point.rem_euclid(period.as_ps()) } else { point };
        flow.start = Duration::from_ps(first);
    } else {
        flow.start = (flow.start - by).max(Duration::ZERO);
    }
    flow.stop = flow.stop.map(|stop| (stop - by).max(Duration::ZERO));
}

/// Returns when a simulation of this length asks whether to go on: a whole plant may take longer than
/// a user waits.
pub(super) fn slices(until: i64) -> impl Iterator<Item = i64> {
    const SLICES: i64 = 64;
    let inner = (1..SLICES).map(move |slice| until / SLICES * slice);
    inner.chain(std::iter::once(until))
}

/// Simulates a choice; `None` if the plant cannot be simulated, or the search ends.
pub(super) fn trial(
    part: &Part<'_>,
    (flows, freedoms): (&[Flow], &[Freedom]),
    window: Window,
    genes: Genes,
    goes_on: GoesOn<'_>,
) -> Option<Tried> {
    let mut flows = flows.to_vec();
    for (at, flow) in flows.iter_mut().enumerate() {
        release(flow, freedoms[at], &genes.choices[at], window.until);
    }
    let config = Config {
        seed: genes.seed,
        warmup: Duration::from_ps(window.warmup),
        bucket: Duration::ZERO,
    };
    let mut simulation = Simulation::new(part.network, &flows, &config).ok()?;
    let mut passages = Vec::new();
    for until in slices(window.until) {
        if !goes_on() {
            return None;
        }
        passages.extend(simulation.passages(Instant::from_ps(until)).0);
    }
    let events = simulation.events();
    let record = simulation.finish();
    let worst = record.streams.get(part.stream())?.worst;
    let (latency, released_at) =
        worst.map_or((0, 0), |worst| (worst.latency.as_ps(), worst.released_at.as_ps()));
    let is_own = |visit: &Visit| visit.flow as usize == part.own;
    // Those that a plan wants to meet may still be far away.
    let far = (2 * latency).max(window.until - window.aim);
    let near = |time: i64| {
        let is_near = |release: i64| (release - far..=release + far).contains(&time);
        is_near(released_at) || is_near(window.aim)
    };
    let passages = passages.iter().filter(|own| near(own.time.as_ps()));
    let (own, others): (Vec<Visit>, Vec<Visit>) =
        passages.filter_map(|own| visit(part, own)).partition(is_own);
    let releases = own.iter().map(|visit| visit.released_at);
    let aimed = releases.min_by_key(|release| release.abs_diff(window.aim));
    let aimed = aimed.unwrap_or(released_at);
    let of = |release: i64| -> Vec<Visit> {
        let visits = own.iter().filter(|visit| visit.released_at == release);
        visits.copied().collect()
    };
    Some(Tried {
        genes,
        latency,
        released_at,
        own: of(released_at),
        aimed: (aimed, of(aimed)),
        others,
        events,
    })
}

/// Gives a flow the releases of a choice.
pub(super) fn release(flow: &mut Flow, freedom: Freedom, choice: &Choice, until: i64) {
    let stop = flow.stop.map_or(i64::MAX, Duration::as_ps);
    let times = freedom.releases(choice, until).into_iter();
    if freedom != Freedom::None {
        let times = times.take_while(|&time| time < stop);
        flow.releases = times.map(Duration::from_ps).collect();
    }
}

/// Returns a passage as a visit; `None` if it is of no flow of the part.
fn visit(part: &Part<'_>, passage: &Passage) -> Option<Visit> {
    let node = passage.node;
    let place = match passage.port {
        Some(port) => Place::Port(PortId { node, port }),
        None => Place::Node(node),
    };
    ((passage.flow as usize) < part.flows.len()).then_some(())?;
    Some(Visit {
        flow: passage.flow,
        number: passage.number,
        place: part.place(place)?,
        released_at: passage.released_at.as_ps(),
        time: passage.time.as_ps(),
    })
}
