//! Handles of C programs: numbers that look like pointers but are only looked up in a table, so
//! that a wrong, destroyed or foreign handle is detected and never dereferenced.
//!
//! A handle consists of a mark in its upper bits, the generation of its table entry, and the index
//! of the entry. A reused entry has the next generation. Nothing here waits or locks: a call pins
//! the entry while it takes another reference to the object, and the last call to unpin an entry
//! that was removed meanwhile releases it.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Once};

use super::status::{Failure, Status};

/// Maximum number of handles of a process at a time.
const PLACES: usize = 1 << PLACE_BITS;
const PLACE_BITS: u32 = 14;
const GENERATION_BITS: u32 = if usize::BITS >= 64 { 32 } else { 12 };
const GENERATIONS: u64 = 1 << GENERATION_BITS;
/// Upper bits of handles; no pointer of a process has these.
const MARK: usize = if usize::BITS >= 64 { 0x1D72 } else { 0x2D };

/// A type of handles.
pub(super) trait Handle: Sized {
    /// What they stand for.
    type Object: Send + Sync;
    /// Unique number of the type, from 1.
    const KIND: u64;
    /// Name of the type in messages.
    const WORD: &'static str;
    /// Where an object keeps its own handle.
    fn of(object: &Self::Object) -> &AtomicPtr<Self>;
}

/// A table entry.
struct Slot {
    /// Pins of calls that are taking references, whether it lives, its kind and generation.
    state: AtomicU64,
    thing: AtomicPtr<()>,
    /// Number of forks between the first process and the one that created it.
    forks: AtomicU32,
    /// Generation to stop, plus one.
    stop: AtomicU64,
}

/// Fields of a state: pins in the lower 24 bits.
const LIVES: u64 = 1 << 24;
const IS_TAKEN: u64 = 1 << 25;
const KIND_AT: u32 = 26;
const GENERATION_AT: u32 = 32;
const PINS: u64 = LIVES - 1;

static TABLE: [Slot; PLACES] = [const {
    Slot {
        state: AtomicU64::new(0),
        thing: AtomicPtr::new(ptr::null_mut()),
        forks: AtomicU32::new(0),
        stop: AtomicU64::new(0),
    }
}; PLACES];
/// Where the search for a free entry starts.
static NEXT: AtomicUsize = AtomicUsize::new(0);
static FORKS: AtomicU32 = AtomicU32::new(0);

unsafe extern "C" fn on_fork_in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Registers a fork handler, so that a child process knows that it is one.
fn watch_forks() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        // SAFETY: the function lives as long as the process, and accesses only an atomic.
        let _ = unsafe { libc::pthread_atfork(None, None, Some(on_fork_in_child)) };
    });
}

fn generation(state: u64) -> u64 {
    state >> GENERATION_AT
}

fn encoded<T>(place: usize, generation: u64) -> *mut T {
    let generation = usize::try_from(generation % GENERATIONS).unwrap_or_default();
    let mark = MARK << (GENERATION_BITS + PLACE_BITS);
    ptr::without_provenance_mut(mark | (generation << PLACE_BITS) | place)
}

/// Returns the entry and generation of a handle.
fn decoded<T>(handle: *const T) -> Option<(&'static Slot, u64)> {
    let number = handle.addr();
    let is_ours = number >> (GENERATION_BITS + PLACE_BITS) == MARK;
    let generation = (number >> PLACE_BITS) as u64 % GENERATIONS;
    is_ours.then(|| (&TABLE[number % PLACES], generation))
}

/// Assigns a handle to an object.
///
/// # Errors
/// The table is full.
pub(super) fn register<H: Handle>(thing: Arc<H::Object>) -> Result<*mut H, Failure> {
    watch_forks();
    let first = NEXT.fetch_add(1, Ordering::Relaxed);
    for number in (0..PLACES).map(|step| (first + step) % PLACES) {
        let place = &TABLE[number];
        let state = place.state.load(Ordering::Relaxed);
        let (order, failed) = (Ordering::Acquire, Ordering::Relaxed);
        let is_free = state & IS_TAKEN == 0;
        let taken = || place.state.compare_exchange(state, state | IS_TAKEN, order, failed);
        if !is_free || taken().is_err() {
            continue;
        }
        let handle = encoded(number, generation(state));
        H::of(&thing).store(handle, Ordering::Relaxed);
        let thing = Arc::into_raw(thing).cast_mut();
        place.thing.store(thing.cast(), Ordering::Relaxed);
        place.forks.store(FORKS.load(Ordering::Relaxed), Ordering::Relaxed);
        let made = state | IS_TAKEN | LIVES | (H::KIND << KIND_AT);
        place.state.store(made, Ordering::Release);
        return Ok(handle);
    }
    let text = format!("a process can have at most {PLACES} handles; destroy unused ones");
    Err(Failure::new(Status::Limit, text))
}

