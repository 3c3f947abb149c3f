//! What a participant is to be on this host, and why it is not.

use std::io;
use std::net::Ipv4Addr;

use rtether_rtps::locator::Ports;
use rtether_rtps::time::Duration;

use crate::link::{DeviceError, MacAddress};
use crate::wait::Waiting;

/// The `EtherType` of frames, unless another is given: the second of those that are kept free for
/// experiments (IEEE 802-2014, 9.2.4); the first is the meter's. None is assigned to RTPS (DDS-TSN 1.0,
/// annex A).
pub const ETHERTYPE: u16 = 0x88B6;

/// What a participant is to be on this host.
#[derive(Clone, Debug)]
pub struct DomainOptions {
    /// The domain, 0 to 232.
    pub domain: u16,
    /// A name for people.
    pub name: String,
    /// The address whose network it talks to, over whose device and no other it takes datagrams in, those
    /// of this host apart; the first device that is up and is not loopback, if not given, or else
    /// loopback, and then datagrams may come over any.
    pub interface: Option<Ipv4Addr>,
    /// Hosts that groups do not reach.
    pub peers: Vec<Ipv4Addr>,
    /// Whether it announces itself to the group of the domain and listens there.
    pub multicast: bool,
    /// Whether samples may go to a group, too.
    pub multicast_data: bool,
    /// How it waits. A spinning thread of real-time priority rests now and then, lest the kernel stop it:
    /// for 60 ms in all after 800 ms it sleeps until a datagram comes.
    pub waiting: Waiting,
    /// How long others wait for its next announcement.
    pub lease: Duration,
    /// So many of a thousand datagrams are lost on purpose, each way, to see what becomes of a plant.
    pub loss: u16,
    /// So many of a thousand datagrams that come are taken in behind the next one, for the same purpose.
    pub disorder: u16,
    /// Between announcements; a third of the lease, if not given.
    pub announce_period: Option<Duration>,
    /// Whether anybody may speak for a participant, from any address; otherwise only the addresses that it
    /// has announced. Behind a translation of addresses it takes this.
    pub any_source: bool,
    /// Octets of a datagram at most; samples that need more are sent in fragments. Frames have no more
    /// than their device takes.
    pub datagram_max: usize,
    /// Octets of samples of which fragments are missing, of all readers together.
    pub fragments_max: usize,
    /// Frames on a device instead of UDP.
    pub ethernet: Option<EthernetOptions>,
}

/// RTPS in Ethernet frames, without IP (DDS-TSN 1.0, annex A).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EthernetOptions {
    /// The name of the device; loopback is one, too.
    pub device: String,
    /// The `EtherType`.
    pub ethertype: u16,
    /// The VLAN of tags, 0 to 4094; 0 leaves it to the switch, and frames without a priority have no
    /// tag then. A device that is a VLAN itself makes the tags, and this has to be 0.
    pub vlan: u16,
    /// Stations that the group does not reach.
    pub peers: Vec<MacAddress>,
}

impl EthernetOptions {
    /// Returns the usual ones for a device.
    pub fn on(device: &str) -> Self {
        Self {
            device: device.to_owned(),
            ethertype: ETHERTYPE,
            vlan: 0,
            peers: Vec::new(),
        }
    }
}

impl Default for DomainOptions {
    fn default() -> Self {
        Self {
            domain: 0,
            name: "rtether".to_owned(),
            interface: None,
            peers: Vec::new(),
            multicast: true,
            multicast_data: false,
            waiting: Waiting::Block,
            lease: Duration::from_s(10),
            loss: 0,
            disorder: 0,
            announce_period: None,
            any_source: false,
            datagram_max: 1_472,
            fragments_max: 64 << 20,
            ethernet: None,
        }
    }
}

/// Why there is no participant.
#[derive(Debug, thiserror::Error)]
pub enum DomainError {
    /// There is no such domain.
    #[error("there is no domain {0}; the numbers of ports allow 0 to {max}", max = Ports::DOMAIN_MAX)]
    Domain(u16),
    /// Nobody could take part for no time at all.
    #[error(
        "the lease is zero or less: others would forget the participant as soon as they find it"
    )]
    Lease,
    /// No device has the address.
    #[error("no device of this host has the address {0}; `ip -brief address` shows those it has")]
    Interface(Ipv4Addr),
    /// All ports of the domain are taken.
    #[error("all {max} ports of participants in domain {domain} are taken on this host", max = Ports::PARTICIPANTS_MAX)]
    Ports {
        /// The domain.
        domain: u16,
    },
    /// The device cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The device is down.
    #[error("`{0}` is down; `ip link set {0} up`")]
    Down(String),
    /// Options that frames do not have, or that are out of range.
    #[error("{0}")]
    Ethernet(&'static str),
    /// The system refuses.
    #[error("{doing}: {source}")]
    Socket {
        /// What was tried.
        doing: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

pub(super) fn failed(doing: &'static str) -> impl Fn(io::Error) -> DomainError {
    move |source| DomainError::Socket { doing, source }
}
