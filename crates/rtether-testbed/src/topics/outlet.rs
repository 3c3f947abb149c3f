//! Writers and readers of a topic of any type.

use std::sync::Arc;
use std::sync::mpsc::TryRecvError;

use rtether_live::rtps::Domain;
use rtether_rtps::described;
use rtether_rtps::dynamic::{Structure, Value};
use rtether_rtps::engine::{Participant, ReaderId, WriterId};
use rtether_rtps::reader::SampleInfo;
use rtether_rtps::sequence::SequenceNumber;
use rtether_rtps::time::Instant;
use rtether_rtps::typed::{Publication, PublishError, Subscription};
use rtether_rtps::types::{Octets, Ping, ShapeType};
use rtether_rtps::writer::ChangeKind;
use rtether_rtps::xtypes::Description;

use super::topic_type::Show;
use super::{Member, PublishOptions, TopicOptions, TopicType, Values, no_room, values};
use crate::LiveError;

/// Whether there is a value to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Ready,
    Later,
    Over,
}

/// A writer and its current value.
pub(super) trait Outlet {
    fn id(&self) -> WriterId;

    /// Advances to the next value: its number, counted from 1, and the time of day. An error says
    /// why the feed ended.
    fn advance(&mut self, number: u64, wall_ns: i64) -> Result<Next, String>;

    /// Writes the current value.
    fn publish(
        &mut self,
        participant: &mut Participant,
        now: Instant,
    ) -> Result<SequenceNumber, PublishError>;

    /// Returns the members of the current value.
    fn members(&self) -> Vec<Member>;
}

/// A reader that displays its samples.
pub(super) trait Inlet {
    fn id(&self) -> ReaderId;

    /// Takes the next sample and its members.
    fn take(
        &mut self,
        participant: &mut Participant,
        now: Instant,
    ) -> Option<(SampleInfo, Vec<Member>)>;

    /// Returns how many samples were not values of the type.
    fn malformed(&self) -> u64;
}

/// Opens the writer of a publication.
pub(super) fn outlet(
    domain: &mut Domain,
    options: &PublishOptions,
    values: Values,
) -> Result<Box<dyn Outlet>, LiveError> {
    Ok(match &options.topic.kind {
        TopicType::Shape => Box::new(BuiltIn::<ShapeType>::open(domain, options)?),
        TopicType::Octets => Box::new(BuiltIn::<Octets>::open(domain, options)?),
        TopicType::Ping => Box::new(BuiltIn::<Ping>::open(domain, options)?),
        TopicType::Described(kind) => {
            let topic = &options.topic;
            let (now, participant) = (domain.now(), domain.participant_mut());
            let (kind, qos) = (Arc::clone(kind), topic.qos.clone());
            let publication =
                described::Publication::create(participant, now, &topic.topic, kind.clone(), qos);
            let publication = publication.map_err(|_| no_room())?;
            if options.describes {
                let description = Description::of(&kind);
                let writer = publication.id();
                if !participant.describe_writer(now, writer, &description) {
                    let why = "the type is too large to be described: leave out `--describe-type`";
                    return Err(LiveError::Topic(why.to_owned()));
                }
            }
            Box::new(Described { publication, value: kind.missing(), kind, values, at: 0 })
        }
    })
}

/// Opens the reader of a subscription.
pub(super) fn inlet(
    domain: &mut Domain,
    options: &TopicOptions,
) -> Result<Box<dyn Inlet>, LiveError> {
    let (now, participant) = (domain.now(), domain.participant_mut());
    let (topic, qos) = (options.topic.as_str(), options.qos.clone());
    match &options.kind {
        TopicType::Shape => {
            built_in::<ShapeType>(Subscription::create(participant, now, topic, qos))
        }
        TopicType::Octets => built_in::<Octets>(Subscription::create(participant, now, topic, qos)),
        TopicType::Ping => built_in::<Ping>(Subscription::create(participant, now, topic, qos)),
        TopicType::Described(kind) => {
            let kind = Arc::clone(kind);
            let subscription =
                described::Subscription::create(participant, now, topic, kind.clone(), qos);
            let subscription = subscription.map_err(|_| no_room())?;
            Ok(Box::new((subscription, kind)))
        }
    }
}

