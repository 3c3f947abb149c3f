//! What total flow analysis claims of each visit, for a checker that knows nothing of ours.
//!
//! A claim is the longest wait of a visit under the arrivals claimed there. If every claim
//! holds as one step, from the source or from the claims before it, they are the fixed point that [`crate::solve`]
//! searched for, and all bounds of total flow analysis hold.
//!
//! Arrivals are claimed as far as a staircase of one flow alone says them: its releases with a jitter, or
//! the limit of a processor, a gap or an address table behind which they are. What rests on anything else
//! (a smoother, a policer) is left open, and so is what comes behind it. Where several flows share the time
//! of a processor, a checker joins their staircases as [`crate::output_limit`] does.

use alloc::vec;
use alloc::vec::Vec;

use rtether_model::endnode::{Layer, ReceiveSelection, TransmitStrategy};
use rtether_model::flow::{Delivery, Flow, FlowId, Traffic};
use rtether_model::network::{Network, Node, NodeId, NodeKind, PortId};
use rtether_model::quantity::Duration;

use crate::classify::Way;
use crate::curve::JITTER_MAX;
use crate::discipline::Discipline;
use crate::frame::Frame;
use crate::index::NONE;
use crate::output_limit::Staircase;
use crate::plant::{Plant, Server, ServerKind, Stream, Visit};
use crate::solution::Solution;
use crate::solve;
use crate::source::INFINITE;
use crate::stack::processors;
use crate::whole;

/// Claims of a whole plant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    /// By flow: whether it is taken to get every answer before it gives up.
    pub waits: Vec<bool>,
    /// Visits by flow, each before those behind it.
    pub visits: Vec<VisitClaim>,
    /// The bound of total flow analysis for each flow and listener, as in [`crate::Analysis::streams`];
    /// `None` without one, and where a delay on the way is not claimed.
    pub bounds: Vec<Option<Duration>>,
}

/// What is claimed of one flow at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VisitClaim {
    /// The flow.
    pub flow: FlowId,
    /// The listener to whom, or from whom, the packet is on its way; `None` for one to a group.
    pub copy: Option<NodeId>,
    /// Whether the packet answers another one.
    pub is_answer: bool,
    /// Where it waits.
    pub place: ClaimPlace,
    /// Arrivals here; `None` if nothing limits them but the place before.
    pub arrivals: Option<Arrivals>,
    /// How the place chooses, and the longest wait until service begins; `None` without a claim.
    pub delay: Option<(Choice, Duration)>,
}

/// A place that serves packets one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimPlace {
    /// A port.
    Port(PortId),
    /// The processor of a stack: for both directions, or for received (`true`) or sent packets.
    Stack(NodeId, Option<bool>),
    /// The processor of the applications of a station.
    Tasks(NodeId),
    /// The processor of a router.
    Router(NodeId),
    /// What keeps the gap of a flow at its talker.
    Gap(NodeId),
}

/// How a place chooses the next packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// In order of arrival.
    Arrival,
    /// The highest queue first, without preemption.
    Priority,
    /// A higher queue interrupts.
    Preemption,
    /// Turns of a number of frames.
    Frames,
    /// Turns of a number of octets.
    Octets,
    /// Each frame of a flow when its gap has passed since the one before.
    Gap,
    /// By credits, which a queue gets at its idle slope.
    Credit,
    /// What is due first.
    Deadline,
    /// Receive queues, the highest class first.
    Highest,
    /// Receive queues whose heads are promoted.
    Promoting,
    /// Receive queues with a flag that lets a lower frame pass.
    Flag,
    /// High frames into the ring at once, a low one when it is empty.
    Moderate,
    /// High frames into the ring, each with a low one behind it.
    Strict,
    /// A ring for each of the highest classes.
    Rings,
}

/// A closed window of length `t` holds at most `burst * (floor((t + jitter) / period) + 1)` packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrivals {
    /// Distance of the steps.
    pub period: Duration,
    /// Packets at each step.
    pub burst: i64,
    /// How far the first steps may be ahead.
    pub jitter: Duration,
}

