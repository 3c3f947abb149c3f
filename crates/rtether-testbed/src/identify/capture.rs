//! Conversations of others in a capture, paired into observations.
//!
//! Only a request that was alone counts: what the same device has to do at the same time would be a
//! part of its round trip. Requests of one kind cost alike, so that the kind with the most of them
//! makes the figures. What takes several messages in one segment or several segments is passed
//! over.

use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;

use rtether::import::{ImportError, IpPacket, Source, ip_packets};
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_proto::identify::request::{Conversation, Framing, Side};
use rtether_proto::identify::{Counters, Exchange, Observation, Path, Sent, Volley};

use super::{Asked, Identified, Method, NetworkShare, Protocol, Series, Share};

/// Protocols over IP.
const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
/// A request without an answer after this time is lost, as for the prober.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Most observations of a series: to look for a cycle takes time for each.
const MOST: usize = 2_000;
/// Most kinds of requests, devices, requests that wait for answers, and connections that are remembered.
const KINDS: usize = 16;
const DEVICES: usize = 1_024;
const WAITING: usize = 256;
const FLOWS: usize = 4_096;
/// Thirty days before and after, in nanoseconds.
const MONTH: std::ops::RangeInclusive<i64> = -2_592_000_000_000_000..=2_592_000_000_000_000;
/// Octets of the headers of UDP, and least of TCP.
const UDP_HEADER: usize = 8;
const TCP_HEADER: usize = 20;

/// Why a capture tells nothing.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// It cannot be read.
    #[error(transparent)]
    File(#[from] ImportError),
    /// Several devices have answered.
    #[error("{file}: {count} devices answer in it, such as {devices}; name one of them")]
    Several {
        /// The file.
        file: String,
        /// How many.
        count: usize,
        /// Those with the most answers.
        devices: String,
    },
    /// The address is not one.
    #[error("`{0}` is no IPv4 address, which is what captures name")]
    Address(String),
}

/// What a capture tells of a device; without a name, of the only one that answers in it. Times are
/// those at the point of capture, so that nothing is taken out of them.
///
/// # Errors
/// If the file is no capture, or it is not clear which device is meant.
pub fn from_capture(source: Source<'_>, target: Option<&str>) -> Result<Identified, CaptureError> {
    let file = source.name.clone();
    let wanted = target.map(|text| text.parse().map_err(|_| CaptureError::Address(text.into())));
    let wanted: Option<Ipv4Addr> = wanted.transpose()?;
    let mut pairs = Pairs::default();
    ip_packets(source, |packet| pairs.take(&packet))?;
    let address = wanted.map_or_else(|| pairs.only(file), |own| Ok(Some(own)))?;
    let source = "nothing taken out, times are those at the point of capture".to_owned();
    let network = NetworkShare { path: Path::default(), source };
    let own = pairs.devices.into_iter().filter(|((device, _), _)| Some(*device) == address);
    let series = own.map(|((_, protocol), talk)| talk.finish(protocol));
    Ok(Identified {
        target: address.map_or_else(|| "capture".to_owned(), |own| own.to_string()),
        address,
        identity: None,
        share: Share { network, host: None },
        series: series.filter(|own| own.counters.answered > 0).collect(),
        silent: Vec::new(),
        is_interrupted: false,
    })
}

/// Requests and answers of all devices.
#[derive(Default)]
struct Pairs {
    /// The first packet's time, in nanoseconds.
    start: Option<i64>,
    devices: BTreeMap<(Ipv4Addr, Conversation), Talk>,
    /// What comes next in a direction of a connection: a segment before it is a repetition.
    next: BTreeMap<(Ipv4Addr, u16, Ipv4Addr, u16), u32>,
}

/// What was said with one device in one protocol.
#[derive(Default)]
struct Talk {
    /// Requests without an answer so far, with who has asked; the oldest first.
    waiting: VecDeque<Waiting>,
    /// By kind of request.
    observations: BTreeMap<u16, Vec<Observation>>,
    counters: Counters,
    last: Option<Instant>,
}

/// A request.
struct Waiting {
    by: (Ipv4Addr, u16),
    token: u128,
    at: Instant,
    frame: Bytes,
    kind: u16,
    /// Whether no other was outstanding meanwhile.
    is_alone: bool,
}

