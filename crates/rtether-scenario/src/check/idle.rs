//! Rules for frames that meet none.
//!
//! A rule is idle if no frame of any flow can fit its conditions where it is, or if rules before it
//! surely decide on all frames that fit. Where a frame may have one of several values (priorities that
//! switches give, ports that participants of RTPS choose, ways that switches flood), all count, so that
//! no rule is called idle on which a frame may fall.

use std::collections::{BTreeMap, BTreeSet};

use rtether_model::endnode::HeaderMatch;
use rtether_model::flow::{Delivery, Flow};
use rtether_model::ingress::{Exceed, IngressRule};
use rtether_model::network::{
    AddressTable, MulticastForwarding, NodeId, NodeKind, Pcp, PortId, Switch,
};
use rtether_model::route::Routing;
use rtether_model::smoother;
use rtether_model::wire::Encapsulation;
use rtether_proto::endnode::{FlowFrame, FrameKey, matches};

use super::codes;
use crate::diagnostic::{Diagnostic, Span, quote};
use crate::lower::{Plant, Ruled};
use crate::reader::Reader;

/// Comparisons of a frame with a rule after which nothing is said: larger plants than anybody writes by
/// hand.
const MOST: u64 = 50_000_000;

/// A frame of a flow that some rule may meet.
struct Frame<'a> {
    flow: &'a Flow,
    from: NodeId,
    to: Option<NodeId>,
    /// Station that takes it.
    receiver: NodeId,
    key: FrameKey,
    /// Ports at which it arrives on its way.
    ingress: Vec<PortId>,
    /// Whether its addresses and ports above Ethernet are not known.
    is_loose: bool,
    /// Code points that switches give.
    remarks: &'a [u8],
}

/// What is said of a rule, in the order of frames that come closer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Idle {
    /// No frame meets this condition alone.
    Condition(&'static str),
    /// Each condition is met, but not all by one frame where the rule is.
    Together,
    /// Rules before it decide.
    Shadowed,
}

/// Warns of each rule that no frame can meet, and of smoothers whose DSCP no packet has.
pub(super) fn check(reader: &mut Reader<'_>, plant: &Plant, routing: &Routing) {
    if plant.ruled.is_empty() && !has_smoother(plant) {
        return;
    }
    let remarks = remarks(plant);
    let frames = frames(plant, routing, &remarks);
    let priorities = given(plant);
    let mut idle: BTreeMap<Span, (NodeId, Idle)> = BTreeMap::new();
    let mut met: BTreeSet<Span> = BTreeSet::new();
    let mut work = 0;
    for own in &plant.ruled {
        work += u64::try_from(frames.len() * own.spans.len()).unwrap_or(MOST);
        if work > MOST {
            return;
        }
        let found = match &plant.network.node(own.node).kind {
            NodeKind::EndStation(_) => of_layer(plant, own, &frames),
            NodeKind::Switch(switch) => of_switch(plant, (own, switch), &frames, &priorities),
            NodeKind::Hub(_) => Vec::new(),
        };
        for (&span, idle_as) in own.spans.iter().zip(found) {
            match idle_as {
                None => {
                    met.insert(span);
                }
                Some(as_of) => {
                    let known = idle.entry(span).or_insert((own.node, as_of));
                    known.1 = known.1.max(as_of);
                }
            }
        }
    }
    // A rule of a stack is met if it is at any of the stations with this stack.
    for (span, (node, why)) in idle {
        if !met.contains(&span) {
            report(reader, plant, (span, node), why);
        }
    }
    smoothers(reader, plant, &frames);
}

fn report(reader: &mut Reader<'_>, plant: &Plant, (span, node): (Span, NodeId), why: Idle) {
    let name = quote(&plant.network.node(node).name);
    let title = format!("no frame of any flow falls under this rule of {name}");
    let (label, help) = match why {
        Idle::Condition(key) => {
            let help = match key {
                "port" | "source_port" => {
                    format!("say which flow is meant: write `{key}` beside it, over UDP or TCP")
                }
                _ => format!("check `{key}`, or remove the rule"),
            };
            (format!("no frame there has this `{key}`"), help)
        }
        Idle::Together => (
            "no frame there meets all its conditions at once".to_owned(),
            "check the conditions, or remove the rule".to_owned(),
        ),
        Idle::Shadowed => (
            "rules before it decide on all frames that it matches".to_owned(),
            "move it before them, or remove it".to_owned(),
        ),
    };
    reader.report(Diagnostic::new(&codes::IDLE_RULE, title, span, label).help(help));
}

