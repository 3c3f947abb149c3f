//! Names of streams and stations, by what protocols say.

use std::collections::BTreeSet;

use super::frame::{self, Frame, Ip, Mac, Over, Path, What};

/// Characters of a name from a frame.
const LONGEST: usize = 65;

/// What is known of a station.
#[derive(Clone, Debug, Default)]
pub(super) struct Station {
    /// Its addresses over IP; two of a version say that it has several.
    pub(super) addresses: BTreeSet<Ip>,
    /// What it calls itself.
    pub(super) name: Option<String>,
}

/// Returns the name that its protocol gives to a stream; empty if it has none.
pub(super) fn label(frame: &Frame<'_>) -> String {
    match frame.what {
        What::Goose(goose) if !goose.id.is_empty() => text(goose.id),
        What::Goose(goose) => text(goose.block),
        What::SampledValues { id } => text(id),
        What::Rtps { writer: 0 } => "RTPS".into(),
        // The upper bits of an entity's kind say that it belongs to discovery.
        What::Rtps { writer } if writer & 0xC0 == 0xC0 => format!("RTPS discovery {writer:08x}"),
        What::Rtps { writer } => format!("RTPS writer {writer:08x}"),
        What::OpcUa => "OPC UA PubSub".into(),
        What::Connected => format!("EtherNet/IP connection {:08x}", frame.path.own),
        What::Rpc(_) => "PROFINET connection management".into(),
        What::Data | What::Fragment | What::Segment(_) => String::new(),
    }
}

fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).chars().take(LONGEST).collect()
}

/// Returns an address as on a device: `00-0C-29-01-02-03`, since colons part switch and port.
pub(super) fn mac(address: Mac) -> String {
    address.map(|octet| format!("{octet:02X}")).join("-")
}

/// Returns an address over IP.
pub(super) fn ip(address: Ip) -> String {
    match address.to_ipv4_mapped() {
        Some(address) => address.to_string(),
        None => address.to_string(),
    }
}

/// Returns the name of a station: its own, its only address over IP, or that of its interface.
pub(super) fn station(address: Mac, station: &Station) -> String {
    if let Some(name) = &station.name {
        return name.clone();
    }
    let of = |is_old: bool| {
        let all = station.addresses.iter().copied();
        let mut all = all.filter(move |own| own.to_ipv4_mapped().is_some() == is_old);
        (all.next(), all.next())
    };
    match (of(true), of(false)) {
        ((Some(only), None), _) | ((None, _), (Some(only), None)) => ip(only),
        _ => mac(address),
    }
}

/// Returns what a protocol is called.
pub(super) fn protocol(over: Over, path: &Path) -> String {
    let [from, to] = path.ports;
    let ports = |name: &str| match [from, to] {
        [0, 0] => name.to_owned(),
        [0, port] => format!("{name} to port {port}"),
        [port, 0] => format!("{name} from port {port}"),
        _ => format!("{name} {from} to {to}"),
    };
    match (over, path.ether_type, path.protocol) {
        (Over::Udp, ..) => ports("UDP"),
        (Over::Tcp, ..) => ports("TCP"),
        (Over::Icmp, ..) => match path.own >> 16 {
            8 => "ICMP echo".into(),
            0 => "ICMP echo reply".into(),
            kind => format!("ICMP {kind}"),
        },
        (Over::Goose, ..) => format!("GOOSE {:04X}", path.own & 0xffff),
        (Over::SampledValues, ..) => format!("SV {:04X}", path.own & 0xffff),
        (Over::Profinet, ..) => format!("PROFINET {:04X}", path.own),
        (Over::Raw, frame::PROFINET, _) => format!("PROFINET acyclic {:04X}", path.own),
        (Over::Raw, 0x0800, 2) => "IGMP".into(),
        (Over::Raw, 0x0800, 6) => ports("TCP to a group,"),
        (Over::Raw, 0x0800, protocol) => format!("IP protocol {protocol}"),
        (Over::Raw, 0x86DD, 6) => ports("TCP over IPv6"),
        (Over::Raw, 0x86DD, 17) => ports("UDP over IPv6"),
        (Over::Raw, 0x86DD, 58) => "ICMPv6".into(),
        (Over::Raw, 0x86DD, protocol) => format!("IPv6 protocol {protocol}"),
        (Over::Raw, 0x0806, _) => "ARP".into(),
        (Over::Raw, 0x88CC, _) => "LLDP".into(),
        (Over::Raw, 0x88F7, _) => "PTP".into(),
        (Over::Raw, 0x88AB, _) => "Powerlink".into(),
        (Over::Raw, 0x88A4, _) => "EtherCAT".into(),
        (Over::Raw, frame::OPC_UA, _) => "OPC UA PubSub".into(),
        (Over::Raw, 0x0000, _) => format!("LLC {:04X}", path.own),
        (Over::Raw, kind, _) => format!("type {kind:04X}"),
    }
}
