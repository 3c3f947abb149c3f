//! Idle slopes of a port: together no more than the rate of its link.

use rtether_model::endnode::TransmitStrategy;
use rtether_model::network::{Network, NodeKind, PortId, Selection};
use rtether_model::quantity::BitRate;

use super::{Plant, codes, port_name};
use crate::diagnostic::Diagnostic;
use crate::reader::Reader;

pub(super) fn check(reader: &mut Reader<'_>, plant: &Plant) {
    for link in plant.network.links.iter().filter(|link| !link.standby) {
        for end in link.ends {
            let Some(sum) = slopes(&plant.network, end).filter(|&sum| sum > link.rate) else {
                continue;
            };
            let port = port_name(&plant.network, end);
            let title = format!("the idle slopes of {port} add up to {sum}");
            let label = format!("its link has {}", link.rate);
            let place = plant.node_spans[end.node.index()];
            reader.report(
                Diagnostic::new(&codes::VALUE_OUT_OF_RANGE, title, place, label)
                    .help("lower `idle_slopes`, or give the port its own in `port_settings`"),
            );
        }
    }
}

/// Returns the sum of the idle slopes of a port; `None` if it does not shape.
fn slopes(network: &Network, port: PortId) -> Option<BitRate> {
    let (selection, queues) = match &network.node(port.node).kind {
        NodeKind::Switch(switch) => (switch.selection_at(port.port), switch.queues.count().into()),
        NodeKind::EndStation(station) => {
            let transmit = station.layer.as_ref()?.transmit.as_ref()?;
            let TransmitStrategy::Selection(selection) = transmit.strategy else {
                return None;
            };
            (selection, transmit.queue_limits.len())
        }
        NodeKind::Hub(_) => return None,
    };
    let Selection::Cbs { idle_slopes } = selection else {
        return None;
    };
    let used = idle_slopes.iter().take(queues).map(|slope| slope.as_bps());
    Some(BitRate::from_bps(used.fold(0, u64::saturating_add)))
}
