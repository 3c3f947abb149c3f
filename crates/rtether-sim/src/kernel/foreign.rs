//! Frames from outside ([`crate::emulation`]): how they enter, and what is certain of them.

use alloc::vec::Vec;

use rtether_model::network::NodeId;
use rtether_model::quantity::{Duration, Instant};

use super::{Action, Simulation};
use crate::agenda::NEVER;
use crate::flow::FlowState;
use crate::observe::{Observer, PacketInfo};
use crate::packet::{NONE, OUTBOUND, Packet};
use crate::port::{Owner, PortRest};
use crate::station::Station;
use crate::visitor::Visitor;

impl Simulation {
    /// Gives every station a flow to all others that never releases: packets from outside belong to
    /// it, or to the flow of their group. All streams are removed, so packets count in none. With a
    /// seed, back-offs, jitter of stacks and latencies of switches are drawn by frame.
    pub(crate) fn open_to_all(&mut self, seed_of_frames: Option<u64>) {
        self.streams.clear();
        self.flooded_from = u32::try_from(self.flows.len()).unwrap_or(u32::MAX);
        let count = u32::try_from(self.stations.len()).unwrap_or(u32::MAX);
        for talker in 0..count {
            let others = (0..count).filter(|&station| station != talker);
            self.flows.push(FlowState::silent(talker, others.collect()));
        }
        if let Some(seed) = seed_of_frames {
            for shared in &mut self.shared {
                shared.draw_by_frame(seed);
            }
            for stack in &mut self.stacks {
                stack.draw_by_frame();
            }
        }
    }

    /// Returns the nodes of the stations.
    pub(crate) fn station_nodes(&self) -> impl Iterator<Item = NodeId> {
        self.stations.iter().map(Station::node)
    }

    /// Returns whether a station has a link in use.
    pub(crate) fn is_linked(&self, station: u32) -> bool {
        self.stations[station as usize].port() != NONE
    }

    /// Returns whether the port of a station is on a shared medium.
    pub(crate) fn is_on_shared_medium(&self, station: u32) -> bool {
        let port = self.stations[station as usize].port();
        let port = self.ports.get(port as usize);
        port.is_some_and(|port| port.attachment().is_some())
    }

    /// Returns whether a station hands received packets to the application without delay.
    pub(crate) fn takes_no_time(&self, station: u32) -> bool {
        let own = &self.stations[station as usize];
        let layer = own.layer().map(|layer| &self.layers[layer as usize]);
        let waits = layer.is_some_and(|layer| layer.has_classes() || layer.has_tasks());
        own.servers() == 0 && !waits
    }

    /// Returns the group of all stations but this one, which is also the flow of its frames.
    pub(crate) const fn all_but(&self, station: u32) -> u32 {
        self.flooded_from + station
    }

    /// Returns the station that talks in a flow.
    pub(crate) fn talker(&self, flow: u32) -> u32 {
        self.flows[flow as usize].talker()
    }

    /// Returns the slot of the first release, or the one in its place.
    pub(crate) fn release_slot(&self) -> u32 {
        let comes_after = |action: &Action| match action {
            Action::Release(_)
            | Action::ReleaseTogether(_)
            | Action::Medium(_)
            | Action::Access(_)
            | Action::Select(_)
            | Action::Wake(_) => true,
            Action::Arrival(_)
            | Action::Stored(_)
            | Action::Stack(..)
            | Action::Router(_)
            | Action::Layer(_)
            | Action::Mechanism(_)
            | Action::Admission
            | Action::Reply(_)
            | Action::TcpSender(_)
            | Action::TcpReceiver(_)
            | Action::TcpEnd(..)
            | Action::Party(_) => false,
        };
        let position = self.actions.iter().position(comes_after);
        u32::try_from(position.unwrap_or(self.actions.len())).unwrap_or(u32::MAX)
    }

    /// Hands a frame to its station now. Its number is that of its visitor.
    pub(crate) fn inject<O: Observer>(
        &mut self,
        packet: Packet,
        visitor: Visitor,
        observer: &mut O,
    ) {
        match self.visitors.get_mut(packet.number as usize) {
            Some(place) => *place = visitor,
            None => self.visitors.push(visitor),
        }
        let id = self.pool.insert(Packet { released_at: self.now, ..packet });
        self.is_injecting = true;
        self.send(packet.source, id, observer);
        self.is_injecting = false;
    }

    /// Returns the properties of a packet from outside; `None` for other packets.
    #[inline]
    pub(super) fn visitor(&self, id: u32) -> Option<&Visitor> {
        self.visitors.get(self.pool.get(id).number as usize)
    }

    /// Returns the time of the next event, if one is pending.
    pub(crate) fn next_event(&self) -> Option<Instant> {
        let (time, _) = self.agenda.first();
        (time != NEVER).then(|| Instant::from_ps(time))
    }

    /// Returns the collision domains without bit errors, each with the number of stations of its
    /// medium.
    pub(crate) fn faultless_domains(&self) -> Vec<(u32, usize)> {
        let has_errors = |number: u32| {
            let port = self.attachments[number as usize].port();
            let facing = self.ports[port as usize].peer();
            let ends = [port, facing].into_iter();
            let mut ends = ends.filter_map(|end| self.port_rests.get(end as usize));
            ends.any(PortRest::has_errors)
        };
        let domains = (0u32..).zip(&self.shared);
        let domains = domains.map(|(domain, shared)| (domain, shared.attachments()));
        let faultless = domains.filter(|(_, own)| !own.clone().any(has_errors));
        faultless.map(|(domain, own)| (domain, own.len())).collect()
    }

    /// Returns the frame of a station of a medium that can no longer collide, and its end.
    pub(crate) fn committed(&self, domain: u32, station: u32) -> Option<(u32, Instant)> {
        let shared = &self.shared[domain as usize];
        self.attachments[shared.attachment(station) as usize].frame()?;
        shared.committed(self.now, station)
    }

    /// Returns the end stations that hear a station of a medium, and how much later.
    pub(crate) fn hearers(
        &self,
        domain: u32,
        from: u32,
    ) -> impl Iterator<Item = (NodeId, Duration)> {
        let shared = &self.shared[domain as usize];
        let others = (0u32..).zip(shared.attachments());
        let others = others.filter(move |&(to, _)| to != from);
        others.filter_map(move |(to, number)| {
            let port = self.attachments[number as usize].port();
            let Owner::Station(station) = self.ports[port as usize].owner() else {
                return None;
            };
            let node = self.stations[station as usize].node();
            Some((node, Duration::from_ps(shared.propagation(from, to))))
        })
    }

    /// Calls `tell` with each received packet whose departure from the tasks or the stack instances
    /// of its station can no longer change, with its time.
    pub(crate) fn for_each_certain(&self, mut tell: impl FnMut(Instant, NodeId, &PacketInfo)) {
        for station in &self.stations {
            let Some(layer) = station.layer() else {
                continue;
            };
            self.layers[layer as usize].for_each_certain(|id, due| {
                if !self.pool.get(id).has(OUTBOUND) {
                    tell(due, station.node(), &self.info(id));
                }
            });
        }
    }
}
