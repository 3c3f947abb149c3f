//! Random plants: lines, trees, stars and rings with all kinds of ports, stacks and flows.

use rtether_model::flow::{
    Bulk, Bursts, Delivery, Flow, Phase, Reply, Tag, TcpParameters, Traffic, Transfer,
};
use rtether_model::network::{
    AddressTable, Cost, EndStation, ForwardingMode, Link, MulticastForwarding, Network, Node,
    NodeId, NodeKind, Partition, Pcp, PortId, QueueMap, Router, Selection, Stack, Switch,
    SwitchPort, TagHandling, Vid,
};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::wire::{Encapsulation, RtpsVersion};
use rtether_testkit::Dice;

use crate::bounds::dice;
use crate::bounds::draw::{plain_switch, random_switch, selection, shaped, stack};
use crate::bounds::layers::{add_layers, shaping_layer};

/// A network with its flows.
#[derive(Clone, Default)]
pub(crate) struct Plant {
    pub(crate) network: Network,
    pub(crate) flows: Vec<Flow>,
    pub(crate) stations: Vec<NodeId>,
    /// Whether all flows start or end at the first station, over a fast network.
    pub(crate) is_focused: bool,
    /// Whether some flows publish over RTPS. Flows that share a FIFO with these have no bound, and
    /// most plants should have bounds.
    pub(crate) publishes: bool,
}

/// Features that a plant may have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variety {
    /// Equal links, queues in order of arrival, periodic unicast without stacks: the networks of
    /// the published comparisons.
    Plain,
    /// Everything except layers.
    Full,
    /// Everything, with tasks and layers in most stations.
    Layered,
    /// Everything except layers, with deficit round robin at most ports of switches.
    Deficit,
    /// Everything except layers and RTPS, with redundant links, and routes or VLANs for the flows.
    Routed,
    /// Everything except layers, with switches of varying latency.
    Jittered,
    /// Everything except layers, where most stations and switches select by deadline, which is
    /// divided in any way.
    Due,
    /// Everything except layers and learned addresses, with routers for most switches.
    Internetwork,
    /// Everything except most layers, with the credit-based shaper at most ports of switches and in
    /// many transmit queues.
    Shaped,
}

impl Variety {
    /// Returns what makes such a plant of one of [`Variety::Full`], if it is made so.
    fn change(self) -> Option<fn(&mut Plant, &mut Dice)> {
        match self {
            Self::Deficit => Some(Plant::share_octets),
            Self::Routed => Some(Plant::route_at_random),
            Self::Jittered => Some(Plant::vary_latencies),
            Self::Internetwork => Some(Plant::put_routers),
            Self::Shaped => Some(Plant::shape),
            Self::Due => Some(Plant::select_by_deadline),
            Self::Full | Self::Layered | Self::Plain => None,
        }
    }
}

impl Plant {
    pub(crate) fn random(number: u64, variety: Variety) -> Self {
        let mut dice = dice(number);
        if let Some(change) = variety.change() {
            let mut plant = Self::random(number, Variety::Full);
            change(&mut plant, &mut dice);
            return plant;
        }
        let mut plant = Self::default();
        if variety == Variety::Layered && number % 2 == 1 {
            plant.focus(&mut dice);
            return plant;
        }
        let is_full = variety != Variety::Plain;
        let rate = if is_full { dice.pick(&[10, 100, 100, 100, 1000]) } else { 100 };
        plant.publishes = is_full && dice.chance(15);
        let switches = plant.topology(&mut dice, is_full, rate);
        let stations = dice.between(3, 10);
        for index in 0..stations {
            let stack = if is_full { stack(&mut dice) } else { Stack::Zero };
            let station = plant.station(stack);
            let switch = switches[usize::try_from(index).unwrap() % switches.len()];
            let own_rate =
                if is_full && dice.chance(20) { dice.pick(&[10, 100, 1000]) } else { rate };
            plant.join(station, switch, own_rate, false);
            if variety == Variety::Layered
                && let NodeKind::EndStation(inside) = &mut plant.network.nodes[station.index()].kind
            {
                add_layers(&mut dice, inside, own_rate);
            }
            plant.stations.push(station);
        }
        let flows = dice.between(2, 16);
        for index in 0..flows {
            let mut flow = plant.flow(&mut dice, index, is_full, rate);
            if variety == Variety::Layered {
                if dice.chance(60)
                    && let Traffic::Periodic { period, .. } | Traffic::Flood { interval: period } =
                        &mut flow.traffic
                {
                    // Otherwise the busier processors would be overloaded in most plants.
                    *period = *period * 4;
                }
                flow.dscp = dice.pick(&[0, 0, 46]);
                if flow.encapsulation == Encapsulation::Udp
                    && !flow.is_fragmented()
                    && dice.chance(10)
                {
                    flow.encapsulation = Encapsulation::Icmp;
                }
            }
            plant.flows.push(flow);
        }
        plant
    }

