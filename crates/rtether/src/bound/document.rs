//! Bounds as one JSON document, schema `rtether.bound/1`.
//!
//! Serialized from structures, without a tree of values: thousands of flows take milliseconds.

use std::collections::BTreeMap;

use rtether_bounds::{Analysis, Condition, StreamBound};
use rtether_model::flow::FlowId;
use rtether_model::ingress::Cause;
use rtether_model::network::{Feature, Network, NodeKind};
use rtether_model::partition::LocalDeadlines;
use rtether_model::quantity::Duration;
use rtether_model::record::{Place, Segment};
use rtether_model::route::Routing;
use rtether_report::document;
use rtether_report::number::Ns;
use schemars::JsonSchema;
use serde::Serialize;

use super::conclusion::conclusion;
use super::condition::{self, OnlyIf};
use super::names::{Names, flow_limit};
use super::ports::{PortUse, StackUse, State, ports, stacks};
use super::{MODEL, Statistical, reason, statistical, verdict};
use crate::bound::assumed::{Assumed, AssumedJson};
use crate::scenario::Scenario;
use crate::sums::{self, BoundOfSum, SumJson};
use crate::words::Conclusion;

/// Proved bounds; `null` where there is no bound or no deadline.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Document<'a> {
    /// Title of the scenario.
    scenario: &'a str,
    conclusion: Conclusion,
    /// What the bounds rest on, and what matters most; only if the scenario assumes anything, or
    /// stacks take no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    assumed: Option<AssumedJson<'a>>,
    /// Whether flows depend on each other in a cycle.
    is_cyclic: bool,
    /// Each flow and listener.
    streams: Vec<Stream<'a>>,
    /// Requirements over several flows, if there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sums: Vec<SumJson<'a, BoundOfSum>>,
    /// Each sending port.
    ports: Vec<Port>,
    /// Each memory that all ports of a switch share.
    shared_buffers: Vec<Shared<'a>>,
    /// Each stack that takes time.
    stacks: Vec<Stack<'a>>,
    /// Each memory with a limit.
    memories: Vec<Store>,
    /// Each flow with unlimited releases.
    open_flows: Vec<Open<'a>>,
    /// Each policer that flows pass.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    policers: Vec<Policer<'a>>,
}

impl document::Document for Document<'_> {
    const SCHEMA: &'static str = "rtether.bound/1";
}

#[derive(Serialize, JsonSchema)]
struct Shared<'a> {
    /// Name of the switch.
    switch: &'a str,
    /// Its size.
    buffer_bytes: u64,
    /// Backlog of all its ports together; `null` if that of any port is unknown.
    backlog_bytes: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
struct Store {
    /// The memory in words.
    place: String,
    /// `octets` or `packets`.
    unit: &'static str,
    /// The most at once while nothing is dropped; `null` if nothing limits it.
    need: Option<u64>,
    /// Its size.
    has: u64,
    /// `ok`, `buffer`, `overload` or `no-bound`.
    state: &'static str,
}

#[derive(Serialize, JsonSchema)]
struct Policer<'a> {
    /// Name of the switch.
    switch: &'a str,
    /// Its port, counted from 1.
    port: u16,
    /// The rule at this port, counted from 1.
    rule: u16,
    /// Whether it is proved that no frame exceeds the limit.
    is_kept: bool,
}

#[derive(Serialize, JsonSchema)]
struct Open<'a> {
    /// Name of the flow.
    flow: &'a str,
    /// What limits it.
    limit: String,
}

#[derive(Serialize, JsonSchema)]
struct Stream<'a> {
    /// Name of the flow.
    name: &'a str,
    /// End station that sends.
    talker: &'a str,
    /// End station that receives.
    listener: &'a str,
    /// Deadline of the flow.
    deadline_ns: Option<Ns>,
    /// The least bound of all methods.
    bound_ns: Option<Ns>,
    /// What a packet takes at least.
    min_ns: Option<Ns>,
    /// The deadline minus the bound.
    slack_ns: Option<Ns>,
    /// Method of the bound.
    method: Option<&'static str>,
    /// Bound of each method that found one.
    by_method_ns: Option<BTreeMap<&'static str, Ns>>,
    /// Places on its way, in order.
    hops: Option<Vec<Hop<'a>>>,
    /// `ok`, `if-delivered`, `if-nothing-dropped`, `not-proved`, `no-bound` or `unjudged`.
    verdict: &'static str,
    /// What must drop nothing for the bound to be a proof.
    #[serde(skip_serializing_if = "Option::is_none")]
    only_if: Option<OnlyIf>,
    /// On shared media, what a model says; no bound.
    statistical: Option<Said>,
    /// Why there is no bound.
    reason: Option<String>,
}