/// A message: who has sent it to whom, when, and in which frame.
struct Spoken<'a> {
    at: Instant,
    frame: Bytes,
    from: (Ipv4Addr, u16),
    to: (Ipv4Addr, u16),
    octets: &'a [u8],
}

impl<'a> Spoken<'a> {
    fn of(packet: &IpPacket<'_>, at: Instant, ports: [u16; 2], octets: &'a [u8]) -> Self {
        Self {
            at,
            frame: Bytes::new(packet.frame as u64),
            from: (packet.from, ports[0]),
            to: (packet.to, ports[1]),
            octets,
        }
    }
}

impl Pairs {
    /// Takes a packet in the order of the capture.
    fn take(&mut self, packet: &IpPacket<'_>) {
        let start = *self.start.get_or_insert(packet.at);
        // What is stamped a month from the first is no part of a conversation with it, and the span
        // between any two others fits a time.
        let Some(since) = packet.at.checked_sub(start).filter(|ns| MONTH.contains(ns)) else {
            return;
        };
        let at = Instant::from_ps(since * 1_000);
        match packet.protocol {
            ICMP => self.hear(Conversation::Echo, &Spoken::of(packet, at, [0; 2], packet.payload)),
            UDP => {
                let Some(ports) = ports(packet.payload) else { return };
                let octets = packet.payload.get(UDP_HEADER..).unwrap_or_default();
                let all = [Conversation::Snmp, Conversation::Enip];
                self.hear_one(&all, &Spoken::of(packet, at, ports, octets));
            }
            TCP => {
                let Some(ports) = ports(packet.payload) else { return };
                let Some(octets) = self.segment(packet, ports) else { return };
                let all = [Conversation::Modbus, Conversation::Enip];
                self.hear_one(&all, &Spoken::of(packet, at, ports, octets));
            }
            _ => {}
        }
    }

    /// Returns the data of a segment of TCP that is no repetition.
    fn segment<'a>(&mut self, packet: &IpPacket<'a>, [from, to]: [u16; 2]) -> Option<&'a [u8]> {
        let head: &[u8; TCP_HEADER] = packet.payload.first_chunk()?;
        let number = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
        let header = 4 * usize::from(head[12] >> 4);
        let octets = packet.payload.get(header.max(TCP_HEADER)..)?;
        if octets.is_empty() {
            return None;
        }
        let key = (packet.from, from, packet.to, to);
        if self.next.len() >= FLOWS && !self.next.contains_key(&key) {
            return None;
        }
        let next = number.wrapping_add(u32::try_from(octets.len()).ok()?);
        let before = self.next.insert(key, next);
        // Half of all numbers are before another one (RFC 9293, 3.4).
        let is_again = before.is_some_and(|before| number.wrapping_sub(before) >= 1 << 31);
        if is_again {
            self.next.insert(key, before.unwrap_or(next));
        }
        (!is_again).then_some(octets)
    }

    /// Hears a message in the protocol of its port.
    fn hear_one(&mut self, all: &[Conversation], spoken: &Spoken<'_>) {
        let ports = [spoken.from.1, spoken.to.1].map(Some);
        if let Some(own) = all.iter().copied().find(|own| ports.contains(&own.port())) {
            self.hear(own, spoken);
        }
    }

    fn hear(&mut self, protocol: Conversation, spoken: &Spoken<'_>) {
        let from_server = protocol.port() == Some(spoken.from.1);
        if protocol.framing().is_some_and(|framing| !is_whole(framing, spoken.octets)) {
            return;
        }
        let Some(side) = protocol.read(spoken.octets, from_server) else { return };
        let (device, client, token) = match side {
            Side::Request(token, _) => (spoken.to.0, spoken.from, token),
            Side::Answer(token) => (spoken.from.0, spoken.to, token),
        };
        let key = (device, protocol);
        if self.devices.len() >= DEVICES && !self.devices.contains_key(&key) {
            return;
        }
        let talk = self.devices.entry(key).or_default();
        match side {
            Side::Request(_, kind) => talk.ask(client, (token, kind), spoken),
            Side::Answer(_) => talk.answer(client, token, spoken),
        }
    }

    /// Returns the only device with answers; `None` if there is none.
    fn only(&self, file: String) -> Result<Option<Ipv4Addr>, CaptureError> {
        let mut answers: BTreeMap<Ipv4Addr, u64> = BTreeMap::new();
        for ((device, _), talk) in &self.devices {
            if talk.counters.answered > 0 {
                *answers.entry(*device).or_default() += talk.counters.answered;
            }
        }
        let mut most: Vec<(u64, Ipv4Addr)> =
            answers.into_iter().map(|(device, count)| (count, device)).collect();
        most.sort_unstable();
        match most.as_slice() {
            [] => Ok(None),
            [(_, only)] => Ok(Some(*only)),
            all => {
                let named = all.iter().rev().take(3).map(|(_, device)| device.to_string());
                let devices = named.collect::<Vec<_>>().join(", ");
                Err(CaptureError::Several { file, count: all.len(), devices })
            }
        }
    }
}

