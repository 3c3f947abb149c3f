//! What a participant of RTPS 1.0 says of itself, and a manager of others.

use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::{APPLICATIONS, MANAGERS};
use crate::discovery::v1::{Membership, encode_participant};
use crate::engine::Participant;
use crate::guid::{EntityId, Guid};
use crate::locator::Locator;
use crate::sequence::SequenceNumber;
use crate::time::Instant;
use crate::wire::v1::object::SELF_WRITER;
use crate::wire::v1::{Address, Builder, Heartbeat, Role, Source, Var};
use crate::writer::{ChangeKind, New};

/// Octets of the encapsulation header, and of the end of a list.
const ENCAPSULATION: usize = 4;
const SENTINEL: usize = 4;

impl Participant {
    /// Encodes the own announcement anew.
    pub(in crate::engine) fn describe_v1(&mut self, role: Role) {
        let member = Membership {
            keys: self.keys(role),
            changes: (role == Role::Manager).then_some(self.v1.changes),
        };
        self.v1.announced += 1;
        self.announcement.clear();
        let data = self.config.participant_data();
        encode_participant(&data, &member, &mut self.announcement);
    }

    /// Returns the addresses of managers that may take on this participant: an application names
    /// those to which it announces itself, a manager its own.
    fn keys(&self, role: Role) -> Vec<Ipv4Addr> {
        let own = self.config.metatraffic_unicast.iter();
        let others = self.config.announce_to.iter();
        let others = others.filter(|_| role == Role::Application);
        let all = others.chain(own).filter_map(|place| match place {
            Locator::Udp(SocketAddr::V4(place)) => Some(*place.ip()),
            Locator::Udp(_) | Locator::Ethernet { .. } => None,
        });
        let mut keys = alloc::vec![Ipv4Addr::LOCALHOST];
        for key in all {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
    }

    /// Writes the own announcement, or the good-bye.
    pub(in crate::engine) fn write_announcement_v1(&self, role: Role, buffer: &mut Vec<u8>) {
        let own = Source::of(self.config.prefix);
        let mut message = Builder::new(buffer, own, self.sending.datagram_max);
        let discovery = self.config.metatraffic_unicast.first();
        let port = discovery.map_or(0, |place| match place {
            Locator::Udp(place) => u32::from(place.port()),
            Locator::Ethernet { port, .. } => u32::from(*port),
        });
        // The address is that of the sender.
        message.info_reply(Address { address: 0, port }, None);
        let sequence = SequenceNumber(self.v1.announced + i64::from(self.is_leaving));
        let var = Var {
            reader: EntityId::UNKNOWN,
            writer: SELF_WRITER,
            of: Some(own),
            object: EntityId::PARTICIPANT,
            sequence,
            is_alive: !self.is_leaving,
            parameters: None,
        };
        let end = self.announcement.len().saturating_sub(SENTINEL);
        let parameters = self.announcement.get(ENCAPSULATION..end);
        message.state(&var, parameters);
        message.heartbeat(&Heartbeat {
            reader: EntityId::UNKNOWN,
            writer: SELF_WRITER,
            first: sequence,
            last: sequence,
            // Managers repeat themselves; they need no answer.
            is_final: role == Role::Manager,
        });
    }

    /// Tells the applications of this host of its manager and the others, again and again: the lease
    /// of a manager counts from the last time that it was named.
    pub(in crate::engine) fn repeat_managers(&mut self, now: Instant) {
        let own = self.config.guid(EntityId::PARTICIPANT);
        let payload = self.announcement.clone();
        self.publish_object(now, MANAGERS, own, Some(&payload));
        let managers = self.remotes.values().filter(|one| one.is_manager());
        let managers: Vec<_> =
            managers.map(|one| (one.data.guid(), one.announcement.clone())).collect();
        for (guid, payload) in managers {
            self.publish_object(now, MANAGERS, guid, Some(&payload));
        }
    }

    /// Handles a change of the applications of this host: managers announce how many there were.
    pub(super) fn on_application_changed(&mut self, now: Instant) {
        self.v1.changes += 1;
        self.describe_v1(Role::Manager);
        self.repeat_managers(now);
        self.announce_at = self.announce_at.min(now);
    }

    /// Announces a participant on behalf of it, or that it is gone.
    pub(super) fn publish_member(&mut self, now: Instant, guid: Guid, payload: Option<&[u8]>) {
        let is_manager = Source::of(guid.prefix).role() == Some(Role::Manager);
        let place = if is_manager { MANAGERS } else { APPLICATIONS };
        self.publish_object(now, place, guid, payload);
        if !is_manager {
            self.on_application_changed(now);
        }
    }

    /// Writes the state of an object at a built-in writer; `None`: it is gone.
    pub(super) fn publish_object(
        &mut self,
        now: Instant,
        place: usize,
        guid: Guid,
        payload: Option<&[u8]>,
    ) {
        let key = guid.octets();
        let kind = match payload {
            Some(_) => ChangeKind::Alive,
            None => ChangeKind::DisposedUnregistered,
        };
        let new = New {
            kind,
            payload: payload.unwrap_or_default(),
            key: &key,
            key_hash: Some(key),
            time: self.wall(now),
            group_sequence: None,
        };
        let sample_max = self.sending.sample_max;
        let local = self.writers.get_mut(place).and_then(Option::as_mut);
        if local.is_some_and(|local| local.writer.write(now, sample_max, new).is_err()) {
            self.counters.refused += 1;
        }
    }

    /// Returns whether an address is that of a participant to which this one announces itself.
    pub(super) fn is_configured(&self, origin: crate::locator::Origin) -> bool {
        let mut places = self.config.announce_to.iter();
        places.any(|place| place.is_multicast() || place.origin() == origin)
    }

    /// Returns whether one of these addresses is one of this host, loopback aside.
    pub(super) fn has_own_key(&self, keys: &[Ipv4Addr]) -> bool {
        let is_own = |key: &Ipv4Addr| {
            let origin = crate::locator::Origin::Ip(IpAddr::V4(*key));
            !key.is_loopback() && self.is_own(origin)
        };
        keys.iter().any(is_own)
    }
}
