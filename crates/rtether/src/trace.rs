//! Per-packet output: a pcapng capture, and a CSV of deliveries.
//!
//! Both observe one replication and write as it runs. The first write error stops the output and is
//! returned by `finish`.

use std::collections::BTreeMap;
use std::io::{self, Write};

use rtether_model::access::{Access, Domain};
use rtether_model::flow::{Flow, Ports, Traffic};
use rtether_model::network::{LinkId, Network, NodeId, PortId};
use rtether_model::quantity::{Bytes, Instant};
use rtether_model::record::Segment;
use rtether_model::route::Routing;
use rtether_model::wire::Encapsulation;
use rtether_proto::access::Control;
use rtether_report::text::exact_ns;
use rtether_sim::observe::{Datagram, Delivery, Observer, PacketInfo};
use rtether_sim::tcp;
use rtether_sim::trace::{self, Capture, Destination, FrameDescription, InterfaceId};

use crate::scenario::Scenario;
use crate::sheet::Sheet;

/// Writes every transmitted frame to a pcapng file, one interface for each sending port.
pub struct CaptureLog<'a, W> {
    scenario: &'a Scenario,
    capture: Capture,
    /// Interfaces by node and port.
    interfaces: Vec<Vec<Option<InterfaceId>>>,
    /// Access scheme of the medium at each port that has one.
    schemes: BTreeMap<PortId, &'a Access>,
    frame: Vec<u8>,
    block: Vec<u8>,
    /// RTPS payload of the next frame; empty for other protocols.
    datagram: Vec<u8>,
    ports: [u16; 2],
    dscp: u8,
    writer: W,
    error: Option<io::Error>,
}

impl<'a, W: Write> CaptureLog<'a, W> {
    /// Starts a capture on all ports with a link in use.
    pub fn new(scenario: &'a Scenario, writer: W) -> Self {
        let network = &scenario.network;
        let mut block = Vec::new();
        let mut capture = Capture::begin(&mut block);
        let routing = Routing::new(network);
        let mut interfaces = Vec::new();
        for (id, node) in network.iter_nodes() {
            let mut ports = Vec::new();
            for hop in routing.hops_from(network, id) {
                let port = usize::from(hop.egress.port);
                let name = match network.end_station(id) {
                    Some(_) => node.name.clone(),
                    // Ports are counted from one in scenario files.
                    None => format!("{}:{}", node.name, port + 1),
                };
                let LinkId(link) = hop.link;
                let rate = network.links[link as usize].rate;
                ports.resize(port, None);
                ports.push(Some(capture.add_interface(&mut block, &name, rate)));
            }
            interfaces.push(ports);
        }
        let mut log = Self {
            scenario,
            capture,
            interfaces,
            schemes: schemes(network),
            frame: Vec::new(),
            block,
            datagram: Vec::new(),
            ports: [0; 2],
            dscp: 0,
            writer,
            error: None,
        };
        log.write_block();
        log
    }

    /// Ends the capture.
    pub fn finish(mut self) -> io::Result<()> {
        match self.error.take() {
            Some(error) => Err(error),
            None => self.writer.flush(),
        }
    }

    fn interface(&self, port: PortId) -> Option<InterfaceId> {
        let ports = &self.interfaces[port.node.index()];
        ports.get(usize::from(port.port)).copied().flatten()
    }

    /// Writes the frame, with what a station in two networks has appended.
    fn end(&mut self, interface: InterfaceId, now: Instant, packet: &PacketInfo) {
        if let Some(trailer) = &packet.trailer {
            trace::append_trailer(trailer, packet.tag.is_some(), 0, &mut self.frame);
        }
        self.capture.add_frame(&mut self.block, interface, now, &self.frame);
        self.write_block();
    }

    fn write_block(&mut self) {
        if self.error.is_none() {
            self.error = self.writer.write_all(&self.block).err();
        }
        self.block.clear();
    }
}

