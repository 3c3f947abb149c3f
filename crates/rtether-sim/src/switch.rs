//! Switches: VLAN and priority of a frame, addresses, groups (IEEE 802.1Q-2022, 8.6).

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;

use rtether_model::ingress::Cause;
use rtether_model::network::{
    AddressTable, ForwardingMode, MulticastForwarding, NodeId, PortVlan, Switch, SwitchPort,
    TagHandling, Vid,
};
use rtether_model::quantity::{Bytes, Instant};
use rtether_model::record::{IngressRecord, NodeRecord};
use rtether_model::route::Routing;
use rtether_proto::endnode::ConfigError;
use rtether_proto::mechanism::Offer;
use rtether_proto::mechanism::ingress::{Arrival, Ingress};

use crate::packet::{CORRUPTED, DISCOVERY_FROM, GROUP, NONE, Packet, REVERSE, TAGGED};
use crate::random::Draw;
use crate::servers::StackState;

/// One switch.
pub(crate) struct SwitchState {
    node: NodeId,
    /// Index of its port 0 among all ports; its other ports follow.
    first_port: u32,
    ports: Vec<SwitchPort>,
    is_cut_through: bool,
    /// Whether any port has VLAN or priority settings.
    is_vlan_aware: bool,
    tags: TagHandling,
    /// Whether the address of a frame alone tells its port: nothing is learned, and no stream of the
    /// plant has entries of its own.
    is_static: bool,
    /// Learned ports; `None` with static addresses.
    learned: Option<Learned>,
    aging: i64,
    /// Egress ports by group: of all with managed multicast, else only of those with a route.
    groups: BTreeMap<u32, Vec<u32>>,
    multicast: MulticastForwarding,
    /// Rules for arriving frames by port; empty if no port has any.
    ingress: Vec<Ingress>,
    /// Port that sends copies of frames of others, and by port whether received ones are copied.
    mirror: Option<(u32, Vec<bool>)>,
    /// Of a router.
    processor: Option<Box<StackState>>,
    refused: u64,
    /// Octets waiting at all ports, and their limit.
    shared_used: u64,
    shared_limit: u64,
    arrived: u64,
    copied: u64,
    filtered: u64,
    discarded: u64,
    policed: u64,
}

/// Entry of a learning switch.
#[derive(Clone, Copy)]
struct Entry {
    port: u32,
    at: i64,
}

/// Entries of a learning switch by station, in pages: most switches of a large plant meet few
/// stations.
struct Learned(Vec<Option<Box<[Entry; Self::PAGE]>>>);

impl Learned {
    const PAGE: usize = 32;

    fn new(stations: usize) -> Self {
        let pages = stations.div_ceil(Self::PAGE);
        Self((0..pages).map(|_| None).collect())
    }

    /// Notes that a station was heard at a port.
    #[inline]
    fn note(&mut self, station: u32, entry: Entry) {
        let station = station as usize;
        let unknown = Entry { port: NONE, at: 0 };
        let page = &mut self.0[station / Self::PAGE];
        let page = page.get_or_insert_with(|| Box::new([unknown; Self::PAGE]));
        page[station % Self::PAGE] = entry;
    }

    /// Returns the entry of a station.
    #[inline]
    fn entry(&self, station: u32) -> Option<Entry> {
        let station = station as usize;
        let page = self.0[station / Self::PAGE].as_ref()?;
        Some(page[station % Self::PAGE]).filter(|entry| entry.port != NONE)
    }
}

/// A place and the port there that leads to a station.
type Access = (u32, u32);

/// Static addresses: where each station is attached, and the egress port of each switch towards
/// each place. Places are the switches, then the hubs.
pub(crate) struct Forwarding {
    /// By station: its place and the port there. The place is [`NONE`] without a link, the port
    /// also at a hub.
    access: Vec<Access>,
    /// The same for the second port of stations in two networks.
    second: BTreeMap<u32, Access>,
    /// `towards[from * places + to]`: the egress port of `from`. Empty if there are too many places;
    /// then their nodes, routes between them, and the first port of each switch tell the same.
    towards: Vec<u32>,
    places: Vec<NodeId>,
    routing: Option<Box<Routing>>,
    first_ports: Vec<u32>,
    /// Entries of streams that do not go where their address leads, by [`way_of`]: switches with
    /// their egress ports. Empty if there is no such stream in the plant.
    streams: Vec<Vec<(u32, u32)>>,
}

