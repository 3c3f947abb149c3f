//! Types of C programs, and the serialization of their values; the counterpart of `rtether_rtps::typed` for Rust types.

use std::ffi::c_void;
use std::slice::{from_raw_parts, from_raw_parts_mut};
use std::sync::{Arc, Mutex};

use rtether_rtps::cdr::{
    ByteOrder, CdrError, CdrErrorKind, Decoder, Encoder, Encoding, Extensibility, Form, HASH_LEN,
    HEADER_LEN, Representation, hash_of_key,
};
use rtether_rtps::reader::KeyOf;

use super::cdr_read::{DeserializeCall, DeserializeFn, deserialize};
use super::cdr_write::{SerializeCall, SerializeFn, serialize};
use super::memory::{Room, User};
use super::status::{Failure, Status};

/// Minimum size of a key's payload, in octets. Fast DDS takes a shorter one for the hash, although
/// the hash comes along; zeros after a key are ignored.
const KEY_MIN: usize = 20;

/// A type.
pub(super) struct InstanceType {
    pub(super) name: String,
    pub(super) max_size: usize,
    pub(super) value_size: usize,
    pub(super) serialize: SerializeFn,
    pub(super) deserialize: DeserializeFn,
    pub(super) key: Option<KeyFns>,
    pub(super) extensibility: Extensibility,
    pub(super) user: User,
}

/// Serialization of keys.
#[derive(Clone, Copy)]
pub(super) struct KeyFns {
    pub(super) serialize: SerializeCall,
    pub(super) deserialize: DeserializeCall,
    /// Whether every key fits into a hash unchanged.
    pub(super) is_short: bool,
}

// SAFETY: only the thread inside the domain calls the functions, with the pointer of the
// application; the header states that this may be a thread other than the one that registered them.
unsafe impl Send for InstanceType {}
// SAFETY: as above.
unsafe impl Sync for InstanceType {}

impl InstanceType {
    /// Returns the registered type of a name.
    pub(super) fn find(types: &[Arc<Self>], name: &str) -> Result<Arc<Self>, Failure> {
        let found = types.iter().find(|one| one.name == name);
        let unknown = || {
            let text = format!("no type `{name}` is registered; `rtether_type_register` does that");
            Failure::new(Status::UnknownType, text)
        };
        found.cloned().ok_or_else(unknown)
    }

    /// Returns how the keys of payloads are extracted.
    pub(super) fn keys(self: &Arc<Self>) -> Option<KeyOf> {
        self.key?;
        let kind = Arc::clone(self);
        let room = Mutex::new(Room::new(self.value_size));
        Some(KeyOf::Closure(Arc::new(move |payload: &[u8], is_key, key: &mut Vec<u8>| {
            let mut room = room.lock().ok()?;
            let value = room.cleared();
            kind.read(payload, is_key, value).ok()?;
            let (representation, _) = Representation::split(payload).ok()?;
            kind.write_key(value, representation.encoding, key).ok()?
        })))
    }

    /// Writes the payload of a value.
    pub(super) fn write(
        &self,
        value: *const c_void,
        encoding: Encoding,
        payload: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        self.write_with(encoding, payload, |encoder| match self.serialize {
            Some(call) => inside(encoder, self.extensibility, |encoder| {
                serialize(encoder, call, value, self.user)
            }),
            None => inside(encoder, self.extensibility, |encoder| {
                // SAFETY: without a function of its own a value has `max_size` octets of memory.
                let octets = unsafe { from_raw_parts(value.cast::<u8>(), self.max_size) };
                Ok(encoder.octets(octets)?)
            }),
        })
    }

    /// Writes the payload of a value's key; with `is_bare` without the length that precedes the
    /// members of an appendable type (`Participant::wants_bare_keys`).
    pub(super) fn write_key_payload(
        &self,
        value: *const c_void,
        encoding: Encoding,
        is_bare: bool,
        payload: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        self.write_with(encoding, payload, |encoder| {
            let Some(key) = &self.key else {
                return Ok(());
            };
            let content =
                |encoder: &mut Encoder<'_>| serialize(encoder, key.serialize, value, self.user);
            if is_bare { content(encoder) } else { inside(encoder, self.extensibility, content) }
        })?;
        payload.resize(payload.len().max(KEY_MIN), 0);
        Ok(())
    }

