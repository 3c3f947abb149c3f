//! Serializes values.

use alloc::vec::Vec;

use super::kinds::{Primitive, Structure, Type, count};
use super::value::Value;
use crate::cdr::{
    ByteOrder, CdrError, CdrErrorKind, Data, Encoder, Encoding, HASH_LEN, hash_of_key,
    write_payload,
};

/// Which members to write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    All,
    Key,
}

impl Structure {
    /// Appends the payload of a value to `out`, like [`crate::cdr::to_payload_in`].
    ///
    /// # Errors
    /// The value does not fit the type, or exceeds a limit; `out` is unchanged.
    pub fn to_payload(
        &self,
        value: &Value,
        encoding: Encoding,
        order: ByteOrder,
        out: &mut Vec<u8>,
    ) -> Result<(), CdrError> {
        write_payload(self.extensibility(), encoding, order, out, |encoder| {
            self.write(value, Part::All, encoder)
        })
    }

    /// Appends the payload of a value's key, like [`crate::cdr::to_key_payload`], or without a
    /// length, like [`crate::cdr::to_bare_key_payload`].
    ///
    /// # Errors
    /// The value does not fit the type, or exceeds a limit; `out` is unchanged.
    pub fn to_key_payload(
        &self,
        value: &Value,
        encoding: Encoding,
        is_bare: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), CdrError> {
        let order = ByteOrder::Little;
        write_payload(self.extensibility(), encoding, order, out, |encoder| {
            if !self.has_key() {
                return Ok(());
            }
            if is_bare {
                encoder.leave_out_length();
            }
            self.write(value, Part::Key, encoder)
        })
    }

    /// Writes the key of a value in its hashed form; `room` is cleared first.
    ///
    /// # Errors
    /// The value does not fit the type, or exceeds a limit.
    pub fn write_key(
        &self,
        value: &Value,
        encoding: Encoding,
        room: &mut Vec<u8>,
    ) -> Result<(), CdrError> {
        room.clear();
        let mut encoder = Encoder::new(room, encoding, ByteOrder::Big).plain();
        self.write(value, Part::Key, &mut encoder)
    }

    /// Returns the hash of a value's key, like [`crate::cdr::key_hash_in`].
    ///
    /// # Errors
    /// The value does not fit the type, or exceeds a limit.
    pub fn key_hash_in(
        &self,
        value: &Value,
        encoding: Encoding,
        room: &mut Vec<u8>,
    ) -> Result<[u8; HASH_LEN], CdrError> {
        if !self.has_key() {
            return Ok([0; HASH_LEN]);
        }
        self.write_key(value, encoding, room)?;
        Ok(hash_of_key(room, self.is_key_short(encoding)))
    }

    fn write(&self, value: &Value, part: Part, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        let Value::Structure(values) = value else {
            return Err(encoder.error(CdrErrorKind::Mismatch));
        };
        if values.len() != self.members().len() {
            return Err(encoder.error(CdrErrorKind::Mismatch));
        }
        encoder.structure(self.extensibility(), |encoder| {
            if part == Part::All {
                let mut all = self.members().iter().zip(values);
                return all.try_for_each(|(member, value)| {
                    self.write_member(member.id, &member.kind, value, part, encoder)
                });
            }
            self.key().try_for_each(|(at, member)| {
                let value = values.get(at);
                let value = value.ok_or_else(|| encoder.error(CdrErrorKind::Mismatch))?;
                self.write_member(member.id, &member.kind, value, part, encoder)
            })
        })
    }

    fn write_member(
        &self,
        id: u32,
        kind: &Type,
        value: &Value,
        part: Part,
        encoder: &mut Encoder<'_>,
    ) -> Result<(), CdrError> {
        if self.is_list() {
            let code = kind.length_code();
            encoder.parameter(id, code, |encoder| kind.write(value, part, encoder))
        } else {
            kind.write(value, part, encoder)
        }
    }
}

