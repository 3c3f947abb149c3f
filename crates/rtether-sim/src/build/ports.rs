//! Ports and the links behind them.

use alloc::vec::Vec;

use rtether_model::endnode::TransmitStrategy;
use rtether_model::network::{
    EndStation, ForwardingMode, LinkId, Network, NodeKind, PortId, QueueMap, Selection, Stack,
};
use rtether_model::quantity::Bytes;
use rtether_model::route::Routing;

use super::Numbers;
use crate::kernel::{BuildError, Config};
use crate::packet::{Fifo, NONE};
use crate::port::{Port, PortRest};
use crate::queues::EgressQueues;
use crate::random::{Draw, Purpose};

/// All ports in node order, split into three parts.
#[derive(Default)]
pub(super) struct Ports {
    pub(super) hot: Vec<Port>,
    pub(super) rests: Vec<PortRest>,
    pub(super) queues: Vec<EgressQueues>,
}

pub(super) fn build_ports(
    network: &Network,
    routing: &Routing,
    numbers: &Numbers,
    config: &Config,
) -> Result<Ports, BuildError> {
    let mut all = Ports::default();
    for (node, definition) in network.iter_nodes() {
        let count = match &definition.kind {
            NodeKind::EndStation(_) => 1,
            NodeKind::Switch(switch) => switch.ports.len(),
            NodeKind::Hub(hub) => usize::from(hub.ports),
        };
        for port in (0u16..).take(count) {
            let id = PortId { node, port };
            let (mut built, mut rest, queues) = idle_port(id, &definition.kind, numbers);
            connect(&mut built, &mut rest, network, routing, numbers, config)?;
            all.hot.push(built);
            all.rests.push(rest);
            all.queues.push(queues);
        }
    }
    Ok(all)
}

fn idle_port(id: PortId, kind: &NodeKind, numbers: &Numbers) -> (Port, PortRest, EgressQueues) {
    let one = QueueMap::standard(1).unwrap_or_else(|| unreachable!("one queue is a legal map"));
    let (map, selection, limit) = match kind {
        NodeKind::EndStation(station) => {
            let (rings, selection) = rings(station);
            let map = QueueMap::standard(rings).unwrap_or(one);
            (map, selection, station.driver_queue)
        }
        NodeKind::Switch(switch) => (
            switch.queues,
            switch.selection_at(id.port),
            switch.buffer.per_port,
        ),
        NodeKind::Hub(_) => (one, Selection::Fcfs, Bytes::ZERO),
    };
    let queues = EgressQueues::new(map.count(), selection, limit);
    let port = Port {
        owner: numbers.owner[id.node.index()],
        peer: NONE,
        peer_owner: numbers.owner[id.node.index()],
        octet: 0,
        flight: 0,
        flight_per_octet: 0,
        latency: 0,
        free_at: 0,
        landed_at: 0,
        flying: Fifo::default(),
        arrival_slot: NONE,
        wake_slot: NONE,
        attachment: NONE,
        is_wake_set: false,
        is_asked_when_idle: queues.is_asked_when_idle(),
        has_one_queue: queues.count() == 1,
        is_cut_through: false,
        is_faulty: false,
        reports_completion: matches!(kind, NodeKind::EndStation(station) if reports(station)),
        offered: 0,
        sent: 0,
        sent_octets: 0,
    };
    let rest = PortRest {
        id,
        link: LinkId(NONE),
        map,
        errors_per_billion: 0,
        draw: Draw::new(0, "", Purpose::Errors),
        held: Fifo::default(),
        stored_slot: NONE,
        dropped: 0,
        corrupted: 0,
    };
    (port, rest, queues)
}

/// Returns the number of rings of a station's interface, and how it serves them.
fn rings(station: &EndStation) -> (u8, Selection) {
    let transmit = station.layer.as_ref().and_then(|l| l.transmit.as_ref());
    match transmit.map(|transmit| transmit.strategy) {
        Some(TransmitStrategy::Rings { count }) if count > 1 => (count, Selection::StrictPriority),
        _ => (1, Selection::Fcfs),
    }
}

/// Returns whether a layer above the port has to be told which frames the port has sent.
fn reports(station: &EndStation) -> bool {
    let layer = station.layer.as_ref();
    layer.is_some_and(|layer| layer.transmit.is_some() || layer.smoother.is_some())
}

/// Connects the link behind a port, if one is in use.
fn connect(
    port: &mut Port,
    rest: &mut PortRest,
    network: &Network,
    routing: &Routing,
    numbers: &Numbers,
    config: &Config,
) -> Result<(), BuildError> {
    let Some(hop) = routing
        .hops_from(network, rest.id.node)
        .find(|hop| hop.egress == rest.id)
    else {
        return Ok(());
    };
    let link = &network.links[hop.link.index()];
    let octet = link.rate.octet_time().ok_or(BuildError::Rate {
        link: hop.link.index(),
        rate: link.rate,
    })?;
    port.peer = numbers.port(hop.ingress);
    port.peer_owner = numbers.owner[hop.ingress.node.index()];
    rest.link = hop.link;
    port.octet = octet.as_ps();
    // On a shared medium, the medium accounts for the delay between stations.
    if !network.is_half_duplex(link) {
        port.flight = link.propagation.as_ps();
    }
    for end in [hop.egress, hop.ingress] {
        match &network.node(end.node).kind {
            NodeKind::EndStation(station) => {
                if let Stack::Linear(linear) = &station.stack {
                    port.flight += linear.interface.base.as_ps();
                    port.flight_per_octet += linear.interface.per_octet.as_ps();
                }
            }
            NodeKind::Switch(switch) if end == hop.ingress => {
                port.latency = switch.latency.as_ps();
                port.is_cut_through = switch.mode == ForwardingMode::CutThrough;
            }
            NodeKind::Switch(_) | NodeKind::Hub(_) => {}
        }
    }
    port.is_faulty = link.errors_per_billion > 0;
    rest.errors_per_billion = link.errors_per_billion;
    let name = alloc::format!("{} {}", network.node(rest.id.node).name, rest.id.port);
    rest.draw = Draw::new(config.seed, &name, Purpose::Errors);
    Ok(())
}
