//! Domains behind handles: monitors, which admit one thread at a time.

use std::cell::{RefCell, RefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use rtether_rtps::time::Instant;

use super::event::EventCall;
use super::handle::DomainHandle;
use super::memory::User;
use super::reader::Reader;
use super::status::{Failure, Status, fail, guard};
use super::table::{Handle, find, remove, takes_stop};
use super::values::InstanceType;
use super::writer::Writer;
use crate::rtps::Domain;

/// A domain that admits one thread at a time.
pub(super) struct Monitor {
    own: AtomicPtr<DomainHandle>,
    /// Thread inside the domain, as the address of a thread-local; zero if none.
    inside: AtomicUsize,
    is_poisoned: AtomicBool,
    core: RefCell<Core>,
}

// SAFETY: `core` and everything in it are accessed only by the thread in `inside`, which changes
// with acquire and release. Pointers of the application are its own responsibility; the header
// states that callbacks run in the thread that runs the domain.
unsafe impl Send for Monitor {}
// SAFETY: as above.
unsafe impl Sync for Monitor {}

/// State that only the thread inside may access.
pub(super) struct Core {
    /// `None` after destruction.
    pub(super) domain: Option<Domain>,
    pub(super) types: Vec<Arc<InstanceType>>,
    pub(super) writers: Vec<Arc<Writer>>,
    pub(super) readers: Vec<Arc<Reader>>,
    pub(super) on_event: Option<(EventCall, User)>,
    pub(super) is_stepping: bool,
}

impl Core {
    /// Returns the live domain.
    pub(super) fn live(&mut self) -> Result<&mut Domain, Failure> {
        self.with_types().map(|(live, _)| live)
    }

    /// Returns the live domain and its types.
    pub(super) fn with_types(&mut self) -> Result<(&mut Domain, &[Arc<InstanceType>]), Failure> {
        let closed = || Failure::new(Status::Closed, "the domain has been destroyed");
        Ok((self.domain.as_mut().ok_or_else(closed)?, &self.types))
    }
}

/// While it lives, the domain belongs to this thread.
pub(super) struct Inside<'a> {
    domain: &'a Monitor,
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

impl Monitor {
    pub(super) fn new(domain: Domain, on_event: Option<(EventCall, User)>) -> Self {
        Self {
            own: AtomicPtr::default(),
            inside: AtomicUsize::new(0),
            is_poisoned: AtomicBool::new(false),
            core: RefCell::new(Core {
                domain: Some(domain),
                types: Vec::new(),
                writers: Vec::new(),
                readers: Vec::new(),
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
        Some(Inside { domain: self, is_outermost })
    }

    /// Returns and clears a request to stop from a signal handler or another thread.
    pub(super) fn is_stopped(&self) -> bool {
        takes_stop::<DomainHandle>(self)
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
pub(super) fn on<H: Handle<Object: Belongs>>(
    handle: *const H,
    work: impl FnOnce(&H::Object, &Monitor) -> Result<(), Failure>,
) -> Status {
    match find(handle) {
        Ok(object) => object.domain().with(|domain| work(&object, domain)),
        Err(failure) => fail(&failure),
    }
}

/// Destroys the object of a handle after ending it; NULL is ignored.
pub(super) fn destroy<H: Handle>(
    handle: *const H,
    end: impl FnOnce(&H::Object) -> Status,
) -> Status {
    if handle.is_null() {
        return Status::Ok;
    }
    let removed = find(handle).and_then(|object| {
        if end(&object) == Status::Busy {
            return Ok(Status::Busy);
        }
        remove(handle).map(|()| Status::Ok)
    });
    removed.unwrap_or_else(|failure| fail(&failure))
}

/// An object within a domain.
pub(super) trait Belongs {
    /// Returns the domain.
    fn domain(&self) -> &Monitor;
}

impl Handle for DomainHandle {
    type Object = Monitor;
    const KIND: u64 = 1;
    const WORD: &'static str = "domain";

    fn of(object: &Monitor) -> &AtomicPtr<Self> {
        &object.own
    }
}

impl Belongs for Monitor {
    fn domain(&self) -> &Monitor {
        self
    }
}
