//! One protocol with what is known of one device: the request of each packet, and what an answer
//! belongs to.

use alloc::vec;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use rtether_model::quantity::Bytes;

use super::answer::{Answer, Channel, Malformed, Outcome};
use super::carrier::Carrier;
use super::message::{Heard, Request};
use super::{Framing, arp, cndep, enip, modbus, opcua, snmp};
use crate::identify::prober::Packet;
use crate::identify::sizes::{Exchange, Sizes, Span};
use crate::mechanism::arp::Address;
use crate::probe::icmp::{self, Echo};
use crate::probe::message::{Kind, Message, SIZE_MIN};

/// Frames of a TCP SYN with the options of Linux, and of a reset.
const SYN: u64 = 78;
const RESET: u64 = 64;
/// Hosts quote packets in messages of ICMP so that these have at most 576 octets (RFC 1812, 4.3.2.3):
/// the frame of such a message. Requests at least as large have answers of one size.
const QUOTING: u64 = 594;
/// Type and code of "port unreachable" (RFC 792), and the header before the quoted packet.
const UNREACHABLE: [u8; 2] = [3, 3];
const QUOTED_AT: usize = 8;
/// Header of a quoted datagram of UDP.
const UDP: usize = 8;
const UDP_NUMBER: u8 = 17;

/// The largest request of OPC UA: longer audit entries are load.
const AUDITED: Bytes = Bytes::new(1_024);

/// How a device is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// ICMP echo.
    Echo {
        /// Distinguishes runs.
        identifier: u16,
        /// The largest frame that is sent.
        most: Bytes,
    },
    /// Messages of rtether's own echo over UDP.
    Message {
        /// Distinguishes runs.
        session: u32,
        /// The largest frame that is sent.
        most: Bytes,
    },
    /// Datagrams to a closed port of UDP, which ICMP answers.
    Unreachable {
        /// The closed port.
        port: u16,
    },
    /// Connections: a driver reports how each ended ([`Ended`]).
    Connect,
    /// Version 2c of SNMP.
    Snmp {
        /// The community that may read.
        community: Vec<u8>,
        /// Repetitions of getbulk with the frames that answered them; if there are none, a get is
        /// asked.
        tried: Vec<(u8, Bytes)>,
    },
    /// Reads of holding registers over one connection.
    Modbus {
        /// The unit behind the address.
        unit: u8,
        /// The first register.
        first: u16,
        /// Most registers of a read that the device answers; zero if it refuses all.
        most: u8,
        /// How its segments look.
        carrier: Carrier,
    },
    /// Requests of ARP; a driver knows where to send them.
    Arp {
        /// The addresses of this host.
        own: Address,
        /// The device.
        device: Ipv4Addr,
    },
    /// The command Test of CNDEP, with the octets of [`crate::probe::cndep`].
    Cndep,
    /// Questions for servers over one channel.
    OpcUa {
        /// The channel.
        channel: Channel,
        /// The address by which the device is asked.
        url: Vec<u8>,
        /// Octets of the frame that answers.
        answer: Bytes,
        /// How its segments look.
        carrier: Carrier,
    },
    /// Reads of an attribute over one connection.
    Enip {
        /// The session.
        session: u32,
        /// How its segments look.
        carrier: Carrier,
    },
}

/// How a connection ended that was begun for a packet: what a driver tells in place of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The packet.
    pub id: u32,
    /// Whether it was refused; else it was opened.
    pub is_refused: bool,
}

impl Ended {
    /// Returns it as a message.
    pub const fn message(self) -> [u8; 5] {
        let [a, b, c, d] = self.id.to_be_bytes();
        [a, b, c, d, self.is_refused as u8]
    }
}

impl Dialect {
    /// Returns what a sender may choose.
    pub fn sizes(&self) -> Sizes {
        let least = Bytes::new(64);
        match self {
            Self::Echo { most, .. } => Sizes::Alike(Span { least, most: *most }),
            Self::Message { most, .. } => {
                Sizes::Alike(Span { least: Carrier::Udp.frame(SIZE_MIN), most: *most })
            }
            Self::Unreachable { .. } => {
                let answer = Bytes::new(QUOTING);
                let most = Carrier::Udp.frame(Carrier::Udp.room());
                Sizes::Request { request: Span { least: answer, most }, answer }
            }
            Self::Connect => {
                Sizes::Fixed(Exchange { request: Bytes::new(SYN), answer: Bytes::new(RESET) })
            }
            Self::Arp { .. } => Sizes::Fixed(Exchange { request: arp::FRAME, answer: arp::FRAME }),
            Self::Cndep => {
                let frame = cndep::request().frame;
                Sizes::Fixed(Exchange { request: frame, answer: frame })
            }
            Self::OpcUa { url, answer, carrier, .. } => {
                let least = opcua::smallest(url.len(), *carrier);
                Sizes::Request { request: Span { least, most: AUDITED }, answer: *answer }
            }
            Self::Snmp { community, tried } => Self::of_snmp(community.len(), tried),
            Self::Modbus { most, carrier, .. } => match most {
                0 => Sizes::Fixed(Exchange {
                    request: carrier.frame(12),
                    // An exception.
                    answer: carrier.frame(9),
                }),
                most => {
                    let [smallest, largest] = [1, *most].map(|own| modbus::exchange(own, *carrier));
                    let answer = Span { least: smallest.answer, most: largest.answer };
                    Sizes::Answer { request: smallest.request, answer }
                }
            },
            Self::Enip { carrier, .. } => {
                Sizes::Fixed(Exchange { request: carrier.frame(48), answer: carrier.frame(46) })
            }
        }
    }

