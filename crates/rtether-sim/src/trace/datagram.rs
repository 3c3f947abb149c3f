//! Bytes for datagrams whose addresses are known while the frames that carried them are not.

use core::net::SocketAddrV4;

use alloc::vec::Vec;

use etherparse::{EtherType, Ethernet2Header, IpDscp, IpNumber, Ipv4Header, UdpHeader};

const TIME_TO_LIVE: u8 = 64;

/// Appends the frame that would have carried a datagram on a link without an MTU. Station addresses
/// are derived from IP addresses, so that a host always has the same one (02:00 and the four
/// octets; groups as in RFC 1112, 6.4). Returns whether the payload fits a datagram; if not,
/// appends nothing.
pub fn append_udp(
    out: &mut Vec<u8>,
    from: SocketAddrV4,
    to: SocketAddrV4,
    dscp: u8,
    payload: &[u8],
) -> bool {
    let Ok(length) = u16::try_from(UdpHeader::LEN + payload.len()) else {
        return false;
    };
    let (source, destination) = (from.ip().octets(), to.ip().octets());
    let ip = Ipv4Header::new(length, TIME_TO_LIVE, IpNumber::UDP, source, destination);
    let Ok(mut ip) = ip else { return false };
    ip.dscp = IpDscp::try_new(dscp & 0x3F).unwrap_or_default();
    ip.header_checksum = ip.calc_header_checksum();
    let (from, to) = (from.port(), to.port());
    let Ok(udp) = UdpHeader::with_ipv4_checksum(from, to, &ip, payload) else {
        return false;
    };
    let link = Ethernet2Header {
        source: station(source),
        destination: station(destination),
        ether_type: EtherType::IPV4,
    };
    out.extend(link.to_bytes());
    out.extend(ip.to_bytes());
    out.extend(udp.to_bytes());
    out.extend(payload);
    true
}

fn station([a, b, c, d]: [u8; 4]) -> [u8; 6] {
    if (224..240).contains(&a) { [0x01, 0x00, 0x5E, b & 0x7F, c, d] } else { [0x02, 0, a, b, c, d] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::Ipv4Addr;

    #[test]
    fn a_datagram_octet_by_octet() {
        // Oracle: RFC 791, 3.1, RFC 768 and RFC 1112, 6.4, by hand. Sums of IP: 45b8 + 001e + 4000
        // + 4011 + 0a01 + 0203 + efff + 0001 = 1_c1eb, so 3e13. Of UDP, with the length twice: 0a01
        // + 0203 + efff + 0001 + 0011 + 000a + 1cf2 + 1ce8 + 000a + 6869 = 1_9e6c, so 6192.
        let mut out = Vec::new();
        let from = SocketAddrV4::new(Ipv4Addr::new(10, 1, 2, 3), 0x1CF2);
        let to = SocketAddrV4::new(Ipv4Addr::new(239, 255, 0, 1), 0x1CE8);
        assert!(append_udp(&mut out, from, to, 46, b"hi"));
        #[rustfmt::skip]
        let expected = [
            0x01, 0x00, 0x5E, 0x7F, 0, 1, 0x02, 0, 10, 1, 2, 3, 0x08, 0x00,
            0x45, 0xB8, 0, 30, 0, 0, 0x40, 0, 64, 17, 0x3E, 0x13, 10, 1, 2, 3, 239, 255, 0, 1,
            0x1C, 0xF2, 0x1C, 0xE8, 0, 10, 0x61, 0x92, b'h', b'i',
        ];
        assert_eq!(out, expected);
        assert!(!append_udp(&mut out, from, to, 0, &alloc::vec![0; 65_508]));
        assert_eq!(out.len(), expected.len(), "nothing is left of it");
    }
}
