//! Typed publications and subscriptions.

use alloc::vec::Vec;
use core::marker::PhantomData;

use crate::cdr::{
    self, ByteOrder, CdrError, Data, Encoding, from_key_payload, from_payload, key_hash_in,
    to_bare_key_payload, to_key_payload, to_payload, write_key,
};
use crate::dynamic::{Structure, Value};
use crate::engine::{
    CreateError, NewFilter, NewReader, NewSample, NewWriter, Participant, PublisherId, ReaderId,
    SubscriberId, TopicName, WriterId,
};
use crate::filter::Judge;
use crate::qos::{Qos, Representation};
use crate::reader::{KeyOf, SampleInfo};
use crate::sequence::SequenceNumber;
use crate::time::Instant;
use crate::writer::{ChangeKind, WriteError};

/// Why a value was not published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// It cannot be encoded.
    #[error(transparent)]
    Value(#[from] CdrError),
    /// The writer refuses the sample.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Minimum size of a serialized key, in octets. Fast DDS takes a shorter one for the hash, although
/// the hash comes along; zeros after a key are ignored.
const KEY_MIN: usize = 20;

/// Writes the key of a payload of type `T`; returns its hash in the encoding of the payload.
pub fn key_of<T: Data>(payload: &[u8], is_key: bool, key: &mut Vec<u8>) -> Option<[u8; 16]> {
    let value: Result<T, CdrError> =
        if is_key { from_key_payload(payload) } else { from_payload(payload) };
    let value = value.ok()?;
    let (representation, _) = cdr::Representation::split(payload).ok()?;
    let hash = key_hash_in(&value, representation.encoding, key).ok()?;
    write_key(&value, Encoding::Xcdr2, key).ok()?;
    Some(hash)
}

/// Returns the topic name together with the name of type `T`.
pub(crate) fn name<T: Data>(topic: &str) -> TopicName<'_> {
    TopicName { topic, type_name: T::NAME }
}

/// Options of a publication beside its policies.
#[derive(Clone, Copy, Debug, Default)]
pub struct PublicationOptions {
    /// How filters evaluate its values ([`Judge::of`]): samples that the filter of a subscription
    /// rejects are not sent to it.
    pub judge: Option<Judge>,
    /// Publisher that it belongs to.
    pub publisher: Option<PublisherId>,
    /// Whether best-effort subscriptions with a minimum separation are sent only what the
    /// separation allows, and the last value of an instance when it ends.
    pub separates: bool,
}

/// Options of a subscription beside its policies.
#[derive(Clone, Copy, Debug, Default)]
pub struct SubscriptionOptions<'a> {
    /// Selects samples; `None` takes all.
    pub filter: Option<NewFilter<'a>>,
    /// Subscriber that it belongs to.
    pub subscriber: Option<SubscriberId>,
}

/// A publication without the type of its values.
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
        let encoding = if is_second { Encoding::Xcdr2 } else { Encoding::Xcdr1 };
        let id = participant.add_writer(now, new)?;
        Ok(Self { id, encoding, payload: Vec::new(), key: Vec::new() })
    }

    pub(crate) fn write<T: Data>(
        &mut self,
        participant: &mut Participant,
        now: Instant,
        kind: ChangeKind,
        value: &T,
    ) -> Result<SequenceNumber, PublishError> {
        self.write_as(participant, now, kind, &Derived(value))
    }

    /// Writes a value of any representation in memory.
    pub(crate) fn write_as(
        &mut self,
        participant: &mut Participant,
        now: Instant,
        kind: ChangeKind,
        value: &impl Travel,
    ) -> Result<SequenceNumber, PublishError> {
        self.payload.clear();
        if kind == ChangeKind::Alive {
            value.payload(self.encoding, &mut self.payload)?;
        } else {
            let is_bare = participant.wants_bare_keys(self.id);
            value.key_payload(self.encoding, is_bare, &mut self.payload)?;
            self.payload.resize(self.payload.len().max(KEY_MIN), 0);
        }
        self.key.clear();
        let key_hash = value.key(self.encoding, &mut self.key)?;
        let sample = NewSample { kind, payload: &self.payload, key: &self.key, key_hash };
        Ok(participant.write(now, self.id, &sample)?)
    }
}

