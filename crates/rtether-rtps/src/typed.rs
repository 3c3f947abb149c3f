//! Publications and subscriptions of a type.

use alloc::vec::Vec;
use core::marker::PhantomData;

use crate::cdr::{
    self, CdrError, Data, Encoding, from_key_payload, from_payload, key_hash_in, to_key_payload,
    to_payload, write_key,
};
use crate::engine::{
    CreateError, NewFilter, NewReader, NewSample, NewWriter, Participant, PublisherId, ReaderId,
    SubscriberId, TopicName, WriterId,
};
use crate::filter::Judge;
use crate::qos::{Qos, Representation};
use crate::reader::SampleInfo;
use crate::sequence::SequenceNumber;
use crate::time::Instant;
use crate::writer::{ChangeKind, WriteError};

/// Why a value is not published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// It cannot be encoded.
    #[error(transparent)]
    Value(#[from] CdrError),
    /// There is no room for it.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Octets of a serialized key at least. Fast DDS takes a shorter one for the hash, although that comes
/// with it; zeros after a key mean nothing.
const KEY_MIN: usize = 20;

/// Writes the key of a payload of a type; returns its hash in the encoding of the payload.
pub fn key_of<T: Data>(payload: &[u8], is_key: bool, key: &mut Vec<u8>) -> Option<[u8; 16]> {
    let value: Result<T, CdrError> = if is_key {
        from_key_payload(payload)
    } else {
        from_payload(payload)
    };
    let value = value.ok()?;
    let (representation, _) = cdr::Representation::split(payload).ok()?;
    let hash = key_hash_in(&value, representation.encoding, key).ok()?;
    write_key(&value, Encoding::Xcdr2, key).ok()?;
    Some(hash)
}

/// Returns the full name of a topic of a type.
pub(crate) fn name<T: Data>(topic: &str) -> TopicName<'_> {
    TopicName {
        topic,
        type_name: T::NAME,
    }
}

/// What may be said of a publication beside its policies.
#[derive(Clone, Copy, Debug, Default)]
pub struct PublicationOptions {
    /// How filters look at values ([`Judge::of`]): subscriptions are spared what theirs does not let
    /// through.
    pub judge: Option<Judge>,
    /// To which publisher it belongs.
    pub publisher: Option<PublisherId>,
    /// Whether best-effort subscriptions with a minimum separation are sent no more than that lets
    /// through, and the last value of an instance when the time is over.
    pub separates: bool,
}

/// What may be said of a subscription beside its policies.
#[derive(Clone, Copy, Debug, Default)]
pub struct SubscriptionOptions<'a> {
    /// Which samples it wants; all if none.
    pub filter: Option<NewFilter<'a>>,
    /// To which subscriber it belongs.
    pub subscriber: Option<SubscriberId>,
}

/// What a publication is but for the type of its values.
#[derive(Debug)]
pub(crate) struct Outlet {
    pub(crate) id: WriterId,
    encoding: Encoding,
    payload: Vec<u8>,
    key: Vec<u8>,
}

impl Outlet {
    pub(crate) fn open(
        participant: &mut Participant,
        now: Instant,
        new: NewWriter<'_>,
    ) -> Result<Self, CreateError> {
        let is_second = new.qos.representations.first() == Some(&Representation::Xcdr2);
        let encoding = if is_second {
            Encoding::Xcdr2
        } else {
            Encoding::Xcdr1
        };
        let id = participant.add_writer(now, new)?;
        Ok(Self {
            id,
            encoding,
            payload: Vec::new(),
            key: Vec::new(),
        })
    }

    pub(crate) fn write<T: Data>(
        &mut self,
        participant: &mut Participant,
        now: Instant,
        kind: ChangeKind,
        value: &T,
    ) -> Result<SequenceNumber, PublishError> {
        self.payload.clear();
        if kind == ChangeKind::Alive {
            to_payload(value, self.encoding, &mut self.payload)?;
        } else {
            to_key_payload(value, self.encoding, &mut self.payload)?;
            self.payload.resize(self.payload.len().max(KEY_MIN), 0);
        }
        self.key.clear();
        let key_hash = if T::HAS_KEY {
            let hash = key_hash_in(value, self.encoding, &mut self.key)?;
            write_key(value, Encoding::Xcdr2, &mut self.key)?;
            Some(hash)
        } else {
            None
        };
        let sample = NewSample {
            kind,
            payload: &self.payload,
            key: &self.key,
            key_hash,
        };
        Ok(participant.write(now, self.id, &sample)?)
    }
}

/// A writer of values of one type.
#[derive(Debug)]
pub struct Publication<T> {
    outlet: Outlet,
    of: PhantomData<fn(&T)>,
}

impl<T: Data> Publication<T> {
    /// Makes a publication of a topic; `None` if there are as many endpoints as the limits allow.
    pub fn create(
        participant: &mut Participant,
        now: Instant,
        topic: &str,
        qos: Qos,
    ) -> Option<Self> {
        Self::open(participant, now, topic, qos, PublicationOptions::default()).ok()
    }

