//! Topics of a domain over RTPS: publish, subscribe, and list who else does.
//!
//! Everything runs in the calling thread, including the callbacks: a slow callback falsifies the
//! latency it reports. Only [`threaded`] has a thread of its own.

mod announced;
mod delay;
mod delay_output;
mod document;
mod happening;
mod outlet;
mod output;
mod participant;
mod policies;
mod publish;
mod rates;
mod relation;
pub mod ros;
mod ros_output;
mod session;
mod spy;
mod spy_output;
mod subscribe;
mod text;
pub mod threaded;
mod topic_type;
mod trace;
mod values;

use rtether::report::document::Members;
use rtether::verdict::Conclusion;
use rtether_live::confine::Confined;
use rtether_live::rtps::{Domain, DomainOptions};
use rtether_model::quantity::Duration;
use rtether_rtps::engine::Versions;
use rtether_rtps::time;

pub use announced::{Announced, AnnouncedOptions, announced};
pub use delay::{Clocks, Delay, Delays};
pub(crate) use document::TopicJson;
pub use happening::Happening;
pub use output::Lines;
pub use participant::{ParticipantOptions, Peer};
pub use publish::publish;
pub use rates::Rate;
pub use relation::{Reason, reason};
pub use rtether_live::rtps::{ETHERTYPE, EthernetOptions};
pub use rtether_rtps::engine::{Discovery, Protocol};
pub use rtether_rtps::locator::Ports;
pub use rtether_rtps::matching::{Mismatch, Policy};
pub use rtether_rtps::qos::{Durability, History, Ownership, Qos, Reliability, Representation};
pub use rtether_rtps::wire::v1::Role;
pub use spy::{Census, EndpointRow, FailOn, Pair, ParticipantRow, SpyOptions, spy, vendor};
pub(crate) use spy_output::SpyJson;
pub use subscribe::subscribe;
pub use topic_type::{Member, TopicType};
pub use trace::{TRACE_MAX, Trace, Traced};
pub use values::{ValueError, Values, lines_of, values_of};

pub(super) use session::LOOK;
pub(super) use text::place;

use super::rights::give_up;
use super::{LiveError, Thread, keep_cores_awake};

/// Largest extra size of a sample, in octets; with the rest it stays within the limit of the
/// engine.
pub const SIZE_MAX: u32 = 16_000_000;
/// Longest topic name, in octets.
const TOPIC_MAX: usize = 255;

/// Returns counts of datagrams by version.
pub(super) fn by_version(versions: &Versions) -> Members<String, u64> {
    let counts = versions.iter();
    Members(counts.map(|([major, minor], count)| (format!("{major}.{minor}"), count)).collect())
}

impl ParticipantOptions {
    /// Opens a participant, and places the calling thread; also returns what was given up.
    pub(super) fn open(
        &self,
        name: &str,
        thread: Thread,
    ) -> Result<(Domain, Option<Confined>), LiveError> {
        if thread.awake {
            // A caller that needs to know the result has called it before.
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
        let role = self.protocol.role();
        if role.is_some() && ethernet.is_some() {
            let why = "RTPS 1.0 is spoken over UDP only: leave out `--device`";
            return Err(LiveError::Topic(why.to_owned()));
        }
        if role.is_some() && self.discovery == Discovery::OnDemand {
            let why = "RTPS 1.0 has no discovery on demand: leave out `--discovery`";
            return Err(LiveError::Topic(why.to_owned()));
        }
        let usual = role.map_or_else(DomainOptions::default, DomainOptions::rtps1);
        let mut domain = Domain::open(&DomainOptions {
            domain: self.domain,
            name: name.to_owned(),
            interface: self.interface,
            peers: hosts,
            ethernet,
            multicast: self.multicast,
            any_source: self.any_source,
            waiting: thread.waiting,
            type_lookup: self.type_lookup,
            discovery: self.discovery,
            ..usual
        })?;
        if let Some(trace) = &self.trace {
            domain.watch(trace.watch());
        }
        let confined = give_up(self.confinement.as_ref(), thread)?;
        Ok((domain, confined))
    }
}

/// What to write, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishOptions {
    /// The topic.
    pub topic: TopicOptions,
    /// Time between samples.
    pub period: Duration,
    /// Extra octets of each sample.
    pub size: u32,
    /// Longest wait for acknowledgments at the end.
    pub linger: Duration,
    /// The color of shapes.
    pub color: String,
    /// Whether to describe a described type to others, who then need no file of it.
    pub describes: bool,
}

/// What to read, and what to find out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscribeOptions {
    /// The topic.
    pub topic: TopicOptions,
    /// Whether to collect the delays of samples; see [`Delays`].
    pub delay: bool,
    /// Largest difference between the clocks of hosts, if the user knows one.
    pub clock_error: Option<Duration>,
}