    /// Lets the latency of most switches vary.
    fn vary_latencies(&mut self, dice: &mut Dice) {
        for node in &mut self.network.nodes {
            if let NodeKind::Switch(switch) = &mut node.kind
                && dice.chance(70)
            {
                let jitter = dice.pick(&[1, 700, 5_000, 20_000, 300_000]);
                switch.latency_jitter = Duration::from_ns(jitter);
            }
        }
    }

    /// Lets most stations and switches select by deadline, and gives most flows one.
    fn select_by_deadline(&mut self, dice: &mut Dice) {
        let ways = [Partition::Equal, Partition::Proportional, Partition::Search];
        self.network.partition = dice.pick(&ways);
        for node in &mut self.network.nodes {
            match &mut node.kind {
                NodeKind::EndStation(station) => station.by_deadline = dice.chance(80),
                NodeKind::Switch(switch) if dice.chance(80) => {
                    switch.selection = Selection::EarliestDeadline;
                }
                NodeKind::Switch(_) | NodeKind::Hub(_) => {}
            }
        }
        for flow in &mut self.flows {
            // One unlimited flow with a deadline takes the bounds of all others.
            if flow.is_acknowledged() || matches!(flow.traffic, Traffic::Poisson { .. }) {
                flow.deadline = None;
            } else if dice.chance(60) {
                let deadline = dice.pick(&[200, 500, 1_000, 2_000, 5_000]);
                flow.deadline = Some(Duration::from_us(deadline));
            }
        }
    }

    /// Puts routers in the place of most switches; the others know all addresses.
    fn put_routers(&mut self, dice: &mut Dice) {
        for node in &mut self.network.nodes {
            let NodeKind::Switch(switch) = &mut node.kind else {
                continue;
            };
            switch.addresses = AddressTable::Static;
            let is_plain = |port: &SwitchPort| *port == SwitchPort::default();
            // A switch that keeps tags where another takes them off may close a VLAN.
            let keeps = switch.tags == TagHandling::Keep;
            if keeps && dice.chance(60) && switch.ports.iter().all(is_plain) {
                switch.mode = ForwardingMode::StoreAndForward;
                switch.multicast = MulticastForwarding::Managed;
                switch.router = Some(Router {
                    cost: Cost {
                        base: Duration::from_ns(dice.time(0, 20_000)),
                        per_octet: Duration::from_ps(dice.time(0, 8_000)),
                    },
                    jitter: Duration::from_ns(dice.pick(&[0, 0, 1_000, 15_000])),
                    unknown: Duration::ZERO,
                    queue: 1 << 20,
                });
            }
        }
    }

    /// Lets most switch ports choose by deficit round robin among two to eight queues.
    fn share_octets(&mut self, dice: &mut Dice) {
        for node in &mut self.network.nodes {
            if let NodeKind::Switch(switch) = &mut node.kind {
                let count = u8::try_from(dice.between(2, 8)).unwrap();
                switch.queues = QueueMap::standard(count).unwrap();
                let quanta = [(); 8].map(|()| u16::try_from(dice.between(64, 6_000)).unwrap());
                switch.selection = Selection::Drr { quanta };
                for port in &mut switch.ports {
                    port.selection = dice.chance(20).then(|| selection(dice));
                }
            }
        }
    }

