//! Serialization in C: functions for serialize callbacks.

use std::ffi::{c_char, c_void};
use std::slice::from_raw_parts;

use rtether_rtps::cdr::{CdrError, Encoder};

use super::memory::{Lent, User, is_lent, text};
use super::status::{Failure, Status, guard};

/// Writes the members of a value in sequence, with their alignment, in the encoding of the
/// publication. Valid only during the callback that it is passed to.
///
/// The first error is kept, and later writes are ignored, so that a serialize function need not
/// check each status.
pub struct CdrWriter {
    _opaque: [u8; 0],
}

/// Writes the members of a value; returns 0, or another value to cancel sending.
pub type SerializeFn = Option<
    unsafe extern "C" fn(value: *const c_void, writer: *mut CdrWriter, user: *mut c_void) -> i32,
>;

/// A serialize function, not NULL.
pub(super) type SerializeCall =
    unsafe extern "C" fn(*const c_void, *mut CdrWriter, *mut c_void) -> i32;

/// State behind a writer.
struct Writing<'a, 'b> {
    encoder: &'b mut Encoder<'a>,
    failed: Option<CdrError>,
    is_refused: bool,
}

/// Calls a serialize function of the application.
///
/// # Errors
/// The function refuses the value, or has written something invalid.
pub(super) fn serialize(
    encoder: &mut Encoder<'_>,
    call: SerializeCall,
    value: *const c_void,
    user: User,
) -> Result<(), Failure> {
    let mut writing = Writing { encoder, failed: None, is_refused: false };
    let writer = (&raw mut writing).cast::<CdrWriter>();
    let _lent = Lent::new(writer);
    // SAFETY: the application has provided the function for this; the writer lives until it
    // returns, and the value is of the type that the application has declared.
    let refused = unsafe { call(value, writer, user) };
    if let Some(error) = writing.failed {
        return Err(error.into());
    }
    if refused != 0 || writing.is_refused {
        let text = format!("the serialize function returned {refused}");
        return Err(Failure::new(Status::Refused, text));
    }
    Ok(())
}

/// Writes one item.
///
/// # Safety
/// The pointer is NULL or was passed to the calling serialize function.
unsafe fn put(
    writer: *mut CdrWriter,
    write: impl FnOnce(&mut Encoder<'_>) -> Result<(), CdrError>,
) -> Status {
    guard(|| {
        is_lent(writer)?;
        // SAFETY: it is currently lent to this thread, and only `serialize` makes writers, all of
        // this type.
        let writing = unsafe { &mut *writer.cast::<Writing<'_, '_>>() };
        if let Some(error) = writing.failed {
            return Err(error.into());
        }
        let written = write(writing.encoder);
        writing.failed = written.err();
        written.map_err(Failure::from)
    })
}

/// Refuses an argument; the value is then not sent.
///
/// # Safety
/// As for [`put`].
unsafe fn refuse(writer: *mut CdrWriter, failure: Failure) -> Status {
    if let Err(failure) = is_lent(writer) {
        return guard(|| Err(failure));
    }
    // SAFETY: as in `put`.
    unsafe { (*writer.cast::<Writing<'_, '_>>()).is_refused = true };
    guard(|| Err(failure))
}

/// Writes an octet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_put_u8(writer: *mut CdrWriter, value: u8) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { put(writer, |encoder| encoder.u8(value)) }
}

/// Writes a Boolean: zero is false, any other value is true.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_put_bool(writer: *mut CdrWriter, value: i32) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { put(writer, |encoder| encoder.u8(u8::from(value != 0))) }
}

/// Writes a signed 8-bit integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_put_i8(writer: *mut CdrWriter, value: i8) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { put(writer, |encoder| encoder.i8(value)) }
}

/// Writes an unsigned 16-bit integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_put_u16(writer: *mut CdrWriter, value: u16) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { put(writer, |encoder| encoder.u16(value)) }
}

