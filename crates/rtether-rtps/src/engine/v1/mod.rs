//! A participant of RTPS 1.0: an application, or the manager of a host.
//!
//! Applications announce themselves to the manager of their host, managers to each other. A manager
//! tells its applications of all managers, and everybody of its own applications; these then tell
//! each other of their publications and subscriptions. Histories, matching and samples are those of
//! 2.5.

mod announce;
mod members;
mod receive;
mod state;

use alloc::vec::Vec;

use super::remotes::Places;
use super::{LocalReader, LocalWriter, PUBLICATIONS, Participant, Protocol, Remote, SUBSCRIPTIONS};
use crate::guid::{EntityId, Guid, GuidPrefix};
use crate::qos::Qos;
use crate::reader::Reader;
use crate::time::Instant;
use crate::wire::v1::object::{
    APPLICATIONS_READER, APPLICATIONS_WRITER, MANAGERS_READER, MANAGERS_WRITER, SELF_WRITER,
};
use crate::wire::v1::{ISSUE_HEADS, Role, Source};
use crate::writer::{Sending, Writer};

/// Indices of the built-in writers and readers that 2.5 does not have.
const APPLICATIONS: usize = 2;
const MANAGERS: usize = 3;
/// Largest payload of a datagram over UDP, in octets.
const DATAGRAM_MAX: usize = 65_507;
/// Octets of a HEARTBEAT.
const HEARTBEAT: usize = 28;

/// Longest sample with its encapsulation header, in octets: there are no fragments.
pub const SAMPLE_MAX: usize = DATAGRAM_MAX - ISSUE_HEADS - HEARTBEAT + 4;

/// What a participant of RTPS 1.0 has besides.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Number of its last own announcement.
    announced: i64,
    /// Count of changes of the applications of a manager.
    changes: i64,
    /// Count of acknowledgments and heartbeats received, which carry none.
    ticks: i32,
    /// A value received, with the encapsulation header that it has in other versions.
    received: Vec<u8>,
}

impl State {
    fn tick(&mut self) -> i32 {
        self.ticks = self.ticks.wrapping_add(1);
        self.ticks
    }
}

/// A built-in endpoint of another participant: whether it is a writer, its identifier, and the index
/// of the own endpoint that it matches.
type BuiltIn = (bool, EntityId, usize);

const OF_APPLICATION: [BuiltIn; 4] = [
    (true, EntityId::PUBLICATIONS_WRITER, PUBLICATIONS),
    (true, EntityId::SUBSCRIPTIONS_WRITER, SUBSCRIPTIONS),
    (false, EntityId::PUBLICATIONS_READER, PUBLICATIONS),
    (false, EntityId::SUBSCRIPTIONS_READER, SUBSCRIPTIONS),
];
const OF_MANAGERS: [BuiltIn; 5] = [
    (true, APPLICATIONS_WRITER, APPLICATIONS),
    (true, MANAGERS_WRITER, MANAGERS),
    (true, SELF_WRITER, APPLICATIONS),
    (false, APPLICATIONS_READER, APPLICATIONS),
    (false, MANAGERS_READER, MANAGERS),
];

/// Returns the built-in endpoints of another participant that match those of this one. `is_direct`
/// tells whether it has announced itself here.
fn matching(own: Role, other: Role, is_direct: bool) -> Vec<BuiltIn> {
    let [list, managers, itself, of_list, of_managers] = OF_MANAGERS;
    match (own, other, is_direct) {
        (Role::Application, Role::Application, _) => OF_APPLICATION.to_vec(),
        (Role::Application, Role::Manager, true) => [list, managers].to_vec(),
        (Role::Application, Role::Manager, false) => [list].to_vec(),
        (Role::Manager, Role::Manager, _) => [list, of_list].to_vec(),
        (Role::Manager, Role::Application, true) => [itself, of_list, of_managers].to_vec(),
        (Role::Manager, Role::Application, false) => [of_list].to_vec(),
    }
}

/// Returns the limits of what a participant sends.
pub(super) fn sending(sending: Sending, protocol: Protocol) -> Sending {
    match protocol {
        Protocol::Rtps2 => sending,
        Protocol::Rtps1(_) => Sending {
            sample_max: sending.sample_max.min(SAMPLE_MAX),
            v1: Some(DATAGRAM_MAX),
            ..sending
        },
    }
}

impl Participant {
    /// Returns the role in RTPS 1.0; `None` in 2.5.
    pub(super) fn role(&self) -> Option<Role> {
        self.config.protocol.role()
    }

    /// Adds the built-in endpoints that 2.5 does not have, at their indices.
    pub(super) fn add_built_in_v1(&mut self, qos: &Qos, reader_qos: &Qos) {
        for entity in [APPLICATIONS_WRITER, MANAGERS_WRITER] {
            let writer = Writer::new(entity, qos.clone(), self.config.writer, false);
            self.writers.push(Some(LocalWriter {
                writer,
                endpoint: None,
                judge: None,
                publisher: None,
            }));
        }
        for entity in [APPLICATIONS_READER, MANAGERS_READER] {
            let reader = Reader::new(
                entity,
                reader_qos.clone(),
                self.config.reader,
                None,
                super::DISCOVERY_SAMPLE_MAX,
                self.fragments.clone(),
            );
            self.readers.push(Some(LocalReader { reader, endpoint: None, subscriber: None }));
        }
    }

    /// Matches the built-in endpoints of an admitted participant.
    pub(super) fn know_built_in_v1(&mut self, now: Instant, own: Role, prefix: GuidPrefix) {
        let other = Source::of(prefix).role();
        let remote = self.remotes.get(&prefix).filter(|one| one.is_admitted);
        let Some((remote, other)) = remote.zip(other) else {
            return;
        };
        let unicast = self.reachable(prefix, &remote.data.metatraffic_unicast, false);
        let all = matching(own, other, remote.via.is_none());
        let proving = all.iter().find(|(is_writer, ..)| !is_writer).copied();
        for one in all {
            let (is_writer, entity, place) = one;
            let guid = Guid::new(prefix, entity);
            let locators = if proving == Some(one) {
                Places::Secret(unicast.clone())
            } else {
                Places::Usual(unicast.clone(), Vec::new())
            };
            self.match_built_in(now, (guid, is_writer), place, locators);
        }
    }

    /// Forgets the built-in endpoints of a participant.
    pub(super) fn forget_built_in_v1(&mut self, now: Instant, prefix: GuidPrefix) {
        for (is_writer, entity, place) in OF_APPLICATION.into_iter().chain(OF_MANAGERS) {
            let guid = Guid::new(prefix, entity);
            if is_writer {
                if let Some(local) = self.readers.get_mut(place).and_then(Option::as_mut) {
                    local.reader.remove_writer(now, guid);
                }
            } else if let Some(local) = self.writers.get_mut(place).and_then(Option::as_mut) {
                local.writer.remove_reader(guid);
            }
        }
    }
}

impl Remote {
    /// Returns whether the participant is a manager.
    pub(super) fn is_manager(&self) -> bool {
        Source::of(self.data.prefix).role() == Some(Role::Manager)
    }
}
