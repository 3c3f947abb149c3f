//! Group addresses with known listeners.

use std::collections::BTreeMap;

use rtether_model::flow::{Delivery, Flow, FlowId};
use rtether_model::network::NodeId;
use rtether_sim::emulation::Destination;

use super::{EmulatorError, Group, frame};

/// All groups.
#[derive(Debug, Default)]
pub(super) struct Groups {
    pub(super) flows: Vec<Flow>,
    /// By talker and address.
    positions: BTreeMap<(NodeId, [u8; 6]), FlowId>,
}

impl Groups {
    /// Flows of one talker to one address form one group: a switch cannot distinguish them.
    pub(super) fn new(groups: &[Group]) -> Result<Self, EmulatorError> {
        let mut this = Self::default();
        for Group { address, flow } in groups {
            if !frame::is_group(address.0) || flow.delivery != Delivery::Multicast {
                return Err(EmulatorError::Group { flow: flow.name.clone(), address: *address });
            }
            let next = FlowId(u32::try_from(this.flows.len()).unwrap_or(u32::MAX));
            let position = *this.positions.entry((flow.talker, address.0)).or_insert(next);
            let Some(known) = this.flows.get_mut(position.index()) else {
                this.flows.push(flow.clone());
                continue;
            };
            let new = flow.listeners.iter();
            let new: Vec<NodeId> =
                new.filter(|&node| !known.listeners.contains(node)).copied().collect();
            known.listeners.extend(new);
        }
        Ok(this)
    }

    /// Returns the destination of a group frame of `station` that starts with `octets`.
    pub(super) fn find(&self, station: NodeId, octets: &[u8]) -> Destination {
        let address = octets.first_chunk().copied();
        let position = address.and_then(|address| self.positions.get(&(station, address)));
        position.map_or(Destination::All, |&position| Destination::Group(position))
    }
}

#[cfg(test)]
mod tests {
    use rtether_model::flow::Traffic;
    use rtether_model::quantity::{Bytes, Duration};
    use rtether_model::wire::Encapsulation;

    use super::*;
    use crate::link::MacAddress;

    fn group(talker: u32, address: u8, listeners: &[u32]) -> Group {
        let flow = Flow {
            delivery: Delivery::Multicast,
            encapsulation: Encapsulation::Goose,
            ..Flow::new(
                "f".into(),
                NodeId(talker),
                listeners.iter().map(|&node| NodeId(node)).collect(),
                Bytes::new(64),
                Traffic::Flood { interval: Duration::from_ms(1) },
            )
        };
        let address = MacAddress([1, 0x0C, 0xCD, 1, 0, address]);
        Group { address, flow }
    }

    /// Oracle: by hand.
    #[test]
    fn groups_are_found_by_talker_and_address() {
        let given = [group(1, 7, &[2, 3]), group(2, 7, &[1]), group(1, 7, &[3, 4])];
        let groups = Groups::new(&given).unwrap();
        let listeners: Vec<_> = groups.flows.iter().map(|flow| &flow.listeners[..]).collect();
        let nodes = [NodeId(2), NodeId(3), NodeId(4)];
        assert_eq!(listeners, [&nodes[..], &[NodeId(1)]]);
        let mut octets = [0; 60];
        octets[..6].copy_from_slice(&given[0].address.0);
        let find = |station, octets: &[u8]| groups.find(NodeId(station), octets);
        assert_eq!(find(1, &octets), Destination::Group(FlowId(0)));
        assert_eq!(find(2, &octets), Destination::Group(FlowId(1)));
        assert_eq!(find(3, &octets), Destination::All);
        assert_eq!(find(1, &octets[..5]), Destination::All);
        octets[..6].fill(0xFF);
        assert_eq!(find(1, &octets), Destination::All);
    }

    #[test]
    fn what_is_no_group_is_refused() {
        let mut single = group(1, 7, &[2]);
        single.flow.delivery = Delivery::Unicast;
        let mut other = group(1, 7, &[2]);
        other.address.0[0] = 2;
        for wrong in [single, other] {
            let message = Groups::new(&[wrong]).unwrap_err().to_string();
            assert!(message.contains("`f`"), "{message}");
        }
    }
}
