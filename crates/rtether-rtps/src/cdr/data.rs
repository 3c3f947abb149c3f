//! Types that can be serialized.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use super::list::Parameter;
use super::{CdrError, CdrErrorKind, Decoder, Encoder, Extensibility, Extent};

/// A type whose values can be published; implemented by `#[derive(Data)]`.
///
/// Implemented for integers, floats, `bool`, `char` (one octet), `String`, `Vec` (a sequence),
/// arrays and `Option` (an optional member).
#[diagnostic::on_unimplemented(
    message = "values of `{Self}` cannot be serialized",
    label = "not a type of data",
    note = "add `#[derive(Data)]` to it, or use a type that has it"
)]
pub trait Data: Sized {
    /// Type name, as announced to other participants.
    const NAME: &'static str;
    /// Whether the type has a key, so that values belong to instances.
    const HAS_KEY: bool = false;
    /// How the type may change.
    const EXTENSIBILITY: Extensibility = Extensibility::Final;
    /// Whether it is a number, `bool` or `char`.
    const IS_PRIMITIVE: bool = false;
    /// Whether it is primitive, or an array of primitive elements.
    const IS_FLAT: bool = Self::IS_PRIMITIVE;
    /// How XCDR2 encodes the length of a member in a list (DDS-XTypes 1.3, 7.4.3.4.2): 0 to 3 for
    /// 1, 2, 4 and 8 octets; 4 for a separate length field; from 5 the length is the one with which
    /// the value begins, in units of 1, 4 and 8 octets.
    const LENGTH_CODE: u32 = 4;

    /// Writes a value.
    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), CdrError>;

    /// Reads a value.
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, CdrError>;

    /// Returns the default of a member that the writer did not know: zero or empty.
    fn missing() -> Self;

    /// Advances an extent by the longest value; `None` if there is no longest value.
    fn extend(extent: Extent) -> Option<Extent>;

    /// Writes the key members, or all members if the type has no key.
    fn encode_key(&self, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        self.encode(encoder)
    }

    /// Reads the key members; the others are [`Data::missing`].
    fn decode_key(decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        Self::decode(decoder)
    }

    /// Writes a value as a member of a structure that is not a list.
    fn encode_member(&self, id: u32, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        let _ = id;
        self.encode(encoder)
    }

    /// Reads a value as a member of a structure that is not a list.
    fn decode_member(id: u32, decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        let _ = id;
        Self::decode(decoder)
    }

    /// Writes a value as a list member.
    fn encode_parameter(&self, id: u32, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        encoder.parameter(id, Self::LENGTH_CODE, |encoder| self.encode(encoder))
    }

    /// Reads a value as a list member.
    fn decode_parameter(parameter: Parameter, decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        decoder.in_parameter(parameter, Self::decode)
    }

    /// Writes a value as an array element: an array within an array is another dimension, and all
    /// dimensions form one collection (DDS-XTypes 1.3, 7.4.3.5).
    fn encode_element(&self, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        self.encode(encoder)
    }

    /// Reads a value as an array element.
    fn decode_element(decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        Self::decode(decoder)
    }

    /// Advances an extent by the longest array element.
    fn extend_element(extent: Extent) -> Option<Extent> {
        Self::extend(extent)
    }

    /// Writes the key members of an array element.
    fn encode_key_element(&self, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        self.encode_key(encoder)
    }

    /// Reads the key members of an array element.
    fn decode_key_element(decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        Self::decode_key(decoder)
    }

    /// Writes values in sequence.
    fn encode_all(values: &[Self], encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        values.iter().try_for_each(|value| value.encode(encoder))
    }

    /// Reads `count` values.
    fn decode_all(count: usize, decoder: &mut Decoder<'_>) -> Result<Vec<Self>, CdrError> {
        decoder.elements(count, Self::decode)
    }
}

/// A type whose values have a length that can be bounded: `#[rtps(max = 128)]`.
#[diagnostic::on_unimplemented(
    message = "`max` bounds strings and sequences, not `{Self}`",
    label = "has no length"
)]
pub trait Bounded: Data {
    /// Returns the number of elements; for strings, of octets.
    fn bounded_len(&self) -> usize;