/// Returns what total flow analysis claims of every visit of messages that are single packets or
/// datagrams, and of files; what stations send by themselves for addresses and channels has none.
///
/// # Panics
/// As [`crate::analyze`].
pub fn claims(network: &Network, flows: &[Flow]) -> Claims {
    let (plant, solution) = whole::solve(network, flows);
    let mut writer = Writer::new(network, (&plant, &solution), flows);
    for visit in (0u32..).take(plant.visits.len()) {
        writer.add(visit);
    }
    let waits = plant.sources.iter().zip(flows).map(|(source, flow)| {
        let is_asking = matches!(flow.traffic, Traffic::Adaptive { .. } | Traffic::Bulk(_));
        is_asking && flow.connection.is_none() && source.closed.is_some()
    });
    let bounds = plant.results().map(|copies| writer.bound(copies)).collect();
    Claims { waits: waits.collect(), bounds, visits: writer.found }
}

/// Returns the class that the header rules of a station give to untagged frames of a flow on their way to a
/// listener, or `None` to a group, or with its answers; `None` if those of one message have several.
pub fn untagged_class(
    layer: &Layer,
    (number, flow): (FlowId, &Flow),
    listener: Option<NodeId>,
    is_answer: bool,
) -> Option<u8> {
    let (from, to) = match listener {
        Some(listener) if is_answer => (listener, Some(flow.talker)),
        to => (flow.talker, to),
    };
    let way = Way { flow, number: number.0, from, to, is_answer };
    let frame = Frame::of(flow, is_answer).untagged();
    let is_one = frame.count == 1 || way.has_one_class(layer, &frame);
    is_one.then(|| way.class(layer, &frame))
}

struct Writer<'a> {
    plant: &'a Plant,
    solution: &'a Solution,
    flows: &'a [Flow],
    /// By visit: the listener, and whether it answers.
    ways: Vec<(Option<NodeId>, bool)>,
    /// By visit: whether its arrivals and its delay are claimed.
    is_known: Vec<bool>,
    /// By flow: first visits so far.
    begun: Vec<usize>,
    /// By node: whether its stack has a processor for each direction.
    is_double: Vec<bool>,
    found: Vec<VisitClaim>,
}

impl<'a> Writer<'a> {
    fn new(
        network: &Network,
        (plant, solution): (&'a Plant, &'a Solution),
        flows: &'a [Flow],
    ) -> Self {
        Self {
            plant,
            solution,
            flows,
            ways: vec![(None, false); plant.visits.len()],
            is_known: vec![false; plant.visits.len()],
            begun: vec![0; flows.len()],
            is_double: network.nodes.iter().map(is_double).collect(),
            found: Vec::new(),
        }
    }

    fn add(&mut self, id: u32) {
        let visit = &self.plant.visits[id as usize];
        let Some(flow) = self.flows.get(visit.flow as usize) else { return };
        self.ways[id as usize] = self.way(flow, visit);
        let server = &self.plant.servers[visit.server as usize];
        let arrivals = self.arrivals(id);
        let choice = choice(server).filter(|_| server.obstacle.is_none());
        let wait = self.solution.wait[id as usize];
        let delay = choice.filter(|_| wait < INFINITE);
        self.is_known[id as usize] = arrivals.is_some() && delay.is_some();
        let Some(place) = self.place(server) else { return };
        // Its segments and acknowledgements are no packets of a kind that a claim names.
        if flow.connection.is_some() {
            return;
        }
        let (copy, is_answer) = self.ways[id as usize];
        self.found.push(VisitClaim {
            flow: FlowId(visit.flow),
            copy,
            is_answer,
            place,
            arrivals,
            delay: delay.map(|choice| (choice, Duration::from_ps(wait))),
        });
    }

    /// Returns the listener of a visit, and whether its packets are answers.
    fn way(&mut self, flow: &Flow, visit: &Visit) -> (Option<NodeId>, bool) {
        let server = &self.plant.servers[visit.server as usize];
        if visit.is_answer {
            // It begins where the request was delivered.
            return (Some(crate::memory::node_of(server.kind)), true);
        }
        if visit.parent != NONE {
            return self.ways[visit.parent as usize];
        }
        let count = &mut self.begun[visit.flow as usize];
        let copy = flow.listeners.get(*count).copied();
        *count += 1;
        let is_group = flow.delivery == Delivery::Multicast;
        (copy.filter(|_| !is_group), false)
    }

