//! Subscriptions (R138, R140, R141, R143).

use std::cell::{Cell, RefCell};
use std::ffi::{CString, c_char, c_void};
use std::sync::Arc;
use std::sync::atomic::AtomicPtr;

use rtether_rtps::engine::{ReaderId, TopicName};
use rtether_rtps::qos::{Qos, Representation};
use rtether_rtps::reader::{InstanceState, SampleInfo};
use rtether_rtps::time::{Duration, Instant, WallTime};

use super::domain::RTETHER_INFINITE;
use super::handle::{Belongs, DomainHandle, Room, destroy, now, on, put};
use super::info::{Counts, Info, InfoStatus};
use super::instance_type::InstanceType;
use super::memory::{
    Grows, User, can_tell, choice, copy_text, init, read, span, tell, text, texts,
};
use super::policy::{DurabilityKind, OwnershipKind, ReliabilityKind, shared_qos};
use super::publication::{find_type, no_room};
use super::status::{Failure, Status, guard};
use super::table::{Handled, find, register};
use crate::rtps::Domain;

/// How samples come to the application.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubscriptionMode {
    /// The receive callback is called with each.
    Immediate = 0,
    /// They wait until `rtether_subscription_take` takes them.
    Pulled = 1,
}

/// Is called with a sample, or when a deadline is over; `value` is the instance of the subscription, or
/// memory of the library if it has none. It may call anything but what steps or destroys the domain.
pub type ReceiveFn =
    Option<unsafe extern "C" fn(info: *const Info, value: *mut c_void, user: *mut c_void)>;

type ReceiveCall = unsafe extern "C" fn(*const Info, *mut c_void, *mut c_void);

/// What a subscription is.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SubscriptionOptions {
    /// `sizeof(rtether_subscription_options)`.
    pub size: usize,
    /// The name of the topic.
    pub topic: *const c_char,
    /// The name of a registered type.
    pub type_name: *const c_char,
    /// An `rtether_mode`.
    pub mode: i32,
    /// An `rtether_reliability`.
    pub reliability: i32,
    /// An `rtether_durability`.
    pub durability: i32,
    /// An `rtether_ownership`.
    pub ownership: i32,
    /// Samples of an instance that wait at most, the oldest being dropped; 0 keeps all.
    pub depth: u32,
    /// Where values are put before the receive callback is called; it must live as long as the
    /// subscription. NULL to let the library have a place for that.
    pub instance: *mut c_void,
    /// The most time between samples of an instance, in nanoseconds, and until the first one.
    /// Publications that offer more do not match.
    pub deadline_ns: i64,
    /// The least time between samples of an instance, in nanoseconds; not above the deadline. What comes
    /// sooner is left out, but for the last.
    pub minimum_separation_ns: i64,
    /// Names of partitions, with `*`, `?` and `[]` as patterns; none is the partition without a name.
    pub partitions: *const *const c_char,
    /// How many.
    pub partitions_len: usize,
    /// Called with samples in immediate mode, and when a deadline is over in either mode.
    pub on_receive: ReceiveFn,
    /// Is handed to it.
    pub user: *mut c_void,
}

// SAFETY: `repr(C)`, the size first, and all members are numbers or pointers that may be NULL.
unsafe impl Grows for SubscriptionOptions {
    const FIRST: usize = size_of::<Self>();
}

const DEFAULTS: SubscriptionOptions = SubscriptionOptions {
    size: size_of::<SubscriptionOptions>(),
    topic: std::ptr::null(),
    type_name: std::ptr::null(),
    mode: SubscriptionMode::Immediate as i32,
    reliability: ReliabilityKind::BestEffort as i32,
    durability: DurabilityKind::Volatile as i32,
    ownership: OwnershipKind::Shared as i32,
    depth: 1,
    instance: std::ptr::null_mut(),
    deadline_ns: RTETHER_INFINITE,
    minimum_separation_ns: 0,
    partitions: std::ptr::null(),
    partitions_len: 0,
    on_receive: None,
    user: std::ptr::null_mut(),
};

