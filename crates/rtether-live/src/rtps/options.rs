//! Options of a participant on this host, and why opening it fails.

use std::io;
use std::net::Ipv4Addr;

use rtether_rtps::engine::{Discovery, Protocol};
use rtether_rtps::locator::Ports;
use rtether_rtps::time::Duration;
use rtether_rtps::wire::v1::Role;

use crate::link::{DeviceError, MacAddress};
use crate::wait::Waiting;

/// Default `EtherType` of frames: the second of those reserved for experiments (IEEE 802-2014,
/// 9.2.4); the first is the meter's. None is assigned to RTPS (DDS-TSN 1.0, annex A).
pub const ETHERTYPE: u16 = 0x88B6;

/// Options of a participant on this host.
#[allow(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
#[derive(Clone, Debug)]
pub struct DomainOptions {
    /// The domain, 0 to 232.
    pub domain: u16,
    /// The version of the protocol. In 1.0, over UDP only, an application announces itself to the
    /// manager at each of `peers`, by default that of this host, and a manager to those of `peers`,
    /// and to a group with `multicast`.
    pub protocol: Protocol,
    /// Human-readable name.
    pub name: String,
    /// Address of this host that selects the network; datagrams are accepted only over its device,
    /// or from this host. Default: the first device that is up and not loopback, or else loopback,
    /// and then datagrams are accepted over any device.
    pub interface: Option<Ipv4Addr>,
    /// Hosts that multicast does not reach.
    pub peers: Vec<Ipv4Addr>,
    /// Whether to announce to the multicast group of the domain and to listen there.
    pub multicast: bool,
    /// Whether samples may also be multicast.
    pub multicast_data: bool,
    /// How to wait. A spinning thread of real-time priority rests regularly, so that the kernel
    /// does not throttle it: after 800 ms it sleeps between datagrams for 60 ms in total.
    pub waiting: Waiting,
    /// Lease: how long others wait for the next announcement.
    pub lease: Duration,
    /// Datagrams lost on purpose, per thousand each way, to test a plant.
    pub loss: u16,
    /// Received datagrams swapped with the next one, per thousand, for the same purpose.
    pub disorder: u16,
    /// Announcement period; by default a third of the lease.
    pub announce_period: Option<Duration>,
    /// Whether to ask others for descriptions of types, and to answer them.
    pub type_lookup: bool,
    /// Whether a participant may send from any address; otherwise only from addresses that it has
    /// announced. Required behind address translation.
    pub any_source: bool,
    /// How endpoints are discovered: on demand with many participants that have few topics in
    /// common.
    pub discovery: Discovery,
    /// Maximum size of a datagram, in octets; larger samples are sent in fragments. Frames are also
    /// limited by the MTU of their device.
    pub datagram_max: usize,
    /// Maximum octets of incomplete samples, of all readers together.
    pub fragments_max: usize,
    /// Use frames on a device instead of UDP.
    pub ethernet: Option<EthernetOptions>,
}

/// RTPS in Ethernet frames, without IP (DDS-TSN 1.0, annex A).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EthernetOptions {
    /// Name of the device; may be loopback.
    pub device: String,
    /// The `EtherType`.
    pub ethertype: u16,
    /// VLAN of tags, 0 to 4094. 0 leaves it to the switch; frames without a priority are then
    /// untagged. Must be 0 on a VLAN device, which adds the tags itself.
    pub vlan: u16,
    /// Stations that the group does not reach.
    pub peers: Vec<MacAddress>,
}

impl EthernetOptions {
    /// Returns the defaults for a device.
    pub fn on(device: &str) -> Self {
        Self { device: device.to_owned(), ethertype: ETHERTYPE, vlan: 0, peers: Vec::new() }
    }
}

/// Lease in RTPS 1.0, as of ORTE: best-effort subscriptions give no sign of life by themselves.
const LEASE_V1: Duration = Duration::from_s(180);
/// Announcement period in RTPS 1.0: a new manager learns of everybody within it.
const PERIOD_V1: Duration = Duration::from_s(3);

impl DomainOptions {
    /// Returns the defaults in RTPS 1.0.
    pub fn rtps1(role: Role) -> Self {
        Self {
            protocol: Protocol::Rtps1(role),
            lease: LEASE_V1,
            announce_period: Some(PERIOD_V1),
            ..Self::default()
        }
    }
}

impl Default for DomainOptions {
    fn default() -> Self {
        Self {
            domain: 0,
            protocol: Protocol::default(),
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
            type_lookup: false,
            any_source: false,
            discovery: Discovery::default(),
            datagram_max: 1_472,
            fragments_max: 64 << 20,
            ethernet: None,
        }
    }
}

/// Why a participant could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum DomainError {
    /// The domain does not exist.
    #[error("domain {0} does not exist; port numbers allow 0 to {max}", max = Ports::DOMAIN_MAX)]
    Domain(u16),
    /// A lease of zero would expire at once.
    #[error(
        "the lease is zero or less: others would forget the participant as soon as they find it"
    )]
    Lease,
    /// No device has the address.
    #[error("no device of this host has the address {0}; `ip -brief address` shows those it has")]
    Interface(Ipv4Addr),
    /// All ports of the domain are taken.
    #[error("all {max} participant ports of domain {domain} are in use on this host", max = Ports::PARTICIPANTS_MAX)]
    Ports {
        /// The domain.
        domain: u16,
    },
    /// Another manager has the port of the domain.
    #[error(
        "port {port} is in use: each host has one manager of RTPS 1.0 for a domain; end the other, or \
         choose another --domain"
    )]
    Manager {
        /// The port.
        port: u16,
    },
    /// Another program has the port of the group for itself.
    #[error(
        "port {port} is in use by a program that does not share it, such as a manager of ORTE, whose \
         port it is in RTPS 1.0: choose another --domain, or peers with --peer and --no-multicast"
    )]
    Group {
        /// The port.
        port: u16,
    },
    /// The device is unusable.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The device is down.
    #[error("`{0}` is down; `ip link set {0} up`")]
    Down(String),
    /// Options that do not apply to frames, or are out of range.
    #[error("{0}")]
    Ethernet(&'static str),
    /// The system refuses.
    #[error("{doing}: {source}")]
    Socket {
        /// Action that failed.
        doing: &'static str,
        /// Error of the system.
        source: io::Error,
    },
}

pub(super) fn failed(doing: &'static str) -> impl Fn(io::Error) -> DomainError {
    move |source| DomainError::Socket { doing, source }
}