/// Returns the position of a stream's entries: there, or back.
const fn way_of(stream: u32, is_reverse: bool) -> usize {
    2 * stream as usize + is_reverse as usize
}

impl Forwarding {
    /// Most entries of the table: 4 MiB.
    const MOST_ENTRIES: usize = 1 << 20;

    /// Returns the addresses of stations with this access, see the fields. The first places are the
    /// switches, as many as there are first ports.
    pub(crate) fn new(
        (access, second): (Vec<Access>, BTreeMap<u32, Access>),
        places: Vec<NodeId>,
        first_ports: Vec<u32>,
        routing: &Routing,
    ) -> Self {
        let mut forwarding = Self {
            access,
            second,
            towards: Vec::new(),
            places,
            routing: None,
            first_ports,
            streams: Vec::new(),
        };
        let switches = forwarding.first_ports.len();
        if switches.saturating_mul(forwarding.places.len()) > Self::MOST_ENTRIES {
            forwarding.routing = Some(Box::new(routing.clone()));
            return forwarding;
        }
        let places = 0..forwarding.places.len();
        forwarding.towards = (0..switches)
            .flat_map(|from| places.clone().map(move |to| (from, to)))
            .map(|(from, to)| forwarding.search(routing, from, to))
            .collect();
        forwarding
    }

    /// Asks the routes for the egress port of a switch towards a place, or [`NONE`].
    fn search(&self, routing: &Routing, from: usize, to: usize) -> u32 {
        let port = routing.port_towards(self.places[from], self.places[to]);
        port.map_or(NONE, |port| self.first_ports[from] + u32::from(port.port))
    }

    /// Adds an entry for a unicast stream, there or back: an egress port of a switch.
    pub(crate) fn add(&mut self, (stream, is_reverse): (u32, bool), switch: u32, port: u32) {
        let way = way_of(stream, is_reverse);
        if self.streams.len() <= way {
            self.streams.resize(way + 1, Vec::new());
        }
        self.streams[way].push((switch, port));
    }

    /// Returns whether any stream has entries of its own.
    pub(crate) const fn has_streams(&self) -> bool {
        !self.streams.is_empty()
    }

    /// Returns the entries of the stream of a packet; `None` if its address leads it.
    pub(crate) fn entries(&self, packet: &Packet) -> Option<&[(u32, u32)]> {
        let own = self.streams.get(way_of(packet.stream, packet.has(REVERSE)));
        own.map(Vec::as_slice).filter(|own| !own.is_empty())
    }

    /// Returns the egress port of `switch` for a station, or [`NONE`].
    #[inline]
    fn port(&self, switch: u32, station: u32) -> u32 {
        let port = self.port_to(switch, self.access[station as usize]);
        if port == NONE && !self.second.is_empty() {
            let second = self.second.get(&station);
            return second.map_or(NONE, |&place| self.port_to(switch, place));
        }
        port
    }

    #[inline]
    fn port_to(&self, switch: u32, (target, port): Access) -> u32 {
        if target == switch || target == NONE {
            return port;
        }
        let entry = switch as usize * self.places.len() + target as usize;
        match self.towards.get(entry) {
            Some(&port) => port,
            None => self.port_of_large(switch, target),
        }
    }

    /// The same in a plant of too many places for a table. Not inlined, so that others do not pay
    /// for it.
    #[inline(never)]
    fn port_of_large(&self, switch: u32, target: u32) -> u32 {
        let routing = self.routing.as_deref();
        routing.map_or(NONE, |routing| self.search(routing, switch as usize, target as usize))
    }

    /// Returns whether the network of `switch` leads to a destination; a group may have members in
    /// any.
    pub(crate) fn leads(&self, switch: u32, destination: u32) -> bool {
        destination & GROUP != 0 || self.port(switch, destination) != NONE
    }
}

