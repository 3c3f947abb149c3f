//! The plant of a certificate: every value that a bound depends on, in whole picoseconds, octets and
//! bit/s. Phases, names of classes and all that only a simulation needs are left out.

use core::fmt;

use rtether_bounds::{Analysis, Reason, untagged_class};
use rtether_model::endnode::{
    Layer, LowTurn, Receive, ReceiveConfig, ReceiveSelection, RingEmpty, TransmitConfig,
    TransmitStrategy,
};
use rtether_model::flow::{Bulk, Delivery, Flow, FlowId, Traffic};
use rtether_model::network::{
    AddressTable, Cost, EndStation, Feature, ForwardingMode, Jitter, Link, MulticastForwarding,
    Network, NodeId, NodeKind, Pcp, PortId, PortPlan, PortVlan, Selection, Servers, Stack, Switch,
    TagHandling,
};
use rtether_model::partition::LocalDeadlines;
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::route::{Hop, Routing};
use rtether_model::unknown::{CostName, more, stated};
use rtether_model::wire::Encapsulation;
use schemars::JsonSchema;
use serde::Serialize;

/// What a plant has that the format of certificates cannot express.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beyond(pub String);

impl fmt::Display for Beyond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no certificate: its format cannot express {}", self.0)
    }
}

/// Everything that the claims are about.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PlantJson<'a> {
    /// Title of the scenario.
    name: &'a str,
    /// Stations and switches.
    nodes: Vec<NodeJson<'a>>,
    /// Links.
    links: Vec<LinkJson<'a>>,
    /// Flows.
    flows: Vec<FlowJson<'a>>,
}

/// A station or a switch.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum NodeJson<'a> {
    /// An end station.
    Station(Box<StationJson<'a>>),
    /// A switch, or a router.
    Switch(Box<SwitchJson<'a>>),
}

#[derive(Serialize, JsonSchema)]
struct StationJson<'a> {
    /// Unique name.
    name: &'a str,
    /// Parts for which the format has no rule, as `port: WHAT` or `stack: WHAT`.
    beyond: Vec<&'static str>,
    /// Its protocol stack; `null` if it takes no time.
    stack: Option<StackJson>,
    /// What its network interface adds each way, without serving one packet after the other.
    interface: Option<InterfaceJson>,
    /// Packets that may wait for the stack.
    stack_queue: u64,
    /// Octets of frames that may wait for the port.
    driver_queue: u64,
    /// Processor of its applications; `null` if they take no time.
    tasks: Option<TasksJson>,
    /// Classes of packets; `null` if it has none.
    layer: Option<LayerJson<'a>>,
    /// Whether its port sends the frame that is due first.
    by_deadline: bool,
}

#[derive(Serialize, JsonSchema)]
struct StackJson {
    /// 1 for both directions, or 2.
    processors: u8,
    /// Cost of sending: of a packet that is not TCP, of a segment with data, of one without.
    send: [CostJson; 3],
    /// Cost of receiving, likewise.
    receive: [CostJson; 3],
    /// Part of `more` of both directions that a packet and its answer take once, not twice.
    split: i64,
}

#[derive(Clone, Copy, Serialize, JsonSchema)]
struct CostJson {
    /// Least time of any packet.
    base: i64,
    /// Time of each octet of the untagged frame.
    octet: i64,
    /// What one constant of the whole run may add.
    more: i64,
    /// What may come on top of a single packet.
    jitter: i64,
}

#[derive(Serialize, JsonSchema)]
struct InterfaceJson {
    /// Least time of any frame.
    base: i64,
    /// Time of each octet of the untagged frame.
    octet: i64,
    /// What one constant of the whole run may add.
    more: i64,
}

#[derive(Serialize, JsonSchema)]
struct TasksJson {
    /// Time for a message.
    message: i64,
    /// What one constant of the whole run may add to it.
    message_more: i64,
    /// Time for a segment of a file.
    segment: i64,
    /// What one constant of the whole run may add to it.
    segment_more: i64,
    /// Whether messages interrupt files; otherwise all are handled in order of arrival.
    messages_first: bool,
}