    /// Lets most ports of switches shape two to eight queues, and the transmit queues of many
    /// stations.
    fn shape(&mut self, dice: &mut Dice) {
        for node in &mut self.network.nodes {
            if let NodeKind::Switch(switch) = &mut node.kind {
                let count = u8::try_from(dice.between(2, 8)).unwrap();
                switch.queues = QueueMap::standard(count).unwrap();
            }
        }
        for link in &self.network.links {
            let mbps = link.rate.as_bps() / 1_000_000;
            for end in link.ends {
                match &mut self.network.nodes[end.node.index()].kind {
                    NodeKind::Switch(switch) => {
                        let other = dice.chance(15).then(|| selection(dice));
                        let own = other.unwrap_or_else(|| shaped(dice, mbps));
                        switch.ports[usize::from(end.port)].selection = Some(own);
                    }
                    NodeKind::EndStation(station) if dice.chance(40) => {
                        station.layer = Some(Box::new(shaping_layer(dice, mbps)));
                    }
                    NodeKind::EndStation(_) | NodeKind::Hub(_) => {}
                }
            }
        }
    }

    /// Makes a plant whose delays arise in one end station.
    fn focus(&mut self, dice: &mut Dice) {
        self.is_focused = true;
        let switch = self.switch(plain_switch());
        for index in 0..dice.between(3, 5) {
            let station = self.station(if index == 0 { stack(dice) } else { Stack::Zero });
            let rate = if index == 0 { dice.pick(&[10, 100, 1000]) } else { 1000 };
            if let (0, NodeKind::EndStation(inside)) =
                (index, &mut self.network.nodes[station.index()].kind)
            {
                add_layers(dice, inside, rate);
            }
            self.join(station, switch, rate, false);
            self.stations.push(station);
        }
        for index in 0..dice.between(2, 8) {
            let mut flow = self.flow(dice, index, false, 10);
            let other = self.stations[1 + dice.index(self.stations.len() - 1)];
            let ends = [self.stations[0], other];
            let is_sent = dice.chance(50);
            flow.talker = ends[usize::from(!is_sent)];
            flow.listeners = vec![ends[usize::from(is_sent)]];
            if dice.chance(60) {
                flow.tag = Some(Tag {
                    pcp: Pcp::new(u8::try_from(dice.between(0, 7)).unwrap()).unwrap(),
                    vid: Vid::PRIORITY_ONLY,
                });
            }
            flow.encapsulation = dice.pick(&[
                Encapsulation::Udp,
                Encapsulation::Udp,
                Encapsulation::Icmp,
                Encapsulation::Raw,
            ]);
            fragment(dice, &mut flow);
            flow.dscp = dice.pick(&[0, 46]);
            if let (Traffic::Periodic { period, .. }, true) = (&flow.traffic, dice.chance(30)) {
                flow.traffic = Traffic::Sporadic {
                    min_gap: *period,
                    mean_gap: *period,
                    burst: u32::try_from(dice.between(2, 5)).unwrap(),
                };
            }
            self.flows.push(flow);
        }
    }

    /// Adds switches and the links between them.
    fn topology(&mut self, dice: &mut Dice, is_full: bool, rate: u64) -> Vec<NodeId> {
        let count = dice.between(1, 6);
        let shape = dice.index(4);
        let model = random_switch(dice, is_full);
        let mut switches = Vec::new();
        for index in 0..count {
            let mut switch = model.clone();
            if is_full && dice.chance(25) {
                switch = random_switch(dice, true);
            }
            let node = self.node(format!("w{index}"), NodeKind::Switch(switch));
            let trunk = if is_full && dice.chance(25) { dice.pick(&[100, 1000]) } else { rate };
            if let Some(&last) = switches.last() {
                let before = match shape {
                    0 | 3 => last,
                    1 => switches[0],
                    _ => dice.pick(&switches),
                };
                self.join(before, node, trunk, false);
            }
            switches.push(node);
        }
        if shape == 3 && switches.len() > 2 {
            // A switch that floods or learns must not be in a loop.
            let floods = |node: &Node| match &node.kind {
                NodeKind::Switch(switch) => {
                    switch.addresses != AddressTable::Static
                        || switch.multicast == MulticastForwarding::Unmanaged
                }
                NodeKind::EndStation(_) | NodeKind::Hub(_) => false,
            };
            let is_standby = dice.chance(40) || self.network.nodes.iter().any(floods);
            self.join(switches[0], switches[switches.len() - 1], rate, is_standby);
        }
        switches
    }

