//! Discovery of endpoints on demand: participants that announce their topics exchange endpoints only
//! with those that share one ([`Interests`]).
//!
//! Two participants decide alike, each by what both announce. What one has not heard yet of a new
//! topic of the other comes with an announcement, which is sent at once and repeated as the first
//! one is; until then the reliable built-in writers of the other repeat theirs. Nobody is forgotten
//! whose topics are no longer shared.

use alloc::vec::Vec;

use super::{ANNOUNCE_AFTER_MIN, Discovery, Participant};
use crate::discovery::{EndpointData, Interests};
use crate::guid::GuidPrefix;
use crate::time::Instant;

fn topic(endpoint: &EndpointData) -> &str {
    &endpoint.topic
}

impl Participant {
    /// Returns the topics to announce; `None` for the usual discovery.
    fn interests(&self) -> Option<Interests> {
        if self.config.discovery == Discovery::All || self.role().is_some() {
            return None;
        }
        let writers = self.writers.iter().flatten();
        let writers = writers.filter_map(|local| local.endpoint.as_ref());
        let readers = self.readers.iter().flatten();
        let readers = readers.filter_map(|local| local.endpoint.as_ref());
        Interests::of(writers.map(topic), readers.map(topic))
    }

    /// Returns whether endpoints are exchanged with a participant.
    pub(super) fn is_of_interest(&self, prefix: GuidPrefix) -> bool {
        let remote = self.remotes.get(&prefix);
        let theirs = remote.and_then(|remote| remote.data.interests.as_ref());
        let both = self.interests.as_ref().zip(theirs);
        both.is_none_or(|(ours, theirs)| ours.meet(theirs))
    }

    /// Discovers the endpoints of all participants from now on.
    pub fn discover_all(&mut self, now: Instant) {
        self.config.discovery = Discovery::All;
        self.renew_interests(now);
    }

    /// Announces own topics that have changed, and turns to the participants that share a new one.
    pub(super) fn renew_interests(&mut self, now: Instant) {
        let interests = self.interests();
        if interests == self.interests || self.is_leaving {
            return;
        }
        self.interests = interests;
        let mut data = self.config.participant_data();
        data.interests.clone_from(&self.interests);
        self.announcement.clear();
        data.encode(&mut self.announcement);
        self.announce_after = ANNOUNCE_AFTER_MIN;
        self.announce_at = self.announce_at.min(now);
        let known: Vec<GuidPrefix> = self.remotes.keys().copied().collect();
        for prefix in known {
            self.know_built_in(now, prefix);
        }
    }
}