#[derive(Serialize, JsonSchema)]
struct LayerJson<'a> {
    /// Class of each priority of tagged frames.
    queue_of_pcp: [u8; 8],
    /// Class of frames without a tag, unless `classes` has another.
    untagged: u8,
    /// Other classes of untagged frames, which header rules give them.
    classes: Vec<ClassJson<'a>>,
    /// Packets that may wait for each instance of the stack, of which a higher one interrupts; the
    /// highest has all classes from its own on. `null` if there is one stack.
    instances: Option<Vec<u32>>,
    /// Queues between link and stack; `null` without.
    receive: Option<ReceiveJson>,
    /// Queues between stack and port; `null` without.
    transmit: Option<TransmitJson>,
}

/// The class of untagged frames of one way of a flow.
#[derive(Serialize, JsonSchema)]
struct ClassJson<'a> {
    /// Name of the flow.
    flow: &'a str,
    /// The listener; `null` for packets to a group.
    to: Option<&'a str>,
    /// `request` or `reply`.
    way: &'static str,
    /// The class.
    class: u8,
}

#[derive(Serialize, JsonSchema)]
struct ReceiveJson {
    /// `highest`, `promoting` or `flag`.
    rule: &'static str,
    /// Packets that may wait to be sorted.
    input: u32,
    /// Packets that may wait in each queue; the highest has all classes from its own on.
    limits: Vec<u32>,
    /// Selections before a promotion; 0 without.
    picks: u32,
    /// Time without a packet of the top queue after which another may pass; `null` for never.
    idle: Option<i64>,
    /// Whether the flag lets a packet below the top queue pass, and not any.
    below_top: bool,
}

#[derive(Serialize, JsonSchema)]
struct TransmitJson {
    /// `arrival`, `moderate`, `strict` or `rings`.
    rule: &'static str,
    /// Packets that may wait in each queue; the highest has all classes from its own on.
    limits: Vec<u32>,
    /// Descriptors of each ring.
    ring: u32,
    /// The lowest queue whose frames enter the ring at once.
    high_from: u8,
    /// Whether a ring with a frame in transmission counts as empty.
    sends_empty: bool,
    /// Time without an entry after which a low frame enters; `null` for never.
    idle: Option<i64>,
    /// Rings.
    rings: u8,
}

#[derive(Serialize, JsonSchema)]
struct SwitchJson<'a> {
    /// Unique name.
    name: &'a str,
    /// Least time from the moment when a frame may be forwarded to its queue.
    latency: i64,
    /// What may come on top for a single frame; frames from one port keep their order.
    latency_jitter: i64,
    /// What one constant of the whole run may add.
    latency_more: i64,
    /// Whether it forwards after the header, towards ports that are not faster.
    cut_through: bool,
    /// Queue of each priority; a higher one goes first.
    queue_of_pcp: [u8; 8],
    /// Whether it takes off all tags.
    strips_tags: bool,
    /// Whether it sends groups to all ports.
    floods_groups: bool,
    /// Age at which it forgets an address that it has learned; `null` if it knows all from the start.
    learns: Option<i64>,
    /// Octets that may wait at all ports together.
    shared_buffer: Option<u64>,
    /// The processor of a router.
    processor: Option<RouterJson>,
    /// Its ports, the first one is number 1.
    ports: Vec<PortJson>,
}

#[derive(Serialize, JsonSchema)]
struct RouterJson {
    /// Cost of a packet.
    cost: CostJson,
    /// Packets that may wait.
    queue: u64,
}

#[derive(Serialize, JsonSchema)]
struct PortJson {
    /// `arrival`, `priority`, `frames` or `octets` in turn, `credit`, or `deadline`.
    selection: &'static str,
    /// Frames or octets of each queue in its turn; a queue with zero frames goes before all turns. With
    /// `credit`, idle slopes in bit/s; zero without a shaper.
    turns: Option<[u64; 8]>,
    /// With `credit`, octets of each queue in its turn, if the lowest queues take turns.
    quanta: Option<[u64; 8]>,
    /// Its VLANs.
    vlan: VlanJson,
    /// Priority of untagged frames that arrive.
    default_pcp: u8,
    /// Octets that may wait.
    buffer: u64,
    /// Octets that may wait in each queue.
    thresholds: Option<[u64; 8]>,
}

#[derive(Serialize, JsonSchema)]
struct VlanJson {
    /// `transparent`, `access` or `trunk`.
    kind: &'static str,
    /// Members of a trunk that are tagged; `null` for all.
    members: Option<Vec<u16>>,
    /// VLAN of untagged frames.
    native: Option<u16>,
}

