//! Objects behind the handles of C programs.

use std::cell::{RefCell, RefMut};
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use rtether_rtps::time::Instant;

use super::event::EventCall;
use super::instance_type::InstanceType;
use super::memory::User;
use super::publication::PublicationHandle;
use super::status::{Failure, Status, fail, guard};
use super::subscription::SubscriptionHandle;
use super::table::{Handled, find, remove, takes_stop};
use crate::rtps::Domain;

/// A participant in a domain.
pub struct DomainHandle {
    own: AtomicPtr<Self>,
    /// Thread inside the domain, as the address of a thread-local; zero if none.
    inside: AtomicUsize,
    is_poisoned: AtomicBool,
    core: RefCell<Core>,
}

// SAFETY: `core` and everything in it are accessed only by the thread in `inside`, which changes
// with acquire and release. Pointers of the application are its own responsibility; the header
// states that callbacks run in the thread that runs the domain.
unsafe impl Send for DomainHandle {}
// SAFETY: as above.
unsafe impl Sync for DomainHandle {}

/// State that only the thread inside may access.
pub(super) struct Core {
    /// `None` after destruction.
    pub(super) domain: Option<Domain>,
    pub(super) types: Vec<Arc<InstanceType>>,
    pub(super) publications: Vec<Arc<PublicationHandle>>,
    pub(super) subscriptions: Vec<Arc<SubscriptionHandle>>,
    pub(super) on_event: Option<(EventCall, User)>,
    pub(super) is_stepping: bool,
}

impl Core {
    /// Returns the live domain.
    pub(super) fn live(&mut self) -> Result<&mut Domain, Failure> {
        let closed = || Failure::new(Status::Closed, "the domain has been destroyed");
        self.domain.as_mut().ok_or_else(closed)
    }
}

/// While it lives, the domain belongs to this thread.
pub(super) struct Inside<'a> {
    domain: &'a DomainHandle,
    is_outermost: bool,
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        if self.is_outermost {
            self.domain.inside.store(0, Ordering::Release);
        }
    }
}

thread_local! {
    static HERE: u8 = const { 0 };
}

impl DomainHandle {
    pub(super) fn new(domain: Domain, on_event: Option<(EventCall, User)>) -> Self {
        Self {
            own: AtomicPtr::default(),
            inside: AtomicUsize::new(0),
            is_poisoned: AtomicBool::new(false),
            core: RefCell::new(Core {
                domain: Some(domain),
                types: Vec::new(),
                publications: Vec::new(),
                subscriptions: Vec::new(),
                on_event,
                is_stepping: false,
            }),
        }
    }

    /// Enters the domain, unless another thread is inside.
    fn enter(&self) -> Option<Inside<'_>> {
        let here = HERE.with(|here| std::ptr::from_ref(here).addr());
        let order = (Ordering::Acquire, Ordering::Relaxed);
        let before = self.inside.compare_exchange(0, here, order.0, order.1);
        let is_outermost = match before {
            Ok(_) => true,
            Err(thread) if thread == here => false,
            Err(_) => return None,
        };
        Some(Inside {
            domain: self,
            is_outermost,
        })
    }

    /// Returns and clears a request to stop from a signal handler or another thread.
    pub(super) fn is_stopped(&self) -> bool {
        takes_stop(self)
    }

    /// Returns whether a call has panicked.
    pub(super) fn is_poisoned(&self) -> bool {
        self.is_poisoned.load(Ordering::Acquire)
    }

    /// Runs `work` with exclusive access to the domain; refused after a panic.
    pub(super) fn with(&self, work: impl FnOnce(&Self) -> Result<(), Failure>) -> Status {
        if self.is_poisoned() {
            let text = "an earlier call has panicked; the domain can only be destroyed";
            return fail(&Failure::new(Status::Poisoned, text));
        }
        self.with_poisoned(work)
    }

    /// Like [`Self::with`], but also after a panic: for destruction.
    pub(super) fn with_poisoned(&self, work: impl FnOnce(&Self) -> Result<(), Failure>) -> Status {
        let Some(_inside) = self.enter() else {
            let text =
                "another thread is in the domain; only `rtether_domain_stop` may be called then";
            return fail(&Failure::new(Status::Busy, text));
        };
        let status = guard(|| work(self));
        if status == Status::Panic {
            self.is_poisoned.store(true, Ordering::Release);
        }
        status
    }

    /// Returns the state, except within functions that serialize or deserialize values.
    pub(super) fn core(&self) -> Result<RefMut<'_, Core>, Failure> {
        let text = "not allowed within serialize and deserialize functions";
        let busy = |_| Failure::new(Status::Busy, text);
        self.core.try_borrow_mut().map_err(busy)
    }
}

/// Returns the time of the clock that domains use.
pub(super) fn now() -> Instant {
    Instant::from_ns(crate::clock::monotonic_ns())
}

/// Runs `work` on the object of a handle.
pub(super) fn on<T: Belongs>(
    handle: *const T,
    work: impl FnOnce(&T, &DomainHandle) -> Result<(), Failure>,
) -> Status {
    match find(handle) {
        Ok(handle) => handle.domain().with(|domain| work(&handle, domain)),
        Err(failure) => fail(&failure),
    }
}

/// Destroys the object of a handle after ending it; NULL is ignored.
pub(super) fn destroy<T: Handled>(handle: *const T, end: impl FnOnce(&T) -> Status) -> Status {
    if handle.is_null() {
        return Status::Ok;
    }
    let removed = find(handle).and_then(|thing| {
        if end(&thing) == Status::Busy {
            return Ok(Status::Busy);
        }
        remove(handle).map(|()| Status::Ok)
    });
    removed.unwrap_or_else(|failure| fail(&failure))
}

/// A handle within a domain.
pub(super) trait Belongs: Handled {
    /// Returns the domain.
    fn domain(&self) -> &DomainHandle;
}

impl Handled for DomainHandle {
    const KIND: u64 = 1;
    const WORD: &'static str = "domain";

    fn own(&self) -> &AtomicPtr<Self> {
        &self.own
    }
}

impl Belongs for DomainHandle {
    fn domain(&self) -> &DomainHandle {
        self
    }
}

/// Writes a value to an output argument.
///
/// # Safety
/// The pointer is NULL or writable.
pub(super) unsafe fn put<T>(place: *mut T, value: T) -> Result<(), Failure> {
    if place.is_null() {
        return Err(Failure::argument("the place for the answer is NULL"));
    }
    // SAFETY: not NULL, and guaranteed by the caller.
    unsafe { place.write(value) };
    Ok(())
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
