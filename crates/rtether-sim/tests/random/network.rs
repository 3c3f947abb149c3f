//! Random networks: single links, stars, lines, trees and rings with every kind of node and link.

use rtether_model::empirical::{Empirical, Quantile, Quantiles};
use rtether_model::endnode::TosMatch;
use rtether_model::ingress::{Exceed, Filter, IngressRule, Police};
use rtether_model::network::{
    AddressTable, Buffer, Cost, ForwardingMode, Jitter, LinearStack, MulticastForwarding, NodeId,
    NodeKind, Outliers, Pcp, PortVlan, QueueMap, Router, Selection, Servers, Spread, Stack, Switch,
    SwitchPort, TagHandling, Vid,
};
use rtether_model::quantity::{BitRate, Bytes, Duration};

use super::layers;
use crate::support::{Plant, plain_switch};
use rtether_testkit::Dice;

/// Topology of the switches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Cable,
    Star,
    Line,
    Tree,
    Ring { is_open: bool },
}

/// Assignment of VLANs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Vlans {
    None,
    /// Stations are split between two VLANs, trunks join the switches.
    Split,
    /// Every port independently; most pairs of stations cannot communicate.
    Wild,
}

/// Properties shared by all nodes and links of a plant.
pub(super) struct Style {
    has_loop: bool,
    vlans: Vlans,
    /// Corrupted frames per billion, on links with errors.
    errors: u32,
    /// Whether buffers and queues may be small.
    pub(super) is_tight: bool,
    /// Whether all packets must leave in the end.
    pub(super) drains: bool,
}

impl Style {
    /// No errors, no loops, room for everything, and all packets leave in the end.
    pub(super) const fn ample() -> Self {
        Self { has_loop: false, vlans: Vlans::None, errors: 0, is_tight: false, drains: true }
    }
}

/// Builds a network without flows and returns its stations.
pub(super) fn network(dice: &mut Dice, plant: &mut Plant, drains: bool) -> Vec<NodeId> {
    let shape = dice.pick(&[
        Shape::Cable,
        Shape::Star,
        Shape::Star,
        Shape::Line,
        Shape::Line,
        Shape::Tree,
        Shape::Tree,
        Shape::Ring { is_open: false },
        Shape::Ring { is_open: true },
    ]);
    let style = Style {
        has_loop: shape == Shape::Ring { is_open: false },
        vlans: dice.pick(&[Vlans::None, Vlans::None, Vlans::None, Vlans::Split, Vlans::Wild]),
        errors: dice.pick(&[0, 0, 0, 1_000_000, 200_000_000]),
        is_tight: dice.chance(50),
        drains,
    };
    let switches = switches(dice, plant, shape, &style);
    let count = dice.between(2, 9);
    let stations: Vec<NodeId> = if shape == Shape::Cable {
        let pair = [(); 2].map(|()| station(dice, plant, &style));
        connect(dice, plant, &style, pair[0], pair[1]);
        pair.to_vec()
    } else {
        (0..count)
            .map(|_| {
                let station = station(dice, plant, &style);
                let switch = dice.pick(&switches);
                connect(dice, plant, &style, switch, station);
                station
            })
            .collect()
    };
    stations
}

fn switches(dice: &mut Dice, plant: &mut Plant, shape: Shape, style: &Style) -> Vec<NodeId> {
    let count = match shape {
        Shape::Cable => 0,
        Shape::Star => 1,
        Shape::Line | Shape::Tree => dice.between(2, 5),
        Shape::Ring { .. } => dice.between(3, 5),
    };
    let switches: Vec<NodeId> = (0..count)
        .map(|_| {
            let switch = switch(dice, style);
            plant.switch(switch)
        })
        .collect();
    for (index, pair) in switches.windows(2).enumerate() {
        let upper = if shape == Shape::Tree { switches[dice.index(index + 1)] } else { pair[0] };
        connect(dice, plant, style, upper, pair[1]);
    }
    if let Shape::Ring { is_open } = shape {
        let ends = [switches[0], switches[switches.len() - 1]];
        connect(dice, plant, style, ends[1], ends[0]);
        let standby = dice.index(plant.network.links.len());
        plant.network.links[standby].standby = is_open;
    }
    switches
}

fn connect(dice: &mut Dice, plant: &mut Plant, style: &Style, a: NodeId, b: NodeId) {
    let mbps = dice.pick(&[10, 100, 100, 100, 1_000, 1_000, 2_500]);
    let link = plant.join(a, b, mbps);
    link.propagation = Duration::from_ns(dice.pick(&[0, 0, 25, 500, 5_000]));
    if dice.chance(50) {
        link.errors_per_billion = style.errors;
    }
    let ends = link.ends;
    let is_trunk = ends.iter().all(|end| plant.network.switch(end.node).is_some());
    // Both ends of a trunk agree, unless ports are independent.
    let shared = vlan(dice, style, is_trunk);
    for end in ends {
        let own =
            if style.vlans == Vlans::Wild { vlan(dice, style, is_trunk) } else { shared.clone() };
        if let NodeKind::Switch(switch) = &mut plant.network.nodes[end.node.index()].kind {
            let port = &mut switch.ports[usize::from(end.port)];
            port.vlan = own;
            if style.vlans != Vlans::None && dice.chance(20) {
                port.default_pcp = pcp(dice);
            }
        }
    }
}

