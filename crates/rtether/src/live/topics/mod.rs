//! Topics of a domain over RTPS: publish them, subscribe to them, and see who else does.
//!
//! Everything runs in the calling thread, which also takes what is said: whoever shows samples slowly
//! measures slowly.

mod described;
mod happening;
mod kinds;
mod outlet;
mod output;
mod policies;
mod publish;
mod rates;
mod relation;
mod round_trip;
mod session;
mod spy;
mod spy_output;
mod subscribe;
mod text;
mod trace;

use std::net::Ipv4Addr;
use std::str::FromStr;

use rtether_live::confine::{Confined, Confinement};
use rtether_live::link::{MacAddress, ParseMacError};
use rtether_live::rtps::{Domain, DomainOptions};
use rtether_model::quantity::Duration;
use rtether_rtps::time;

pub use described::{ValueError, Values, lines_of, values_of};
pub use happening::Happening;
pub use kinds::{Kind, Member};
pub use output::{Form, Lines};
pub use publish::{PublishOptions, publish};
pub use rates::Rate;
pub use relation::{Reason, reason};
pub use rtether_live::rtps::{ETHERTYPE, EthernetOptions};
pub use rtether_rtps::locator::Ports;
pub use rtether_rtps::matching::{Mismatch, Policy};
pub use rtether_rtps::qos::{Durability, History, Ownership, Qos, Reliability, Representation};
pub use spy::{Census, EndpointRow, Pair, ParticipantRow, SpyOptions, spy, vendor};
pub use spy_output::{census_csv, census_json, census_table};
pub use subscribe::subscribe;
pub use trace::{TRACE_MAX, Trace, Traced};

pub(super) use round_trip::{answer, ask};

use super::echo::give_up;
use super::{LiveError, Thread, keep_cores_awake};

/// Octets that make a sample larger, at most; with the rest it stays below what the engine takes.
pub const SIZE_MAX: u32 = 16_000_000;
/// The longest name of a topic, in octets.
const TOPIC_MAX: usize = 255;

/// Where in the network a participant is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The domain.
    pub domain: u16,
    /// The address whose network it talks to; the first that is not loopback, if none.
    pub interface: Option<Ipv4Addr>,
    /// Who is not reached by groups.
    pub peers: Vec<Peer>,
    /// Whether it announces itself to the group of the domain.
    pub multicast: bool,
    /// Frames on a device instead of UDP.
    pub ethernet: Option<EthernetOptions>,
    /// Whether anybody may speak for a participant, from any address.
    pub any_source: bool,
    /// Where all that it sends and receives is written.
    pub trace: Option<Trace>,
    /// What to give up once its sockets are open; nothing if not given.
    pub confinement: Option<Confinement>,
}

/// Who is not reached by groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A host, over UDP.
    Host(Ipv4Addr),
    /// A station on the link of the device, in frames.
    Station(MacAddress),
}

impl FromStr for Peer {
    type Err = ParseMacError;

    fn from_str(text: &str) -> Result<Self, ParseMacError> {
        let host = text.parse().map(Self::Host);
        host.or_else(|_| text.parse().map(Self::Station))
    }
}

impl Default for Place {
    fn default() -> Self {
        Self {
            domain: 0,
            interface: None,
            peers: Vec::new(),
            multicast: true,
            ethernet: None,
            any_source: false,
            trace: None,
            confinement: None,
        }
    }
}

impl Place {
    /// Opens a participant, and makes the calling thread as it was wished for; returns what was given
    /// up, too.
    pub(super) fn open(
        &self,
        name: &str,
        thread: Thread,
    ) -> Result<(Domain, Option<Confined>), LiveError> {
        if thread.awake {
            // Who asks for it and is to know whether it works has called it before.
            let _ = keep_cores_awake();
        }
        thread.placement.apply()?;
        let (mut hosts, mut stations) = (Vec::new(), Vec::new());
        for peer in &self.peers {
            match *peer {
                Peer::Host(host) => hosts.push(host),
                Peer::Station(station) => stations.push(station),
            }
        }
        let mut ethernet = self.ethernet.clone();
        match &mut ethernet {
            Some(ethernet) => ethernet.peers.append(&mut stations),
            None if stations.is_empty() => {}
            None => {
                let why = "a peer that is an Ethernet address needs `--device NAME`";
                return Err(LiveError::Topic(why.to_owned()));
            }
        }
        let mut domain = Domain::open(&DomainOptions {
            domain: self.domain,
            name: name.to_owned(),
            interface: self.interface,
            peers: hosts,
            ethernet,
            multicast: self.multicast,
            any_source: self.any_source,
            waiting: thread.waiting,
            ..DomainOptions::default()
        })?;
        if let Some(trace) = &self.trace {
            domain.watch(trace.watch());
        }
        let confined = give_up(self.confinement.as_ref(), thread)?;
        Ok((domain, confined))
    }
}

