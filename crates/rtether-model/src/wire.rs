//! Frame arithmetic: the only place where rtether converts a payload into octets and octets into
//! time.
//!
//! Source: IEEE 802.3-2022, 3.1.1 and 4.4.2 (frame format, preamble, inter-packet gap); IEEE
//! 802.1Q-2022, 9.6 (tag); catalogue section 0.1, requirements R1 and R2. Three sizes, three
//! names: `payload_size` (what the application sends), `frame_size` (addresses to FCS) and
//! `wire_size` (plus preamble and gap). Checked against the papers: 1518 octets at 100 Mbit/s are
//! 122.08 us, 60 octets over UDP through two such links 18.24 us.

use crate::quantity::{BitRate, Bytes, Duration};

/// Preamble and start frame delimiter.
pub const PREAMBLE: Bytes = Bytes::new(8);
/// Destination, source, EtherType.
pub const HEADER: Bytes = Bytes::new(14);
/// IEEE 802.1Q tag.
pub const TAG: Bytes = Bytes::new(4);
/// Frame check sequence.
pub const FCS: Bytes = Bytes::new(4);
/// Inter-packet gap.
pub const GAP: Bytes = Bytes::new(12);
/// Shortest untagged frame, addresses to FCS.
pub const MIN_FRAME: Bytes = Bytes::new(64);
/// Longest frame payload (no jumbo frames).
pub const MAX_FRAME_PAYLOAD: Bytes = Bytes::new(1500);
/// Longest untagged frame, addresses to FCS.
pub const MAX_FRAME: Bytes = Bytes::new(HEADER.get() + MAX_FRAME_PAYLOAD.get() + FCS.get());
/// Longest frame with a tag.
pub const MAX_TAGGED_FRAME: Bytes = Bytes::new(MAX_FRAME.get() + TAG.get());
/// Preamble and gap: what a frame takes of a link in addition to its octets.
pub const OVERHEAD: Bytes = Bytes::new(PREAMBLE.get() + GAP.get());
/// Header of IPv4 without options, which each fragment of a datagram has.
pub const IP: Bytes = Bytes::new(20);
/// Octets that each fragment but the last carries behind this header: a multiple of 8, the unit of
/// offsets (RFC 791, 3.2).
pub const FRAGMENT: Bytes = Bytes::new(1480);
/// Largest payload of a UDP datagram over IPv4: 65 535 octets less both headers.
pub const MAX_DATAGRAM: Bytes = Bytes::new(65_507);

/// Rates of Ethernet in megabits per second (IEEE 802.3) at which an octet lasts a whole number of
/// picoseconds.
pub const ETHERNET_MBPS: [u64; 12] =
    [10, 100, 1_000, 2_500, 5_000, 10_000, 25_000, 40_000, 50_000, 100_000, 200_000, 400_000];

/// Protocol headers between an application's payload and the Ethernet frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Encapsulation {
    /// Payload directly in the frame.
    Raw,
    /// IPv4 and UDP: 20 + 8 octets.
    Udp,
    /// IPv4 and TCP without options: 20 + 20 octets.
    Tcp,
    /// IPv4 and ICMP echo: 20 + 8 octets.
    Icmp,
    /// IEC 61850-8-1 GOOSE: APPID, length and two reserved words, 8 octets.
    Goose,
    /// IEC 61850-9-2 sampled values: the same 8 octets.
    SampledValues,
    /// PROFINET IO cyclic data: frame id 2, cycle counter and status 4 octets.
    Profinet,
    /// A request or reply of ARP, 28 octets (RFC 826); no flow of a scenario has it.
    Arp,
    /// RTPS over UDP over IPv4, with samples that are a sequence of octets. In 2.5: message 20, time
    /// 12, DATA 24, CDR encapsulation 4, length of the sequence 4, and a HEARTBEAT of 32 behind a
    /// reliable sample. In 1.0: message 16, time 12, ISSUE 20, length 4, HEARTBEAT 28. Other
    /// messages (discovery, acknowledgements) have different sizes.
    Rtps {
        /// The version that talker and listeners speak.
        version: RtpsVersion,
        /// Whether lost samples are retransmitted.
        is_reliable: bool,
    },
}

/// Version of RTPS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RtpsVersion {
    /// 1.0, as ORTE speaks it: each station has a manager beside its application.
    V1_0,
    /// 2.5.
    #[default]
    V2_5,
}

/// IPv4 and UDP.
const IP_UDP: u64 = 28;

impl RtpsVersion {
    /// Returns the octets of a sample before its payload, and those of the HEARTBEAT behind a
    /// reliable one (DDSI-RTPS 2.5, 9.4.4 and 9.4.5; DDS-XTypes 1.3, 7.4.3; for 1.0 the draft of
    /// 2002, as ORTE has it).
    const fn overhead(self, is_reliable: bool) -> u64 {
        let (sample, heartbeat) = match self {
            Self::V1_0 => (16 + 12 + 20 + 4, 28),
            Self::V2_5 => (20 + 12 + 24 + 4 + 4, 32),
        };
        if is_reliable { sample + heartbeat } else { sample }
    }
}