/// A subscription.
pub struct SubscriptionHandle {
    own: AtomicPtr<Self>,
    domain: Arc<DomainHandle>,
    pub(super) id: ReaderId,
    kind: Arc<InstanceType>,
    pub(super) mode: SubscriptionMode,
    on_receive: Option<(ReceiveCall, User)>,
    instance: *mut c_void,
    /// Stands in for the instance.
    _own: Option<Room>,
    /// Where values are read.
    room: RefCell<Room>,
    topic: CString,
    type_name: CString,
    deadline: Duration,
    /// When the first sample is overdue; from then on the engine keeps the time.
    first_due: Cell<Instant>,
    pub(super) mismatch: RefCell<String>,
    malformed: Cell<u64>,
    first_missed: Cell<u64>,
}

// SAFETY: as for its domain, into which each of its functions goes first.
unsafe impl Send for SubscriptionHandle {}
// SAFETY: as above.
unsafe impl Sync for SubscriptionHandle {}

impl Handled for SubscriptionHandle {
    const KIND: u64 = 3;
    const WORD: &'static str = "subscription";

    fn own(&self) -> &AtomicPtr<Self> {
        &self.own
    }
}

impl Belongs for SubscriptionHandle {
    fn domain(&self) -> &DomainHandle {
        &self.domain
    }
}

fn qos(options: &SubscriptionOptions) -> Result<Qos, Failure> {
    let mut qos = Qos::reader();
    let (reliability, durability) = (options.reliability, options.durability);
    let (ownership, depth) = (options.ownership, options.depth);
    shared_qos(&mut qos, reliability, durability, ownership, depth)?;
    qos.deadline = span(options.deadline_ns, "deadline_ns")?.or_never();
    qos.time_based_filter = span(options.minimum_separation_ns, "minimum_separation_ns")?;
    if qos.time_based_filter > qos.deadline {
        let text = "the minimum separation is above the deadline";
        return Err(Failure::argument(text));
    }
    qos.representations = vec![Representation::Xcdr1, Representation::Xcdr2];
    // SAFETY: the caller of `rtether_subscription_create` vouches for the array.
    qos.partitions = unsafe { texts(options.partitions, options.partitions_len, "partitions") }?;
    Ok(qos)
}

/// Fills in the defaults: immediate, best effort, volatile, the last sample kept, shared ownership.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_subscription_options_init(
    options: *mut SubscriptionOptions,
    size: usize,
) -> Status {
    // SAFETY: the caller has `size` octets there.
    guard(|| unsafe { init(options, size, DEFAULTS) })
}

/// Makes a subscription and announces it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_subscription_create(
    domain: *mut DomainHandle,
    options: *const SubscriptionOptions,
    subscription: *mut *mut SubscriptionHandle,
) -> Status {
    let create = |handle: &DomainHandle, _: &DomainHandle| {
        // SAFETY: the caller's.
        unsafe { put(subscription, std::ptr::null_mut()) }?;
        // SAFETY: the caller's.
        let made = unsafe { SubscriptionHandle::create(domain, handle, options) }?;
        let named = register(Arc::clone(&made));
        if named.is_err() {
            made.end(handle)?;
        }
        // SAFETY: the caller's.
        unsafe { put(subscription, named?) }
    };
    on(domain, create)
}

impl SubscriptionHandle {
    /// # Safety
    /// As for `rtether_subscription_create`; both name the same domain.
    unsafe fn create(
        domain: *const DomainHandle,
        handle: &DomainHandle,
        options: *const SubscriptionOptions,
    ) -> Result<Arc<Self>, Failure> {
        // SAFETY: the caller's.
        let options = unsafe { read(options, DEFAULTS) }?;
        // SAFETY: the caller's.
        let topic = unsafe { text(options.topic, "the topic") }?;
        // SAFETY: the caller's.
        let type_name = unsafe { text(options.type_name, "the name of the type") }?;
        let all = [
            (
                SubscriptionMode::Immediate as i32,
                SubscriptionMode::Immediate,
            ),
            (SubscriptionMode::Pulled as i32, SubscriptionMode::Pulled),
        ];
        let mode = choice(options.mode, "mode", &all)?;
        if mode == SubscriptionMode::Immediate && options.on_receive.is_none() {
            let text = "an immediate subscription needs `on_receive`";
            return Err(Failure::argument(text));
        }
        let owner = find(domain)?;
        let qos = qos(&options)?;
        let deadline = qos.deadline;
        let now = now();
        let mut core = handle.core()?;
        let kind = find_type(&core.types, type_name)?;
        let mut own = options
            .instance
            .is_null()
            .then(|| Room::new(kind.value_size));
        let instance = own.as_mut().map_or(options.instance, Room::cleared);
        let room = RefCell::new(Room::new(kind.value_size));
        let name = TopicName { topic, type_name };
        let live = core.live()?;
        let participant = live.participant_mut();
        let id = participant.create_reader(now, name, kind.keys(), qos);
        let id = id.ok_or_else(no_room)?;
        live.flush()?;
        let this = Arc::new(Self {
            own: AtomicPtr::default(),
            domain: owner,
            id,
            kind,
            mode,
            on_receive: options.on_receive.map(|call| (call, options.user)),
            instance,
            _own: own,
            room,
            topic: CString::new(topic).unwrap_or_default(),
            type_name: CString::new(type_name).unwrap_or_default(),
            deadline,
            first_due: Cell::new(now + deadline),
            mismatch: RefCell::default(),
            malformed: Cell::new(0),
            first_missed: Cell::new(0),
        });
        core.subscriptions.push(Arc::clone(&this));
        Ok(this)
    }

