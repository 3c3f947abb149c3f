//! Where in the network a participant is, and what it uses there.

use std::net::Ipv4Addr;
use std::str::FromStr;

use rtether_live::confine::Confinement;
use rtether_live::link::{MacAddress, ParseMacError};
use rtether_live::rtps::EthernetOptions;
use rtether_rtps::engine::{Discovery, Protocol};

use super::trace::Trace;

/// Where in the network a participant is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParticipantOptions {
    /// The domain.
    pub domain: u16,
    /// The version of the protocol.
    pub protocol: Protocol,
    /// Address of the network it uses; `None` for the first that is not loopback.
    pub interface: Option<Ipv4Addr>,
    /// Peers that multicast does not reach.
    pub peers: Vec<Peer>,
    /// Whether it announces itself to the multicast group of the domain.
    pub multicast: bool,
    /// Frames on a device instead of UDP.
    pub ethernet: Option<EthernetOptions>,
    /// Whether to accept data for a participant from any source address.
    pub any_source: bool,
    /// Whether it asks others for descriptions of types, and answers them.
    pub type_lookup: bool,
    /// How it discovers the endpoints of others; RTPS 1.0 has no discovery on demand.
    pub discovery: Discovery,
    /// File for everything it sends and receives.
    pub trace: Option<Trace>,
    /// What to give up once its sockets are open; `None` for nothing.
    pub confinement: Option<Confinement>,
}

/// A peer that multicast does not reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A host, over UDP.
    Host(Ipv4Addr),
    /// A station on the link of the device, by frames.
    Station(MacAddress),
}

impl FromStr for Peer {
    type Err = ParseMacError;

    fn from_str(text: &str) -> Result<Self, ParseMacError> {
        let host = text.parse().map(Self::Host);
        host.or_else(|_| text.parse().map(Self::Station))
    }
}

impl Default for ParticipantOptions {
    fn default() -> Self {
        Self {
            domain: 0,
            protocol: Protocol::default(),
            interface: None,
            peers: Vec::new(),
            multicast: true,
            ethernet: None,
            any_source: false,
            type_lookup: false,
            discovery: Discovery::default(),
            trace: None,
            confinement: None,
        }
    }
}