fn vlan(dice: &mut Dice, style: &Style, is_trunk: bool) -> PortVlan {
    let both = Some([10, 20].map(vid).to_vec());
    let native = dice.pick(&[None, Some(vid(10)), Some(vid(20))]);
    let trunk = PortVlan::Trunk { allowed: dice.pick(&[None, both]), native };
    let access = PortVlan::Access(vid(dice.pick(&[10, 20])));
    match style.vlans {
        Vlans::None => PortVlan::Transparent,
        Vlans::Split if is_trunk => trunk,
        Vlans::Split => {
            if dice.chance(80) {
                access
            } else {
                trunk
            }
        }
        Vlans::Wild => dice.pick(&[PortVlan::Transparent, PortVlan::Transparent, access, trunk]),
    }
}

/// Gives some switches rules for frames that arrive. None demotes, so that streams stay in order.
pub(super) fn police(dice: &mut Dice, plant: &mut Plant) {
    let nodes = plant.network.iter_nodes();
    let stations = nodes.filter(|(id, _)| plant.network.end_station(*id).is_some());
    let stations: Vec<NodeId> = stations.map(|(id, _)| id).collect();
    let stations = &stations[..];
    for node in &mut plant.network.nodes {
        let NodeKind::Switch(switch) = &mut node.kind else {
            continue;
        };
        if !dice.chance(70) {
            continue;
        }
        switch.icmp_unclassified = dice.chance(50);
        switch.thresholds =
            dice.chance(50).then(|| [(); 8].map(|()| Bytes::new(dice.pick(&[2_000, 10_000]))));
        switch.ingress = (0..dice.between(1, 4)).map(|_| rule(dice, stations)).collect();
        for port in &mut switch.ports {
            port.ingress = dice.chance(20).then(|| vec![rule(dice, stations)]);
        }
    }
    for node in &mut plant.network.nodes {
        let NodeKind::Switch(switch) = &mut node.kind else {
            continue;
        };
        let own = switch.ports.iter_mut().filter_map(|port| port.ingress.as_mut());
        for rule in own.chain([&mut switch.ingress]).flatten() {
            rule.filter = dice.chance(30).then(|| Filter {
                max_sdu: Bytes::new(dice.pick(&[46, 100, 600, 1_499])),
                block: dice.chance(40),
            });
        }
    }
}

/// Puts routers in the place of some switches; the others know all addresses.
pub(super) fn put_routers(dice: &mut Dice, plant: &mut Plant) {
    for node in &mut plant.network.nodes {
        let NodeKind::Switch(switch) = &mut node.kind else {
            continue;
        };
        switch.addresses = AddressTable::Static;
        let is_plain = |port: &SwitchPort| *port == SwitchPort::default();
        // A switch that keeps tags where another takes them off may close a VLAN.
        let keeps = switch.tags == TagHandling::Keep;
        if keeps && dice.chance(50) && switch.ports.iter().all(is_plain) {
            switch.mode = ForwardingMode::StoreAndForward;
            switch.multicast = MulticastForwarding::Managed;
            switch.router = Some(Router {
                cost: Cost {
                    base: Duration::from_ns(dice.time(0, 50_000)),
                    per_octet: Duration::from_ps(dice.time(0, 20_000)),
                },
                jitter: Duration::from_ns(dice.pick(&[0, 1, 30_000])),
                unknown: Duration::ZERO,
                queue: dice.pick(&[0, 1, 5, 10_000]),
            });
        }
    }
}

fn rule(dice: &mut Dice, stations: &[NodeId]) -> IngressRule {
    let mut rule =
        IngressRule { mark: dice.chance(60).then(|| pcp(dice)), ..IngressRule::default() };
    match dice.index(5) {
        0 => rule.from = vec![dice.pick(stations)],
        1 => rule.to = vec![dice.pick(stations), dice.pick(stations)],
        2 => rule.pcp = Some(pcp(dice)),
        3 => rule.headers.tos = Some(TosMatch::dscp(dice.pick(&[0, 46]))),
        _ => rule.headers.protocol = Some(dice.pick(&[1, 6, 17])),
    }
    if dice.chance(60) {
        rule.police = Some(Police {
            rate: BitRate::from_bps(dice.pick(&[1, 500_000, 20_000_000, 1_000_000_000])),
            burst: Bytes::new(dice.pick(&[64, 1_522, 10_000])),
            exceed: Exceed::Drop,
        });
    }
    rule
}

pub(super) fn vid(value: u16) -> Vid {
    Vid::new(value).unwrap()
}

pub(super) fn pcp(dice: &mut Dice) -> Pcp {
    Pcp::new(dice.small::<u8>(0, 7)).unwrap()
}