impl<W: Write> Observer for CaptureLog<'_, W> {
    fn carries(&mut self, datagram: &Datagram<'_>) {
        self.datagram.clear();
        self.datagram.extend(datagram.octets);
        (self.ports, self.dscp) = (datagram.ports, datagram.dscp);
    }

    fn controlled(&mut self, now: Instant, port: PortId, control: &Control) {
        self.frame.clear();
        let access = self.schemes.get(&port).copied();
        let Some((access, interface)) = access.zip(self.interface(port)) else {
            return;
        };
        if trace::append_control(access, port.node, (now, control), &mut self.frame) {
            self.capture.add_frame(&mut self.block, interface, now, &self.frame);
            self.write_block();
        }
    }

    fn transmitted(&mut self, now: Instant, port: PortId, packet: &PacketInfo) {
        let Some(interface) = self.interface(port) else {
            return;
        };
        self.frame.clear();
        let Some(flow) = self.scenario.flows.get(packet.flow.index()) else {
            let description = describe_control(packet);
            if packet.arp.is_some() {
                description.append_to(&mut self.frame);
            } else {
                description.append_raw_to(&self.datagram, &mut self.frame);
            }
            self.end(interface, now, packet);
            return;
        };
        let description = describe(flow, packet);
        if flow.is_published() {
            let description =
                FrameDescription { dscp: packet.dscp.unwrap_or(self.dscp), ..description };
            description.append_rtps_to(self.ports, &self.datagram, &mut self.frame);
        } else if let Some(fragment) = packet.fragment {
            let description = FrameDescription { identification: apart(packet), ..description };
            description.append_fragment_to(fragment.number, &mut self.frame);
        } else {
            description.append_to(&mut self.frame);
        }
        self.end(interface, now, packet);
    }
}

/// Returns the access scheme of the medium at each port that has one; a switch between two hubs may
/// have several.
fn schemes(network: &Network) -> BTreeMap<PortId, &Access> {
    let mut found = BTreeMap::new();
    for access in &network.access {
        let domain = Domain::of(network, access.hub);
        let hubs = domain.map(|domain| domain.hubs).unwrap_or_default();
        for link in &network.links {
            let is_here = |end: &&PortId| {
                let peer = link.peer_of(**end);
                peer.is_some_and(|peer| hubs.contains(&peer.node))
            };
            found.extend(link.ends.iter().filter(is_here).map(|&end| (end, access)));
        }
    }
    found
}

/// Describes a message of ARP or about a channel, which belongs to no flow of the scenario.
fn describe_control(packet: &PacketInfo) -> FrameDescription {
    let to = packet.destination;
    FrameDescription {
        source: packet.source.0,
        destination: to.map_or(Destination::Broadcast, |to| Destination::Station(to.0)),
        tag: packet.tag.map(|(pcp, vid)| trace::Tag { pcp, vid }),
        encapsulation: if packet.arp.is_some() { Encapsulation::Arp } else { Encapsulation::Raw },
        payload: Bytes::ZERO,
        dscp: 0,
        flow: packet.arp.map_or(0, |about| about.0),
        ports: Ports::UNSET,
        reply: packet.is_reverse,
        identification: 0,
        tcp: None,
    }
}

fn describe(flow: &Flow, packet: &PacketInfo) -> FrameDescription {
    let payload = match (packet.tcp, flow.reply) {
        (Some(segment), _) => segment.payload_size(),
        (None, Some(reply)) if packet.is_reverse => reply.payload,
        (None, _) => flow.payload,
    };
    FrameDescription {
        source: packet.source.0,
        destination: match packet.destination {
            Some(NodeId(node)) => Destination::Station(node),
            None => Destination::Group(packet.flow.0),
        },
        tag: packet.tag.map(|(pcp, vid)| trace::Tag { pcp, vid }),
        encapsulation: if packet.tcp.is_some() { Encapsulation::Tcp } else { flow.encapsulation },
        payload,
        dscp: packet.dscp.unwrap_or(flow.dscp),
        flow: packet.flow.0,
        ports: flow.ports,
        reply: packet.is_reverse,
        // Sixteen bits on the wire, so the count wraps as in a real station.
        identification: u16::try_from(packet.number & 0xffff).unwrap_or(0),
        tcp: packet.tcp.map(|segment| numbered(flow, packet, segment)),
    }
}

