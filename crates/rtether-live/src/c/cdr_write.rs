//! Writing values in C: what serialize functions call.

use std::ffi::{c_char, c_void};
use std::slice::from_raw_parts;

use rtether_rtps::cdr::{CdrError, CdrErrorKind, Encoder};

use super::memory::{Lent, is_lent, text};
use super::status::{Failure, Status, guard};

/// Takes the members of a value one after the other, with their alignment, in the encoding of the
/// publication. It lives as long as the function that it was given to.
///
/// The first thing that goes wrong is kept, and what is written after it is left out, so that a
/// serialize function need not look at each status.
pub struct CdrWriter {
    _opaque: [u8; 0],
}

/// What is behind a writer.
struct Writing<'a, 'b> {
    encoder: &'b mut Encoder<'a>,
    failed: Option<CdrError>,
    is_refused: bool,
}

/// Calls a serialize function of the application.
///
/// # Errors
/// If it refuses, or has written something that cannot be.
pub(super) fn serialize(
    encoder: &mut Encoder<'_>,
    call: super::instance_type::SerializeCall,
    value: *const c_void,
    user: super::memory::User,
) -> Result<(), Failure> {
    let mut writing = Writing {
        encoder,
        failed: None,
        is_refused: false,
    };
    let writer = (&raw mut writing).cast::<CdrWriter>();
    let _lent = Lent::new(writer);
    // SAFETY: the application has given the function for this; the writer lives until it returns, and
    // the value is what the application has said it is.
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

/// Writes one thing.
///
/// # Safety
/// The pointer is NULL or was given to the serialize function that calls.
unsafe fn put(
    writer: *mut CdrWriter,
    write: impl FnOnce(&mut Encoder<'_>) -> Result<(), CdrError>,
) -> Status {
    guard(|| {
        is_lent(writer)?;
        // SAFETY: it is lent to this thread just now, and writers are made of this type only, by
        // `serialize`.
        let writing = unsafe { &mut *writer.cast::<Writing<'_, '_>>() };
        if let Some(error) = writing.failed {
            return Err(error.into());
        }
        let written = write(writing.encoder);
        writing.failed = written.err();
        written.map_err(Failure::from)
    })
}

/// Refuses an argument; the value is not sent then.
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
    // SAFETY: the caller's.
    unsafe { put(writer, |encoder| encoder.u8(value)) }
}

/// Writes a truth value: zero is false, everything else is true.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_put_bool(writer: *mut CdrWriter, value: i32) -> Status {
    // SAFETY: the caller's.
    unsafe { put(writer, |encoder| encoder.u8(u8::from(value != 0))) }
}

/// Writes an integer of 8 bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_put_i8(writer: *mut CdrWriter, value: i8) -> Status {
    // SAFETY: the caller's.
    unsafe { put(writer, |encoder| encoder.i8(value)) }
}

/// Writes an integer of 16 bits without sign.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_put_u16(writer: *mut CdrWriter, value: u16) -> Status {
    // SAFETY: the caller's.
    unsafe { put(writer, |encoder| encoder.u16(value)) }
}

/// Writes an integer of 16 bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_put_i16(writer: *mut CdrWriter, value: i16) -> Status {
    // SAFETY: the caller's.
    unsafe { put(writer, |encoder| encoder.i16(value)) }
}

/// Writes an integer of 32 bits without sign; also lengths and unsigned enumerations.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_put_u32(writer: *mut CdrWriter, value: u32) -> Status {
    // SAFETY: the caller's.
    unsafe { put(writer, |encoder| encoder.u32(value)) }
}

/// Writes an integer of 32 bits; also enumerations.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_put_i32(writer: *mut CdrWriter, value: i32) -> Status {
    // SAFETY: the caller's.
    unsafe { put(writer, |encoder| encoder.i32(value)) }
}

/// Writes an integer of 64 bits without sign.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_put_u64(writer: *mut CdrWriter, value: u64) -> Status {
    // SAFETY: the caller's.
    unsafe { put(writer, |encoder| encoder.u64(value)) }
}

/// Writes an integer of 64 bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_put_i64(writer: *mut CdrWriter, value: i64) -> Status {
    // SAFETY: the caller's.
    unsafe { put(writer, |encoder| encoder.i64(value)) }
}

/// Writes a floating-point number of 32 bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_put_f32(writer: *mut CdrWriter, value: f32) -> Status {
    // SAFETY: the caller's.
    unsafe { put(writer, |encoder| encoder.f32(value)) }
}

/// Writes a floating-point number of 64 bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_put_f64(writer: *mut CdrWriter, value: f64) -> Status {
    // SAFETY: the caller's.
    unsafe { put(writer, |encoder| encoder.f64(value)) }
}

/// Writes a string, which ends with a zero and is UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_put_string(
    writer: *mut CdrWriter,
    value: *const c_char,
) -> Status {
    // SAFETY: the caller's; the string is read at once.
    match unsafe { text(value, "the string") } {
        // SAFETY: the caller's.
        Ok(value) => unsafe { put(writer, |encoder| encoder.str(value)) },
        // SAFETY: the caller's.
        Err(failure) => unsafe { refuse(writer, failure) },
    }
}

/// Writes a sequence of octets: their number, and they.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_put_octets(
    writer: *mut CdrWriter,
    octets: *const u8,
    len: usize,
) -> Status {
    // SAFETY: the caller's.
    match unsafe { slice(octets, len) } {
        // SAFETY: the caller's.
        Ok(octets) => unsafe { put(writer, |encoder| encoder.octet_sequence(octets)) },
        // SAFETY: the caller's.
        Err(failure) => unsafe { refuse(writer, failure) },
    }
}

/// Writes octets as they are, without their number: an array of octets, or a body that is ready.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_put_raw(
    writer: *mut CdrWriter,
    octets: *const u8,
    len: usize,
) -> Status {
    // SAFETY: the caller's.
    match unsafe { slice(octets, len) } {
        // SAFETY: the caller's.
        Ok(octets) => unsafe { put(writer, |encoder| encoder.octets(octets)) },
        // SAFETY: the caller's.
        Err(failure) => unsafe { refuse(writer, failure) },
    }
}

/// Writes zeros up to a multiple of `alignment`: 1, 2, 4 or 8 octets. Numbers do so by themselves.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_cdr_put_align(writer: *mut CdrWriter, alignment: usize) -> Status {
    if !matches!(alignment, 1 | 2 | 4 | 8) {
        let failure = Failure::argument(format!("no alignment of {alignment} octets"));
        // SAFETY: the caller's.
        return unsafe { refuse(writer, failure) };
    }
    // SAFETY: the caller's.
    unsafe { put(writer, |encoder| encoder.align(alignment)) }
}

/// Returns octets of the application.
///
/// # Safety
/// The pointer is to as many octets, or NULL if there are none.
unsafe fn slice<'a>(octets: *const u8, len: usize) -> Result<&'a [u8], Failure> {
    if len == 0 {
        return Ok(&[]);
    }
    if octets.is_null() || isize::try_from(len).is_err() {
        return Err(Failure::argument(format!("{len} octets at {octets:?}")));
    }
    // SAFETY: not NULL, and the caller vouches for the length.
    Ok(unsafe { from_raw_parts(octets, len) })
}

/// More octets than the place of the application has.
pub(super) fn too_long(decoder_at: usize, len: usize, max: usize) -> CdrError {
    CdrError {
        offset: decoder_at,
        kind: CdrErrorKind::Bound { len, max },
    }
}
