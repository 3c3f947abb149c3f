//! Idle slopes of a port: together no more than the rate of its link.

use rtether_model::network::{Feature, Network, NodeKind, PortId};
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
    let plan = match &network.node(port.node).kind {
        NodeKind::Switch(switch) => switch.plan_at(port.port),
        NodeKind::EndStation(station) => station.layer.as_ref()?.transmit.as_ref()?.plan()?,
        NodeKind::Hub(_) => return None,
    };
    let slopes = plan.needs(Feature::Credits).then(|| plan.idle_slopes())?;
    let sum = slopes.iter().map(|slope| slope.as_bps()).fold(0, u64::saturating_add);
    Some(BitRate::from_bps(sum))
}
