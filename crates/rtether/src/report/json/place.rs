//! Ports and nodes.

use rtether_model::quantity::Duration;
use rtether_model::record::{AdmissionRecord, ArpRecord, NodeRecord, PortRecord, QueueRecord};
use schemars::JsonSchema;
use serde::Serialize;

use super::super::checked::Checked;
use super::shared::{AccessJson, LayerJson};
use crate::rules::RuleJson;
use rtether_report::number::Ns;

#[derive(Serialize, JsonSchema)]
pub(super) struct PortJson<'a> {
    /// Its node.
    node: &'a str,
    /// Its number.
    port: u16,
    /// The node at the other end of its link.
    peer: Option<&'a str>,
    /// Position of the link.
    link: u32,
    /// Rate of the link.
    rate_bps: u64,
    /// Share of the time for which the link was occupied in this direction, gaps included.
    utilization: f64,
    /// Most octets that waited.
    backlog_max_bytes: u64,
    /// Frames offered to its queues.
    offered: u64,
    /// Frames sent.
    sent: u64,
    /// Their octets, preamble and gap included.
    sent_wire_bytes: u64,
    /// Frames dropped because a buffer was full, or given up on a shared medium.
    dropped: u64,
    /// Frames waiting at the end, including one that contends for a shared medium.
    queued: u64,
    /// Frames sent from here that were corrupted on the link.
    corrupted: u64,
    /// Its queues, lowest first.
    queues: Vec<QueueJson>,
    /// If the port shares a medium.
    access: Option<AccessJson>,
}

#[derive(Serialize, JsonSchema)]
struct QueueJson {
    /// Frames sent.
    sent: u64,
    /// Frames dropped.
    dropped: u64,
    /// Most frames that waited.
    depth_max: u32,
    /// Mean wait.
    mean_wait_ns: Option<Ns>,
}

impl<'a> PortJson<'a> {
    pub(super) fn of(checked: &'a Checked, port: &PortRecord, observed: Duration) -> Self {
        let rate = checked.scenario.network.links[port.link.index()].rate;
        Self {
            node: checked.node_name(port.port.node),
            port: port.port.port,
            peer: checked.peer_name(port.port),
            link: port.link.0,
            rate_bps: rate.as_bps(),
            utilization: port.utilization(observed),
            backlog_max_bytes: port.backlog_max.get(),
            offered: port.offered,
            sent: port.sent,
            sent_wire_bytes: port.sent_wire.get(),
            dropped: port.dropped,
            queued: port.queued,
            corrupted: port.corrupted,
            queues: port.queues.iter().map(QueueJson::of).collect(),
            access: port.access.as_ref().map(AccessJson::of),
        }
    }
}

impl QueueJson {
    fn of(queue: &QueueRecord) -> Self {
        let mean = queue.waited_ps.checked_div(i128::from(queue.sent));
        let mean = mean.and_then(|ps| i64::try_from(ps).ok());
        Self {
            sent: queue.sent,
            dropped: queue.dropped,
            depth_max: queue.depth_max,
            mean_wait_ns: mean.map(Duration::from_ps).map(Ns),
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub(super) struct NodeJson<'a> {
    /// Its name.
    name: &'a str,
    /// `station`, `switch` or `hub`.
    kind: &'static str,
    /// Share of the time in which its stack was busy.
    stack_utilization: f64,
    /// Most packets that waited for it.
    stack_queue_max: u32,
    /// Packets dropped because its queue was full.
    stack_dropped: u64,
    /// Packets in it at the end, waiting or being served, or in switch latency.
    in_stack: u64,
    /// Packets released by its applications; each unicast copy counts.
    released: u64,
    /// Packets delivered to its applications.
    delivered: u64,
    /// Frames that arrived from its links.
    arrived: u64,
    /// Copies made by flooding and multicast, or sent by a station in two networks, beyond the frame
    /// itself.
    copied: u64,
    /// Frames for other nodes that a station's interface ignored, or for which a switch had no port;
    /// copies of a frame that a station had already taken from its other network.
    filtered: u64,
    /// Frames discarded for a wrong FCS.
    discarded: u64,
    /// Frames dropped by the layer between stack and driver.
    layer_dropped: u64,
    /// The layer, if the node has one.
    layer: Option<LayerJson>,
    /// Frames that its rules dropped, if it has rules for arriving frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    policed: Option<u64>,
    /// The counters of each rule at each port.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ingress: Vec<RuleJson>,
    /// If any station of the plant resolves addresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    arp: Option<ArpJson>,
    /// If it is the manager that grants channels.
    #[serde(skip_serializing_if = "Option::is_none")]
    admission: Option<AdmissionJson>,
}

#[derive(Serialize, JsonSchema)]
struct ArpJson {
    /// Requests sent.
    requests: u64,
    /// Replies sent.
    replies: u64,
    /// Messages handled by its stack.
    handled: u64,
    /// Packets held.
    held: u64,
    /// Those of them dropped.
    dropped: u64,
    /// Those of them waiting at the end.
    waiting: u64,
    /// Neighbors given up after the last attempt.
    failures: u64,
}

#[derive(Serialize, JsonSchema)]
struct AdmissionJson {
    /// Requests taken, repeated ones included.
    requests: u64,
    /// Channels granted.
    granted: u64,
    /// Requests refused.
    refused: u64,
    /// Channels released by their talkers.
    released: u64,
    /// Frames repeated since an answer did not come.
    repeated: u64,
    /// Listeners that were not told of the end of a channel, since they did not answer.
    abandoned: u64,
    /// Frames that were malformed, forged, or not for a manager.
    malformed: u64,
    /// Channels kept at the end, those not decided yet included.
    kept: u64,
}

impl<'a> NodeJson<'a> {
    pub(super) fn of(checked: &'a Checked, node: &NodeRecord, observed: Duration) -> Self {
        Self {
            name: checked.node_name(node.node),
            kind: checked.kind_name(node.node),
            stack_utilization: node.stack_utilization(observed),
            stack_queue_max: node.stack_queue_max,
            stack_dropped: node.stack_dropped,
            in_stack: node.in_stack,
            released: node.released,
            delivered: node.delivered,
            arrived: node.arrived,
            copied: node.copied,
            filtered: node.filtered,
            discarded: node.discarded,
            layer_dropped: node.layer_dropped,
            layer: node.layer.as_ref().map(LayerJson::of),
            policed: (!node.ingress.is_empty()).then_some(node.policed),
            ingress: node.ingress.iter().map(RuleJson::of).collect(),
            arp: node.arp.as_ref().map(ArpJson::of),
            admission: node.admission.as_ref().map(AdmissionJson::of),
        }
    }
}

impl ArpJson {
    fn of(own: &ArpRecord) -> Self {
        Self {
            requests: own.requests,
            replies: own.replies,
            handled: own.handled,
            held: own.held,
            dropped: own.dropped,
            waiting: own.waiting,
            failures: own.failures,
        }
    }
}

impl AdmissionJson {
    fn of(own: &AdmissionRecord) -> Self {
        Self {
            requests: own.requests,
            granted: own.granted,
            refused: own.refused,
            released: own.released,
            repeated: own.repeated,
            abandoned: own.abandoned,
            malformed: own.malformed,
            kept: own.kept,
        }
    }
}