/// Returns the frames of all flows, in both directions.
fn frames<'a>(plant: &'a Plant, routing: &Routing, remarks: &'a [u8]) -> Vec<Frame<'a>> {
    let network = &plant.network;
    let mut list = Vec::new();
    for (number, flow) in (0..).zip(&plant.flows) {
        let is_group = flow.delivery == Delivery::Multicast;
        let mut add = |from, to, receiver, is_answer, ingress| {
            let frame = FlowFrame { flow, number, from, to, is_answer };
            list.push(Frame {
                flow,
                from,
                to,
                receiver,
                key: frame.key(),
                ingress,
                is_loose: flow.is_published(),
                remarks,
            });
        };
        for &listener in &flow.listeners {
            let there = routing.flow_paths(network, flow, listener).unwrap_or_default();
            let ports = there.iter().flatten().map(|hop| hop.ingress).collect();
            add(flow.talker, (!is_group).then_some(listener), listener, false, ports);
            if flow.reply.is_some() || flow.is_acknowledged() {
                let back = routing.answer_paths(network, flow, listener).unwrap_or_default();
                let ports = back.iter().flatten().map(|hop| hop.ingress).collect();
                add(listener, Some(flow.talker), flow.talker, true, ports);
            }
        }
    }
    list
}

/// Returns the rules of all ports of all switches.
fn rules(plant: &Plant) -> impl Iterator<Item = &IngressRule> {
    let nodes = plant.network.nodes.iter();
    let switches = nodes.filter_map(|node| match &node.kind {
        NodeKind::Switch(switch) => Some(switch),
        NodeKind::EndStation(_) | NodeKind::Hub(_) => None,
    });
    switches.flat_map(|switch| {
        let own = switch.ports.iter().filter_map(|port| port.ingress.as_ref());
        own.chain([&switch.ingress]).flatten()
    })
}

/// Returns the code points that rules of switches give to packets.
fn remarks(plant: &Plant) -> Vec<u8> {
    rules(plant).filter_map(|rule| rule.mark_dscp).collect()
}

/// Returns the priorities that ports and rules of switches give to frames.
fn given(plant: &Plant) -> BTreeSet<Pcp> {
    let mut given = BTreeSet::from([Pcp::default()]);
    for node in &plant.network.nodes {
        let NodeKind::Switch(switch) = &node.kind else {
            continue;
        };
        given.extend(switch.ports.iter().map(|port| port.default_pcp));
    }
    for rule in rules(plant) {
        given.extend(rule.mark);
        given.extend(rule.police.and_then(|police| match police.exceed {
            Exceed::Demote(pcp) => Some(pcp),
            Exceed::Drop => None,
        }));
    }
    given
}

/// Returns whether frames reach ports beside their way, and all stations.
fn is_flooded(plant: &Plant) -> bool {
    let floods = |switch: &Switch| {
        matches!(switch.addresses, AddressTable::Learning { .. })
            || switch.multicast == MulticastForwarding::Unmanaged
    };
    let network = &plant.network;
    let mut nodes = network.nodes.iter();
    nodes.any(|node| match &node.kind {
        NodeKind::Switch(switch) => floods(switch),
        NodeKind::Hub(_) => true,
        NodeKind::EndStation(_) => false,
    })
}

/// Returns whether a rule may decide on frames that belong to no flow: address resolution, and requests
/// for channels.
fn is_for_others(plant: &Plant, headers: &HeaderMatch) -> bool {
    let over_ip = HeaderMatch { ethertype: None, ..*headers } != HeaderMatch::default();
    let network = &plant.network;
    let arp = network.resolves_addresses()
        && headers.ethertype.is_none_or(|own| own == Encapsulation::Arp.ethertype());
    !over_ip && (arp || network.admission.is_some())
}

