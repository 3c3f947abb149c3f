//! Subscriptions (R138, R140, R141, R143).

use std::ffi::{c_char, c_void};
use std::sync::Arc;
use std::sync::atomic::AtomicPtr;

use super::handle::{DomainHandle, SubscriptionHandle};
use super::info::{Counts, Info};
use super::memory::{answer, can_tell, copy_text, init, tell};
use super::monitor::{Belongs, Monitor, destroy, on};
use super::reader::{self, Reader, SubscriptionOptions};
use super::status::{Failure, Status, guard};
use super::table::{Handle, find, register};

/// A reader and its domain.
pub(super) struct Subscription {
    domain: Arc<Monitor>,
    reader: Arc<Reader>,
}

impl Handle for SubscriptionHandle {
    type Object = Subscription;
    const KIND: u64 = 3;
    const WORD: &'static str = "subscription";

    fn of(object: &Subscription) -> &AtomicPtr<Self> {
        &object.reader.own
    }
}

impl Belongs for Subscription {
    fn domain(&self) -> &Monitor {
        &self.domain
    }
}

impl Subscription {
    /// # Safety
    /// As for `rtether_subscription_create`.
    unsafe fn create(
        domain: Arc<Monitor>,
        options: *const SubscriptionOptions,
    ) -> Result<Self, Failure> {
        let mut core = domain.core()?;
        let (live, types) = core.with_types()?;
        // SAFETY: guaranteed by the caller.
        let reader = Arc::new(unsafe { Reader::create(options, live, types) }?);
        core.readers.push(Arc::clone(&reader));
        drop(core);
        Ok(Self { domain, reader })
    }

    /// Removes the subscription from the domain.
    fn end(&self) -> Result<(), Failure> {
        let mut core = self.domain.core()?;
        core.readers.retain(|one| one.id != self.reader.id);
        core.live().map_or(Ok(()), |live| self.reader.end(live))
    }
}

/// Fills in the defaults: immediate, best effort, volatile, history of one sample, shared
/// ownership.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_subscription_options_init(
    options: *mut SubscriptionOptions,
    size: usize,
) -> Status {
    // SAFETY: the caller guarantees `size` octets there.
    guard(|| unsafe { init(options, size, reader::DEFAULTS) })
}

/// Creates a subscription and announces it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_subscription_create(
    domain: *mut DomainHandle,
    options: *const SubscriptionOptions,
    subscription: *mut *mut SubscriptionHandle,
) -> Status {
    let create = |_: &Monitor, _: &Monitor| {
        // SAFETY: guaranteed by the caller.
        unsafe { answer(subscription, std::ptr::null_mut()) }?;
        // SAFETY: guaranteed by the caller.
        let made = Arc::new(unsafe { Subscription::create(find(domain)?, options) }?);
        let named = register(Arc::clone(&made));
        if named.is_err() {
            made.end()?;
        }
        // SAFETY: guaranteed by the caller.
        unsafe { answer(subscription, named?) }
    };
    on(domain, create)
}

/// Destroys a subscription, also after its domain was destroyed or has panicked. NULL is ignored.
/// On any status other than `RTETHER_STATUS_OK` it remains.
#[unsafe(no_mangle)]
pub extern "C" fn rtether_subscription_destroy(subscription: *mut SubscriptionHandle) -> Status {
    destroy(subscription, |one| one.domain.with_poisoned(|_| one.end()))
}

/// Takes the next sample of a pulled subscription into `value`, and its metadata into `info`, which
/// may be NULL; `RTETHER_STATUS_EMPTY` if none waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_subscription_take(
    subscription: *mut SubscriptionHandle,
    value: *mut c_void,
    info: *mut Info,
) -> Status {
    let take = |this: &Subscription, domain: &Monitor| {
        if value.is_null() {
            return Err(Failure::argument("the place for the value is NULL"));
        }
        // SAFETY: guaranteed by the caller.
        unsafe { can_tell(info) }?;
        let mut core = domain.core()?;
        let taken = this.reader.take(core.live()?, value);
        let taken = taken.ok_or_else(|| Failure::quiet(Status::Empty))?;
        // SAFETY: guaranteed by the caller.
        unsafe { tell(info, taken) }
    };
    on(subscription, take)
}

/// Gets the number of waiting samples.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_subscription_waiting(
    subscription: *mut SubscriptionHandle,
    count: *mut usize,
) -> Status {
    let say = |this: &Subscription, domain: &Monitor| {
        let waiting = domain.core()?.live()?.participant().waiting(this.reader.id);
        // SAFETY: guaranteed by the caller.
        unsafe { answer(count, waiting) }
    };
    on(subscription, say)
}

/// Gets the number of matched publications.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_subscription_matched(
    subscription: *mut SubscriptionHandle,
    count: *mut usize,
) -> Status {
    let say = |this: &Subscription, domain: &Monitor| {
        let matched = domain.core()?.live()?.participant().writers_of(this.reader.id);
        // SAFETY: guaranteed by the caller.
        unsafe { answer(count, matched) }
    };
    on(subscription, say)
}

/// Gets the counters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_subscription_counts(
    subscription: *mut SubscriptionHandle,
    counts: *mut Counts,
) -> Status {
    let say = |this: &Subscription, domain: &Monitor| {
        if counts.is_null() {
            return Err(Failure::argument("the place for the counts is NULL"));
        }
        let now = this.reader.counts(domain.core()?.live()?);
        // SAFETY: guaranteed by the caller.
        unsafe { tell(counts, now) }
    };
    on(subscription, say)
}

/// Copies the reason why the last incompatible publication of the topic did not match into `buffer`
/// of `capacity` octets; empty if there was none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_subscription_mismatch(
    subscription: *mut SubscriptionHandle,
    buffer: *mut c_char,
    capacity: usize,
) -> Status {
    let say = |this: &Subscription, _: &Monitor| {
        let text = this.reader.mismatch.borrow();
        // SAFETY: guaranteed by the caller.
        unsafe { copy_text(&text, buffer, capacity) }
    };
    on(subscription, say)
}
