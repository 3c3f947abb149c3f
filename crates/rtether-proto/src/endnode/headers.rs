//! What the headers of a flow's frames say to rules ([`FrameKey`]).
//!
//! Simulated frames show station `n` as 10.x.y.z with the lower 24 bits of `n`, and the group of flow
//! `f` as 239.x.y.z with those of `f` (RFC 1112, 6.4, for their Ethernet addresses).

use core::net::{IpAddr, Ipv4Addr};

use rtether_model::flow::Flow;
use rtether_model::network::NodeId;
use rtether_model::wire::Encapsulation;

use super::FrameKey;

/// A frame of a flow, in one of its directions.
#[derive(Clone, Copy, Debug)]
pub struct FlowFrame<'a> {
    /// The flow.
    pub flow: &'a Flow,
    /// Its number.
    pub number: u32,
    /// Station that sends.
    pub from: NodeId,
    /// Station that receives; `None` for the group of the flow.
    pub to: Option<NodeId>,
    /// Whether it goes from a listener to the talker.
    pub is_answer: bool,
}

impl FlowFrame<'_> {
    /// Returns its header fields: without tag, and of a fragmented datagram those of the first
    /// fragment. Participants of RTPS choose group and ports themselves.
    pub fn key(&self) -> FrameKey {
        let over = self.flow.encapsulation;
        let key = FrameKey { ethertype: Some(over.ethertype()), ..FrameKey::default() };
        let Some(protocol) = over.protocol() else {
            return key;
        };
        let ports = self.flow.ports.of_frames(self.number, self.is_answer);
        let has_ports = over != Encapsulation::Icmp;
        let [source_port, destination_port] = ports.map(|port| has_ports.then_some(port));
        let group = || address(239, self.number);
        FrameKey {
            tos: Some(self.flow.dscp << 2),
            protocol: Some(protocol),
            source: Some(address(10, self.from.0)),
            destination: Some(self.to.map_or_else(group, |to| address(10, to.0))),
            source_port,
            destination_port,
            ..key
        }
    }
}

/// Returns the address of a station (`first` is 10) or group (239).
fn address(first: u8, number: u32) -> IpAddr {
    let [_, b, c, d] = number.to_be_bytes();
    Ipv4Addr::new(first, b, c, d).into()
}
