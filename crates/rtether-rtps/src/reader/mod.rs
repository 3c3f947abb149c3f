//! A reader: the writers it knows, its instances, and the samples that wait for the application
//! (8.4.10, 8.4.12).
//!
//! Samples of a reliable writer are delivered in order; those that come early are held. What the
//! policies keep from the application is decided in `accept`.

mod accept;
mod fragments;
mod instance;
mod proxy;
mod queue;
mod reassembly;
mod send;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use instance::Instance;
pub use instance::InstanceState;
use proxy::HELD_OCTETS_MAX;
pub(crate) use proxy::{RemoteWriter, WriterProxy};

use crate::guid::{EntityId, Guid, GuidPrefix};
use crate::qos::{History, LivelinessKind, Qos, Reliability};
use crate::sequence::SequenceNumber;
use crate::time::{Duration, Instant, WallTime};
use crate::wire::{Content, Gap, Heartbeat, InlineQos};
use crate::writer::ChangeKind;

/// Writers that a reader knows at most.
pub(crate) const WRITERS_MAX: usize = 1_024;
/// Samples that wait for the application where a policy names no limit.
const SAMPLES_DEFAULT: usize = 4_096;
/// Instances where a policy names no limit.
const INSTANCES_DEFAULT: usize = 4_096;
/// Buffers that are kept for further samples.
const SPARE_MAX: usize = 64;
/// Writers that are gone and remembered.
const GONE_MAX: usize = 64;

/// Writes the key of a payload in its canonical form; the flag says whether the payload is a key
/// alone. Returns the hash that a writer of such payloads would send, `None` if it is malformed.
pub type KeyOf = fn(payload: &[u8], is_key: bool, key: &mut Vec<u8>) -> Option<[u8; 16]>;

/// How a reader keeps its writers up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderTiming {
    /// From a heartbeat to the answer that nothing is missing; what is missing is asked for at once.
    pub ack_delay: Duration,
    /// What is missing is not asked for again sooner.
    pub nack_suppression: Duration,
    /// From asking a writer what there is to asking again.
    pub ask_again: Duration,
}

impl Default for ReaderTiming {
    fn default() -> Self {
        Self {
            ack_delay: Duration::from_ms(5),
            nack_suppression: Duration::from_ms(2),
            ask_again: Duration::from_ms(250),
        }
    }
}

/// What is known of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleInfo {
    /// Who has written it.
    pub writer: Guid,
    /// Its number at the writer.
    pub sequence: SequenceNumber,
    /// When it was written, by the writer's clock.
    pub source_time: Option<WallTime>,
    /// When it came.
    pub received_at: Instant,
    /// Whether it has a value; if not, it says only what has become of the instance.
    pub is_valid: bool,
    /// What has become of the instance.
    pub state: InstanceState,
    /// The hash of the key, if the writer has sent it.
    pub key_hash: Option<[u8; 16]>,
    pub(crate) instance: usize,
}

/// A sample that waits.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) info: SampleInfo,
    pub(crate) payload: Vec<u8>,
    expires_at: Instant,
}

/// A sample that has just come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived<'a> {
    pub(crate) sequence: SequenceNumber,
    pub(crate) kind: ChangeKind,
    pub(crate) payload: &'a [u8],
    pub(crate) inline: InlineQos,
    pub(crate) time: Option<WallTime>,
}

/// What has happened at a reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReaderCounters {
    /// Samples handed to the queue of the application.
    pub delivered: u64,
    /// Samples that came again.
    pub duplicates: u64,
    /// Samples that will never come.
    pub lost: u64,
    /// Samples that found no room: the queue, the instances or the held ones were at their limit.
    pub rejected: u64,
    /// Samples whose payload makes no sense.
    pub malformed: u64,
    /// Samples of a weaker writer, or too soon after another.
    pub filtered: u64,
    /// Samples that were worth nothing when they came to be taken.
    pub expired: u64,
    /// Deadlines missed.
    pub deadlines_missed: u64,
}

/// A reader.
pub(crate) struct Reader {
    pub(crate) entity: EntityId,
    pub(crate) qos: Qos,
    /// In the order of their names.
    pub(crate) proxies: Vec<WriterProxy>,
    pub(crate) counters: ReaderCounters,
    key_of: Option<KeyOf>,
    timing: ReaderTiming,
    depth: Option<usize>,
    samples_max: usize,
    instances_max: usize,
    sample_max: usize,
    instances: Vec<Instance>,
    by_key: BTreeMap<Vec<u8>, usize>,
    queue: VecDeque<Sample>,
    /// Not later than the time at which something of a writer is due: looking at all of many takes long.
    next_at: Instant,
    /// Not later than the time at which something of an instance is due.
    timer_at: Option<Instant>,
    key: Vec<u8>,
    spare: Vec<Vec<u8>>,
    /// Numbers what is told to writers.
    count: i32,
    /// Whether a sample was refused for want of room.
    is_starved: bool,
    /// Reliable writers that are gone, and the next sample of each, lest it come twice when one is
    /// found again.
    gone: VecDeque<(Guid, SequenceNumber)>,
}