    fn node(&mut self, name: String, kind: NodeKind) -> NodeId {
        let id = NodeId(u32::try_from(self.network.nodes.len()).unwrap());
        self.network.nodes.push(Node { name, kind });
        id
    }

    pub(crate) fn station(&mut self, stack: Stack) -> NodeId {
        let name = format!("s{}", self.network.nodes.len());
        let mut station = EndStation::new(stack);
        station.stack_queue = 1_000_000;
        station.driver_queue = Bytes::new(1 << 30);
        self.node(name, NodeKind::EndStation(station))
    }

    pub(crate) fn switch(&mut self, switch: Switch) -> NodeId {
        let name = format!("w{}", self.network.nodes.len());
        self.node(name, NodeKind::Switch(switch))
    }

    pub(crate) fn join(&mut self, a: NodeId, b: NodeId, mbps: u64, standby: bool) {
        let ends = [a, b].map(|node| self.free_port(node));
        self.network.links.push(Link {
            propagation: Duration::from_ns(100),
            standby,
            ..Link::new(ends, BitRate::from_mbps(mbps))
        });
    }

    fn free_port(&mut self, node: NodeId) -> PortId {
        let port = match &mut self.network.nodes[node.index()].kind {
            NodeKind::Switch(switch) => {
                switch.ports.push(SwitchPort::default());
                u16::try_from(switch.ports.len() - 1).unwrap()
            }
            NodeKind::EndStation(_) | NodeKind::Hub(_) => 0,
        };
        PortId { node, port }
    }

    pub(crate) fn flow(&self, dice: &mut Dice, index: u64, is_full: bool, rate: u64) -> Flow {
        let talker = dice.pick(&self.stations);
        let others = self.stations.iter().filter(|&&node| node != talker);
        let mut others: Vec<NodeId> = others.copied().collect();
        let listeners = if is_full && dice.chance(25) { dice.between(1, 3) } else { 1 };
        let listeners: Vec<NodeId> = (0..listeners)
            .filter(|_| !others.is_empty())
            .collect::<Vec<_>>()
            .into_iter()
            .map_while(|_| {
                (!others.is_empty()).then(|| {
                    let at = dice.index(others.len());
                    others.swap_remove(at)
                })
            })
            .collect();
        let payload = if dice.chance(60) { dice.between(0, 200) } else { dice.between(200, 1472) };
        let mut flow = plain_flow(&format!("f{index}"), talker, listeners, payload);
        let scale = if rate == 10 { 8 } else { 1 };
        let periods = if is_full {
            [1_000, 2_000, 2_000, 4_000, 8_000]
        } else {
            [250, 500, 1_000, 2_000, 4_000]
        };
        let period = Duration::from_us(scale * dice.pick(&periods));
        flow.traffic = Traffic::periodic(period, Phase::Fixed(Duration::ZERO));
        if is_full {
            vary(dice, &mut flow, period, self.publishes);
        }
        flow
    }
}