/// Result of a model for a stream on a shared medium.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Said {
    /// Share of late packets.
    late_ratio: f64,
    /// Accesses to media on the way.
    accesses: u32,
    /// Number of collisions that a packet in time stays below.
    collisions: u32,
    /// Part of the deadline for each access.
    part_ns: Ns,
    /// The model in words.
    model: &'static str,
}

/// Returns the result of a model in the form used by the documents.
pub(crate) fn said(of: &Statistical) -> Said {
    Said {
        late_ratio: of.late_ratio,
        accesses: of.accesses,
        collisions: of.collisions,
        part_ns: Ns(of.part),
        model: MODEL,
    }
}

#[derive(Serialize, JsonSchema)]
struct Hop<'a> {
    /// The place in words.
    place: &'a str,
    /// Longest wait before service or transmission begins.
    queueing_ns: Ns,
    /// Longest time from there to the next place.
    passage_ns: Ns,
    /// Part of the deadline for this place, if the port selects by deadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    local_deadline_ns: Option<Ns>,
}

#[derive(Serialize, JsonSchema)]
struct Port {
    /// The port, `NODE to PEER`.
    #[serde(rename = "port")]
    name: String,
    /// Offered share of wire time; `null` if it is unlimited.
    utilization: Option<f64>,
    /// Most octets that wait at once.
    backlog_bytes: Option<u64>,
    /// Octets that have room.
    buffer_bytes: u64,
    /// Longest wait.
    queueing_ns: Option<Ns>,
    /// `ok`, `buffer`, `overload` or `no-bound`.
    state: &'static str,
}

#[derive(Serialize, JsonSchema)]
struct Stack<'a> {
    /// Name of the station.
    node: &'a str,
    /// `tasks` for the processor of applications, `receive` for one that serves only received
    /// packets, else `send`.
    serves: &'static str,
    /// Offered share of its time; `null` if it is unlimited.
    utilization: Option<f64>,
    /// Most packets that wait at once.
    waiting_packets: Option<u64>,
    /// Packets that have room.
    queue_packets: Option<u64>,
    /// Longest wait.
    queueing_ns: Option<Ns>,
    /// `ok`, `buffer`, `overload` or `no-bound`.
    state: &'static str,
}