    fn of_snmp(community: usize, tried: &[(u8, Bytes)]) -> Sizes {
        let frames = tried.iter().map(|(_, frame)| *frame);
        let request = Carrier::Udp.frame(snmp::octets(community, 1, 0));
        match frames.clone().min().zip(frames.max()) {
            Some((least, most)) if least < most => {
                Sizes::Answer { request, answer: Span { least, most } }
            }
            // Two octets of sysUpTime.
            _ => Sizes::Fixed(Exchange {
                request,
                answer: Carrier::Udp.frame(snmp::octets(community, 1, 2)),
            }),
        }
    }

    /// Returns how its messages are cut out of a stream; `None` if they are datagrams.
    pub const fn framing(&self) -> Option<Framing> {
        match self {
            Self::Modbus { .. } => Some(Framing::Modbus),
            Self::Enip { .. } => Some(Framing::Enip),
            Self::OpcUa { .. } => Some(Framing::OpcUa),
            Self::Echo { .. }
            | Self::Arp { .. }
            | Self::Cndep
            | Self::Message { .. }
            | Self::Unreachable { .. }
            | Self::Connect
            | Self::Snmp { .. } => None,
        }
    }

    /// Returns whether there are packets without an answer, which load needs.
    pub const fn has_silent(&self) -> bool {
        matches!(self, Self::Echo { .. })
    }

    /// Builds the request of a packet that comes nearest to its sizes. `None` if there is none, as for
    /// a silent packet of most protocols.
    pub fn request(&self, packet: &Packet) -> Option<Request> {
        let id = packet.id;
        match (self, packet.answer) {
            (Self::Echo { identifier, .. }, answer) => {
                let mut octets = filled(packet.request, Carrier::Ip, icmp::HEADER);
                let echo = Echo { identifier: *identifier, sequence: low(id) };
                let is_written = match answer {
                    Some(_) => icmp::write_request(&mut octets, echo),
                    None => icmp::write_silent(&mut octets, echo),
                };
                is_written.then(|| of(octets, Carrier::Ip))
            }
            (_, None) => None,
            (Self::Message { session, .. }, _) => {
                let mut octets = filled(packet.request, Carrier::Udp, SIZE_MIN);
                let message = Message { session: *session, sequence: id, kind: Kind::Request };
                message.write(&mut octets).then(|| of(octets, Carrier::Udp))
            }
            (Self::Unreachable { .. }, _) => {
                let mut octets = filled(packet.request, Carrier::Udp, 4);
                octets[..4].copy_from_slice(&id.to_be_bytes());
                Some(of(octets, Carrier::Udp))
            }
            (Self::Arp { own, device }, _) => Some(arp::request(*own, *device)),
            (Self::Cndep, _) => Some(cndep::request()),
            (Self::OpcUa { channel, url, carrier, .. }, _) => {
                let entry = opcua::entry(packet.request, url.len(), *carrier);
                Some(of(opcua::find_servers(id, *channel, url, entry), *carrier))
            }
            (Self::Connect, _) => Some(Request { octets: Vec::new(), frame: Bytes::new(SYN) }),
            (Self::Snmp { community, tried }, Some(answer)) => {
                let octets = match snmp::repetitions(answer, tried) {
                    Some(repetitions) => snmp::get_bulk(id, community, repetitions),
                    None => snmp::get(id, snmp::Version::V2c, community, snmp::Variable::UpTime, 1),
                };
                octets.map(|octets| of(octets, Carrier::Udp))
            }
            (Self::Modbus { unit, first, most, carrier }, Some(answer)) => {
                let quantity = modbus::quantity(answer, *carrier).min((*most).max(1));
                let octets = modbus::registers(id, *unit, *first, quantity)?;
                Some(of(octets.to_vec(), *carrier))
            }
            (Self::Enip { session, carrier }, _) => {
                Some(of(enip::attribute(id, *session), *carrier))
            }
        }
    }

