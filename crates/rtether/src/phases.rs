//! Searches for the phases that delay one stream most.
//!
//! Every result was simulated, so it is a lower bound on the largest latency. The search starts
//! with planned phases: at each port on the stream's path, the frames that join it there arrive
//! back to back, the longest first, the last one just before the stream's own. The plan is
//! corrected from the simulation until it is met as well as possible; then single flows and whole
//! groups are moved, keeping every change that does not reduce the latency.
//!
//! The plan is made for periodic flows and queues in order of arrival; with priorities and stacks
//! it is where the moves begin.

use rtether_model::flow::{Flow, FlowId, Phase, Traffic};
use rtether_model::network::{Network, NodeId, PortId};
use rtether_model::quantity::{Duration, Instant};
use rtether_model::route::Routing;
use rtether_model::wire;
use rtether_sim::observe::{Observer, PacketInfo};
use rtether_sim::{Config, Simulation};

/// Rounds of plan correction.
const CORRECTIONS: usize = 12;
/// Most flows that are moved by single picoseconds.
const POLISHED: usize = 100;
/// Smallest lead over the stream's frame.
const TICK: i64 = 1;

/// Random numbers, which the caller draws.
pub trait Random {
    /// Returns the next number.
    fn next(&mut self) -> u64;

    /// Returns a number from `low` to `high`, inclusive, for times in picoseconds.
    fn time(&mut self, low: i64, high: i64) -> i64 {
        let width = high.abs_diff(low);
        low.saturating_add_unsigned(self.next() % width.saturating_add(1))
    }

    /// Returns a position in a list of this length.
    fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.next() % (len.max(1) as u64)).unwrap_or(0)
    }

    /// Returns one of these.
    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.index(all.len())]
    }

    /// Returns whether something happens that does so in this share of all cases.
    fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }
}

/// Has a flow release its first packet this long after its start.
pub fn release(flow: &mut Flow, after: Duration) {
    if let Traffic::Periodic { phase, .. } = &mut flow.traffic {
        *phase = Phase::Fixed(after);
    } else {
        flow.start = after;
    }
}

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
        if packet.number == 0 && packet.arp.is_none() {
            let time = (now - Instant::ZERO).as_ps();
            self.0.push((packet.flow.index(), port, time));
        }
    }
}

/// The part of a plant that may delay one stream: the stream itself, at index 0, and the flows that
/// share a port with it. All other flows are assumed to start later.
pub struct Search<'a> {
    network: &'a Network,
    own: Vec<Flow>,
    ways: Vec<Vec<Passage>>,
    /// By flow: where it first meets the stream, as a position in the stream's path and in its own.
    meetings: Vec<(usize, usize)>,
    /// Flow numbers in the whole plant.
    numbers: Vec<FlowId>,
    /// Release of the stream's packet.
    release: i64,
    /// Number of the stream's listener in its flow.
    listener: usize,
    until: Instant,
}

/// Phases of all flows that take part, with the result.
#[derive(Clone, Debug)]
pub struct PhaseVector {
    /// Of the flows of the search, in their order, in picoseconds.
    pub phases: Vec<i64>,
    /// Largest latency of the stream.
    pub latency: Duration,
    /// Arrival times of the first packets at the ports of each flow.
    arrivals: Vec<Vec<i64>>,
}

impl<'a> Search<'a> {
    /// Prepares the search for a stream: the numbers of its flow and of its listener there.
    pub fn new(
        network: &'a Network,
        flows: &[Flow],
        (flow, listener): (usize, usize),
        bound: Duration,
    ) -> Self {
        let routing = Routing::new(network);
        let way = |flow: &Flow, listener: usize| way(network, &routing, flow, listener);
        let own = way(&flows[flow], listener);
        let mut part = Self {
            network,
            own: vec![flows[flow].clone()],
            ways: vec![own],
            meetings: vec![(0, 0)],
            numbers: vec![id(flow)],
            release: 2 * bound.as_ps(),
            listener,
            until: Instant::ZERO + bound * 3 + Duration::from_us(1),
        };
        for (number, other_flow) in flows.iter().enumerate() {
            let other = way(other_flow, 0);
            let mut own = part.ways[0].iter().enumerate();
            let meeting = own.find_map(|(at, here)| {
                let there = other.iter().position(|passage| passage.port == here.port)?;
                Some((at, there))
            });
            if let Some(meeting) = meeting.filter(|_| number != flow) {
                part.own.push(other_flow.clone());
                part.ways.push(other);
                part.meetings.push(meeting);
                part.numbers.push(id(number));
            }
        }
        part
    }

    /// Returns the flows that take part, the stream's own first.
    pub fn flows(&self) -> &[FlowId] {
        &self.numbers
    }

    /// Returns the time by which the stream's packet has arrived.
    pub const fn until(&self) -> Instant {
        self.until
    }

    /// Returns the best phases after this many steps; `None` if the plant cannot be simulated.
    pub fn run(&self, steps: u64, random: &mut impl Random) -> Option<PhaseVector> {
        let [behind, ahead] = [false, true].map(|is_ahead| self.planned(is_ahead));
        let (behind, ahead) = (behind?, ahead?);
        let mut best = if ahead.latency >= behind.latency {
            ahead
        } else {
            behind
        };
        if self.ways.len() > 1 {
            for _ in 0..steps {
                let found = self.try_phases(self.moved(&best, random))?;
                if found.latency >= best.latency {
                    best = found;
                }
            }
        }
        Some(best)
    }