impl Encapsulation {
    /// Returns the octets of protocol headers inside the frame payload.
    pub const fn header_size(self) -> Bytes {
        Bytes::new(match self {
            Self::Raw => 0,
            Self::Udp | Self::Icmp => IP_UDP,
            Self::Arp => 28,
            Self::Rtps { version, is_reliable } => IP_UDP + version.overhead(is_reliable),
            Self::Tcp => 40,
            Self::Goose | Self::SampledValues => 8,
            Self::Profinet => 6,
        })
    }

    /// Returns whether it is carried by IPv4.
    pub const fn is_ip(self) -> bool {
        matches!(self, Self::Udp | Self::Tcp | Self::Icmp | Self::Rtps { .. })
    }

    /// Returns the number of the protocol above IP (IANA); `None` for frames without IP.
    pub const fn protocol(self) -> Option<u8> {
        match self {
            Self::Icmp => Some(1),
            Self::Tcp => Some(6),
            Self::Udp | Self::Rtps { .. } => Some(17),
            Self::Raw | Self::Goose | Self::SampledValues | Self::Profinet | Self::Arp => None,
        }
    }

    /// Returns the `EtherType` (IEEE registry; IEC 61850-8-1 and -9-2, annexes C and B; IEC
    /// 61158-6-10). That of frames without a protocol is for local experiments (IEEE 802-2014, 9.2.4).
    pub const fn ethertype(self) -> u16 {
        match self {
            Self::Icmp | Self::Tcp | Self::Udp | Self::Rtps { .. } => 0x0800,
            Self::Arp => 0x0806,
            Self::Raw => 0x88B5,
            Self::Goose => 0x88B8,
            Self::SampledValues => 0x88BA,
            Self::Profinet => 0x8892,
        }
    }

    /// Returns whether its frames have ports that a flow may set.
    pub const fn has_ports(self) -> bool {
        matches!(self, Self::Udp | Self::Tcp)
    }

    /// Returns the largest payload that fits one frame.
    pub const fn max_payload(self) -> Bytes {
        Bytes::new(MAX_FRAME_PAYLOAD.get() - self.header_size().get())
    }

    /// Returns the largest payload of one IP packet, or of one frame without IP. UDP datagrams that
    /// do not fit a frame are fragmented.
    pub const fn max_packet(self) -> Bytes {
        match self {
            Self::Udp => MAX_DATAGRAM,
            Self::Raw
            | Self::Tcp
            | Self::Icmp
            | Self::Goose
            | Self::SampledValues
            | Self::Profinet
            | Self::Arp
            | Self::Rtps { .. } => self.max_payload(),
        }
    }
}

/// The frames that carry a message: full frames of one size, and the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frames {
    /// Number of frames, at least one.
    pub count: u32,
    /// Untagged size of every frame but the last.
    pub full: Bytes,
    /// Untagged size of the last frame.
    pub last: Bytes,
}

impl Frames {
    /// Returns a single frame.
    pub const fn one(frame: Bytes) -> Self {
        Self { count: 1, full: frame, last: frame }
    }

    /// Returns the frame of a packet, or those of the fragments of a UDP datagram.
    pub fn of_packet(payload: Bytes, encapsulation: Encapsulation) -> Self {
        if payload <= encapsulation.max_payload() || encapsulation != Encapsulation::Udp {
            return Self::one(frame_size(payload, encapsulation));
        }
        let around = HEADER + IP + FCS;
        let inside = encapsulation.header_size() - IP + payload;
        let count = inside.get().div_ceil(FRAGMENT.get());
        let rest = inside - Bytes::new(FRAGMENT.get() * (count - 1));
        Self {
            count: u32::try_from(count).unwrap_or(u32::MAX),
            full: around + FRAGMENT,
            last: MIN_FRAME.max(around + rest),
        }
    }

    /// Returns the frames of a message that is cut into parts of this payload.
    pub fn of_parts(payload: Bytes, part: Bytes, encapsulation: Encapsulation) -> Self {
        if payload <= part || part == Bytes::ZERO {
            return Self::one(frame_size(payload, encapsulation));
        }
        let count = payload.get().div_ceil(part.get());
        let rest = payload - Bytes::new(part.get() * (count - 1));
        Self {
            count: u32::try_from(count).unwrap_or(u32::MAX),
            full: frame_size(part, encapsulation),
            last: frame_size(rest, encapsulation),
        }
    }

    /// Returns the total over all frames, where `cost` gives the time of one from its size.
    pub fn total(&self, cost: impl Fn(Bytes) -> Duration) -> Duration {
        cost(self.full) * i64::from(self.count - 1) + cost(self.last)
    }

    /// Returns the octets of the IP packet in a fragment, by its number from zero, if the whole
    /// packet with its header has `packet` octets; padding does not count.
    pub fn octets_of(&self, number: u32, packet: Bytes) -> Bytes {
        if self.count == 1 {
            packet
        } else if number + 1 < self.count {
            IP + FRAGMENT
        } else {
            packet - Bytes::new(FRAGMENT.get() * u64::from(self.count - 1))
        }
    }

