//! Publications (R137, R145).

use std::ffi::{c_char, c_void};
use std::sync::Arc;
use std::sync::atomic::AtomicPtr;

use rtether_rtps::writer::ChangeKind;

use super::handle::{DomainHandle, PublicationHandle};
use super::memory::{answer, copy_text, init};
use super::monitor::{Belongs, Monitor, destroy, on};
use super::status::{Failure, Status, guard};
use super::table::{Handle, find, register};
use super::writer::{self, PublicationOptions, Writer};

/// A writer and its domain.
pub(super) struct Publication {
    domain: Arc<Monitor>,
    writer: Arc<Writer>,
}

impl Handle for PublicationHandle {
    type Object = Publication;
    const KIND: u64 = 2;
    const WORD: &'static str = "publication";

    fn of(object: &Publication) -> &AtomicPtr<Self> {
        &object.writer.own
    }
}

impl Belongs for Publication {
    fn domain(&self) -> &Monitor {
        &self.domain
    }
}

impl Publication {
    /// # Safety
    /// As for `rtether_publication_create`.
    unsafe fn create(
        domain: Arc<Monitor>,
        options: *const PublicationOptions,
    ) -> Result<Self, Failure> {
        let mut core = domain.core()?;
        let (live, types) = core.with_types()?;
        // SAFETY: guaranteed by the caller.
        let writer = Arc::new(unsafe { Writer::create(options, live, types) }?);
        core.writers.push(Arc::clone(&writer));
        drop(core);
        Ok(Self { domain, writer })
    }

    /// Removes the publication from the domain.
    fn end(&self) -> Result<(), Failure> {
        let mut core = self.domain.core()?;
        core.writers.retain(|one| one.id != self.writer.id);
        core.live().map_or(Ok(()), |live| self.writer.end(live))
    }

    /// Sends a value, or ends an instance.
    fn write(&self, change: ChangeKind, value: *const c_void) -> Result<(), Failure> {
        if value.is_null() {
            return Err(Failure::argument("there is no value to send"));
        }
        let mut core = self.domain.core()?;
        self.writer.write(core.live()?, change, value)
    }
}

/// Fills in the defaults: reliable, volatile, history of one sample, shared ownership, XCDR1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_publication_options_init(
    options: *mut PublicationOptions,
    size: usize,
) -> Status {
    // SAFETY: the caller guarantees `size` octets there.
    guard(|| unsafe { init(options, size, writer::DEFAULTS) })
}

/// Creates a publication and announces it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_publication_create(
    domain: *mut DomainHandle,
    options: *const PublicationOptions,
    publication: *mut *mut PublicationHandle,
) -> Status {
    let create = |_: &Monitor, _: &Monitor| {
        // SAFETY: guaranteed by the caller.
        unsafe { answer(publication, std::ptr::null_mut()) }?;
        // SAFETY: guaranteed by the caller.
        let made = Arc::new(unsafe { Publication::create(find(domain)?, options) }?);
        let named = register(Arc::clone(&made));
        if named.is_err() {
            made.end()?;
        }
        // SAFETY: guaranteed by the caller.
        unsafe { answer(publication, named?) }
    };
    on(domain, create)
}

/// Destroys a publication, also after its domain was destroyed or has panicked. NULL is ignored. On
/// any status other than `RTETHER_STATUS_OK` it remains.
#[unsafe(no_mangle)]
pub extern "C" fn rtether_publication_destroy(publication: *mut PublicationHandle) -> Status {
    destroy(publication, |one| one.domain.with_poisoned(|_| one.end()))
}

/// Sends the current value of the publication's instance.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_publication_send(publication: *mut PublicationHandle) -> Status {
    on(publication, |this, _| this.write(ChangeKind::Alive, this.writer.instance))
}

/// Sends a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_publication_write(
    publication: *mut PublicationHandle,
    value: *const c_void,
) -> Status {
    on(publication, |this, _| this.write(ChangeKind::Alive, value))
}

/// Disposes of the instance of the value. RTPS 1.0 has no instances, and refuses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_publication_dispose(
    publication: *mut PublicationHandle,
    value: *const c_void,
) -> Status {
    on(publication, |this, _| this.write(ChangeKind::Disposed, value))
}

/// Unregisters the instance of the value: this publication no longer writes it. RTPS 1.0 has no
/// instances, and refuses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_publication_unregister(
    publication: *mut PublicationHandle,
    value: *const c_void,
) -> Status {
    on(publication, |this, _| this.write(ChangeKind::Unregistered, value))
}

/// Gets the number of matched subscriptions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_publication_matched(
    publication: *mut PublicationHandle,
    count: *mut usize,
) -> Status {
    let tell = |this: &Publication, domain: &Monitor| {
        let matched = domain.core()?.live()?.participant().readers_of(this.writer.id);
        // SAFETY: guaranteed by the caller.
        unsafe { answer(count, matched) }
    };
    on(publication, tell)
}

/// Steps the domain with its callbacks until at least `count` subscriptions match.
/// `RTETHER_STATUS_TIMEOUT` after `limit_ns`, or if the domain is stopped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_publication_wait_matched(
    publication: *mut PublicationHandle,
    count: usize,
    limit_ns: i64,
) -> Status {
    let wait = |this: &Publication, domain: &Monitor| {
        domain.step_until(limit_ns, |core| {
            Ok(core.live()?.participant().readers_of(this.writer.id) >= count)
        })
    };
    on(publication, wait)
}

/// Steps the domain with its callbacks until all reliable subscriptions have acknowledged
/// everything. `RTETHER_STATUS_TIMEOUT` after `limit_ns`, or if the domain is stopped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_publication_wait_acknowledged(
    publication: *mut PublicationHandle,
    limit_ns: i64,
) -> Status {
    let wait = |this: &Publication, domain: &Monitor| {
        domain.step_until(limit_ns, |core| {
            Ok(core.live()?.participant().is_acknowledged(this.writer.id))
        })
    };
    on(publication, wait)
}

/// Copies the reason why the last incompatible subscription of the topic did not match into
/// `buffer` of `capacity` octets; empty if there was none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_publication_mismatch(
    publication: *mut PublicationHandle,
    buffer: *mut c_char,
    capacity: usize,
) -> Status {
    let tell = |this: &Publication, _: &Monitor| {
        let text = this.writer.mismatch.borrow();
        // SAFETY: guaranteed by the caller.
        unsafe { copy_text(&text, buffer, capacity) }
    };
    on(publication, tell)
}