    /// Makes a publication of a topic.
    ///
    /// # Errors
    /// If there are as many endpoints as the limits allow, or there is no such publisher.
    pub fn open(
        participant: &mut Participant,
        now: Instant,
        topic: &str,
        qos: Qos,
        options: PublicationOptions,
    ) -> Result<Self, CreateError> {
        let new = NewWriter {
            name: name::<T>(topic),
            has_key: T::HAS_KEY,
            qos,
            judge: options.judge,
            publisher: options.publisher,
            separates: options.separates,
        };
        let outlet = Outlet::open(participant, now, new)?;
        Ok(Self {
            outlet,
            of: PhantomData,
        })
    }

    /// Returns the writer.
    pub fn id(&self) -> WriterId {
        self.outlet.id
    }

    /// Publishes a value.
    ///
    /// # Errors
    /// If it cannot be encoded, or if there is no room for it.
    pub fn publish(
        &mut self,
        participant: &mut Participant,
        now: Instant,
        value: &T,
    ) -> Result<SequenceNumber, PublishError> {
        self.outlet
            .write(participant, now, ChangeKind::Alive, value)
    }

    /// Says that the instance to which a value belongs is gone.
    ///
    /// # Errors
    /// If there is no room for it.
    pub fn dispose(
        &mut self,
        participant: &mut Participant,
        now: Instant,
        value: &T,
    ) -> Result<SequenceNumber, PublishError> {
        self.outlet
            .write(participant, now, ChangeKind::Disposed, value)
    }

    /// Says that the instance to which a value belongs is no longer written here.
    ///
    /// # Errors
    /// If there is no room for it.
    pub fn unregister(
        &mut self,
        participant: &mut Participant,
        now: Instant,
        value: &T,
    ) -> Result<SequenceNumber, PublishError> {
        self.outlet
            .write(participant, now, ChangeKind::Unregistered, value)
    }

    /// Begins a coherent set: what is published from now on belongs together.
    pub fn begin_set(&self, participant: &mut Participant) {
        participant.begin_set(self.outlet.id);
    }

    /// Ends the coherent set.
    ///
    /// # Errors
    /// If there is no room for the word that it has ended; the set goes on.
    pub fn end_set(&self, participant: &mut Participant, now: Instant) -> Result<(), PublishError> {
        Ok(participant.end_set(now, self.outlet.id)?)
    }
}

/// A sample of a subscription.
#[derive(Clone, Debug, PartialEq)]
pub struct Received<T> {
    /// What is known of it.
    pub info: SampleInfo,
    /// The value, or the key alone if an instance has ended (`SampleInfo::is_valid`); nothing if
    /// nothing is known of its key.
    pub value: Option<T>,
}

/// A reader of values of one type.
#[derive(Debug)]
pub struct Subscription<T> {
    id: ReaderId,
    malformed: u64,
    of: PhantomData<fn() -> T>,
}

impl<T: Data> Subscription<T> {
    /// Makes a subscription to a topic; `None` if there are as many endpoints as the limits allow.
    pub fn create(
        participant: &mut Participant,
        now: Instant,
        topic: &str,
        qos: Qos,
    ) -> Option<Self> {
        Self::open(participant, now, topic, qos, SubscriptionOptions::default()).ok()
    }

    /// Makes a subscription to a topic.
    ///
    /// # Errors
    /// If there are as many endpoints as the limits allow, the filter does not fit the type, or there is
    /// no such subscriber.
    pub fn open(
        participant: &mut Participant,
        now: Instant,
        topic: &str,
        qos: Qos,
        options: SubscriptionOptions<'_>,
    ) -> Result<Self, CreateError> {
        let new = NewReader {
            name: name::<T>(topic),
            key_of: T::HAS_KEY.then_some(key_of::<T>),
            qos,
            filter: options.filter,
            subscriber: options.subscriber,
        };
        let id = participant.add_reader(now, new)?;
        Ok(Self {
            id,
            malformed: 0,
            of: PhantomData,
        })
    }

    /// Returns the reader.
    pub fn id(&self) -> ReaderId {
        self.id
    }

    /// Returns how many samples were no values of the type.
    pub fn malformed(&self) -> u64 {
        self.malformed
    }

    /// Takes the next sample.
    pub fn take(&mut self, participant: &mut Participant, now: Instant) -> Option<Received<T>> {
        take(participant, now, self.id, &mut self.malformed)
    }
}

/// Takes the next sample of a reader that is a value; counts those that are not.
pub(crate) fn take<T: Data>(
    participant: &mut Participant,
    now: Instant,
    id: ReaderId,
    malformed: &mut u64,
) -> Option<Received<T>> {
    loop {
        let taken = participant.take(now, id, |info, payload, key| {
            let value = if info.is_valid {
                from_payload(payload).map(Some)
            } else {
                Ok(value_of_key(payload, key))
            };
            value.map(|value| Received { info: *info, value })
        })?;
        match taken {
            Ok(received) => return Some(received),
            Err(_) => *malformed += 1,
        }
    }
}

/// Returns the value of which only the key is known: from the payload, or as the instance has it.
fn value_of_key<T: Data>(payload: &[u8], key: &[u8]) -> Option<T> {
    if !payload.is_empty() {
        return from_key_payload(payload).ok();
    }
    let mut whole = Vec::with_capacity(4 + key.len());
    // CDR2_BE, as the canonical key is.
    whole.extend_from_slice(&[0, 6, 0, 0]);
    whole.extend_from_slice(key);
    from_key_payload(&whole).ok()
}