/// A port of a node: its name, and the number of the port from 1.
#[derive(Serialize, JsonSchema)]
pub(crate) struct EndJson<'a>(pub(crate) &'a str, pub(crate) u32);

#[derive(Serialize, JsonSchema)]
struct LinkJson<'a> {
    /// The ports that it joins.
    ends: [EndJson<'a>; 2],
    /// Rate in bit/s; an octet lasts a whole number of picoseconds.
    rate: u64,
    /// Time from one end to the other.
    propagation: i64,
    /// Frames per billion with bit errors.
    errors: u32,
    /// Whether it carries no frames.
    standby: bool,
    /// Whether only one end sends at a time.
    half: bool,
}

#[derive(Serialize, JsonSchema)]
struct FlowJson<'a> {
    /// Unique name.
    name: &'a str,
    /// Station that sends.
    talker: &'a str,
    /// Whether switches copy one frame for all listeners.
    multicast: bool,
    /// `raw`, `udp`, `tcp`, `icmp`, `goose`, `sv` or `profinet`.
    over: &'static str,
    /// Octets of a message.
    payload: u64,
    /// Tag that the talker puts on its frames.
    tag: Option<TagJson>,
    /// When messages are released.
    traffic: TrafficJson,
    /// Time for which the talker holds a frame after the one before.
    gap: Option<i64>,
    /// Answer of each listener.
    reply: Option<ReplyJson>,
    /// The way to each listener, in the order in which the talker sends to them.
    ways: Vec<WayJson<'a>>,
    /// How long after it came to a port its packet is due there, where that decides; `null` without.
    due: Option<DueJson<'a>>,
    /// Longest permitted latency.
    deadline: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
struct DueJson<'a> {
    /// At ports that are not listed.
    elsewhere: i64,
    /// At the ports of its ways.
    at: Vec<DueAtJson<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct DueAtJson<'a> {
    /// The port.
    port: EndJson<'a>,
    /// How long after it came.
    within: i64,
}

#[derive(Serialize, JsonSchema)]
struct TagJson {
    /// Priority.
    pcp: u8,
    /// VLAN; 0 for a priority alone.
    vid: u16,
}

/// When messages are released, at any phase.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum TrafficJson {
    /// On a grid, late by at most `jitter`.
    Periodic {
        /// Distance of the points of the grid.
        period: i64,
        /// How late a release may be.
        jitter: i64,
    },
    /// Bursts.
    Sporadic {
        /// Shortest time between two of them.
        gap: i64,
        /// Messages in each.
        burst: u64,
    },
    /// A request once the one before is answered.
    Adaptive {
        /// Time from an answer to the next request.
        pause: i64,
        /// When a request without an answer is given up.
        timeout: i64,
    },
    /// At any time.
    Poisson,
    /// Files over TCP.
    File {
        /// Octets of the largest segment.
        segment: u64,
        /// Octets that may wait for an acknowledgement.
        window: u64,
        /// Octets of the longest file; `null` without an end.
        file: Option<u64>,
        /// Smallest retransmission timeout.
        timeout: i64,
        /// Longest delay of an acknowledgement.
        ack_delay: i64,
    },
    /// Messages over TCP, for which the format has no rule.
    Messages {
        /// Octets of the largest segment.
        segment: u64,
    },
}

#[derive(Serialize, JsonSchema)]
struct ReplyJson {
    /// Octets of the answer.
    payload: u64,
    /// Least time from the request to its answer.
    after: i64,
    /// Longest time from the request to its answer.
    longest: i64,
}

#[derive(Serialize, JsonSchema)]
struct WayJson<'a> {
    /// The listener.
    to: &'a str,
    /// The ports by which frames leave the nodes on the way.
    out: Vec<EndJson<'a>>,
    /// The same of answers and acknowledgements; `null` if there are none.
    back: Option<Vec<EndJson<'a>>>,
    /// Whether every switch has entries for this flow; otherwise the way is a shortest one.
    configured: bool,
}

