//! Announcements of writers and readers (8.5.4).

use alloc::string::String;
use alloc::vec::Vec;

use super::list::List;
use super::participant::put;
use super::policies::{self, strings};
use super::{FILTER_PARAMETERS_MAX, FILTER_SIZE_MAX, each};
use crate::guid::{EntityId, Guid};
use crate::locator::Locator;
use crate::qos::Qos;
use crate::wire::{Malformed, Parameter, STRING_SIZE_MAX, pid, string, string_within};
use crate::xtypes::{Hash, TypeInformation};

/// Announced data of a writer or a reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointData {
    /// Its GUID.
    pub guid: Guid,
    /// Topic name.
    pub topic: String,
    /// Type name of its samples.
    pub type_name: String,
    /// Its policies.
    pub qos: Qos,
    /// Its publisher or subscriber, if announced.
    pub group: Option<EntityId>,
    /// Unicast locators; if empty, the defaults of the participant apply.
    pub unicast: Vec<Locator>,
    /// Multicast locators.
    pub multicast: Vec<Locator>,
    /// Readers: whether each sample must carry the policies in `inlineQos`.
    pub expects_inline_qos: bool,
    /// Readers: content filter.
    pub content_filter: Option<ContentFilter>,
    /// Digest of the complete description of its type, if announced.
    pub type_hash: Option<Hash>,
    /// Own endpoints: what to announce of the type; empty: nothing.
    pub type_information: Vec<u8>,
}

/// Content filter of a reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentFilter {
    /// Name of the filtered topic.
    pub topic: String,
    /// Name of the topic that is filtered.
    pub related_topic: String,
    /// Filter class: language of the expression, `DDSSQL` in the standard.
    pub class: String,
    /// Filter expression.
    pub expression: String,
    /// Parameters of the expression.
    pub parameters: Vec<String>,
}

impl EndpointData {
    /// Appends the payload of its announcement; values beyond the limits of the module are
    /// truncated.
    ///
    /// The type is announced by name only: given more to compare, implementations find spurious
    /// reasons not to match.
    pub fn encode(&self, out: &mut Vec<u8>, is_writer: bool) {
        let mut list = List::new(out);
        let participant = Guid::new(self.guid.prefix, EntityId::PARTICIPANT);
        list.guid(pid::PARTICIPANT_GUID, participant);
        list.guid(pid::ENDPOINT_GUID, self.guid);
        if let Some(group) = self.group {
            list.octets(pid::GROUP_ENTITY, &group.0);
        }
        list.string(pid::TOPIC_NAME, &self.topic);
        list.string(pid::TYPE_NAME, &self.type_name);
        list.locators(pid::UNICAST_LOCATOR, &self.unicast);
        list.locators(pid::MULTICAST_LOCATOR, &self.multicast);
        policies::write(&mut list, &self.qos, is_writer);
        if !is_writer && self.expects_inline_qos {
            list.octets(pid::EXPECTS_INLINE_QOS, &[1]);
        }
        if !self.type_information.is_empty() {
            list.octets(pid::TYPE_INFORMATION, &self.type_information);
        }
        let filter = self.content_filter.as_ref().filter(|_| !is_writer);
        // A truncated filter would be another filter; without one, the reader still filters.
        if let Some(filter) = filter.filter(|filter| filter.is_within_limits()) {
            list.value(pid::CONTENT_FILTER, |value| {
                value.string(&filter.topic);
                value.string(&filter.related_topic);
                value.string(&filter.class);
                value.text(&filter.expression);
                value.strings(&filter.parameters, FILTER_PARAMETERS_MAX);
            });
        }
        list.end();
    }

    /// Reads the payload of an announcement; the defaults of writers and readers differ.
    pub fn decode(payload: &[u8], is_writer: bool) -> Result<Self, Malformed> {
        let (mut guid, mut topic, mut type_name) = (None, None, None);
        let (mut unicast, mut multicast) = (Vec::new(), Vec::new());
        let (mut expects_inline_qos, mut content_filter, mut group) = (false, None, None);
        let mut type_hash = None;
        let mut qos = if is_writer { Qos::writer() } else { Qos::reader() };
        each(payload, |id, parameter| {
            match id {
                pid::ENDPOINT_GUID => guid = Some(parameter.guid()?),
                pid::GROUP_ENTITY => group = Some(EntityId(parameter.array()?)),
                pid::GROUP_GUID => group = group.or(Some(parameter.guid()?.entity)),
                // Implied by the GUID of the endpoint.
                pid::PARTICIPANT_GUID => {}
                pid::TOPIC_NAME => topic = Some(parameter.string()?),
                pid::TYPE_NAME => type_name = Some(parameter.string()?),
                pid::UNICAST_LOCATOR => put(&mut unicast, parameter)?,
                pid::MULTICAST_LOCATOR => put(&mut multicast, parameter)?,
                pid::EXPECTS_INLINE_QOS => expects_inline_qos = parameter.is_true()?,
                pid::CONTENT_FILTER => content_filter = filter(parameter)?,
                // Types of kinds that are not supported count as not described.
                pid::TYPE_INFORMATION => type_hash = TypeInformation::hash_in(parameter.value),
                _ => return policies::read(&mut qos, id, parameter, is_writer),
            }
            Ok(true)
        })?;
        let missing = |id| Malformed::Missing { id };
        Ok(Self {
            guid: guid.ok_or(missing(pid::ENDPOINT_GUID))?,
            topic: topic.ok_or(missing(pid::TOPIC_NAME))?.into(),
            type_name: type_name.ok_or(missing(pid::TYPE_NAME))?.into(),
            qos,
            // ENTITYID_UNKNOWN means no group.
            group: group.filter(|group| *group != EntityId::UNKNOWN),
            unicast,
            multicast,
            expects_inline_qos,
            content_filter,
            type_hash,
            type_information: Vec::new(),
        })
    }
}

impl ContentFilter {
    /// Returns whether the filter can be announced in full.
    fn is_within_limits(&self) -> bool {
        let names = [&self.topic, &self.related_topic, &self.class];
        let mut short = names.into_iter().chain(&self.parameters);
        short.all(|text| is_string(text, STRING_SIZE_MAX))
            && is_string(&self.expression, FILTER_SIZE_MAX)
            && self.parameters.len() <= FILTER_PARAMETERS_MAX
    }
}

/// Returns whether a string with its NUL has at most `max` octets, and no other NUL.
fn is_string(text: &str, max: usize) -> bool {
    text.len() < max && !text.contains('\0')
}

/// Reads a filter. One beyond the limits is ignored: its reader filters anyway and does not depend
/// on the writer (8.7.3).
fn filter(parameter: &Parameter<'_>) -> Result<Option<ContentFilter>, Malformed> {
    let read = parameter.read(|cursor| {
        Ok(ContentFilter {
            topic: string(cursor)?.into(),
            related_topic: string(cursor)?.into(),
            class: string(cursor)?.into(),
            expression: string_within(cursor, FILTER_SIZE_MAX)?.into(),
            parameters: strings(cursor, FILTER_PARAMETERS_MAX)?,
        })
    });
    if read.is_ok() {
        return read.map(Some);
    }
    // Checks that it is well-formed, with strings of any length.
    parameter.read(|cursor| {
        for _ in 0..4 {
            string_within(cursor, usize::MAX)?;
        }
        let count = cursor.count()?;
        for _ in 0..count {
            string_within(cursor, usize::MAX)?;
        }
        Ok(None)
    })
}