/// What a switch makes of a frame that arrives.
pub(crate) enum Admission {
    /// It belongs to this VLAN.
    Vlan(Vid),
    /// It has a bit error.
    Error,
    /// Its port does not admit its VLAN.
    Filtered,
}

/// Egress of a frame.
pub(crate) enum Way {
    /// A port, or [`NONE`].
    One(u32),
    /// The ports of a group.
    Group(Vec<u32>),
    /// All ports.
    Flood,
    /// None: a hub repeats the frame to this switch, which is not on its way.
    Nowhere,
}

impl SwitchState {
    /// Creates a switch that has learned no addresses. `first_port` is the index of its port 0,
    /// `stations` the number of stations, `groups` the egress ports of multicast flows.
    pub(crate) fn new(
        node: NodeId,
        switch: &Switch,
        first_port: u32,
        stations: usize,
        groups: BTreeMap<u32, Vec<u32>>,
        draw: Draw,
    ) -> Result<Self, ConfigError> {
        let processor =
            switch.router.map(|router| StackState::new(&router.stack(), router.queue, draw));
        let (learned, aging) = match switch.addresses {
            AddressTable::Static => (None, 0),
            AddressTable::Learning { aging } => (Some(Learned::new(stations)), aging.as_ps()),
        };
        let is_plain =
            |port: &SwitchPort| port.vlan == PortVlan::Transparent && port.default_pcp.get() == 0;
        let rules = |port| Ingress::new(switch.ingress_at(port), switch.icmp_unclassified);
        let count = u16::try_from(switch.ports.len()).unwrap_or(u16::MAX);
        let mirror = switch.mirror.as_ref().map(|mirror| {
            let received = (0..count).map(|port| mirror.copies_received(port));
            (first_port + u32::from(mirror.to), received.collect())
        });
        let with_rules = if switch.has_ingress() { switch.ports.len() } else { 0 };
        let ingress = (0..).take(with_rules).map(rules);
        Ok(Self {
            node,
            first_port,
            ports: switch.ports.clone(),
            is_cut_through: switch.mode == ForwardingMode::CutThrough,
            is_vlan_aware: !switch.ports.iter().all(is_plain),
            tags: switch.tags,
            is_static: learned.is_none(),
            learned,
            aging,
            groups,
            multicast: switch.multicast,
            ingress: ingress.collect::<Result<_, _>>()?,
            mirror,
            processor: processor.map(Box::new),
            refused: 0,
            shared_used: 0,
            shared_limit: switch.buffer.shared.map_or(u64::MAX, Bytes::get),
            arrived: 0,
            copied: 0,
            filtered: 0,
            discarded: 0,
            policed: 0,
        })
    }

    const fn strips_tags(&self) -> bool {
        matches!(self.tags, TagHandling::Strip)
    }

    /// Looks at the entries of streams before addresses from now on.
    pub(crate) const fn look_at_streams(&mut self) {
        self.is_static = false;
    }

    /// Adds a port to a group, given by its number at the switch, if multicast is managed.
    pub(crate) fn add_to_group(&mut self, group: u32, port: u16) {
        if self.multicast == MulticastForwarding::Managed {
            let port = self.first_port + u32::from(port);
            self.groups.entry(group).or_default().push(port);
        }
    }

    /// Returns its node.
    pub(crate) const fn node(&self) -> NodeId {
        self.node
    }

    /// Returns the indices of its ports.
    pub(crate) fn ports(&self) -> Range<u32> {
        let count = u32::try_from(self.ports.len()).unwrap_or(0);
        self.first_port..self.first_port + count
    }

    /// Returns whether frames leave as they came, whole: without a change of tags, and not before
    /// their last bit has arrived.
    #[inline]
    pub(crate) const fn is_plain(&self) -> bool {
        !(self.is_cut_through | self.is_vlan_aware | self.strips_tags())
    }

    /// Returns whether it forwards a frame before its last bit has arrived.
    pub(crate) const fn is_cut_through(&self) -> bool {
        self.is_cut_through
    }