    fn write_with(
        &self,
        encoding: Encoding,
        payload: &mut Vec<u8>,
        content: impl FnOnce(&mut Encoder<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let order = ByteOrder::Little;
        let representation = Representation::of(self.extensibility, encoding, order);
        let [high, low] = representation.id().to_be_bytes();
        payload.clear();
        payload.extend_from_slice(&[high, low, 0, 0]);
        // The length that precedes the members of an appendable type is not part of `max_size`.
        let own = if representation.form == Form::Delimited { 4 } else { 0 };
        let limit = self.max_size.saturating_add(own);
        let mut encoder = Encoder::new(payload, encoding, order).with_limit(limit);
        content(&mut encoder)?;
        let padding = encoder.position().wrapping_neg() & 3;
        payload.extend((0..padding).map(|_| 0));
        if let (Some(place), Ok(padding)) = (payload.get_mut(3), u8::try_from(padding)) {
            *place = padding;
        }
        Ok(())
    }

    /// Writes the key of a value in its canonical form, and returns its hash in an encoding; `None`
    /// if the type has no key.
    pub(super) fn write_key(
        &self,
        value: *const c_void,
        encoding: Encoding,
        key: &mut Vec<u8>,
    ) -> Result<Option<[u8; HASH_LEN]>, Failure> {
        key.clear();
        let Some(fns) = self.key else {
            return Ok(None);
        };
        self.write_big(fns.serialize, value, encoding, key)?;
        let hash = hash_of_key(key, fns.is_short);
        if encoding != Encoding::Xcdr2 {
            key.clear();
            self.write_big(fns.serialize, value, Encoding::Xcdr2, key)?;
        }
        Ok(Some(hash))
    }

    fn write_big(
        &self,
        call: SerializeCall,
        value: *const c_void,
        encoding: Encoding,
        key: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let mut encoder = Encoder::new(key, encoding, ByteOrder::Big).with_limit(self.max_size);
        serialize(&mut encoder, call, value, self.user)
    }

    /// Deserializes a payload into memory: the value, or only its key members.
    pub(super) fn read(
        &self,
        payload: &[u8],
        is_key: bool,
        value: *mut c_void,
    ) -> Result<(), CdrError> {
        let (representation, body) = Representation::split(payload)?;
        if !is_key {
            return self.read_value(body, representation, value);
        }
        let declared = self.read_key(body, representation, value);
        if declared.is_ok() || representation.form != Form::Delimited {
            return declared;
        }
        // The length before the key members of an appendable type is optional.
        let form = Form::Plain;
        let plain = Representation { form, ..representation };
        self.read_key(body, plain, value).or(declared)
    }

    fn read_value(
        &self,
        body: &[u8],
        representation: Representation,
        value: *mut c_void,
    ) -> Result<(), CdrError> {
        let mut decoder = Decoder::of_body(body, representation);
        decoder.structure(self.extensibility, |decoder| {
            if let Some(call) = self.deserialize {
                return deserialize(decoder, call, value, self.user);
            }
            let octets = decoder.octets(decoder.remaining().min(self.max_size))?;
            // SAFETY: a type without a function of its own has at least `max_size` octets of
            // memory, allocated by the application or by this library.
            let place = unsafe { from_raw_parts_mut(value.cast::<u8>(), self.max_size) };
            let (begin, rest) = place.split_at_mut(octets.len());
            begin.copy_from_slice(octets);
            rest.fill(0);
            Ok(())
        })?;
        let rest = decoder.remaining();
        // Up to three octets may be padding that the header does not count.
        if self.extensibility == Extensibility::Final && rest > 3 {
            return Err(CdrError {
                offset: HEADER_LEN + decoder.position(),
                kind: CdrErrorKind::Trailing(rest),
            });
        }
        Ok(())
    }

    fn read_key(
        &self,
        body: &[u8],
        representation: Representation,
        value: *mut c_void,
    ) -> Result<(), CdrError> {
        let Some(fns) = self.key else {
            return Ok(());
        };
        let mut decoder = Decoder::of_body(body, representation);
        decoder.structure(self.extensibility, |decoder| {
            deserialize(decoder, fns.deserialize, value, self.user)
        })
    }

    /// Deserializes the key of an instance that has ended, from the payload or from the key stored
    /// for the instance. Returns whether it is known.
    pub(super) fn read_ended(&self, payload: &[u8], key: &[u8], value: *mut c_void) -> bool {
        if self.key.is_none() {
            return false;
        }
        if !payload.is_empty() {
            return self.read(payload, true, value).is_ok();
        }
        let canonical =
            Representation { encoding: Encoding::Xcdr2, form: Form::Plain, order: ByteOrder::Big };
        self.read_key(key, canonical, value).is_ok()
    }
}

/// Writes the members of the outermost structure.
fn inside(
    encoder: &mut Encoder<'_>,
    extensibility: Extensibility,
    members: impl FnOnce(&mut Encoder<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut outcome = Ok(());
    encoder.structure(extensibility, |encoder| {
        outcome = members(encoder);
        // Partial output is discarded with the payload.
        Ok(())
    })?;
    outcome
}
