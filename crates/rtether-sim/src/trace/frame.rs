//! Bytes for simulated frames.
//!
//! Addresses are derived from numbers, so that they can be recognized in a capture: station 258 is
//! 02:00:00:00:01:02 and 10.0.1.2, group 7 is 239.0.0.7 and 01:00:5e:00:00:07 over IP (RFC 1112,
//! 6.4) and 03:00:00:00:00:07 otherwise (locally administered, IEEE 802-2014, 8.4). Ports are those
//! of the flow ([`Ports::of_frames`]). The payload is zeros.
//! The size is that of [`rtether_model::wire::frame_size`] less the FCS, which captures lack.

use alloc::vec::Vec;

use etherparse::checksum::Sum16BitWords;
use etherparse::{
    EtherType, Ethernet2Header, IcmpEchoHeader, Icmpv4Header, Icmpv4Type, IpDscp, IpFragOffset,
    IpNumber, Ipv4Header, SingleVlanHeader, TcpHeader, UdpHeader, VlanId, VlanPcp,
};
use rtether_model::flow::Ports;
use rtether_model::mac::MacAddress;
use rtether_model::network::Redundancy;
use rtether_model::quantity::Bytes;
use rtether_model::wire::{self, Encapsulation, Frames};
use rtether_proto::mechanism::arp::{Address, Message, Operation};

use crate::observe::Trailer;
use crate::tcp::Segment;

const TIME_TO_LIVE: u8 = 64;
/// Minimum frame size without FCS and tag, in octets.
const MIN_LENGTH: usize = 60;
/// IEC 61158-6-10: cyclic data occupies at least 40 octets, so that the status is the end of the
/// frame.
const PROFINET_MIN_DATA: usize = 40;
/// First frame id of cyclic unicast data (IEC 61158-6-10, RT class 1).
const PROFINET_FRAME_ID: u16 = 0x8000;
/// Data status: primary, valid, provider runs, no problem.
const PROFINET_STATUS: u8 = 0x35;
/// APPIDs reserved for GOOSE begin at 0, those for sampled values at this one (IEC 61850-8-1, annex
/// C).
const SAMPLED_VALUES_APPID: u16 = 0x4000;

/// Discovery group, 239.255.0.1 (DDSI-RTPS 2.5, 9.6.2.4.1).
const RTPS_GROUP: u32 = 0x00FF_0001;
/// Source port of RTPS participants: that of the first one on a host (DDSI-RTPS 2.5, 9.6.2.3).
pub(crate) const RTPS_PORT: u16 = 7_410;

const ZEROS: [u8; 1500] = [0; 1500];

/// Where a frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Destination {
    /// To one station, by number.
    Station(u32),
    /// To a multicast group, by number.
    Group(u32),
    /// To all stations.
    Broadcast,
}

/// An IEEE 802.1Q tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag {
    /// Priority code point, 0 to 7.
    pub pcp: u8,
    /// VLAN identifier, 0 to 4095; 0 means priority only.
    pub vid: u16,
}

/// Everything that shows in the bytes of a frame.
///
/// IPv4 addresses show the lower 24 bits of station and group numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FrameDescription {
    /// Number of the sending station.
    pub source: u32,
    /// Receiver.
    pub destination: Destination,
    /// The tag, if any; values are truncated to their bits.
    pub tag: Option<Tag>,
    /// Protocol headers around the payload.
    pub encapsulation: Encapsulation,
    /// Octets of payload, at most what the encapsulation allows.
    pub payload: Bytes,
    /// Differentiated services code point of IP, 0 to 63.
    pub dscp: u8,
    /// Flow number: it gives the ports that are not set; also the ICMP identifier, the APPID and the
    /// PROFINET frame id, truncated to their bits. In a request of ARP the number of the station asked
    /// for.
    pub flow: u32,
    /// Ports of the flow.
    pub ports: Ports,
    /// The frame goes from the flow's listener to its talker: ports are swapped, an ICMP echo is a
    /// reply.
    pub reply: bool,
    /// Number of the frame: IP identification, ICMP sequence number, PROFINET cycle counter.
    pub identification: u16,
    /// The header of a TCP segment; sequence numbers show their lower 32 bits, windows at most
    /// 65535 octets.
    pub tcp: Option<Segment>,
}

