//! The search for parts of deadlines with which every port sends in time.
//!
//! A part is in proportion to the weight of its port. The search begins with equal weights, and
//! again with those of proportional parts; in each round it examines what every port may be asked
//! for ([`crate::demand`]) as if all of them sent the earliest deadline first, and multiplies each
//! weight by the share of time that is asked for there. What wires and switches take is kept back,
//! and the spread of delays before a port counts as jitter, so that a plant that passes keeps all
//! deadlines if its stacks take no time.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::{Parts, Ways, Weights, divided, loads};
use crate::demand::{Demand, FULL, peak};
use crate::flow::{Flow, Releases};
use crate::network::{ForwardingMode, Network, PortId};
use crate::quantity::{Bytes, Duration};
use crate::route::Hop;
use crate::wire::{self, Frames};

/// Rounds from each beginning.
const ROUNDS: u32 = 24;
/// Weight of a port at the beginning, and the largest one.
const UNIT: u64 = 1 << 20;
const MOST: u64 = 1 << 40;

/// Returns the parts found, and whether every port sends in time with them. At any port a frame
/// `other` may be in front.
pub(super) fn search(
    network: &Network,
    flows: &[Flow],
    ways: &[Ways],
    other: Bytes,
) -> (Parts, bool) {
    let plant = Plant::new(network, flows, ways, other);
    let proportional: Weights =
        loads(flows, ways).into_iter().map(|(port, load)| (port, load * UNIT)).collect();
    let equal = proportional.keys().map(|&port| (port, UNIT)).collect();
    let mut best: Option<(u64, Parts)> = None;
    for mut weights in [equal, proportional] {
        for _ in 0..ROUNDS {
            let parts = divided(flows, ways, |flow| plant.fixed[flow], &weights);
            let peaks = plant.peaks(&parts);
            let worst = peaks.values().copied().max().unwrap_or(0);
            if best.as_ref().is_none_or(|(least, _)| worst < *least) {
                best = Some((worst, parts));
            }
            if worst <= FULL {
                break;
            }
            turn(&mut weights, &peaks);
        }
        if best.as_ref().is_some_and(|(worst, _)| *worst <= FULL) {
            break;
        }
    }
    let (worst, parts) = best.unwrap_or_default();
    (parts, worst <= FULL && plant.is_known)
}

/// Returns whether every port sends in time with these parts, `other` as in [`search`].
///
/// Parts of a way add up to the deadline, and wires and switches take time besides. Every frame at
/// a port is taken to be due earlier than its part says, all by the same time, so that their order
/// is the same: by the largest share of this time that one of them has here.
pub(super) fn is_in_time(
    network: &Network,
    flows: &[Flow],
    ways: &[Ways],
    parts: &Parts,
    other: Bytes,
) -> bool {
    let plant = Plant::new(network, flows, ways, other);
    let mut earlier: BTreeMap<PortId, Duration> = BTreeMap::new();
    for (flow, (own, fixed)) in flows.iter().zip(ways.iter().zip(&plant.fixed)) {
        for way in own.iter().filter(|_| flow.deadline.is_some()) {
            let hops = way.iter().map(Vec::len).sum::<usize>().max(1);
            let hops = i64::try_from(hops).unwrap_or(i64::MAX);
            let share = Duration::from_ps((fixed.as_ps() + hops - 1) / hops);
            for hop in way.iter().flatten() {
                let known = earlier.entry(hop.egress).or_insert(share);
                *known = share.max(*known);
            }
        }
    }
    let due = |(&(flow, port), &part): (&(usize, PortId), &Duration)| {
        let earlier = earlier.get(&port).copied().unwrap_or(Duration::ZERO);
        ((flow, port), part - earlier)
    };
    let peaks = plant.peaks(&parts.iter().map(due).collect());
    plant.is_known && peaks.values().all(|peak| *peak <= FULL)
}