    /// Returns the arrivals of a visit as far as they are those of one flow alone.
    fn arrivals(&self, id: u32) -> Option<Arrivals> {
        let visit = &self.plant.visits[id as usize];
        let source = &self.plant.sources[visit.flow as usize];
        let [jitter, drift] =
            [&self.solution.jitter, &self.solution.drift].map(|own| own[id as usize]);
        let limit = self.plant.limit_of(visit).and_then(|limit| {
            let is_closed = source.closed.is_some();
            limit.of_one_flow(is_closed).map(|own| (limit, own))
        });
        let by_release = Staircase { period: source.period, burst: source.burst, ahead: jitter };
        let released = [source.burst * visit.frames, source.period, jitter];
        let is_timed =
            limit.filter(|(limit, _)| limit.is_timer && !limit.is_above(drift, released));
        let (stairs, begins) = match (source.is_limited(), is_timed, limit) {
            (true, None, _) => (by_release, visit.parent == NONE || self.is_closed(id)),
            (true, Some((limit, own)), _) | (false, _, Some((limit, own))) => {
                (Staircase { ahead: own.ahead + drift, ..own }, limit.begins)
            }
            (false, _, None) => return None,
        };
        let is_shown = begins || self.is_known[visit.parent as usize];
        (is_shown && stairs.ahead < JITTER_MAX).then(|| Arrivals {
            period: Duration::from_ps(stairs.period),
            burst: stairs.burst * visit.frames,
            jitter: Duration::from_ps(stairs.ahead),
        })
    }

    /// Returns whether the packets of a visit keep the distance of requests that wait for their answers.
    fn is_closed(&self, id: u32) -> bool {
        let visit = &self.plant.visits[id as usize];
        let flow = &self.flows[visit.flow as usize];
        let waits = matches!(flow.traffic, Traffic::Adaptive { .. });
        let is_closed = self.plant.sources[visit.flow as usize].closed.is_some();
        waits && is_closed && self.plant.leads_on[id as usize]
    }

    /// Returns the bound of a stream in one network, if all its delays are claimed.
    fn bound(&self, copies: &[Stream]) -> Option<Duration> {
        let [stream] = copies else { return None };
        let mut at = stream.end.as_ref().ok()?.0;
        while at != NONE {
            if !self.is_known[at as usize] {
                return None;
            }
            at = self.plant.visits[at as usize].parent;
        }
        solve::latency(self.plant, self.solution, stream).map(Duration::from_ps)
    }

    fn place(&self, server: &Server) -> Option<ClaimPlace> {
        Some(match server.kind {
            ServerKind::Switch(port) | ServerKind::Station(port) => ClaimPlace::Port(port),
            ServerKind::Stack { node, is_receiver } => {
                ClaimPlace::Stack(node, self.is_double[node.index()].then_some(is_receiver))
            }
            ServerKind::Tasks { node } => ClaimPlace::Tasks(node),
            ServerKind::Router(node) => ClaimPlace::Router(node),
            ServerKind::Gap(node) => ClaimPlace::Gap(node),
            // It has no name in a claim; the port below it has no rule.
            ServerKind::Smoother(_) => return None,
        })
    }
}

/// Returns whether the stack of a node has two processors.
fn is_double(node: &Node) -> bool {
    matches!(&node.kind, NodeKind::EndStation(station) if processors(&station.stack) == 2)
}

/// Returns how a place chooses, if a claim has a word for it.
fn choice(server: &Server) -> Option<Choice> {
    match server.discipline {
        Discipline::Fifo => Some(Choice::Arrival),
        Discipline::Strict => Some(Choice::Priority),
        Discipline::Gap => Some(Choice::Gap),
        Discipline::RoundRobin(_) => Some(Choice::Frames),
        Discipline::Deficit(_) => Some(Choice::Octets),
        Discipline::Preemptive => Some(Choice::Preemption),
        Discipline::Credit(_) => Some(Choice::Credit),
        Discipline::Deadline => Some(Choice::Deadline),
        Discipline::Receive(queues) => Some(match queues.selection {
            ReceiveSelection::HighestFirst => Choice::Highest,
            ReceiveSelection::Promoting { .. } => Choice::Promoting,
            ReceiveSelection::LowFlag { .. } => Choice::Flag,
        }),
        Discipline::Driver(ref driver) => match driver.strategy_alone()? {
            TransmitStrategy::Fifo => Some(Choice::Arrival),
            TransmitStrategy::Moderate { .. } => Some(Choice::Moderate),
            TransmitStrategy::Strict { .. } => Some(Choice::Strict),
            TransmitStrategy::Rings { .. } => Some(Choice::Rings),
            TransmitStrategy::Selection(_) => None,
        },
        Discipline::Access(_) | Discipline::Smoother(_) => None,
    }
}
