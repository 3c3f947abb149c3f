//! What ports offer to the other end of a link, and what both agree on.
//!
//! A port offers its `rate` and all slower ones, at full duplex unless it offers half only. Both ends
//! of a link take the fastest that both offer, as autonegotiation does (IEEE 802.3, clause 28).

use std::collections::BTreeMap;
use std::ops::Range;

use rtether_model::network::{Duplex, NodeId, PortId};
use rtether_model::quantity::BitRate;

use super::links;
use crate::keys::table::DUPLEX;
use crate::reader::{Fields, Reader};

/// What a port offers; what is none is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Offer {
    pub(super) rate: Option<BitRate>,
    duplex: Option<Duplex>,
}

impl Offer {
    /// Reads `rate` and `duplex` of a node or a port.
    pub(super) fn read(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Self {
        Self {
            rate: links::rate(reader, fields, "rate"),
            duplex: reader.word(fields, &DUPLEX).map(|word| word.means),
        }
    }
}

/// The offers of all ports.
#[derive(Default)]
pub(super) struct Offers {
    nodes: BTreeMap<NodeId, Offer>,
    ports: BTreeMap<PortId, Offer>,
}

impl Offers {
    /// Adds an offer of some ports of a node, counted from zero, or of all that have none of their
    /// own.
    pub(super) fn add(&mut self, node: NodeId, ports: Range<usize>, offer: Offer) {
        if offer == Offer::default() {
            return;
        }
        if ports.is_empty() {
            self.nodes.insert(node, offer);
        }
        for port in ports.filter_map(|port| u16::try_from(port).ok()) {
            self.ports.insert(PortId { node, port }, offer);
        }
    }

    /// Returns what a port offers.
    pub(super) fn of(&self, port: PortId) -> Offer {
        let own = self.ports.get(&port).copied().unwrap_or_default();
        let all = self.nodes.get(&port.node).copied().unwrap_or_default();
        Offer { rate: own.rate.or(all.rate), duplex: own.duplex.or(all.duplex) }
    }

    /// Returns the rate that both ends of a link agree on; `None` if one offers none that is known.
    pub(super) fn rate(&self, ends: [PortId; 2]) -> Option<BitRate> {
        let [one, other] = ends.map(|end| self.of(end).rate);
        Some(one?.min(other?))
    }

    /// Returns whether an end offers half duplex only.
    pub(super) fn is_half(&self, ends: [PortId; 2]) -> bool {
        ends.iter().any(|&end| self.of(end).duplex == Some(Duplex::Half))
    }
}
