//! Packets that end before their destination, and the streams that lose them.

use alloc::vec::Vec;

use rtether_model::network::NodeId;
use rtether_model::route::Hop;

use super::Simulation;
use crate::flow::Carrier;
use crate::mechanism::Level;
use crate::observe::{DropReason, Observer};
use crate::packet::{COUNTED, GROUP, Packet, REVERSE};
use crate::port::Owner;

impl Simulation {
    /// Ends a packet before its destination. `egress` is the port at or after which it was lost,
    /// `None` inside its destination.
    pub(super) fn lose<O: Observer>(
        &mut self,
        id: u32,
        node: NodeId,
        egress: Option<u32>,
        reason: DropReason,
        observer: &mut O,
    ) {
        if O::ACTIVE {
            observer.dropped(self.now(), node, &self.info(id), reason);
        }
        if self.pool.get(id).has(COUNTED) {
            self.book_loss(id, egress);
        }
        self.pool.part_from_twins(id);
        self.pool.remove(id);
    }

    /// Counts the packet as lost for every listener it was on its way to.
    fn book_loss(&mut self, id: u32, egress: Option<u32>) {
        let mut streams = self.streams_towards(id, egress);
        self.keep_last_copies(id, &mut streams);
        let flow = self.pool.get(id).flow;
        if let Some(position) = self.flows[flow as usize].fragmented() {
            self.book_lost_fragment(position, id, &streams);
            return;
        }
        for stream in streams {
            self.streams[stream].note_lost();
        }
    }

    /// Returns the streams that depend on this copy of a packet at this place.
    pub(super) fn streams_towards(&self, id: u32, egress: Option<u32>) -> Vec<usize> {
        let packet = self.pool.get(id);
        let flow = &self.flows[packet.flow as usize];
        if !self.is_stream_data(id) {
            return Vec::new();
        }
        if packet.destination & GROUP == 0 {
            // Flooding may put copies on paths that do not lead to the destination.
            let leads = egress.is_none_or(|port| self.leads_on(port, packet));
            return if leads { alloc::vec![packet.stream as usize] } else { Vec::new() };
        }
        let first = flow.first_stream() as usize;
        let definition = &self.flow_list[packet.flow as usize];
        let depends = |listener: NodeId| {
            let Some(port) = egress else { return false };
            let port = self.port_id(port);
            let paths = self.routing.flow_paths(&self.network, definition, listener);
            paths.is_ok_and(|paths| paths.iter().flatten().any(|hop| hop.egress == port))
        };
        (first..).zip(&definition.listeners).filter(|&(_, &l)| depends(l)).map(|(s, _)| s).collect()
    }

    /// Returns whether the packet counts in its stream's latency: not an acknowledgement, not a TCP
    /// control segment.
    pub(super) fn is_stream_data(&self, id: u32) -> bool {
        let packet = self.pool.get(id);
        let flow = &self.flows[packet.flow as usize];
        match flow.carrier() {
            Carrier::Packets | Carrier::Fragments(_) => true,
            // Streams of messages do not depend on single segments, nor those of samples on single
            // datagrams.
            Carrier::Conversation(_) | Carrier::Publication(_) | Carrier::Admission => false,
            // Nor do streams of files.
            Carrier::Bulk(bulk) if self.bulk[bulk as usize].counts_files() => false,
            Carrier::Bulk(_) => {
                let segment = self.pool.segment(id);
                !packet.has(REVERSE) && segment.is_some_and(|segment| segment.len > 0)
            }
        }
    }

    /// Returns whether a unicast packet gets to its destination by a port.
    fn leads_on(&self, port: u32, packet: &Packet) -> bool {
        let id = self.port_id(port);
        let is_double = |owner| match owner {
            Owner::Station(station) => self.stations[station as usize].has(Level::Redundancy),
            Owner::Switch(_) | Owner::Hub => false,
        };
        if self.forwarding.entries(packet).is_some() || is_double(self.ports[port as usize].owner())
        {
            let paths = self.paths_of(packet, packet.destination);
            return paths.iter().flatten().any(|hop| hop.egress == id);
        }
        if self.network.end_station(id.node).is_some() {
            return true;
        }
        let to = self.stations[packet.destination as usize].node();
        let hop = self.routing.next_hop(&self.network, id.node, to);
        hop.is_some_and(|hop| hop.egress == id)
    }

    /// Returns the paths of a packet to one of the stations that it is for.
    pub(super) fn paths_of(&self, packet: &Packet, station: u32) -> Vec<Vec<Hop>> {
        let flow = &self.flow_list[packet.flow as usize];
        let [from, to] = [packet.source, station].map(|end| self.stations[end as usize].node());
        let paths = if packet.has(REVERSE) {
            self.routing.answer_paths(&self.network, flow, from)
        } else {
            self.routing.flow_paths(&self.network, flow, to)
        };
        paths.unwrap_or_default()
    }
}