fn built_in<T: Show + 'static>(
    subscription: Option<Subscription<T>>,
) -> Result<Box<dyn Inlet>, LiveError> {
    Ok(Box::new(subscription.ok_or_else(no_room)?))
}

/// A writer of a built-in type.
struct BuiltIn<T> {
    publication: Publication<T>,
    value: T,
}

impl<T: Show> BuiltIn<T> {
    fn open(domain: &mut Domain, options: &PublishOptions) -> Result<Self, LiveError> {
        let topic = &options.topic;
        let (now, participant) = (domain.now(), domain.participant_mut());
        let publication = Publication::create(participant, now, &topic.topic, topic.qos.clone());
        let size = usize::try_from(options.size).unwrap_or(usize::MAX);
        Ok(Self {
            publication: publication.ok_or_else(no_room)?,
            value: T::first(size, &options.color),
        })
    }
}

impl<T: Show> Outlet for BuiltIn<T> {
    fn id(&self) -> WriterId {
        self.publication.id()
    }

    fn advance(&mut self, number: u64, wall_ns: i64) -> Result<Next, String> {
        self.value.advance(number, wall_ns);
        Ok(Next::Ready)
    }

    fn publish(
        &mut self,
        participant: &mut Participant,
        now: Instant,
    ) -> Result<SequenceNumber, PublishError> {
        self.publication.publish(participant, now, &self.value)
    }

    fn members(&self) -> Vec<Member> {
        self.value.members()
    }
}

impl<T: Show> Inlet for Subscription<T> {
    fn id(&self) -> ReaderId {
        Self::id(self)
    }

    fn take(
        &mut self,
        participant: &mut Participant,
        now: Instant,
    ) -> Option<(SampleInfo, Vec<Member>)> {
        let received = Self::take(self, participant, now)?;
        let mut members = received.value.as_ref().map(T::members).unwrap_or_default();
        if !received.info.is_valid {
            // Only the key has a value: in these types the first member.
            members.truncate(1);
        }
        Some((received.info, members))
    }

    fn malformed(&self) -> u64 {
        Self::malformed(self)
    }
}

/// A writer of a described type.
struct Described {
    publication: described::Publication,
    kind: Arc<Structure>,
    values: Values,
    value: Value,
    /// Index of the next of the given values.
    at: usize,
}

impl Outlet for Described {
    fn id(&self) -> WriterId {
        self.publication.id()
    }

    fn advance(&mut self, _: u64, _: i64) -> Result<Next, String> {
        match &self.values {
            Values::Made => {}
            Values::Given(values) => {
                if let Some(value) = values.get(self.at) {
                    self.value.clone_from(value);
                }
                self.at = (self.at + 1) % values.len().max(1);
            }
            Values::Fed(receiver) => match receiver.try_recv() {
                Ok(value) => self.value = value.map_err(|error| error.to_string())?,
                Err(TryRecvError::Empty) => return Ok(Next::Later),
                Err(TryRecvError::Disconnected) => return Ok(Next::Over),
            },
        }
        Ok(Next::Ready)
    }

    fn publish(
        &mut self,
        participant: &mut Participant,
        now: Instant,
    ) -> Result<SequenceNumber, PublishError> {
        self.publication.write(participant, now, ChangeKind::Alive, &self.value)
    }

    fn members(&self) -> Vec<Member> {
        values::members(&self.value, &self.kind, false)
    }
}

impl Inlet for (described::Subscription, Arc<Structure>) {
    fn id(&self) -> ReaderId {
        self.0.id()
    }

    fn take(
        &mut self,
        participant: &mut Participant,
        now: Instant,
    ) -> Option<(SampleInfo, Vec<Member>)> {
        let received = self.0.take(participant, now)?;
        let is_key = !received.info.is_valid;
        let members = received.value.as_ref();
        let members = members.map(|value| values::members(value, &self.1, is_key));
        Some((received.info, members.unwrap_or_default()))
    }

    fn malformed(&self) -> u64 {
        self.0.malformed()
    }
}
