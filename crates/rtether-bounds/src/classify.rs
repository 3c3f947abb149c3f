//! Class of a frame in the layer of an end station, and its level in the smoother.
//!
//! Written from `docs/models/end-node-layer.md` and `smoother.md`: a tagged frame goes by its
//! priority, an untagged one by the first header rule that matches, else by the entry for untagged
//! frames. A rule matches a frame that has every field it names. Header fields are as captures show
//! them: station `n` has the address 10.x.y.z with the lower 24 bits of `n`, the group of flow `f`
//! 239.x.y.z with those of `f`; ports are those that the flow sets, or follow from its number.

use core::net::{IpAddr, Ipv4Addr};

use rtether_model::endnode::{HeaderMatch, Layer};
use rtether_model::flow::Flow;
use rtether_model::network::{NodeId, Pcp};
use rtether_model::smoother;

use crate::frame::Frame;

const ICMP: u8 = 1;
/// Port of the first participant of a host, and of discovery to the group 239.255.0.1 (DDSI-RTPS
/// 2.5, 9.6.2).
const RTPS_PORT: u16 = 7_410;
const RTPS_GROUP_PORT: u16 = 7_400;
const RTPS_GROUP: u32 = 0x00FF_0001;

/// One direction of a flow, as its headers show it.
#[derive(Clone, Copy)]
pub(crate) struct Way<'a> {
    pub(crate) flow: &'a Flow,
    /// Number of the flow.
    pub(crate) number: u32,
    /// Sender: the talker, or a listener that answers.
    pub(crate) from: NodeId,
    /// Receiver; `None` for a group.
    pub(crate) to: Option<NodeId>,
    pub(crate) is_answer: bool,
}

/// How a smoother treats a packet; a larger value goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// Waits for credits.
    Bulk = 0,
    /// Goes first.
    RealTime = 1,
    /// Not IP: bypasses the smoother.
    Bypass = 2,
}

impl Way<'_> {
    /// Returns the class of a frame; a class without a queue counts as the highest of the layer.
    pub(crate) fn class(&self, layer: &Layer, frame: &Frame) -> u8 {
        if frame.is_tagged {
            return layer.table.class_of(Some(Pcp::new(frame.pcp & 7).unwrap_or_default()));
        }
        let is_overlooked = layer.icmp_unclassified && self.is_icmp();
        let rules = layer.rules.iter().filter(|_| !is_overlooked);
        let mut fitting = rules.filter(|rule| self.fits(&rule.headers, frame));
        let class = fitting.next().map(|rule| rule.class);
        class.unwrap_or_else(|| layer.table.class_of(None))
    }

    /// Returns whether all fragments of a datagram have the same class, although only the first has
    /// ports.
    pub(crate) fn has_one_class(&self, layer: &Layer, frame: &Frame) -> bool {
        let mut blind = layer.clone();
        blind.rules.retain(|rule| !rule.headers.names_port());
        self.class(layer, frame) == self.class(&blind, frame)
    }

    /// Returns the level of the packets in a smoother.
    pub(crate) fn level(&self, rule: smoother::Rule) -> Level {
        let Some(protocol) = self.protocol() else {
            return Level::Bypass;
        };
        let is_real_time = match rule {
            smoother::Rule::TypeOfService { mask, values } => {
                values.contains(&(tos(self.flow.dscp) & mask))
            }
            smoother::Rule::Protocol(real_time) => protocol == real_time,
        };
        if is_real_time { Level::RealTime } else { Level::Bulk }
    }

    const fn protocol(&self) -> Option<u8> {
        self.flow.encapsulation.protocol()
    }

    /// Returns whether it is a flow of ICMP, which some devices do not classify.
    pub(crate) fn is_icmp(&self) -> bool {
        self.protocol() == Some(ICMP)
    }

    /// Returns whether a frame meets all conditions; a fragment counts as the first one.
    pub(crate) fn fits(&self, wanted: &HeaderMatch, frame: &Frame) -> bool {
        let protocol = self.protocol();
        // Header fields of the frame; `None` where it lacks the field.
        let tos = protocol.map(|_| tos(frame.remarked.unwrap_or(self.flow.dscp)));
        let source = protocol.map(|_| address(10, self.from.0));
        let destination = protocol.map(|_| match self.to {
            Some(station) => address(10, station.0),
            None if self.flow.is_published() => address(239, RTPS_GROUP),
            None => address(239, self.number),
        });
        let ports = protocol.filter(|&own| own != ICMP).map(|_| self.ports());
        wanted.ethertype.is_none_or(|want| want == self.flow.encapsulation.ethertype())
            && wanted.protocol.is_none_or(|want| protocol == Some(want))
            && wanted.tos.is_none_or(|want| tos.is_some_and(|own| want.contains(own)))
            && wanted.source.is_none_or(|want| source.is_some_and(|own| want.contains(own)))
            && (wanted.destination)
                .is_none_or(|want| destination.is_some_and(|own| want.contains(own)))
            && (wanted.source_port)
                .is_none_or(|want| ports.is_some_and(|own| want.contains(own[0])))
            && (wanted.destination_port)
                .is_none_or(|want| ports.is_some_and(|own| want.contains(own[1])))
    }

    fn ports(&self) -> [u16; 2] {
        if self.flow.is_published() {
            return [RTPS_PORT, if self.to.is_some() { RTPS_PORT } else { RTPS_GROUP_PORT }];
        }
        self.flow.ports.of_frames(self.number, self.is_answer)
    }
}

/// Returns the type-of-service octet of a code point.
const fn tos(dscp: u8) -> u8 {
    dscp << 2
}

fn address(first: u8, number: u32) -> IpAddr {
    let [_, b, c, d] = number.to_be_bytes();
    Ipv4Addr::new(first, b, c, d).into()
}
