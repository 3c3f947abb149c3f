//! The VLAN of a frame on its way (IEEE 802.1Q-2022, 6.9 and 8.6), and ways that stay inside it.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

use super::{Hop, RouteError, Routing};
use crate::network::{Network, NodeId, NodeKind, PortId, PortVlan, Switch, TagHandling, Vid};

/// Returns whether any port is in a VLAN.
pub(super) fn any(network: &Network) -> bool {
    let switches = network.nodes.iter().filter_map(|node| match &node.kind {
        NodeKind::Switch(switch) => Some(switch),
        NodeKind::EndStation(_) | NodeKind::Hub(_) => None,
    });
    let mut ports = switches.flat_map(|switch| &switch.ports);
    ports.any(|port| port.vlan != PortVlan::Transparent)
}

/// Follows the VLAN of a frame along its path.
pub(super) fn check(network: &Network, hops: &[Hop], tag: Option<Vid>) -> Result<(), RouteError> {
    let mut tag = effective(tag);
    for pair in hops.windows(2) {
        tag = forward(network, pair[0].ingress, pair[1].egress, tag)?;
    }
    Ok(())
}

/// Returns the VLAN that a tag names; a priority tag names none.
fn effective(tag: Option<Vid>) -> Option<Vid> {
    tag.filter(|&vid| vid != Vid::PRIORITY_ONLY)
}

/// Returns the tag with which a frame leaves a node.
fn forward(
    network: &Network,
    ingress: PortId,
    egress: PortId,
    tag: Option<Vid>,
) -> Result<Option<Vid>, RouteError> {
    let Some(switch) = network.switch(ingress.node) else {
        return Ok(tag);
    };
    let vid = vid_of(switch, ingress, tag)?;
    let vlan_of = |port: PortId| &switch.ports[usize::from(port.port)].vlan;
    for port in [ingress, egress] {
        if !vlan_of(port).admits(vid) {
            return Err(RouteError::OutsideVlan { port, vid });
        }
    }
    let sent = match vlan_of(egress).sends_tagged(vid) {
        Some(true) => Some(vid),
        Some(false) => None,
        None => tag,
    };
    Ok(sent.filter(|_| switch.tags != TagHandling::Strip))
}

fn vid_of(switch: &Switch, ingress: PortId, tag: Option<Vid>) -> Result<Vid, RouteError> {
    let vlan = &switch.ports[usize::from(ingress.port)].vlan;
    tag.or_else(|| vlan.vid_of_untagged()).ok_or(RouteError::NoVlan { port: ingress })
}

/// A frame that has arrived at a port, with its tag.
type Arrival = (PortId, Option<Vid>);

/// How an arrival was reached first: hops from the talker, the arrival before, the last hop, and
/// whether there is another way of this length.
struct Reached {
    distance: usize,
    before: Option<Arrival>,
    hop: Hop,
    is_one_of_several: bool,
}

impl Routing {
    /// Returns the shortest way that stays inside the VLAN of a frame. `None` without one, or if it
    /// passes a node twice, in two VLANs.
    ///
    /// # Errors
    /// [`RouteError::Ambiguous`] if several ways are equally short.
    pub(super) fn path_in_vlan(
        &self,
        network: &Network,
        [from, to]: [NodeId; 2],
        tag: Option<Vid>,
    ) -> Result<Option<Vec<Hop>>, RouteError> {
        let reached = self.arrivals(network, from, effective(tag));
        let ends = || reached.iter().filter(|((port, _), _)| port.node == to);
        let Some(nearest) = ends().map(|(_, end)| end.distance).min() else {
            return Ok(None);
        };
        let mut nearest = ends().filter(|(_, end)| end.distance == nearest);
        let Some((&end, _)) = nearest.next() else {
            return Ok(None);
        };
        let mut hops = Vec::new();
        let mut nodes = BTreeSet::from([from]);
        let mut is_one_of_several = nearest.next().is_some();
        let mut at = Some(end);
        while let Some(arrival) = at {
            let step = &reached[&arrival];
            is_one_of_several |= step.is_one_of_several;
            if !nodes.insert(step.hop.ingress.node) {
                return Ok(None);
            }
            hops.push(step.hop);
            at = step.before;
        }
        if is_one_of_several {
            return Err(RouteError::Ambiguous { from, to });
        }
        hops.reverse();
        Ok(Some(hops))
    }

    /// Searches breadth-first all arrivals of a frame that is flooded in its VLAN.
    fn arrivals(
        &self,
        network: &Network,
        from: NodeId,
        tag: Option<Vid>,
    ) -> BTreeMap<Arrival, Reached> {
        let mut reached: BTreeMap<Arrival, Reached> = BTreeMap::new();
        let mut queue = VecDeque::from([(None, from, tag, 1)]);
        while let Some((before, node, tag, distance)) = queue.pop_front() {
            for hop in self.hops_from(network, node) {
                let sent = match before {
                    None => Ok(tag),
                    Some((ingress, _)) if ingress == hop.egress => continue,
                    Some((ingress, tag)) => forward(network, ingress, hop.egress, tag),
                };
                let Ok(sent) = sent else { continue };
                let arrival = (hop.ingress, sent);
                if let Some(known) = reached.get_mut(&arrival) {
                    known.is_one_of_several |= known.distance == distance;
                    continue;
                }
                let step = Reached { distance, before, hop, is_one_of_several: false };
                reached.insert(arrival, step);
                if network.end_station(hop.ingress.node).is_none() {
                    queue.push_back((Some(arrival), hop.ingress.node, sent, distance + 1));
                }
            }
        }
        reached
    }
}
