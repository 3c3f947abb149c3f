//! The writing side.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration as WallDuration, Instant as WallInstant};

use rtether_rtps::engine::{NewSample, Participant, TopicName, WriterId};
use rtether_rtps::time::{Duration, Instant};
use rtether_rtps::typed::{Publication, PublishError};
use rtether_rtps::types::Octets;
use rtether_rtps::writer::{ChangeKind, WriteError};
use rtether_rtps::{described, dynamic};

use super::hold::Hold;
use super::kind::{Content, Kind, value_of};
use super::shared::{Endpoint, Shared, Turn};
use super::{Failure, Qos};

/// Size of the encapsulation header of a payload, in octets.
const HEADER: usize = 4;

/// A writer of a [`Participant`](super::Participant); dropping it deletes it.
pub struct Publisher {
    hold: Hold,
    outlet: Mutex<Option<Outlet>>,
    id: WriterId,
}

/// A writer of each kind.
enum Outlet {
    Octets(Publication<Octets>),
    Payload(WriterId),
    Described(described::Publication, Arc<dynamic::Structure>),
}

/// A value on its way.
enum Value<'a> {
    Octets(Octets),
    Payload(&'a [u8]),
    Described(dynamic::Value),
}

impl Publisher {
    pub(super) fn open(
        shared: Arc<Shared>,
        topic: &str,
        kind: Kind,
        qos: Qos,
    ) -> Result<Self, Failure> {
        let mut turn = shared.turn()?;
        let domain = turn.domain()?;
        let (now, participant) = (domain.now(), domain.participant_mut());
        let outlet = match kind {
            Kind::Octets => Publication::create(participant, now, topic, qos).map(Outlet::Octets),
            Kind::Payload(name) => {
                let name = TopicName { topic, type_name: &name };
                let id = participant.create_writer(now, name, false, qos);
                id.map(Outlet::Payload)
            }
            Kind::Described(structure) => {
                let own = Arc::clone(&structure);
                let made = described::Publication::create(participant, now, topic, own, qos);
                made.ok().map(|made| Outlet::Described(made, structure))
            }
        };
        let outlet = outlet.ok_or(Failure::Endpoints)?;
        let id = outlet.id();
        drop(turn);
        Ok(Self { hold: Hold::new(shared), outlet: Mutex::new(Some(outlet)), id })
    }

    fn outlet(&self) -> MutexGuard<'_, Option<Outlet>> {
        self.outlet.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a sample as soon as there is room for it, but not after `patience`; returns its
    /// number, or `None` if there was no room: a reliable reader has not acknowledged the oldest
    /// sample of a full history.
    ///
    /// # Errors
    /// It is closed, the content is not of its kind, or is too long.
    pub fn write(&self, content: &Content, patience: WallDuration) -> Result<Option<i64>, Failure> {
        let mut outlet = self.outlet();
        let outlet = outlet.as_mut().ok_or(Failure::Closed)?;
        let value = outlet.value(content)?;
        self.hold.wait(patience, |turn| match turn.write(outlet, &value) {
            Ok(number) => Ok(Some(number)),
            Err(Failure::Refused(PublishError::Write(WriteError::Full))) => Ok(None),
            Err(other) => Err(other),
        })
    }