    fn port(&self, port: u32) -> &SwitchPort {
        &self.ports[(port - self.first_port) as usize]
    }

    /// Takes in a frame at port `ingress`: sets the priority of an untagged one, and learns where
    /// its sender is. Tags are left unchanged.
    #[inline]
    pub(crate) fn take_in(&mut self, packet: &mut Packet, ingress: u32, now: i64) -> Admission {
        self.arrived += 1;
        if packet.has(CORRUPTED) && !self.is_cut_through {
            self.discarded += 1;
            return Admission::Error;
        }
        let mut vid = Vid::DEFAULT;
        if self.is_vlan_aware {
            match self.classify(packet, ingress) {
                Some(own) => vid = own,
                None => return Admission::Filtered,
            }
        } else if !packet.has(TAGGED) {
            // The priority went with the tag that an earlier switch removed.
            packet.pcp = 0;
        }
        if let Some(learned) = &mut self.learned {
            let (port, at) = (ingress, now);
            learned.note(packet.source, Entry { port, at });
        }
        Admission::Vlan(vid)
    }

    /// Returns whether any port has rules for arriving frames.
    #[inline]
    pub(crate) const fn has_rules(&self) -> bool {
        !self.ingress.is_empty()
    }

    /// Returns whether frames pass a processor.
    #[inline]
    pub(crate) const fn is_router(&self) -> bool {
        self.processor.is_some()
    }

    /// Returns the processor of a router.
    pub(crate) fn processor(&self) -> Option<&StackState> {
        self.processor.as_deref()
    }

    /// Returns the processor of a router, mutable.
    pub(crate) fn processor_mut(&mut self) -> Option<&mut StackState> {
        self.processor.as_deref_mut()
    }

    /// Counts a packet that found no room before the processor.
    pub(crate) const fn note_refused(&mut self) {
        self.refused += 1;
    }

    /// Returns whether a port sends copies of frames of others.
    #[inline]
    pub(crate) const fn has_mirror(&self) -> bool {
        self.mirror.is_some()
    }

    /// Returns the port that sends copies of frames received at port `ingress`, if one does.
    pub(crate) fn mirror_of_received(&self, ingress: u32) -> Option<u32> {
        let (to, received) = self.mirror.as_ref()?;
        received[(ingress - self.first_port) as usize].then_some(*to)
    }

    /// Returns whether a port only sends copies of frames of others.
    fn is_mirror(&self, port: u32) -> bool {
        self.mirror.as_ref().is_some_and(|(to, _)| *to == port)
    }

    /// Applies the rules of port `ingress` to a frame that it has taken in.
    pub(crate) fn treat(
        &mut self,
        ingress: u32,
        now: i64,
        frame: &Arrival,
    ) -> (Offer, Option<Cause>) {
        let port = (ingress - self.first_port) as usize;
        let (offer, cause) = self.ingress[port].offer(Instant::from_ps(now), frame);
        self.policed += u64::from(offer == Offer::Drop);
        (offer, cause)
    }

