//! What policers and filters leave of the mean load of flows.
//!
//! A policer that drops lets no more through than its rate, of all flows at its port on which its rule
//! decides. Each flow then has the same part of what it brings, which is what mean loads need: their
//! sum is right, and which frames are dropped is not said. Several policers on a way are taken one
//! after the other, each with what those before it leave.
//!
//! A filter leaves nothing of a flow that has a frame above its size, and if it blocks, nothing of all
//! flows that it matches: the least that may pass, in the long run.
//!
//! A rule that looks at priorities or headers may decide or not. It is taken to do so, for each flow
//! by itself: the load behind it is then never above that of a run, so that no plant is refused for
//! what a policer keeps away.

use std::collections::{BTreeMap, BTreeSet};

use rtether_model::endnode::HeaderMatch;
use rtether_model::flow::{Delivery, Flow};
use rtether_model::ingress::{Exceed, Filter, IngressRule};
use rtether_model::network::{NodeId, NodeKind, PortId, Redundancy};
use rtether_model::quantity::Bytes;
use rtether_model::route::{Hop, Routing};
use rtether_model::wire::{Encapsulation, TAG};

use super::{FULL, interval_and_payload};
use crate::lower::Plant;

/// Times that the parts are found again. Each settles policers one further down the ways.
const ROUNDS: u32 = 32;

/// A rule of a port.
type Policer = (PortId, usize);

/// The policers that drop frames, with the part of their flows that they let through.
pub(super) struct Policed<'p> {
    plant: &'p Plant,
    /// In billionths; none if nothing is policed.
    parts: BTreeMap<Policer, u64>,
    /// Rules whose filter some frame may have it block.
    blocked: BTreeSet<Policer>,
}

/// One direction of a flow to or from a listener.
pub(super) struct Way<'w> {
    pub(super) flow: &'w Flow,
    pub(super) from: NodeId,
    /// None for a group.
    pub(super) to: Option<NodeId>,
    pub(super) receiver: NodeId,
    pub(super) is_answer: bool,
    /// Whether it is the way in the second network, of which the stations take nothing.
    pub(super) is_copy: bool,
    pub(super) payload: Bytes,
    /// The part of its frames that is there at its begin, in billionths: answers to requests that
    /// policers have left.
    pub(super) brought: u64,
}

impl<'p> Policed<'p> {
    pub(super) fn new(plant: &'p Plant, routing: &Routing) -> Self {
        let mut found = Self { plant, parts: BTreeMap::new(), blocked: BTreeSet::new() };
        let is_policed = |kind: &NodeKind| match kind {
            NodeKind::Switch(switch) => switch.has_ingress(),
            NodeKind::EndStation(_) | NodeKind::Hub(_) => false,
        };
        if !plant.network.nodes.iter().any(|node| is_policed(&node.kind)) {
            return found;
        }
        found.blocked = blocked(plant, routing);
        for _ in 0..ROUNDS {
            let parts = found.parts_of(&found.offered(routing));
            if parts == found.parts {
                break;
            }
            found.parts = parts;
        }
        found
    }

    /// Returns what is left of a part of the frames on a way behind the rules of the port that a hop
    /// leads to.
    pub(super) fn left(&self, way: &Way<'_>, part: u64, hop: &Hop) -> u64 {
        self.pass(way, part, hop, &mut |_, _| {})
    }