/// Multiplies each weight by what its port is asked for.
fn turn(weights: &mut Weights, peaks: &BTreeMap<PortId, u64>) {
    for (port, weight) in &mut *weights {
        let peak = peaks.get(port).copied().unwrap_or(FULL);
        // Half the way, so that ports that take from each other come to rest.
        let peak = u64::midpoint(FULL, peak.clamp(FULL / 64, FULL * 64));
        let product = u128::from(*weight) * u128::from(peak) / u128::from(FULL);
        *weight = u64::try_from(product).unwrap_or(u64::MAX);
    }
    let most = weights.values().copied().max().unwrap_or(1);
    for weight in weights.values_mut() {
        let scaled = u128::from(*weight) * u128::from(MOST) / u128::from(most.max(1));
        *weight = u64::try_from(scaled).unwrap_or(MOST).max(1);
    }
}

/// What a search knows of the plant.
struct Plant<'a> {
    network: &'a Network,
    flows: &'a [Flow],
    ways: &'a [Ways],
    /// By flow: the longest time on its ways that is not spent at ports.
    fixed: Vec<Duration>,
    /// The longest frame of flows without a deadline at each port.
    other: BTreeMap<PortId, Duration>,
    /// Whether all flows with a deadline have a way, and a least time between their releases.
    is_known: bool,
}

impl<'a> Plant<'a> {
    fn new(network: &'a Network, flows: &'a [Flow], ways: &'a [Ways], other: Bytes) -> Self {
        let mut plant = Self {
            network,
            flows,
            ways,
            fixed: Vec::new(),
            other: BTreeMap::new(),
            is_known: true,
        };
        for (flow, ways) in flows.iter().zip(ways) {
            let thinking = flow.reply.map_or(Duration::ZERO, |reply| reply.longest());
            let times = ways.iter().map(|way| {
                let after = way.iter().flatten().map(|hop| plant.after(hop));
                after.sum::<Duration>() + thinking
            });
            let fixed = times.max().unwrap_or(Duration::ZERO);
            plant.fixed.push(fixed);
            if other > Bytes::ZERO {
                ways.each(flow.delivery, |_, _, _, hop| {
                    let rate = network.links[hop.link.index()].rate;
                    let time = wire::occupancy(other + wire::TAG, rate);
                    plant.note_other(hop.egress, time);
                });
            }
            if flow.deadline.is_some() {
                plant.is_known &= releases(flow).is_some() && ways.0.is_some();
            } else {
                plant.note_frames(flow, ways);
            }
        }
        plant
    }

    /// Notes a frame without a deadline at a port.
    fn note_other(&mut self, port: PortId, frame: Duration) {
        let known = self.other.entry(port).or_insert(frame);
        *known = frame.max(*known);
    }

    /// Notes the longest frames of a flow without a deadline.
    fn note_frames(&mut self, flow: &Flow, ways: &Ways) {
        ways.each(flow.delivery, |_, direction, _, hop| {
            let frame = self.longest(flow, direction, hop);
            // Acknowledgements go the other way.
            let back = flow.is_acknowledged().then_some(hop.ingress);
            for port in [Some(hop.egress), back].into_iter().flatten() {
                self.note_other(port, frame);
            }
        });
    }

    /// Returns the longest time from the end of a transmission to the next queue.
    fn after(&self, hop: &Hop) -> Duration {
        let link = &self.network.links[hop.link.index()];
        let switch = self.network.switch(hop.ingress.node);
        let latency = switch.map_or(Duration::ZERO, |own| own.latency + own.latency_jitter);
        link.propagation + latency
    }

    /// Returns by how much the time between two queues varies, if the frame is due a `part` after
    /// it came to the first one.
    fn spread(&self, flow: &Flow, direction: usize, hop: &Hop, part: Duration) -> Duration {
        let switch = self.network.switch(hop.ingress.node);
        let jitter = switch.map_or(Duration::ZERO, |own| own.latency_jitter);
        // Behind a switch that forwards after the header the next port may begin at once.
        let cuts = switch.is_some_and(|own| own.mode == ForwardingMode::CutThrough);
        let least = if cuts {
            Duration::ZERO
        } else {
            let rate = self.network.links[hop.link.index()].rate;
            wire::wire_time(frames(flow, direction).last, rate)
        };
        (part - least).max(Duration::ZERO) + jitter
    }

    /// Returns how long a frame keeps a link from the next.
    fn time(&self, frame: Bytes, flow: &Flow, hop: &Hop) -> Duration {
        let tag = flow.tag.map_or(Bytes::ZERO, |_| wire::TAG);
        wire::occupancy(frame + tag, self.network.links[hop.link.index()].rate)
    }

