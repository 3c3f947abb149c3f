//! Publications and subscriptions with a type description.

use alloc::sync::Arc;

use crate::dynamic::{Structure, Value};
use crate::engine::{
    CreateError, NewReader, NewWriter, Participant, ReaderId, TopicName, WriterId,
};
use crate::qos::Qos;
use crate::reader::KeyOf;
use crate::sequence::SequenceNumber;
use crate::time::Instant;
use crate::typed::{Described, Outlet, PublishError, Received, take_with, whole_key};
use crate::writer::ChangeKind;

fn name<'a>(topic: &'a str, kind: &'a Structure) -> TopicName<'a> {
    TopicName { topic, type_name: kind.name() }
}

/// Writer of values of a described type.
#[derive(Debug)]
pub struct Publication {
    outlet: Outlet,
    kind: Arc<Structure>,
}

impl Publication {
    /// Creates a publication of a topic.
    ///
    /// # Errors
    /// The limit of endpoints is reached.
    pub fn create(
        participant: &mut Participant,
        now: Instant,
        topic: &str,
        kind: Arc<Structure>,
        qos: Qos,
    ) -> Result<Self, CreateError> {
        let new = NewWriter {
            name: name(topic, &kind),
            has_key: kind.has_key(),
            qos,
            judge: None,
            publisher: None,
            separates: false,
        };
        let outlet = Outlet::open(participant, now, new)?;
        Ok(Self { outlet, kind })
    }

    /// Returns the writer.
    pub const fn id(&self) -> WriterId {
        self.outlet.id
    }

    /// Writes a value, or ends the instance of a value.
    ///
    /// # Errors
    /// The value does not fit the type, or the history has no room.
    pub fn write(
        &mut self,
        participant: &mut Participant,
        now: Instant,
        kind: ChangeKind,
        value: &Value,
    ) -> Result<SequenceNumber, PublishError> {
        let value = Described(&self.kind, value);
        self.outlet.write_as(participant, now, kind, &value)
    }
}

/// Reader of values of a described type.
#[derive(Debug)]
pub struct Subscription {
    id: ReaderId,
    kind: Arc<Structure>,
    malformed: u64,
}

impl Subscription {
    /// Creates a subscription to a topic.
    ///
    /// # Errors
    /// The limit of endpoints is reached.
    pub fn create(
        participant: &mut Participant,
        now: Instant,
        topic: &str,
        kind: Arc<Structure>,
        qos: Qos,
    ) -> Result<Self, CreateError> {
        let keys = Arc::clone(&kind);
        let closure = move |payload: &[u8], is_key, key: &mut _| keys.key_of(payload, is_key, key);
        let new = NewReader {
            name: name(topic, &kind),
            key_of: kind.has_key().then(|| KeyOf::Closure(Arc::new(closure))),
            qos,
            filter: None,
            subscriber: None,
        };
        let id = participant.add_reader(now, new)?;
        Ok(Self { id, kind, malformed: 0 })
    }

    /// Returns the reader.
    pub const fn id(&self) -> ReaderId {
        self.id
    }

    /// Returns how many samples could not be decoded as the type.
    pub const fn malformed(&self) -> u64 {
        self.malformed
    }

    /// Takes the next sample that can be decoded.
    pub fn take(&mut self, participant: &mut Participant, now: Instant) -> Option<Received<Value>> {
        let kind = &self.kind;
        take_with(
            participant,
            now,
            self.id,
            &mut self.malformed,
            |payload| kind.from_payload(payload),
            |payload, key| {
                if payload.is_empty() {
                    kind.from_key_payload(&whole_key(key)).ok()
                } else {
                    kind.from_key_payload(payload).ok()
                }
            },
        )
    }
}
