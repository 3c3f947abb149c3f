//! Accesses of a packet to shared media, and the shortest time of the rest of its path.

use rtether_model::flow::{Flow, Phase, Traffic};
use rtether_model::network::{
    Buffer, Duplex, EndStation, Hub, Network, NodeId, NodeKind, PortId, Switch,
};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::record::Segment;
use rtether_model::route::{Hop, RouteError, Routing};
use rtether_model::wire::Encapsulation;

use crate::scenario::{Domains, Scenario};

/// One access to a shared medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Access {
    /// Sending port.
    pub(super) port: PortId,
    /// Number of the collision domain.
    pub(super) domain: usize,
}

/// Returns the accesses of a frame on its path; hubs only repeat and need none.
pub(super) fn between(
    network: &Network,
    domains: &Domains,
    hops: Result<Vec<Hop>, RouteError>,
) -> Option<Vec<Access>> {
    let hops = hops.ok()?;
    let sent = hops.into_iter().filter_map(|hop| {
        let domain = domains.of(hop.link)?;
        let is_hub = network.hub(hop.egress.node).is_some();
        (!is_hub).then_some(Access { port: hop.egress, domain })
    });
    Some(sent.collect())
}

/// Returns the accesses of a packet, followed by those of its answer.
pub(super) fn accesses(
    network: &Network,
    domains: &Domains,
    routing: &Routing,
    flow: &Flow,
    listener: NodeId,
) -> Option<Vec<Access>> {
    let there = routing.flow_path(network, flow, listener);
    let there = between(network, domains, there)?;
    let mut all = there.repeat(segments(flow, flow.payload));
    if let Some(reply) = flow.reply {
        let back = routing.answer_path(network, flow, listener);
        let back = between(network, domains, back)?;
        all.extend(back.repeat(segments(flow, reply.payload)));
    }
    Some(all)
}

/// Returns the number of frames of a message.
fn segments(flow: &Flow, payload: Bytes) -> usize {
    let segment = flow.connection.map_or(payload, |tcp| tcp.segment);
    let frames = payload.get().div_ceil(segment.get().max(1)).max(1);
    usize::try_from(frames).unwrap_or(usize::MAX)
}

/// A period longer than any latency, so that packets never wait.
const SELDOM: Duration = Duration::from_secs(3_600);

/// Returns, for each stream, the least time that its packets spend outside of shared media.
///
/// The times come from the analysis of a twin of the plant: switches instead of hubs, full duplex,
/// no layers in end stations, and periods so long that waits do not matter. Only the passage times
/// of its bounds are used, without transmissions on media.
pub(super) fn shortest(
    scenario: &Scenario,
    domains: &Domains,
    routing: &Routing,
) -> Vec<Option<Duration>> {
    let network = twin(&scenario.network);
    let flows: Vec<Flow> = scenario.flows.iter().map(seldom).collect();
    let analysis = rtether_bounds::analyze(&network, &flows);
    let is_medium = |port: PortId| routing.link_at(port).is_some_and(|l| domains.of(l).is_some());
    let streams = analysis.streams.iter().map(|stream| {
        let bound = stream.bound.as_ref().ok()?;
        let outside = bound.hops.iter().filter(|hop| {
            let is_port = matches!(hop.place.segment, Segment::DriverQueue | Segment::SwitchQueue);
            !is_port || !is_medium(hop.place.port)
        });
        let passing: Duration = outside.map(|hop| hop.passage).sum();
        let flow = &scenario.flows[stream.flow.index()];
        let trips = 1 + i64::from(flow.reply.is_some());
        let ends = [flow.talker, stream.listener].map(|end| scenario.network.end_station(end));
        let tasks = ends.into_iter().flatten().filter_map(|end| end.tasks);
        let messages: Duration = tasks.map(|tasks| tasks.message).sum();
        Some(passing + messages * trips)
    });
    streams.collect()
}

fn twin(network: &Network) -> Network {
    let mut twin = network.clone();
    twin.access.clear();
    for link in &mut twin.links {
        link.duplex = Duplex::Full;
    }
    for node in &mut twin.nodes {
        match &mut node.kind {
            NodeKind::EndStation(station) => {
                *station = EndStation::new(station.stack.clone());
            }
            NodeKind::Hub(hub) => node.kind = NodeKind::Switch(switch_for(hub)),
            NodeKind::Switch(_) => {}
        }
    }
    twin
}

fn switch_for(hub: &Hub) -> Switch {
    Switch {
        latency: hub.delay,
        buffer: Buffer::per_port(Bytes::new(1_000_000)),
        ..Switch::new(usize::from(hub.ports))
    }
}

fn seldom(flow: &Flow) -> Flow {
    // A sample counts as a UDP datagram with the headers of RTPS.
    let udp = Encapsulation::Udp;
    let (encapsulation, headers) = if flow.is_published() {
        (udp, flow.encapsulation.header_size() - udp.header_size())
    } else {
        (flow.encapsulation, Bytes::ZERO)
    };
    let (segment, connection) = match (&flow.traffic, flow.connection) {
        (Traffic::Bulk(bulk), _) => (bulk.tcp.segment, None),
        (_, Some(tcp)) => (tcp.segment, None),
        (_, None) => (flow.payload, None),
    };
    Flow {
        traffic: Traffic::periodic(SELDOM, Phase::Random),
        encapsulation,
        payload: flow.payload.min(segment) + headers,
        connection,
        reply: flow.reply.map(|reply| rtether_model::flow::Reply {
            payload: match flow.connection {
                Some(tcp) => reply.payload.min(tcp.segment),
                None => reply.payload + headers,
            },
            ..reply
        }),
        start: Duration::ZERO,
        stop: None,
        deadline: None,
        ..flow.clone()
    }
}
