//! Serialization of values: XCDR1 and XCDR2 of DDS-XTypes 1.3, 7.4.
//!
//! [`macro@Data`] makes a type serializable. A payload is a header of four octets, which gives the
//! representation, and the value. Strings are UTF-8. Unions, maps, bit masks, wide characters and
//! `long double` are not supported.
//!
//! In XCDR1 an appendable structure has no length, so only the last one of a payload can be shorter
//! than its type.

mod collections;
mod data;
mod decoder;
mod encoder;
mod error;
mod extent;
mod key;
mod list;
mod representation;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;

pub use data::{Bounded, Data};
pub use decoder::Decoder;
pub use encoder::Encoder;
pub use error::{CdrError, CdrErrorKind};
pub use extent::Extent;
pub use key::{HASH_LEN, hash_of_key, is_key_short, key_hash, key_hash_in, write_key};
pub use list::Parameter;
pub use representation::{ByteOrder, Encoding, Extensibility, Form, HEADER_LEN, Representation};
pub use rtether_rtps_derive::Data;

/// Maximum nesting depth of values.
pub const DEPTH_MAX: u8 = 32;

/// Appends the payload of a value to `out`, little-endian, padded with zeros to a multiple of four
/// octets. On error, `out` is unchanged.
pub fn to_payload<T: Data>(
    value: &T,
    encoding: Encoding,
    out: &mut Vec<u8>,
) -> Result<(), CdrError> {
    to_payload_in(value, encoding, ByteOrder::Little, out)
}

/// Appends the payload of a value in the given byte order.
pub fn to_payload_in<T: Data>(
    value: &T,
    encoding: Encoding,
    order: ByteOrder,
    out: &mut Vec<u8>,
) -> Result<(), CdrError> {
    write_payload(T::EXTENSIBILITY, encoding, order, out, |encoder| value.encode(encoder))
}

/// Appends the payload of a value's key, little-endian: the content of a DATA that disposes of or
/// unregisters an instance. For types without a key it is the header alone.
pub fn to_key_payload<T: Data>(
    value: &T,
    encoding: Encoding,
    out: &mut Vec<u8>,
) -> Result<(), CdrError> {
    write_key_payload(value, encoding, true, out)
}

/// Like [`to_key_payload`], but without the length that the header of an appendable type in XCDR2
/// announces: Cyclone DDS 0.10 sends keys this way, and accepts no other.
pub fn to_bare_key_payload<T: Data>(
    value: &T,
    encoding: Encoding,
    out: &mut Vec<u8>,
) -> Result<(), CdrError> {
    write_key_payload(value, encoding, false, out)
}

fn write_key_payload<T: Data>(
    value: &T,
    encoding: Encoding,
    has_length: bool,
    out: &mut Vec<u8>,
) -> Result<(), CdrError> {
    write_payload(T::EXTENSIBILITY, encoding, ByteOrder::Little, out, |encoder| {
        if !T::HAS_KEY {
            return Ok(());
        }
        if !has_length {
            encoder.leave_out_length();
        }
        value.encode_key(encoder)
    })
}

/// Appends a header and body.
pub(crate) fn write_payload(
    extensibility: Extensibility,
    encoding: Encoding,
    order: ByteOrder,
    out: &mut Vec<u8>,
    content: impl FnOnce(&mut Encoder<'_>) -> Result<(), CdrError>,
) -> Result<(), CdrError> {
    let representation = Representation::of(extensibility, encoding, order);
    let start = out.len();
    out.extend_from_slice(&representation.header(0));
    let mut encoder = Encoder::new(out, encoding, order);
    let written = content(&mut encoder);
    let len = encoder.position();
    if let Err(error) = written {
        out.truncate(start);
        return Err(with_header(error));
    }
    let padding = len.wrapping_neg() & 3;
    out.extend((0..padding).map(|_| 0));
    let header = representation.header(u8::try_from(padding).unwrap_or(0));
    if let Some(place) = out.get_mut(start..start + HEADER_LEN) {
        place.copy_from_slice(&header);
    }
    Ok(())
}

/// Reads a payload in any representation that fits its type.
pub fn from_payload<T: Data>(payload: &[u8]) -> Result<T, CdrError> {
    read_payload(T::EXTENSIBILITY, payload, T::decode)
}

/// Reads the payload of a key; members outside the key are [`Data::missing`]. The length before the
/// members of an appendable type is optional.
pub fn from_key_payload<T: Data>(payload: &[u8]) -> Result<T, CdrError> {
    if !T::HAS_KEY {
        return Representation::split(payload).map(|_| T::missing());
    }
    read_key_payload(T::EXTENSIBILITY, payload, T::decode_key)
}

/// Reads the payload of a key; the length of an appendable type is optional.
pub(crate) fn read_key_payload<T>(
    extensibility: Extensibility,
    payload: &[u8],
    mut decode: impl FnMut(&mut Decoder<'_>) -> Result<T, CdrError>,
) -> Result<T, CdrError> {
    let declared = read_payload(extensibility, payload, &mut decode);
    let (representation, body) = Representation::split(payload)?;
    if declared.is_ok() || representation.form != Form::Delimited {
        return declared;
    }
    let form = Form::Plain;
    let mut decoder = Decoder::of_body(body, Representation { form, ..representation });
    decode(&mut decoder).or(declared)
}

/// Returns the maximum payload size in octets, padding included; `None` if unbounded. For long
/// sequences it may be slightly above the size of the longest payload.
pub fn payload_size_max<T: Data>(encoding: Encoding) -> Option<usize> {
    let extent = T::extend(Extent::new(encoding))?;
    extent.len().checked_add(HEADER_LEN)?.checked_next_multiple_of(4)
}

/// Reads the body of a payload.
pub(crate) fn read_payload<T>(
    extensibility: Extensibility,
    payload: &[u8],
    decode: impl FnOnce(&mut Decoder<'_>) -> Result<T, CdrError>,
) -> Result<T, CdrError> {
    let (representation, body) = Representation::split(payload)?;
    let mut decoder = Decoder::of_body(body, representation);
    let value = decode(&mut decoder).map_err(with_header)?;
    let rest = decoder.remaining();
    // Up to three octets may be padding that the header does not count.
    if extensibility == Extensibility::Final && rest > 3 {
        return Err(with_header(decoder.error(CdrErrorKind::Trailing(rest))));
    }
    Ok(value)
}

/// Makes the offset of an error count from the start of the payload.
fn with_header(error: CdrError) -> CdrError {
    CdrError { offset: error.offset.saturating_add(HEADER_LEN), ..error }
}
