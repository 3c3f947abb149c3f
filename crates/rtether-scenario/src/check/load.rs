//! Mean load of links and stacks. Above one, the backlog grows without limit.

use std::collections::BTreeMap;
use std::fmt::Write;

use rtether_model::flow::{Delivery, Flow, FlowId, Traffic};
use rtether_model::network::{Network, NodeId, NodeKind, PortId, Servers, Stack};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::route::{Hop, Routing};
use rtether_model::wire::{self, Encapsulation, Frames};

use super::domain::Domains;
use super::{Plant, codes, each_hop, flow_of, port_name, quote};
use crate::codes::Code;
use crate::codes::Severity;
use crate::diagnostic::{Diagnostic, Span};
use crate::reader::Reader;

/// Load is counted in billionths; this is full load.
const FULL: u64 = 1_000_000_000;

/// Number of flows named with their share.
const NAMED: usize = 5;

/// A resource that flows keep busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Resource {
    /// One direction of a link, named by the sending port.
    Port(PortId),
    /// A collision domain, by its index.
    Domain(usize),
    /// The processor of a stack; the sending one if there are two.
    Stack(NodeId),
    /// The receiving processor of a stack that has two.
    Receiver(NodeId),
    /// The processor of the applications.
    Tasks(NodeId),
}

#[derive(Clone, Copy, Default)]
struct Total {
    real_time: u64,
    other: u64,
}

/// Routes and collision domains.
type Paths<'p> = (&'p Routing, &'p Domains);