/// Returns the IPv4 identification of a fragmented datagram. Flows between the same stations need
/// different ones at any time, since nothing else tells their fragments apart.
fn apart(packet: &PacketInfo) -> u16 {
    let spread = packet.flow.0.wrapping_mul(IDENTIFICATION_STEP);
    u16::try_from(packet.number.wrapping_add(spread) & 0xffff).unwrap_or(0)
}

/// Step between the identifications of two flows: 2^16 divided by the golden ratio, which spreads
/// them.
const IDENTIFICATION_STEP: u32 = 40_503;

/// Adds the connection's initial sequence number to a segment, in both directions.
///
/// Connections of a bulk flow reuse the same ports one after another. If each restarted its
/// sequence numbers, analysis tools would take the second for a retransmission of the first.
fn numbered(flow: &Flow, packet: &PacketInfo, segment: tcp::Segment) -> tcp::Segment {
    if !matches!(flow.traffic, Traffic::Bulk(_)) {
        return segment;
    }
    let initial = u64::from(packet.number) * INITIAL_SEQUENCE_STEP;
    tcp::Segment {
        seq: segment.seq + initial,
        ack: if segment.flags.ack { segment.ack + initial } else { segment.ack },
        ..segment
    }
}

/// Step between the initial sequence numbers of two connections, in octets: what the clock of RFC
/// 9293, 3.4.1 counts in 1000 s, made odd so that none repeats within 2^32 connections.
const INITIAL_SEQUENCE_STEP: u64 = 250_000_001;

/// Writes one CSV row per delivered packet: its release and where its time went.
pub struct PacketLog<'a, W: Write> {
    scenario: &'a Scenario,
    /// Listener of each stream.
    listeners: Vec<NodeId>,
    writer: Sheet<W>,
    error: Option<csv::Error>,
}

impl<'a, W: Write> PacketLog<'a, W> {
    /// Writes the header.
    pub fn new(scenario: &'a Scenario, writer: W) -> Self {
        let mut writer = Sheet::from_writer(writer);
        let mut header: Vec<String> =
            ["flow", "listener", "number", "released_ns", "latency_ns", "ethernet_ns"]
                .map(String::from)
                .to_vec();
        let names = Segment::ALL.map(|segment| segment.name().replace(' ', "_") + "_ns");
        header.extend(names);
        let error = writer.write_record(&header).err();
        let listeners = scenario.flows.iter().flat_map(|flow| flow.listeners.clone()).collect();
        Self { scenario, listeners, writer, error }
    }

    /// Flushes the file and returns the first error.
    pub fn finish(mut self) -> io::Result<()> {
        match self.error.take() {
            Some(error) => Err(error.into()),
            None => self.writer.flush(),
        }
    }
}

impl<W: Write> Observer for PacketLog<'_, W> {
    fn delivered(&mut self, _now: Instant, packet: &PacketInfo, delivery: &Delivery) {
        if self.error.is_some() || !delivery.is_counted {
            return;
        }
        let flow = &self.scenario.flows[packet.flow.index()];
        let listener = self.listeners[delivery.stream];
        let mut line = vec![
            flow.name.clone(),
            self.scenario.network.node(listener).name.clone(),
            packet.number.to_string(),
            exact_ns(packet.released_at.as_ps()),
            exact_ns(delivery.latency.as_ps()),
            exact_ns(delivery.ethernet.as_ps()),
        ];
        line.extend(delivery.segments.iter().map(|spent| exact_ns(spent.as_ps())));
        self.error = self.writer.write_record(&line).err();
    }
}
