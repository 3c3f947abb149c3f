//! Values as octets: XCDR1 and XCDR2 of DDS-XTypes 1.3, 7.4.
//!
//! A type gets its octets by [`macro@Data`]; a payload is a header of four octets, which says how the
//! value is written, and the value. Strings are UTF-8. Unions, maps, bit masks, wide characters and
//! `long double` are not there.
//!
//! In XCDR1 nothing says where an appendable structure ends, so that only the last one of a payload
//! can be shorter than its type.

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

/// Most values within each other.
pub const DEPTH_MAX: u8 = 32;

/// Adds the payload of a value to `out`, little-endian, with zeros up to a multiple of four octets. If
/// it fails, `out` is as before.
pub fn to_payload<T: Data>(
    value: &T,
    encoding: Encoding,
    out: &mut Vec<u8>,
) -> Result<(), CdrError> {
    to_payload_in(value, encoding, ByteOrder::Little, out)
}

/// Adds the payload of a value in either byte order.
pub fn to_payload_in<T: Data>(
    value: &T,
    encoding: Encoding,
    order: ByteOrder,
    out: &mut Vec<u8>,
) -> Result<(), CdrError> {
    write::<T>(encoding, order, out, |encoder| value.encode(encoder))
}

/// Adds the payload of a value's key, little-endian: what DATA has that disposes of an instance or
/// unregisters it. Of types without keys it is the header alone.
pub fn to_key_payload<T: Data>(
    value: &T,
    encoding: Encoding,
    out: &mut Vec<u8>,
) -> Result<(), CdrError> {
    write_key_payload(value, encoding, true, out)
}

/// Adds the payload of a value's key without the length that the header of an appendable type in XCDR2
/// announces: Cyclone DDS 0.10 sends it so, and reads no other.
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
    write::<T>(encoding, ByteOrder::Little, out, |encoder| {
        if !T::HAS_KEY {
            return Ok(());
        }
        if !has_length {
            encoder.leave_out_length();
        }
        value.encode_key(encoder)
    })
}

fn write<T: Data>(
    encoding: Encoding,
    order: ByteOrder,
    out: &mut Vec<u8>,
    content: impl FnOnce(&mut Encoder<'_>) -> Result<(), CdrError>,
) -> Result<(), CdrError> {
    let representation = Representation::of(T::EXTENSIBILITY, encoding, order);
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

/// Reads a payload in any representation that its type may have.
pub fn from_payload<T: Data>(payload: &[u8]) -> Result<T, CdrError> {
    read(payload, T::decode)
}

/// Reads the payload of a key; other members than those of the key are [`Data::missing`]. An appendable
/// type may have its length before its members, or not.
pub fn from_key_payload<T: Data>(payload: &[u8]) -> Result<T, CdrError> {
    if !T::HAS_KEY {
        return Representation::split(payload).map(|_| T::missing());
    }
    let declared = read(payload, T::decode_key);
    let (representation, body) = Representation::split(payload)?;
    if declared.is_ok() || representation.form != Form::Delimited {
        return declared;
    }
    let form = Form::Plain;
    let mut decoder = Decoder::of_body(
        body,
        Representation {
            form,
            ..representation
        },
    );
    T::decode_key(&mut decoder).or(declared)
}

/// Returns the most octets of a payload, padding included; `None` if there is no limit. It may be a
/// little above the longest one for long sequences.
pub fn payload_size_max<T: Data>(encoding: Encoding) -> Option<usize> {
    let extent = T::extend(Extent::new(encoding))?;
    extent
        .len()
        .checked_add(HEADER_LEN)?
        .checked_next_multiple_of(4)
}

fn read<T: Data>(
    payload: &[u8],
    decode: impl FnOnce(&mut Decoder<'_>) -> Result<T, CdrError>,
) -> Result<T, CdrError> {
    let (representation, body) = Representation::split(payload)?;
    let mut decoder = Decoder::of_body(body, representation);
    let value = decode(&mut decoder).map_err(with_header)?;
    let rest = decoder.remaining();
    // Up to three may be padding that the header does not tell of.
    if T::EXTENSIBILITY == Extensibility::Final && rest > 3 {
        return Err(with_header(decoder.error(CdrErrorKind::Trailing(rest))));
    }
    Ok(value)
}

/// The offset of errors counts from the start of the body.
fn with_header(error: CdrError) -> CdrError {
    CdrError {
        offset: error.offset.saturating_add(HEADER_LEN),
        ..error
    }
}