    /// Leaves the domain.
    fn end(&self, domain: &DomainHandle) -> Result<(), Failure> {
        let mut core = domain.core()?;
        core.subscriptions.retain(|one| one.id != self.id);
        if let Ok(live) = core.live() {
            let now = live.now();
            live.participant_mut().delete_reader(now, self.id);
            live.flush()?;
        }
        Ok(())
    }

    fn info(&self, status: InfoStatus) -> Info {
        Info {
            size: size_of::<Info>(),
            status,
            overdue: 0,
            has_value: 0,
            publication: [0; 16],
            sequence: 0,
            source_time_ns: -1,
            received_ns: 0,
            topic: self.topic.as_ptr(),
            type_name: self.type_name.as_ptr(),
        }
    }

    fn info_of(&self, sample: &SampleInfo, has_value: bool) -> Info {
        let status = match sample.state {
            _ if sample.is_valid => InfoStatus::NewData,
            InstanceState::Disposed => InfoStatus::Disposed,
            InstanceState::NoWriters | InstanceState::Alive => InfoStatus::NoPublication,
        };
        Info {
            has_value: i32::from(has_value),
            publication: sample.writer.octets(),
            sequence: sample.sequence.0,
            source_time_ns: sample.source_time.map_or(-1, WallTime::as_ns),
            received_ns: sample.received_at.as_ns(),
            ..self.info(status)
        }
    }

    /// Takes the next sample that makes sense. Values are read into memory of our own first, so that
    /// what makes no sense leaves no traces in a value that the application uses.
    fn take(&self, live: &mut Domain, value: *mut c_void) -> Option<Info> {
        let mut room = self.room.try_borrow_mut().ok()?;
        loop {
            let now = live.now();
            let place = room.cleared();
            let participant = live.participant_mut();
            let taken = participant.take(now, self.id, |sample, payload, key| {
                if !sample.is_valid {
                    let has_value = self.kind.read_ended(payload, key, place);
                    return Some(self.info_of(sample, has_value));
                }
                let read = self.kind.read(payload, false, place);
                read.is_ok().then(|| self.info_of(sample, true))
            })?;
            self.first_due.set(Instant::NEVER);
            if let Some(info) = taken {
                if info.has_value == 1 {
                    // SAFETY: the application has as many octets there, and ours are elsewhere.
                    unsafe {
                        value
                            .cast::<u8>()
                            .copy_from(place.cast(), self.kind.value_size);
                    };
                }
                return taken;
            }
            self.malformed.set(self.malformed.get() + 1);
        }
    }

    /// Calls back with the next sample; returns whether there was one.
    pub(super) fn deliver(&self) -> Result<bool, Failure> {
        let taken = self.take(self.domain.core()?.live()?, self.instance);
        let (Some(info), Some((call, user))) = (taken, self.on_receive) else {
            return Ok(false);
        };
        // SAFETY: the application has given the function for this; the instance lives as long as the
        // subscription.
        unsafe { call(&raw const info, self.instance, user) };
        Ok(true)
    }

    /// Says that the deadline is over.
    pub(super) fn tell_deadline(&self, overdue: u32) {
        let Some((call, user)) = self.on_receive else {
            return;
        };
        let info = Info {
            overdue,
            received_ns: crate::clock::monotonic_ns(),
            ..self.info(InfoStatus::Deadline)
        };
        // SAFETY: as in `deliver`.
        unsafe { call(&raw const info, self.instance, user) };
    }

    /// Returns when the first sample is overdue.
    pub(super) fn due(&self) -> Instant {
        self.first_due.get()
    }