    /// Advances an extent by the longest value with at most `max` elements.
    fn extend_bounded(extent: Extent, max: usize) -> Option<Extent>;
}

impl Decoder<'_> {
    /// Reads a member; its id is used if it is optional.
    pub fn member<T: Data>(&mut self, id: u32) -> Result<T, CdrError> {
        T::decode_member(id, self)
    }

    /// Reads a member, or its default if the writer's type did not have it.
    pub fn member_or_missing<T: Data>(&mut self, id: u32) -> Result<T, CdrError> {
        if self.is_exhausted() {
            return Ok(T::missing());
        }
        self.member(id)
    }
}

macro_rules! numbers {
    ($($name:ident $idl:literal $code:literal)*) => {$(
        impl Data for $name {
            const NAME: &'static str = $idl;
            const IS_PRIMITIVE: bool = true;
            const LENGTH_CODE: u32 = $code;

            fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
                encoder.$name(*self)
            }

            fn decode(decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
                decoder.$name()
            }

            fn missing() -> Self {
                Self::default()
            }

            fn extend(extent: Extent) -> Option<Extent> {
                extent.add(size_of::<Self>(), size_of::<Self>())
            }
        }
    )*};
}

numbers! {
    u16 "uint16" 1
    u32 "uint32" 2
    u64 "uint64" 3
    i8 "int8" 0
    i16 "int16" 1
    i32 "int32" 2
    i64 "int64" 3
    f32 "float" 2
    f64 "double" 3
}

/// A sequence of octets is copied at once.
impl Data for u8 {
    const NAME: &'static str = "octet";
    const IS_PRIMITIVE: bool = true;
    const LENGTH_CODE: u32 = 0;

    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        encoder.u8(*self)
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        decoder.u8()
    }

    fn missing() -> Self {
        0
    }

    fn extend(extent: Extent) -> Option<Extent> {
        extent.add(1, 1)
    }

    fn encode_all(values: &[Self], encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        encoder.octets(values)
    }

    fn decode_all(count: usize, decoder: &mut Decoder<'_>) -> Result<Vec<Self>, CdrError> {
        decoder.octets(count).map(<[Self]>::to_vec)
    }
}

#[allow(clippy::use_self, reason = "constants that are truth values by chance")]
impl Data for bool {
    const NAME: &'static str = "boolean";
    const IS_PRIMITIVE: bool = true;
    const LENGTH_CODE: u32 = 0;

    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        encoder.u8(u8::from(*self))
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        match decoder.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(CdrError {
                offset: decoder.position().saturating_sub(1),
                kind: CdrErrorKind::Bool(other),
            }),
        }
    }

    fn missing() -> Self {
        false
    }

    fn extend(extent: Extent) -> Option<Extent> {
        extent.add(1, 1)
    }
}

/// One octet: the first 256 characters of Unicode.
impl Data for char {
    const NAME: &'static str = "char";
    const IS_PRIMITIVE: bool = true;
    const LENGTH_CODE: u32 = 0;

    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        let Ok(octet) = u8::try_from(*self) else {
            return Err(encoder.error(CdrErrorKind::Char));
        };
        encoder.u8(octet)
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        decoder.u8().map(Self::from)
    }

    fn missing() -> Self {
        '\0'
    }

    fn extend(extent: Extent) -> Option<Extent> {
        extent.add(1, 1)
    }
}

impl Data for String {
    const NAME: &'static str = "string";
    const LENGTH_CODE: u32 = 5;

    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        encoder.str(self)
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        decoder.str().map(str::to_owned)
    }

    fn missing() -> Self {
        Self::new()
    }

    fn extend(_: Extent) -> Option<Extent> {
        None
    }
}

impl Bounded for String {
    fn bounded_len(&self) -> usize {
        self.len()
    }

    fn extend_bounded(extent: Extent, max: usize) -> Option<Extent> {
        // The length, and the terminating NUL.
        extent.add(4, max.checked_add(4 + 1)?)
    }
}
