//! An end station of a test bed: one thread that sends what its flows release and takes in what
//! arrives for it.
//!
//! Releases are those of the simulator's flows ([`rtether_sim::release`]); packets go through
//! ordinary sockets. Nothing is judged here: the log says what was sent and what arrived, and when.
//! All stations of a test bed are threads of one process on one host, so that one clock serves both
//! ends of a packet. Where stations are on hosts of their own, each has its own clock, and whoever
//! puts their logs together has to know how far they are apart.

pub mod mark;
mod run;
mod sockets;
pub mod tcp;

use std::net::Ipv4Addr;

use rtether_model::network::{Pcp, Vid};
use rtether_model::quantity::{Duration, Instant};
use rtether_sim::release::Releases;

use crate::filter::TAG_PRIORITY;
use crate::link::{MacAddress, UdpOptions};
use crate::thread::PlacementError;

pub use run::Station;

/// UDP port of measured packets.
pub const PORT: u16 = 7_255;
/// Records of sent and of arrived packets that a station keeps, each; more are counted only.
pub const RECORDS_MAX: usize = 4_000_000;

/// How packets of a flow travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// UDP over IPv4.
    Udp,
    /// ICMP echo over IPv4: requests, which the kernel of the peer answers with what they hold.
    Echo,
    /// Frames of this `EtherType`, with so many octets of a protocol header before the payload.
    Raw {
        /// The type.
        ethertype: u16,
        /// Octets of zeros.
        header: usize,
    },
}

/// Another station, or a group of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its address for IP.
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
    /// Whether the station's device has the filters that put tags on packets of ordinary sockets.
    /// Without them sockets ask for the priority alone (`SO_PRIORITY`), which a VLAN device or a
    /// queueing discipline of the host may heed.
    pub has_filter: bool,
}

impl Tagging {
    /// Returns the options of an ordinary socket.
    fn options(self) -> UdpOptions {
        UdpOptions {
            dscp: self.dscp,
            priority: self.priority(),
        }
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
    /// First of its streams; one packet of a release goes to each peer, and the streams count up.
    pub stream: u16,
    /// When.
    pub releases: Releases,
    /// To whom: one peer for each listener, or one group for all.
    pub peers: Vec<Peer>,
    /// Answers that are awaited of each release.
    pub answers: u32,
    /// Octets of the payload.
    pub payload: usize,
    /// How.
    pub carrier: Carrier,
    /// Marks.
    pub tagging: Tagging,
}

/// A stream that ends here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// The stream.
    pub stream: u16,
    /// The stream its packets name: the first of a multicast flow.
    pub named: u16,
    /// How it comes.
    pub carrier: Carrier,
    /// What is sent back, if anything.
    pub answer: Option<Answer>,
}

/// What is sent back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// To whom.
    pub peer: Peer,
    /// Octets of the payload.
    pub payload: usize,
    /// Time the application takes.
    pub after: Duration,
    /// Marks.
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
    /// Groups of UDP streams that end here.
    pub groups: Vec<Ipv4Addr>,
    /// When the last packet is released.
    pub until: Instant,
    /// So long after it packets may still arrive.
    pub grace: Duration,
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Its stream.
    pub stream: u16,
    /// Its number within the stream.
    pub number: u32,
    /// When the application released it.
    pub at: Instant,
    /// What the call that sends it took: the way through the sending stack, and on a virtual device
    /// also the wire.
    pub call: Duration,
    /// How late the release was, since the thread woke up late or was busy.
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
    /// From there to the application, or for an answer back to the talker's.
    pub latency: Duration,
    /// The part of it between the kernel's receive stamp and the application, if there was a stamp.
    pub receive: Option<Duration>,
    /// Whether it is an answer, back at the talker.
    pub is_answer: bool,
}

/// What a station saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// Packets that were sent, in order.
    pub sent: Vec<Sent>,
    /// Packets that arrived, in order.
    pub arrived: Vec<Arrived>,
    /// Answers that were given: what the receiving and the sending call took, by stream and number.
    pub answered: Vec<Answered>,
    /// What did not go as it should.
    pub oddities: Oddities,
}

/// A request that was answered here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Its stream.
    pub stream: u16,
    /// Its number within the stream.
    pub number: u32,
    /// From the receive stamp of the request to the application, and by how much the answer was later
    /// than it was to be ([`Answer::after`]).
    pub receive: Option<Duration>,
    /// What the call that sends the answer took.
    pub call: Duration,
}

/// What did not go as it should.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Oddities {
    /// Payloads that are no measured packet, or of no stream that ends here.
    pub foreign: u64,
    /// Packets that the system did not take, answers for which there was no room to wait, and what
    /// was due and not sent when the station's time was over.
    pub unsent: u64,
    /// Packets of which no record was kept, since there were [`RECORDS_MAX`].
    pub unrecorded: u64,
    /// Times the wall clock was set during the run; receive stamps near it are not used.
    pub clock_steps: u64,
}

/// Returns how many packets are due from `next` on and before `until`; looks no further than
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
    /// A socket cannot be had or has failed.
    #[error("{doing}: {source}")]
    Socket {
        /// What was tried.
        doing: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// The device cannot be used.
    #[error(transparent)]
    Device(#[from] crate::link::DeviceError),
    /// A wish for the thread is not granted.
    #[error(transparent)]
    Placement(#[from] PlacementError),
}