impl FrameDescription {
    /// Appends the frame, addresses to padding, to `out`.
    ///
    /// # Panics
    /// If the payload is larger than [`Encapsulation::max_payload`].
    pub fn append_to(&self, out: &mut Vec<u8>) {
        assert!(self.payload <= self.encapsulation.max_payload(), "{self:?} is too large");
        let start = out.len();
        self.append_link_header(out);
        let payload = self.zeros();
        match self.encapsulation {
            Encapsulation::Raw => {}
            Encapsulation::Udp | Encapsulation::Rtps { .. } => {
                self.append_udp(out, self.ports(), payload);
            }
            Encapsulation::Tcp => self.append_tcp(out, payload),
            Encapsulation::Icmp => self.append_icmp(out, payload),
            Encapsulation::Goose => self.append_appid(out, 0),
            Encapsulation::SampledValues => self.append_appid(out, SAMPLED_VALUES_APPID),
            Encapsulation::Arp => self.append_arp(out),
            Encapsulation::Profinet => {
                out.extend((PROFINET_FRAME_ID + self.flow_bits()).to_be_bytes());
            }
        }
        out.extend(payload);
        if self.encapsulation == Encapsulation::Profinet {
            self.append_profinet_trailer(out);
        }
        self.pad(start, out);
    }

    /// Appends a frame without IP with these octets instead of a payload of zeros.
    pub fn append_raw_to(&self, octets: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        self.append_link_header(out);
        out.extend(octets);
        self.pad(start, out);
    }

    /// Appends an RTPS frame with the octets of `datagram` instead of a payload of zeros. Frames to
    /// a group or broadcast go to the discovery group.
    ///
    /// # Panics
    /// If the datagram is larger than [`Encapsulation::max_payload`] of UDP.
    pub fn append_rtps_to(&self, ports: [u16; 2], datagram: &[u8], out: &mut Vec<u8>) {
        let description = Self {
            destination: match self.destination {
                Destination::Station(number) => Destination::Station(number),
                Destination::Group(_) | Destination::Broadcast => Destination::Group(RTPS_GROUP),
            },
            encapsulation: Encapsulation::Udp,
            ..*self
        };
        let start = out.len();
        description.append_link_header(out);
        description.append_udp(out, ports, datagram);
        out.extend(datagram);
        description.pad(start, out);
    }

    /// Appends the frame of fragment `number`, counted from zero, of a UDP datagram with a payload
    /// of zeros (RFC 791, 3.2).
    ///
    /// # Panics
    /// If the payload is larger than [`wire::MAX_DATAGRAM`], or has fewer fragments.
    pub fn append_fragment_to(&self, number: u32, out: &mut Vec<u8>) {
        assert!(self.payload <= wire::MAX_DATAGRAM, "{self:?} is too large");
        let whole = Encapsulation::Udp.header_size() + self.payload;
        let frames = Frames::of_packet(self.payload, Encapsulation::Udp);
        let packet = frames.octets_of(number, whole) - wire::IP;
        let mut rest = usize::try_from(packet.get()).expect("a fragment fits a frame");
        let mut header = self.ip_header(IpNumber::UDP, rest);
        header.dont_fragment = false;
        header.more_fragments = number + 1 < frames.count;
        let units = u64::from(number) * wire::FRAGMENT.get() / 8;
        let offset = u16::try_from(units).ok().and_then(|units| IpFragOffset::try_new(units).ok());
        header.fragment_offset = offset.expect("the payload was checked");
        header.header_checksum = header.calc_header_checksum();
        let start = out.len();
        self.append_link_header(out);
        out.extend(header.to_bytes());
        if number == 0 {
            out.extend(self.udp_over_zeros(&header).to_bytes());
            rest -= UdpHeader::LEN;
        }
        out.resize(out.len() + rest, 0);
        self.pad(start, out);
    }

    /// Returns the UDP header of a datagram of zeros, which add nothing to its checksum (RFC 768).
    fn udp_over_zeros(&self, ip: &Ipv4Header) -> UdpHeader {
        let [source_port, destination_port] = self.ports();
        let length = u16::try_from(self.payload.get()).expect("the payload was checked");
        let length = length + UdpHeader::LEN_U16;
        let sum = Sum16BitWords::new()
            .add_4bytes(ip.source)
            .add_4bytes(ip.destination)
            .add_2bytes([0, IpNumber::UDP.0])
            .add_2bytes(length.to_be_bytes())
            .add_2bytes(source_port.to_be_bytes())
            .add_2bytes(destination_port.to_be_bytes())
            .add_2bytes(length.to_be_bytes());
        UdpHeader {
            source_port,
            destination_port,
            length,
            checksum: sum.to_ones_complement_with_no_zero().to_be(),
        }
    }