/// Returns the plant of a network with its flows.
pub(super) fn of<'a>(
    name: &'a str,
    (network, flows): (&'a Network, &'a [Flow]),
    analysis: &Analysis,
) -> Result<PlantJson<'a>, Beyond> {
    if let Some(what) = beyond(network, flows, analysis) {
        return Err(Beyond(what.to_owned()));
    }
    let routing = Routing::new(network);
    let due = network.selects_by_deadline().then(|| LocalDeadlines::new(network, flows, &routing));
    let all = flows.iter().enumerate().map(|(number, flow)| {
        let json = flow_of(network, &routing, flow)?;
        Ok(FlowJson {
            due: due.as_ref().and_then(|due| due_of(network, due, number, &json)),
            ..json
        })
    });
    Ok(PlantJson {
        name,
        nodes: nodes_of(network, flows)?,
        links: network.links.iter().map(|link| link_of(network, link)).collect(),
        flows: all.collect::<Result<_, _>>()?,
    })
}

/// Returns what concerns the whole plant and has no place in the format.
fn beyond(network: &Network, flows: &[Flow], analysis: &Analysis) -> Option<&'static str> {
    let switches: Vec<&Switch> =
        network.iter_nodes().filter_map(|(id, _)| network.switch(id)).collect();
    let stations: Vec<&EndStation> =
        network.iter_nodes().filter_map(|(id, _)| network.end_station(id)).collect();
    let facts = [
        (network.iter_nodes().any(|(id, _)| network.hub(id).is_some()), "a hub"),
        (network.admission.is_some(), "channels that are asked for"),
        (network.resolves_addresses(), "the resolution of addresses"),
        (switches.iter().any(|own| own.has_ingress()), "rules for frames that arrive"),
        (switches.iter().any(|own| own.mirror.is_some()), "a mirror port"),
        (stations.iter().any(|own| own.redundancy.is_some()), "a station in two networks"),
        (stations.iter().any(|own| holds(own)), "receive queues without a stack that takes time"),
        (flows.iter().any(Flow::is_published), "samples over RTPS"),
        (
            switches.iter().any(|own| floods(own))
                && Routing::new(network).find_loop(network).is_some(),
            "switches that flood in a loop",
        ),
        (
            analysis.streams.iter().any(|own| is_lost(own.bound.as_ref().err())),
            "a flow without a way",
        ),
    ];
    facts.into_iter().find(|(is_so, _)| *is_so).map(|(_, what)| what)
}

/// Returns whether a switch sends some frames to all ports.
fn floods(switch: &Switch) -> bool {
    switch.addresses != AddressTable::Static || switch.multicast == MulticastForwarding::Unmanaged
}

/// Returns whether a stack that takes no time may hold packets back all the same.
fn holds(station: &EndStation) -> bool {
    station.stack == Stack::Zero && receive(station).is_some()
}

fn is_lost(reason: Option<&Reason>) -> bool {
    matches!(reason, Some(Reason::NoRoute(_) | Reason::NotDelivered | Reason::FloodingLoop { .. }))
}

fn receive(station: &EndStation) -> Option<&Receive> {
    station.layer.as_deref()?.receive.as_ref()
}

pub(super) fn end(network: &Network, port: PortId) -> EndJson<'_> {
    EndJson(&network.node(port.node).name, u32::from(port.port) + 1)
}

fn nodes_of<'a>(network: &'a Network, flows: &'a [Flow]) -> Result<Vec<NodeJson<'a>>, Beyond> {
    let mut nodes = Vec::new();
    for (id, node) in network.iter_nodes() {
        nodes.push(match &node.kind {
            NodeKind::EndStation(station) => {
                let classes = classes_of(network, flows, id, station)?;
                NodeJson::Station(Box::new(station_of(&node.name, station, classes)))
            }
            NodeKind::Switch(switch) => NodeJson::Switch(Box::new(switch_of(&node.name, switch))),
            NodeKind::Hub(_) => continue,
        });
    }
    Ok(nodes)
}

/// Returns the classes that header rules of a station give to untagged frames which it sends or receives.
fn classes_of<'a>(
    network: &'a Network,
    flows: &'a [Flow],
    id: NodeId,
    station: &EndStation,
) -> Result<Vec<ClassJson<'a>>, Beyond> {
    let Some(layer) = station.layer.as_deref().filter(|layer| !layer.rules.is_empty()) else {
        return Ok(Vec::new());
    };
    let mut classes = Vec::new();
    for (number, flow) in (0..).map(FlowId).zip(flows) {
        let is_group = flow.delivery == Delivery::Multicast;
        let own = flow.listeners.iter().filter(|to| flow.talker == id || **to == id);
        let requests = own.clone().map(|to| (Some(*to).filter(|_| !is_group), false));
        let mut ways: Vec<(Option<NodeId>, bool)> = requests.collect();
        ways.dedup();
        ways.extend(own.map(|to| (Some(*to), true)));
        for (to, is_answer) in ways {
            let class = untagged_class(layer, (number, flow), to, is_answer);
            let class = class
                .ok_or_else(|| Beyond(format!("the classes of fragments of `{}`", flow.name)))?;
            if class != layer.table.class_of(None) {
                let to = to.map(|to| network.node(to).name.as_str());
                let way = if is_answer { "reply" } else { "request" };
                classes.push(ClassJson { flow: &flow.name, to, way, class });
            }
        }
    }
    Ok(classes)
}

