//! Mean load of links and stacks. What is above one grows without limit.

use std::collections::BTreeMap;
use std::fmt::Write;

use rtether_model::flow::{Delivery, Flow, FlowId, Traffic};
use rtether_model::network::{Network, NodeId, NodeKind, PortId, Servers, Spread, Stack};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::route::{Hop, Routing};
use rtether_model::wire;

use super::{Overload, Plant, codes, each_hop, flow_of, port_name, quote};
use crate::scenario::diagnostic::{Diagnostic, Severity, Span};
use crate::scenario::reader::Reader;

/// Load is counted in billionths of the time.
const FULL: u64 = 1_000_000_000;

/// Flows that are named with their share.
const NAMED: usize = 5;

/// Something that can be busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Resource {
    /// One direction of a link: the port that sends.
    Port(PortId),
    /// The processor of a stack; one for both directions, or the sending one.
    Stack(NodeId),
    /// The receiving processor of a stack that has two.
    Receiver(NodeId),
}

#[derive(Clone, Copy, Default)]
struct Total {
    real_time: u64,
    other: u64,
}

pub(super) fn check(reader: &mut Reader<'_>, plant: &Plant, routing: &Routing, overload: Overload) {
    let mut totals: BTreeMap<Resource, Total> = BTreeMap::new();
    for flow in &plant.flows {
        visit(plant, routing, flow, &mut |resource, share| {
            let total = totals.entry(resource).or_default();
            let slot = if flow.is_real_time() {
                &mut total.real_time
            } else {
                &mut total.other
            };
            *slot = slot.saturating_add(share);
        });
    }
    totals.retain(|_, total| total.real_time.saturating_add(total.other) > FULL);
    if totals.is_empty() {
        return;
    }
    // Only now is it worth knowing who contributes.
    let mut shares: BTreeMap<Resource, Vec<(u64, FlowId)>> = BTreeMap::new();
    for (id, flow) in (0u32..).map(FlowId).zip(&plant.flows) {
        let mut own: BTreeMap<Resource, u64> = BTreeMap::new();
        visit(plant, routing, flow, &mut |resource, share| {
            if totals.contains_key(&resource) {
                let sum = own.entry(resource).or_default();
                *sum = sum.saturating_add(share);
            }
        });
        for (resource, share) in own {
            shares.entry(resource).or_default().push((share, id));
        }
    }
    for (resource, total) in totals {
        let list = shares.remove(&resource).unwrap_or_default();
        report(reader, plant, resource, total, list, overload);
    }
}

/// Calls `add` with everything a flow keeps busy.
fn visit(plant: &Plant, routing: &Routing, flow: &Flow, add: &mut impl FnMut(Resource, u64)) {
    let Some((interval, payload)) = interval_and_payload(flow) else {
        return;
    };
    let network = &plant.network;
    let frame = wire::frame_size(payload, flow.encapsulation);
    let tag = if flow.tag.is_some() {
        wire::TAG
    } else {
        Bytes::ZERO
    };
    let on_port = |hop: &Hop, frame: Bytes| {
        let rate = network.links[hop.link.index()].rate;
        part(wire::occupancy(frame + tag, rate), interval)
    };
    each_hop(plant, routing, flow, |_, hop| {
        add(Resource::Port(hop.egress), on_port(hop, frame));
    });
    let copies = match flow.delivery {
        Delivery::Unicast => flow.listeners.len(),
        Delivery::Multicast => 1,
    };
    let copies = u64::try_from(copies).unwrap_or(u64::MAX);
    let sent = service(network, flow.talker, frame, true);
    if let Some((resource, time)) = sent {
        add(resource, part(time, interval).saturating_mul(copies));
    }
    for &listener in &flow.listeners {
        if let Some((resource, time)) = service(network, listener, frame, false) {
            add(resource, part(time, interval));
        }
        let Some(reply) = flow.reply else { continue };
        let frame = wire::frame_size(reply.payload, flow.encapsulation);
        for (node, sends) in [(listener, true), (flow.talker, false)] {
            if let Some((resource, time)) = service(network, node, frame, sends) {
                add(resource, part(time, interval));
            }
        }
        for hop in routing
            .path(network, listener, flow.talker)
            .iter()
            .flatten()
        {
            add(Resource::Port(hop.egress), on_port(hop, frame));
        }
    }
}

/// Returns the mean time between packets and their payload; `None` if the network decides.
fn interval_and_payload(flow: &Flow) -> Option<(Duration, Bytes)> {
    if let Traffic::Bulk(bulk) = &flow.traffic {
        let interval = bulk.rate?.time_ceil(bulk.tcp.segment);
        return Some((interval, bulk.tcp.segment));
    }
    Some((flow.mean_interval()?, flow.payload))
}

