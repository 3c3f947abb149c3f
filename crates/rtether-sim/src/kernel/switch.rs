//! Forwarding by switches, with copies for groups and flooding.

use alloc::vec::Vec;

use rtether_model::network::{Pcp, Vid};
use rtether_model::record::Segment;
use rtether_proto::mechanism::Offer;

use super::Simulation;
use crate::observe::{DropReason, Observer};
use crate::packet::{MIRRORED, NONE};
use crate::switch::{Admission, Way};

impl Simulation {
    /// Handles a frame that arrives at port `ingress` of a switch, sent by port `from`.
    #[inline]
    pub(super) fn forward<O: Observer>(
        &mut self,
        index: u32,
        ingress: u32,
        id: u32,
        from: u32,
        observer: &mut O,
    ) {
        let switch = &mut self.switches[index as usize];
        let packet = self.pool.get_mut(id);
        if packet.has(MIRRORED) {
            // A mirror port leads to a station; other switches have no use for copies.
            return self.filter(index, id, None, observer);
        }
        let admission = switch.take_in(packet, ingress, self.now);
        if switch.has_mirror() && !matches!(admission, Admission::Error) {
            self.mirror_received(index, ingress, id, from, observer);
        }
        let switch = &mut self.switches[index as usize];
        let vid = match admission {
            Admission::Vlan(vid) => vid,
            Admission::Error => {
                let node = switch.node();
                self.lose(id, node, Some(from), DropReason::FrameError, observer);
                return;
            }
            Admission::Filtered => return self.filter(index, id, Some(from), observer),
        };
        if switch.has_rules() && !self.passes_rules(index, ingress, id, from, observer) {
            return;
        }
        let switch = &mut self.switches[index as usize];
        let packet = self.pool.get_mut(id);
        if switch.is_router() {
            return self.enter_router(index, ingress, id, from, observer);
        }
        let ways = match switch.way(index, packet, self.now, &self.forwarding, self.flooded_from) {
            // The destination is behind the ingress port: this copy is superfluous, not lost.
            Way::One(egress) if egress == ingress => return self.filter(index, id, None, observer),
            Way::Nowhere => return self.filter(index, id, None, observer),
            Way::One(NONE) => return self.filter(index, id, Some(from), observer),
            Way::One(egress) => return self.pass_on(index, id, vid, from, egress, observer),
            Way::Group(ways) => ways,
            Way::Flood => self.linked_ports(index),
        };
        self.copy_to(index, id, vid, from, ways, observer);
    }

    /// Applies the rules of a port to a frame that it has taken in; `false` if it is dropped. Not
    /// inlined, so that switches without rules do not pay for it.
    #[inline(never)]
    fn passes_rules<O: Observer>(
        &mut self,
        index: u32,
        ingress: u32,
        id: u32,
        from: u32,
        observer: &mut O,
    ) -> bool {
        let frame = self.arrival(id);
        let switch = &mut self.switches[index as usize];
        let (offer, cause) = switch.treat(ingress, self.now, &frame);
        match offer {
            // No rule of a port holds a frame or copies it.
            Offer::Pass | Offer::Hold | Offer::Copy => true,
            Offer::Mark(marks) => {
                let packet = self.pool.get_mut(id);
                packet.pcp = marks.pcp.map_or(packet.pcp, Pcp::get);
                if let Some(dscp) = marks.dscp.filter(|_| frame.key.tos.is_some()) {
                    packet.remark(dscp);
                }
                true
            }
            Offer::Drop => {
                let node = switch.node();
                let reason = cause.map_or(DropReason::Filtered, DropReason::Rule);
                self.lose(id, node, Some(from), reason, observer);
                false
            }
        }
    }

    /// Returns the ports of a switch that have a link.
    fn linked_ports(&self, index: u32) -> Vec<u32> {
        let ports = self.switches[index as usize].ports();
        ports.filter(|&port| self.ports[port as usize].peer() != NONE).collect()
    }

    /// Sends a frame to several ports, except the one by which it came.
    pub(super) fn copy_to<O: Observer>(
        &mut self,
        index: u32,
        id: u32,
        vid: Vid,
        from: u32,
        mut ways: Vec<u32>,
        observer: &mut O,
    ) {
        let ingress = self.ports[from as usize].peer();
        let switch = &mut self.switches[index as usize];
        ways.retain(|&port| port != ingress && switch.admits(port, vid));
        let Some((&last, others)) = ways.split_last() else {
            self.filter(index, id, Some(from), observer);
            return;
        };
        switch.note_copied(others.len() as u64);
        for &egress in others {
            let copy = self.pool.duplicate(id);
            if O::ACTIVE {
                observer.copied(self.now(), id, &self.info(copy));
            }
            self.pass_on(index, copy, vid, from, egress, observer);
        }
        self.pass_on(index, id, vid, from, last, observer);
    }

    /// Hands a frame to an egress port.
    #[inline]
    pub(super) fn pass_on<O: Observer>(
        &mut self,
        index: u32,
        id: u32,
        vid: Vid,
        from: u32,
        egress: u32,
        observer: &mut O,
    ) {
        if self.switches[index as usize].is_plain() {
            self.enqueue(egress, id, observer);
        } else {
            self.change_and_pass_on(index, id, vid, from, egress, observer);
        }
    }

    /// Hands a frame to an egress port with the tag that it has there. Not inlined, so that other
    /// switches do not pay for it.
    #[inline(never)]
    fn change_and_pass_on<O: Observer>(
        &mut self,
        index: u32,
        id: u32,
        vid: Vid,
        from: u32,
        egress: u32,
        observer: &mut O,
    ) {
        let switch = &self.switches[index as usize];
        if !switch.tag(self.pool.get_mut(id), egress, vid) {
            self.filter(index, id, Some(egress), observer);
            return;
        }
        self.hand_on(index, id, from, egress, observer);
    }

    /// Hands a frame from port `from` to an egress port: at once or, if this port is faster than the
    /// ingress of a cut-through switch, when its last bit has arrived.
    pub(super) fn hand_on<O: Observer>(
        &mut self,
        index: u32,
        id: u32,
        from: u32,
        egress: u32,
        observer: &mut O,
    ) {
        if self.switches[index as usize].is_cut_through()
            && self.ports[egress as usize].is_faster_than(&self.ports[from as usize])
        {
            let rest = &mut self.port_rests[from as usize];
            rest.hold(id, egress, self.now, &mut self.pool, &mut self.agenda);
            return;
        }
        self.enqueue(egress, id, observer);
    }

    /// Passes on the held frame whose last bit has arrived.
    pub(super) fn forward_stored<O: Observer>(&mut self, from: u32, observer: &mut O) {
        let rest = &mut self.port_rests[from as usize];
        let Some(id) = rest.take_held(&self.pool, &mut self.agenda) else {
            return;
        };
        let packet = self.pool.get_mut(id);
        let tail = packet.tail;
        packet.spend(Segment::Wire, from, tail);
        let egress = packet.held_for;
        self.enqueue(egress, id, observer);
    }

    /// Ends a frame that cannot be forwarded; a loss if a listener depended on it at `egress`.
    pub(super) fn filter<O: Observer>(
        &mut self,
        index: u32,
        id: u32,
        egress: Option<u32>,
        observer: &mut O,
    ) {
        let switch = &mut self.switches[index as usize];
        switch.note_filtered();
        let node = switch.node();
        match egress {
            Some(port) => self.lose(id, node, Some(port), DropReason::Filtered, observer),
            None => self.end_superfluous(id, node, observer),
        }
    }
}
