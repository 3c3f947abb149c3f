//! Changes that may be worth a trial for one stream.

use std::collections::BTreeSet;

use rtether_bounds::{Analyzer, Changes, StreamBound};
use rtether_model::empirical::{Empirical, Quantiles};
use rtether_model::flow::{Flow, FlowId, Tag};
use rtether_model::network::{
    Cost, Jitter, LinearStack, LinkId, Network, NodeId, NodeKind, Outliers, Pcp, PortId, RtosStack,
    Spread, Stack, Switch, Vid,
};
use rtether_model::quantity::{BitRate, Duration};
use rtether_model::record::{Place, Segment};
use rtether_model::route::Routing;
use rtether_model::unknown::CostName;

use crate::scenario::Scenario;

/// Factor by which a link is made faster.
const FASTER: u64 = 10;

/// One change of the plant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Candidate {
    /// Half the cost of a station's stack.
    Stack(NodeId),
    /// Ten times the rate of a link.
    Link(LinkId),
    /// Another priority of a flow.
    Priority(FlowId, Pcp),
}

impl Candidate {
    /// Changes the plant.
    pub(super) fn apply(self, scenario: &Scenario, analyzer: &mut Analyzer) -> Changes {
        match self {
            Self::Stack(_) | Self::Link(_) => analyzer.set_network(self.network(scenario)),
            Self::Priority(id, pcp) => {
                analyzer.replace(id, with_priority(&scenario.flows[id.index()], pcp))
            }
        }
    }

    /// Returns the scenario after the change.
    pub(crate) fn changed(self, scenario: &Scenario) -> Scenario {
        let mut flows = scenario.flows.clone();
        if let Self::Priority(id, pcp) = self {
            let flow = &mut flows[id.index()];
            *flow = with_priority(flow, pcp);
        }
        Scenario { network: self.network(scenario), flows, ..scenario.clone() }
    }

    /// Returns whether stations at a hub would have other turns than those of this network, or a link of a
    /// hub another rate than the hub: bounds of such a plant need its file.
    pub(crate) fn changes_turns(self, scenario: &Scenario) -> bool {
        let network = &scenario.network;
        match self {
            Self::Stack(_) => false,
            Self::Link(link) => {
                let mut ends = network.links[link.index()].ends.iter();
                ends.any(|end| network.hub(end.node).is_some())
            }
            // A tag makes the largest frame of a station longer.
            Self::Priority(flow, _) => {
                !network.access.is_empty() && scenario.flows[flow.index()].tag.is_none()
            }
        }
    }

    fn network(self, scenario: &Scenario) -> Network {
        let mut network = scenario.network.clone();
        match self {
            Self::Stack(node) => {
                if let NodeKind::EndStation(station) = &mut network.nodes[node.index()].kind {
                    station.stack = halved(&station.stack);
                    // Tasks have a processor of their own, and an interface none.
                    let others =
                        [CostName::TaskMessage, CostName::TaskSegment, CostName::Interface];
                    let own = station.unknown.iter_mut();
                    for unknown in own.filter(|own| !others.contains(&own.cost)) {
                        unknown.more = half(unknown.more);
                    }
                }
            }
            Self::Link(link) => {
                let link = &mut network.links[link.index()];
                link.rate = faster(link.rate);
            }
            Self::Priority(..) => {}
        }
        network
    }

    /// Reverts the change of the plant.
    pub(super) fn take_back(self, scenario: &Scenario, analyzer: &mut Analyzer) {
        match self {
            Self::Stack(_) | Self::Link(_) => analyzer.set_network(scenario.network.clone()),
            Self::Priority(flow, _) => analyzer.replace(flow, scenario.flows[flow.index()].clone()),
        };
    }

    /// Returns the change in words.
    pub(crate) fn words(self, scenario: &Scenario) -> String {
        let name = |node: NodeId| scenario.network.node(node).name.as_str();
        match self {
            Self::Stack(node) => format!("stack of {}: half the cost", name(node)),
            Self::Link(link) => {
                let link = &scenario.network.links[link.index()];
                let [a, b] = link.ends.map(|end| name(end.node));
                format!("link {a} - {b}: {} instead of {}", faster(link.rate), link.rate)
            }
            Self::Priority(flow, pcp) => {
                let flow = &scenario.flows[flow.index()];
                let old = pcp_of(flow).get();
                format!("flow {}: PCP {} instead of {old}", flow.name, pcp.get())
            }
        }
    }
}