fn part(busy: Duration, interval: Duration) -> u64 {
    let busy = u128::from(busy.as_ps().unsigned_abs()) * u128::from(FULL);
    let interval = u128::from(interval.as_ps().unsigned_abs().max(1));
    u64::try_from(busy / interval).unwrap_or(u64::MAX)
}

/// Returns which processor a packet keeps busy, and how long on average.
fn service(
    network: &Network,
    node: NodeId,
    frame: Bytes,
    sends: bool,
) -> Option<(Resource, Duration)> {
    let NodeKind::EndStation(station) = &network.node(node).kind else {
        return None;
    };
    match &station.stack {
        Stack::Zero => None,
        Stack::IpRate { service } => Some((Resource::Stack(node), *service)),
        Stack::Rtos(stack) => Some((Resource::Stack(node), stack.datagram.of(frame))),
        Stack::Linear(stack) => {
            let cost = if sends { stack.send } else { stack.receive };
            let jitter = match stack.jitter.spread {
                Spread::None => Duration::ZERO,
                Spread::Uniform { max } => max / 2,
                Spread::Exponential { mean, .. } => mean,
            };
            let resource = if sends || stack.servers == Servers::Shared {
                Resource::Stack(node)
            } else {
                Resource::Receiver(node)
            };
            Some((resource, cost.of(frame) + jitter))
        }
    }
}

fn report(
    reader: &mut Reader<'_>,
    plant: &Plant,
    resource: Resource,
    total: Total,
    mut shares: Vec<(u64, FlowId)>,
    overload: Overload,
) {
    let sum = total.real_time.saturating_add(total.other);
    let network = &plant.network;
    let (code, title, span, label) = match resource {
        Resource::Port(port) => {
            let links = network.links.iter().zip(&plant.link_spans);
            let Some((link, &span)) = links.into_iter().find(|(l, _)| l.ends.contains(&port))
            else {
                return;
            };
            let carried = u128::from(link.rate.as_bps()) * u128::from(sum) / u128::from(FULL);
            let carried = BitRate::from_bps(u64::try_from(carried).unwrap_or(u64::MAX));
            let place = if plant.is_switch(port.node) {
                port_name(network, port)
            } else {
                format!("node {}", quote(&network.node(port.node).name))
            };
            let rate = link.rate;
            let title = format!("{place} sends {carried} over a link of {rate}");
            let label = "with preamble and gap, on average";
            (&codes::LINK_OVERLOAD, title, span, label)
        }
        Resource::Stack(node) | Resource::Receiver(node) => {
            let name = quote(&network.node(node).name);
            let title = format!(
                "the stack of {name} would be busy {} of the time",
                percent(sum)
            );
            let label = "sent and received packets together, on average";
            let span = plant.node_spans[node.index()];
            (&codes::NODE_OVERLOAD, title, span, label)
        }
    };
    let floods_only = total.real_time <= FULL;
    let severity = if floods_only || overload == Overload::Allow {
        Severity::Warning
    } else {
        Severity::Error
    };
    let mut diagnostic = Diagnostic::new(code, title, span, label).with_severity(severity);
    shares.sort_by_key(|&(share, id)| (std::cmp::Reverse(share), id));
    for (span, text) in labels(plant, &shares) {
        diagnostic = diagnostic.also(span, text);
    }
    if severity == Severity::Error {
        let remedy = match resource {
            Resource::Port(_) => "use a faster link, fewer or smaller packets, or multicast",
            Resource::Stack(_) | Resource::Receiver(_) => "use a faster stack, or fewer packets",
        };
        diagnostic = diagnostic
            .help(remedy)
            .help("to run it all the same, write `run: { overload: allow }`");
    }
    reader.report(diagnostic);
}

/// Returns the largest shares by place; generated flows share one.
fn labels(plant: &Plant, shares: &[(u64, FlowId)]) -> Vec<(Span, String)> {
    let mut labels: Vec<(Span, String)> = Vec::new();
    for &(share, id) in shares.iter().take(NAMED) {
        let text = format!("{} by {}", percent(share), quote(&flow_of(plant, id).name));
        let span = plant.flow_spans[id.index()];
        match labels.iter_mut().find(|(place, _)| *place == span) {
            Some((_, texts)) => {
                texts.push_str(", ");
                texts.push_str(&text);
            }
            None => labels.push((span, text)),
        }
    }
    if let Some((_, text)) = labels.last_mut()
        && shares.len() > NAMED
    {
        let _ = write!(text, ", and {} more", shares.len() - NAMED);
    }
    labels
}

/// Writes billionths as per cent with one decimal.
fn percent(billionths: u64) -> String {
    let tenths = billionths / 1_000_000;
    format!("{}.{} %", tenths / 10, tenths % 10)
}
