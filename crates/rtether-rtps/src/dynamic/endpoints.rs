//! Publications and subscriptions of a type that is described.

use alloc::sync::Arc;

use super::kinds::Structure;
use super::value::Value;
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
    TopicName {
        topic,
        type_name: kind.name(),
    }
}

/// A writer of values of one type.
#[derive(Debug)]
pub struct Publication {
    outlet: Outlet,
    kind: Arc<Structure>,
}

impl Publication {
    /// Makes a publication of a topic.
    ///
    /// # Errors
    /// If there are as many endpoints as the limits allow.
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

    /// Writes a value, or says what has become of the instance to which it belongs.
    ///
    /// # Errors
    /// If it is no value of the type, or if there is no room for it.
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

/// A reader of values of one type.
#[derive(Debug)]
pub struct Subscription {
    id: ReaderId,
    kind: Arc<Structure>,
    malformed: u64,
}

impl Subscription {
    /// Makes a subscription to a topic.
    ///
    /// # Errors
    /// If there are as many endpoints as the limits allow.
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
        Ok(Self {
            id,
            kind,
            malformed: 0,
        })
    }

    /// Returns the reader.
    pub const fn id(&self) -> ReaderId {
        self.id
    }

    /// Returns how many samples were no values of the type.
    pub const fn malformed(&self) -> u64 {
        self.malformed
    }

    /// Takes the next sample that is a value.
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