/// A value that can be written as a payload, by its type or by a description.
pub(crate) trait Travel {
    fn payload(&self, encoding: Encoding, out: &mut Vec<u8>) -> Result<(), CdrError>;

    fn key_payload(
        &self,
        encoding: Encoding,
        is_bare: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), CdrError>;

    /// Writes the canonical key and returns the hash of the key in `encoding`; `None` for types
    /// without a key.
    fn key(&self, encoding: Encoding, key: &mut Vec<u8>) -> Result<Option<[u8; 16]>, CdrError>;
}

struct Derived<'a, T>(&'a T);

impl<T: Data> Travel for Derived<'_, T> {
    fn payload(&self, encoding: Encoding, out: &mut Vec<u8>) -> Result<(), CdrError> {
        to_payload(self.0, encoding, out)
    }

    fn key_payload(
        &self,
        encoding: Encoding,
        is_bare: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), CdrError> {
        if is_bare {
            to_bare_key_payload(self.0, encoding, out)
        } else {
            to_key_payload(self.0, encoding, out)
        }
    }

    fn key(&self, encoding: Encoding, key: &mut Vec<u8>) -> Result<Option<[u8; 16]>, CdrError> {
        if !T::HAS_KEY {
            return Ok(None);
        }
        let hash = key_hash_in(self.0, encoding, key)?;
        write_key(self.0, Encoding::Xcdr2, key)?;
        Ok(Some(hash))
    }
}

/// A value with the description of its type.
pub(crate) struct Described<'a>(pub(crate) &'a Structure, pub(crate) &'a Value);

impl Travel for Described<'_> {
    fn payload(&self, encoding: Encoding, out: &mut Vec<u8>) -> Result<(), CdrError> {
        self.0.to_payload(self.1, encoding, ByteOrder::Little, out)
    }

    fn key_payload(
        &self,
        encoding: Encoding,
        is_bare: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), CdrError> {
        self.0.to_key_payload(self.1, encoding, is_bare, out)
    }

    fn key(&self, encoding: Encoding, key: &mut Vec<u8>) -> Result<Option<[u8; 16]>, CdrError> {
        if !self.0.has_key() {
            return Ok(None);
        }
        let hash = self.0.key_hash_in(self.1, encoding, key)?;
        self.0.write_key(self.1, Encoding::Xcdr2, key)?;
        Ok(Some(hash))
    }
}

/// Writer of values of one type.
#[derive(Debug)]
pub struct Publication<T> {
    outlet: Outlet,
    of: PhantomData<fn(&T)>,
}

impl<T: Data> Publication<T> {
    /// Creates a publication of a topic; `None` if the limit of endpoints is reached.
    pub fn create(
        participant: &mut Participant,
        now: Instant,
        topic: &str,
        qos: Qos,
    ) -> Option<Self> {
        Self::open(participant, now, topic, qos, PublicationOptions::default()).ok()
    }

    /// Creates a publication of a topic.
    ///
    /// # Errors
    /// The limit of endpoints is reached, or the publisher does not exist.
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
        Ok(Self { outlet, of: PhantomData })
    }

    /// Returns the writer.
    pub fn id(&self) -> WriterId {
        self.outlet.id
    }

    /// Publishes a value.
    ///
    /// # Errors
    /// The value cannot be encoded, or the history has no room.
    pub fn publish(
        &mut self,
        participant: &mut Participant,
        now: Instant,
        value: &T,
    ) -> Result<SequenceNumber, PublishError> {
        self.outlet.write(participant, now, ChangeKind::Alive, value)
    }

    /// Disposes of the instance of a value.
    ///
    /// # Errors
    /// No room in the history.
    pub fn dispose(
        &mut self,
        participant: &mut Participant,
        now: Instant,
        value: &T,
    ) -> Result<SequenceNumber, PublishError> {
        self.outlet.write(participant, now, ChangeKind::Disposed, value)
    }

    /// Unregisters the instance of a value: this writer no longer writes it.
    ///
    /// # Errors
    /// No room in the history.
    pub fn unregister(
        &mut self,
        participant: &mut Participant,
        now: Instant,
        value: &T,
    ) -> Result<SequenceNumber, PublishError> {
        self.outlet.write(participant, now, ChangeKind::Unregistered, value)
    }

    /// Begins a coherent set: samples published from now on belong together.
    pub fn begin_set(&self, participant: &mut Participant) {
        participant.begin_set(self.outlet.id);
    }

    /// Ends the coherent set.
    ///
    /// # Errors
    /// There is no room for the sample that ends the set; the set remains open.
    pub fn end_set(&self, participant: &mut Participant, now: Instant) -> Result<(), PublishError> {
        Ok(participant.end_set(now, self.outlet.id)?)
    }
}