    /// Sets the priority of an untagged frame and returns the VLAN it belongs to; `None` if its
    /// port does not admit it.
    fn classify(&self, packet: &mut Packet, ingress: u32) -> Option<Vid> {
        let port = self.port(ingress);
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

    /// Returns where a frame goes; `index` is that of the switch. Groups from `flooded_from` on are
    /// flooded, but for those of discovery, which have members like the groups of flows.
    #[inline]
    pub(crate) fn way(
        &self,
        index: u32,
        packet: &Packet,
        now: i64,
        forwarding: &Forwarding,
        flooded_from: u32,
    ) -> Way {
        if packet.destination & GROUP != 0 {
            let group = packet.destination & !GROUP;
            let is_broadcast = (flooded_from..DISCOVERY_FROM).contains(&group);
            return match self.groups.get(&group) {
                _ if is_broadcast && self.is_router() => Way::Nowhere,
                _ if is_broadcast => Way::Flood,
                Some(ways) => Way::Group(ways.clone()),
                None if self.multicast == MulticastForwarding::Managed => Way::Group(Vec::new()),
                None => Way::Flood,
            };
        }
        if self.is_static {
            return Way::One(forwarding.port(index, packet.destination));
        }
        self.way_of_stream(index, packet, now, forwarding)
    }

    /// Returns where a unicast frame goes by the entries of its stream, or else by its address. Not
    /// inlined, so that other plants do not pay for it.
    #[inline(never)]
    fn way_of_stream(&self, index: u32, packet: &Packet, now: i64, forwarding: &Forwarding) -> Way {
        if let Some(entries) = forwarding.entries(packet) {
            let own = entries.iter().find(|(switch, _)| *switch == index);
            return own.map_or(Way::Nowhere, |&(_, port)| Way::One(port));
        }
        let Some(learned) = &self.learned else {
            return Way::One(forwarding.port(index, packet.destination));
        };
        let entry = learned.entry(packet.destination);
        let entry = entry.filter(|entry| now - entry.at <= self.aging);
        entry.map_or(Way::Flood, |entry| Way::One(entry.port))
    }

    /// Returns whether a port sends frames of a VLAN.
    pub(crate) fn admits(&self, egress: u32, vid: Vid) -> bool {
        !self.is_mirror(egress) && (!self.is_vlan_aware || self.port(egress).vlan.admits(vid))
    }

    /// Adds or removes the tag of a frame that leaves by a port; `false` if the port does not send
    /// frames of its VLAN.
    pub(crate) fn tag(&self, packet: &mut Packet, egress: u32, vid: Vid) -> bool {
        if self.is_vlan_aware {
            let vlan = &self.port(egress).vlan;
            if !vlan.admits(vid) {
                return false;
            }
            if let Some(is_tagged) = vlan.sends_tagged(vid) {
                packet.put(TAGGED, is_tagged);
                packet.vid = vid.get();
            }
        }
        if self.strips_tags() {
            packet.put(TAGGED, false);
        }
        true
    }

    /// Returns whether its ports share memory that can be used up.
    pub(crate) const fn shares_memory(&self) -> bool {
        self.shared_limit != u64::MAX
    }

    /// Takes memory from the pool shared by the ports; `false` if too little is left.
    pub(crate) const fn reserve(&mut self, size: u64) -> bool {
        if !self.shares_memory() {
            return true;
        }
        let fits = self.shared_used + size <= self.shared_limit;
        if fits {
            self.shared_used += size;
        }
        fits
    }

    /// Takes memory from the pool shared by the ports, if need be more than there is.
    pub(crate) const fn hold(&mut self, size: u64) {
        if self.shares_memory() {
            self.shared_used += size;
        }
    }

    /// Returns whether more is taken from the shared pool than there is.
    pub(crate) const fn exceeds(&self) -> bool {
        self.shares_memory() && self.shared_used > self.shared_limit
    }

    /// Returns memory to the shared pool.
    pub(crate) const fn release(&mut self, size: u64) {
        if self.shares_memory() {
            self.shared_used -= size;
        }
    }

    /// Returns the octets taken from the shared pool.
    pub(crate) const fn shared_used(&self) -> u64 {
        self.shared_used
    }

    /// Counts copies beyond the frame itself.
    pub(crate) const fn note_copied(&mut self, copies: u64) {
        self.copied += copies;
    }

    /// Counts a frame that is not forwarded.
    pub(crate) const fn note_filtered(&mut self) {
        self.filtered += 1;
    }

    /// Counts a frame that arrived garbled from a medium.
    pub(crate) const fn note_garbled(&mut self) {
        self.arrived += 1;
        self.discarded += 1;
    }

    /// Enters its counters in the record of its node.
    pub(crate) fn count_in(&self, record: &mut NodeRecord) {
        record.arrived = self.arrived;
        record.copied = self.copied;
        record.filtered = self.filtered;
        record.discarded = self.discarded;
        record.policed = self.policed;
        record.stack_dropped = self.refused;
        let ports = (0u16..).zip(&self.ingress);
        record.ingress = ports
            .flat_map(|(port, rules)| {
                let counted = (0u16..).zip(rules.counts());
                counted.map(move |(rule, counts)| IngressRecord { port, rule, counts })
            })
            .collect();
    }
}
