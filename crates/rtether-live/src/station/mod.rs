//! An end station of a test bed: one thread that sends what its flows release and receives what
//! arrives for it.
//!
//! Releases are those of the simulator's flows ([`rtether_sim::release`]); packets go through
//! ordinary sockets. Nothing is judged here: the log records what was sent and what arrived, and
//! when. All stations of a test bed are threads of one process on one host, so one clock serves
//! both ends of a packet. Stations on separate hosts have separate clocks, whose offsets are needed
//! to merge their logs.

pub mod mark;
pub mod published;
mod run;
mod sockets;
pub mod tcp;

use std::net::Ipv4Addr;

use rtether_model::network::{Pcp, Vid};
use rtether_model::quantity::{Duration, Instant};
use rtether_sim::release::Releases;
use rtether_sim::thinking::Thinking;

use crate::filter::TAG_PRIORITY;
use crate::link::{MacAddress, UdpOptions};
use crate::thread::PlacementError;

pub use run::Station;

/// UDP port of measured packets.
pub const PORT: u16 = 7_255;
/// Most records that a station keeps of sent and of arrived packets, each; more are only counted.
pub const RECORDS_MAX: usize = 4_000_000;

/// How packets of a flow travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// UDP over IPv4.
    Udp,
    /// ICMP echo over IPv4: requests, whose payload the peer's kernel returns.
    Echo,
    /// Frames of this `EtherType`, with `header` octets of a protocol header before the payload.
    Raw {
        /// The `EtherType`.
        ethertype: u16,
        /// Size of the header, in octets, all zero.
        header: usize,
    },
}

/// Another station, or a group of stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its IP address.
    pub ip: Ipv4Addr,
    /// Its Ethernet address.
    pub mac: MacAddress,
}

/// Marks of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tagging {
    /// DSCP.
    pub dscp: u8,
    /// IEEE 802.1Q tag.
    pub tag: Option<(Pcp, Vid)>,
    /// Whether the station's device has the filters that tag packets of ordinary sockets. Without
    /// them sockets only set the priority (`SO_PRIORITY`), which a VLAN device or a queueing
    /// discipline of the host may use.
    pub has_filter: bool,
}

impl Tagging {
    /// Returns the options of an ordinary socket.
    fn options(self) -> UdpOptions {
        UdpOptions { dscp: self.dscp, priority: self.priority() }
    }

    /// Returns the priority of an ordinary socket.
    fn priority(self) -> Option<u32> {
        let (pcp, vid) = self.tag?;
        let priority = u32::from(pcp.get());
        Some(if self.has_filter {
            TAG_PRIORITY | priority << 13 | u32::from(vid.get())
        } else {
            priority
        })
    }
}

/// A flow that starts here.
pub struct Outgoing {
    /// First of its streams; each peer gets one packet per release, and the streams count up.
    pub stream: u16,
    /// Times of the releases.
    pub releases: Releases,
    /// Destinations: one peer for each listener, or one group for all.
    pub peers: Vec<Peer>,
    /// Answers expected for each release.
    pub answers: u32,
    /// Payload size, in octets.
    pub payload: usize,
    /// How packets travel.
    pub carrier: Carrier,
    /// Marks of packets.
    pub tagging: Tagging,
}

/// A stream that ends here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// The stream.
    pub stream: u16,
    /// The stream named in its packets: the first of a multicast flow.
    pub named: u16,
    /// How packets travel.
    pub carrier: Carrier,
    /// What is sent back; `None` for nothing.
    pub answer: Option<Answer>,
}

/// An answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its destination.
    pub peer: Peer,
    /// Payload size, in octets.
    pub payload: usize,
    /// Time that the application takes.
    pub thinking: Thinking,
    /// Marks of packets.
    pub tagging: Tagging,
}

/// What a station does.
pub struct Duties {
    /// Its device.
    pub device: String,
    /// Its address.
    pub address: Ipv4Addr,
    /// Flows that start here.
    pub outgoing: Vec<Outgoing>,
    /// Streams that end here.
    pub incoming: Vec<Incoming>,
    /// Multicast groups of UDP streams that end here.
    pub groups: Vec<Ipv4Addr>,
    /// End of the releases.
    pub until: Instant,
    /// Time after that in which packets may still arrive.
    pub grace: Duration,
}

/// A packet sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Its stream.
    pub stream: u16,
    /// Its number within the stream.
    pub number: u32,
    /// When the application released it.
    pub at: Instant,
    /// Duration of the sending call: the sending stack, and on a virtual device also the wire.
    pub call: Duration,
    /// Release delay, because the thread woke up late or was busy.
    pub late: Duration,
}

/// A packet, or its answer, that reached the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Its stream.
    pub stream: u16,
    /// Its number within the stream.
    pub number: u32,
    /// When it was released.
    pub released_at: Instant,
    /// Time from there to the application, or for an answer back to the talker's.
    pub latency: Duration,
    /// Part of the latency between the kernel's receive stamp and the application, if there was a
    /// stamp.
    pub receive: Option<Duration>,
    /// Whether it is an answer, back at the talker.
    pub is_answer: bool,
}

/// What a station saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// Packets sent, in order.
    pub sent: Vec<Sent>,
    /// Packets arrived, in order.
    pub arrived: Vec<Arrived>,
    /// Requests answered, with the times of the receiving and the sending call.
    pub answered: Vec<Answered>,
    /// Anomalies.
    pub oddities: Oddities,
}

/// A request answered here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Its stream.
    pub stream: u16,
    /// Its number within the stream.
    pub number: u32,
    /// Time from the receive stamp of the request to the application, plus the delay of the answer
    /// beyond [`Answer::after`].
    pub receive: Option<Duration>,
    /// Duration of the call that sends the answer.
    pub call: Duration,
}

/// Anomalies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Oddities {
    /// Payloads that are not measured packets, or of a stream that does not end here.
    pub foreign: u64,
    /// Packets that the system refused, answers dropped because too many were waiting, and packets
    /// due but not sent when the station's time was over.
    pub unsent: u64,
    /// Packets without a record, beyond [`RECORDS_MAX`].
    pub unrecorded: u64,
    /// How often the wall clock was set during the run; receive stamps near a step are not used.
    pub clock_steps: u64,
}

/// Returns how many packets are due from `next` on and before `until`; counts at most
/// [`RECORDS_MAX`] releases.
fn missed(releases: &mut Releases, next: Option<Instant>, until: Instant) -> u64 {
    let burst = u64::from(releases.burst());
    let times = std::iter::successors(next, |&at| releases.next(at));
    let times = times.take_while(|&at| at < until).take(RECORDS_MAX);
    times.count() as u64 * burst
}

/// Why a station cannot work.
#[derive(Debug, thiserror::Error)]
pub enum StationError {
    /// A socket cannot be opened or has failed.
    #[error("{doing}: {source}")]
    Socket {
        /// What was attempted.
        doing: String,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The device cannot be used.
    #[error(transparent)]
    Device(#[from] crate::link::DeviceError),
    /// The participant of flows over RTPS cannot be opened.
    #[error(transparent)]
    Domain(#[from] crate::rtps::DomainError),
    /// A placement of the thread was refused.
    #[error(transparent)]
    Placement(#[from] PlacementError),
}