fn limit(limit: Option<u32>, default: usize) -> usize {
    limit.map_or(default, |limit| usize::try_from(limit).unwrap_or(default))
}

impl Reader {
    pub(crate) fn new(
        entity: EntityId,
        qos: Qos,
        timing: ReaderTiming,
        key_of: Option<KeyOf>,
        sample_max: usize,
    ) -> Self {
        let depth = match qos.history {
            History::KeepLast(depth) => Some(limit(Some(depth.max(1)), 1)),
            History::KeepAll => None,
        };
        let mut qos = qos;
        qos.deadline = qos.deadline.or_never();
        Self {
            entity,
            proxies: Vec::new(),
            counters: ReaderCounters::default(),
            key_of,
            timing,
            depth,
            samples_max: limit(qos.limits.samples, SAMPLES_DEFAULT).max(1),
            instances_max: limit(qos.limits.instances, INSTANCES_DEFAULT).max(1),
            qos,
            sample_max,
            instances: Vec::new(),
            by_key: BTreeMap::new(),
            queue: VecDeque::new(),
            next_at: Instant::NEVER,
            timer_at: None,
            key: Vec::new(),
            spare: Vec::new(),
            count: 0,
            is_starved: false,
            gone: VecDeque::new(),
        }
    }

    fn find(&self, guid: Guid) -> Result<usize, usize> {
        self.proxies
            .binary_search_by_key(&guid, |proxy| proxy.remote.guid)
    }

    /// Takes in a writer, or what has changed about it; returns whether it is new and there is room.
    pub(crate) fn add_writer(&mut self, now: Instant, mut remote: RemoteWriter) -> bool {
        remote.is_reliable &= self.qos.reliability == Reliability::Reliable;
        match self.find(remote.guid) {
            Ok(index) => {
                if let Some(proxy) = self.proxies.get_mut(index) {
                    proxy.remote = remote;
                }
                false
            }
            Err(_) if self.proxies.len() >= WRITERS_MAX => false,
            Err(index) => {
                let mut proxy = WriterProxy::new(now, remote);
                let before = self
                    .gone
                    .iter()
                    .find(|(gone, _)| *gone == proxy.remote.guid);
                if let Some((_, next)) = before {
                    proxy.begin_at(*next);
                }
                self.next_at = self.next_at.min(proxy.due_at());
                self.proxies.insert(index, proxy);
                true
            }
        }
    }

    /// Forgets a writer; returns whether there was one.
    pub(crate) fn remove_writer(&mut self, now: Instant, guid: Guid) -> bool {
        let Ok(index) = self.find(guid) else {
            return false;
        };
        let proxy = self.proxies.remove(index);
        self.counters.lost = self.counters.lost.saturating_add(proxy.lost);
        self.gone.retain(|(gone, _)| *gone != guid);
        if self.gone.len() >= GONE_MAX {
            self.gone.pop_front();
        }
        // What is known of endpoints is forgotten with their participant, and has to come again.
        if !self.entity.is_built_in() {
            self.gone.push_back((guid, proxy.next));
        }
        self.release(now, guid);
        true
    }

    /// Takes in a sample.
    pub(crate) fn on_data(&mut self, now: Instant, from: Guid, arrived: &Arrived<'_>) {
        let Ok(index) = self.find(from) else {
            return;
        };
        self.touch(now, index);
        let Some(proxy) = self.proxies.get_mut(index) else {
            return;
        };
        if arrived.sequence < proxy.next {
            self.counters.duplicates += 1;
            return;
        }
        if !proxy.remote.is_reliable {
            // The first one that is seen does not say that others were lost.
            let is_first = proxy.next == SequenceNumber::FIRST;
            let skipped = proxy.skip_to(arrived.sequence);
            proxy.lose(if is_first { 0 } else { skipped });
            proxy.advance(now);
            self.accept(now, index, arrived);
        } else if arrived.sequence == proxy.next {
            if self.accept(now, index, arrived) {
                self.advance(now, index);
            }
        } else {
            let held: usize = self.proxies.iter().map(|proxy| proxy.held_octets).sum();
            let room = self.sample_max.saturating_mul(2).max(HELD_OCTETS_MAX);
            let room = room.saturating_sub(held);
            let proxy = self.proxies.get_mut(index);
            if !proxy.is_some_and(|proxy| proxy.hold(arrived, room)) {
                self.counters.rejected += 1;
            }
        }
        self.plan(index);
    }

    fn advance(&mut self, now: Instant, index: usize) {
        if let Some(proxy) = self.proxies.get_mut(index) {
            proxy.advance(now);
        }
        self.deliver_held(now, index);
    }