/// Returns the ports of a datagram or segment.
fn ports(octets: &[u8]) -> Option<[u16; 2]> {
    let [a, b, c, d] = *octets.first_chunk()?;
    Some([u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])])
}

/// Returns whether a segment has exactly one message.
fn is_whole(framing: Framing, octets: &[u8]) -> bool {
    framing.octets(octets) == Some(octets.len())
}

impl Talk {
    fn ask(&mut self, by: (Ipv4Addr, u16), (token, kind): (u128, u16), spoken: &Spoken<'_>) {
        self.expire(spoken.at);
        let is_alone = self.waiting.is_empty();
        for other in &mut self.waiting {
            other.is_alone = false;
        }
        if self.waiting.len() == WAITING {
            self.waiting.pop_front();
            self.counters.lost += 1;
        }
        self.counters.sent += 1;
        let (at, frame) = (spoken.at, spoken.frame);
        self.waiting.push_back(Waiting { by, token, at, frame, kind, is_alone });
    }

    fn answer(&mut self, to: (Ipv4Addr, u16), token: u128, spoken: &Spoken<'_>) {
        self.expire(spoken.at);
        let place = self.waiting.iter().position(|own| own.by == to && own.token == token);
        let Some(asked) = place.and_then(|place| self.waiting.remove(place)) else {
            self.counters.unknown += 1;
            return;
        };
        // A capture of several points may have stamps in another order.
        if spoken.at < asked.at {
            self.counters.unknown += 1;
            return;
        }
        self.counters.answered += 1;
        if self.observations.len() >= KINDS && !self.observations.contains_key(&asked.kind) {
            return;
        }
        let own = self.observations.entry(asked.kind).or_default();
        if !asked.is_alone || own.len() >= MOST {
            return;
        }
        let sizes = Exchange { request: asked.frame, answer: spoken.frame };
        let gap = self.last.map_or(Duration::ZERO, |last| asked.at - last);
        self.last = Some(asked.at);
        let answered = Some(spoken.at);
        let packets = vec![Sent { at: asked.at, answered, sizes }];
        own.push(Observation { volley: Volley::request(sizes, gap), packets });
    }

    /// Gives up requests that have waited too long.
    fn expire(&mut self, now: Instant) {
        while self.waiting.front().is_some_and(|own| now > own.at + TIMEOUT) {
            self.waiting.pop_front();
            self.counters.lost += 1;
        }
    }

