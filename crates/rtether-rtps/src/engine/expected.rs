//! Static endpoints: known before their participant is found, so that a joining node needs no
//! discovery of endpoints.
//!
//! Participants are identified by their human-readable names, since the GUID prefix is drawn anew
//! at each start. Leases and announcements are unaffected.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Participant, TopicName};
use crate::discovery::EndpointData;
use crate::guid::{EntityId, GuidPrefix};
use crate::qos::Qos;
use crate::time::Instant;

/// Expected endpoints by participant name.
pub(super) type Expected = BTreeMap<String, Vec<(bool, EndpointData)>>;

/// An endpoint that a participant is expected to have.
#[derive(Clone, Debug)]
pub struct ExpectedEndpoint {
    /// Number among the endpoints of its participant, writers and readers together, from 1 in order
    /// of creation.
    pub number: u32,
    /// Whether it is a writer.
    pub is_writer: bool,
    /// Whether its type has a key.
    pub has_key: bool,
    /// Its topic.
    pub topic: String,
    /// Name of its type.
    pub type_name: String,
    /// Its policies.
    pub qos: Qos,
}

impl ExpectedEndpoint {
    fn entity(&self) -> EntityId {
        if self.is_writer {
            EntityId::writer(self.number, self.has_key)
        } else {
            EntityId::reader(self.number, self.has_key)
        }
    }

    fn name(&self) -> TopicName<'_> {
        TopicName { topic: &self.topic, type_name: &self.type_name }
    }
}

impl Participant {
    /// Declares that participants with this name have exactly these endpoints. Must be called
    /// before they are found, and they must likewise expect the endpoints of this one. Returns
    /// whether there is room: as many names as participants, and as many endpoints for each as the
    /// limits allow.
    pub fn expect(&mut self, name: &str, endpoints: &[ExpectedEndpoint]) -> bool {
        let max = usize::try_from(self.config.endpoints_max).unwrap_or(usize::MAX);
        let is_known = self.expected.contains_key(name);
        let is_full = self.expected.len() >= self.config.participants_max && !is_known;
        if is_full || endpoints.len() > max {
            return false;
        }
        let endpoints = endpoints.iter().map(|one| {
            // The prefix is set when the participant is found.
            let data = self.endpoint(one.name(), one.entity(), &one.qos);
            (one.is_writer, data)
        });
        let endpoints = endpoints.collect();
        self.expected.insert(name.into(), endpoints);
        true
    }

    /// Returns whether the endpoints of a participant are expected ones.
    pub(super) fn is_expected(&self, prefix: GuidPrefix) -> bool {
        let remote = self.remotes.get(&prefix);
        remote.is_some_and(|remote| self.expected.contains_key(&remote.data.name))
    }

    /// Adds the expected endpoints of a participant.
    pub(super) fn take_in_expected(&mut self, now: Instant, prefix: GuidPrefix) {
        let remote = self.remotes.get(&prefix);
        let expected = remote.and_then(|remote| self.expected.get(&remote.data.name));
        for (is_writer, mut endpoint) in expected.cloned().unwrap_or_default() {
            endpoint.guid.prefix = prefix;
            self.take_in_endpoint(now, is_writer, &endpoint);
        }
    }
}
