//! Searches for the phases that delay one stream most, on plants with periodic flows and queues in
//! order of arrival.
//!
//! Every result was simulated, so it is a lower bound on the largest latency. The search starts
//! with planned phases: at each port on the stream's path, the frames that join it there arrive
//! back to back, the longest first, the last one just before the stream's own. The plan is
//! corrected from the simulation until it is met as well as possible; then single flows and whole
//! groups are moved, keeping every change that does not reduce the latency.

use rtether_bounds::Analysis;
use rtether_model::flow::Flow;
use rtether_model::network::PortId;
use rtether_model::quantity::{Duration, Instant};
use rtether_model::route::Routing;
use rtether_model::wire;
use rtether_sim::observe::{Observer, PacketInfo};
use rtether_sim::{Config, Simulation};

use crate::dice::Dice;
use crate::plant::Plant;
use crate::{check, with_phases};

/// Rounds of plan correction.
const CORRECTIONS: usize = 12;
/// Smallest lead over the stream's frame.
const TICK: i64 = 1;

/// One port on a flow's path.
struct Passage {
    port: PortId,
    /// From the start of transmission here to the arrival at the next port.
    time: i64,
    /// How long the frame keeps the link busy.
    occupancy: i64,
}

/// When the first packet of each flow started to leave each port.
#[derive(Default)]
struct Trace(Vec<(usize, PortId, i64)>);

impl Observer for Trace {
    fn transmitted(&mut self, now: Instant, port: PortId, packet: &PacketInfo) {
        if packet.number == 0 {
            let time = (now - Instant::ZERO).as_ps();
            self.0.push((packet.flow.index(), port, time));
        }
    }
}

/// The part of a plant that may delay one stream: the stream itself, at index 0, and the flows that
/// share a port with it. All other flows are assumed to start later.
struct Part {
    plant: Plant,
    ways: Vec<Vec<Passage>>,
    /// By flow: where it first meets the stream, as a position in the stream's path and in its own.
    meetings: Vec<(usize, usize)>,
    /// Flow numbers in the whole plant.
    numbers: Vec<usize>,
    /// Release of the stream's packet.
    release: i64,
    /// Number of the stream's listener in its flow.
    listener: usize,
    until: Instant,
}

/// Phases of all flows, with the result.
#[derive(Clone)]
struct Found {
    phases: Vec<i64>,
    latency: Duration,
    /// Arrival times of the first packets at the ports of each flow.
    arrivals: Vec<Vec<i64>>,
}

impl Part {
    fn of(plant: &Plant, flow: usize, listener: usize, bound: Duration) -> Self {
        let routing = Routing::new(&plant.network);
        let way = |flow: &Flow| way(plant, &routing, flow);
        let own = way(&plant.flows[flow]);
        let mut part = Self {
            plant: Plant {
                network: plant.network.clone(),
                flows: vec![plant.flows[flow].clone()],
                ..Plant::default()
            },
            ways: vec![own],
            meetings: vec![(0, 0)],
            numbers: vec![flow],
            release: 2 * bound.as_ps(),
            listener,
            until: Instant::ZERO + bound * 3 + Duration::from_us(1),
        };
        for (number, other_flow) in plant.flows.iter().enumerate() {
            let other = way(other_flow);
            let mut own = part.ways[0].iter().enumerate();
            let meeting = own.find_map(|(at, here)| {
                let there = other.iter().position(|passage| passage.port == here.port)?;
                Some((at, there))
            });
            if let Some(meeting) = meeting.filter(|_| number != flow) {
                part.plant.flows.push(other_flow.clone());
                part.ways.push(other);
                part.meetings.push(meeting);
                part.numbers.push(number);
            }
        }
        part
    }

    fn run(&self, phases: Vec<i64>) -> Found {
        let flows = with_phases(&self.plant.flows, |index, _| {
            Duration::from_ps(phases[index])
        });
        let config = Config {
            seed: 0,
            warmup: Duration::ZERO,
            bucket: Duration::ZERO,
        };
        let mut simulation = Simulation::new(&self.plant.network, &flows, &config).unwrap();
        let mut trace = Trace::default();
        simulation.run_until(self.until, &mut trace);
        let latency = simulation.finish().streams[self.listener].latency.max;
        let mut arrivals: Vec<Vec<i64>> = phases.iter().map(|&phase| vec![phase]).collect();
        for (flow, port, time) in trace.0 {
            let at = arrivals[flow].len() - 1;
            if let Some(passage) = self.ways[flow].get(at).filter(|p| p.port == port) {
                arrivals[flow].push(time + passage.time);
            }
        }
        Found {
            phases,
            latency,
            arrivals,
        }
    }

