//! Mean load of links, stacks and routers. Above one, the backlog grows without limit.

mod policed;

use std::collections::BTreeMap;
use std::fmt::Write;

use rtether_model::flow::{Delivery, Flow, FlowId, Traffic};
use rtether_model::network::{Network, NodeId, NodeKind, PortId, Redundancy, Servers, Stack};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::route::{Hop, Routing};
use rtether_model::wire::{self, Encapsulation, Frames};

use super::domain::Domains;
use super::{Plant, codes, flow_of, port_name, quote};
use crate::codes::Code;
use crate::codes::Severity;
use crate::diagnostic::{Diagnostic, Span};
use crate::reader::Reader;
use policed::{Policed, Way, each_way, scaled};

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
    /// The processor of a router.
    Router(NodeId),
    /// What keeps the gap of a flow.
    Gap(FlowId),
}

#[derive(Clone, Copy, Default)]
struct Total {
    real_time: u64,
    other: u64,
}

/// Routes and collision domains.
type Paths<'p> = (&'p Routing, &'p Domains);

/// The plant with what its policers leave.
type Carried<'p> = (&'p Plant, &'p Policed<'p>);

pub(super) fn check(reader: &mut Reader<'_>, plant: &Plant, paths: Paths<'_>, overload: Severity) {
    let policed = Policed::new(plant, paths.0);
    let carried = (plant, &policed);
    let mut totals: BTreeMap<Resource, Total> = BTreeMap::new();
    for (id, flow) in (0u32..).map(FlowId).zip(&plant.flows) {
        visit(carried, paths, (id, flow), &mut |resource, share| {
            let total = totals.entry(resource).or_default();
            // Bulk and floods count apart from real-time traffic: TCP takes what is left.
            let is_other = matches!(flow.traffic, Traffic::Bulk(_) | Traffic::Flood { .. });
            let slot = if !is_other { &mut total.real_time } else { &mut total.other };
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
        visit(carried, paths, (id, flow), &mut |resource, share| {
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
    (plant, policed): Carried<'_>,
    (routing, domains): Paths<'_>,
    (id, flow): (FlowId, &Flow),
    add: &mut impl FnMut(Resource, u64),
) {
    let Some((interval, payload)) = interval_and_payload(flow) else {
        return;
    };
    let network = &plant.network;
    if let Some((gap, interval)) = flow.gap.zip(flow.mean_interval()) {
        add(Resource::Gap(id), part(gap, interval));
    }
    let is_tcp = flow.encapsulation == Encapsulation::Tcp;
    let packet = (flow.frames(payload), is_tcp);
    let copies = match flow.delivery {
        Delivery::Unicast => flow.listeners.len(),
        Delivery::Multicast => 1,
    };
    let copies = u64::try_from(copies).unwrap_or(u64::MAX);
    for (resource, time) in busy(network, flow, flow.talker, packet, true) {
        add(resource, part(time, interval).saturating_mul(copies));
    }
    each_way(plant, routing, flow, |way, hops, is_first| {
        let packet = (flow.frames(way.payload), is_tcp);
        let mut left = way.brought;
        let mut load = |resource, time, left| add(resource, scaled(part(time, interval), left));
        if way.is_answer && !way.is_copy {
            for (resource, time) in busy(network, flow, way.from, packet, true) {
                load(resource, time, left);
            }
        }
        for hop in hops {
            let carrier = carrier(network, domains, hop).filter(|_| is_first(hop));
            if let Some(resource) = carrier {
                load(resource, on_link(network, way, hop, packet.0), left);
            }
            left = policed.left(way, left, hop);
            if let Some(cost) = routing_cost(network, hop, packet.0).filter(|_| is_first(hop)) {
                load(Resource::Router(hop.ingress.node), cost, left);
            }
        }
        if !way.is_copy {
            for (resource, time) in busy(network, flow, way.receiver, packet, false) {
                load(resource, time, left);
            }
        }
        left
    });
}

/// Returns the link or collision domain that carries a hop. A hub repeats a frame that was counted
/// when it entered the domain.
fn carrier(network: &Network, domains: &Domains, hop: &Hop) -> Option<Resource> {
    match domains.of(hop.link) {
        Some(_) if network.hub(hop.egress.node).is_some() => None,
        Some(domain) => Some(Resource::Domain(domain)),
        None => Some(Resource::Port(hop.egress)),
    }
}

/// Returns how long frames of a flow occupy a link.
fn on_link(network: &Network, way: &Way<'_>, hop: &Hop, frames: Frames) -> Duration {
    let sender = network.end_station(way.from);
    let trailer = sender.and_then(|own| own.redundancy);
    let trailer = trailer.map_or(Bytes::ZERO, Redundancy::trailer);
    let tag = if way.flow.tag.is_some() { wire::TAG } else { Bytes::ZERO };
    let rate = network.links[hop.link.index()].rate;
    frames.total(|frame| wire::occupancy(frame + tag + trailer, rate))
}

/// Returns the mean time that the router at the end of a hop takes for frames; `None` at others.
fn routing_cost(network: &Network, hop: &Hop, frames: Frames) -> Option<Duration> {
    let router = network.switch(hop.ingress.node)?.router?;
    Some(frames.total(|frame| router.cost.of(frame) + router.jitter / 2))
}

/// Returns the mean interval between packets and their payload; `None` if the network sets the
/// pace.
fn interval_and_payload(flow: &Flow) -> Option<(Duration, Bytes)> {
    if let Traffic::Bulk(bulk) = &flow.traffic {
        let interval = bulk.rate?.time_ceil(bulk.tcp.segment);
        return Some((interval, bulk.tcp.segment));
    }
    let interval = flow.mean_interval()?;
    let gap = flow.gap.unwrap_or(Duration::ZERO);
    Some((interval.max(gap), flow.payload))
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
                (None, link) => ("a half-duplex link".to_owned(), plant.link_spans[link?.index()]),
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
        Resource::Router(node) => {
            let (name, busy) = (name(node), percent(sum));
            let title = format!("router {name} would be busy {busy} of the time");
            let span = plant.node_spans[node.index()];
            let label = "with every packet that it forwards, on average";
            (&codes::NODE_OVERLOAD, title, span, label)
        }
        Resource::Gap(id) => {
            let (name, brought) = (quote(&flow_of(plant, id).name), percent(sum));
            let title = format!("{name} brings {brought} of the frames that its gap lets out");
            let span = plant.flow_spans[id.index()];
            let label = "on average; its station would have to hold ever more of them";
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
    let severity = if floods_only { Severity::Warning } else { overload };
    let mut diagnostic = Diagnostic::new(code, title, span, label).with_severity(severity);
    shares.sort_by_key(|&(share, id)| (std::cmp::Reverse(share), id));
    // A gap is that of one flow.
    let named = labels(plant, &shares).into_iter();
    for (span, text) in named.filter(|_| !matches!(resource, Resource::Gap(_))) {
        diagnostic = diagnostic.also(span, text);
    }
    if severity == Severity::Error {
        let remedy = match resource {
            Resource::Port(_) => "use a faster link, fewer or smaller packets, or multicast",
            Resource::Domain(_) => "use a switch, fewer or smaller packets, or multicast",
            Resource::Stack(_) | Resource::Receiver(_) => "use a faster stack, or fewer packets",
            Resource::Tasks(_) => "use faster tasks, or fewer messages",
            Resource::Router(_) => "use a faster router, or fewer packets",
            Resource::Gap(_) => "use a shorter gap, or a longer period",
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

#[cfg(test)]
mod tests {
    use crate::load;

    /// A station that sends up to 100 Mbit/s to one at 10 Mbit/s, at a switch with these rules.
    fn messages(ingress: &str, flows: &str) -> String {
        messages_at(&format!("ingress: [{ingress}]"), flows)
    }

    /// The same with these settings of the switch.
    fn messages_at(near: &str, flows: &str) -> String {
        let text = format!(
            "rtether: 1\n\
             nodes: {{ plc: {{ stack: zero }}, drive: {{ stack: zero }} }}\n\
             switches:\n\
             \x20 near: {{ ports: 2, queues: 2, {near} }}\n\
             \x20 far: {{ ports: 2, ingress: [{{ from: plc, police: 50 Mbit/s, burst: 10 kB }}] }}\n\
             links:\n\
             - {{ ends: [plc, 'near:1'], rate: 100 Mbit/s }}\n\
             - {{ ends: ['near:2', 'far:1'], rate: 100 Mbit/s }}\n\
             - {{ ends: [drive, 'far:2'], rate: 10 Mbit/s }}\n\
             flows:\n{flows}"
        );
        let mut loaded = load("test.yaml", &text);
        // Some rules here are meant to decide on nothing.
        loaded.diagnostics.retain(|own| own.code != "idle-rule");
        loaded.text(crate::render::Style::Plain)
    }

    /// 1518 octets every 125 us are 97.152 Mbit/s for a policer, and 98.432 Mbit/s on a link.
    const FAST: &str = "- { name: fast, from: plc, to: drive, period: 125 us, size: 1472 B }\n";

    /// Oracle: by hand. What is policed to 8 Mbit/s takes 8.106 Mbit/s of the link, and 9.9 Mbit/s take
    /// 10.030; a policer that demotes drops nothing, and the second one, of 50 Mbit/s, is not enough.
    #[test]
    fn a_policed_flow_loads_later_links_with_its_allowance() {
        let rule = |text: &str| format!("{{ from: plc, police: {text}, burst: 10 kB }}");
        assert_eq!(messages(&rule("8 Mbit/s"), FAST), "");
        let much = messages(&rule("9.9 Mbit/s"), FAST);
        assert!(much.contains("port 2 of switch `far` sends 10.03 Mbit/s"), "{much}");
        let all = messages(&rule("8 Mbit/s, exceed: 0"), FAST);
        assert!(all.contains("port 2 of switch `far` sends 50.659 Mbit/s"), "{all}");
        // A switch that does not classify ICMP lets all of it pass.
        let icmp = FAST.replace("size: 1472 B", "size: 1472 B, over: icmp");
        assert_eq!(messages(&rule("8 Mbit/s"), &icmp), "");
        let near = format!("icmp_unclassified: true, ingress: [{}]", rule("8 Mbit/s"));
        let all = messages_at(&near, &icmp);
        assert!(all.contains("port 2 of switch `far` sends 50.659 Mbit/s"), "{all}");
        // Where frames of a priority may be policed, it is not known that the link has too much.
        assert_eq!(messages(&rule("8 Mbit/s, pcp: 3"), FAST), "");
    }

    /// Oracle: by hand. Two flows of 1518 octets every 250 us share a policer of 9 Mbit/s, and take
    /// 9.119 Mbit/s together; with one each it would be twice that.
    #[test]
    fn flows_share_the_allowance_of_their_policer() {
        let flow = |name: &str| {
            format!("- {{ name: {name}, from: plc, to: drive, period: 250 us, size: 1472 B }}\n")
        };
        let both = flow("a") + &flow("b");
        let one = "{ from: plc, police: 9 Mbit/s, burst: 10 kB }";
        assert_eq!(messages(one, &both), "");
        let other = "{ to: drive, police: 9 Mbit/s, burst: 10 kB }";
        assert_eq!(messages(&format!("{one}, {other}"), &both), "");
        let none = messages("", &both);
        assert!(none.contains("port 2 of switch `far` sends 50.659 Mbit/s"), "{none}");
    }

    /// Oracle: by hand. Answers of 1472 octets to requests that a policer takes away do not come: 1 of
    /// 64 octets every 100 us is 5.12 Mbit/s, of which a tenth is left, and each answer takes 123.04 us.
    #[test]
    fn what_does_not_arrive_is_not_answered() {
        let polls = "- { name: polls, from: plc, to: drive, period: 100 us, size: 18 B, reply: { size: 1472 B } }\n";
        let all = messages("", polls);
        assert!(all.contains("`drive` sends 123.04 Mbit/s"), "{all}");
        assert_eq!(messages("{ from: plc, police: 400 kbit/s, burst: 64 B }", polls), "");
    }
}
