//! Compares the key of a frame with the results of etherparse.

use std::net::IpAddr;

use etherparse::{IpNumber, Ipv6Slice, LinkExtSlice, NetSlice, SlicedPacket, TransportSlice};
use rtether_proto::endnode::{FrameKey, MalformedReason, Parsed};

/// The parts that were compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Addresses.
    pub(crate) network: bool,
    /// Ports.
    pub(crate) ports: bool,
}

/// Compares both results for a frame that both parsers accept; parts on which they differ by design
/// are left out.
///
/// # Panics
/// If they differ otherwise, or only our parser rejects the frame, without a known reason.
pub(crate) fn compare(frame: &[u8], parsed: &Parsed) -> Seen {
    let Ok(other) = SlicedPacket::from_ethernet(frame) else {
        // etherparse also reads headers above IP that our parser ignores.
        return Seen::default();
    };
    let mut tags = other.link_exts.iter().map(|extension| match extension {
        LinkExtSlice::Vlan(vlan) => Some(vlan),
        LinkExtSlice::Macsec(_) => None,
    });
    let is_ours = |kind: u16| matches!(kind, 0x8100 | 0x88A8);
    let kinds = (0..other.link_exts.len()).map(|tag| be16(frame, 12 + 4 * tag));
    if tags.clone().any(|tag| tag.is_none()) || !kinds.clone().all(is_ours) {
        // Our parser treats MACsec and 0x9100 as other protocols.
        return Seen::default();
    }
    let kind = be16(frame, 12 + 4 * kinds.len());
    if kinds.len() == SlicedPacket::LINK_EXTS_CAP && is_ours(kind) {
        // etherparse reads no more tags; our parser does.
        return Seen::default();
    }
    if let Some(malformed) = parsed.malformed {
        let is_good_reason = is_stricter(malformed.reason, &parsed.key, other.net.as_ref());
        assert!(is_good_reason, "only we refuse: {malformed:?}");
        return Seen::default();
    }
    let key = &parsed.key;
    let outermost = tags.next().flatten();
    let expected = outermost.map(|tag| {
        (
            tag.priority_code_point().value(),
            tag.drop_eligible_indicator(),
            tag.vlan_identifier().value(),
        )
    });
    let found = key.tag.map(|t| (t.pcp.get(), t.dei, t.vid.get()));
    assert_eq!(found, expected, "outermost tag");
    assert_eq!(key.ethertype, (kind >= 1536).then_some(kind), "EtherType");
    match &other.net {
        Some(NetSlice::Ipv4(ip)) => {
            let header = ip.header();
            let tos = header.dcp().value() << 2 | header.ecn().value();
            let addresses = [header.source_addr(), header.destination_addr()];
            network(key, tos, addresses.map(IpAddr::from));
            assert_eq!(key.protocol, Some(header.protocol().0), "protocol");
            // Our parser treats an authentication header as an extension in IPv6 only.
            let is_plain = ip.extensions().is_empty() && !ip.is_payload_fragmented();
            ports(key, is_plain, other.transport.as_ref())
        }
        Some(NetSlice::Ipv6(ip)) => {
            let header = ip.header();
            let addresses = [header.source_addr(), header.destination_addr()];
            network(key, header.traffic_class(), addresses.map(IpAddr::from));
            let payload = ip.payload();
            // etherparse reads on behind the header of a later fragment.
            let is_plain = !is_empty(ip) && !is_unknown(payload.ip_number) && !payload.fragmented;
            if is_empty(ip) {
                assert_eq!(key.source_port, None, "ports in no payload");
            }
            if is_plain {
                assert_eq!(key.protocol, Some(payload.ip_number.0), "protocol");
            }
            ports(key, is_plain, other.transport.as_ref())
        }
        Some(NetSlice::Arp(_)) | None => {
            let is_ip = matches!(key.ethertype, Some(0x0800 | 0x86DD));
            assert!(!is_ip && key.protocol.is_none(), "only we found IP");
            Seen::default()
        }
    }
}

/// Returns whether etherparse accepts what our parser rejects for this reason: it knows no
/// undefined types, no reserved VLAN and no limit of tags and extension headers, and does not read
/// all extension headers or the ports of all protocols.
fn is_stricter(reason: MalformedReason, key: &FrameKey, net: Option<&NetSlice<'_>>) -> bool {
    let payload = match net {
        Some(NetSlice::Ipv4(ip)) => Some(ip.payload()),
        Some(NetSlice::Ipv6(ip)) => Some(ip.payload()),
        Some(NetSlice::Arp(_)) | None => None,
    };
    let is_fragment = payload.is_some_and(|payload| payload.fragmented);
    let is_unknown = payload.is_some_and(|payload| is_unknown(payload.ip_number));
    let is_empty = matches!(net, Some(NetSlice::Ipv6(ip)) if is_empty(ip));
    match reason {
        MalformedReason::UndefinedType
        | MalformedReason::TooManyTags
        | MalformedReason::ReservedVid
        | MalformedReason::TooManyExtensions => true,
        MalformedReason::ShortExtension => is_unknown || is_empty,
        MalformedReason::ShortPorts => {
            let is_common = matches!(key.protocol, Some(6 | 17));
            !is_common || is_fragment || is_unknown || is_empty
        }
        MalformedReason::ShortFrame
        | MalformedReason::ShortTag
        | MalformedReason::ShortIpHeader
        | MalformedReason::WrongIpVersion
        | MalformedReason::IpHeaderLength
        | MalformedReason::IpPacketLength => false,
    }
}

/// Returns whether etherparse takes the rest of the frame as payload where our parser takes
/// nothing: a length of zero without a jumbogram.
fn is_empty(ip: &Ipv6Slice<'_>) -> bool {
    let header = ip.header();
    header.payload_length() == 0 && header.next_header() != IpNumber::IPV6_HEADER_HOP_BY_HOP
}

/// Returns whether etherparse does not know this extension header: mobility, host identity, shim6.
const fn is_unknown(protocol: IpNumber) -> bool {
    matches!(protocol.0, 135 | 139 | 140)
}

fn network(key: &FrameKey, tos: u8, [source, destination]: [IpAddr; 2]) {
    assert_eq!(key.tos, Some(tos), "type of service");
    assert_eq!(key.source, Some(source), "source");
    assert_eq!(key.destination, Some(destination), "destination");
}

fn ports(key: &FrameKey, is_plain: bool, transport: Option<&TransportSlice<'_>>) -> Seen {
    let expected = match transport {
        Some(TransportSlice::Tcp(tcp)) => Some((tcp.source_port(), tcp.destination_port())),
        Some(TransportSlice::Udp(udp)) => Some((udp.source_port(), udp.destination_port())),
        _ => None,
    };
    let found = key.source_port.zip(key.destination_port);
    // etherparse reads the ports of no other protocols.
    let is_common = matches!(key.protocol, Some(6 | 17));
    if is_plain && (is_common || expected.is_some()) {
        assert_eq!(found, expected, "ports");
    }
    Seen { network: true, ports: is_plain && expected.is_some() }
}

fn be16(frame: &[u8], offset: usize) -> u16 {
    u16::from_be_bytes([frame[offset], frame[offset + 1]])
}