    /// Returns what is left of `part` behind the ingress port that a hop leads to, and tells `offer` of
    /// the policer that decides for sure and the rate that comes to it.
    fn pass(
        &self,
        way: &Way<'_>,
        part: u64,
        hop: &Hop,
        offer: &mut impl FnMut(Policer, u128),
    ) -> u64 {
        let Some(switch) = self.plant.network.switch(hop.ingress.node) else {
            return part;
        };
        if switch.icmp_unclassified && way.flow.encapsulation == Encapsulation::Icmp {
            return part;
        }
        let mut left = part;
        for (number, rule) in switch.ingress_at(hop.ingress.port).iter().enumerate() {
            let Some(is_sure) = decides(rule, way) else {
                continue;
            };
            let filter = rule.filter.filter(|own| {
                is_oversize(self.plant, *own, way) || self.blocked.contains(&(hop.ingress, number))
            });
            if filter.is_some() {
                left = 0;
            }
            let drops = rule.police.filter(|police| police.exceed == Exceed::Drop);
            if let Some(police) = drops {
                let policer = (hop.ingress, number);
                let rate = rate(way, part);
                let alone = share(police.rate.as_bps().into(), rate);
                let of_all = if is_sure {
                    offer(policer, rate);
                    self.parts.get(&policer).copied().unwrap_or(FULL)
                } else {
                    FULL
                };
                left = left.min(scaled(part, alone.min(of_all)));
            }
            if is_sure {
                break;
            }
        }
        left
    }

    /// Returns the rate that flows bring to each policer with the parts so far.
    fn offered(&self, routing: &Routing) -> BTreeMap<Policer, u128> {
        let mut offered: BTreeMap<Policer, u128> = BTreeMap::new();
        for flow in &self.plant.flows {
            each_way(self.plant, routing, flow, |way, hops, is_first| {
                let mut part = way.brought;
                for hop in hops {
                    part = self.pass(way, part, hop, &mut |policer, rate| {
                        // Copies of a group come once.
                        if is_first(hop) {
                            let sum = offered.entry(policer).or_default();
                            *sum = sum.saturating_add(rate);
                        }
                    });
                }
                part
            });
        }
        offered
    }

    fn parts_of(&self, offered: &BTreeMap<Policer, u128>) -> BTreeMap<Policer, u64> {
        let part = |(&(port, number), &offered): (&Policer, &u128)| {
            let switch = self.plant.network.switch(port.node)?;
            let police = switch.ingress_at(port.port).get(number)?.police?;
            Some(((port, number), share(police.rate.as_bps().into(), offered)))
        };
        offered.iter().filter_map(part).collect()
    }
}

/// Returns the rules whose filter blocks, and decides on flows with a frame above its size.
fn blocked(plant: &Plant, routing: &Routing) -> BTreeSet<Policer> {
    let mut blocked = BTreeSet::new();
    for flow in &plant.flows {
        each_way(plant, routing, flow, |way, hops, _| {
            for hop in hops {
                let switch = plant.network.switch(hop.ingress.node);
                let rules = switch.map_or(&[][..], |own| own.ingress_at(hop.ingress.port));
                blocked.extend((0..).zip(rules).filter_map(|(number, rule)| {
                    rule.filter.filter(|own| own.block && is_oversize(plant, *own, way))?;
                    decides(rule, way).map(|_| (hop.ingress, number))
                }));
            }
            FULL
        });
    }
    blocked
}

/// Returns whether a filter drops some frames of a way.
fn is_oversize(plant: &Plant, filter: Filter, way: &Way<'_>) -> bool {
    let frames = way.flow.frames(way.payload);
    let redundancy = plant.network.end_station(way.from).and_then(|own| own.redundancy);
    let trailer = redundancy.map_or(Bytes::ZERO, Redundancy::trailer);
    frames.full.max(frames.last) + trailer > filter.largest_frame()
}

