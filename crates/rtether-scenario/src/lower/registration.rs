//! Ports that register VLANs: [`rtether_model::registration`].

use rtether_model::network::{LinkId, PortId, PortVlan};
use rtether_model::registration;
use rtether_model::route::Routing;

use super::Plant;
use crate::codes;
use crate::diagnostic::{Diagnostic, quote};
use crate::reader::Reader;

/// Gives ports the VLANs registered there, now that all flows are known.
pub(crate) fn register(reader: &mut Reader<'_>, plant: &mut Plant) {
    let pending = std::mem::take(&mut plant.pending);
    let ports: Vec<PortId> = pending
        .iter()
        .filter(|(_, own)| own.is_registered)
        .flat_map(|(node, own)| {
            let ports = own.ports.clone().filter_map(|port| u16::try_from(port).ok());
            ports.map(|port| PortId { node: *node, port })
        })
        .collect();
    let Some(first) = ports.first() else { return };
    let routing = Routing::new(&plant.network);
    if let Some(links) = routing.find_loop(&plant.network) {
        let switch = quote(&plant.network.node(first.node).name);
        let title = format!("{switch} registers VLANs in a loop");
        let at = plant.node_spans[first.node.index()];
        let label = "has a `trunk: registered`";
        let diagnostic = Diagnostic::new(&codes::NETWORK_LOOP, title, at, label);
        let help = "put a link of the loop on standby, or list the VLANs of each trunk";
        let link = links.first().map(|link: &LinkId| plant.link_spans[link.index()]);
        let diagnostic = link
            .into_iter()
            .fold(diagnostic, |diagnostic, span| diagnostic.also(span, "a link of the loop"));
        return reader.report(diagnostic.help(help));
    }
    let is_open = |port: &PortId| {
        let switch = plant.network.switch(port.node);
        let setting = switch.map(|switch| &switch.ports[usize::from(port.port)].vlan);
        // A later setting of the same port may have a list.
        matches!(setting, Some(PortVlan::Trunk { allowed: Some(own), .. }) if own.is_empty())
    };
    plant.network.registering = ports.iter().copied().filter(is_open).collect();
    registration::register(&mut plant.network, &plant.flows);
}
