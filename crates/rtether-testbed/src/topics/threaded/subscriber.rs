//! The reading side.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration as WallDuration, Instant as WallInstant};

use rtether_live::clock::monotonic_and_real_ns;
use rtether_rtps::engine::{Participant, ReaderId, TopicName};
use rtether_rtps::reader::{InstanceState, SampleInfo};
use rtether_rtps::time::{Instant, WallTime};
use rtether_rtps::typed::Subscription;
use rtether_rtps::types::Octets;
use rtether_rtps::{described, dynamic};

use super::bell::Bell;
use super::hold::Hold;
use super::kind::{Content, Kind, json_of};
use super::shared::{Endpoint, Shared};
use super::{Failure, Qos};

/// A reader of a [`Participant`](super::Participant); dropping it deletes it.
pub struct Subscriber {
    hold: Hold,
    inlet: Mutex<Option<Inlet>>,
    id: ReaderId,
    bell: Arc<Bell>,
}

/// A reader of each kind, and how many samples were taken from it.
struct Inlet {
    source: Source,
    taken: u64,
}

enum Source {
    Octets(Subscription<Octets>),
    Payload(ReaderId),
    Described(described::Subscription, Arc<dynamic::Structure>),
}

/// A sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Taken {
    /// What it has.
    pub content: Content,
    /// When it was written, by the writer's clock: time of day in nanoseconds.
    pub sent_ns: Option<i64>,
    /// When it arrived: time of day in nanoseconds.
    pub received_ns: i64,
    /// Its writer.
    pub writer: String,
    /// The number its writer gave it.
    pub sequence: i64,
    /// State of its instance.
    pub state: State,
}

/// State of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is written.
    Alive,
    /// It was disposed of.
    Disposed,
    /// Nobody writes it any more.
    NoWriters,
}

impl State {
    /// Returns its name in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Alive => "alive",
            Self::Disposed => "disposed",
            Self::NoWriters => "no writers",
        }
    }
}

/// What became of samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Taken by the application.
    pub taken: u64,
    /// Waiting to be taken.
    pub waiting: u64,
    /// Announced by reliable writers, and not received yet.
    pub missing: u64,
    /// Replaced by newer ones of their instance before they were taken.
    pub replaced: u64,
    /// Lost on their way, for good, of those that writers owed.
    pub lost: u64,
    /// Written before the reader was there, and not in the history that it asks for.
    pub not_owed: u64,
    /// Refused for lack of room, for good.
    pub rejected: u64,
    /// Of a weaker writer, within the minimum separation, or rejected by a filter.
    pub filtered: u64,
    /// Expired before they were taken.
    pub expired: u64,
    /// Not values of the type.
    pub malformed: u64,
    /// Refused for lack of room, and sent again by a reliable writer: one sample may count more than
    /// once, and counts elsewhere, too.
    pub deferred: u64,
    /// Declared gone in the name of a writer that never had them: another host speaks in its name.
    pub contradicted: u64,
}

impl Subscriber {
    pub(super) fn open(
        shared: Arc<Shared>,
        topic: &str,
        kind: Kind,
        qos: Qos,
    ) -> Result<Self, Failure> {
        let mut turn = shared.turn()?;
        let domain = turn.domain()?;
        let (now, participant) = (domain.now(), domain.participant_mut());
        let source = match kind {
            Kind::Octets => Subscription::create(participant, now, topic, qos).map(Source::Octets),
            Kind::Payload(name) => {
                let name = TopicName { topic, type_name: &name };
                let id = participant.create_reader(now, name, None, qos);
                id.map(Source::Payload)
            }
            Kind::Described(structure) => {
                let own = Arc::clone(&structure);
                let made = described::Subscription::create(participant, now, topic, own, qos);
                made.ok().map(|made| Source::Described(made, structure))
            }
        };
        let source = source.ok_or(Failure::Endpoints)?;
        let id = source.id();
        let bell = Arc::<Bell>::default();
        turn.listen(id, Arc::clone(&bell));
        drop(turn);
        Ok(Self {
            hold: Hold::new(shared),
            inlet: Mutex::new(Some(Inlet { source, taken: 0 })),
            id,
            bell,
        })
    }

    fn inlet(&self) -> MutexGuard<'_, Option<Inlet>> {
        self.inlet.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next sample, waiting for it no longer than `patience`.
    ///
    /// # Errors
    /// It is closed.
    pub fn take(&self, patience: WallDuration) -> Result<Option<Taken>, Failure> {
        let until = WallInstant::now() + patience;
        loop {
            let rings = self.bell.rings();
            if let Some(taken) = self.take_now()? {
                return Ok(Some(taken));
            }
            if !self.bell.wait(rings, until) {
                return Ok(None);
            }
        }
    }

