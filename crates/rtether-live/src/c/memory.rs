//! What C programs hand over: strings, structures that grow, memory.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_void};

use rtether_rtps::time::Duration;

use super::status::{Failure, Status};

/// A structure that may grow: its first member is its size in octets, and a later version only adds
/// members at the end.
///
/// # Safety
/// `repr(C)`, with a `usize` first, and every pattern of bits is a value.
pub(super) unsafe trait Grows: Copy {
    /// Octets of the first version.
    const FIRST: usize;
}

/// Returns the text of a C string.
///
/// # Safety
/// The pointer is NULL or points to a string that ends with a zero and lives as long as the result.
pub(super) unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Err(Failure::argument(format!("{name} is NULL")));
    }
    // SAFETY: as the caller has it.
    let text = unsafe { CStr::from_ptr(pointer) }.to_str();
    text.map_err(|_| Failure::argument(format!("{name} is not UTF-8")))
}

/// Returns the texts of an array of C strings.
///
/// # Safety
/// As for [`text`], for each of `len` pointers in a row.
pub(super) unsafe fn texts(
    pointer: *const *const c_char,
    len: usize,
    name: &str,
) -> Result<Vec<String>, Failure> {
    if len == 0 {
        return Ok(Vec::new());
    }
    if pointer.is_null() || len > TEXTS_MAX {
        return Err(Failure::argument(format!("{name}: {len} at {pointer:?}")));
    }
    // SAFETY: not NULL, and the caller vouches for the length.
    let all = unsafe { std::slice::from_raw_parts(pointer, len) };
    // SAFETY: as the caller has it.
    let all = all.iter().map(|one| unsafe { text(*one, name) });
    all.map(|one| one.map(str::to_owned)).collect()
}

/// Copies a text, with a zero at its end.
///
/// # Safety
/// The buffer is NULL or has as many octets.
pub(super) unsafe fn copy_text(
    text: &str,
    buffer: *mut c_char,
    capacity: usize,
) -> Result<(), Failure> {
    if buffer.is_null() {
        return Err(Failure::argument("the buffer is NULL"));
    }
    if text.len() >= capacity {
        let text = format!(
            "the buffer has {capacity} octets, {} are needed",
            text.len() + 1
        );
        return Err(Failure::new(Status::TooLong, text));
    }
    // SAFETY: not NULL, and there is room for the text and its end.
    unsafe {
        buffer
            .cast::<u8>()
            .copy_from_nonoverlapping(text.as_ptr(), text.len());
        buffer.cast::<u8>().add(text.len()).write(0);
    }
    Ok(())
}

/// Texts in an array at most.
const TEXTS_MAX: usize = 256;

/// Writes the defaults into the first `size` octets of a structure.
///
/// # Safety
/// The pointer is NULL or to `size` octets that may be written.
pub(super) unsafe fn init<T: Grows>(
    place: *mut T,
    size: usize,
    defaults: T,
) -> Result<(), Failure> {
    if place.is_null() {
        return Err(Failure::argument("the structure is NULL"));
    }
    check_size::<T>(size)?;
    // SAFETY: the caller vouches for `size` octets, and the value has at least as many as are copied;
    // zeros are what this version says of members that it does not know.
    unsafe {
        place.cast::<u8>().write_bytes(0, size);
        put(place, size, defaults);
    }
    Ok(())
}

/// Writes a structure that the caller has made room for, and has told its size.
///
/// # Safety
/// The pointer is NULL or to a structure whose first member says how many octets may be written.
pub(super) unsafe fn tell<T: Grows>(place: *mut T, value: T) -> Result<(), Failure> {
    if place.is_null() {
        return Ok(());
    }
    // SAFETY: not NULL, and the size comes first.
    let size = unsafe { place.cast::<usize>().read() };
    check_size::<T>(size)?;
    // SAFETY: the caller has room for `size` octets.
    unsafe { put(place, size, value) };
    Ok(())
}

