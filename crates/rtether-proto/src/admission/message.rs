//! Messages between stations and the manager of channels.
//!
//! All fields are big-endian. 16 octets begin every message: `RT`, version 1, the kind, the address
//! of the talker, its number for the channel, a reason and a zero. Requests and offers go on with
//! the contract: period, release jitter and deadline in picoseconds (8 octets each), octets of the
//! untagged frame and frames of a release (2 each), the tag as in a frame or all ones (2), how
//! several listeners are reached and how many there are (1 each), and their addresses.

use alloc::string::String;
use alloc::vec::Vec;

use rtether_model::admission::{Admission, Refusal};
use rtether_model::flow::{Delivery, Flow, Phase, Tag, Traffic};
use rtether_model::mac::MacAddress;
use rtether_model::network::{NodeId, Pcp, Vid};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::wire::{self, Encapsulation};

/// First octets of a message, with the version.
const PREFIX: [u8; 3] = [b'R', b'T', 1];
/// The tag of frames without one.
const UNTAGGED: u16 = 0xFFFF;
/// Longest period, jitter and deadline.
const LONGEST: Duration = Duration::from_secs(86_400);

/// Which channel a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChannelId {
    /// The talker's address.
    pub talker: MacAddress,
    /// The talker's number for it.
    pub number: u32,
}

/// What a channel carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contract {
    /// Shortest time between two releases on their grid.
    pub period: Duration,
    /// How late a release may be.
    pub jitter: Duration,
    /// Longest permitted latency.
    pub deadline: Duration,
    /// Octets of the untagged frame, from addresses to FCS.
    pub frame: u16,
    /// Frames of a release.
    pub burst: u16,
    /// Tag of the frames.
    pub tag: Option<Tag>,
    /// How several listeners are reached.
    pub delivery: Delivery,
    /// Who listens, at least one.
    pub listeners: Vec<MacAddress>,
}

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Talker to manager: may this begin?
    Request(Contract),
    /// Manager to talker: it may, or why not.
    Answer(Result<(), Refusal>),
    /// Manager to listener: do you take part?
    Offer(Contract),
    /// Listener to manager: yes or no.
    Consent(bool),
    /// Talker to manager, manager to listener: the channel has ended.
    Release,
    /// The answer to a release.
    Released,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The channel.
    pub channel: ChannelId,
    /// What is said of it.
    pub body: Body,
}

impl Contract {
    /// Returns the contract of a flow; `None` if it cannot be a channel.
    pub fn of(flow: &Flow, address: impl Fn(NodeId) -> MacAddress) -> Option<Self> {
        if flow.obstacle_to_channel().is_some() {
            return None;
        }
        let releases = flow.traffic.releases()?;
        let contract = Self {
            period: releases.period,
            jitter: releases.jitter,
            deadline: flow.deadline?,
            frame: u16::try_from(flow.frames(flow.payload).full.get()).ok()?,
            burst: u16::try_from(releases.burst).ok()?,
            tag: flow.tag,
            delivery: flow.delivery,
            listeners: flow.listeners.iter().copied().map(address).collect(),
        };
        contract.is_sound().then_some(contract)
    }

    /// Returns the flow from these stations, with a payload that fills the frame.
    pub fn flow(&self, talker: NodeId, listeners: Vec<NodeId>) -> Flow {
        let traffic = if self.burst == 1 {
            Traffic::Periodic {
                period: self.period,
                phase: Phase::Random,
                release_jitter: self.jitter,
            }
        } else {
            Traffic::Sporadic {
                min_gap: self.period,
                mean_gap: self.period,
                burst: u32::from(self.burst),
            }
        };
        let payload = Bytes::new(u64::from(self.frame)) - wire::HEADER - wire::FCS;
        Flow {
            encapsulation: Encapsulation::Raw,
            tag: self.tag,
            delivery: self.delivery,
            deadline: Some(self.deadline),
            ..Flow::new(String::new(), talker, listeners, payload, traffic)
        }
    }

    fn is_sound(&self) -> bool {
        let is_time = |time: Duration| time > Duration::ZERO && time <= LONGEST;
        let frame = Bytes::new(u64::from(self.frame));
        let longest = wire::HEADER + wire::MAX_FRAME_PAYLOAD + wire::FCS;
        let mut listeners = self.listeners.clone();
        listeners.sort_unstable();
        listeners.dedup();
        is_time(self.period)
            && is_time(self.deadline)
            && (self.jitter == Duration::ZERO || is_time(self.jitter) && self.burst == 1)
            && self.burst > 0
            && (wire::MIN_FRAME..=longest).contains(&frame)
            && (1..=Admission::LISTENERS).contains(&self.listeners.len())
            && listeners.len() == self.listeners.len()
    }

