//! The part of a plant that may delay one stream: the flows that share a place with it.
//!
//! Places are the stacks of end stations that take time, ports, and as one place each hub and the processor of each
//! router. Answers and acknowledgements count on their way back, copies of a multicast on all their
//! ways. Flows that share no place with the stream can delay it only through others; the whole plant
//! is simulated before anything is said of it.

use std::collections::{BTreeMap, BTreeSet};

use rtether_model::flow::{Flow, FlowId, Traffic};
use rtether_model::network::{Network, NodeId, NodeKind, PortId, Stack};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::route::{Hop, Routing};
use rtether_model::wire;

use super::freedom::Freedom;

/// Where packets wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// A station's stack, a hub or the processor of a router.
    Node(NodeId),
    /// A port.
    Port(PortId),
}

/// A place on the way of a flow to its first listener, or to that of the stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passage {
    pub(super) place: Place,
    /// From the arrival here to that at the next place, if nothing else is there; picoseconds.
    pub(super) time: i64,
    /// How long the packet keeps the place.
    pub(super) occupancy: i64,
}

/// The ways of all flows of a plant.
#[derive(Debug)]
pub(super) struct Ways<'a> {
    pub(super) network: &'a Network,
    pub(super) flows: &'a [Flow],
    routing: Routing,
    /// By flow.
    places: Vec<BTreeSet<Place>>,
    /// Whether flows depend on all others, so that no part stands alone.
    is_one: bool,
}

impl<'a> Ways<'a> {
    pub(super) fn new(network: &'a Network, flows: &'a [Flow]) -> Self {
        let routing = Routing::new(network);
        let places = flows.iter().map(|flow| places(network, &routing, flow)).collect();
        let is_one = network.admission.is_some() || flows.iter().any(Flow::is_published);
        Self { network, flows, routing, places, is_one }
    }

    /// Returns the way of a flow to one of its listeners; empty if there is none.
    fn way(&self, flow: &Flow, listener: usize) -> Vec<Passage> {
        let listener = flow.listeners.get(listener);
        let hops = listener.map(|own| self.routing.flow_path(self.network, flow, *own));
        let Some(Ok(hops)) = hops else {
            return Vec::new();
        };
        let frame = wire::frame_size(flow.payload, flow.encapsulation);
        let mut way = Vec::new();
        way.extend(served(self.network, flow, flow.talker));
        for hop in hops {
            let link = &self.network.links[hop.link.index()];
            let switch = self.network.switch(hop.ingress.node);
            let latency = switch.map_or(Duration::ZERO, |switch| switch.latency);
            let ends = [hop.egress.node, hop.ingress.node];
            let interfaces = ends.map(|end| interface(self.network, end, frame));
            let time = wire::wire_time(frame, link.rate) + link.propagation + latency;
            let time = interfaces.into_iter().fold(time, |time, own| time + own);
            way.push(Passage {
                place: Place::Port(hop.egress),
                time: time.as_ps(),
                occupancy: wire::occupancy(frame, link.rate).as_ps(),
            });
        }
        way.extend(listener.and_then(|own| served(self.network, flow, *own)));
        way
    }
}

/// Returns what the interface of a station takes for a frame on its way to the link, or from it.
fn interface(network: &Network, node: NodeId, frame: Bytes) -> Duration {
    match network.end_station(node).map(|station| &station.stack) {
        Some(Stack::Linear(own)) => own.interface.of(frame),
        _ => Duration::ZERO,
    }
}

/// Returns the passage of the stack of a station; `None` if it takes no time.
fn served(network: &Network, flow: &Flow, station: NodeId) -> Option<Passage> {
    let frame = wire::frame_size(flow.payload, flow.encapsulation);
    let is_talker = station == flow.talker;
    let cost = match &network.end_station(station)?.stack {
        Stack::Zero => return None,
        Stack::IpRate { service } => *service,
        Stack::Linear(own) if is_talker => own.send.of(frame),
        Stack::Linear(own) => own.receive.of(frame),
        Stack::Rtos(own) => own.datagram.of(frame),
    };
    Some(Passage { place: Place::Node(station), time: cost.as_ps(), occupancy: cost.as_ps() })
}

