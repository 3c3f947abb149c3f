//! Admission: plants and flows that channels are made for.

use std::collections::BTreeSet;

use rtether_model::flow::{Flow, Phase, Traffic};
use rtether_model::network::{NodeId, NodeKind};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::route::Routing;
use rtether_model::wire::Encapsulation;

use super::{Plant, codes, quote};
use crate::diagnostic::Diagnostic;
use crate::reader::Reader;

/// Checks a plant with a manager of channels.
pub(super) fn check(reader: &mut Reader<'_>, plant: &Plant, routing: &Routing) {
    let Some(admission) = plant.network.admission else {
        return;
    };
    medium(reader, plant);
    for (flow, &span) in plant.flows.iter().zip(&plant.flow_spans) {
        if !flow.asks(&plant.network) {
            continue;
        }
        let is_managers = flow.talker == admission.manager;
        let is_managers = is_managers || flow.listeners.contains(&admission.manager);
        let own = is_managers.then_some("it starts or ends at the manager");
        let Some(why) = flow.obstacle_to_channel().or(own) else {
            continue;
        };
        let title = format!("flow {} cannot be a channel: {why}", quote(&flow.name));
        reader.report(
            Diagnostic::new(&codes::NOT_A_CHANNEL, title, span, "has a deadline")
                .also(plant.admission_span, "flows with a deadline ask here")
                .help("remove its `deadline`, or `admission`"),
        );
    }
    ways(reader, plant, routing, admission.manager);
}

/// Reports what channels are not made for.
fn medium(reader: &mut Reader<'_>, plant: &Plant) {
    let network = &plant.network;
    let nodes = network.nodes.iter().zip(&plant.node_spans);
    let nodes = nodes.filter_map(|(node, &span)| {
        let why = match &node.kind {
            NodeKind::Hub(_) => "is a hub",
            NodeKind::Switch(switch) if switch.router.is_some() => "is a router",
            NodeKind::EndStation(station) if station.arp.is_some() => "resolves addresses",
            NodeKind::Switch(_) | NodeKind::EndStation(_) => return None,
        };
        Some((format!("{} {why}", quote(&node.name)), span))
    });
    let links = network.links.iter().zip(&plant.link_spans);
    let half = links.filter(|(link, _)| {
        let joins_hub = link.ends.iter().any(|end| network.hub(end.node).is_some());
        network.is_half_duplex(link) && !joins_hub
    });
    let half = half.map(|(_, &span)| ("a link is half-duplex".to_owned(), span));
    let mut all = nodes.chain(half);
    if let Some((title, span)) = all.next() {
        let label = "channels need switches, full duplex and known addresses";
        reader.report(
            Diagnostic::new(&codes::ADMISSION_PLANT, title, span, label)
                .also(plant.admission_span, "flows with a deadline ask here")
                .help("change it, or remove `admission`"),
        );
    }
}

/// Reports a station whose messages do not reach the manager, or come back.
fn ways(reader: &mut Reader<'_>, plant: &Plant, routing: &Routing, manager: NodeId) {
    let asking = plant.flows.iter().filter(|flow| flow.asks(&plant.network));
    let ends = asking.flat_map(|flow| flow.listeners.iter().copied().chain([flow.talker]));
    for station in ends.collect::<BTreeSet<NodeId>>() {
        let has_way = |from: NodeId, to: NodeId| {
            let never = Traffic::periodic(Duration::from_secs(1), Phase::Random);
            let message = Flow {
                encapsulation: Encapsulation::Raw,
                ..Flow::new(String::new(), from, vec![to], Bytes::ZERO, never)
            };
            routing.flow_path(&plant.network, &message, to).is_ok()
        };
        if station == manager || has_way(station, manager) && has_way(manager, station) {
            continue;
        }
        let name = |node: NodeId| quote(&plant.network.node(node).name);
        let title = format!(
            "untagged frames of {} do not reach {} and come back",
            name(station),
            name(manager)
        );
        let label = "asks for a channel, or is asked to listen";
        reader.report(
            Diagnostic::new(
                &codes::ADMISSION_PLANT,
                title,
                plant.node_spans[station.index()],
                label,
            )
            .also(plant.admission_span, "flows with a deadline ask here")
            .help("link it to the switches, and put the ports between them into no VLAN"),
        );
    }
}