    fn finish(self, protocol: Conversation) -> Series {
        let (word, port) = match protocol {
            Conversation::Echo => (Protocol::Echo, None),
            Conversation::Snmp => (Protocol::Snmp, protocol.port()),
            Conversation::Modbus => (Protocol::Modbus, protocol.port()),
            Conversation::Enip => (Protocol::Enip, protocol.port()),
        };
        let asked = Asked { protocol: word, port };
        let most = self.observations.into_values().max_by_key(Vec::len).unwrap_or_default();
        let mut series = Series::of(asked, Method::Capture, &most, &Path::default());
        series.counters = self.counters;
        let ends = most.first().zip(most.last());
        series.took =
            ends.map_or(Duration::ZERO, |(first, last)| last.packets[0].at - first.packets[0].at);
        series
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
    const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

    fn echo(pairs: &mut Pairs, us: i64, is_reply: bool, sequence: u8) {
        let kind = if is_reply { 0 } else { 8 };
        let payload = [kind, 0, 0, 0, 0, 1, 0, sequence];
        let (from, to) = if is_reply { (DEVICE, CLIENT) } else { (CLIENT, DEVICE) };
        let at = us * 1_000;
        pairs.take(&IpPacket { at, from, to, protocol: ICMP, frame: 64, payload: &payload });
    }

    fn segment(pairs: &mut Pairs, us: i64, number: u32, from_device: bool, data: &[u8]) {
        let ports: [u16; 2] = if from_device { [502, 40_000] } else { [40_000, 502] };
        let mut payload: Vec<u8> = ports.iter().flat_map(|port| port.to_be_bytes()).collect();
        payload.extend(number.to_be_bytes());
        payload.extend([0, 0, 0, 0, 0x50, 0x18, 0, 0, 0, 0, 0, 0]);
        payload.extend(data);
        let (from, to) = if from_device { (DEVICE, CLIENT) } else { (CLIENT, DEVICE) };
        let at = us * 1_000;
        pairs.take(&IpPacket { at, from, to, protocol: TCP, frame: 70, payload: &payload });
    }

    /// Oracle: by hand: what overlaps, is lost or doubled counts and is no observation.
    #[test]
    fn requests_that_were_alone_are_paired() {
        let mut pairs = Pairs::default();
        echo(&mut pairs, 0, false, 1);
        echo(&mut pairs, 300, true, 1);
        echo(&mut pairs, 310, true, 1);
        echo(&mut pairs, 1_000, false, 2);
        echo(&mut pairs, 1_100, false, 3);
        echo(&mut pairs, 1_400, true, 2);
        echo(&mut pairs, 1_500, true, 3);
        echo(&mut pairs, 2_000, false, 4);
        echo(&mut pairs, 5_000_000, false, 5);
        echo(&mut pairs, 5_000_250, true, 5);
        let talk = &pairs.devices[&(DEVICE, Conversation::Echo)];
        let Counters { sent, answered, lost, unknown, .. } = talk.counters;
        assert_eq!((sent, answered, lost, unknown), (5, 4, 1, 1));
        let trips = talk.observations[&0].iter().filter_map(Observation::single);
        let trips: Vec<Duration> = trips.map(|(from, to)| to - from).collect();
        assert_eq!(trips, [300, 250].map(Duration::from_us));
        assert_eq!(pairs.only("x".into()).unwrap(), Some(DEVICE));
    }

    /// Oracle: no panic, for stamps at both ends of what a file can say.
    #[test]
    fn stamps_far_apart_are_passed_over() {
        let mut pairs = Pairs::default();
        let payload = [8, 0, 0, 0, 0, 1, 0, 1];
        for at in [0, i64::MAX, i64::MIN, 9_223_372_036_854_775, -9_223_372_036_854_775, 5] {
            let (from, to) = (CLIENT, DEVICE);
            pairs.take(&IpPacket { at, from, to, protocol: ICMP, frame: 64, payload: &payload });
        }
        assert_eq!(pairs.devices[&(DEVICE, Conversation::Echo)].counters.sent, 2);
    }

    /// Oracle: by hand: a repetition of TCP, a write and half a message are passed over.
    #[test]
    fn segments_with_one_read_count() {
        let mut pairs = Pairs::default();
        let request = [0, 7, 0, 0, 0, 6, 1, 3, 0, 0, 0, 1];
        let answer = [0, 7, 0, 0, 0, 5, 1, 3, 2, 0, 9];
        segment(&mut pairs, 0, 100, false, &request);
        segment(&mut pairs, 200_000, 100, false, &request);
        segment(&mut pairs, 200_400, 900, true, &answer);
        segment(&mut pairs, 300_000, 112, false, &[0, 8, 0, 0, 0, 6, 1, 6, 0, 0, 0, 1]);
        segment(&mut pairs, 300_100, 124, false, &request[..6]);
        let talk = &pairs.devices[&(DEVICE, Conversation::Modbus)];
        assert_eq!((talk.counters.sent, talk.counters.answered), (1, 1));
        let trip = talk.observations[&3][0].single().unwrap();
        assert_eq!(trip.1 - trip.0, Duration::from_us(200_400));
    }
}
