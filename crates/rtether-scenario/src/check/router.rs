//! Routers: no neighbor depends on addresses that they hide.

use rtether_model::network::{AddressTable, NodeKind};

use super::{Plant, codes, quote};
use crate::diagnostic::Diagnostic;
use crate::help::Help;
use crate::reader::Reader;

/// Checks that nobody learns or resolves addresses in a plant with routers.
pub(super) fn check(reader: &mut Reader<'_>, plant: &Plant) {
    let numbered = || plant.network.nodes.iter().zip(&plant.node_spans);
    let is_router =
        |kind: &NodeKind| matches!(kind, NodeKind::Switch(switch) if switch.router.is_some());
    let Some((router, at)) = numbered().find(|(node, _)| is_router(&node.kind)) else {
        return;
    };
    for (node, span) in numbered() {
        let (title, help) = match &node.kind {
            NodeKind::Switch(switch) if switch.addresses != AddressTable::Static => (
                format!("switch {} learns addresses", quote(&node.name)),
                Help::from("remove `addresses: learning`").removes("addresses"),
            ),
            NodeKind::EndStation(station) if station.arp.is_some() => {
                (format!("{} resolves addresses", quote(&node.name)), Help::remove("arp"))
            }
            NodeKind::Switch(_) | NodeKind::EndStation(_) | NodeKind::Hub(_) => continue,
        };
        let label = "behind a router all stations have its address";
        reader.report(
            Diagnostic::new(&codes::ROUTER_ADDRESSES, title, *span, label)
                .also(*at, format!("router {}", quote(&router.name)))
                .help(help),
        );
    }
}