/// Looks whether [`tell`] can, before something is taken that would be lost otherwise.
///
/// # Safety
/// As for [`tell`].
pub(super) unsafe fn can_tell<T: Grows>(place: *const T) -> Result<(), Failure> {
    if place.is_null() {
        return Ok(());
    }
    // SAFETY: not NULL, and the size comes first.
    check_size::<T>(unsafe { place.cast::<usize>().read() })
}

/// Copies as much as both sides know, and the size of the caller.
///
/// # Safety
/// There is room for `size` octets, which are at least those of a `usize`.
unsafe fn put<T: Grows>(place: *mut T, size: usize, value: T) {
    let from = (&raw const value).cast::<u8>();
    // SAFETY: the value has its own size, the place that of the caller; they do not overlap.
    unsafe {
        place
            .cast::<u8>()
            .copy_from_nonoverlapping(from, size.min(size_of::<T>()));
        place.cast::<usize>().write(size);
    }
}

/// Reads a structure: members that the caller does not know have their defaults, and those that this
/// library does not know must be zero.
///
/// # Safety
/// The pointer is NULL or to a structure whose first member is its size.
pub(super) unsafe fn read<T: Grows>(place: *const T, defaults: T) -> Result<T, Failure> {
    if place.is_null() {
        return Err(Failure::argument("the options are NULL"));
    }
    // SAFETY: not NULL, and the size comes first.
    let size = unsafe { place.cast::<usize>().read() };
    check_size::<T>(size)?;
    let own = size_of::<T>();
    let mut value = defaults;
    // SAFETY: both have as many octets, and every pattern of bits is a value.
    unsafe {
        (&raw mut value)
            .cast::<u8>()
            .copy_from_nonoverlapping(place.cast(), size.min(own));
    }
    // SAFETY: the caller says that it has `size` octets.
    let more = |at| unsafe { place.cast::<u8>().add(at).read() };
    if (own..size).any(|at| more(at) != 0) {
        let text = "the options say something that this version does not know";
        return Err(Failure::new(Status::Version, text));
    }
    Ok(value)
}

/// Octets of a structure at most, of whatever version.
const SIZE_MAX: usize = 4_096;

fn check_size<T: Grows>(size: usize) -> Result<(), Failure> {
    if size < T::FIRST || size > SIZE_MAX {
        let text = format!(
            "a structure of {size} octets, where {} are expected; its size comes from its `_init` \
             function, or is `sizeof` of it",
            size_of::<T>()
        );
        return Err(Failure::new(Status::Version, text));
    }
    Ok(())
}

/// Returns a span that must not be negative.
pub(super) fn span(ns: i64, name: &str) -> Result<Duration, Failure> {
    if ns < 0 {
        return Err(Failure::argument(format!("{name} is negative: {ns} ns")));
    }
    Ok(Duration::from_ns(ns))
}

/// Returns the meaning of a number.
pub(super) fn choice<T: Copy>(number: i32, name: &str, all: &[(i32, T)]) -> Result<T, Failure> {
    let found = all.iter().find(|(one, _)| *one == number);
    let unknown = || Failure::argument(format!("{name} has no value {number}"));
    found.map(|(_, meaning)| *meaning).ok_or_else(unknown)
}

/// What a callback is given along.
pub(super) type User = *mut c_void;

thread_local! {
    /// The reader or writer that the function of the application has that this thread is in.
    static LENT: Cell<*const ()> = const { Cell::new(std::ptr::null()) };
}

/// Lends a reader or a writer to a function of the application, for as long as this lives.
pub(super) struct Lent {
    before: *const (),
}

impl Lent {
    pub(super) fn new<T>(pointer: *const T) -> Self {
        let before = LENT.replace(pointer.cast());
        Self { before }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        LENT.set(self.before);
    }
}

/// Looks whether a reader or writer is the one that the calling function was given.
///
/// # Errors
/// If it is none, one from before or one of another thread.
pub(super) fn is_lent<T>(pointer: *const T) -> Result<(), Failure> {
    if !pointer.is_null() && LENT.get() == pointer.cast() {
        return Ok(());
    }
    let text = "this is not the reader or writer that the function was given";
    Err(Failure::argument(text))
}