fn switch(dice: &mut Dice, style: &Style) -> Switch {
    let weights = [(); 8].map(|()| dice.pick(&[1, 1, 2, 3, 4]));
    let quanta = [(); 8].map(|()| dice.pick(&[64, 500, 1_522, 6_000]));
    let selection = dice.pick(&[
        Selection::Fcfs,
        Selection::StrictPriority,
        Selection::StrictPriority,
        Selection::Wrr { weights },
        Selection::StrictWrr { weights },
        Selection::EarliestDeadline,
        Selection::Drr { quanta },
    ]);
    // Under deficit round robin every frame needs room, even where it finds the port idle: less
    // than a frame would let nothing through.
    let holds_a_frame = matches!(selection, Selection::Drr { .. });
    let per_port = match (style.is_tight, holds_a_frame) {
        (false, _) => 1 << 20,
        (true, false) => dice.pick(&[0, 300, 2_000, 20_000]),
        (true, true) => dice.pick(&[2_000, 20_000]),
    };
    let shared = style.is_tight && !holds_a_frame && dice.chance(50);
    Switch {
        latency: Duration::from_ns(dice.pick(&[0, 0, 700, 5_000])),
        // The books take a frame for landed a fixed time after its last bit.
        latency_jitter: Duration::ZERO,
        mode: dice.pick(&[
            ForwardingMode::StoreAndForward,
            ForwardingMode::StoreAndForward,
            ForwardingMode::CutThrough,
        ]),
        queues: QueueMap::standard(dice.pick(&[1, 2, 4, 4, 8])).unwrap(),
        selection,
        buffer: Buffer {
            per_port: Bytes::new(per_port),
            shared: shared.then(|| Bytes::new(dice.pick(&[0, 1_000, 10_000]))),
        },
        addresses: if style.has_loop || dice.chance(60) {
            AddressTable::Static
        } else {
            AddressTable::Learning {
                aging: Duration::from_us(dice.pick(&[100, 1_000, 300_000_000])),
            }
        },
        multicast: if style.has_loop || dice.chance(60) {
            MulticastForwarding::Managed
        } else {
            MulticastForwarding::Unmanaged
        },
        tags: dice.pick(&[TagHandling::Keep, TagHandling::Keep, TagHandling::Strip]),
        ..plain_switch()
    }
}

fn station(dice: &mut Dice, plant: &mut Plant, style: &Style) -> NodeId {
    let id = plant.station(stack(dice));
    if let NodeKind::EndStation(station) = &mut plant.network.nodes[id.index()].kind {
        if style.is_tight {
            station.stack_queue = dice.pick(&[0, 1, 5, 1_000]);
            station.driver_queue = Bytes::new(dice.pick(&[0, 2_000, 30_000, 1_518_000]));
        } else {
            station.stack_queue = 100_000;
            station.driver_queue = Bytes::new(1 << 30);
        }
        layers::equip(dice, station, style);
    }
    id
}

fn stack(dice: &mut Dice) -> Stack {
    match dice.between(0, 4) {
        0 => Stack::Zero,
        4 => layers::rtos(dice),
        1 => Stack::IpRate { service: Duration::from_ns(dice.time(0, 60_000)) },
        _ => Stack::Linear(LinearStack {
            send: cost(dice, 40_000),
            receive: cost(dice, 40_000),
            interface: if dice.chance(50) { cost(dice, 5_000) } else { Cost::default() },
            jitter: jitter(dice),
            servers: dice.pick(&[Servers::Shared, Servers::PerDirection]),
        }),
    }
}

pub(super) fn cost(dice: &mut Dice, base_ns: i64) -> Cost {
    Cost {
        base: Duration::from_ns(dice.time(0, base_ns)),
        per_octet: Duration::from_ps(dice.pick(&[0, 333, 8_000, 100_000])),
    }
}

/// Returns a distribution that differs by direction.
fn measured(max: Duration) -> Empirical {
    let table = |most: Duration| {
        let points = [(0, Duration::ZERO), (900_000, most / 8), (1_000_000, most)];
        let points = points.map(|(per_million, value)| Quantile { per_million, value });
        Quantiles::new(points.to_vec()).expect("it rises")
    };
    Empirical { send: table(max / 2), receive: table(max) }
}

pub(super) fn jitter(dice: &mut Dice) -> Jitter {
    let us = |dice: &mut Dice, most| Duration::from_ns(dice.time(1, most));
    let max = us(dice, 50_000);
    let spread = dice.pick(&[
        Spread::None,
        Spread::Uniform { max },
        Spread::Exponential { mean: max / 4, max },
        Spread::Empirical(Box::new(measured(max))),
    ]);
    let outliers = dice.chance(30).then(|| {
        let min = us(dice, 100_000);
        Outliers { per_million: dice.pick(&[1_000, 50_000]), min, max: min + us(dice, 400_000) }
    });
    Jitter { spread, outliers }
}