/// Returns the entry and state of a live handle of the right kind.
fn living<H: Handle>(handle: *const H) -> Result<(&'static Slot, u64), Failure> {
    if handle.is_null() {
        return Err(Failure::argument("the handle is NULL"));
    }
    let unknown = || {
        let word = H::WORD;
        let text = format!("{handle:p} is not a {word} handle, or was destroyed");
        Failure::argument(text)
    };
    let (place, wanted) = decoded(handle).ok_or_else(unknown)?;
    let state = place.state.load(Ordering::Acquire);
    let kind = (state >> KIND_AT) & ((1 << (GENERATION_AT - KIND_AT)) - 1);
    if generation(state) % GENERATIONS != wanted || state & LIVES == 0 || kind != H::KIND {
        return Err(unknown());
    }
    if place.forks.load(Ordering::Relaxed) != FORKS.load(Ordering::Relaxed) {
        let text = "the handle is from before `fork`; a child must create its own";
        return Err(Failure::new(Status::Closed, text));
    }
    Ok((place, state))
}

/// Returns a new reference to the object of a handle: callbacks may destroy an object in use.
///
/// # Errors
/// The handle is invalid, or of another kind.
pub(super) fn find<H: Handle>(handle: *const H) -> Result<Arc<H::Object>, Failure> {
    loop {
        let (place, state) = living(handle)?;
        let (order, failed) = (Ordering::AcqRel, Ordering::Relaxed);
        let pinned = place.state.compare_exchange_weak(state, state + 1, order, failed);
        if pinned.is_err() {
            continue;
        }
        let thing = place.thing.load(Ordering::Relaxed).cast_const();
        let thing = thing.cast::<H::Object>();
        // SAFETY: the kind gives the type, the pointer came from `Arc::into_raw`, and the entry
        // owns the object while it is pinned.
        let owner = unsafe {
            Arc::increment_strong_count(thing);
            Arc::from_raw(thing)
        };
        let before = place.state.fetch_sub(1, Ordering::AcqRel);
        if before & (LIVES | PINS) == 1 {
            release::<H>(place);
        }
        return Ok(owner);
    }
}

/// Invalidates a handle; its object lives until the last reference is dropped.
///
/// # Errors
/// The handle is invalid or of another kind, as when another thread was faster.
pub(super) fn remove<H: Handle>(handle: *const H) -> Result<(), Failure> {
    loop {
        let (place, state) = living(handle)?;
        let (order, failed) = (Ordering::AcqRel, Ordering::Relaxed);
        let ended = place.state.compare_exchange_weak(state, state & !LIVES, order, failed);
        if ended.is_ok() {
            if state & PINS == 0 {
                release::<H>(place);
            }
            return Ok(());
        }
    }
}

/// Frees an entry that is neither in use nor valid any more.
fn release<H: Handle>(place: &Slot) {
    let thing = place.thing.swap(ptr::null_mut(), Ordering::Relaxed);
    let state = place.state.load(Ordering::Relaxed);
    // SAFETY: it came from `Arc::into_raw` of this kind, and only one call ends a generation.
    let owner = unsafe { Arc::from_raw(thing.cast_const().cast::<H::Object>()) };
    let next = (generation(state) + 1) % GENERATIONS;
    place.state.store(next << GENERATION_AT, Ordering::Release);
    drop(owner);
}

/// Requests that an object stop. Accesses only atomics, so that signal handlers may call it.
pub(super) fn stop<H: Handle>(handle: *const H) {
    let Some((place, wanted)) = decoded(handle) else {
        return;
    };
    let state = place.state.load(Ordering::Acquire);
    if state & LIVES != 0 && generation(state) % GENERATIONS == wanted {
        place.stop.store(wanted + 1, Ordering::Relaxed);
    }
}

/// Returns and clears a request to stop.
pub(super) fn takes_stop<H: Handle>(thing: &H::Object) -> bool {
    let Some((place, own)) = decoded(H::of(thing).load(Ordering::Relaxed)) else {
        return false;
    };
    // Much cheaper than an exchange, and nearly always sufficient.
    if place.stop.load(Ordering::Relaxed) != own + 1 {
        return false;
    }
    let order = Ordering::Relaxed;
    place.stop.compare_exchange(own + 1, 0, order, order).is_ok()
}