    /// Returns the best phases of a plan over all corrections.
    fn planned(&self, is_ahead: bool) -> Found {
        let offsets = self.offsets(is_ahead);
        let empty =
            |flow: usize, at: usize| -> i64 { self.ways[flow][..at].iter().map(|p| p.time).sum() };
        let first = (0..self.ways.len()).map(|flow| {
            let (here, there) = self.meetings[flow];
            self.release + empty(0, here) - offsets[flow] - empty(flow, there)
        });
        let mut found = self.run(first.map(|phase| phase.max(0)).collect());
        let mut best = found.clone();
        for _ in 0..CORRECTIONS {
            let next = (0..self.ways.len()).map(|flow| {
                let (here, there) = self.meetings[flow];
                let is_there = (
                    &found.arrivals[0].get(here),
                    &found.arrivals[flow].get(there),
                );
                let phase = found.phases[flow];
                match is_there {
                    (Some(own), Some(other)) if flow > 0 => {
                        (phase + *own - *other - offsets[flow]).max(0)
                    }
                    _ => phase,
                }
            });
            found = self.run(next.collect());
            if found.latency >= best.latency {
                best = found.clone();
            }
        }
        best
    }

    /// Returns how long before the stream each flow should arrive where they meet; with `is_ahead`,
    /// also before the frames in front of the stream, so that these stay in front.
    fn offsets(&self, is_ahead: bool) -> Vec<i64> {
        let mut offsets = vec![0; self.ways.len()];
        let mut order: Vec<usize> = (1..self.ways.len()).collect();
        // Order backwards from the stream's own frame: those with the longest common path first,
        // then the shortest frames.
        order.sort_by_key(|&flow| {
            let (here, there) = self.meetings[flow];
            let common = self.ways[flow][there..].iter().zip(&self.ways[0][here..]);
            let common = common.take_while(|(a, b)| a.port == b.port).count();
            (core::cmp::Reverse(common), self.ways[flow][there].occupancy)
        });
        let in_front = |here: usize| -> i64 {
            let flows = 1..self.ways.len();
            let front = flows.filter(|&flow| {
                let (met, there) = self.meetings[flow];
                let way = &self.ways[flow];
                let passage = way.get((there + here).wrapping_sub(met));
                met < here && passage.is_some_and(|p| p.port == self.ways[0][here].port)
            });
            let front = front.map(|flow| self.ways[flow][0].occupancy);
            // The longest frame goes first, and arrives with its last bit.
            let (sum, longest) = front.fold((self.ways[0][0].occupancy, 0), |(sum, most), time| {
                (sum + time, time.max(most))
            });
            if longest > 0 { sum - longest } else { 0 }
        };
        let mut taken: Vec<(PortId, i64)> = Vec::new();
        for (rank, flow) in (1..).zip(order) {
            let (here, there) = self.meetings[flow];
            let before = match there.checked_sub(1) {
                Some(at) => self.ways[flow][at].port,
                None => self.ways[flow][0].port,
            };
            let known = taken.iter().position(|(port, _)| *port == before);
            let at = known.unwrap_or(taken.len());
            if known.is_none() {
                taken.push((before, if is_ahead { in_front(here) } else { 0 }));
            }
            let sum = &mut taken[at].1;
            offsets[flow] = *sum + rank * TICK;
            if there > 0 {
                *sum += self.ways[flow][there].occupancy;
            }
        }
        offsets
    }

    /// Returns phases that differ slightly from those of `found`.
    fn moved(&self, found: &Found, dice: &mut Dice) -> Vec<i64> {
        let mut phases = found.phases.clone();
        for _ in 0..dice.pick(&[1, 1, 2, 3]) {
            self.step(&mut phases, found, dice);
        }
        phases.iter().map(|&phase| phase.max(0)).collect()
    }