    /// Reads a message that has come. `None` if it belongs to another conversation, as most of what
    /// a host hears over ICMP does.
    ///
    /// # Errors
    /// If it is no answer of the protocol.
    pub fn read(&self, octets: &[u8]) -> Result<Option<Heard>, Malformed> {
        match self {
            Self::Echo { identifier, .. } => echo(octets, *identifier),
            Self::Message { session, .. } => message(octets, *session),
            Self::Unreachable { port } => Ok(unreachable(octets, *port)),
            Self::Connect => {
                let [a, b, c, d, end] = *octets else { return Err(Malformed::Truncated) };
                let is_refused = end == 1;
                let outcome = if is_refused { Outcome::Refused(1) } else { Outcome::Done };
                let token = Some((u32::from_be_bytes([a, b, c, d]), u32::MAX));
                let frame = Bytes::new(if is_refused { RESET } else { SYN });
                Ok(Some(Heard { token, frame, outcome }))
            }
            Self::Arp { own, device } => Ok(arp::read(octets, *own, *device)),
            Self::Cndep => cndep::read(octets).map(Some),
            Self::OpcUa { carrier, .. } => heard(opcua::answer(octets)?, opcua::TOKEN, *carrier),
            Self::Snmp { .. } => heard(snmp::answer(octets)?, snmp::TOKEN, Carrier::Udp),
            Self::Modbus { carrier, .. } => heard(modbus::answer(octets)?, modbus::TOKEN, *carrier),
            Self::Enip { carrier, .. } => heard(enip::answer(octets)?, enip::TOKEN, *carrier),
        }
    }
}

/// Returns zeros that make a frame of these octets, at least the least message.
fn filled(frame: Bytes, carrier: Carrier, least: usize) -> Vec<u8> {
    let around = carrier.frame(carrier.room()).get() - carrier.room() as u64;
    let octets = usize::try_from(frame.get().saturating_sub(around));
    vec![0; octets.map_or(least, |octets| octets.clamp(least, carrier.room()))]
}

fn of(octets: Vec<u8>, carrier: Carrier) -> Request {
    let frame = carrier.frame(octets.len());
    Request { octets, frame }
}

fn low(id: u32) -> u16 {
    let [.., high, low] = id.to_be_bytes();
    u16::from_be_bytes([high, low])
}

#[allow(clippy::unnecessary_wraps, reason = "as the other readers return it")]
fn heard(answer: Answer, mask: u32, carrier: Carrier) -> Result<Option<Heard>, Malformed> {
    let Answer { token, octets, outcome } = answer;
    // What takes several frames is told by the largest.
    let frame = carrier.frame(octets.min(carrier.room()));
    Ok(Some(Heard { token: Some((token, mask)), frame, outcome }))
}

/// Reads a message of ICMP: others on this host have requests and replies of their own.
fn echo(octets: &[u8], identifier: u16) -> Result<Option<Heard>, Malformed> {
    let [0, _, _, _, high, low, ..] = *octets else { return Ok(None) };
    if u16::from_be_bytes([high, low]) != identifier {
        return Ok(None);
    }
    let found = icmp::parse_reply(octets).map_err(|_| Malformed::Unexpected("check sum"))?;
    let token = Some((found.sequence.into(), 0xFFFF));
    let frame = Carrier::Ip.frame(octets.len().min(Carrier::Ip.room()));
    Ok(Some(Heard { token, frame, outcome: Outcome::Done }))
}

fn message(octets: &[u8], session: u32) -> Result<Option<Heard>, Malformed> {
    let found = Message::parse(octets).map_err(|_| Malformed::Unexpected("header"))?;
    let is_own = found.session == session && matches!(found.kind, Kind::Reply { .. });
    let frame = Carrier::Udp.frame(octets.len().min(Carrier::Udp.room()));
    let token = Some((found.sequence, u32::MAX));
    Ok(is_own.then_some(Heard { token, frame, outcome: Outcome::Done }))
}