/// Calls `visit` with each way of a flow, its hops, and whether a hop is met for the first time by
/// frames of the flow. `visit` returns the part of the frames that arrives.
pub(super) fn each_way(
    plant: &Plant,
    routing: &Routing,
    flow: &Flow,
    mut visit: impl FnMut(&Way<'_>, &[Hop], &dyn Fn(&Hop) -> bool) -> u64,
) {
    let network = &plant.network;
    let mut seen = BTreeSet::new();
    for &listener in &flow.listeners {
        let Some((_, payload)) = interval_and_payload(flow) else {
            return;
        };
        let is_group = flow.delivery == Delivery::Multicast;
        let there = routing.flow_paths(network, flow, listener);
        let mut brought: Option<u64> = None;
        for (copy, hops) in there.unwrap_or_default().into_iter().enumerate() {
            let way = Way {
                flow,
                from: flow.talker,
                to: (!is_group).then_some(listener),
                receiver: listener,
                is_answer: false,
                is_copy: copy > 0,
                payload,
                brought: FULL,
            };
            let own = visit(&way, &hops, &|hop| !(is_group && seen.contains(hop)));
            brought = brought.max(Some(own));
            seen.extend(hops);
        }
        let Some((reply, brought)) = flow.reply.zip(brought) else {
            continue;
        };
        let back = routing.answer_paths(network, flow, listener);
        for (copy, hops) in back.unwrap_or_default().into_iter().enumerate() {
            let way = Way {
                flow,
                from: listener,
                to: Some(flow.talker),
                receiver: flow.talker,
                is_answer: true,
                is_copy: copy > 0,
                payload: reply.payload,
                brought,
            };
            visit(&way, &hops, &|_| true);
        }
    }
}

/// Returns whether a rule decides on the frames of a way for sure; `None` if it does not.
fn decides(rule: &IngressRule, way: &Way<'_>) -> Option<bool> {
    let is_among = |stations: &[NodeId], own: Option<NodeId>| {
        stations.is_empty() || own.is_some_and(|own| stations.contains(&own))
    };
    let fits = is_among(&rule.from, Some(way.from)) && is_among(&rule.to, way.to);
    fits.then(|| rule.pcp.is_none() && rule.headers == HeaderMatch::default())
}

/// Returns the rate of a part of the frames of a way, as policers count them, in bit/s.
fn rate(way: &Way<'_>, part: u64) -> u128 {
    let Some((interval, _)) = interval_and_payload(way.flow) else {
        return 0;
    };
    let frames = way.flow.frames(way.payload);
    let octets = frames.full.get() * u64::from(frames.count - 1) + frames.last.get();
    let tags = TAG.get() * u64::from(frames.count);
    let octets = octets + if way.flow.tag.is_some() { tags } else { 0 };
    let bits = u128::from(octets) * 8 * 1_000_000_000_000;
    bits * u128::from(part) / u128::from(FULL) / u128::from(interval.as_ps().max(1).unsigned_abs())
}

/// Returns which share of what comes to a policer fits its rate.
fn share(rate: u128, offered: u128) -> u64 {
    let share = (rate * u128::from(FULL)).checked_div(offered);
    share.map_or(FULL, |share| u64::try_from(share).unwrap_or(FULL).min(FULL))
}

/// Returns a share of a part.
pub(super) fn scaled(part: u64, share: u64) -> u64 {
    let product = u128::from(part) * u128::from(share) / u128::from(FULL);
    u64::try_from(product).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use crate::load;

    /// Two flows of 1518 octets every 150 us to `b`, 82 Mbit/s each, at a switch with this rule.
    fn messages(rule: &str) -> String {
        let text = format!(
            "rtether: 1\n\
             nodes: {{ a: {{ stack: zero }}, b: {{ stack: zero }}, c: {{ stack: zero }} }}\n\
             switches: {{ s: {{ ports: 3, ingress: [{rule}] }} }}\n\
             links:\n\
             - {{ ends: [a, 's:1'], rate: 1 Gbit/s }}\n\
             - {{ ends: [b, 's:2'], rate: 100 Mbit/s }}\n\
             - {{ ends: [c, 's:3'], rate: 1 Gbit/s }}\n\
             flows:\n\
             - {{ name: x, from: a, to: b, period: 150 us, size: 1472 B }}\n\
             - {{ name: y, from: c, to: b, period: 150 us, size: 1472 B }}\n"
        );
        load("test.yaml", &text).text(crate::render::Style::Plain)
    }

    /// Oracle: by hand. The link has room for one of the two flows; a filter drops the other.
    #[test]
    fn what_a_filter_drops_loads_nothing() {
        assert!(messages("").contains("overload"), "{}", messages(""));
        assert!(messages("{ from: a, max_sdu: 1500 B }").contains("overload"));
        assert_eq!(messages("{ from: a, max_sdu: 1000 B }"), "");
    }
}