/// Returns whether frames may meet conditions on headers, and whether all of them surely do.
fn fits(headers: &HeaderMatch, frame: &Frame<'_>) -> Option<bool> {
    let mut wanted = *headers;
    if frame.is_loose {
        // Participants of RTPS choose ports, and address groups.
        (wanted.source_port, wanted.destination_port, wanted.destination) = (None, None, None);
    }
    if let Some(tos) = wanted.tos.filter(|_| frame.key.tos.is_some()) {
        // A switch on the way may give another code point.
        let may_come = frame.remarks.iter().any(|dscp| tos.contains(dscp << 2));
        let may_go = frame.remarks.iter().any(|dscp| !tos.contains(dscp << 2));
        if may_come || may_go {
            let is_met = may_come || matches(&wanted, &frame.key);
            wanted.tos = None;
            return (is_met && matches(&wanted, &frame.key)).then_some(false);
        }
    }
    let is_sure = wanted == *headers && !(headers.names_port() && frame.flow.is_fragmented());
    matches(&wanted, &frame.key).then_some(is_sure)
}

/// Returns the first condition that no frame meets by itself.
fn lonely(headers: &HeaderMatch, frames: &[&Frame<'_>]) -> Option<&'static str> {
    let none = HeaderMatch::default();
    let one_by_one = [
        ("ethertype", HeaderMatch { ethertype: headers.ethertype, ..none }),
        ("dscp", HeaderMatch { tos: headers.tos, ..none }),
        ("protocol", HeaderMatch { protocol: headers.protocol, ..none }),
        ("from", HeaderMatch { source: headers.source, ..none }),
        ("to", HeaderMatch { destination: headers.destination, ..none }),
        ("source_port", HeaderMatch { source_port: headers.source_port, ..none }),
        ("port", HeaderMatch { destination_port: headers.destination_port, ..none }),
    ];
    let mut alone = one_by_one.into_iter();
    let found = alone.find(|(_, one)| !frames.iter().any(|frame| fits(one, frame).is_some()));
    found.map(|(key, _)| key)
}

/// Says of each rule in the layer of a station whether it is idle.
fn of_layer(plant: &Plant, own: &Ruled, frames: &[Frame<'_>]) -> Vec<Option<Idle>> {
    let station = plant.network.end_station(own.node);
    let Some(layer) = station.and_then(|station| station.layer.as_ref()) else {
        return Vec::new();
    };
    // The tag decides before the rules; on the way a switch may have taken it away.
    let here: Vec<&Frame<'_>> = frames
        .iter()
        .filter(|frame| {
            let is_sent = frame.from == own.node && frame.flow.tag.is_none();
            is_sent || frame.receiver == own.node
        })
        .collect();
    let headers: Vec<&HeaderMatch> = layer.rules.iter().map(|rule| &rule.headers).collect();
    judge(plant, &headers, &here, |position, frame| {
        let is_overlooked = layer.icmp_unclassified && frame.key.is_icmp();
        if is_overlooked { None } else { fits(headers[position], frame) }
    })
}

/// Says of each rule of a switch, or of some of its ports, whether it is idle.
fn of_switch(
    plant: &Plant,
    (own, switch): (&Ruled, &Switch),
    frames: &[Frame<'_>],
    given: &BTreeSet<Pcp>,
) -> Vec<Option<Idle>> {
    let of_ports = own.ports.clone().unwrap_or_default();
    let is_own = |port: u16| {
        let port = usize::from(port);
        if of_ports.is_empty() {
            switch.ports.get(port).is_some_and(|port| port.ingress.is_none())
        } else {
            of_ports.contains(&port)
        }
    };
    let flooded = is_flooded(plant);
    let comes_here = |frame: &&Frame<'_>| {
        let mut ports = frame.ingress.iter();
        flooded || frame.is_loose || ports.any(|at| at.node == own.node && is_own(at.port))
    };
    let here: Vec<&Frame<'_>> = frames.iter().filter(comes_here).collect();
    let first = switch.ports.get(of_ports.start).and_then(|port| port.ingress.as_ref());
    let rules: &[IngressRule] = match first.filter(|_| !of_ports.is_empty()) {
        Some(rules) => rules,
        None => &switch.ingress,
    };
    let headers: Vec<&HeaderMatch> = rules.iter().map(|rule| &rule.headers).collect();
    judge(plant, &headers, &here, |position, frame| {
        let rule = &rules[position];
        if switch.icmp_unclassified && frame.key.is_icmp() {
            return None;
        }
        let among = |stations: &[NodeId], own: Option<NodeId>| {
            stations.is_empty() || own.is_some_and(|own| stations.contains(&own))
        };
        let to = frame.to.filter(|_| !frame.is_loose);
        let is_met = among(&rule.from, Some(frame.from))
            && (among(&rule.to, to) || frame.is_loose)
            && rule.pcp.is_none_or(|pcp| may_have(pcp, frame, given));
        let is_sure = rule.pcp.is_none() && (rule.to.is_empty() || !frame.is_loose);
        let fits = fits(&rule.headers, frame).filter(|_| is_met)?;
        Some(fits && is_sure)
    })
}

/// Returns whether a frame may have this priority somewhere on its way.
fn may_have(pcp: Pcp, frame: &Frame<'_>, given: &BTreeSet<Pcp>) -> bool {
    frame.flow.tag.is_some_and(|tag| tag.pcp == pcp) || given.contains(&pcp)
}

/// Says of each rule whether it is idle, given whether a rule may and surely does fit a frame.
fn judge(
    plant: &Plant,
    headers: &[&HeaderMatch],
    frames: &[&Frame<'_>],
    fits: impl Fn(usize, &Frame<'_>) -> Option<bool>,
) -> Vec<Option<Idle>> {
    let mut verdicts: Vec<Option<Idle>> = headers
        .iter()
        .map(|own| {
            let alone = lonely(own, frames).map_or(Idle::Together, Idle::Condition);
            (!is_for_others(plant, own)).then_some(alone)
        })
        .collect();
    for frame in frames {
        let mut is_decided = false;
        for (position, verdict) in verdicts.iter_mut().enumerate() {
            let Some(is_sure) = fits(position, frame) else {
                continue;
            };
            if !is_decided {
                *verdict = None;
            } else if verdict.is_some() {
                *verdict = Some(Idle::Shadowed);
            }
            is_decided |= is_sure;
        }
    }
    verdicts
}

fn has_smoother(plant: &Plant) -> bool {
    let mut nodes = plant.network.nodes.iter();
    nodes.any(|node| one_dscp(&node.kind).is_some())
}

/// Returns the only DSCP that a smoother takes for real-time; `None` if it knows several, or another
/// way.
fn one_dscp(kind: &NodeKind) -> Option<u8> {
    let NodeKind::EndStation(station) = kind else {
        return None;
    };
    let smoothing = station.layer.as_ref()?.smoother?;
    match smoothing.rule {
        smoother::Rule::TypeOfService { values: [one, other], .. } if one == other => {
            Some(one >> 2)
        }
        smoother::Rule::TypeOfService { .. } | smoother::Rule::Protocol(_) => None,
    }
}

/// Warns of a DSCP that smoothers take for real-time, and that no packet of their stations has.
fn smoothers(reader: &mut Reader<'_>, plant: &Plant, frames: &[Frame<'_>]) {
    let mut stations: BTreeMap<u8, Vec<NodeId>> = BTreeMap::new();
    for (id, node) in plant.network.iter_nodes() {
        if let Some(dscp) = one_dscp(&node.kind) {
            stations.entry(dscp).or_default().push(id);
        }
    }
    for (dscp, stations) in stations {
        let has_it = |frame: &Frame<'_>| frame.key.tos.is_some_and(|tos| tos >> 2 == dscp);
        let mut sent = frames.iter().filter(|frame| stations.contains(&frame.from));
        let Some(first) = stations.first().filter(|_| !sent.any(has_it)) else {
            continue;
        };
        let names = stations.iter().take(8);
        let names: Vec<String> = names.map(|&id| quote(&plant.network.node(id).name)).collect();
        let title = format!(
            "no packet of {} has DSCP {dscp}, which the smoother lets go first",
            names.join(", ")
        );
        let place = plant.node_spans[first.index()];
        let label = "every packet over IP waits for credits here";
        let help = format!("write `dscp: {dscp}` beside the flows that are meant");
        reader.report(Diagnostic::new(&codes::IDLE_RULE, title, place, label).help(help));
    }
}
