//! Frames in transit, and the number of copies of each.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use rtether_model::network::{NodeId, Pcp, PortId, Vid};
use rtether_model::quantity::Instant;

use super::Output;
use crate::observe::{DropReason, Observer, PacketInfo};

/// One frame. Its index in the list is the number of its packets.
#[derive(Clone, Copy)]
struct Frame {
    token: u64,
    copies: u32,
    /// Whether an outcome of any copy has been reported.
    is_told: bool,
}

/// When the arrival of a frame at a station is certain.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Certainty {
    /// When it is put on the station's own link.
    Switched,
    /// When no collision is possible any more.
    Shared,
    /// When the station's stack serves it.
    Emulated,
}

/// A copy about to arrive at its station.
#[derive(Clone, Copy)]
struct Near {
    tag: Option<(u8, u16)>,
    is_told: bool,
}

/// Observes the simulation and records the outcomes of frames.
#[derive(Default)]
pub(super) struct Frames {
    /// By node.
    places: Vec<Certainty>,
    /// Listeners of the known groups, by flow.
    groups: Vec<Vec<NodeId>>,
    /// Copies reported before they arrive at stations on shared media, and all copies inside
    /// emulated stations.
    near: BTreeMap<(u32, NodeId), Near>,
    all: Vec<Frame>,
    free: Vec<u32>,
    finished: u64,
    outputs: VecDeque<Output>,
}

impl Frames {
    pub(super) fn new(places: Vec<Certainty>, groups: Vec<Vec<NodeId>>) -> Self {
        Self { places, groups, ..Self::default() }
    }

    /// Adds a frame and returns the number of its packets.
    pub(super) fn insert(&mut self, token: u64) -> u32 {
        let frame = Frame { token, copies: 1, is_told: false };
        if let Some(number) = self.free.pop() {
            self.all[number as usize] = frame;
            return number;
        }
        // The simulator has room for fewer packets than that.
        let number = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        self.all.push(frame);
        number
    }

    pub(super) fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    pub(super) const fn finished(&self) -> u64 {
        self.finished
    }

    pub(super) const fn under_way(&self) -> u64 {
        (self.all.len() - self.free.len()) as u64
    }

    fn tell(&mut self, number: u32, output: Output) {
        self.all[number as usize].is_told = true;
        self.outputs.push_back(output);
    }

    fn is_for(&self, station: NodeId, packet: &PacketInfo) -> bool {
        if packet.is_mirrored {
            return false;
        }
        match (packet.destination, self.groups.get(packet.flow.index())) {
            (Some(destination), _) => destination == station,
            (None, Some(listeners)) => listeners.contains(&station),
            (None, None) => packet.source != station,
        }
    }

    fn place(&self, station: NodeId) -> Option<Certainty> {
        self.places.get(station.index()).copied()
    }

    /// Reports that a frame will arrive at a station on a shared medium.
    pub(super) fn foresee(&mut self, due: Instant, station: NodeId, packet: &PacketInfo) {
        let key = (packet.number, station);
        let is_next =
            self.place(station) == Some(Certainty::Shared) && self.is_for(station, packet);
        if is_next && !self.near.contains_key(&key) {
            let tag = packet.tag;
            self.near.insert(key, Near { tag, is_told: true });
            self.tell_delivered(due, station, packet, tag);
        }
    }

    fn tell_delivered(
        &mut self,
        at: Instant,
        station: NodeId,
        packet: &PacketInfo,
        tag: Option<(u8, u16)>,
    ) {
        let output = Output::Delivered {
            token: self.all[packet.number as usize].token,
            station,
            at,
            tag: tag.and_then(|(pcp, vid)| Some((Pcp::new(pcp)?, Vid::new(vid)?))),
        };
        self.tell(packet.number, output);
    }

    /// Notes that a copy has ended at `node`.
    fn end(&mut self, number: u32, node: NodeId, at: Instant) {
        let frame = &mut self.all[number as usize];
        frame.copies -= 1;
        if frame.copies > 0 {
            return;
        }
        let token = frame.token;
        let mut near = self.near.range((number, NodeId(0))..);
        debug_assert!(
            near.next().is_none_or(|(&(other, _), _)| other != number),
            "a delivery reported in advance did not happen"
        );
        if !frame.is_told {
            self.outputs.push_back(Output::Dropped {
                token,
                node,
                at,
                reason: DropReason::Filtered,
            });
        }
        self.outputs.push_back(Output::Finished { token });
        self.free.push(number);
        self.finished += 1;
    }
}

impl Observer for Frames {
    fn landing(&mut self, due: Instant, station: NodeId, packet: &PacketInfo) {
        let is_next = self.place(station) == Some(Certainty::Switched);
        // A station behind a mirror port has no part in the plant, so nothing of it is emulated.
        if packet.is_mirrored || (is_next && self.is_for(station, packet)) {
            self.tell_delivered(due, station, packet, packet.tag);
        }
    }

    fn received(&mut self, _now: Instant, station: NodeId, packet: &PacketInfo) {
        if self.place(station) == Some(Certainty::Switched) {
            return;
        }
        let near = Near { tag: packet.tag, is_told: false };
        // On a shared medium it may have been reported already.
        self.near.entry((packet.number, station)).or_insert(near);
    }

    fn serving(&mut self, due: Instant, station: NodeId, packet: &PacketInfo) {
        let near = self.near.get_mut(&(packet.number, station));
        if let Some(near) = near.filter(|near| !near.is_told) {
            near.is_told = true;
            let tag = near.tag;
            self.tell_delivered(due, station, packet, tag);
        }
    }

    fn reached(&mut self, now: Instant, station: NodeId, packet: &PacketInfo) {
        let near = self.near.remove(&(packet.number, station));
        if let Some(Near { tag, .. }) = near.filter(|near| !near.is_told) {
            self.tell_delivered(now, station, packet, tag);
        }
        self.end(packet.number, station, now);
    }

    fn copied(&mut self, _now: Instant, _original: u32, packet: &PacketInfo) {
        self.all[packet.number as usize].copies += 1;
    }

    fn dropped(&mut self, now: Instant, node: NodeId, packet: &PacketInfo, reason: DropReason) {
        // Superfluous copies are normal for switches and hubs, and so are lost ones at mirror ports.
        if reason != DropReason::Filtered && !packet.is_mirrored {
            let output = Output::Dropped {
                token: self.all[packet.number as usize].token,
                node,
                at: now,
                reason,
            };
            self.tell(packet.number, output);
        }
        self.near.remove(&(packet.number, node));
        self.end(packet.number, node, now);
    }

    fn collided(&mut self, now: Instant, port: PortId, packet: &PacketInfo) {
        // Switches on a medium collide too; only collisions of the frame's source are reported.
        if port.node == packet.source {
            self.outputs.push_back(Output::Collision {
                token: self.all[packet.number as usize].token,
                station: port.node,
                at: now,
            });
        }
    }
}