    /// Returns the size of a frame, by its number from zero.
    pub const fn size_of(&self, number: u32) -> Bytes {
        if number + 1 < self.count { self.full } else { self.last }
    }
}

/// Returns the size of the untagged frame that carries `payload`, padded to 64 octets.
///
/// A tag adds [`TAG`] to the padded frame, so that removing it restores the same frame.
pub fn frame_size(payload: Bytes, encapsulation: Encapsulation) -> Bytes {
    MIN_FRAME.max(HEADER + encapsulation.header_size() + payload + FCS)
}

/// Returns the octets that a frame occupies on the wire, with preamble and gap.
pub const fn wire_size(frame: Bytes) -> Bytes {
    Bytes::new(frame.get() + OVERHEAD.get())
}

/// Returns the time from the first bit of the preamble to the last bit of the frame.
///
/// This is the delay of the frame on one link; the gap delays only the frames behind it. Rounded up
/// to a picosecond; exact at standard rates.
pub fn wire_time(frame: Bytes, rate: BitRate) -> Duration {
    rate.time_ceil(PREAMBLE + frame)
}

/// Returns the time for which the frame keeps the link from the next one, gap included.
///
/// Rounded up to a picosecond; exact at standard rates.
pub fn occupancy(frame: Bytes, rate: BitRate) -> Duration {
    rate.time_ceil(wire_size(frame))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAST: BitRate = BitRate::from_mbps(100);

    #[test]
    fn sizes_of_the_catalogue() {
        // Catalogue 0.1: frame(UDP p) = max(64, p + 46), frame(RAW p) = max(64, p + 18).
        for p in 0..=1472 {
            let payload = Bytes::new(p);
            assert_eq!(frame_size(payload, Encapsulation::Udp).get(), (p + 46).max(64));
            assert_eq!(frame_size(payload, Encapsulation::Raw).get(), (p + 18).max(64));
        }
        assert_eq!(Encapsulation::Udp.max_payload().get(), 1472);
    }

    /// Oracle: IEEE 802.3-2022, 3.2.7 and 4A.4.2: 1518 octets, 1522 with a tag; 1538 with preamble and gap.
    #[test]
    fn the_longest_frames() {
        assert_eq!([MAX_FRAME.get(), MAX_TAGGED_FRAME.get()], [1_518, 1_522]);
        assert_eq!(wire_size(MAX_FRAME).get(), 1_538);
    }

    /// Oracle: RFC 791, 3.2, by hand: 8 octets of UDP and the payload are cut every 1480 octets,
    /// and each fragment has 20 octets of IP and 18 of Ethernet; the last one is padded.
    #[test]
    fn datagrams_are_fragmented_as_ip_does() {
        let of = |payload| {
            let frames = Frames::of_packet(Bytes::new(payload), Encapsulation::Udp);
            [u64::from(frames.count), frames.full.get(), frames.last.get()]
        };
        assert_eq!(of(1_472), [1, 1_518, 1_518]);
        assert_eq!(of(1_473), [2, 1_518, 64]);
        assert_eq!(of(2_952), [2, 1_518, 1_518]);
        assert_eq!(of(2_953), [3, 1_518, 64]);
        assert_eq!(of(5_000), [4, 1_518, 38 + 5_008 - 3 * 1_480]);
        assert_eq!(of(65_507), [45, 1_518, 38 + 65_515 - 44 * 1_480]);
        let frames = Frames::of_packet(Bytes::new(1_473), Encapsulation::Udp);
        let octet = |size: Bytes| Duration::from_ps(i64::try_from(size.get()).unwrap());
        assert_eq!(frames.total(octet).as_ps(), 1_518 + 64);
        assert_eq!([frames.size_of(0).get(), frames.size_of(1).get()], [1_518, 64]);
        let octets = |number| frames.octets_of(number, Bytes::new(28 + 1_473)).get();
        assert_eq!([octets(0), octets(1)], [1_500, 21]);
    }

    #[test]
    fn times_printed_in_the_papers() {
        // 000 Skeie: a full frame at 100 Mbit/s takes "122 us".
        assert_eq!(wire_time(Bytes::new(1518), FAST), Duration::from_ns(122_080));
        // 000 Skeie: 60 octets over UDP through two links, "19 us" with the switch.
        let frame = frame_size(Bytes::new(60), Encapsulation::Udp);
        assert_eq!(wire_time(frame, FAST) * 2, Duration::from_ns(18_240));
        // 003 Dolejs: 1024 octets over UDP through two links, 172.5 us.
        let frame = frame_size(Bytes::new(1024), Encapsulation::Udp);
        assert_eq!(wire_time(frame, FAST) * 2, Duration::from_ns(172_480));
        // Shortest frame with gap, the slot of line-rate arithmetic: 6.72 us.
        assert_eq!(occupancy(MIN_FRAME, FAST), Duration::from_ns(6_720));
    }
}