fn station_of<'a>(
    name: &'a str,
    station: &'a EndStation,
    classes: Vec<ClassJson<'a>>,
) -> StationJson<'a> {
    StationJson {
        name,
        beyond: beyond_of(station),
        stack: stack_of(station),
        interface: interface_of(station),
        stack_queue: station.stack_queue.into(),
        driver_queue: station.driver_queue.get(),
        tasks: station.tasks.map(|tasks| TasksJson {
            message: tasks.message.as_ps(),
            message_more: more(&station.unknown, CostName::TaskMessage).as_ps(),
            segment: tasks.segment.as_ps(),
            segment_more: more(&station.unknown, CostName::TaskSegment).as_ps(),
            messages_first: tasks.messages_first,
        }),
        layer: station.layer.as_deref().map(|layer| layer_of(layer, classes)),
        by_deadline: station.by_deadline,
    }
}

fn layer_of<'a>(layer: &Layer, classes: Vec<ClassJson<'a>>) -> LayerJson<'a> {
    let (instances, receive) = match &layer.receive {
        Some(Receive::Instances { queue_limits }) => (Some(queue_limits.clone()), None),
        Some(Receive::Queues(config)) => (None, Some(receive_of(config))),
        None => (None, None),
    };
    LayerJson {
        queue_of_pcp: [0, 1, 2, 3, 4, 5, 6, 7].map(|pcp| layer.table.class_of(Pcp::new(pcp))),
        untagged: layer.table.class_of(None),
        classes,
        instances,
        receive,
        transmit: layer.transmit.as_ref().and_then(transmit_of),
    }
}

fn receive_of(config: &ReceiveConfig) -> ReceiveJson {
    let (rule, picks, idle, low_turn) = match config.selection {
        ReceiveSelection::HighestFirst => ("highest", 0, None, LowTurn::AllQueues),
        ReceiveSelection::Promoting { picks } => {
            ("promoting", picks.get(), None, LowTurn::AllQueues)
        }
        ReceiveSelection::LowFlag { idle_release, low_turn } => ("flag", 0, idle_release, low_turn),
    };
    ReceiveJson {
        rule,
        input: config.input_limit,
        limits: config.queue_limits.clone(),
        picks,
        idle: idle.map(Duration::as_ps),
        below_top: low_turn == LowTurn::BelowTop,
    }
}

/// Returns the queues above a port; `None` if the format has no rule for them.
fn transmit_of(config: &TransmitConfig) -> Option<TransmitJson> {
    let (rule, sends_empty, idle, rings) = match config.strategy {
        TransmitStrategy::Fifo => ("arrival", false, None, 1),
        TransmitStrategy::Moderate { empty } => {
            ("moderate", empty == RingEmpty::NoneWaiting, None, 1)
        }
        TransmitStrategy::Strict { idle_release } => ("strict", false, idle_release, 1),
        TransmitStrategy::Rings { count } => ("rings", false, None, count),
        TransmitStrategy::Selection(_) => return None,
    };
    // The highest of at most eight queues.
    let top = (1..8).zip(config.queue_limits.iter().skip(1)).next_back().map_or(0, |(top, _)| top);
    Some(TransmitJson {
        rule,
        limits: config.queue_limits.clone(),
        ring: config.ring_limit,
        high_from: config.high_from.unwrap_or(top),
        sends_empty,
        idle: idle.map(Duration::as_ps),
        rings,
    })
}

/// Returns the parts of a station for which the format has no rule.
fn beyond_of(station: &EndStation) -> Vec<&'static str> {
    let layer = station.layer.as_deref();
    let transmit = layer.and_then(|layer| layer.transmit.as_ref());
    let selects = matches!(transmit.map(|own| own.strategy), Some(TransmitStrategy::Selection(_)));
    let facts = [
        (layer.is_some_and(|layer| layer.smoother.is_some()), "port: a smoother"),
        (selects, "port: a selection above the ring"),
        (station.by_deadline && layer.is_some(), "port: classes and deadlines"),
    ];
    facts.into_iter().filter(|(is_so, _)| *is_so).map(|(_, what)| what).collect()
}