    /// Waits until `is_it` holds, but not longer than `patience`; returns whether it does.
    fn wait(
        &self,
        patience: WallDuration,
        mut is_it: impl FnMut(&mut Turn<'_>) -> Result<bool, Failure>,
    ) -> Result<bool, Failure> {
        let met = self.hold.wait(patience, |turn| Ok(is_it(turn)?.then_some(())))?;
        Ok(met.is_some())
    }

    /// Waits until this many readers are matched and had half a second to learn of it; returns
    /// whether they did within `patience`.
    ///
    /// # Errors
    /// It is closed.
    pub fn await_readers(&self, count: usize, patience: WallDuration) -> Result<bool, Failure> {
        let until = WallInstant::now() + patience;
        let is_matched = self
            .wait(patience, |turn| Ok(turn.domain()?.participant().readers_of(self.id) >= count))?;
        if !is_matched {
            return Ok(false);
        }
        // No event tells that they know.
        let left = self.hold.turn()?.settles_in(self.id)?;
        if left <= Duration::ZERO {
            return Ok(true);
        }
        let left = WallDuration::from_nanos(left.as_ns().unsigned_abs());
        let patience = until.saturating_duration_since(WallInstant::now());
        std::thread::sleep(left.min(patience));
        Ok(left <= patience)
    }

    /// Waits until every reliable reader has acknowledged everything; returns whether they did
    /// within `patience`.
    ///
    /// # Errors
    /// It is closed.
    pub fn await_acknowledged(&self, patience: WallDuration) -> Result<bool, Failure> {
        self.wait(patience, |turn| Ok(turn.domain()?.participant().is_acknowledged(self.id)))
    }

    /// Returns how many readers are matched.
    ///
    /// # Errors
    /// It is closed.
    pub fn readers(&self) -> Result<usize, Failure> {
        Ok(self.hold.turn()?.domain()?.participant().readers_of(self.id))
    }

    /// Returns how many samples of the history lack the acknowledgment of a reliable reader.
    ///
    /// # Errors
    /// It is closed.
    pub fn unacknowledged(&self) -> Result<u64, Failure> {
        Ok(self.hold.turn()?.domain()?.participant().unacknowledged(self.id))
    }

    /// Returns why readers of the topic are not matched, each reason once.
    ///
    /// # Errors
    /// It is closed.
    pub fn mismatches(&self) -> Result<Vec<String>, Failure> {
        Ok(self.hold.turn()?.reasons(Endpoint::Writer(self.id)))
    }

    /// Deletes the writer; has no effect if it or its participant is closed.
    pub fn close(&self) {
        if self.hold.end() {
            drop(self.outlet().take());
            self.hold.delete(Endpoint::Writer(self.id));
        }
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.close();
    }
}

impl Turn<'_> {
    fn write(&mut self, outlet: &mut Outlet, value: &Value<'_>) -> Result<i64, Failure> {
        let domain = self.domain()?;
        let now = domain.now();
        let written = outlet.write(domain.participant_mut(), now, value)?;
        Ok(written)
    }
}

impl Outlet {
    fn id(&self) -> WriterId {
        match self {
            Self::Octets(publication) => publication.id(),
            Self::Payload(id) => *id,
            Self::Described(publication, _) => publication.id(),
        }
    }

    /// Reads the content as what this writer writes.
    fn value<'a>(&self, content: &'a Content) -> Result<Value<'a>, Failure> {
        match (self, content) {
            (Self::Octets(_), Content::Octets(octets)) => {
                Ok(Value::Octets(Octets { octets: octets.clone() }))
            }
            (Self::Payload(_), Content::Octets(octets)) if octets.len() < HEADER => Err(
                Failure::Content("a payload begins with the four octets that name its encoding"),
            ),
            (Self::Payload(_), Content::Octets(octets)) => Ok(Value::Payload(octets)),
            (Self::Described(_, structure), Content::Json(json)) => {
                Ok(Value::Described(value_of(json, structure)?))
            }
            (Self::Described(..), Content::Octets(_)) => {
                Err(Failure::Content("the topic has values of a described type"))
            }
            (Self::Octets(_) | Self::Payload(_), Content::Json(_)) => {
                Err(Failure::Content("the topic has octets: its type is not described"))
            }
        }
    }

    fn write(
        &mut self,
        participant: &mut Participant,
        now: Instant,
        value: &Value<'_>,
    ) -> Result<i64, PublishError> {
        let number = match (self, value) {
            (Self::Octets(publication), Value::Octets(octets)) => {
                publication.publish(participant, now, octets)?
            }
            (Self::Payload(id), Value::Payload(payload)) => {
                participant.write(now, *id, &NewSample::value(payload))?
            }
            (Self::Described(publication, _), Value::Described(value)) => {
                publication.write(participant, now, ChangeKind::Alive, value)?
            }
            // Unreachable: `value` reads it for the same writer.
            (Self::Octets(_) | Self::Payload(_) | Self::Described(..), _) => {
                return Err(WriteError::Unknown.into());
            }
        };
        Ok(number.0)
    }
}