    fn longest(&self, flow: &Flow, direction: usize, hop: &Hop) -> Duration {
        // Segments and samples are cut to frames of any size.
        let frame = if flow.is_acknowledged() {
            wire::HEADER + wire::MAX_FRAME_PAYLOAD + wire::FCS
        } else {
            let frames = frames(flow, direction);
            frames.full.max(frames.last)
        };
        self.time(frame, flow, hop)
    }

    /// Returns what each port is asked for with these parts, in millionths of its time.
    fn peaks(&self, parts: &Parts) -> BTreeMap<PortId, u64> {
        let mut demands: BTreeMap<PortId, Vec<Demand>> = BTreeMap::new();
        for (index, (flow, ways)) in self.flows.iter().zip(self.ways).enumerate() {
            let (Some(_), Some(releases)) = (flow.deadline, releases(flow)) else {
                continue;
            };
            let jitters = ways.iter().map(|way| self.jitters(index, way, releases.jitter, parts));
            let jitters: Vec<[Vec<Duration>; 2]> = jitters.collect();
            ways.each(flow.delivery, |way, direction, position, hop| {
                // A short last fragment counts as a full one, as in the bounds.
                let count = i64::from(frames(flow, direction).count);
                let once = self.longest(flow, direction, hop) * count;
                let part = parts.get(&(index, hop.egress)).copied();
                demands.entry(hop.egress).or_default().push(Demand {
                    period: releases.period,
                    jitter: jitters[way][direction][position],
                    deadline: part.unwrap_or(Duration::from_ps(1)),
                    work: once * i64::from(releases.burst.max(1)),
                    frame: self.longest(flow, direction, hop),
                });
            });
        }
        let of_port = |(port, own): (PortId, Vec<Demand>)| {
            let other = self.other.get(&port).copied().unwrap_or(Duration::ZERO);
            (port, peak(&own, other).unwrap_or(u64::MAX))
        };
        demands.into_iter().map(of_port).collect()
    }

    /// Returns how late a release may come to each port of a way.
    fn jitters(
        &self,
        flow: usize,
        way: &[Vec<Hop>; 2],
        released: Duration,
        parts: &Parts,
    ) -> [Vec<Duration>; 2] {
        let mut late = released;
        let mut found = [Vec::new(), Vec::new()];
        for (direction, hops) in way.iter().enumerate() {
            for hop in hops {
                found[direction].push(late);
                let part = parts.get(&(flow, hop.egress)).copied();
                let part = part.unwrap_or(Duration::ZERO);
                late += self.spread(&self.flows[flow], direction, hop, part);
            }
        }
        found
    }
}

/// Returns the frames of a message, or of its answer.
fn frames(flow: &Flow, direction: usize) -> Frames {
    let answer = flow.reply.filter(|_| direction == 1);
    flow.frames(answer.map_or(flow.payload, |reply| reply.payload))
}

/// Returns the releases of a flow; `None` if other frames go with them, or without a grid.
fn releases(flow: &Flow) -> Option<Releases> {
    flow.traffic.releases().filter(|_| !flow.is_acknowledged())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::route::Routing;

    /// Returns whether any weights of up to four ports, each from 1 to 6, pass.
    pub(in super::super) fn any_passes(
        network: &Network,
        flows: &[Flow],
        routing: &Routing,
    ) -> bool {
        let ways: Vec<Ways> = flows.iter().map(|flow| Ways::of(network, flow, routing)).collect();
        let plant = Plant::new(network, flows, &ways, Bytes::ZERO);
        let ports: Vec<PortId> = loads(flows, &ways).into_keys().collect();
        (0..6u64.pow(4)).any(|number| {
            let weight = |place: usize| 1 + number / [1, 6, 36, 216][place] % 6;
            let weights = ports.iter().zip(0..).map(|(&port, place)| (port, weight(place)));
            let parts = divided(flows, &ways, |flow| plant.fixed[flow], &weights.collect());
            plant.peaks(&parts).values().all(|peak| *peak <= FULL)
        })
    }
}
