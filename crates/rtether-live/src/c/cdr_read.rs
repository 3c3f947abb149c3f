//! Deserialization in C: functions for deserialize callbacks.
#![allow(
    clippy::redundant_closure_for_method_calls,
    reason = "a method is one for a single lifetime of decoders, a closure for all"
)]

use std::ffi::{c_char, c_void};

use rtether_rtps::cdr::{CdrError, CdrErrorKind, Decoder};

use super::memory::{Lent, User, is_lent};
use super::status::{Failure, Status, guard};

/// Reads the members of a value in sequence, in the encoding and byte order of the sender. Valid
/// only during the callback that it is passed to.
///
/// The data is untrusted. The first error is kept; from then on numbers are zero and strings empty,
/// and the sample is dropped and counted, whatever the callback returns.
pub struct CdrReader {
    _opaque: [u8; 0],
}

/// Reads the members of a value into zeroed memory; returns 0, or another value if it is malformed,
/// and then it is dropped and counted.
pub type DeserializeFn = Option<
    unsafe extern "C" fn(reader: *mut CdrReader, value: *mut c_void, user: *mut c_void) -> i32,
>;

/// A deserialize function, not NULL.
pub(super) type DeserializeCall =
    unsafe extern "C" fn(*mut CdrReader, *mut c_void, *mut c_void) -> i32;

/// State behind a reader.
struct Reading<'a, 'b> {
    decoder: &'b mut Decoder<'a>,
    failed: Option<CdrError>,
    is_refused: bool,
}

/// Calls a deserialize function of the application.
///
/// # Errors
/// The function refuses the value, or has read beyond it.
pub(super) fn deserialize(
    decoder: &mut Decoder<'_>,
    call: DeserializeCall,
    value: *mut c_void,
    user: User,
) -> Result<(), CdrError> {
    let mut reading = Reading { decoder, failed: None, is_refused: false };
    let reader = (&raw mut reading).cast::<CdrReader>();
    let _lent = Lent::new(reader);
    // SAFETY: the application has provided the function for this; the reader lives until it
    // returns, and the place has the size that the application has declared for a value.
    let refused = unsafe { call(reader, value, user) };
    if let Some(error) = reading.failed {
        return Err(error);
    }
    if refused != 0 || reading.is_refused {
        // A value that the application refuses counts as malformed.
        let offset = reading.decoder.position();
        let kind = CdrErrorKind::Enumerator(refused);
        return Err(CdrError { offset, kind });
    }
    Ok(())
}

/// Reads one item; `place` is cleared on error.
///
/// # Safety
/// The reader is NULL or was passed to the calling deserialize function; `place` is NULL or
/// writable.
unsafe fn get<T: Default>(
    reader: *mut CdrReader,
    place: *mut T,
    read: impl FnOnce(&mut Decoder<'_>) -> Result<T, CdrError>,
) -> Status {
    guard(|| {
        is_lent(reader)?;
        // SAFETY: it is currently lent to this thread, and only `deserialize` makes readers, all of
        // this type.
        let reading = unsafe { &mut *reader.cast::<Reading<'_, '_>>() };
        if place.is_null() {
            reading.is_refused = true;
            return Err(Failure::argument("the place for the value is NULL"));
        }
        let value = match reading.failed {
            Some(error) => Err(error),
            None => read(reading.decoder),
        };
        reading.failed = value.as_ref().err().copied();
        let (value, failed) = match value {
            Ok(value) => (value, Ok(())),
            Err(error) => (T::default(), Err(error.into())),
        };
        // SAFETY: not NULL, and guaranteed by the caller.
        unsafe { place.write(value) };
        failed
    })
}

/// Returns how many octets of the value remain; zero also after an error. Members added to a type
/// later may be missing at the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_remaining(reader: *const CdrReader) -> usize {
    if is_lent(reader).is_err() {
        return 0;
    }
    // SAFETY: as in `get`; it is only read.
    let reading = unsafe { &*reader.cast::<Reading<'_, '_>>() };
    match reading.failed {
        None => reading.decoder.remaining(),
        Some(_) => 0,
    }
}

/// Reads an octet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_get_u8(reader: *mut CdrReader, value: *mut u8) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { get(reader, value, |decoder| decoder.u8()) }
}

/// Reads a Boolean, 0 or 1; anything else is malformed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_get_bool(reader: *mut CdrReader, value: *mut i32) -> Status {
    let read = |decoder: &mut Decoder<'_>| {
        let offset = decoder.position();
        match decoder.u8()? {
            truth @ (0 | 1) => Ok(i32::from(truth)),
            other => Err(CdrError { offset, kind: CdrErrorKind::Bool(other) }),
        }
    };
    // SAFETY: guaranteed by the caller.
    unsafe { get(reader, value, read) }
}

/// Reads a signed 8-bit integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_get_i8(reader: *mut CdrReader, value: *mut i8) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { get(reader, value, |decoder| decoder.i8()) }
}

