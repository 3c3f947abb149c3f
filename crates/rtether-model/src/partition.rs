//! Local deadlines: the deadline of a flow divided among the ports of its way.
//!
//! Where the earliest deadline goes first, a frame is due at a port the flow's part for this port
//! after it came. The parts of a way, which is there and back if the flow is answered, add up to at
//! most the deadline. Like paths they are facts of the plant, so the simulator and the bounds may
//! share them.
//!
//! *Equal* and *proportional* parts are the symmetric and the asymmetric deadline partitioning of
//! H. Hoang and M. Jonsson (SDPS and ADPS, 2004), for any number of ports.

mod search;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;

use crate::flow::{Delivery, Flow};
use crate::network::{Network, Partition, PortId};
use crate::quantity::{Bytes, Duration};
use crate::route::{Hop, Routing};

/// A frame is due at most a day after it came to a port, and a picosecond at least.
const LONGEST: Duration = Duration::from_secs(86_400);

/// The local deadlines of all flows.
#[derive(Clone, Debug, Default)]
pub struct LocalDeadlines {
    /// Equal parts; `None` without a deadline or a way.
    equal: Vec<Option<Duration>>,
    /// Other parts, by flow and port.
    own: Parts,
    is_feasible: Option<bool>,
}

impl LocalDeadlines {
    /// Divides the deadlines of all flows as the network wants it.
    pub fn new(network: &Network, flows: &[Flow], routing: &Routing) -> Self {
        let ways = ways_of(network, flows, routing);
        let equal = flows.iter().zip(&ways);
        let mut found = Self {
            equal: equal.map(|(flow, ways)| ways.equal_part(flow)).collect(),
            ..Self::default()
        };
        match network.partition {
            Partition::Equal => {}
            Partition::Proportional => {
                let loads = loads(flows, &ways);
                found.own = divided(flows, &ways, |_| Duration::ZERO, &loads);
            }
            Partition::Search => {
                let (own, is_feasible) = search::search(network, flows, &ways, Bytes::ZERO);
                found.own = own;
                found.is_feasible = Some(is_feasible);
            }
        }
        found
    }

    /// Returns how long after it came to a port a frame of a flow is due there; `None` for a flow
    /// without a deadline. At ports beside its ways, where copies are flooded or acknowledgements
    /// pass, it is the equal part.
    pub fn at(&self, flow: usize, port: PortId) -> Option<Duration> {
        let equal = *self.equal.get(flow)?;
        self.own.get(&(flow, port)).copied().or(equal)
    }

    /// Returns whether they depend on the port.
    pub fn differ(&self) -> bool {
        !self.own.is_empty()
    }

    /// Returns whether a search has found parts with which every port sends in time what it may be
    /// asked for; `None` without a search.
    pub const fn is_feasible(&self) -> Option<bool> {
        self.is_feasible
    }
}

/// Returns whether every port sends the frames of all flows in time with the parts that the network
/// wants, even if a frame of `other` octets without a deadline, from addresses to FCS without tag,
/// may be in front at any port. As the search, it keeps back what wires and switches take and
/// counts the spread of delays before a port as jitter: with a yes all deadlines are kept if stacks
/// take no time.
pub fn is_in_time(network: &Network, flows: &[Flow], routing: &Routing, other: Bytes) -> bool {
    let ways = ways_of(network, flows, routing);
    let parts = match network.partition {
        Partition::Search => return search::search(network, flows, &ways, other).1,
        Partition::Proportional => divided(flows, &ways, |_| Duration::ZERO, &loads(flows, &ways)),
        Partition::Equal => {
            let mut parts = Parts::new();
            for (index, (flow, ways)) in flows.iter().zip(&ways).enumerate() {
                let part = ways.equal_part(flow);
                let hops = ways.iter().flatten().flatten();
                parts.extend(hops.filter_map(|hop| Some(((index, hop.egress), part?))));
            }
            parts
        }
    };
    search::is_in_time(network, flows, &ways, &parts, other)
}

/// Parts by flow and port.
type Parts = BTreeMap<(usize, PortId), Duration>;

fn ways_of(network: &Network, flows: &[Flow], routing: &Routing) -> Vec<Ways> {
    let flows = flows.iter();
    flows.map(|flow| Ways::of(network, flow, routing)).collect()
}

fn limited(part: Duration) -> Duration {
    part.clamp(Duration::from_ps(1), LONGEST)
}

/// The ways of a flow: by listener the hops there, and back if it is answered, without those at
/// which no frame waits; in two networks those in each.
struct Ways(Option<Vec<[Vec<Hop>; 2]>>);

