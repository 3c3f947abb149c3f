//! Sequences, arrays and optional members.

use alloc::vec::Vec;
use core::array;

use super::list::Parameter;
use super::{Bounded, CdrError, CdrErrorKind, Data, Decoder, Encoder, Encoding, Extent};

impl<T: Data> Data for Vec<T> {
    const NAME: &'static str = "sequence";
    const LENGTH_CODE: u32 = match (T::IS_PRIMITIVE, T::LENGTH_CODE) {
        (true, 1) => 4,
        (true, 2) => 6,
        (true, 3) => 7,
        // Octets, or elements after their length in octets.
        _ => 5,
    };

    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        encoder.collection(T::IS_PRIMITIVE, |encoder| {
            encoder.length(self.len())?;
            T::encode_all(self, encoder)
        })
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        decoder.collection(T::IS_PRIMITIVE, |decoder| {
            let count = decoder.length()?;
            T::decode_all(count, decoder)
        })
    }

    fn missing() -> Self {
        Self::new()
    }

    fn extend(_: Extent) -> Option<Extent> {
        None
    }

    fn encode_key(&self, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        encoder.collection(T::IS_PRIMITIVE, |encoder| {
            encoder.length(self.len())?;
            self.iter().try_for_each(|value| value.encode_key(encoder))
        })
    }

    fn decode_key(decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        decoder.collection(T::IS_PRIMITIVE, |decoder| {
            let count = decoder.length()?;
            decoder.elements(count, T::decode_key)
        })
    }
}

impl<T: Data> Bounded for Vec<T> {
    fn bounded_len(&self) -> usize {
        self.len()
    }

    fn extend_bounded(extent: Extent, max: usize) -> Option<Extent> {
        let extent = extent.collection(T::IS_PRIMITIVE)?.add(4, 4)?;
        extent.elements(max, T::extend)
    }
}

impl<T: Data, const N: usize> Data for [T; N] {
    const NAME: &'static str = "array";
    const IS_FLAT: bool = T::IS_FLAT;

    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        encoder.collection(T::IS_FLAT, |encoder| self.encode_element(encoder))
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        decoder.collection(T::IS_FLAT, Self::decode_element)
    }

    fn missing() -> Self {
        array::from_fn(|_| T::missing())
    }

    fn extend(extent: Extent) -> Option<Extent> {
        Self::extend_element(extent.collection(T::IS_FLAT)?)
    }

    fn encode_key(&self, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        encoder.collection(T::IS_FLAT, |encoder| self.encode_key_element(encoder))
    }

    fn decode_key(decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        decoder.collection(T::IS_FLAT, Self::decode_key_element)
    }

    fn encode_element(&self, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        if T::IS_PRIMITIVE {
            return T::encode_all(self, encoder);
        }
        self.iter().try_for_each(|value| value.encode_element(encoder))
    }

    fn decode_element(decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        array_of(decoder, T::decode_element)
    }

    fn extend_element(extent: Extent) -> Option<Extent> {
        extent.elements(N, T::extend_element)
    }

    fn encode_key_element(&self, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        self.iter().try_for_each(|value| value.encode_key_element(encoder))
    }

    fn decode_key_element(decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        array_of(decoder, T::decode_key_element)
    }
}

/// Reads elements until one is invalid; reads nothing after that.
fn array_of<'a, T: Data, const N: usize>(
    decoder: &mut Decoder<'a>,
    mut element: impl FnMut(&mut Decoder<'a>) -> Result<T, CdrError>,
) -> Result<[T; N], CdrError> {
    let mut wrong = None;
    let array = array::from_fn(|_| {
        if wrong.is_some() {
            return T::missing();
        }
        element(decoder).unwrap_or_else(|error| {
            wrong = Some(error);
            T::missing()
        })
    });
    wrong.map_or(Ok(array), Err)
}

/// An optional member; not an element of sequences, and not a key.
impl<T: Data> Data for Option<T> {
    const NAME: &'static str = "optional";

    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        encoder.u8(u8::from(self.is_some()))?;
        self.iter().try_for_each(|value| value.encode(encoder))
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        bool::decode(decoder)?.then(|| T::decode(decoder)).transpose()
    }

    fn missing() -> Self {
        None
    }

    fn extend(extent: Extent) -> Option<Extent> {
        T::extend(extent.option()?)
    }

    fn encode_member(&self, id: u32, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        match (encoder.encoding(), self) {
            (Encoding::Xcdr2, _) => self.encode(encoder),
            (Encoding::Xcdr1, value) => encoder.optional_xcdr1(id, |encoder| {
                value.iter().try_for_each(|value| value.encode(encoder))
            }),
        }
    }

    fn decode_member(id: u32, decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        if decoder.encoding() == Encoding::Xcdr2 {
            return Self::decode(decoder);
        }
        let parameter = decoder.next_parameter()?;
        match parameter {
            Some(parameter) if parameter.len == 0 => Ok(None),
            Some(parameter) if parameter.id == id => {
                T::decode_parameter(parameter, decoder).map(Some)
            }
            Some(parameter) => Err(decoder.error(CdrErrorKind::MustUnderstand(parameter.id))),
            None => Err(decoder.error(CdrErrorKind::Truncated)),
        }
    }

    fn encode_parameter(&self, id: u32, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        self.iter().try_for_each(|value| value.encode_parameter(id, encoder))
    }

    fn decode_parameter(parameter: Parameter, decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        T::decode_parameter(parameter, decoder).map(Some)
    }
}

impl<T: Bounded> Bounded for Option<T> {
    fn bounded_len(&self) -> usize {
        self.as_ref().map_or(0, T::bounded_len)
    }

    fn extend_bounded(extent: Extent, max: usize) -> Option<Extent> {
        T::extend_bounded(extent.option()?, max)
    }
}