    /// Returns whether the first sample is overdue, which is asked again after each deadline: the
    /// engine's deadlines, as those of DDS, begin with the first sample of an instance, those of the
    /// paper with the subscription.
    pub(super) fn is_first_overdue(&self, live: &Domain, now: Instant) -> bool {
        if now < self.first_due.get() {
            return false;
        }
        if live.participant().reader_counters(self.id).delivered > 0 {
            self.first_due.set(Instant::NEVER);
            return false;
        }
        let passed = (now - self.first_due.get()).as_ns() / self.deadline.as_ns();
        let step = passed
            .saturating_add(1)
            .saturating_mul(self.deadline.as_ns());
        self.first_due
            .set(self.first_due.get() + Duration::from_ns(step));
        self.first_missed.set(self.first_missed.get() + 1);
        true
    }
}

/// Ends a subscription, also after its domain has been destroyed or has panicked. NULL is nothing to
/// end. On any other status than `RTETHER_STATUS_OK` it is still there.
#[unsafe(no_mangle)]
pub extern "C" fn rtether_subscription_destroy(subscription: *mut SubscriptionHandle) -> Status {
    destroy(subscription, |one| {
        one.domain.with_poisoned(|domain| one.end(domain))
    })
}

/// Takes the next sample of a pulled subscription into `value`, and what is known of it into `info`,
/// which may be NULL; `RTETHER_STATUS_EMPTY` if none waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_subscription_take(
    subscription: *mut SubscriptionHandle,
    value: *mut c_void,
    info: *mut Info,
) -> Status {
    let take = |this: &SubscriptionHandle, domain: &DomainHandle| {
        if value.is_null() {
            return Err(Failure::argument("the place for the value is NULL"));
        }
        // SAFETY: the caller's.
        unsafe { can_tell(info) }?;
        let mut core = domain.core()?;
        let taken = this.take(core.live()?, value);
        let taken = taken.ok_or_else(|| Failure::quiet(Status::Empty))?;
        // SAFETY: the caller's.
        unsafe { tell(info, taken) }
    };
    on(subscription, take)
}

/// Says how many samples wait.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_subscription_waiting(
    subscription: *mut SubscriptionHandle,
    count: *mut usize,
) -> Status {
    let say = |this: &SubscriptionHandle, domain: &DomainHandle| {
        let waiting = domain.core()?.live()?.participant().waiting(this.id);
        // SAFETY: the caller's.
        unsafe { put(count, waiting) }
    };
    on(subscription, say)
}

/// Says how many publications match.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_subscription_matched(
    subscription: *mut SubscriptionHandle,
    count: *mut usize,
) -> Status {
    let say = |this: &SubscriptionHandle, domain: &DomainHandle| {
        let matched = domain.core()?.live()?.participant().writers_of(this.id);
        // SAFETY: the caller's.
        unsafe { put(count, matched) }
    };
    on(subscription, say)
}

/// Says what has happened so far.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_subscription_counts(
    subscription: *mut SubscriptionHandle,
    counts: *mut Counts,
) -> Status {
    let say = |this: &SubscriptionHandle, domain: &DomainHandle| {
        if counts.is_null() {
            return Err(Failure::argument("the place for the counts is NULL"));
        }
        let now = domain
            .core()?
            .live()?
            .participant()
            .reader_counters(this.id);
        let now = Counts {
            size: size_of::<Counts>(),
            delivered: now.delivered,
            lost: now.lost,
            rejected: now.rejected,
            malformed: now.malformed.saturating_add(this.malformed.get()),
            filtered: now.filtered,
            expired: now.expired,
            duplicates: now.duplicates,
            deadlines_missed: now.deadlines_missed.saturating_add(this.first_missed.get()),
        };
        // SAFETY: the caller's.
        unsafe { tell(counts, now) }
    };
    on(subscription, say)
}

/// Copies words on why the last publication of the same topic did not match into `buffer`, which has
/// `capacity` octets; empty if there was none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_subscription_mismatch(
    subscription: *mut SubscriptionHandle,
    buffer: *mut c_char,
    capacity: usize,
) -> Status {
    let say = |this: &SubscriptionHandle, _: &DomainHandle| {
        let text = this.mismatch.borrow();
        // SAFETY: the caller's.
        unsafe { copy_text(&text, buffer, capacity) }
    };
    on(subscription, say)
}