/// Reads an unsigned 16-bit integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_get_u16(reader: *mut CdrReader, value: *mut u16) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { get(reader, value, |decoder| decoder.u16()) }
}

/// Reads a signed 16-bit integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_get_i16(reader: *mut CdrReader, value: *mut i16) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { get(reader, value, |decoder| decoder.i16()) }
}

/// Reads an unsigned 32-bit integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_get_u32(reader: *mut CdrReader, value: *mut u32) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { get(reader, value, |decoder| decoder.u32()) }
}

/// Reads a signed 32-bit integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_get_i32(reader: *mut CdrReader, value: *mut i32) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { get(reader, value, |decoder| decoder.i32()) }
}

/// Reads an unsigned 64-bit integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_get_u64(reader: *mut CdrReader, value: *mut u64) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { get(reader, value, |decoder| decoder.u64()) }
}

/// Reads a signed 64-bit integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_get_i64(reader: *mut CdrReader, value: *mut i64) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { get(reader, value, |decoder| decoder.i64()) }
}

/// Reads a 32-bit floating-point number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_get_f32(reader: *mut CdrReader, value: *mut f32) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { get(reader, value, |decoder| decoder.f32()) }
}

/// Reads a 64-bit floating-point number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_get_f64(reader: *mut CdrReader, value: *mut f64) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { get(reader, value, |decoder| decoder.f64()) }
}

/// Reads a string into `buffer` of `capacity` octets, including the terminating NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_get_string(
    reader: *mut CdrReader,
    buffer: *mut c_char,
    capacity: usize,
) -> Status {
    let read = |decoder: &mut Decoder<'_>| {
        let offset = decoder.position();
        let text = decoder.str()?;
        // SAFETY: the caller guarantees `capacity` octets there.
        unsafe { copy(text.as_bytes(), buffer.cast(), capacity.saturating_sub(1), offset) }?;
        Ok(text.len())
    };
    let mut len = 0;
    if buffer.is_null() || capacity == 0 {
        // SAFETY: guaranteed by the caller; NULL makes the value be refused.
        return unsafe { get::<u8>(reader, std::ptr::null_mut(), |decoder| decoder.u8()) };
    }
    // SAFETY: guaranteed by the caller; the length is local.
    let status = unsafe { get(reader, &raw mut len, read) };
    // SAFETY: the string is shorter than the capacity, which is at least one octet.
    unsafe { buffer.cast::<u8>().add(len).write(0) };
    status
}

/// Reads a sequence of octets into `buffer` of `capacity` octets; `len` receives its length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_get_octets(
    reader: *mut CdrReader,
    buffer: *mut u8,
    capacity: usize,
    len: *mut usize,
) -> Status {
    let read = |decoder: &mut Decoder<'_>| {
        let offset = decoder.position();
        let octets = decoder.octet_sequence()?;
        // SAFETY: the caller guarantees `capacity` octets there.
        unsafe { copy(octets, buffer, capacity, offset) }?;
        Ok(octets.len())
    };
    // SAFETY: guaranteed by the caller.
    unsafe { get(reader, len, read) }
}

/// Reads `len` octets unchanged into `buffer`: an array of octets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_get_raw(
    reader: *mut CdrReader,
    buffer: *mut u8,
    len: usize,
) -> Status {
    let mut count = 0;
    let read = |decoder: &mut Decoder<'_>| {
        let offset = decoder.position();
        let octets = decoder.octets(len)?;
        // SAFETY: the caller guarantees `len` octets there.
        unsafe { copy(octets, buffer, len, offset) }?;
        Ok(octets.len())
    };
    // SAFETY: guaranteed by the caller; the count is local.
    unsafe { get(reader, &raw mut count, read) }
}

/// Skips to a multiple of `alignment`: 1, 2, 4 or 8 octets. Numbers align automatically.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_get_align(reader: *mut CdrReader, alignment: usize) -> Status {
    if !matches!(alignment, 1 | 2 | 4 | 8) {
        return guard(|| Err(Failure::argument(format!("no alignment of {alignment} octets"))));
    }
    let mut none = ();
    // SAFETY: guaranteed by the caller.
    unsafe { get(reader, &raw mut none, |decoder| decoder.align(alignment)) }
}

/// Copies octets to memory of the application.
///
/// # Safety
/// `place` is NULL or has `capacity` octets.
unsafe fn copy(
    octets: &[u8],
    place: *mut u8,
    capacity: usize,
    offset: usize,
) -> Result<(), CdrError> {
    if octets.len() > capacity || place.is_null() && !octets.is_empty() {
        let (len, max) = (octets.len(), capacity);
        let kind = CdrErrorKind::Bound { len, max };
        return Err(CdrError { offset, kind });
    }
    if !octets.is_empty() {
        // SAFETY: the place has at least as many octets, and does not overlap the datagram.
        unsafe { place.copy_from_nonoverlapping(octets.as_ptr(), octets.len()) };
    }
    Ok(())
}