    fn take_now(&self) -> Result<Option<Taken>, Failure> {
        let mut inlet = self.inlet();
        let inlet = inlet.as_mut().ok_or(Failure::Closed)?;
        let mut turn = self.hold.turn()?;
        let domain = turn.domain()?;
        let now = domain.now();
        let taken = inlet.source.take(domain.participant_mut(), now);
        inlet.taken += u64::from(taken.is_some());
        Ok(taken)
    }

    /// Waits until this many writers are matched; returns whether they were within `patience`.
    ///
    /// # Errors
    /// It is closed.
    pub fn await_writers(&self, count: usize, patience: WallDuration) -> Result<bool, Failure> {
        let met = self.hold.wait(patience, |turn| {
            let count_now = turn.domain()?.participant().writers_of(self.id);
            Ok((count_now >= count).then_some(()))
        })?;
        Ok(met.is_some())
    }

    /// Returns how many writers are matched.
    ///
    /// # Errors
    /// It is closed.
    pub fn writers(&self) -> Result<usize, Failure> {
        let mut turn = self.hold.turn()?;
        Ok(turn.domain()?.participant().writers_of(self.id))
    }

    /// Returns what became of samples so far.
    ///
    /// # Errors
    /// It is closed.
    pub fn counts(&self) -> Result<Counts, Failure> {
        let inlet = self.inlet();
        let inlet = inlet.as_ref().ok_or(Failure::Closed)?;
        let mut turn = self.hold.turn()?;
        let participant = turn.domain()?.participant();
        let counters = participant.reader_counters(self.id);
        let malformed = inlet.source.malformed();
        let waiting = u64::try_from(participant.waiting(self.id)).unwrap_or(u64::MAX);
        Ok(Counts {
            taken: inlet.taken,
            waiting,
            replaced: counters.replaced,
            missing: participant.lacking(self.id),
            lost: counters.lost,
            not_owed: counters.not_owed,
            rejected: counters.rejected,
            filtered: counters.filtered,
            expired: counters.expired,
            malformed: counters.malformed + malformed,
            deferred: counters.deferred,
            contradicted: counters.contradicted,
        })
    }

    /// Returns why writers of the topic are not matched, each reason once.
    ///
    /// # Errors
    /// It is closed.
    pub fn mismatches(&self) -> Result<Vec<String>, Failure> {
        Ok(self.hold.turn()?.reasons(Endpoint::Reader(self.id)))
    }

    /// Deletes the reader; has no effect if it or its participant is closed.
    pub fn close(&self) {
        if self.hold.end() {
            drop(self.inlet().take());
            self.hold.delete(Endpoint::Reader(self.id));
        }
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        self.close();
    }
}

impl Source {
    fn id(&self) -> ReaderId {
        match self {
            Self::Octets(subscription) => subscription.id(),
            Self::Payload(id) => *id,
            Self::Described(subscription, _) => subscription.id(),
        }
    }

    fn malformed(&self) -> u64 {
        match self {
            Self::Octets(subscription) => subscription.malformed(),
            Self::Payload(_) => 0,
            Self::Described(subscription, _) => subscription.malformed(),
        }
    }

    fn take(&mut self, participant: &mut Participant, now: Instant) -> Option<Taken> {
        let (info, content) = match self {
            Self::Octets(subscription) => {
                let received = subscription.take(participant, now)?;
                let octets = received.value.unwrap_or_default().octets;
                (received.info, Content::Octets(octets))
            }
            Self::Payload(id) => participant
                .take(now, *id, |info, payload, _| (*info, Content::Octets(payload.to_vec())))?,
            Self::Described(subscription, structure) => {
                let received = subscription.take(participant, now)?;
                let value = received.value.as_ref();
                let is_key = !received.info.is_valid;
                let json = value.map(|value| json_of(value, structure, is_key));
                let json = json.unwrap_or_else(|| "{}".to_owned());
                (received.info, Content::Json(json))
            }
        };
        Some(taken(&info, content))
    }
}

fn taken(info: &SampleInfo, content: Content) -> Taken {
    let (monotonic, real) = monotonic_and_real_ns();
    let age = monotonic.saturating_sub(info.received_at.as_ns());
    Taken {
        content,
        sent_ns: info.source_time.map(WallTime::as_ns),
        received_ns: real.saturating_sub(age),
        writer: info.writer.to_string(),
        sequence: info.sequence.0,
        state: match info.state {
            InstanceState::Alive => State::Alive,
            InstanceState::Disposed => State::Disposed,
            InstanceState::NoWriters => State::NoWriters,
        },
    }
}
