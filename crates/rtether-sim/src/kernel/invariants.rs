//! Checks that no packet is lost or duplicated without being counted.

use super::Simulation;
use crate::conversation::Conversation;
use crate::mechanism::Mechanism;
use crate::packet::NONE;
use crate::port::{Owner, Port};
use crate::shared::Shared;

impl Simulation {
    /// Checks that packets are conserved at every port and node.
    ///
    /// For each port: offered = sent + dropped + queued. For each link: sent = arrived + in
    /// transit. For each station: released + arrived + requests and replies of ARP = handed to the
    /// port + delivered + filtered + discarded + dropped + dropped by the layer + in the stack and
    /// the layer + messages of ARP handled + packets held for an address, or dropped there. For
    /// each switch: arrived + copied = handed to ports + filtered + discarded + policed + held. For
    /// each layer: the frames in its rings are those that its port queues or sends. For each
    /// mechanism: offered = passed + released + dropped + held. For each queue of a port: sent and
    /// dropped frames add up to those of the port.
    ///
    /// # Panics
    /// If an engine of a layer, a table of addresses, or the manager of channels finds its own books
    /// unbalanced.
    pub fn invariants(&mut self) -> Result<(), &'static str> {
        self.settle_media();
        self.check_ports()?;
        self.check_nodes()?;
        self.shared.iter().try_for_each(Shared::invariants)?;
        self.check_rings()?;
        self.mechanisms.iter().try_for_each(Mechanism::invariants)?;
        self.admission.iter().for_each(|own| own.invariants());
        for (switch, number) in self.switches.iter().zip(0u32..) {
            let own = self
                .ports
                .iter()
                .zip(&self.queues)
                .filter(|(port, _)| port.owner() == Owner::Switch(number));
            let backlog: u64 = own.map(|(_, queues)| queues.backlog()).sum();
            let is_balanced = !switch.shares_memory() || switch.shared_used() == backlog;
            ensure(is_balanced, "memory shared by ports")?;
        }
        self.conversations.iter().try_for_each(Conversation::invariants)
    }

    /// Returns how many frames of a port its medium holds; `None` on a full-duplex link.
    fn on_medium(&self, port: &Port) -> Option<u64> {
        let attachment = self.attachments[port.attachment()? as usize];
        Some(self.held_by_medium(attachment))
    }

    fn check_ports(&self) -> Result<(), &'static str> {
        let rests = self.port_rests.iter().zip(&self.queues);
        for (port, (rest, queues)) in self.ports.iter().zip(rests) {
            let attachment = port.attachment();
            let has_turns = attachment
                .is_some_and(|number| self.follows_scheme(self.attachments[number as usize]));
            port.invariants(rest, queues, self.on_medium(port), has_turns)?;
        }
        Ok(())
    }

    fn check_nodes(&self) -> Result<(), &'static str> {
        for record in self.node_records() {
            let ports = self.ports.iter().zip(&self.port_rests);
            let own = ports.filter(|(_, rest)| rest.id().node == record.node);
            let offered: u64 = own.map(|(port, _)| port.offered()).sum();
            let dropped = record.stack_dropped + record.layer_dropped;
            let ended = record.filtered + record.discarded + record.policed;
            let left = ended + dropped + record.in_stack;
            let arp = record.arp.unwrap_or_default();
            let sent = arp.requests + arp.replies;
            let kept = arp.handled + arp.dropped + arp.waiting;
            let is_balanced = record.released + record.arrived + record.copied + sent
                == offered + record.delivered + left + kept;
            ensure(is_balanced, "packets at a node")?;
            let sent_here = self.ports.iter().filter(|port| {
                port.peer() != NONE && self.port_id(port.peer()).node == record.node
            });
            let landed: u64 = sent_here.map(Port::landed).sum();
            let passed_on = self.relays_to(record.node);
            ensure(landed == record.arrived + passed_on, "frames on links")?;
        }
        Ok(())
    }

    fn check_rings(&self) -> Result<(), &'static str> {
        for station in &self.stations {
            let Some(layer) = station.layer() else {
                continue;
            };
            let in_rings = self.layers[layer as usize].invariants(self.now());
            let Some(port) = self.ports.get(station.port() as usize) else {
                continue;
            };
            if port.reports_completion() {
                let queued = self.queues[station.port() as usize].waiting() as usize;
                let is_sending = self.on_medium(port).map_or(port.is_wake_set(), |held| held > 0);
                ensure(in_rings == queued + usize::from(is_sending), "frames in rings")?;
            } else {
                ensure(in_rings == 0, "frames in unused rings")?;
            }
        }
        Ok(())
    }
}

fn ensure(holds: bool, what: &'static str) -> Result<(), &'static str> {
    if holds { Ok(()) } else { Err(what) }
}