/// A sample of a subscription.
#[derive(Clone, Debug, PartialEq)]
pub struct Received<T> {
    /// Metadata of the sample.
    pub info: SampleInfo,
    /// The value, or only its key if the instance has ended (`SampleInfo::is_valid`); `None` if the
    /// key is unknown.
    pub value: Option<T>,
}

/// Reader of values of one type.
#[derive(Debug)]
pub struct Subscription<T> {
    id: ReaderId,
    malformed: u64,
    of: PhantomData<fn() -> T>,
}

impl<T: Data> Subscription<T> {
    /// Creates a subscription to a topic; `None` if the limit of endpoints is reached.
    pub fn create(
        participant: &mut Participant,
        now: Instant,
        topic: &str,
        qos: Qos,
    ) -> Option<Self> {
        Self::open(participant, now, topic, qos, SubscriptionOptions::default()).ok()
    }

    /// Creates a subscription to a topic.
    ///
    /// # Errors
    /// The limit of endpoints is reached, the filter does not fit the type, or the subscriber does
    /// not exist.
    pub fn open(
        participant: &mut Participant,
        now: Instant,
        topic: &str,
        qos: Qos,
        options: SubscriptionOptions<'_>,
    ) -> Result<Self, CreateError> {
        let new = NewReader {
            name: name::<T>(topic),
            key_of: T::HAS_KEY.then_some(KeyOf::Function(key_of::<T>)),
            qos,
            filter: options.filter,
            subscriber: options.subscriber,
        };
        let id = participant.add_reader(now, new)?;
        Ok(Self { id, malformed: 0, of: PhantomData })
    }

    /// Returns the reader.
    pub fn id(&self) -> ReaderId {
        self.id
    }

    /// Returns how many samples could not be decoded as the type.
    pub fn malformed(&self) -> u64 {
        self.malformed
    }

    /// Takes the next sample.
    pub fn take(&mut self, participant: &mut Participant, now: Instant) -> Option<Received<T>> {
        take(participant, now, self.id, &mut self.malformed)
    }
}

/// Takes the next sample of a reader that decodes; counts those that do not.
pub(crate) fn take<T: Data>(
    participant: &mut Participant,
    now: Instant,
    id: ReaderId,
    malformed: &mut u64,
) -> Option<Received<T>> {
    let of_key = value_of_key::<T>;
    take_with(participant, now, id, malformed, from_payload, of_key)
}

/// Like [`take`], with functions that decode a payload, and a key from its payload or from the key
/// stored for the instance.
pub(crate) fn take_with<T>(
    participant: &mut Participant,
    now: Instant,
    id: ReaderId,
    malformed: &mut u64,
    of_payload: impl Fn(&[u8]) -> Result<T, CdrError>,
    of_key: impl Fn(&[u8], &[u8]) -> Option<T>,
) -> Option<Received<T>> {
    loop {
        let taken = participant.take(now, id, |info, payload, key| {
            let value = if info.is_valid {
                of_payload(payload).map(Some)
            } else {
                Ok(of_key(payload, key))
            };
            value.map(|value| Received { info: *info, value })
        })?;
        match taken {
            Ok(received) => return Some(received),
            Err(_) => *malformed += 1,
        }
    }
}

/// Decodes a value of which only the key is known, from the payload or from the key stored for the
/// instance.
fn value_of_key<T: Data>(payload: &[u8], key: &[u8]) -> Option<T> {
    if !payload.is_empty() {
        return from_key_payload(payload).ok();
    }
    from_key_payload(&whole_key(key)).ok()
}

/// Returns a payload with a canonical key.
pub(crate) fn whole_key(key: &[u8]) -> Vec<u8> {
    let mut whole = Vec::with_capacity(4 + key.len());
    // CDR2_BE, the encoding of canonical keys.
    whole.extend_from_slice(&[0, 6, 0, 0]);
    whole.extend_from_slice(key);
    whole
}