    fn step(&self, phases: &mut [i64], found: &Found, dice: &mut Dice) {
        let one = 1 + dice.index(phases.len() - 1);
        let (here, there) = self.meetings[one];
        let occupancy = self.ways[one][0].occupancy;
        let lag = match (found.arrivals[0].get(here), found.arrivals[one].get(there)) {
            (Some(own), Some(other)) => own - other,
            _ => 0,
        };
        let tick = dice.time(1, 8) * TICK;
        match dice.index(8) {
            // To the stream itself, or somewhat before it.
            0 => phases[one] += lag - tick,
            1 => phases[one] += lag - dice.time(0, 20) * occupancy / 4 - tick,
            // Just behind or before another flow at a common port.
            2 | 3 => {
                let port = self.ways[one][dice.index(self.ways[one].len())].port;
                let other = 1 + dice.index(phases.len() - 1);
                let arrival = |flow: usize| {
                    let at = self.ways[flow].iter().position(|p| p.port == port)?;
                    found.arrivals[flow].get(at).copied()
                };
                if let (Some(a), Some(b)) = (arrival(one), arrival(other)) {
                    phases[one] += b - a + dice.pick(&[-tick, tick]);
                }
            }
            4 => {
                let width = dice.pick(&[10, 1_000_000, 10_000_000, 100_000_000]);
                phases[one] += dice.time(-width, width);
            }
            // All flows through one port.
            5 | 6 => {
                let port = self.ways[one][dice.index(there + 1)].port;
                let by = if dice.chance(50) {
                    lag - tick
                } else {
                    let width = dice.pick(&[10, 1_000_000, 10_000_000, 100_000_000]);
                    dice.time(-width, width)
                };
                for (flow, way) in self.ways.iter().enumerate().skip(1) {
                    if way.iter().any(|passage| passage.port == port) {
                        phases[flow] += by;
                    }
                }
            }
            _ => {
                let other = 1 + dice.index(phases.len() - 1);
                phases.swap(one, other);
            }
        }
    }
}

/// Returns the ports on a flow's path.
fn way(plant: &Plant, routing: &Routing, flow: &Flow) -> Vec<Passage> {
    let path = routing.flow_path(&plant.network, flow, flow.listeners[0]);
    let frame = wire::frame_size(flow.payload, flow.encapsulation);
    let hops = path.unwrap_or_default().into_iter().map(|hop| {
        let link = &plant.network.links[hop.link.index()];
        let switch = plant.network.switch(hop.ingress.node);
        let latency = switch.map_or(Duration::ZERO, |switch| switch.latency);
        let time = wire::wire_time(frame, link.rate) + link.propagation + latency;
        Passage {
            port: hop.egress,
            time: time.as_ps(),
            occupancy: wire::occupancy(frame, link.rate).as_ps(),
        }
    });
    hops.collect()
}

/// Returns the largest latency of a stream found in `steps` steps, and checks it on the whole
/// plant.
pub(crate) fn search(
    plant: &Plant,
    analysis: &Analysis,
    stream: usize,
    steps: u64,
    dice: &mut Dice,
) -> Duration {
    let own = &analysis.streams[stream];
    let bound = own.bound.as_ref().unwrap().latency;
    let flow = own.flow.index();
    let before = analysis.streams[..stream].iter();
    let listener = before.filter(|other| other.flow == own.flow).count();
    let part = Part::of(plant, flow, listener, bound);
    let plans = [false, true].map(|is_ahead| part.planned(is_ahead));
    let mut best = plans.into_iter().max_by_key(|plan| plan.latency).unwrap();
    if part.ways.len() > 1 {
        for _ in 0..steps {
            let found = part.run(part.moved(&best, dice));
            if found.latency >= best.latency {
                best = found;
            }
        }
    }
    let never = Duration::from_secs(1);
    let flows = with_phases(&plant.flows, |number, _| {
        let own = part.numbers.iter().position(|&own| own == number);
        own.map_or(never, |own| Duration::from_ps(best.phases[own]))
    });
    let seen = check(analysis, &crate::simulate(plant, &flows, 0))[stream];
    assert!(seen >= best.latency, "other flows start later");
    seen
}