    /// Pads a frame that began at `start` to the minimum size.
    fn pad(&self, start: usize, out: &mut Vec<u8>) {
        let tag = self.tag.map_or(0, |_| SingleVlanHeader::LEN);
        let length = (out.len() - start).max(MIN_LENGTH + tag);
        out.resize(start + length, 0);
    }

    /// Returns the frame size without FCS, as `append_to` appends it, in octets.
    pub fn length(&self) -> Bytes {
        let tag = if self.tag.is_some() { wire::TAG } else { Bytes::ZERO };
        wire::frame_size(self.payload, self.encapsulation) - wire::FCS + tag
    }

    fn zeros(&self) -> &'static [u8] {
        let length = usize::try_from(self.payload.get()).unwrap_or(ZEROS.len());
        &ZEROS[..length]
    }

    const fn is_ip(&self) -> bool {
        self.encapsulation.is_ip()
    }

    fn append_link_header(&self, out: &mut Vec<u8>) {
        let ether_type = EtherType(self.encapsulation.ethertype());
        let destination = match self.destination {
            Destination::Station(number) => mac(2, number),
            Destination::Group(number) if self.is_ip() => {
                let [_, b, c, d] = number.to_be_bytes();
                [0x01, 0x00, 0x5E, b & 0x7F, c, d]
            }
            Destination::Group(number) => mac(3, number),
            Destination::Broadcast => [0xFF; 6],
        };
        let source = mac(2, self.source);
        let outer = if self.tag.is_some() { EtherType::VLAN_TAGGED_FRAME } else { ether_type };
        out.extend(Ethernet2Header { source, destination, ether_type: outer }.to_bytes());
        if let Some(Tag { pcp, vid }) = self.tag {
            let header = SingleVlanHeader {
                pcp: VlanPcp::try_new(pcp & 7).expect("three bits"),
                drop_eligible_indicator: false,
                vlan_id: VlanId::try_new(vid & 0xFFF).expect("twelve bits"),
                ether_type,
            };
            out.extend(header.to_bytes());
        }
    }

    /// Returns the IPv4 header for `length` octets after it.
    fn ip_header(&self, protocol: IpNumber, length: usize) -> Ipv4Header {
        let source = ipv4(10, self.source);
        let destination = match self.destination {
            Destination::Station(number) => ipv4(10, number),
            Destination::Group(number) => ipv4(239, number),
            Destination::Broadcast => [255; 4],
        };
        let length = u16::try_from(length).expect("the payload was checked");
        let mut header = Ipv4Header::new(length, TIME_TO_LIVE, protocol, source, destination)
            .expect("the payload was checked");
        header.dscp = IpDscp::try_new(self.dscp & 0x3F).expect("six bits");
        header.identification = self.identification;
        header.header_checksum = header.calc_header_checksum();
        header
    }

    fn append_udp(&self, out: &mut Vec<u8>, ports: [u16; 2], payload: &[u8]) {
        let ip = self.ip_header(IpNumber::UDP, UdpHeader::LEN + payload.len());
        let [source, destination] = ports;
        let udp = UdpHeader::with_ipv4_checksum(source, destination, &ip, payload)
            .expect("the payload was checked");
        out.extend(ip.to_bytes());
        out.extend(udp.to_bytes());
    }

    fn append_tcp(&self, out: &mut Vec<u8>, payload: &[u8]) {
        let ip = self.ip_header(IpNumber::TCP, TcpHeader::MIN_LEN + payload.len());
        let [source, destination] = self.ports();
        let segment = self.tcp.unwrap_or_default();
        let window = u16::try_from(segment.window).unwrap_or(u16::MAX);
        let mut tcp = TcpHeader::new(source, destination, lower_half(segment.seq), window);
        tcp.acknowledgment_number = lower_half(segment.ack);
        tcp.syn = segment.flags.syn;
        tcp.ack = segment.flags.ack;
        tcp.fin = segment.flags.fin;
        tcp.checksum = tcp.calc_checksum_ipv4(&ip, payload).expect("the payload was checked");
        out.extend(ip.to_bytes());
        out.extend(tcp.to_bytes());
    }

    fn append_icmp(&self, out: &mut Vec<u8>, payload: &[u8]) {
        let [_, _, high, low] = self.flow.to_be_bytes();
        let echo = IcmpEchoHeader { id: u16::from_be_bytes([high, low]), seq: self.identification };
        let kind =
            if self.reply { Icmpv4Type::EchoReply(echo) } else { Icmpv4Type::EchoRequest(echo) };
        let icmp = Icmpv4Header::with_checksum(kind, payload);
        let ip = self.ip_header(IpNumber::ICMP, icmp.header_len() + payload.len());
        out.extend(ip.to_bytes());
        out.extend(icmp.to_bytes());
    }

    /// Appends a message of ARP: to a station a reply, to all a request.
    fn append_arp(&self, out: &mut Vec<u8>) {
        let address = |number: u32| Address {
            hardware: MacAddress(mac(2, number)),
            protocol: ipv4(10, number).into(),
        };
        let own = address(self.source);
        let message = match self.destination {
            Destination::Station(number) => {
                Message { operation: Operation::Reply, sender: own, target: address(number) }
            }
            Destination::Group(_) | Destination::Broadcast => {
                Message::request(own, address(self.flow).protocol)
            }
        };
        out.extend(message.to_octets());
    }

    /// Appends APPID, length from the APPID on, two reserved words (IEC 61850-8-1, annex C).
    fn append_appid(&self, out: &mut Vec<u8>, base: u16) {
        let length = u16::try_from(self.payload.get() + 8).expect("the payload was checked");
        out.extend((base + self.flow_bits()).to_be_bytes());
        out.extend(length.to_be_bytes());
        out.extend([0; 4]);
    }

    /// Appends cycle counter, data status and transfer status, at the very end of the frame.
    fn append_profinet_trailer(&self, out: &mut Vec<u8>) {
        let data = self.zeros().len();
        out.extend(&ZEROS[..PROFINET_MIN_DATA.saturating_sub(data)]);
        out.extend(self.identification.to_be_bytes());
        out.extend([PROFINET_STATUS, 0]);
    }

    /// Returns source and destination port.
    fn ports(&self) -> [u16; 2] {
        self.ports.of_frames(self.flow, self.reply)
    }

    fn flow_bits(&self) -> u16 {
        dynamic_bits(self.flow)
    }
}