/// Returns all places that packets of a flow pass, in both directions.
fn places(network: &Network, routing: &Routing, flow: &Flow) -> BTreeSet<Place> {
    let mut places = BTreeSet::new();
    let takes_time = |station: NodeId| {
        let station = network.end_station(station);
        station.is_some_and(|own| {
            own.stack != Stack::Zero || own.tasks.is_some() || own.layer.is_some()
        })
    };
    let ends = std::iter::once(&flow.talker).chain(&flow.listeners);
    let ends = ends.filter(|&&end| takes_time(end));
    places.extend(ends.map(|&end| Place::Node(end)));
    let is_answered = flow.reply.is_some() || flow.is_acknowledged();
    for &listener in &flow.listeners {
        let there = routing.flow_path(network, flow, listener);
        let back = is_answered.then(|| routing.answer_path(network, flow, listener));
        let back = back.into_iter().flatten().flatten();
        for hop in there.into_iter().flatten().chain(back) {
            places.extend(passed(network, &hop));
        }
    }
    places
}

fn passed(network: &Network, hop: &Hop) -> impl Iterator<Item = Place> {
    let is_shared = |node: NodeId| {
        let is_hub = matches!(network.node(node).kind, NodeKind::Hub(_));
        is_hub || network.switch(node).is_some_and(|own| own.router.is_some())
    };
    let nodes = [hop.egress.node, hop.ingress.node];
    let nodes = nodes.into_iter().filter(move |&node| is_shared(node));
    std::iter::once(Place::Port(hop.egress)).chain(nodes.map(Place::Node))
}

/// The stream with the flows that take part; flows are in the order of the plant.
#[derive(Debug)]
pub(super) struct Part<'a> {
    pub(super) network: &'a Network,
    /// Numbers of the flows in the whole plant.
    pub(super) numbers: Vec<FlowId>,
    /// Position of the stream's flow.
    pub(super) own: usize,
    /// Position of its listener there.
    pub(super) listener: usize,
    pub(super) flows: Vec<Flow>,
    pub(super) freedoms: Vec<Freedom>,
    pub(super) ways: Vec<Vec<Passage>>,
    /// By flow: where it first meets the stream, as a position in the stream's way and in its own.
    pub(super) meetings: Vec<Option<(usize, usize)>>,
    /// Positions of the flows whose releases may be chosen, the stream's own included.
    pub(super) free: Vec<usize>,
    places: BTreeMap<Place, u32>,
}

impl<'a> Part<'a> {
    /// Returns the part for the stream of a flow to one of its listeners.
    pub(super) fn new(ways: &Ways<'a>, flow: FlowId, listener: usize) -> Self {
        let target = &ways.places[flow.index()];
        let takes_part = |number: usize| {
            ways.is_one || number == flow.index() || !ways.places[number].is_disjoint(target)
        };
        let numbers: Vec<FlowId> = (0u32..)
            .map(FlowId)
            .take(ways.flows.len())
            .filter(|number| takes_part(number.index()))
            .collect();
        let own = numbers.partition_point(|number| *number < flow);
        let flows: Vec<Flow> =
            numbers.iter().map(|number| ways.flows[number.index()].clone()).collect();
        let freedoms: Vec<Freedom> =
            flows.iter().map(|flow| Freedom::of(ways.network, flow)).collect();
        let of = |at: usize| if at == own { listener } else { 0 };
        let way: Vec<Vec<Passage>> =
            flows.iter().enumerate().map(|(at, flow)| ways.way(flow, of(at))).collect();
        let meetings = (0..flows.len()).map(|at| meeting(&way[own], &way[at]));
        let passed = numbers.iter().flat_map(|own| &ways.places[own.index()]);
        let passed: BTreeSet<Place> = passed.copied().collect();
        let free = (0..flows.len()).filter(|&at| freedoms[at] != Freedom::None);
        Self {
            network: ways.network,
            own,
            listener,
            meetings: meetings.collect(),
            free: free.collect(),
            places: passed.into_iter().zip(0..).collect(),
            numbers,
            flows,
            freedoms,
            ways: way,
        }
    }

    /// Returns the number of a place, if flows of the part pass it.
    pub(super) fn place(&self, place: Place) -> Option<u32> {
        self.places.get(&place).copied()
    }

    /// Returns the position of the stream among those of the part.
    pub(super) fn stream(&self) -> usize {
        let before = self.flows[..self.own].iter();
        before.map(|flow| flow.listeners.len()).sum::<usize>() + self.listener
    }

    /// Returns when flows begin to send files.
    pub(super) fn files(&self) -> impl Iterator<Item = Duration> {
        let starts = |flow: &Flow| {
            let Traffic::Bulk(bulk) = &flow.traffic else {
                return None;
            };
            bulk.transfers.first().map(|first| first.start)
        };
        self.flows.iter().filter_map(starts)
    }
}

fn meeting(own: &[Passage], other: &[Passage]) -> Option<(usize, usize)> {
    own.iter().enumerate().find_map(|(at, here)| {
        let there = other.iter().position(|there| there.place == here.place)?;
        Some((at, there))
    })
}