impl Ways {
    fn of(network: &Network, flow: &Flow, routing: &Routing) -> Self {
        let waits = |hop: &Hop| network.hub(hop.egress.node).is_none();
        let keep = |hops: Vec<Hop>| hops.into_iter().filter(waits).collect::<Vec<Hop>>();
        let mut ways = Vec::new();
        let mut add = |listener| {
            let there = routing.flow_paths(network, flow, listener).ok()?;
            let back = match flow.reply {
                Some(_) => routing.answer_paths(network, flow, listener).ok()?,
                None => vec![Vec::new()],
            };
            let of = |paths: &[Vec<Hop>], network: usize| {
                let last = paths.len().saturating_sub(1);
                keep(paths.get(network.min(last)).cloned().unwrap_or_default())
            };
            for network in 0..there.len().max(back.len()) {
                ways.push([of(&there, network), of(&back, network)]);
            }
            Some(())
        };
        let all: Option<()> = flow.listeners.iter().map(|&to| add(to)).collect();
        Self(all.map(|()| ways))
    }

    fn iter(&self) -> impl Iterator<Item = &[Vec<Hop>; 2]> {
        self.0.iter().flatten()
    }

    /// Returns the part of a deadline at every port, if all have the same.
    fn equal_part(&self, flow: &Flow) -> Option<Duration> {
        let parts = i64::try_from(self.longest()?.max(1)).ok()?;
        Some(limited(flow.deadline? / parts))
    }

    fn longest(&self) -> Option<usize> {
        let ways = self.0.as_ref()?;
        Some(ways.iter().map(|[there, back]| there.len() + back.len()).max().unwrap_or(0))
    }

    /// Calls `visit` for each copy of a release, or of its answers, that passes a port: the way,
    /// the direction and the position there. A multicast frame passes a port once.
    fn each(&self, delivery: Delivery, mut visit: impl FnMut(usize, usize, usize, &Hop)) {
        let mut seen = BTreeSet::new();
        for (number, way) in self.iter().enumerate() {
            for (direction, hops) in way.iter().enumerate() {
                for (position, hop) in hops.iter().enumerate() {
                    let is_tree = delivery == Delivery::Multicast && direction == 0;
                    if !is_tree || seen.insert(hop.egress) {
                        visit(number, direction, position, hop);
                    }
                }
            }
        }
    }
}

/// Weights of ports.
type Weights = BTreeMap<PortId, u64>;

/// Returns the number of flows with a deadline that pass each port; copies and answers count.
fn loads(flows: &[Flow], ways: &[Ways]) -> Weights {
    let mut loads = Weights::new();
    for (flow, ways) in flows.iter().zip(ways) {
        if flow.deadline.is_some() {
            ways.each(flow.delivery, |_, _, _, hop| {
                *loads.entry(hop.egress).or_default() += 1;
            });
        }
    }
    loads
}

