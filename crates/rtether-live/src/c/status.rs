//! Status codes and error messages.

use std::any::Any;
use std::borrow::Cow;
use std::cell::UnsafeCell;
use std::ffi::c_char;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rtether_rtps::cdr::CdrError;
use rtether_rtps::writer::WriteError;

/// Result of a call. `rtether_last_error` gives details.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Success.
    Ok = 0,
    /// An argument is NULL or out of range, or a handle is invalid, of another kind, or destroyed.
    Argument = 1,
    /// The structure is smaller than its first version, or larger and sets members unknown to this
    /// library.
    Version = 2,
    /// Another thread is in the domain, or the call is not allowed within a callback.
    Busy = 3,
    /// The domain has been destroyed, or was created by the parent before a `fork`.
    Closed = 4,
    /// An earlier call has panicked; the domain can only be destroyed.
    Poisoned = 5,
    /// The limit of endpoints or instances is reached.
    Limit = 6,
    /// The value is longer than its type allows, or does not fit the buffer.
    TooLong = 7,
    /// The history is full of samples that a reliable subscription has not acknowledged.
    Full = 8,
    /// The octets are not a value of the type.
    Malformed = 9,
    /// No sample waits.
    Empty = 10,
    /// The condition did not hold in time.
    Timeout = 11,
    /// A callback has refused the value.
    Refused = 12,
    /// No type with this name is registered.
    UnknownType = 13,
    /// The operating system refuses.
    System = 14,
    /// A defect of the library; the domain can only be destroyed.
    Panic = 15,
}

/// Why a call fails.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) status: Status,
    text: Cow<'static, str>,
}

impl Failure {
    pub(super) fn new(status: Status, text: impl Into<Cow<'static, str>>) -> Self {
        Self { status, text: text.into() }
    }

    pub(super) fn argument(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Status::Argument, text)
    }

    /// The limit of endpoints is reached.
    pub(super) fn no_room() -> Self {
        let text = "the limit of publications and subscriptions is reached";
        Self::new(Status::Limit, text)
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// No error, but nothing available; without a text, since polling programs see it often.
    pub(super) fn quiet(status: Status) -> Self {
        Self::new(status, "")
    }
}

impl From<CdrError> for Failure {
    fn from(error: CdrError) -> Self {
        use rtether_rtps::cdr::CdrErrorKind;
        let status = if matches!(error.kind, CdrErrorKind::Limit(_)) {
            Status::TooLong
        } else {
            Status::Malformed
        };
        Self::new(status, error.to_string())
    }
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        let status = match error {
            WriteError::Full => Status::Full,
            WriteError::Instances => Status::Limit,
            WriteError::TooLong { .. } => Status::TooLong,
            WriteError::Unknown => Status::Closed,
        };
        Self::new(status, error.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(Status::System, error.to_string())
    }
}

/// Room for an error text, with the zero that ends it.
const TEXT_MAX: usize = 1024;

thread_local! {
    /// It stays where it is: C evaluates the arguments of a call in any order, so a program may hold
    /// the address before the call that fails. Without a destructor, it lives as long as its thread.
    static LAST: UnsafeCell<[u8; TEXT_MAX]> = const { UnsafeCell::new([0; TEXT_MAX]) };
}

/// Stores the text for `rtether_last_error`, and returns the status.
pub(super) fn fail(failure: &Failure) -> Status {
    if !failure.text.is_empty() {
        LAST.with(|last| {
            // SAFETY: only this thread has it, and no other reference to it lives: programs have
            // its address alone.
            write_text(unsafe { &mut *last.get() }, &failure.text);
        });
    }
    failure.status
}

/// Writes a text that ends with a zero, cut where a character begins.
fn write_text(place: &mut [u8; TEXT_MAX], text: &str) {
    let end = text.floor_char_boundary(TEXT_MAX - 1);
    let octets = text.bytes().take(end).filter(|octet| *octet != 0);
    let mut len = 0;
    for (place, octet) in place.iter_mut().zip(octets) {
        *place = octet;
        len += 1;
    }
    place[len] = 0;
}

/// Runs the body of a call; stops panics from unwinding further.
pub(super) fn guard(work: impl FnOnce() -> Result<(), Failure>) -> Status {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => Status::Ok,
        Ok(Err(failure)) => fail(&failure),
        Err(panic) => fail(&Failure::new(Status::Panic, words(panic.as_ref()))),
    }
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("internal error: {}", text.unwrap_or("a panic"))
}

/// Returns the error text of the last failed call of this thread; empty if none failed. The address
/// is always the same in a thread, and valid until it ends; the text changes with the next call that
/// fails, and has at most 1023 octets.
#[unsafe(no_mangle)]
pub extern "C" fn rtether_last_error() -> *const c_char {
    LAST.with(|last| last.get().cast_const().cast())
}

/// Returns the version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn rtether_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