fn stack_of(station: &EndStation) -> Option<StackJson> {
    let unknown = &station.unknown;
    let (processors, [send, receive]) = match &station.stack {
        Stack::Zero => return None,
        Stack::IpRate { service } => {
            let least = Cost { base: *service, ..Cost::default() };
            (1, [[cost_of(least, more(unknown, CostName::Service), Duration::ZERO); 3]; 2])
        }
        Stack::Linear(linear) => {
            let send = more(unknown, CostName::Send);
            let send = cost_of(linear.send, send, largest(&linear.jitter, true));
            let receive = more(unknown, CostName::Receive);
            let receive = cost_of(linear.receive, receive, largest(&linear.jitter, false));
            let processors = if linear.servers == Servers::Shared { 1 } else { 2 };
            (processors, [[send; 3], [receive; 3]])
        }
        Stack::Rtos(rtos) => {
            let kinds = [
                (rtos.datagram, CostName::Datagram),
                (rtos.segment, CostName::Segment),
                (rtos.acknowledgement, CostName::Acknowledgement),
            ];
            let sides = [true, false].map(|is_outbound| {
                let jitter = largest(&rtos.jitter, is_outbound);
                kinds.map(|(least, name)| cost_of(least, more(unknown, name), jitter))
            });
            (1, sides)
        }
    };
    let is_linear = matches!(station.stack, Stack::Linear(_));
    let split = if is_linear { stated(unknown, CostName::Both).as_ps() } else { 0 };
    Some(StackJson { processors, send, receive, split })
}

fn cost_of(least: Cost, more: Duration, jitter: Duration) -> CostJson {
    CostJson {
        base: least.base.as_ps(),
        octet: least.per_octet.as_ps(),
        more: more.as_ps(),
        jitter: jitter.as_ps(),
    }
}

/// Returns the most that jitter adds.
fn largest(jitter: &Jitter, is_outbound: bool) -> Duration {
    let rare = jitter.outliers.map_or(Duration::ZERO, |rare| rare.max);
    jitter.spread.max(is_outbound) + rare
}

fn interface_of(station: &EndStation) -> Option<InterfaceJson> {
    let Stack::Linear(linear) = &station.stack else { return None };
    let more = more(&station.unknown, CostName::Interface);
    let Cost { base, per_octet } = linear.interface;
    let takes_time = [base, per_octet, more].iter().any(|&time| time > Duration::ZERO);
    takes_time.then(|| InterfaceJson {
        base: base.as_ps(),
        octet: per_octet.as_ps(),
        more: more.as_ps(),
    })
}

fn switch_of<'a>(name: &'a str, switch: &Switch) -> SwitchJson<'a> {
    SwitchJson {
        name,
        latency: switch.latency.as_ps(),
        latency_jitter: switch.latency_jitter.as_ps(),
        latency_more: switch.unknown_latency.as_ps(),
        cut_through: switch.mode == ForwardingMode::CutThrough,
        queue_of_pcp: [0, 1, 2, 3, 4, 5, 6, 7].map(|pcp| switch.queues.queue_of_value(pcp)),
        strips_tags: switch.tags == TagHandling::Strip,
        floods_groups: switch.multicast == MulticastForwarding::Unmanaged,
        learns: match switch.addresses {
            AddressTable::Static => None,
            AddressTable::Learning { aging } => Some(aging.as_ps()),
        },
        shared_buffer: switch.buffer.shared.map(rtether_model::quantity::Bytes::get),
        processor: switch.router.map(|router| RouterJson {
            cost: cost_of(router.cost, router.unknown, router.jitter),
            queue: router.queue.into(),
        }),
        ports: (0..).zip(&switch.ports).map(|(port, _)| port_of(switch, port)).collect(),
    }
}