impl Candidate {
    /// Returns the changes of parts on the way of a stream: stacks and links in the order of its path,
    /// then priorities.
    pub(crate) fn all(scenario: &Scenario, stream: &StreamBound) -> Vec<Self> {
        let network = &scenario.network;
        let mut found = Vec::new();
        let mut ports = Vec::new();
        for place in places(scenario, stream) {
            let port = place.port;
            let candidate = match place.segment {
                Segment::TalkerStack | Segment::ReceiveStack => Some(Self::Stack(port.node)),
                Segment::DriverQueue | Segment::SwitchQueue => {
                    ports.push(port);
                    link_at(network, port).map(Self::Link)
                }
                Segment::MediumAccess
                | Segment::Wire
                | Segment::SwitchLatency
                | Segment::ReceiveQueue
                | Segment::Protocol
                | Segment::Application => None,
            };
            found.extend(candidate.filter(|own| !found.contains(own)));
        }
        found.extend(priorities(scenario, stream.flow, &ports));
        found
    }
}

/// Returns the places of a bound; without one, those that the route tells.
fn places(scenario: &Scenario, stream: &StreamBound) -> Vec<Place> {
    if let Ok(bound) = &stream.bound {
        return bound.hops.iter().map(|hop| hop.place).collect();
    }
    let network = &scenario.network;
    let flow = &scenario.flows[stream.flow.index()];
    let of_station = |segment, node| Place { segment, port: PortId { node, port: 0 } };
    let routing = Routing::new(network);
    let paths = routing.flow_paths(network, flow, stream.listener);
    let hops = paths.unwrap_or_default().into_iter().flatten();
    let ports = hops.map(|hop| Place {
        segment: if hop.egress.node == flow.talker {
            Segment::DriverQueue
        } else {
            Segment::SwitchQueue
        },
        port: hop.egress,
    });
    let mut places = vec![of_station(Segment::TalkerStack, flow.talker)];
    places.extend(ports);
    places.push(of_station(Segment::ReceiveStack, stream.listener));
    places
}

fn link_at(network: &Network, port: PortId) -> Option<LinkId> {
    let mut links = network.iter_links();
    let link = links.find(|(_, link)| !link.standby && link.ends.contains(&port));
    link.map(|(id, _)| id)
}

/// Returns the next higher priority of a flow, and the next lower one of each flow that may go
/// before it at a port on its path.
fn priorities(scenario: &Scenario, own: FlowId, ports: &[PortId]) -> Vec<Candidate> {
    let network = &scenario.network;
    let chooses = |port: &PortId| {
        let switch = network.switch(port.node)?;
        let has_queues = !switch.plan_at(port.port).needs_only(&[]) && switch.queues.count() > 1;
        has_queues.then_some((*port, switch))
    };
    let ports: Vec<(PortId, &Switch)> = ports.iter().filter_map(chooses).collect();
    let Some(&(_, first)) = ports.first() else {
        return Vec::new();
    };
    let queue_of = |flow: &Flow| first.queues.queue_of(pcp_of(flow));
    let queue = queue_of(&scenario.flows[own.index()]);
    let mut found = Vec::new();
    let higher = next(first, |other| other > queue, false);
    found.extend(higher.map(|pcp| Candidate::Priority(own, pcp)));
    let routing = Routing::new(network);
    let shared: BTreeSet<PortId> = ports.iter().map(|(port, _)| *port).collect();
    for (id, flow) in (0u32..).map(FlowId).zip(&scenario.flows) {
        let level = queue_of(flow);
        if id == own || level < queue {
            continue;
        }
        let hops = routing.flow_hops(network, flow).unwrap_or_default();
        if hops.iter().any(|hop| shared.contains(&hop.egress)) {
            let lower = next(first, |other| other < level, true);
            found.extend(lower.map(|pcp| Candidate::Priority(id, pcp)));
        }
    }
    found
}

