//! Deserializes values from untrusted octets.

use alloc::borrow::ToOwned;
use alloc::vec::Vec;

use super::kinds::{Member, OCTETS_MAX, Primitive, Structure, Type, VALUES_MAX, count};
use super::value::Value;
use crate::cdr::{
    CdrError, CdrErrorKind, Data, Decoder, Encoding, HASH_LEN, Representation, read_key_payload,
    read_payload,
};

/// Which members are present.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    All,
    Key,
}

/// Remaining memory budget: a list of values takes more memory than its octets.
struct Budget {
    values: usize,
    /// Octets of missing arrays; arrays that are present are limited by the payload.
    octets: usize,
}

impl Budget {
    const fn new() -> Self {
        Self { values: VALUES_MAX, octets: OCTETS_MAX }
    }

    fn take(&mut self, values: usize, decoder: &Decoder<'_>) -> Result<(), CdrError> {
        let left = self.values.checked_sub(values);
        self.values = left.ok_or_else(|| decoder.error(CdrErrorKind::Values(VALUES_MAX)))?;
        Ok(())
    }

    fn take_octets(&mut self, octets: usize, decoder: &Decoder<'_>) -> Result<(), CdrError> {
        let left = self.octets.checked_sub(octets);
        self.octets = left.ok_or_else(|| decoder.error(CdrErrorKind::Limit(OCTETS_MAX)))?;
        Ok(())
    }
}

impl Structure {
    /// Reads a payload in any representation that fits the type.
    ///
    /// # Errors
    /// The payload is not a value of the type, or exceeds a limit.
    pub fn from_payload(&self, payload: &[u8]) -> Result<Value, CdrError> {
        read_payload(self.extensibility(), payload, |decoder| {
            self.read(Part::All, &mut Budget::new(), decoder)
        })
    }

    /// Reads the payload of a key; members outside the key are zero or empty.
    ///
    /// # Errors
    /// The payload is not a key of the type, or exceeds a limit.
    pub fn from_key_payload(&self, payload: &[u8]) -> Result<Value, CdrError> {
        if !self.has_key() {
            return Representation::split(payload).map(|_| self.missing());
        }
        read_key_payload(self.extensibility(), payload, |decoder| {
            self.read(Part::Key, &mut Budget::new(), decoder)
        })
    }

    /// Writes the key of a payload; returns its hash in the encoding of the payload, like
    /// [`crate::typed::key_of`].
    pub fn key_of(
        &self,
        payload: &[u8],
        is_key: bool,
        key: &mut Vec<u8>,
    ) -> Option<[u8; HASH_LEN]> {
        let value =
            if is_key { self.from_key_payload(payload) } else { self.from_payload(payload) };
        let value = value.ok()?;
        let (representation, _) = Representation::split(payload).ok()?;
        let hash = self.key_hash_in(&value, representation.encoding, key).ok()?;
        self.write_key(&value, Encoding::Xcdr2, key).ok()?;
        Some(hash)
    }

    fn read(
        &self,
        part: Part,
        budget: &mut Budget,
        decoder: &mut Decoder<'_>,
    ) -> Result<Value, CdrError> {
        budget.take(1, decoder)?;
        decoder.structure(self.extensibility(), |decoder| {
            let mut values: Vec<Option<Value>> = Vec::new();
            values.resize(self.members().len(), None);
            if self.is_list() {
                self.read_list(part, budget, decoder, &mut values)?;
            } else {
                self.read_members(part, budget, decoder, &mut values)?;
            }
            let members = self.members().iter().zip(values);
            let members = members.map(|(member, value)| match value {
                Some(value) => Ok(value),
                None => member.read_missing(budget, decoder),
            });
            members.collect::<Result<_, _>>().map(Value::Structure)
        })
    }

    fn read_members(
        &self,
        part: Part,
        budget: &mut Budget,
        decoder: &mut Decoder<'_>,
        values: &mut [Option<Value>],
    ) -> Result<(), CdrError> {
        let may_grow = self.extensibility() != crate::cdr::Extensibility::Final;
        if part == Part::All {
            for (member, place) in self.members().iter().zip(values) {
                // The writer's type may lack the members from here on.
                if may_grow && decoder.is_exhausted() {
                    return Ok(());
                }
                *place = Some(member.kind.read(part, budget, decoder)?);
            }
            return Ok(());
        }
        for (at, member) in self.key() {
            let value = member.kind.read(part, budget, decoder)?;
            if let Some(place) = values.get_mut(at) {
                *place = Some(value);
            }
        }
        Ok(())
    }