pub(super) fn check(reader: &mut Reader<'_>, plant: &Plant, paths: Paths<'_>, overload: Severity) {
    let mut totals: BTreeMap<Resource, Total> = BTreeMap::new();
    for flow in &plant.flows {
        visit(plant, paths, flow, &mut |resource, share| {
            let total = totals.entry(resource).or_default();
            // Bulk and floods count apart from real-time traffic: TCP takes what is left.
            let is_other = matches!(flow.traffic, Traffic::Bulk(_) | Traffic::Flood { .. });
            let slot = if !is_other {
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
    // Only overloaded resources need the shares of their flows.
    let mut shares: BTreeMap<Resource, Vec<(u64, FlowId)>> = BTreeMap::new();
    for (id, flow) in (0u32..).map(FlowId).zip(&plant.flows) {
        let mut own: BTreeMap<Resource, u64> = BTreeMap::new();
        visit(plant, paths, flow, &mut |resource, share| {
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
        let what = describe(plant, paths.1, resource, total);
        report(reader, plant, (resource, total, what), list, overload);
    }
}

/// Calls `add` with every resource a flow uses and its share.
fn visit(
    plant: &Plant,
    (routing, domains): Paths<'_>,
    flow: &Flow,
    add: &mut impl FnMut(Resource, u64),
) {
    let Some((interval, payload)) = interval_and_payload(flow) else {
        return;
    };
    let network = &plant.network;
    let frames = flow.frames(payload);
    let tag = if flow.tag.is_some() {
        wire::TAG
    } else {
        Bytes::ZERO
    };
    let on_port = |hop: &Hop, frames: Frames| {
        let rate = network.links[hop.link.index()].rate;
        part(
            frames.total(|frame| wire::occupancy(frame + tag, rate)),
            interval,
        )
    };
    let resource = |hop: &Hop| match domains.of(hop.link) {
        // A hub repeats a frame that was counted when it entered the domain.
        Some(_) if network.hub(hop.egress.node).is_some() => None,
        Some(domain) => Some(Resource::Domain(domain)),
        None => Some(Resource::Port(hop.egress)),
    };
    each_hop(plant, routing, flow, |_, hop| {
        if let Some(resource) = resource(hop) {
            add(resource, on_port(hop, frames));
        }
    });
    let copies = match flow.delivery {
        Delivery::Unicast => flow.listeners.len(),
        Delivery::Multicast => 1,
    };
    let copies = u64::try_from(copies).unwrap_or(u64::MAX);
    let packet = (frames, flow.encapsulation == Encapsulation::Tcp);
    for (resource, time) in busy(network, flow, flow.talker, packet, true) {
        add(resource, part(time, interval).saturating_mul(copies));
    }
    for &listener in &flow.listeners {
        for (resource, time) in busy(network, flow, listener, packet, false) {
            add(resource, part(time, interval));
        }
        let Some(reply) = flow.reply else { continue };
        let frames = flow.frames(reply.payload);
        for (node, sends) in [(listener, true), (flow.talker, false)] {
            for (resource, time) in busy(network, flow, node, (frames, packet.1), sends) {
                add(resource, part(time, interval));
            }
        }
        for hop in routing
            .answer_path(network, flow, listener)
            .iter()
            .flatten()
        {
            if let Some(resource) = resource(hop) {
                add(resource, on_port(hop, frames));
            }
        }
    }
}

/// Returns the mean interval between packets and their payload; `None` if the network sets the
/// pace.
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

/// Returns the processors that a packet keeps busy at a node, and for how long on average.
fn busy(
    network: &Network,
    flow: &Flow,
    node: NodeId,
    packet: (Frames, bool),
    sends: bool,
) -> impl Iterator<Item = (Resource, Duration)> {
    let tasks = network.end_station(node).and_then(|station| station.tasks);
    let task = tasks.map(|tasks| {
        // A UDP task handles whole datagrams; a TCP task handles segments.
        let time = if matches!(flow.traffic, Traffic::Bulk(_)) {
            tasks.segment
        } else if flow.encapsulation == Encapsulation::Udp {
            tasks.message
        } else {
            tasks.message * i64::from(packet.0.count)
        };
        (Resource::Tasks(node), time)
    });
    let stack = service(network, node, packet, sends);
    stack.into_iter().chain(task)
}

/// Returns which processor of the stack a packet keeps busy, and for how long on average.
fn service(
    network: &Network,
    node: NodeId,
    (frames, tcp): (Frames, bool),
    sends: bool,
) -> Option<(Resource, Duration)> {
    let NodeKind::EndStation(station) = &network.node(node).kind else {
        return None;
    };
    match &station.stack {
        Stack::Zero => None,
        Stack::IpRate { service } => Some((Resource::Stack(node), frames.total(|_| *service))),
        Stack::Rtos(stack) => {
            let cost = if tcp { stack.segment } else { stack.datagram };
            Some((
                Resource::Stack(node),
                frames.total(|frame| cost.of(frame) + stack.jitter.spread.mean(sends)),
            ))
        }
        Stack::Linear(stack) => {
            let cost = if sends { stack.send } else { stack.receive };
            let resource = if sends || stack.servers == Servers::Shared {
                Resource::Stack(node)
            } else {
                Resource::Receiver(node)
            };
            let time = frames.total(|frame| cost.of(frame) + stack.jitter.spread.mean(sends));
            Some((resource, time))
        }
    }
}

/// Parts of an overload message: code, title, place and label.
type Description = (&'static Code, String, Span, &'static str);

fn describe(
    plant: &Plant,
    domains: &Domains,
    resource: Resource,
    total: Total,
) -> Option<Description> {
    let sum = total.real_time.saturating_add(total.other);
    let network = &plant.network;
    let carried = |rate: BitRate| {
        let carried = u128::from(rate.as_bps()) * u128::from(sum) / u128::from(FULL);
        BitRate::from_bps(u64::try_from(carried).unwrap_or(u64::MAX))
    };
    let name = |node: NodeId| quote(&network.node(node).name);
    Some(match resource {
        Resource::Port(port) => {
            let mut links = network.links.iter().zip(&plant.link_spans);
            let (link, &span) = links.find(|(l, _)| l.ends.contains(&port))?;
            let (place, rate) = (port_name(network, port), link.rate);
            let title = format!("{place} sends {} over a link of {rate}", carried(rate));
            let label = "with preamble and gap, on average";
            (&codes::LINK_OVERLOAD, title, span, label)
        }
        Resource::Domain(number) => {
            let domain = domains.get(number);
            let (place, span) = match (domain.hubs.first(), domain.links.first()) {
                (Some(&hub), _) => (format!("hub {}", name(hub)), plant.node_spans[hub.index()]),
                (None, link) => (
                    "a half-duplex link".to_owned(),
                    plant.link_spans[link?.index()],
                ),
            };
            let rate = domain.rate;
            let title = format!("{place} has to carry {} of {rate}", carried(rate));
            let label = "one frame at a time, with preamble and gap, on average";
            (&codes::LINK_OVERLOAD, title, span, label)
        }
        Resource::Stack(node) | Resource::Receiver(node) => {
            let (name, busy) = (name(node), percent(sum));
            let title = format!("the stack of {name} would be busy {busy} of the time");
            let span = plant.node_spans[node.index()];
            let label = "sent and received packets together, on average";
            (&codes::NODE_OVERLOAD, title, span, label)
        }
        Resource::Tasks(node) => {
            let (name, busy) = (name(node), percent(sum));
            let title = format!("the tasks of {name} would be busy {busy} of the time");
            let span = plant.node_spans[node.index()];
            let label = "sent and received messages together, on average";
            (&codes::NODE_OVERLOAD, title, span, label)
        }
    })
}

fn report(
    reader: &mut Reader<'_>,
    plant: &Plant,
    (resource, total, what): (Resource, Total, Option<Description>),
    mut shares: Vec<(u64, FlowId)>,
    overload: Severity,
) {
    let Some((code, title, span, label)) = what else {
        return;
    };
    let floods_only = total.real_time <= FULL;
    let severity = if floods_only {
        Severity::Warning
    } else {
        overload
    };
    let mut diagnostic = Diagnostic::new(code, title, span, label).with_severity(severity);
    shares.sort_by_key(|&(share, id)| (std::cmp::Reverse(share), id));
    for (span, text) in labels(plant, &shares) {
        diagnostic = diagnostic.also(span, text);
    }
    if severity == Severity::Error {
        let remedy = match resource {
            Resource::Port(_) => "use a faster link, fewer or smaller packets, or multicast",
            Resource::Domain(_) => "use a switch, fewer or smaller packets, or multicast",
            Resource::Stack(_) | Resource::Receiver(_) => "use a faster stack, or fewer packets",
            Resource::Tasks(_) => "use faster tasks, or fewer messages",
        };
        diagnostic = diagnostic
            .help(remedy)
            .help("to run it all the same, write `run: { overload: allow }`");
    }
    reader.report(diagnostic);
}

/// Returns labels for the largest shares, by place; generated flows share one place.
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

/// Formats billionths as percent with one decimal.
fn percent(billionths: u64) -> String {
    let tenths = billionths / 1_000_000;
    format!("{}.{} %", tenths / 10, tenths % 10)
}
