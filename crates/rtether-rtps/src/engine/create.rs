//! Creation of endpoints.

use alloc::borrow::ToOwned;
use alloc::vec::Vec;

use super::{
    LocalReader, LocalWriter, Participant, PublisherId, ReaderId, SubscriberId, TopicName, WriterId,
};
use crate::discovery::{self, ContentFilter, EndpointData};
use crate::filter::{self, Filter, FilterError, Judge};
use crate::guid::EntityId;
use crate::qos::{AccessScope, Qos};
use crate::reader::{KeyOf, Reader};
use crate::time::Instant;
use crate::writer::{ChangeKind, Writer};

/// Parameters of a new writer.
#[derive(Clone, Debug)]
pub struct NewWriter<'a> {
    /// Topic and type.
    pub name: TopicName<'a>,
    /// Whether the topic has a key.
    pub has_key: bool,
    /// Offered policies.
    pub qos: Qos,
    /// Evaluates filters of readers: samples that a filter rejects are not sent. `None`: readers
    /// get all samples and filter themselves.
    pub judge: Option<Judge>,
    /// Publisher that it belongs to.
    pub publisher: Option<PublisherId>,
    /// Whether best-effort readers with a time-based filter are sent only what the separation
    /// allows, and the last value of an instance when it ends.
    pub separates: bool,
}

/// Parameters of a new reader.
#[derive(Clone, Debug)]
pub struct NewReader<'a> {
    /// Topic and type.
    pub name: TopicName<'a>,
    /// Extracts the keys of samples, for topics with a key.
    pub key_of: Option<KeyOf>,
    /// Requested policies.
    pub qos: Qos,
    /// Selects samples; `None` takes all.
    pub filter: Option<NewFilter<'a>>,
    /// Subscriber that it belongs to.
    pub subscriber: Option<SubscriberId>,
}

/// Content filter of a reader (DDSI-RTPS 2.5, 8.7.3).
#[derive(Clone, Copy, Debug)]
pub struct NewFilter<'a> {
    /// Name of the content-filtered topic.
    pub topic: &'a str,
    /// Condition in the language of [`crate::filter`].
    pub expression: &'a str,
    /// Parameters of the condition.
    pub parameters: &'a [&'a str],
    /// Evaluates the filter on samples.
    pub judge: Judge,
}

/// Why an endpoint was not created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CreateError {
    /// The limit of endpoints is reached.
    #[error("the limit of endpoints is reached")]
    Full,
    /// The publisher or subscriber does not exist.
    #[error("the publisher or subscriber does not exist")]
    Group,
    /// The filter does not fit the type.
    #[error(transparent)]
    Filter(#[from] FilterError),
}

impl Participant {
    /// Creates a writer and announces it; `None` if the limit of endpoints is reached.
    pub fn create_writer(
        &mut self,
        now: Instant,
        name: TopicName<'_>,
        has_key: bool,
        qos: Qos,
    ) -> Option<WriterId> {
        let new = NewWriter { name, has_key, qos, judge: None, publisher: None, separates: false };
        self.add_writer(now, new).ok()
    }

    /// Creates a reader and announces it; `None` if the limit of endpoints is reached. `key_of` is
    /// required for topics with a key.
    pub fn create_reader(
        &mut self,
        now: Instant,
        name: TopicName<'_>,
        key_of: Option<KeyOf>,
        qos: Qos,
    ) -> Option<ReaderId> {
        let new = NewReader { name, key_of, qos, filter: None, subscriber: None };
        self.add_reader(now, new).ok()
    }

    /// Creates a writer and announces it.
    ///
    /// # Errors
    /// The limit of endpoints is reached, or the publisher does not exist.
    pub fn add_writer(
        &mut self,
        now: Instant,
        new: NewWriter<'_>,
    ) -> Result<WriterId, CreateError> {
        let new = NewWriter {
            has_key: new.has_key && self.role().is_none(),
            separates: new.separates || self.role().is_some(),
            qos: self.policies(new.qos, true),
            ..new
        };
        let publisher = new.publisher.map(|id| self.publisher(id).ok_or(CreateError::Group));
        let group = publisher.transpose()?.map(|publisher| publisher.entity);
        let number = self.number().ok_or(CreateError::Full)?;
        let entity = EntityId::writer(number, new.has_key);
        let mut endpoint = self.endpoint(new.name, entity, &new.qos);
        endpoint.group = group;
        let multicast = self.config.may_multicast;
        let scope = new.qos.presentation.scope;
        let mut writer = Writer::new(entity, new.qos, self.config.writer, multicast);
        if new.separates {
            writer.keep_apart();
        }
        self.publish_endpoint(now, true, &endpoint, ChangeKind::Alive);
        let id = WriterId(self.writers.len());
        self.writers.push(Some(LocalWriter {
            writer,
            endpoint: Some(endpoint),
            judge: new.judge,
            publisher: new.publisher,
        }));
        if let Some(publisher) = new.publisher.filter(|_| scope == AccessScope::Group) {
            self.join_group_set(publisher, id.0);
        }
        self.renew_interests(now);
        self.match_own_writer(now, id);
        self.plan_liveliness(now);
        Ok(id)
    }

