//! Arguments from C programs: strings, extensible structures, memory.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_void};

use rtether_rtps::time::Duration;

use super::status::{Failure, Status};

/// An extensible structure: its first member is its size in octets, and later versions only append
/// members.
///
/// # Safety
/// `repr(C)`, with a `usize` first, and every bit pattern is valid.
pub(super) unsafe trait Grows: Copy {
    /// Size of the first version, in octets.
    const FIRST: usize;
}

/// Returns the text of a C string.
///
/// # Safety
/// The pointer is NULL or to a NUL-terminated string that outlives the result.
pub(super) unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Err(Failure::argument(format!("{name} is NULL")));
    }
    // SAFETY: guaranteed by the caller.
    let text = unsafe { CStr::from_ptr(pointer) }.to_str();
    text.map_err(|_| Failure::argument(format!("{name} is not UTF-8")))
}

/// Returns the texts of an array of C strings.
///
/// # Safety
/// As for [`text`], for each of `len` consecutive pointers.
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
    // SAFETY: not NULL, and the caller guarantees the length.
    let all = unsafe { std::slice::from_raw_parts(pointer, len) };
    // SAFETY: guaranteed by the caller.
    let all = all.iter().map(|one| unsafe { text(*one, name) });
    all.map(|one| one.map(str::to_owned)).collect()
}

/// Copies a text with a terminating NUL.
///
/// # Safety
/// The buffer is NULL or has `capacity` octets.
pub(super) unsafe fn copy_text(
    text: &str,
    buffer: *mut c_char,
    capacity: usize,
) -> Result<(), Failure> {
    if buffer.is_null() {
        return Err(Failure::argument("the buffer is NULL"));
    }
    if text.len() >= capacity {
        let text = format!("the buffer has {capacity} octets, {} are needed", text.len() + 1);
        return Err(Failure::new(Status::TooLong, text));
    }
    // SAFETY: not NULL, and there is room for the text and its NUL.
    unsafe {
        buffer.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len());
        buffer.cast::<u8>().add(text.len()).write(0);
    }
    Ok(())
}

/// Maximum number of texts in an array.
const TEXTS_MAX: usize = 256;

/// Writes the defaults into the first `size` octets of a structure.
///
/// # Safety
/// The pointer is NULL or to `size` writable octets.
pub(super) unsafe fn init<T: Grows>(
    place: *mut T,
    size: usize,
    defaults: T,
) -> Result<(), Failure> {
    if place.is_null() {
        return Err(Failure::argument("the structure is NULL"));
    }
    check_size::<T>(size)?;
    // SAFETY: the caller guarantees `size` octets, and at most the size of the value is copied.
    // Members unknown to this version are zeroed.
    unsafe {
        place.cast::<u8>().write_bytes(0, size);
        put(place, size, defaults);
    }
    Ok(())
}

/// Fills in a structure of the caller, whose first member gives its size.
///
/// # Safety
/// The pointer is NULL or to a structure whose first member gives the number of writable octets.
pub(super) unsafe fn tell<T: Grows>(place: *mut T, value: T) -> Result<(), Failure> {
    if place.is_null() {
        return Ok(());
    }
    // SAFETY: not NULL, and the size comes first.
    let size = unsafe { place.cast::<usize>().read() };
    check_size::<T>(size)?;
    // SAFETY: the caller guarantees `size` octets.
    unsafe { put(place, size, value) };
    Ok(())
}

/// Checks that [`tell`] will succeed, before something is taken that would otherwise be lost.
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

/// Copies the members that both sides know, and keeps the size of the caller.
///
/// # Safety
/// There is room for `size` octets, at least those of a `usize`.
unsafe fn put<T: Grows>(place: *mut T, size: usize, value: T) {
    let from = (&raw const value).cast::<u8>();
    // SAFETY: at most the size of each side is copied; they do not overlap.
    unsafe {
        place.cast::<u8>().copy_from_nonoverlapping(from, size.min(size_of::<T>()));
        place.cast::<usize>().write(size);
    }
}

/// Reads a structure: members unknown to the caller get their defaults, and members unknown to this
/// library must be zero.
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
    // SAFETY: both have at least as many octets, and every bit pattern is valid.
    unsafe {
        (&raw mut value).cast::<u8>().copy_from_nonoverlapping(place.cast(), size.min(own));
    }
    // SAFETY: the caller has given `size` as its size.
    let more = |at| unsafe { place.cast::<u8>().add(at).read() };
    if (own..size).any(|at| more(at) != 0) {
        let text = "the options set members that this version does not know";
        return Err(Failure::new(Status::Version, text));
    }
    Ok(value)
}

/// Largest size of an options struct in any API version, in octets.
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

/// An infinite time span, in nanoseconds.
pub const RTETHER_INFINITE: i64 = 9_223_372_036_854_775_807;

/// Converts a time span; negative ones are errors.
pub(super) fn span(ns: i64, name: &str) -> Result<Duration, Failure> {
    if ns < 0 {
        return Err(Failure::argument(format!("{name} is negative: {ns} ns")));
    }
    Ok(Duration::from_ns(ns))
}

/// Returns the meaning of a number, or an error if it has none.
pub(super) fn choice<T: Copy>(number: i32, name: &str, all: &[(i32, T)]) -> Result<T, Failure> {
    let found = all.iter().find(|(one, _)| *one == number);
    let unknown = || Failure::argument(format!("{name} has no value {number}"));
    found.map(|(_, meaning)| *meaning).ok_or_else(unknown)
}

/// Writes a value to an output argument.
///
/// # Safety
/// The pointer is NULL or writable.
pub(super) unsafe fn answer<T>(place: *mut T, value: T) -> Result<(), Failure> {
    if place.is_null() {
        return Err(Failure::argument("the place for the answer is NULL"));
    }
    // SAFETY: not NULL, and guaranteed by the caller.
    unsafe { place.write(value) };
    Ok(())
}

/// Opaque pointer passed to a callback.
pub(super) type User = *mut c_void;

thread_local! {
    /// Reader or writer lent to the application function that this thread is in.
    static LENT: Cell<*const ()> = const { Cell::new(std::ptr::null()) };
}

/// Lends a reader or writer to an application function while this value lives.
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

/// Checks that a reader or writer is the one passed to the calling function.
///
/// # Errors
/// It is NULL, from an earlier call, or from another thread.
pub(super) fn is_lent<T>(pointer: *const T) -> Result<(), Failure> {
    if !pointer.is_null() && LENT.get() == pointer.cast() {
        return Ok(());
    }
    let text = "not the reader or writer passed to this function";
    Err(Failure::argument(text))
}

/// Memory for a value of a type known at run time only: aligned for any type, zeroed.
pub(super) struct Room(Vec<u128>);

impl Room {
    /// Allocates `octets` octets.
    pub(super) fn new(octets: usize) -> Self {
        Self(vec![0; octets.div_ceil(size_of::<u128>())])
    }

    /// Clears the memory and returns its address.
    pub(super) fn cleared(&mut self) -> *mut c_void {
        self.0.fill(0);
        self.0.as_mut_ptr().cast()
    }
}