/// A topic, and how much of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicOptions {
    /// Where.
    pub place: Place,
    /// Core, priority, waiting.
    pub thread: Thread,
    /// The name of the topic.
    pub topic: String,
    /// The type of its samples.
    pub kind: Kind,
    /// The policies of the writer or reader.
    pub qos: Qos,
    /// How many samples; no end if none.
    pub count: Option<u64>,
    /// For how long; no end if none.
    pub duration: Option<Duration>,
}

impl TopicOptions {
    /// Refuses what no endpoint can have.
    fn check(&self) -> Result<(), LiveError> {
        let wrong = |why: &str| Err(LiveError::Topic(why.to_owned()));
        if self.topic.is_empty() || self.topic.len() > TOPIC_MAX {
            return wrong("a topic has a name of 1 to 255 octets");
        }
        if self.qos.partitions.len() > rtether_rtps::discovery::PARTITIONS_MAX {
            return wrong("32 partitions at most can be told to others");
        }
        if self.qos.time_based_filter > self.qos.deadline {
            return wrong(
                "samples that `--filter` keeps apart by more than `--deadline` would miss each \
                 deadline",
            );
        }
        Ok(())
    }
}

/// How a publication or a subscription went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Whether samples were written, not read.
    pub is_writer: bool,
    /// Samples written or read, without those that only say that an instance has ended.
    pub samples: u64,
    /// Endpoints of others that matched.
    pub matched: u64,
    /// Endpoints of others on the topic that did not.
    pub mismatched: u64,
    /// Samples that will never come.
    pub lost: u64,
    /// Samples that found no room.
    pub rejected: u64,
    /// Samples of a weaker writer, or too soon after another.
    pub filtered: u64,
    /// Samples that were too old to be read.
    pub expired: u64,
    /// Samples that are no values of the type.
    pub malformed: u64,
    /// Deadlines missed.
    pub deadlines_missed: u64,
    /// Parts of datagrams that came from addresses which the participant that they name has not announced.
    pub impostors: u64,
    /// Datagrams that came over other devices than the chosen one.
    pub elsewhere: u64,
    /// Fragments for which there was no room, and samples that were given up for others.
    pub crowded: u64,
    /// Samples of which some reliable reader has not said within the time to linger that it has them; of
    /// writers.
    pub unacknowledged: u64,
    /// Whether every reliable reader has said that it has everything; of writers.
    pub is_acknowledged: bool,
    /// Why it ended early, if it did.
    pub ended: Option<String>,
}

/// A sample that was written or read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Since the participant was opened.
    pub at: Duration,
    /// Its number at the writer.
    pub sequence: i64,
    /// Who has written it.
    pub writer: String,
    /// From writing to reading, by the clocks of both hosts; of samples read.
    pub latency: Option<Duration>,
    /// What has become of the instance: `alive`, `disposed`, `no writers`.
    pub state: &'static str,
    /// The members; only the key if the instance has ended, none if not even that is known.
    pub members: Vec<Member>,
}

/// What is said while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said<'a> {
    /// A sample was written or read.
    Sample(&'a Sample),
    /// Something else has happened.
    Happening(&'a Happening),
}

/// Returns a span as the engine counts it; no time becomes none, all else at least a nanosecond.
pub fn span(span: Duration) -> time::Duration {
    if span == Duration::ZERO {
        return time::Duration::ZERO;
    }
    time::Duration::from_ns(span.as_ns_floor().max(1))
}

/// Returns a span of the engine as it is shown.
fn shown(span: time::Duration) -> Duration {
    Duration::from_ps(span.as_ns().saturating_mul(1_000))
}

fn no_room() -> LiveError {
    LiveError::Topic("the participant has as many endpoints as its limits allow".to_owned())
}
