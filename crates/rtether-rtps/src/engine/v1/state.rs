//! State that built-in writers of RTPS 1.0 transfer: participants, publications and subscriptions.

use super::{APPLICATIONS, MANAGERS};
use crate::discovery::v1::decode_endpoint;
use crate::engine::{PUBLICATIONS, Participant, SUBSCRIPTIONS};
use crate::guid::{Guid, GuidPrefix};
use crate::time::Instant;
use crate::wire::v1::Role;
use crate::wire::v1::object::SELF_WRITER;

impl Participant {
    /// Handles the samples of the built-in readers.
    pub(in crate::engine) fn take_state(&mut self, now: Instant, own: Role) {
        for place in [MANAGERS, APPLICATIONS, PUBLICATIONS, SUBSCRIPTIONS] {
            while !self.is_watch_full() {
                let Some(local) = self.readers.get_mut(place).and_then(Option::as_mut) else {
                    break;
                };
                let taken = local.reader.take(now, |info, payload, _| {
                    let payload = info.is_valid.then(|| payload.to_vec());
                    (info.writer, info.key_hash, payload)
                });
                let Some((from, hash, payload)) = taken else {
                    break;
                };
                let object = hash.map(Guid::from_octets).unwrap_or_default();
                let payload = payload.as_deref();
                match place {
                    // Handled on arrival.
                    APPLICATIONS if from.entity == SELF_WRITER => {}
                    APPLICATIONS => {
                        let of = (from.prefix, Role::Application);
                        self.on_report(now, own, of, object, payload);
                    }
                    MANAGERS => {
                        let of = (from.prefix, Role::Manager);
                        self.on_report(now, own, of, object, payload);
                    }
                    _ => self.on_endpoint(now, from.prefix, place == PUBLICATIONS, object, payload),
                }
            }
        }
    }

    fn on_endpoint(
        &mut self,
        now: Instant,
        from: GuidPrefix,
        is_writer: bool,
        guid: Guid,
        payload: Option<&[u8]>,
    ) {
        let entity = guid.entity;
        let is_kind = if is_writer { entity.is_writer() } else { entity.is_reader() };
        if guid.prefix != from || !is_kind || entity.has_key() || entity.is_built_in() {
            self.counters.forged += 1;
            return;
        }
        let Some(payload) = payload else {
            self.handle_end(now, from, Some(guid));
            return;
        };
        let Ok(endpoint) = decode_endpoint(guid, is_writer, self.ports_v1(), payload) else {
            self.counters.malformed += 1;
            return;
        };
        if let Some(endpoint) = self.sight_endpoint(is_writer, endpoint) {
            self.take_in_endpoint(now, is_writer, &endpoint);
        }
    }
}