/// Returns the parts of all deadlines, less what `fixed` says of a flow, in proportion to weights.
/// Where several ways of a flow share a port, its smallest part counts.
fn divided(
    flows: &[Flow],
    ways: &[Ways],
    fixed: impl Fn(usize) -> Duration,
    weights: &Weights,
) -> Parts {
    let mut parts = Parts::new();
    for (index, (flow, ways)) in flows.iter().zip(ways).enumerate() {
        let Some(deadline) = flow.deadline else {
            continue;
        };
        let deadline = i128::from(deadline.as_ps()) - i128::from(fixed(index).as_ps());
        let weight = |hop: &Hop| i128::from(weights.get(&hop.egress).copied().unwrap_or(1));
        for way in ways.iter() {
            let sum: i128 = way.iter().flatten().map(weight).sum();
            for hop in way.iter().flatten() {
                let part = i64::try_from(deadline * weight(hop) / sum.max(1)).unwrap_or(i64::MAX);
                let part = limited(Duration::from_ps(part));
                let known = parts.entry((index, hop.egress)).or_insert(part);
                *known = part.min(*known);
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::{Phase, Reply, Traffic};
    use crate::network::{EndStation, NodeId, NodeKind, Stack, Switch};
    use crate::quantity::{BitRate, Bytes};
    use crate::wire::Encapsulation;

    const US: fn(i64) -> Duration = Duration::from_us;

    /// Stations at one switch, with the rates of their links in Mbit/s.
    fn star(rates: &[u64]) -> (Network, Vec<NodeId>) {
        let mut network = Network::default();
        let switch = network.add("sw", NodeKind::Switch(Switch::new(0)));
        let station = |(number, &rate): (usize, &u64)| {
            let kind = NodeKind::EndStation(EndStation::new(Stack::Zero));
            let station = network.add(alloc::format!("n{number}"), kind);
            network.join(station, switch, BitRate::from_mbps(rate));
            station
        };
        let stations = rates.iter().enumerate().map(station).collect();
        (network, stations)
    }

    fn flow(talker: NodeId, listeners: &[NodeId], deadline: Duration) -> Flow {
        Flow {
            deadline: Some(deadline),
            encapsulation: Encapsulation::Raw,
            ..Flow::new(
                "f".into(),
                talker,
                listeners.to_vec(),
                Bytes::new(1_500),
                Traffic::periodic(Duration::from_ms(10), Phase::Random),
            )
        }
    }

    /// Returns the parts of a flow at the port of its talker, and at that of the switch to a
    /// station.
    fn parts(network: &Network, flows: &[Flow], flow: usize, to: usize) -> [Duration; 2] {
        let routing = Routing::new(network);
        let found = LocalDeadlines::new(network, flows, &routing);
        let port = network.links[to].ends[1];
        let own = PortId::first(flows[flow].talker);
        [own, port].map(|port| found.at(flow, port).unwrap())
    }

    /// Oracle: by hand, two ports each way.
    #[test]
    fn a_deadline_is_split_among_the_ports_of_the_way() {
        let (network, n) = star(&[100; 3]);
        let mut flow = flow(n[0], &[n[1]], US(900));
        let at = |flow: &Flow| parts(&network, core::slice::from_ref(flow), 0, 1);
        assert_eq!(at(&flow), [US(450); 2]);
        flow.reply = Some(Reply::new(Bytes::new(1), Duration::ZERO));
        assert_eq!(at(&flow), [US(225); 2]);
        flow.deadline = Some(Duration::from_secs(1_000_000));
        assert_eq!(at(&flow), [Duration::from_secs(86_400); 2]);
        flow.deadline = None;
        let routing = Routing::new(&network);
        let none = LocalDeadlines::new(&network, &[flow], &routing);
        assert_eq!(none.at(0, PortId::first(n[0])), None);
        assert_eq!(none.at(1, PortId::first(n[0])), None);
    }

    /// Oracle: by hand. Two flows leave the master and one comes to each slave; a group to both
    /// slaves is one frame at the master's port.
    #[test]
    fn busier_ports_get_larger_parts() {
        let (mut network, n) = star(&[100; 3]);
        network.partition = Partition::Proportional;
        let two = [flow(n[0], &[n[1]], US(300)), flow(n[0], &[n[2]], US(900))];
        assert_eq!(parts(&network, &two, 0, 1), [US(200), US(100)]);
        assert_eq!(parts(&network, &two, 1, 2), [US(600), US(300)]);
        let mut group = flow(n[0], &[n[1], n[2]], US(300));
        group.delivery = Delivery::Multicast;
        let own = [two[0].clone(), group, two[0].clone()];
        // Loads: 3 at the master, 3 and 1 at the slaves; the smaller part at the master counts.
        assert_eq!(parts(&network, &own, 1, 1), [US(150), US(150)]);
        assert_eq!(parts(&network, &own, 1, 2), [US(150), US(75)]);
        // Flows without a deadline do not count.
        let mut free = two.to_vec();
        free[1].deadline = None;
        assert_eq!(parts(&network, &free, 0, 1), [US(150); 2]);
    }

    /// Oracle: by hand. A full frame takes 1230.4 us at 10 Mbit/s and 123.04 us at 100 Mbit/s; the
    /// two ports need 1353.44 us of 1500, and half of it is not enough for the first.
    #[test]
    fn a_search_finds_what_equal_parts_miss() {
        let (mut network, n) = star(&[10, 100]);
        let flow = flow(n[0], &[n[1]], US(1_500));
        let routing = Routing::new(&network);
        network.partition = Partition::Search;
        let found = LocalDeadlines::new(&network, core::slice::from_ref(&flow), &routing);
        assert_eq!(found.is_feasible(), Some(true));
        let [first, second] = parts(&network, core::slice::from_ref(&flow), 0, 1);
        assert!(first >= Duration::from_ns(1_230_400) && second >= Duration::from_ns(123_040));
        assert!(first + second <= US(1_500));
        let short = Flow { deadline: Some(US(1_350)), ..flow };
        let found = LocalDeadlines::new(&network, &[short], &routing);
        assert_eq!(found.is_feasible(), Some(false));
        assert!(LocalDeadlines::new(&network, &[], &routing).is_feasible() == Some(true));
    }

    /// Oracle: a grid of all weights. Where one of them passes, the search mostly finds parts, too.
    #[test]
    fn a_search_finds_mostly_what_there_is() {
        let mut seed = 3u64;
        let mut draw = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        let (mut there, mut found) = (0, 0);
        for _ in 0..60 {
            let rates = [(); 4].map(|()| [10, 20, 50, 100][usize::try_from(draw(4)).unwrap()]);
            let (mut network, n) = star(&rates);
            network.partition = Partition::Search;
            let flows: Vec<Flow> = (0..4)
                .map(|_| {
                    let from = usize::try_from(draw(2)).unwrap();
                    let to = 2 + usize::try_from(draw(2)).unwrap();
                    let deadline = US(i64::try_from(1_000 + draw(5_000)).unwrap());
                    flow(n[from], &[n[to]], deadline)
                })
                .collect();
            let routing = Routing::new(&network);
            let own = LocalDeadlines::new(&network, &flows, &routing).is_feasible() == Some(true);
            let is_there = search::tests::any_passes(&network, &flows, &routing);
            there += u32::from(is_there);
            found += u32::from(is_there && own);
        }
        assert!(there > 15 && found * 10 >= there * 9, "{found} of {there}");
    }
}