/// A topic, and how many of its samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicOptions {
    /// Where to join.
    pub participant: ParticipantOptions,
    /// Core, priority, waiting.
    pub thread: Thread,
    /// The name of the topic.
    pub topic: String,
    /// The type of its samples.
    pub kind: TopicType,
    /// The policies of the writer or reader.
    pub qos: Qos,
    /// Number of samples; `None` for no limit.
    pub count: Option<u64>,
    /// Duration; `None` for no limit.
    pub duration: Option<Duration>,
}

impl TopicOptions {
    /// Refuses what an endpoint cannot have.
    fn check(&self) -> Result<(), LiveError> {
        let wrong = |why: &str| Err(LiveError::Topic(why.to_owned()));
        if self.topic.is_empty() || self.topic.len() > TOPIC_MAX {
            return wrong("a topic name has 1 to 255 octets");
        }
        if self.qos.partitions.len() > rtether_rtps::discovery::PARTITIONS_MAX {
            return wrong("at most 32 partitions can be announced");
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

/// Outcome of a publication or subscription.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Summary {
    /// Whether it was a publication.
    pub is_writer: bool,
    /// Samples written or read, without those that only report the end of an instance.
    pub samples: u64,
    /// Endpoints of others that matched.
    pub matched: u64,
    /// Endpoints of others on the topic that did not match.
    pub mismatched: u64,
    /// Readers: whether reliable writers tell what is lost; otherwise more may be than is known.
    pub is_reliable: bool,
    /// Samples lost for good, of those that writers owed.
    pub lost: u64,
    /// Samples written before the reader was there, and not in the history that it asks for.
    pub not_owed: u64,
    /// Samples that reliable writers have announced and that had not come by the end.
    pub missing: u64,
    /// Samples that had come and were not read by the end.
    pub waiting: u64,
    /// Samples replaced by later ones before they were read: more than the depth of the history.
    pub replaced: u64,
    /// Samples rejected for lack of room.
    pub rejected: u64,
    /// Samples dropped because a stronger writer owns the instance, or because of the minimum
    /// separation.
    pub filtered: u64,
    /// Samples expired before they were read.
    pub expired: u64,
    /// Samples that are not values of the type.
    pub malformed: u64,
    /// Samples that heartbeats declared gone in the name of a writer that never had them: another host
    /// speaks in its name.
    pub contradicted: u64,
    /// Deadlines missed.
    pub deadlines_missed: u64,
    /// Parts of datagrams from source addresses that the named participant has not announced.
    pub impostors: u64,
    /// Datagrams of versions of RTPS that are not spoken here.
    pub versions: Versions,
    /// Datagrams received over other devices than the chosen one.
    pub elsewhere: u64,
    /// Fragments without room, and samples given up for others.
    pub crowded: u64,
    /// Writers: samples that a reliable reader had not acknowledged by the end of the linger time.
    pub unacknowledged: u64,
    /// Writers: whether every reliable reader has acknowledged everything.
    pub is_acknowledged: bool,
    /// Readers: delays of the samples, if asked for.
    pub delays: Option<Delays>,
    /// Readers: samples that were to come, if that was said.
    pub wanted: Option<u64>,
    /// Whether the user ended it.
    pub is_interrupted: bool,
    /// Why it ended early, if it did.
    pub ended: Option<String>,
}

impl Summary {
    /// Returns the verdict: failed if a deadline was missed, a sample was not acknowledged, or fewer
    /// came than were to; no answer without a sample, or if nobody was there to read it.
    pub fn conclusion(&self) -> Conclusion {
        if self.is_interrupted {
            return Conclusion::Interrupted;
        }
        if self.ended.is_some() {
            return Conclusion::Unmeasured;
        }
        let is_short = self.wanted.is_some_and(|count| self.samples < count);
        let is_held = self.deadlines_missed == 0 && self.unacknowledged == 0 && !is_short;
        let is_any = self.samples > 0 && !(self.is_writer && self.matched == 0);
        Conclusion::meets(is_any.then_some(is_held))
    }
}

/// A sample written or read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Time since the participant was opened.
    pub at: Duration,
    /// Sequence number of the writer.
    pub sequence: i64,
    /// Its writer.
    pub writer: String,
    /// Time from writing to reading, by the clocks of both hosts; samples read only.
    pub latency: Option<Duration>,
    /// State of the instance: `alive`, `disposed`, `no writers`.
    pub state: &'static str,
    /// The members; only the key if the instance has ended, empty if even that is unknown.
    pub members: Vec<Member>,
}

/// What a running publication or subscription reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said<'a> {
    /// A sample was written or read.
    Sample(&'a Sample),
    /// Another event.
    Happening(&'a Happening),
}

/// Returns a duration in the unit of the engine; zero stays zero, anything else is at least 1 ns.
pub fn span(span: Duration) -> time::Duration {
    if span == Duration::ZERO {
        return time::Duration::ZERO;
    }
    time::Duration::from_ns(span.as_ns_floor().max(1))
}

/// Returns a duration of the engine for display.
fn shown(span: time::Duration) -> Duration {
    Duration::from_ps(span.as_ns().saturating_mul(1_000))
}

pub(super) fn no_room() -> LiveError {
    LiveError::Topic("the participant has reached its limit of endpoints".to_owned())
}
