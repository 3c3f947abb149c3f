//! Switches: VLAN and priority of a frame, forwarding, copies for groups (IEEE 802.1Q-2022, 8.6).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use rtether_model::network::{NodeId, PortVlan, SwitchPort, Vid};
use rtether_model::record::Segment;

use crate::kernel::Simulation;
use crate::observe::{DropReason, Observer};
use crate::packet::{CORRUPTED, GROUP, NONE, TAGGED};

/// One switch.
pub(crate) struct SwitchState {
    pub(crate) node: NodeId,
    /// Index of its port 0 among all ports; its other ports follow.
    pub(crate) first_port: u32,
    pub(crate) ports: Vec<SwitchPort>,
    pub(crate) is_cut_through: bool,
    /// Whether any port has VLAN or priority settings.
    pub(crate) is_vlan_aware: bool,
    pub(crate) strips_tags: bool,
    /// Learned ports by station; `None` with static addresses.
    pub(crate) learned: Option<Vec<Learned>>,
    pub(crate) aging: i64,
    /// Egress ports by group, with managed multicast.
    pub(crate) groups: Option<BTreeMap<u32, Vec<u32>>>,
    /// Octets waiting at all ports, and their limit.
    pub(crate) shared_used: u64,
    pub(crate) shared_limit: u64,
    pub(crate) arrived: u64,
    pub(crate) copied: u64,
    pub(crate) filtered: u64,
    pub(crate) discarded: u64,
}

/// Entry of a learning switch.
#[derive(Clone, Copy)]
pub(crate) struct Learned {
    pub(crate) port: u32,
    pub(crate) at: i64,
}

/// Static addresses: where each station is attached, and the egress port of each switch towards
/// each place. Places are the switches, then the hubs.
#[derive(Default)]
pub(crate) struct Forwarding {
    /// By station: its place and the port there. The place is [`NONE`] without a link, the port
    /// also at a hub.
    pub(crate) access: Vec<(u32, u32)>,
    /// `towards[from * places + to]`: the egress port of `from`.
    pub(crate) towards: Vec<u32>,
    pub(crate) places: usize,
}

impl Forwarding {
    /// Returns the egress port of `switch` for a station, or [`NONE`].
    #[inline]
    fn port(&self, switch: u32, station: u32) -> u32 {
        let (target, port) = self.access[station as usize];
        if target == switch || target == NONE {
            return port;
        }
        self.towards[switch as usize * self.places + target as usize]
    }
}

impl SwitchState {
    /// Takes memory from the shared pool; `false` if too little is left.
    pub(crate) const fn reserve(&mut self, size: u64) -> bool {
        let fits = self.shared_used + size <= self.shared_limit;
        if fits {
            self.shared_used += size;
        }
        fits
    }

    /// Returns memory to the shared pool.
    pub(crate) const fn release(&mut self, size: u64) {
        self.shared_used -= size;
    }

    fn vlan(&self, port: u32) -> &PortVlan {
        &self.ports[(port - self.first_port) as usize].vlan
    }
}

/// Egress of a frame.
enum Way {
    One(u32),
    Many(Vec<u32>),
}

impl Simulation {
    /// Handles a frame that arrives at port `ingress` of a switch, sent by port `from`.
    #[inline]
    pub(crate) fn forward<O: Observer>(
        &mut self,
        index: u32,
        ingress: u32,
        id: u32,
        from: u32,
        observer: &mut O,
    ) {
        let switch = &mut self.switches[index as usize];
        switch.arrived += 1;
        let packet = self.pool.get(id);
        if packet.has(CORRUPTED) && !switch.is_cut_through {
            switch.discarded += 1;
            let node = switch.node;
            self.lose(id, node, Some(from), DropReason::FrameError, observer);
            return;
        }
        let source = packet.source;
        let mut vid = Vid::DEFAULT;
        if switch.is_vlan_aware {
            match self.classify(index, ingress, id) {
                Some(own) => vid = own,
                None => return self.filter(index, id, Some(from), observer),
            }
        } else if !packet.has(TAGGED) {
            // The priority went with the tag that an earlier switch removed.
            self.pool.get_mut(id).pcp = 0;
        }
        let switch = &mut self.switches[index as usize];
        if let Some(learned) = &mut switch.learned {
            learned[source as usize] = Learned {
                port: ingress,
                at: self.now,
            };
        }
        match self.find_way(index, ingress, id) {
            // The destination is behind the ingress port: this copy is superfluous, not lost.
            Way::One(egress) if egress == ingress => self.filter(index, id, None, observer),
            Way::One(NONE) => self.filter(index, id, Some(from), observer),
            Way::One(egress) => self.pass_on(index, id, vid, from, egress, observer),
            Way::Many(ways) => self.copy_to(index, id, vid, from, &ways, observer),
        }
    }

    /// Sets the priority of an untagged frame and returns the VLAN it belongs to; `None` if its
    /// port does not admit it. Tags are left unchanged.
    fn classify(&mut self, index: u32, ingress: u32, id: u32) -> Option<Vid> {
        let switch = &self.switches[index as usize];
        let port = &switch.ports[(ingress - switch.first_port) as usize];
        let packet = self.pool.get_mut(id);
        if !packet.has(TAGGED) {
            packet.pcp = port.default_pcp.get();
            packet.vid = Vid::PRIORITY_ONLY.get();
        }
        let vid = if packet.vid == Vid::PRIORITY_ONLY.get() {
            port.vlan.vid_of_untagged()?
        } else {
            Vid::new(packet.vid)?
        };
        port.vlan.admits(vid).then_some(vid)
    }