    fn append_to(&self, octets: &mut Vec<u8>) {
        for time in [self.period, self.jitter, self.deadline] {
            octets.extend(time.as_ps().to_be_bytes());
        }
        let tag = self.tag.map_or(UNTAGGED, |tag| (u16::from(tag.pcp.get()) << 13) | tag.vid.get());
        for value in [self.frame, self.burst, tag] {
            octets.extend(value.to_be_bytes());
        }
        octets.push(u8::from(self.delivery == Delivery::Multicast));
        octets.push(u8::try_from(self.listeners.len()).unwrap_or(u8::MAX));
        octets.extend(self.listeners.iter().flat_map(|listener| listener.0));
    }

    fn parse(rest: &[u8]) -> Option<Self> {
        let (fields, addresses) = rest.split_first_chunk::<32>()?;
        let time = |at: usize| {
            let octets = *fields.get(at..)?.first_chunk::<8>()?;
            Some(Duration::from_ps(i64::from_be_bytes(octets)))
        };
        let short = |at: usize| {
            let octets = *fields.get(at..)?.first_chunk::<2>()?;
            Some(u16::from_be_bytes(octets))
        };
        let tag = match short(28)? {
            UNTAGGED => None,
            tag => Some(Tag {
                pcp: Pcp::new(u8::try_from(tag >> 13).ok()?)?,
                // The bit of frames that may be dropped is not a part of contracts.
                vid: Vid::new(tag & 0x1FFF)?,
            }),
        };
        let delivery = match fields[30] {
            0 => Delivery::Unicast,
            1 => Delivery::Multicast,
            _ => return None,
        };
        let (addresses, _) = addresses.as_chunks::<6>();
        let listeners = addresses.get(..usize::from(fields[31]))?;
        let contract = Self {
            period: time(0)?,
            jitter: time(8)?,
            deadline: time(16)?,
            frame: short(24)?,
            burst: short(26)?,
            tag,
            delivery,
            listeners: listeners.iter().copied().map(MacAddress).collect(),
        };
        contract.is_sound().then_some(contract)
    }
}

impl Message {
    /// Returns the octets of the message.
    pub fn to_octets(&self) -> Vec<u8> {
        let code = |reason: Refusal| u8::try_from(reason.index() + 1).unwrap_or(u8::MAX);
        let (kind, reason) = match &self.body {
            Body::Request(_) => (1, 0),
            Body::Answer(answer) => (2, answer.err().map_or(0, code)),
            Body::Offer(_) => (3, 0),
            Body::Consent(takes_part) => (4, u8::from(!takes_part)),
            Body::Release => (5, 0),
            Body::Released => (6, 0),
        };
        let mut octets = Vec::from(PREFIX);
        octets.push(kind);
        octets.extend(self.channel.talker.0);
        octets.extend(self.channel.number.to_be_bytes());
        octets.extend([reason, 0]);
        if let Body::Request(contract) | Body::Offer(contract) = &self.body {
            contract.append_to(&mut octets);
        }
        octets
    }

    /// Reads a message, which padding may follow; `None` if it is short, of another version, or
    /// says what cannot be.
    pub fn parse(octets: &[u8]) -> Option<Self> {
        let (start, rest) = octets.split_first_chunk::<16>()?;
        if start[..3] != PREFIX {
            return None;
        }
        let talker = MacAddress(*start[4..].first_chunk()?);
        let number = u32::from_be_bytes(*start[10..].first_chunk()?);
        let reason = start[14];
        let body = match (start[3], reason) {
            (1, 0) => Body::Request(Contract::parse(rest)?),
            (2, 0) => Body::Answer(Ok(())),
            (2, code) => Body::Answer(Err(*Refusal::ALL.get(usize::from(code) - 1)?)),
            (3, 0) => Body::Offer(Contract::parse(rest)?),
            (4, 0) => Body::Consent(true),
            (4, 1) => Body::Consent(false),
            (5, 0) => Body::Release,
            (6, 0) => Body::Released,
            _ => return None,
        };
        let channel = ChannelId { talker, number };
        // A talker does not listen to itself.
        let is_sound = match &body {
            Body::Request(contract) | Body::Offer(contract) => {
                !contract.listeners.contains(&talker)
            }
            Body::Answer(_) | Body::Consent(_) | Body::Release | Body::Released => true,
        };
        is_sound.then_some(Self { channel, body })
    }
}
