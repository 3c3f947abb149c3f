//! Records the RTPS traffic of participants other than samples.

use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

use rtether_model::flow::{Delivery, Flow, Tag};
use rtether_model::network::{NodeId, Pcp, PortId};

use super::{Target, Token, Walker};
use crate::classify::Way;
use crate::frame::Frame;

impl Walker<'_> {
    /// Follows the RTPS traffic of the participants at both ends of a flow other than samples:
    /// discovery, which goes to all, and acknowledgements, which have the tag of the flow and no
    /// DSCP.
    pub(super) fn follow_discovery(&mut self, flow: &Flow) {
        let (network, routing) = (self.network, self.routing);
        let stations = network.iter_nodes().map(|(id, _)| id);
        let stations: Vec<NodeId> =
            stations.filter(|&id| network.end_station(id).is_some()).collect();
        let without_priority =
            flow.tag.filter(|tag| tag.vid.get() != 0).map(|tag| Tag { pcp: Pcp::default(), ..tag });
        let mut tags = vec![without_priority];
        if flow.tag != without_priority {
            tags.push(flow.tag);
        }
        let ends = core::iter::once(flow.talker).chain(flow.listeners.iter().copied());
        for talker in ends {
            let others = stations.iter().copied().filter(|&other| other != talker);
            let others: Vec<NodeId> =
                others.filter(|&other| routing.path(network, talker, other).is_ok()).collect();
            // Ports of switches that manage groups; other switches flood.
            let ways = others.iter().flat_map(|&other| routing.paths(network, talker, other));
            let ports: BTreeSet<PortId> = ways.flatten().map(|hop| hop.egress).collect();
            for &tag in &tags {
                let said = Flow {
                    talker,
                    listeners: others.clone(),
                    delivery: Delivery::Multicast,
                    tag,
                    dscp: 0,
                    reply: None,
                    ..flow.clone()
                };
                let group = Target::Group(others.clone(), ports.clone());
                self.say(&said, None, &group);
                // Layers may look at addresses and ports, so each unicast copy has its own header.
                for &other in &others {
                    self.say(&said, Some(other), &Target::One(other));
                }
            }
        }
    }

    fn say(&mut self, said: &Flow, to: Option<NodeId>, target: &Target) {
        let way = Way { flow: said, number: self.flow, from: said.talker, to, is_answer: false };
        // Traffic that does not get through does not concern this flow.
        let _ = self.send(&way, target, Token::released(Frame::of(said, false)));
    }
}