    #[inline]
    fn find_way(&self, index: u32, ingress: u32, id: u32) -> Way {
        let switch = &self.switches[index as usize];
        let packet = self.pool.get(id);
        if packet.destination & GROUP != 0 {
            let group = packet.destination & !GROUP;
            return match &switch.groups {
                Some(groups) if group < self.broadcasts_from || self.has_publications() => {
                    Way::Many(groups.get(&group).cloned().unwrap_or_default())
                }
                Some(_) | None => Way::Many(self.all_ports(index, ingress)),
            };
        }
        let Some(learned) = &switch.learned else {
            return Way::One(self.forwarding.port(index, packet.destination));
        };
        let entry = learned[packet.destination as usize];
        if entry.port != NONE && self.now - entry.at <= switch.aging {
            Way::One(entry.port)
        } else {
            Way::Many(self.all_ports(index, ingress))
        }
    }

    /// Returns the ports with a link, except the ingress port of a frame.
    fn all_ports(&self, index: u32, ingress: u32) -> Vec<u32> {
        let switch = &self.switches[index as usize];
        let count = u32::try_from(switch.ports.len()).unwrap_or(0);
        let ports = switch.first_port..switch.first_port + count;
        ports
            .filter(|&port| port != ingress && self.ports[port as usize].peer != NONE)
            .collect()
    }

    fn copy_to<O: Observer>(
        &mut self,
        index: u32,
        id: u32,
        vid: Vid,
        from: u32,
        ways: &[u32],
        observer: &mut O,
    ) {
        let ingress = self.ports[from as usize].peer;
        let switch = &self.switches[index as usize];
        let admits = |port: u32| !switch.is_vlan_aware || switch.vlan(port).admits(vid);
        let ways: Vec<u32> = ways
            .iter()
            .copied()
            .filter(|&port| port != ingress && admits(port))
            .collect();
        let Some((&last, others)) = ways.split_last() else {
            self.filter(index, id, Some(from), observer);
            return;
        };
        self.switches[index as usize].copied += others.len() as u64;
        for &egress in others {
            let copy = self.pool.duplicate(id);
            if O::ACTIVE {
                observer.copied(self.now(), id, &self.info(copy));
            }
            self.pass_on(index, copy, vid, from, egress, observer);
        }
        self.pass_on(index, id, vid, from, last, observer);
    }

    /// Hands a frame to an egress port, at once or when its last bit has arrived.
    #[inline]
    fn pass_on<O: Observer>(
        &mut self,
        index: u32,
        id: u32,
        vid: Vid,
        from: u32,
        egress: u32,
        observer: &mut O,
    ) {
        let switch = &self.switches[index as usize];
        if switch.is_vlan_aware {
            let vlan = switch.vlan(egress);
            if !vlan.admits(vid) {
                self.filter(index, id, Some(egress), observer);
                return;
            }
            if let Some(is_tagged) = vlan.sends_tagged(vid) {
                let packet = self.pool.get_mut(id);
                packet.put(TAGGED, is_tagged);
                packet.vid = vid.get();
            }
        }
        if switch.strips_tags {
            self.pool.get_mut(id).put(TAGGED, false);
        }
        if switch.is_cut_through {
            let ingress_port = &self.ports[from as usize];
            if self.ports[egress as usize].octet < ingress_port.octet {
                self.hold(id, from, egress);
                return;
            }
        }
        self.enqueue(egress, id, observer);
    }

    /// Holds a frame until its last bit has arrived, because the egress port is faster than the
    /// ingress.
    fn hold(&mut self, id: u32, from: u32, egress: u32) {
        let packet = self.pool.get_mut(id);
        packet.due = self.now + packet.tail;
        packet.held_for = egress;
        let due = packet.due;
        let port = &mut self.port_rests[from as usize];
        if port.held.len() == 0 {
            self.agenda.set(port.stored_slot, due);
        }
        port.held.push(&mut self.pool, id);
    }

    /// Passes on the held frame whose last bit has arrived.
    pub(crate) fn forward_stored<O: Observer>(&mut self, from: u32, observer: &mut O) {
        let port = &mut self.port_rests[from as usize];
        let Some(id) = port.held.pop(&self.pool) else {
            return;
        };
        let next = port
            .held
            .head()
            .map_or(crate::agenda::NEVER, |id| self.pool.get(id).due);
        self.agenda.set(port.stored_slot, next);
        let packet = self.pool.get_mut(id);
        let tail = packet.tail;
        packet.spend(Segment::Wire, from, tail);
        let egress = packet.held_for;
        self.enqueue(egress, id, observer);
    }

    /// Ends a frame that cannot be forwarded; a loss if a listener depended on it at `egress`.
    fn filter<O: Observer>(&mut self, index: u32, id: u32, egress: Option<u32>, observer: &mut O) {
        let switch = &mut self.switches[index as usize];
        switch.filtered += 1;
        let node = switch.node;
        match egress {
            Some(port) => self.lose(id, node, Some(port), DropReason::Filtered, observer),
            None => self.end_superfluous(id, node, observer),
        }
    }
}