/// Returns the lower 14 bits.
fn dynamic_bits(number: u32) -> u16 {
    let [_, _, high, low] = number.to_be_bytes();
    u16::from_be_bytes([high & 0x3F, low])
}

pub(crate) fn mac(first: u8, number: u32) -> [u8; 6] {
    let [a, b, c, d] = number.to_be_bytes();
    [first, 0, a, b, c, d]
}

/// Returns the address of a station (`first` is 10) or group (239).
pub(crate) fn ipv4(first: u8, number: u32) -> [u8; 4] {
    let [_, b, c, d] = number.to_be_bytes();
    [first, b, c, d]
}

fn lower_half(number: u64) -> u32 {
    let [.., a, b, c, d] = number.to_be_bytes();
    u32::from_be_bytes([a, b, c, d])
}

#[cfg(test)]
mod tests;

/// Appends what a station in two networks adds to a frame, which begins at `start`.
///
/// The redundancy control trailer of PRP (IEC 62439-3, 4.2.7.3) has the sequence number, the network
/// (A or B), the octets behind the tag and the `EtherType` with the trailer itself, and 0x88FB; that of
/// AFDX is the sequence number from 1 to 255 (ARINC 664, part 7).
pub fn append_trailer(trailer: &Trailer, tagged: bool, start: usize, out: &mut Vec<u8>) {
    match trailer.redundancy {
        Redundancy::Prp => {
            let header = if tagged { 18 } else { 14 };
            let octets = (out.len() - start).saturating_sub(header) + 6;
            let size = u16::try_from(octets).unwrap_or(u16::MAX) & 0x0fff;
            let network = if trailer.is_in_second { 0xb000 } else { 0xa000 };
            for word in [trailer.sequence, network | size, 0x88fb] {
                out.extend(word.to_be_bytes());
            }
        }
        Redundancy::Afdx => out.push(u8::try_from(trailer.sequence).unwrap_or(1)),
    }
}