/// Gives a flow features of full plants.
fn vary(dice: &mut Dice, flow: &mut Flow, period: Duration, publishes: bool) {
    if dice.chance(50) {
        flow.tag = Some(Tag {
            pcp: Pcp::new(u8::try_from(dice.between(0, 7)).unwrap()).unwrap(),
            vid: Vid::PRIORITY_ONLY,
        });
    }
    if dice.chance(40) {
        flow.delivery = Delivery::Multicast;
    }
    if dice.chance(15) {
        flow.encapsulation = Encapsulation::Raw;
    }
    if dice.chance(25) {
        flow.reply = Some(Reply::new(
            Bytes::new(dice.between(0, 1000)),
            Duration::from_us(dice.pick(&[0, 0, 10, 333])),
        ));
    }
    flow.traffic = match dice.between(0, 99) {
        0..60 => Traffic::Periodic {
            period,
            phase: Phase::Fixed(Duration::ZERO),
            release_jitter: Duration::from_us(dice.pick(&[0, 0, 50, 400, 3_000])),
        },
        60..80 => Traffic::Sporadic {
            min_gap: period,
            mean_gap: period,
            burst: u32::try_from(dice.between(1, 4)).unwrap(),
        },
        80..86 => Traffic::Flood { interval: period },
        86..94 if flow.reply.is_some() => Traffic::Adaptive {
            pause: Duration::from_us(dice.pick(&[0, 100, 1_000])),
            timeout: Duration::from_us(dice.pick(&[300, 5_000, 100_000])),
        },
        98 => Traffic::Poisson { mean_interval: period },
        90..98 if flow.delivery == Delivery::Unicast && flow.listeners.len() == 1 => {
            flow.reply = None;
            flow.encapsulation = Encapsulation::Tcp;
            flow.payload = Bytes::ZERO;
            Traffic::Bulk(bulk(dice))
        }
        _ => flow.traffic.clone(),
    };
    if dice.chance(60) {
        // The deadline decides the order under earliest-deadline-first selection.
        flow.deadline = Some(Duration::from_us(dice.pick(&[100, 500, 2_000, 10_000, 50_000])));
    }
    let is_packets = !matches!(flow.traffic, Traffic::Bulk(_));
    if publishes && is_packets && flow.delivery == Delivery::Unicast && dice.chance(25) {
        publish(flow, dice.chance(50));
    }
    fragment(dice, flow);
}

/// Makes some flows send, or reply with, datagrams larger than one frame.
fn fragment(dice: &mut Dice, flow: &mut Flow) {
    let size = |dice: &mut Dice| match dice.between(0, 2) {
        0 => Bytes::new(dice.between(1_473, 1_600)),
        1 => Bytes::new(1_480 * dice.between(2, 4) - 8),
        _ => Bytes::new(dice.between(1_473, 12_000)),
    };
    if flow.encapsulation == Encapsulation::Udp && dice.chance(8) {
        flow.payload = size(dice);
    }
    if flow.encapsulation == Encapsulation::Udp && dice.chance(8) {
        let payload = size(dice);
        flow.reply = flow.reply.map(|reply| Reply { payload, ..reply });
    }
}

/// Publishes a flow over RTPS if its packets fit.
pub(crate) fn publish(flow: &mut Flow, is_reliable: bool) {
    let over = Encapsulation::Rtps { version: RtpsVersion::V2_5, is_reliable };
    let most = over.max_payload();
    let answer = flow.reply.map_or(Bytes::ZERO, |reply| reply.payload);
    if flow.payload.max(answer) <= most {
        flow.encapsulation = over;
    }
}

fn bulk(dice: &mut Dice) -> Bulk {
    let transfers = (0..dice.between(1, 4)).map(|_| Transfer {
        start: Duration::from_us(dice.time(0, 15_000)),
        size: dice.chance(80).then(|| Bytes::new(dice.between(1, 60_000))),
    });
    let transfers = transfers.collect();
    Bulk {
        transfers,
        bursts: dice
            .chance(20)
            .then(|| Bursts { size: Bytes::new(dice.between(1, 20_000)), mean_gap: None }),
        rate: dice.chance(30).then(|| BitRate::from_mbps(dice.between(1, 50))),
        tcp: TcpParameters {
            segment: Bytes::new(dice.pick(&[536, 1000, 1460])),
            window: Bytes::new(dice.pick(&[2_000, 7_300, 20_000])),
            initial_window: 10,
            ..TcpParameters::default()
        },
    }
}

/// Returns a flow of UDP datagrams; its traffic is set later.
pub(crate) fn plain_flow(name: &str, talker: NodeId, listeners: Vec<NodeId>, payload: u64) -> Flow {
    Flow::new(
        name.into(),
        talker,
        listeners,
        Bytes::new(payload),
        Traffic::periodic(Duration::from_ms(1), Phase::Fixed(Duration::ZERO)),
    )
}