    /// Delivers what was held and is next.
    fn deliver_held(&mut self, now: Instant, index: usize) {
        while let Some(proxy) = self.proxies.get_mut(index) {
            let Some(held) = proxy.take_held() else {
                return;
            };
            let arrived = Arrived {
                sequence: proxy.next,
                kind: held.kind,
                payload: &held.payload,
                inline: held.inline,
                time: held.time,
            };
            let is_taken = self.accept(now, index, &arrived);
            let Some(proxy) = self.proxies.get_mut(index) else {
                return;
            };
            if !is_taken {
                proxy.put_back(held);
                return;
            }
            proxy.advance(now);
        }
    }

    /// Takes in what is not meant for this reader.
    pub(crate) fn on_gap(&mut self, now: Instant, from: Guid, gap: &Gap) {
        if let Ok(index) = self.find(from)
            && let Some(proxy) = self.proxies.get_mut(index)
            && proxy.remote.is_reliable
        {
            proxy.on_gap(gap);
            self.deliver_held(now, index);
            self.plan(index);
        }
    }

    /// Takes in what a writer has.
    pub(crate) fn on_heartbeat(&mut self, now: Instant, from: Guid, heartbeat: &Heartbeat) {
        let Ok(index) = self.find(from) else {
            return;
        };
        self.touch(now, index);
        while let Some(proxy) = self.proxies.get_mut(index) {
            if !proxy.remote.is_reliable {
                return;
            }
            if proxy.next >= heartbeat.first {
                break;
            }
            let is_held = proxy.give_up(heartbeat.first);
            let before = proxy.next;
            self.deliver_held(now, index);
            let after = self.proxies.get(index).map(|proxy| proxy.next);
            if !is_held || after == Some(before) {
                break;
            }
        }
        if let Some(proxy) = self.proxies.get_mut(index) {
            proxy.on_heartbeat(now, heartbeat, &self.timing);
        }
        self.plan(index);
    }

    /// Takes in that a participant is alive, for its writers of which that, or the word of its
    /// application, is enough.
    pub(crate) fn on_alive(&mut self, now: Instant, from: GuidPrefix, is_manual: bool) {
        let mut due = Instant::NEVER;
        for proxy in self.of_participant(from) {
            let counts = match proxy.remote.liveliness.kind {
                LivelinessKind::Automatic => true,
                LivelinessKind::ManualByParticipant => is_manual,
                LivelinessKind::ManualByTopic => false,
            };
            if counts {
                proxy.touch(now);
                due = due.min(proxy.due_at());
            }
        }
        self.next_at = self.next_at.min(due);
    }

    /// Asks the writers of a participant that have not said yet what they have; it is still there.
    ///
    /// Where only one side has taken the other for dead, the other believes that all is said.
    pub(crate) fn ask_silent(&mut self, now: Instant, from: GuidPrefix) {
        let mut due = Instant::NEVER;
        let silent = self.of_participant(from).iter_mut();
        for proxy in silent.filter(|proxy| proxy.is_silent()) {
            due = due.min(*proxy.ack_at.get_or_insert(now));
        }
        self.next_at = self.next_at.min(due);
    }

    /// Returns the writers of a participant.
    fn of_participant(&mut self, prefix: GuidPrefix) -> &mut [WriterProxy] {
        let start = self
            .proxies
            .partition_point(|proxy| proxy.remote.guid.prefix < prefix);
        let end = self
            .proxies
            .partition_point(|proxy| proxy.remote.guid.prefix <= prefix);
        self.proxies.get_mut(start..end).unwrap_or_default()
    }

    /// Returns whether it knows a writer.
    pub(crate) fn knows(&self, writer: Guid) -> bool {
        self.find(writer).is_ok()
    }

    /// Returns what has happened, those samples included that writers no longer have.
    pub(crate) fn all_counters(&self) -> ReaderCounters {
        // Numbers of which a forger makes up what is lost add up to more than fits.
        let lost = self.proxies.iter().map(|proxy| proxy.lost);
        ReaderCounters {
            lost: lost.fold(self.counters.lost, u64::saturating_add),
            ..self.counters
        }
    }

    fn touch(&mut self, now: Instant, index: usize) {
        if let Some(proxy) = self.proxies.get_mut(index) {
            proxy.touch(now);
            self.next_at = self.next_at.min(proxy.due_at());
        }
    }
}

/// Returns what a payload is, by the policies that come with it.
pub(crate) fn kind(inline: InlineQos, is_key: bool) -> ChangeKind {
    match (inline.status.is_disposed, inline.status.is_unregistered) {
        (true, true) => ChangeKind::DisposedUnregistered,
        (true, false) => ChangeKind::Disposed,
        (false, true) => ChangeKind::Unregistered,
        // A key without a word on its status says nothing.
        (false, false) if is_key => ChangeKind::Unregistered,
        (false, false) => ChangeKind::Alive,
    }
}

/// Returns the octets of a content, and whether they are a key.
pub(crate) fn octets(content: Content<'_>) -> (&[u8], bool) {
    match content {
        Content::None => (&[], true),
        Content::Data(octets) => (octets, false),
        Content::Key(octets) => (octets, true),
    }
}