/// Reads a message of ICMP that quotes a datagram to this port, with as much of its octets as the
/// device quotes.
fn unreachable(octets: &[u8], port: u16) -> Option<Heard> {
    let quoted = octets.get(QUOTED_AT..).filter(|_| octets.starts_with(&UNREACHABLE))?;
    let header = 4 * usize::from(quoted.first()? & 0x0F);
    let is_udp = quoted.get(9) == Some(&UDP_NUMBER);
    let datagram = quoted.get(header..).filter(|_| is_udp)?;
    let [high, low] = *datagram.get(2..4)?.first_chunk()?;
    if u16::from_be_bytes([high, low]) != port {
        return None;
    }
    let name = datagram.get(UDP..).and_then(|own| own.first_chunk());
    let token = name.map(|name| (u32::from_be_bytes(*name), u32::MAX));
    let frame = Carrier::Ip.frame(octets.len().min(Carrier::Ip.room()));
    Some(Heard { token, frame, outcome: Outcome::Refused(3) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtether_model::mac::MacAddress;

    const TCP: Carrier = Carrier::Tcp { timestamps: true };

    fn all() -> Vec<Dialect> {
        let most = Bytes::new(1_024);
        vec![
            Dialect::Echo { identifier: 7, most },
            Dialect::Message { session: 7, most },
            Dialect::Unreachable { port: 9 },
            Dialect::Connect,
            Dialect::Snmp { community: b"public".to_vec(), tried: Vec::new() },
            Dialect::Snmp {
                community: b"public".to_vec(),
                tried: vec![(1, Bytes::new(98)), (16, Bytes::new(600))],
            },
            Dialect::Modbus { unit: 1, first: 0, most: 0, carrier: TCP },
            Dialect::Modbus { unit: 1, first: 0, most: 60, carrier: TCP },
            Dialect::Enip { session: 5, carrier: TCP },
            Dialect::Arp {
                own: Address { hardware: MacAddress([2; 6]), protocol: Ipv4Addr::LOCALHOST },
                device: Ipv4Addr::LOCALHOST,
            },
            Dialect::Cndep,
            Dialect::OpcUa {
                channel: Channel { id: 6, token: 13 },
                url: b"opc.tcp://10.0.0.2:4840".to_vec(),
                answer: Bytes::new(250),
                carrier: TCP,
            },
        ]
    }

    /// Oracle: the frame is that of its octets, and within two octets of what was asked for where
    /// the request is free.
    #[test]
    fn requests_have_the_planned_sizes() {
        for dialect in all() {
            for exchange in dialect.sizes().grid() {
                let packet = Packet {
                    id: 0x1_0203,
                    request: exchange.request,
                    answer: Some(exchange.answer),
                    high: false,
                };
                let request = dialect.request(&packet).unwrap();
                let off = request.frame.get().abs_diff(exchange.request.get());
                assert!(off <= 2, "{dialect:?} {exchange:?} {request:?}");
                let silent = dialect.request(&Packet { answer: None, ..packet });
                assert_eq!(silent.is_some(), dialect.has_silent());
            }
        }
    }

    /// Oracle: RFC 792 by hand, a datagram from port 0x1234 to port 9 with the name 7 in it.
    #[test]
    fn a_quoted_datagram_is_found() {
        let mut octets = vec![3, 3, 0, 0, 0, 0, 0, 0];
        octets.extend([0x45, 0, 0, 32, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        octets.extend([0x12, 0x34, 0, 9, 0, 12, 0, 0]);
        let dialect = Dialect::Unreachable { port: 9 };
        // A device that quotes eight octets only.
        assert_eq!(dialect.read(&octets).unwrap().unwrap().token, None);
        octets.extend([0, 0, 0, 7]);
        let heard = dialect.read(&octets).unwrap().unwrap();
        assert_eq!((heard.token, heard.frame), (Some((7, u32::MAX)), Bytes::new(78)));
        octets[31] = 8;
        assert_eq!(dialect.read(&octets), Ok(None));
    }

    /// Oracle: by hand. A silent packet is a reply, which no host answers.
    #[test]
    fn echoes_are_told_from_those_of_others() {
        let own = Dialect::Echo { identifier: 7, most: Bytes::new(1_024) };
        let packet = Packet { id: 0x1_0203, request: Bytes::new(64), answer: None, high: false };
        let mut reply = own.request(&packet).unwrap().octets;
        assert_eq!((reply[0], reply.len()), (0, 26));
        let heard = own.read(&reply).unwrap().unwrap();
        assert_eq!((heard.token, heard.frame), (Some((0x203, 0xFFFF)), Bytes::new(64)));
        reply[25] = 1;
        assert_eq!(own.read(&reply), Err(Malformed::Unexpected("check sum")));
        reply[5] = 8;
        assert_eq!(own.read(&reply), Ok(None));
        let ended = Ended { id: 9, is_refused: true };
        let heard = Dialect::Connect.read(&ended.message()).unwrap().unwrap();
        assert_eq!((heard.token, heard.outcome), (Some((9, u32::MAX)), Outcome::Refused(1)));
    }

    /// Oracle: any octets are read or refused.
    #[test]
    fn no_octets_make_it_panic() {
        for dialect in all() {
            for length in 0..80 {
                for octet in [0, 1, 3, 0x30, 0x45, 0x7F, 0xFF] {
                    let _ = dialect.read(&vec![octet; length]);
                }
            }
        }
    }
}