    /// Creates a reader and announces it.
    ///
    /// # Errors
    /// The limit of endpoints is reached, the subscriber does not exist, or the filter does not
    /// fit.
    pub fn add_reader(
        &mut self,
        now: Instant,
        new: NewReader<'_>,
    ) -> Result<ReaderId, CreateError> {
        let new = NewReader {
            key_of: new.key_of.filter(|_| self.role().is_none()),
            qos: self.policies(new.qos, false),
            ..new
        };
        let filter = new.filter.map(|new| {
            let filter = Filter::parse(new.expression, new.parameters)?;
            new.judge.check(&filter)?;
            Ok::<_, FilterError>((filter, new.judge))
        });
        let filter = filter.transpose()?;
        if new.subscriber.is_some_and(|id| !self.has_subscriber(id)) {
            return Err(CreateError::Group);
        }
        let number = self.number().ok_or(CreateError::Full)?;
        let entity = EntityId::reader(number, new.key_of.is_some());
        let mut endpoint = self.endpoint(new.name, entity, &new.qos);
        endpoint.content_filter = new.filter.map(|filter| said(new.name, filter));
        let (timing, sample_max) = (self.config.reader, self.sending.sample_max);
        let scope = new.qos.presentation.scope;
        let mut reader =
            Reader::new(entity, new.qos, timing, new.key_of, sample_max, self.fragments.clone());
        reader.filter = filter;
        reader.is_in_group = new.subscriber.is_some() && scope == AccessScope::Group;
        self.publish_endpoint(now, false, &endpoint, ChangeKind::Alive);
        let id = ReaderId(self.readers.len());
        let endpoint = Some(endpoint);
        self.readers.push(Some(LocalReader { reader, endpoint, subscriber: new.subscriber }));
        self.renew_interests(now);
        self.match_own_reader(now, id);
        Ok(id)
    }

    /// Returns the policies of an own endpoint, as the protocol has them.
    pub(super) fn policies(&self, qos: Qos, is_writer: bool) -> Qos {
        if self.role().is_some() { discovery::v1::local(qos, is_writer) } else { qos }
    }

    fn number(&mut self) -> Option<u32> {
        let writers = self.writers.iter().flatten().count();
        let own = writers + self.readers.iter().flatten().count();
        let max = usize::try_from(self.config.endpoints_max).unwrap_or(usize::MAX);
        let number = self.next_entity;
        // Entity numbers have 24 bits and are never reused.
        if own >= max || number > 0x00FF_FFFF {
            return None;
        }
        self.next_entity += 1;
        Some(number)
    }

    pub(super) fn endpoint(
        &self,
        name: TopicName<'_>,
        entity: EntityId,
        qos: &Qos,
    ) -> EndpointData {
        EndpointData {
            guid: self.config.guid(entity),
            topic: name.topic.to_owned(),
            type_name: name.type_name.to_owned(),
            qos: qos.clone(),
            unicast: Vec::new(),
            multicast: Vec::new(),
            expects_inline_qos: false,
            group: None,
            content_filter: None,
            type_hash: None,
            type_information: Vec::new(),
        }
    }
}

/// Returns the announced form of a filter.
fn said(name: TopicName<'_>, filter: NewFilter<'_>) -> ContentFilter {
    let parameters = filter.parameters.iter().map(|text| (*text).to_owned());
    ContentFilter {
        topic: filter.topic.to_owned(),
        related_topic: name.topic.to_owned(),
        class: filter::CLASS.to_owned(),
        expression: filter.expression.to_owned(),
        parameters: parameters.collect(),
    }
}