fn port_of(switch: &Switch, port: u16) -> PortJson {
    let own = &switch.ports[usize::from(port)];
    let (kind, members, native) = match &own.vlan {
        PortVlan::Transparent => ("transparent", None, None),
        PortVlan::Access(vid) => ("access", None, Some(vid.get())),
        PortVlan::Trunk { allowed, native } => {
            let members = allowed.as_ref().map(|all| all.iter().map(|vid| vid.get()).collect());
            ("trunk", members, native.map(rtether_model::network::Vid::get))
        }
    };
    let (selection, turns, quanta) = selection_of(switch, port);
    PortJson {
        selection,
        turns,
        quanta,
        vlan: VlanJson { kind, members, native },
        default_pcp: own.default_pcp.get(),
        buffer: switch.buffer.per_port.get(),
        thresholds: switch.thresholds_at(port).map(|all| all.map(Bytes::get)),
    }
}

type Turns = Option<[u64; 8]>;

fn selection_of(switch: &Switch, port: u16) -> (&'static str, Turns, Turns) {
    match switch.selection_at(port) {
        Selection::Fcfs => ("arrival", None, None),
        Selection::StrictPriority => ("priority", None, None),
        Selection::Wrr { weights } => ("frames", Some(weights.map(u64::from)), None),
        Selection::StrictWrr { mut weights } => {
            weights[usize::from(switch.queues.count() - 1)] = 0;
            ("frames", Some(weights.map(u64::from)), None)
        }
        Selection::Drr { quanta } => ("octets", Some(quanta.map(u64::from)), None),
        Selection::Cbs { idle_slopes } => {
            ("credit", Some(idle_slopes.map(rtether_model::quantity::BitRate::as_bps)), None)
        }
        Selection::CbsDrr { .. } => {
            let plan = PortPlan::new(switch.selection_at(port), switch.queues.count());
            let quanta = Some(plan.quanta().map(u64::from));
            if !plan.needs(Feature::Credits) {
                return ("octets", quanta, None);
            }
            let slopes = plan.idle_slopes().map(rtether_model::quantity::BitRate::as_bps);
            ("credit", Some(slopes), quanta)
        }
        Selection::EarliestDeadline => ("deadline", None, None),
    }
}

fn link_of<'a>(network: &'a Network, link: &Link) -> LinkJson<'a> {
    LinkJson {
        ends: link.ends.map(|port| end(network, port)),
        rate: link.rate.as_bps(),
        propagation: link.propagation.as_ps(),
        errors: link.errors_per_billion,
        standby: link.standby,
        half: network.is_half_duplex(link),
    }
}

fn flow_of<'a>(
    network: &'a Network,
    routing: &Routing,
    flow: &'a Flow,
) -> Result<FlowJson<'a>, Beyond> {
    let ways = flow.listeners.iter().map(|&listener| way_of(network, routing, flow, listener));
    Ok(FlowJson {
        name: &flow.name,
        talker: &network.node(flow.talker).name,
        multicast: flow.delivery == Delivery::Multicast,
        over: over(flow.encapsulation)?,
        payload: flow.payload.get(),
        tag: flow.tag.map(|tag| TagJson { pcp: tag.pcp.get(), vid: tag.vid.get() }),
        traffic: traffic_of(flow),
        gap: flow.kept_gap(network).map(Duration::as_ps),
        reply: flow.reply.map(|reply| ReplyJson {
            payload: reply.payload.get(),
            after: reply.after.as_ps(),
            longest: reply.longest().as_ps(),
        }),
        ways: ways.collect::<Result<_, _>>()?,
        due: None,
        deadline: flow.deadline.map(Duration::as_ps),
    })
}

/// Returns when packets of a flow are due at ports; `None` for one without a deadline.
fn due_of<'a>(
    network: &'a Network,
    due: &LocalDeadlines,
    number: usize,
    flow: &FlowJson<'a>,
) -> Option<DueJson<'a>> {
    // No way has a port that no node has.
    let nowhere = PortId { node: NodeId(u32::MAX), port: 0 };
    let elsewhere = due.at(number, nowhere)?.as_ps();
    let ways = flow.ways.iter().flat_map(|way| way.out.iter().chain(way.back.iter().flatten()));
    let mut at = Vec::new();
    for own in ways {
        let port = PortId { node: network.find(own.0)?, port: u16::try_from(own.1 - 1).ok()? };
        let within = due.at(number, port)?.as_ps();
        if within != elsewhere {
            at.push(DueAtJson { port: EndJson(own.0, own.1), within });
        }
    }
    Some(DueJson { elsewhere, at })
}