    /// Reads members to the end of the list; of duplicates, the last one counts.
    fn read_list(
        &self,
        part: Part,
        budget: &mut Budget,
        decoder: &mut Decoder<'_>,
        values: &mut [Option<Value>],
    ) -> Result<(), CdrError> {
        let is_wanted =
            |member: &super::Member| part == Part::All || member.is_key || !self.has_key();
        while let Some(parameter) = decoder.next_parameter()? {
            let at = self.place_of(parameter.id);
            let found = at.and_then(|at| Some((self.members().get(at)?, values.get_mut(at)?)));
            match found.filter(|(member, _)| is_wanted(member)) {
                Some((member, place)) => {
                    *place = Some(decoder.in_parameter(parameter, |decoder| {
                        member.kind.read(part, budget, decoder)
                    })?);
                }
                None => decoder.skip(parameter)?,
            }
        }
        for (member, value) in self.members().iter().zip(values) {
            if member.is_key && value.is_none() {
                return Err(decoder.error(CdrErrorKind::KeyMissing(member.id)));
            }
        }
        Ok(())
    }
}

impl Member {
    /// Returns the default of a missing member.
    fn read_missing(&self, budget: &mut Budget, decoder: &Decoder<'_>) -> Result<Value, CdrError> {
        let weight = self.weight();
        budget.take(weight.values, decoder)?;
        budget.take_octets(weight.octets, decoder)?;
        Ok(self.missing())
    }
}

impl Type {
    fn read(
        &self,
        part: Part,
        budget: &mut Budget,
        decoder: &mut Decoder<'_>,
    ) -> Result<Value, CdrError> {
        match self {
            Self::Primitive(primitive) => {
                budget.take(1, decoder)?;
                primitive.read(decoder)
            }
            Self::Enumeration(names) => {
                budget.take(1, decoder)?;
                let number = decoder.i32()?;
                if names.name_of(number).is_none() {
                    return Err(decoder.unknown_enumerator(number));
                }
                Ok(Value::Enumerator(number))
            }
            Self::Text(max) => {
                budget.take(1, decoder)?;
                let text = decoder.str()?;
                decoder.bound(text.len(), max.unwrap_or(usize::MAX))?;
                Ok(Value::Text(text.to_owned()))
            }
            Self::Sequence(element, max) => {
                budget.take(1, decoder)?;
                decoder.collection(element.is_primitive(), |decoder| {
                    let count = decoder.length()?;
                    decoder.bound(count, max.unwrap_or(usize::MAX))?;
                    element.read_all(count, part, budget, decoder)
                })
            }
            Self::Array(element, dimensions) => {
                budget.take(1, decoder)?;
                decoder.collection(element.is_primitive(), |decoder| {
                    element.read_each(count(dimensions), part, budget, decoder)
                })
            }
            Self::Structure(structure) => structure.read(part, budget, decoder),
        }
    }

    /// Reads elements of a sequence with an untrusted count.
    fn read_all(
        &self,
        count: usize,
        part: Part,
        budget: &mut Budget,
        decoder: &mut Decoder<'_>,
    ) -> Result<Value, CdrError> {
        if self.is_octet() {
            return Ok(Value::Octets(decoder.octets(count)?.to_vec()));
        }
        let elements = decoder.elements(count, |decoder| self.read(part, budget, decoder));
        elements.map(Value::List)
    }

    /// Reads the elements of an array, whose count the type gives. Elements of extensible types may
    /// be cut off at the end of a payload.
    fn read_each(
        &self,
        count: usize,
        part: Part,
        budget: &mut Budget,
        decoder: &mut Decoder<'_>,
    ) -> Result<Value, CdrError> {
        if self.is_octet() {
            return self.read_all(count, part, budget, decoder);
        }
        let elements = (0..count).map(|_| self.read(part, budget, decoder));
        elements.collect::<Result<_, _>>().map(Value::List)
    }
}

impl Primitive {
    fn read(self, decoder: &mut Decoder<'_>) -> Result<Value, CdrError> {
        Ok(match self {
            Self::Boolean => Value::Boolean(bool::decode(decoder)?),
            Self::Character => Value::Character(char::decode(decoder)?),
            Self::Octet => Value::Unsigned(decoder.u8()?.into()),
            Self::Uint16 => Value::Unsigned(decoder.u16()?.into()),
            Self::Uint32 => Value::Unsigned(decoder.u32()?.into()),
            Self::Uint64 => Value::Unsigned(decoder.u64()?),
            Self::Int8 => Value::Signed(decoder.i8()?.into()),
            Self::Int16 => Value::Signed(decoder.i16()?.into()),
            Self::Int32 => Value::Signed(decoder.i32()?.into()),
            Self::Int64 => Value::Signed(decoder.i64()?),
            Self::Float32 => Value::Float(decoder.f32()?),
            Self::Float64 => Value::Double(decoder.f64()?),
        })
    }
}