/// Returns a priority of the lowest, or the highest, of the wanted queues.
fn next(switch: &Switch, is_wanted: impl Fn(u8) -> bool, highest: bool) -> Option<Pcp> {
    let all = (0..8).filter_map(Pcp::new);
    let wanted = all.filter(|&pcp| is_wanted(switch.queues.queue_of(pcp)));
    let queue = |pcp: &Pcp| switch.queues.queue_of(*pcp);
    if highest { wanted.max_by_key(queue) } else { wanted.min_by_key(queue) }
}

fn pcp_of(flow: &Flow) -> Pcp {
    flow.tag.map_or(Pcp::default(), |tag| tag.pcp)
}

fn with_priority(flow: &Flow, pcp: Pcp) -> Flow {
    let vid = flow.tag.map_or(Vid::PRIORITY_ONLY, |tag| tag.vid);
    Flow { tag: Some(Tag { pcp, vid }), ..flow.clone() }
}

pub(crate) fn faster(rate: BitRate) -> BitRate {
    BitRate::from_bps(rate.as_bps().saturating_mul(FASTER))
}

/// Returns the stack on a processor twice as fast; half picoseconds are rounded up.
fn halved(stack: &Stack) -> Stack {
    match stack {
        Stack::Zero => Stack::Zero,
        Stack::IpRate { service } => Stack::IpRate { service: half(*service) },
        Stack::Linear(linear) => Stack::Linear(LinearStack {
            send: half_cost(linear.send),
            receive: half_cost(linear.receive),
            interface: linear.interface,
            jitter: half_jitter(&linear.jitter),
            servers: linear.servers,
        }),
        Stack::Rtos(rtos) => Stack::Rtos(RtosStack {
            datagram: half_cost(rtos.datagram),
            segment: half_cost(rtos.segment),
            acknowledgement: half_cost(rtos.acknowledgement),
            jitter: half_jitter(&rtos.jitter),
        }),
    }
}

fn half(span: Duration) -> Duration {
    Duration::from_ps(span.as_ps() / 2 + span.as_ps() % 2)
}

fn half_cost(cost: Cost) -> Cost {
    Cost { base: half(cost.base), per_octet: half(cost.per_octet) }
}

fn half_jitter(jitter: &Jitter) -> Jitter {
    Jitter {
        spread: match &jitter.spread {
            Spread::None => Spread::None,
            Spread::Uniform { max } => Spread::Uniform { max: half(*max) },
            Spread::Exponential { mean, max } => {
                Spread::Exponential { mean: half(*mean), max: half(*max) }
            }
            Spread::Empirical(measured) => {
                // Halving keeps the order of values, so that this does not fail.
                let halved = |of: &Quantiles| of.map(half).unwrap_or_else(|_| of.clone());
                Spread::Empirical(Box::new(Empirical {
                    send: halved(&measured.send),
                    receive: halved(&measured.receive),
                }))
            }
        },
        outliers: jitter.outliers.map(|rare| Outliers {
            per_million: rare.per_million,
            min: half(rare.min),
            max: half(rare.max),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtether_model::network::QueueMap;

    /// Oracle: the standard map of eight queues, in which 1 and 2 are below 0.
    #[test]
    fn the_next_priority_is_that_of_the_next_queue() {
        let text = "rtether: 1\nnodes: { a: { stack: zero }, b: { stack: zero } }\n\
            switches: { sw: { ports: 2, queues: 8 } }\n\
            links:\n  - { ends: [a, \"sw:1\"], rate: 100 Mbit/s }\n  - { ends: [b, \"sw:2\"], rate: 100 Mbit/s }\n\
            flows:\n  - { name: f, from: a, to: b, period: 1 ms, size: 60 B }\n";
        let scenario = crate::scenario::load("test.yaml", text).scenario.expect("good");
        let switch = scenario.network.switch(NodeId(2)).expect("the third node");
        assert_eq!(switch.queues, QueueMap::standard(8).expect("eight are allowed"));
        let higher = |queue| next(switch, |other| other > queue, false).map(Pcp::get);
        let lower = |queue| next(switch, |other| other < queue, true).map(Pcp::get);
        // Priority 0 is in queue 2, 1 in queue 0, 2 in queue 1.
        assert_eq!([higher(2), higher(0), higher(7)], [Some(3), Some(2), None]);
        assert_eq!([lower(2), lower(3), lower(0)], [Some(2), Some(0), None]);
    }
}