/// Writes a signed 16-bit integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_put_i16(writer: *mut CdrWriter, value: i16) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { put(writer, |encoder| encoder.i16(value)) }
}

/// Writes an unsigned 32-bit integer; also lengths and unsigned enumerations.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_put_u32(writer: *mut CdrWriter, value: u32) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { put(writer, |encoder| encoder.u32(value)) }
}

/// Writes a signed 32-bit integer; also enumerations.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_put_i32(writer: *mut CdrWriter, value: i32) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { put(writer, |encoder| encoder.i32(value)) }
}

/// Writes an unsigned 64-bit integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_put_u64(writer: *mut CdrWriter, value: u64) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { put(writer, |encoder| encoder.u64(value)) }
}

/// Writes a signed 64-bit integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_put_i64(writer: *mut CdrWriter, value: i64) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { put(writer, |encoder| encoder.i64(value)) }
}

/// Writes a 32-bit floating-point number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_put_f32(writer: *mut CdrWriter, value: f32) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { put(writer, |encoder| encoder.f32(value)) }
}

/// Writes a 64-bit floating-point number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_put_f64(writer: *mut CdrWriter, value: f64) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { put(writer, |encoder| encoder.f64(value)) }
}

/// Writes a NUL-terminated UTF-8 string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_put_string(
    writer: *mut CdrWriter,
    value: *const c_char,
) -> Status {
    // SAFETY: guaranteed by the caller; the string is read at once.
    match unsafe { text(value, "the string") } {
        // SAFETY: guaranteed by the caller.
        Ok(value) => unsafe { put(writer, |encoder| encoder.str(value)) },
        // SAFETY: guaranteed by the caller.
        Err(failure) => unsafe { refuse(writer, failure) },
    }
}

/// Writes a sequence of octets with its length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_put_octets(
    writer: *mut CdrWriter,
    octets: *const u8,
    len: usize,
) -> Status {
    // SAFETY: guaranteed by the caller.
    match unsafe { slice(octets, len) } {
        // SAFETY: guaranteed by the caller.
        Ok(octets) => unsafe { put(writer, |encoder| encoder.octet_sequence(octets)) },
        // SAFETY: guaranteed by the caller.
        Err(failure) => unsafe { refuse(writer, failure) },
    }
}

/// Writes octets unchanged, without a length: an array of octets, or a body encoded elsewhere.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_put_raw(
    writer: *mut CdrWriter,
    octets: *const u8,
    len: usize,
) -> Status {
    // SAFETY: guaranteed by the caller.
    match unsafe { slice(octets, len) } {
        // SAFETY: guaranteed by the caller.
        Ok(octets) => unsafe { put(writer, |encoder| encoder.octets(octets)) },
        // SAFETY: guaranteed by the caller.
        Err(failure) => unsafe { refuse(writer, failure) },
    }
}

/// Writes zeros up to a multiple of `alignment`: 1, 2, 4 or 8 octets. Numbers align automatically.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_put_align(writer: *mut CdrWriter, alignment: usize) -> Status {
    if !matches!(alignment, 1 | 2 | 4 | 8) {
        let failure = Failure::argument(format!("no alignment of {alignment} octets"));
        // SAFETY: guaranteed by the caller.
        return unsafe { refuse(writer, failure) };
    }
    // SAFETY: guaranteed by the caller.
    unsafe { put(writer, |encoder| encoder.align(alignment)) }
}

/// Returns octets of the application.
///
/// # Safety
/// The pointer is to `len` octets, or NULL if there are none.
unsafe fn slice<'a>(octets: *const u8, len: usize) -> Result<&'a [u8], Failure> {
    if len == 0 {
        return Ok(&[]);
    }
    if octets.is_null() || isize::try_from(len).is_err() {
        return Err(Failure::argument(format!("{len} octets at {octets:?}")));
    }
    // SAFETY: not NULL, and the caller guarantees the length.
    Ok(unsafe { from_raw_parts(octets, len) })
}
