//! Time a packet needs on an idle network.

use rtether_model::flow::Flow;
use rtether_model::network::{
    Cost, EndStation, ForwardingMode, LinearStack, Network, Node, NodeId, NodeKind, Partition,
    Stack,
};
use rtether_model::partition::LocalDeadlines;
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::route::{Hop, Routing};
use rtether_model::wire::{self, Encapsulation};

use super::{codes, quote};
use crate::diagnostic::Diagnostic;
use crate::lower::Plant;
use crate::reader::Reader;

/// Warns if a search for parts of deadlines has found none, or if nothing asks for parts.
pub(super) fn partition(reader: &mut Reader<'_>, plant: &Plant, routing: &Routing) {
    let network = &plant.network;
    // The manager of channels divides deadlines itself, whatever ports do with the parts.
    let Some(at) = plant.partition_span.filter(|_| network.admission.is_none()) else {
        return;
    };
    if !network.selects_by_deadline() {
        let title = "`partition` divides deadlines that no port looks at";
        let label = "no port selects by deadline";
        let help = "write `selection: edf` for switches or stations, or remove `partition`";
        reader.report(Diagnostic::new(&codes::IDLE_PARTITION, title, at, label).help(help));
        return;
    }
    if network.partition != Partition::Search {
        return;
    }
    // Everyone who divides deadlines has to find the same parts.
    let is_unknown = |node: &Node| match &node.kind {
        NodeKind::Switch(switch) => switch.unknown_latency > Duration::ZERO,
        NodeKind::EndStation(_) | NodeKind::Hub(_) => false,
    };
    if let Some(node) = network.nodes.iter().find(|node| is_unknown(node)) {
        let name = quote(&node.name);
        let title = format!("the search for parts of deadlines needs the latency of {name}");
        let label = "it counts the time in switches";
        let help = "give the latency as a time or a range, or use another `partition`";
        reader.report(Diagnostic::new(&codes::CONFLICTING_KEYS, title, at, label).help(help));
        return;
    }
    let found = LocalDeadlines::new(network, &plant.flows, routing);
    if found.is_feasible() == Some(false) {
        let title = "no parts of the deadlines are known with which every port sends in time";
        let label = "the search ended without them";
        let help = "give flows more time, or spread them over more links; `rtether bound` shows \
                    which deadlines are proved all the same";
        reader.report(Diagnostic::new(&codes::NO_PARTITION, title, at, label).help(help));
    }
}

/// Warns if a deadline is shorter than the unavoidable delay. Returns whether it is.
pub(super) fn check(
    reader: &mut Reader<'_>,
    plant: &Plant,
    index: usize,
    flow: &Flow,
    hops: &[Hop],
) -> bool {
    let Some(deadline) = flow.deadline else {
        return false;
    };
    let network = &plant.network;
    let one_way = |payload: Bytes, from: NodeId, to: NodeId| {
        let frames = flow.frames(payload);
        let frame = frames.full.min(frames.last);
        // All frames but one are sent on the first link before that one starts.
        let first = hops.first().map(|hop| network.links[hop.link.index()].rate);
        let before = first.map_or(Duration::ZERO, |rate| {
            wire::occupancy(frames.full, rate) * i64::from(frames.count - 1)
        });
        let on_wire = path_time(network, hops, frame) + before;
        let tcp = flow.encapsulation == Encapsulation::Tcp;
        [
            cost(network.end_station(from), (frame, tcp), |stack| stack.send),
            on_wire,
            cost(network.end_station(to), (frame, tcp), |stack| stack.receive),
        ]
    };
    let Some(last) = hops.last() else {
        return false;
    };
    let listener = last.ingress.node;
    let mut parts = one_way(flow.payload, flow.talker, listener);
    let mut after = Duration::ZERO;
    if let Some(reply) = flow.reply {
        // The reply passes the same links.
        let back = one_way(reply.payload, listener, flow.talker);
        for (part, more) in parts.iter_mut().zip(back) {
            *part += more;
        }
        after = reply.after;
    }
    let [send, on_wire, receive] = parts;
    let sum = send + on_wire + receive + after;
    if sum <= deadline {
        return false;
    }
    let name = quote(&flow.name);
    let title = format!("the deadline of {name} cannot be met: {sum} are unavoidable");
    let label = format!("the deadline is {deadline}");
    let answer = match flow.reply {
        Some(_) => format!(", {after} to answer"),
        None => String::new(),
    };
    reader.report(
        Diagnostic::new(
            &codes::DEADLINE_UNREACHABLE,
            title,
            plant.flow_spans[index],
            label,
        )
        .help(format!(
            "{send} for sending, {on_wire} on links and in switches, {receive} for receiving{answer}"
        )),
    );
    true
}

/// Returns the delay of links and switches without queueing. Cut-through costs only the header.
fn path_time(network: &Network, hops: &[Hop], frame: Bytes) -> Duration {
    let mut sum = Duration::ZERO;
    for (at, hop) in hops.iter().enumerate() {
        let link = &network.links[hop.link.index()];
        sum += link.propagation;
        // A hub repeats bit by bit: the frame's wire time counts once for all links up to the next
        // store-and-forward node.
        if let Some(hub) = network.hub(hop.ingress.node) {
            sum += hub.delay;
            continue;
        }
        let cuts = network.switch(hop.ingress.node).is_some_and(|switch| {
            sum += switch.latency;
            let next = hops.get(at + 1).map(|next| network.links[next.link.index()].rate);
            switch.mode == ForwardingMode::CutThrough && next.is_some_and(|next| next <= link.rate)
        });
        sum += if cuts {
            link.rate.time_floor(wire::PREAMBLE + wire::HEADER)
        } else {
            wire::wire_time(frame, link.rate)
        };
    }
    sum
}

/// Returns what a station spends on a frame: stack, plus the task that writes or reads the message.
fn cost(
    station: Option<&EndStation>,
    (frame, tcp): (Bytes, bool),
    direction: impl Fn(&LinearStack) -> Cost,
) -> Duration {
    let Some(station) = station else {
        return Duration::ZERO;
    };
    let stack = match &station.stack {
        Stack::Zero => Duration::ZERO,
        Stack::IpRate { service } => *service,
        Stack::Rtos(stack) if tcp => stack.segment.of(frame),
        Stack::Rtos(stack) => stack.datagram.of(frame),
        Stack::Linear(stack) => direction(stack).of(frame) + stack.interface.of(frame),
    };
    stack + station.tasks.map_or(Duration::ZERO, |tasks| tasks.message)
}