/// Makes one document of the whole analysis, schema `rtether.bound/1`, and returns what becomes of it.
pub(super) fn with<R>(
    scenario: &Scenario,
    analysis: &Analysis,
    then: impl FnOnce(&Document<'_>) -> R,
) -> R {
    let names = Names::new(scenario);
    let places = places(&names, analysis);
    let network = &scenario.network;
    let uses = network.selects_by_deadline() && !network.divides_anew();
    let parts = uses.then(|| LocalDeadlines::new(network, &scenario.flows, &Routing::new(network)));
    let streams = analysis.judged().zip(statistical(scenario));
    let open = analysis.open_flows.iter().map(|open| Open {
        flow: &scenario.flows[open.flow.index()].name,
        limit: flow_limit(scenario, open.limit),
    });
    let shared = scenario.network.iter_nodes().filter_map(|(id, node)| {
        let buffer = scenario.network.switch(id)?.buffer.shared?;
        let own = analysis.ports.iter().filter(|port| port.port.node == id);
        let backlogs = own.map(|port| Some(port.backlog?.get()));
        Some(Shared {
            switch: &node.name,
            buffer_bytes: buffer.get(),
            backlog_bytes: backlogs.sum(),
        })
    });
    let assumed = Assumed::said(scenario, analysis);
    let sums = sums::proved(scenario, analysis);
    let document = Document {
        scenario: &scenario.name,
        conclusion: conclusion(scenario, analysis),
        assumed: assumed.as_ref().map(|own| own.json(scenario)),
        is_cyclic: analysis.effort.is_cyclic,
        streams: streams
            .map(|((own, condition), said)| {
                let part = |place| local_deadline(network, parts.as_ref()?, own.flow, place);
                let judged = (own, condition);
                let stream = stream(scenario, (&names, &places), judged, said.as_ref(), part);
                Stream {
                    only_if: condition.map(|own| condition::json(&names, analysis, own)),
                    ..stream
                }
            })
            .collect(),
        sums: sums::json(&sums, |bound_ns| BoundOfSum { bound_ns }),
        ports: ports(scenario, analysis).map(|port| Port::of(&names, &port)).collect(),
        shared_buffers: shared.collect(),
        stacks: stacks(analysis).map(|stack| Stack::of(&names, &stack)).collect(),
        memories: memories(&names, analysis),
        open_flows: open.collect(),
        policers: analysis
            .policers
            .iter()
            .filter(|policer| policer.cause == Cause::Exceeded)
            .map(|policer| Policer {
                switch: &scenario.network.node(policer.port.node).name,
                port: policer.port.port + 1,
                rule: policer.rule + 1,
                is_kept: policer.is_kept,
            })
            .collect(),
    };
    then(&document)
}

/// Returns each memory with a limit.
fn memories(names: &Names<'_>, analysis: &Analysis) -> Vec<Store> {
    let stores = analysis.memories.iter().map(|memory| Store {
        place: condition::holder(names, memory.holder),
        unit: if memory.is_in_octets() { "octets" } else { "packets" },
        need: memory.need,
        has: memory.limit,
        state: State::of_memory(memory).name(),
    });
    stores.collect()
}

/// Returns the names of all places on the paths of streams, computed once per place.
fn places(names: &Names<'_>, analysis: &Analysis) -> BTreeMap<Place, String> {
    let mut places = BTreeMap::new();
    let bounds = analysis.streams.iter().filter_map(|s| s.bound.as_ref().ok());
    for hop in bounds.flat_map(|bound| &bound.hops) {
        let place = places.entry(hop.place);
        place.or_insert_with(|| names.place(hop.place));
    }
    places
}

/// Returns how long after its arrival a packet is due at a port that selects by deadline.
fn local_deadline(
    network: &Network,
    parts: &LocalDeadlines,
    flow: FlowId,
    place: Place,
) -> Option<Duration> {
    let port = place.port;
    let selects = match (&network.node(port.node).kind, place.segment) {
        (NodeKind::EndStation(station), Segment::DriverQueue) => station.by_deadline,
        (NodeKind::Switch(switch), Segment::SwitchQueue) => {
            switch.plan_at(port.port).needs(Feature::Deadlines)
        }
        _ => false,
    };
    parts.at(flow.index(), port).filter(|_| selects)
}

fn stream<'a>(
    scenario: &'a Scenario,
    (names, places): (&Names<'a>, &'a BTreeMap<Place, String>),
    (stream, condition): (&StreamBound, Option<&Condition>),
    of: Option<&Statistical>,
    part: impl Fn(Place) -> Option<Duration>,
) -> Stream<'a> {
    let flow = &scenario.flows[stream.flow.index()];
    let bound = stream.bound.as_ref().ok();
    let by_method = bound.map(|bound| {
        let all = bound.by_method.iter();
        all.map(|(method, latency)| (method.name(), Ns(*latency)))
    });
    let hops = bound.map(|bound| {
        let hops = bound.hops.iter().map(|hop| Hop {
            place: &places[&hop.place],
            queueing_ns: Ns(hop.queueing),
            passage_ns: Ns(hop.passage),
            local_deadline_ns: part(hop.place).map(Ns),
        });
        hops.collect()
    });
    Stream {
        name: &flow.name,
        talker: names.node(flow.talker),
        listener: names.node(stream.listener),
        deadline_ns: flow.deadline.map(Ns),
        bound_ns: bound.map(|bound| Ns(bound.latency)),
        min_ns: bound.map(|bound| Ns(bound.latency_min)),
        slack_ns: bound.and_then(|bound| Some(Ns(bound.slack?))),
        method: bound.map(|bound| bound.method.name()),
        by_method_ns: by_method.map(Iterator::collect),
        hops,
        verdict: verdict(scenario, (stream, condition)),
        only_if: None,
        statistical: of.map(said),
        reason: stream.bound.as_ref().err().map(|why| reason(scenario, why)),
    }
}

impl Port {
    fn of(names: &Names<'_>, port: &PortUse<'_>) -> Self {
        Self {
            name: names.port(port.bound.port),
            utilization: port.utilization(),
            backlog_bytes: port.bound.backlog.map(rtether_model::quantity::Bytes::get),
            buffer_bytes: port.buffer.get(),
            queueing_ns: port.bound.queueing.map(Ns),
            state: port.state().name(),
        }
    }
}

impl<'a> Stack<'a> {
    fn of(names: &Names<'a>, stack: &StackUse<'_>) -> Self {
        Self {
            node: names.node(stack.bound.node),
            serves: stack.serves(),
            utilization: stack.utilization(),
            waiting_packets: stack.waiting(),
            queue_packets: stack.queue(),
            queueing_ns: stack.bound.queueing.map(Ns),
            state: stack.state().name(),
        }
    }
}
