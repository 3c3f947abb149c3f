//! A substation on one Ethernet (requirement R167; catalogue, section 1, S1 to S5).
//!
//! Each bay has a switch with its process interfaces (PISAs) and three bay nodes; the bay switches,
//! the Busbar unit and the file server attach to a top-level switch.

use rtether_model::flow::{Bulk, Flow, Traffic, Transfer};
use rtether_model::network::{EndStation, Link, NodeId, NodeKind, PortId};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::wire::Encapsulation;

use crate::diagnostic::Span;
use crate::lower::{self, Plant};
use crate::plan::RunPlan;
use crate::reader::Reader;

mod parameters;

use parameters::Contract;
pub(super) use parameters::{Parameters, parameters};

/// The bay nodes: name, and the description used in classes.
const BAY_NODES: [(&str, &str); 3] =
    [("bc", "bay controller"), ("pu", "protection unit"), ("du", "differential protection unit")];

/// Ports left free at every switch, for nodes added by hand.
const SPARE_PORTS: usize = 4;

/// Returns the name of a bay: `bay01`.
fn bay_name(bay: u64) -> String {
    format!("bay{bay:02}")
}

impl Parameters {
    /// Returns the PISAs of a bay: name and kind.
    fn pisas_of(&self, bay: u64) -> impl Iterator<Item = (String, &'static str)> + '_ {
        self.pisas.iter().flat_map(move |&(kind, count)| {
            (1..=count).map(move |n| (format!("{}.{kind}{n}", bay_name(bay)), kind))
        })
    }

    fn bay_nodes_of(bay: u64) -> [(String, &'static str); 3] {
        BAY_NODES.map(|(short, long)| (format!("{}.{short}", bay_name(bay)), long))
    }
}

/// Adds nodes and links to the plant.
pub(super) fn nodes(reader: &mut Reader<'_>, plant: &mut Plant, p: &Parameters, span: Span) {
    let mut build = Build { reader, plant, p, span };
    let bays = usize::try_from(p.bays).unwrap_or(0);
    let Some(top) = build.switch("top", bays + 2) else {
        return;
    };
    build.attach("busbar", &p.stations.busbar, top, 0);
    // Without files the server has no traffic.
    if p.files.is_some() {
        build.attach("server", &p.stations.server, top, 1);
    }
    for bay in 1..=p.bays {
        let pisas: Vec<String> = p.pisas_of(bay).map(|(name, _)| name).collect();
        let name = format!("{}.switch", bay_name(bay));
        let Some(switch) = build.switch(&name, pisas.len() + 4) else {
            return;
        };
        let own = pisas.iter().map(|name| (name.as_str(), &p.stations.pisa));
        let bay_nodes = Parameters::bay_nodes_of(bay);
        let others = bay_nodes.iter().map(|(name, _)| (name.as_str(), &p.stations.bay));
        for (port, (name, station)) in (1u16..).zip(own.chain(others)) {
            if build.attach(name, station, switch, port).is_none() {
                return;
            }
        }
        let uplink = PortId::first(switch);
        let port = u16::try_from(bay + 1).unwrap_or(u16::MAX);
        build.link(uplink, PortId { node: top, port });
    }
}

struct Build<'b, 's> {
    reader: &'b mut Reader<'s>,
    plant: &'b mut Plant,
    p: &'b Parameters,
    span: Span,
}

impl Build<'_, '_> {
    fn switch(&mut self, name: &str, ports: usize) -> Option<NodeId> {
        let switch = lower::plain_switch(ports + SPARE_PORTS, self.p.switch_latency);
        let kind = NodeKind::Switch(switch);
        self.plant.add_node(self.reader, name, self.span, kind)
    }

    fn attach(&mut self, name: &str, station: &EndStation, to: NodeId, port: u16) -> Option<()> {
        let kind = NodeKind::EndStation(station.clone());
        let node = self.plant.add_node(self.reader, name, self.span, kind)?;
        self.link(PortId::first(node), PortId { node: to, port });
        Some(())
    }

    fn link(&mut self, a: PortId, b: PortId) {
        let link = Link::new([a, b], self.p.link_rate);
        self.plant.add_link(link, self.span);
    }

    /// Adds a stream of single packets.
    fn stream(&mut self, stream: Contract, class: &str, from: &str, to: &str) {
        let traffic = Traffic::periodic(stream.period, self.p.phase);
        let name = format!("{from} > {to}");
        let payload = stream.payload;
        self.flow((name, class, from, to), Encapsulation::Udp, payload, traffic);
        if let Some(flow) = self.plant.flows.last_mut() {
            flow.deadline = stream.deadline;
        }
    }

    /// Adds a file transfer if it begins within the run.
    fn file(
        &mut self,
        class: &str,
        from: &str,
        to: &str,
        at: Duration,
        size: Bytes,
        end: Duration,
    ) {
        let Some(files) = self.p.files.as_ref().filter(|_| at < end && size > Bytes::ZERO) else {
            return;
        };
        let tcp = files.tcp;
        let traffic = Traffic::Bulk(Bulk {
            bursts: None,
            transfers: vec![Transfer { start: at, size: Some(size) }],
            rate: None,
            tcp,
        });
        let name = format!("file {from} > {to}");
        self.flow((name, class, from, to), Encapsulation::Tcp, tcp.segment, traffic);
    }

    fn flow(
        &mut self,
        (name, class, from, to): (String, &str, &str, &str),
        encapsulation: Encapsulation,
        payload: Bytes,
        traffic: Traffic,
    ) {
        let (Some(talker), Some(listener)) = (self.plant.find(from), self.plant.find(to)) else {
            return;
        };
        let start = match &traffic {
            Traffic::Bulk(bulk) => bulk.transfers[0].start,
            Traffic::Periodic { .. }
            | Traffic::Sporadic { .. }
            | Traffic::Poisson { .. }
            | Traffic::Adaptive { .. }
            | Traffic::Flood { .. } => Duration::ZERO,
        };
        let flow = Flow {
            class: class.to_owned(),
            encapsulation,
            start,
            ..Flow::new(name, talker, vec![listener], payload, traffic)
        };
        self.plant.add_flow(self.reader, flow, self.span);
    }
}

/// Adds flows to the plant.
pub(super) fn flows(
    reader: &mut Reader<'_>,
    plant: &mut Plant,
    p: &Parameters,
    span: Span,
    run: &RunPlan,
) {
    let mut build = Build { reader, plant, p, span };
    for bay in 1..=p.bays {
        streams(&mut build, bay);
    }
    let end = run.duration;
    let Some(files) = &p.files else { return };
    let mut number = 0i64;
    for bay in 1..=p.bays {
        for (pisa, _) in p.pisas_of(bay) {
            number += 1;
            // Past the end of the run, and so before the product below could overflow.
            if number > end.as_ps() / files.every.as_ps().max(1) {
                break;
            }
            let at = files.every * number;
            build.file("file to pisa", "server", &pisa, at, files.size, end);
        }
        for (node, _) in Parameters::bay_nodes_of(bay) {
            build.file("file to bay node", "server", &node, files.bay_at, files.size, end);
        }
    }
    let uploader = format!("{}.ct2", bay_name(1));
    build.file("file from pisa", &uploader, "server", files.upload_at, files.upload, end);
}

/// Adds the streams of one bay.
fn streams(build: &mut Build<'_, '_>, bay: u64) {
    let p = build.p;
    let bay_nodes = Parameters::bay_nodes_of(bay);
    for (pisa, kind) in p.pisas_of(bay) {
        if kind == "ct" {
            for (node, long) in &bay_nodes {
                build.stream(p.samples, &format!("ct-vt to {long}"), &pisa, node);
            }
            build.stream(p.samples, "ct-vt to busbar", &pisa, "busbar");
        }
        if kind == "cb" {
            for (node, long) in &bay_nodes {
                let class = format!("{long} to circuit breaker");
                build.stream(p.commands, &class, node, &pisa);
            }
            build.stream(p.commands, "busbar to circuit breaker", "busbar", &pisa);
        }
    }
    for (pisa, _) in p.pisas_of(bay) {
        for (node, _) in &bay_nodes {
            exchange(build, &pisa, node);
            exchange(build, node, &pisa);
        }
    }
}

/// Adds one direction of the slow exchange; the name marks it, as a faster stream may exist in
/// parallel.
fn exchange(build: &mut Build<'_, '_>, from: &str, to: &str) {
    let stream = build.p.exchange;
    let traffic = Traffic::periodic(stream.period, build.p.phase);
    let name = format!("exchange {from} > {to}");
    let flow = (name, "exchange", from, to);
    build.flow(flow, Encapsulation::Udp, stream.payload, traffic);
}
