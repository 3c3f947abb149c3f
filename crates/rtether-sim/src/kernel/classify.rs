//! How the layer sees a packet: kind, class, size.

use core::net::{IpAddr, Ipv4Addr};

use rtether_model::network::{NodeId, Pcp, Vid};
use rtether_model::quantity::Bytes;
use rtether_model::smoother::Rule;
use rtether_model::wire::{self, Encapsulation};
use rtether_proto::endnode::{FlowFrame, FrameKey, Tag};
use rtether_proto::mechanism::ingress::Arrival;
use rtether_proto::smoother;

use super::Simulation;
use crate::flow::Carrier;
use crate::kind::Kind;
use crate::packet::{GROUP, REVERSE, TAGGED};
use crate::trace::frame;
use crate::visitor::Visitor;

fn address(first: u8, number: u32) -> IpAddr {
    Ipv4Addr::from(frame::ipv4(first, number)).into()
}

impl Simulation {
    /// Returns the kind of a packet.
    pub(super) fn packet_kind(&self, id: u32) -> Kind {
        if let Some(visitor) = self.visitor(id) {
            return visitor.headers.content.into();
        }
        let flow = &self.flows[self.pool.get(id).flow as usize];
        let with_data = match flow.carrier() {
            Carrier::Packets | Carrier::Fragments(_) | Carrier::Admission => return Kind::Message,
            Carrier::Bulk(_) => Kind::Data,
            Carrier::Conversation(_) => Kind::MessageSegment,
            Carrier::Publication(_) => {
                let message = self.pool.message(id);
                let is_sample = message.is_some_and(|message| message.is_sample);
                return if is_sample { Kind::Message } else { Kind::Middleware };
            }
        };
        match self.pool.segment(id) {
            Some(segment) if segment.len > 0 => with_data,
            _ => Kind::Control,
        }
    }

    /// Returns the class of a packet in the station's layer.
    pub(super) fn class_of(&self, index: u32, id: u32) -> u8 {
        let layer = self.stations[index as usize].layer();
        let layer = layer.map(|layer| &self.layers[layer as usize]);
        layer.map_or(0, |layer| layer.classify(&self.frame_key(id)))
    }

    /// Returns the header fields of a packet, as captures show them ([`frame`]).
    pub(super) fn frame_key(&self, id: u32) -> FrameKey {
        let key = self.sent_key(id);
        let given = self.pool.get(id).given_dscp().map(|dscp| dscp << 2);
        FrameKey { tos: key.tos.map(|own| given.unwrap_or(own)), ..key }
    }

    /// Returns the header fields as its sender has written them, but with the tag it has now.
    fn sent_key(&self, id: u32) -> FrameKey {
        let packet = self.pool.get(id);
        let tag = packet.has(TAGGED).then(|| {
            let pcp = Pcp::new(packet.pcp).unwrap_or_default();
            Tag::new(pcp, Vid::new(packet.vid).unwrap_or(Vid::PRIORITY_ONLY))
        });
        if let Some(Visitor { headers, .. }) = self.visitor(id) {
            return FrameKey {
                tag,
                ethertype: headers.ethertype,
                tos: headers.tos,
                protocol: headers.protocol,
                ..FrameKey::default()
            };
        }
        let flow = &self.flow_list[packet.flow as usize];
        let number = |station: u32| self.stations[station as usize].node().0;
        if let Some(message) = self.message(id) {
            return FrameKey {
                tag,
                ethertype: Some(flow.encapsulation.ethertype()),
                tos: Some(message.dscp << 2),
                protocol: flow.encapsulation.protocol(),
                source: Some(address(10, number(packet.source))),
                destination: Some(if packet.destination & GROUP == 0 {
                    address(10, number(packet.destination))
                } else {
                    rtether_rtps::locator::DISCOVERY_GROUP.into()
                }),
                source_port: Some(frame::RTPS_PORT),
                destination_port: Some(message.port),
            };
        }
        let frame = FlowFrame {
            flow,
            number: packet.flow,
            from: NodeId(number(packet.source)),
            to: (packet.destination & GROUP == 0).then(|| NodeId(number(packet.destination))),
            is_answer: packet.has(REVERSE),
        };
        let key = FrameKey { tag, ..frame.key() };
        if packet.fragment == 0 {
            return key;
        }
        // Only the first fragment has a UDP header.
        FrameKey { source_port: None, destination_port: None, ..key }
    }

    /// Returns a packet as the rules of a switch port see it.
    pub(super) fn arrival(&self, id: u32) -> Arrival {
        let packet = self.pool.get(id);
        let node = |station: u32| self.stations[station as usize].node();
        Arrival {
            from: node(packet.source),
            to: (packet.destination & GROUP == 0).then(|| node(packet.destination)),
            pcp: Pcp::new(packet.pcp).unwrap_or_default(),
            key: self.frame_key(id),
            size: Bytes::new(packet.frame_size().unsigned_abs()),
        }
    }

    /// Returns the octets a smoother charges for a packet, and its class there; `None` if it is not
    /// IP.
    pub(super) fn datagram(&self, id: u32, rule: Rule) -> Option<(Bytes, smoother::Class)> {
        if let Some(Visitor { headers, .. }) = self.visitor(id) {
            let class = smoother::classify(rule, headers.tos?, headers.protocol?);
            return Some((headers.datagram?, class));
        }
        let packet = self.pool.get(id);
        let flow = &self.flow_list[packet.flow as usize];
        let protocol = flow.encapsulation.protocol()?;
        let message = self.message(id);
        let dscp = message.map_or(flow.dscp, |message| message.dscp);
        let class = smoother::classify(rule, dscp << 2, protocol);
        let frame = Bytes::new(u64::from(packet.size));
        let whole = frame - wire::HEADER - wire::FCS;
        if frame > wire::MIN_FRAME {
            return Some((whole, class));
        }
        // Padding does not belong to the datagram.
        if let Some(message) = message {
            let octets = u64::try_from(message.octets.len()).unwrap_or(u64::MAX);
            let headers = Encapsulation::Udp.header_size();
            return Some((whole.min(headers + Bytes::new(octets)), class));
        }
        if let Some(position) = self.flows[packet.flow as usize].fragmented() {
            let octets = self.fragmented[position as usize].octets(packet, flow);
            return Some((whole.min(octets), class));
        }
        let payload = match (&flow.reply, self.packet_kind(id)) {
            (_, Kind::MessageSegment | Kind::Data | Kind::Control) => {
                let segment = self.pool.segment(id);
                segment.map_or(Bytes::ZERO, crate::tcp::Segment::payload_size)
            }
            (Some(reply), Kind::Message) if packet.has(REVERSE) => reply.payload,
            (_, Kind::Message | Kind::Middleware) => flow.payload,
        };
        Some((whole.min(flow.encapsulation.header_size() + payload), class))
    }
}