fn over(encapsulation: Encapsulation) -> Result<&'static str, Beyond> {
    Ok(match encapsulation {
        Encapsulation::Raw => "raw",
        Encapsulation::Udp => "udp",
        Encapsulation::Tcp => "tcp",
        Encapsulation::Icmp => "icmp",
        Encapsulation::Goose => "goose",
        Encapsulation::SampledValues => "sv",
        Encapsulation::Profinet => "profinet",
        Encapsulation::Arp | Encapsulation::Rtps { .. } => {
            return Err(Beyond("frames of ARP or RTPS".to_owned()));
        }
    })
}

fn traffic_of(flow: &Flow) -> TrafficJson {
    if let Some(tcp) = flow.connection {
        return TrafficJson::Messages { segment: tcp.segment.get() };
    }
    match &flow.traffic {
        Traffic::Bulk(bulk) => TrafficJson::File {
            segment: bulk.tcp.segment.get().max(1),
            window: bulk.tcp.window.get().max(1),
            file: longest_file(bulk),
            timeout: bulk.tcp.min_rto.as_ps().max(1),
            ack_delay: bulk.tcp.ack_delay.as_ps(),
        },
        Traffic::Adaptive { pause, timeout } => {
            TrafficJson::Adaptive { pause: (*pause).as_ps(), timeout: (*timeout).as_ps().max(1) }
        }
        Traffic::Periodic { .. } | Traffic::Sporadic { .. } | Traffic::Flood { .. } => {
            on_grid(flow)
        }
        Traffic::Poisson { .. } => TrafficJson::Poisson,
    }
}

/// Returns what is released no denser than a grid; a flood without one counts as unlimited.
fn on_grid(flow: &Flow) -> TrafficJson {
    let grid = flow.traffic.releases().filter(|own| own.period > Duration::ZERO);
    match (&flow.traffic, grid) {
        (_, None) => TrafficJson::Poisson,
        (Traffic::Sporadic { .. }, Some(own)) => {
            TrafficJson::Sporadic { gap: own.period.as_ps(), burst: own.burst.max(1).into() }
        }
        (_, Some(own)) => {
            TrafficJson::Periodic { period: own.period.as_ps(), jitter: own.jitter.as_ps() }
        }
    }
}

/// Returns the octets of the longest file of a flow; `None` if one does not end.
fn longest_file(bulk: &Bulk) -> Option<u64> {
    let listed = bulk.transfers.iter().map(|transfer| transfer.size);
    let drawn = bulk.bursts.iter().map(|bursts| Some(bursts.size));
    let sizes: Option<Vec<u64>> = listed.chain(drawn).map(|size| Some(size?.get())).collect();
    Some(sizes?.into_iter().fold(1, u64::max))
}

fn way_of<'a>(
    network: &'a Network,
    routing: &Routing,
    flow: &Flow,
    listener: NodeId,
) -> Result<WayJson<'a>, Beyond> {
    let no_way = Beyond(format!("the way of `{}`, since there is none", flow.name));
    let out = routing.flow_path(network, flow, listener).map_err(|_| no_way.clone())?;
    let is_answered = flow.reply.is_some() || flow.is_acknowledged() || flow.connection.is_some();
    let back = is_answered.then(|| routing.answer_path(network, flow, listener)).transpose();
    let back = back.map_err(|_| no_way)?;
    let is_shortest = is_usual(network, routing, [flow.talker, listener], &out)
        && back
            .as_ref()
            .is_none_or(|back| is_usual(network, routing, [listener, flow.talker], back));
    let is_group = flow.delivery == Delivery::Multicast;
    if is_group && flow.routes.is_empty() && !is_shortest {
        return Err(Beyond(format!("the way of the group `{}` through its VLAN", flow.name)));
    }
    Ok(WayJson {
        to: &network.node(listener).name,
        out: ends(network, &out),
        back: back.map(|back| ends(network, &back)),
        configured: !flow.routes.is_empty() || !is_shortest,
    })
}

/// Returns whether a way is the one that switches take without entries for a flow.
fn is_usual(network: &Network, routing: &Routing, [from, to]: [NodeId; 2], way: &[Hop]) -> bool {
    from == to || routing.path(network, from, to).is_ok_and(|usual| usual == way)
}

fn ends<'a>(network: &'a Network, hops: &[Hop]) -> Vec<EndJson<'a>> {
    hops.iter().map(|hop| end(network, hop.egress)).collect()
}