    /// Moves the packets by single picoseconds as long as the latency grows: a plan puts packets just
    /// before each other, and some may come at the same time.
    pub fn polish(&self, mut best: PhaseVector) -> Option<PhaseVector> {
        if self.ways.len() > POLISHED {
            return Some(best);
        }
        for step in [1, -1, 2, -2, 4, 8] {
            for flow in 0..self.ways.len() {
                let mut phases = best.phases.clone();
                phases[flow] = (phases[flow] + step).max(0);
                let found = self.try_phases(phases)?;
                if found.latency > best.latency {
                    best = found;
                }
            }
        }
        Some(best)
    }

    fn try_phases(&self, phases: Vec<i64>) -> Option<PhaseVector> {
        let mut flows = self.own.clone();
        for (flow, &phase) in flows.iter_mut().zip(&phases) {
            release(flow, Duration::from_ps(phase));
        }
        let config = Config {
            seed: 0,
            warmup: Duration::ZERO,
            bucket: Duration::ZERO,
        };
        let mut simulation = Simulation::new(self.network, &flows, &config).ok()?;
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
        Some(PhaseVector {
            phases,
            latency,
            arrivals,
        })
    }

    /// Returns the best phases of a plan over all corrections.
    fn planned(&self, is_ahead: bool) -> Option<PhaseVector> {
        let offsets = self.offsets(is_ahead);
        let empty =
            |flow: usize, at: usize| -> i64 { self.ways[flow][..at].iter().map(|p| p.time).sum() };
        let first = (0..self.ways.len()).map(|flow| {
            let (here, there) = self.meetings[flow];
            self.release + empty(0, here) - offsets[flow] - empty(flow, there)
        });
        let mut found = self.try_phases(first.map(|phase| phase.max(0)).collect())?;
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
            found = self.try_phases(next.collect())?;
            if found.latency >= best.latency {
                best = found.clone();
            }
        }
        Some(best)
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
    fn moved(&self, found: &PhaseVector, random: &mut impl Random) -> Vec<i64> {
        let mut phases = found.phases.clone();
        for _ in 0..random.pick(&[1, 1, 2, 3]) {
            self.step(&mut phases, found, random);
        }
        phases.iter().map(|&phase| phase.max(0)).collect()
    }

    fn step(&self, phases: &mut [i64], found: &PhaseVector, random: &mut impl Random) {
        let one = 1 + random.index(phases.len() - 1);
        let (here, there) = self.meetings[one];
        let occupancy = self.ways[one][0].occupancy;
        let lag = match (found.arrivals[0].get(here), found.arrivals[one].get(there)) {
            (Some(own), Some(other)) => own - other,
            _ => 0,
        };
        let tick = random.time(1, 8) * TICK;
        match random.index(8) {
            // To the stream itself, or somewhat before it.
            0 => phases[one] += lag - tick,
            1 => phases[one] += lag - random.time(0, 20) * occupancy / 4 - tick,
            // Just behind or before another flow at a common port.
            2 | 3 => {
                let port = self.ways[one][random.index(self.ways[one].len())].port;
                let other = 1 + random.index(phases.len() - 1);
                let arrival = |flow: usize| {
                    let at = self.ways[flow].iter().position(|p| p.port == port)?;
                    found.arrivals[flow].get(at).copied()
                };
                if let (Some(a), Some(b)) = (arrival(one), arrival(other)) {
                    phases[one] += b - a + random.pick(&[-tick, tick]);
                }
            }
            4 => {
                let width = random.pick(&[10, 1_000_000, 10_000_000, 100_000_000]);
                phases[one] += random.time(-width, width);
            }
            // All flows through one port.
            5 | 6 => {
                let port = self.ways[one][random.index(there + 1)].port;
                let by = if random.chance(50) {
                    lag - tick
                } else {
                    let width = random.pick(&[10, 1_000_000, 10_000_000, 100_000_000]);
                    random.time(-width, width)
                };
                for (flow, way) in self.ways.iter().enumerate().skip(1) {
                    if way.iter().any(|passage| passage.port == port) {
                        phases[flow] += by;
                    }
                }
            }
            _ => {
                let other = 1 + random.index(phases.len() - 1);
                phases.swap(one, other);
            }
        }
    }
}

fn id(flow: usize) -> FlowId {
    FlowId(u32::try_from(flow).unwrap_or(u32::MAX))
}

/// Returns the ports on a flow's path to one of its listeners.
fn way(network: &Network, routing: &Routing, flow: &Flow, listener: usize) -> Vec<Passage> {
    let listener: Option<&NodeId> = flow.listeners.get(listener);
    let path = listener.and_then(|&listener| routing.flow_path(network, flow, listener).ok());
    let frame = wire::frame_size(flow.payload, flow.encapsulation);
    let hops = path.unwrap_or_default().into_iter().map(|hop| {
        let link = &network.links[hop.link.index()];
        let switch = network.switch(hop.ingress.node);
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