impl Type {
    /// Returns the length code of a member in XCDR2, like [`Data::LENGTH_CODE`].
    fn length_code(&self) -> u32 {
        match self {
            Self::Primitive(primitive) => match primitive.size() {
                1 => 0,
                2 => 1,
                4 => 2,
                _ => 3,
            },
            Self::Enumeration(_) => 2,
            Self::Text(_) => <alloc::string::String as Data>::LENGTH_CODE,
            // The element count serves as the length, in units of an element; no code has units of
            // 2 octets.
            Self::Sequence(element, _) => match element.primitive_size() {
                Some(2) => 4,
                Some(4) => 6,
                Some(8) => 7,
                _ => 5,
            },
            Self::Array(..) | Self::Structure(_) => 4,
        }
    }

    fn primitive_size(&self) -> Option<usize> {
        match self {
            Self::Primitive(primitive) => Some(primitive.size()),
            Self::Enumeration(_)
            | Self::Text(_)
            | Self::Sequence(..)
            | Self::Array(..)
            | Self::Structure(_) => None,
        }
    }

    fn write(&self, value: &Value, part: Part, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        match (self, value) {
            (Self::Primitive(primitive), value) => primitive.write(value, encoder),
            (Self::Enumeration(names), Value::Enumerator(number)) => {
                if names.name_of(*number).is_none() {
                    return Err(encoder.error(CdrErrorKind::Enumerator(*number)));
                }
                encoder.i32(*number)
            }
            (Self::Text(max), Value::Text(text)) => {
                encoder.bound(text.len(), max.unwrap_or(usize::MAX))?;
                encoder.str(text)
            }
            (Self::Sequence(element, max), Value::Octets(octets)) if element.is_octet() => {
                encoder.bound(octets.len(), max.unwrap_or(usize::MAX))?;
                encoder.octet_sequence(octets)
            }
            (Self::Sequence(element, max), Value::List(values)) if !element.is_octet() => {
                encoder.bound(values.len(), max.unwrap_or(usize::MAX))?;
                encoder.collection(element.is_primitive(), |encoder| {
                    encoder.length(values.len())?;
                    let mut values = values.iter();
                    values.try_for_each(|value| element.write(value, part, encoder))
                })
            }
            (Self::Array(element, dimensions), Value::Octets(octets))
                if element.is_octet() && octets.len() == count(dimensions) =>
            {
                encoder.octets(octets)
            }
            (Self::Array(element, dimensions), Value::List(values))
                if !element.is_octet() && values.len() == count(dimensions) =>
            {
                encoder.collection(element.is_primitive(), |encoder| {
                    let mut values = values.iter();
                    values.try_for_each(|value| element.write(value, part, encoder))
                })
            }
            (Self::Structure(structure), value) => structure.write(value, part, encoder),
            _ => Err(encoder.error(CdrErrorKind::Mismatch)),
        }
    }
}

impl Primitive {
    fn write(self, value: &Value, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        let wrong = CdrError { offset: encoder.position(), kind: CdrErrorKind::Mismatch };
        let fits = |_| wrong;
        match (self, value) {
            (Self::Boolean, Value::Boolean(value)) => value.encode(encoder),
            (Self::Character, Value::Character(value)) => value.encode(encoder),
            (Self::Octet, Value::Unsigned(n)) => encoder.u8((*n).try_into().map_err(fits)?),
            (Self::Uint16, Value::Unsigned(n)) => encoder.u16((*n).try_into().map_err(fits)?),
            (Self::Uint32, Value::Unsigned(n)) => encoder.u32((*n).try_into().map_err(fits)?),
            (Self::Uint64, Value::Unsigned(n)) => encoder.u64(*n),
            (Self::Int8, Value::Signed(n)) => encoder.i8((*n).try_into().map_err(fits)?),
            (Self::Int16, Value::Signed(n)) => encoder.i16((*n).try_into().map_err(fits)?),
            (Self::Int32, Value::Signed(n)) => encoder.i32((*n).try_into().map_err(fits)?),
            (Self::Int64, Value::Signed(n)) => encoder.i64(*n),
            (Self::Float32, Value::Float(value)) => encoder.f32(*value),
            (Self::Float64, Value::Double(value)) => encoder.f64(*value),
            _ => Err(wrong),
        }
    }
}
