//! Publications (R137, R145).

use std::cell::{Cell, RefCell};
use std::ffi::{c_char, c_void};
use std::sync::Arc;
use std::sync::atomic::AtomicPtr;

use rtether_rtps::cdr::Encoding;
use rtether_rtps::engine::{NewSample, TopicName, WriterId};
use rtether_rtps::qos::{Qos, Representation};
use rtether_rtps::time::{Duration, Instant};
use rtether_rtps::writer::ChangeKind;

use super::domain::RTETHER_INFINITE;
use super::handle::{Belongs, DomainHandle, destroy, now, on, put};
use super::instance_type::InstanceType;
use super::memory::{Grows, User, copy_text, init, read, span, text, texts};
use super::policy::{
    DurabilityKind, EncodingKind, OwnershipKind, ReliabilityKind, encoding, shared_qos,
};
use super::status::{Failure, Status, guard};
use super::table::{Handled, find, register};

/// Fills in the value that is about to be sent; returns 0, or something else to send nothing this time.
/// It may call anything but what steps or destroys the domain.
pub type SendFn = Option<unsafe extern "C" fn(value: *mut c_void, user: *mut c_void) -> i32>;

type SendCall = unsafe extern "C" fn(*mut c_void, *mut c_void) -> i32;

/// What a publication is.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PublicationOptions {
    /// `sizeof(rtether_publication_options)`.
    pub size: usize,
    /// The name of the topic.
    pub topic: *const c_char,
    /// The name of a registered type.
    pub type_name: *const c_char,
    /// The value that `rtether_publication_send` and the send callback send; it must live as long as
    /// the publication. NULL if there is neither.
    pub instance: *mut c_void,
    /// How long a sample counts against weaker publications, in nanoseconds. On the wire it is the
    /// deadline that is offered: subscriptions with a shorter one do not match.
    pub persistence_ns: i64,
    /// How strong it is against others of the same topic.
    pub strength: i32,
    /// An `rtether_ownership`.
    pub ownership: i32,
    /// An `rtether_reliability`.
    pub reliability: i32,
    /// An `rtether_durability`.
    pub durability: i32,
    /// An `rtether_encoding`.
    pub encoding: i32,
    /// DSCP of the packets, 0 to 63; the upper three bits are the priority of frames.
    pub dscp: i32,
    /// Samples of an instance that are kept; 0 keeps all, and then a reliable publication is full when
    /// subscriptions are slow.
    pub depth: u32,
    /// After which a sample is worth nothing and is not handed out, in nanoseconds.
    pub lifespan_ns: i64,
    /// Names of partitions; none is the partition without a name.
    pub partitions: *const *const c_char,
    /// How many.
    pub partitions_len: usize,
    /// Called once in each period; NULL if values are sent explicitly only.
    pub on_send: SendFn,
    /// Is handed to it.
    pub user: *mut c_void,
    /// Between its calls, in nanoseconds; the first is one period after the publication is created.
    pub period_ns: i64,
}

// SAFETY: `repr(C)`, the size first, and all members are numbers or pointers that may be NULL.
unsafe impl Grows for PublicationOptions {
    const FIRST: usize = size_of::<Self>();
}

const DEFAULTS: PublicationOptions = PublicationOptions {
    size: size_of::<PublicationOptions>(),
    topic: std::ptr::null(),
    type_name: std::ptr::null(),
    instance: std::ptr::null_mut(),
    persistence_ns: RTETHER_INFINITE,
    strength: 0,
    ownership: OwnershipKind::Shared as i32,
    reliability: ReliabilityKind::StrictReliable as i32,
    durability: DurabilityKind::Volatile as i32,
    encoding: EncodingKind::Xcdr1 as i32,
    dscp: 0,
    depth: 1,
    lifespan_ns: RTETHER_INFINITE,
    partitions: std::ptr::null(),
    partitions_len: 0,
    on_send: None,
    user: std::ptr::null_mut(),
    period_ns: 0,
};

/// A publication.
pub struct PublicationHandle {
    own: AtomicPtr<Self>,
    domain: Arc<DomainHandle>,
    pub(super) id: WriterId,
    kind: Arc<InstanceType>,
    encoding: Encoding,
    instance: *mut c_void,
    timer: Option<Timer>,
    pub(super) mismatch: RefCell<String>,
    room: RefCell<Buffers>,
}

// SAFETY: as for its domain, into which each of its functions goes first.
unsafe impl Send for PublicationHandle {}
// SAFETY: as above.
unsafe impl Sync for PublicationHandle {}

struct Timer {
    call: SendCall,
    user: User,
    period: Duration,
    next: Cell<Instant>,
}

/// Octets of what is being sent; kept, so that sending allocates nothing.
#[derive(Default)]
struct Buffers {
    payload: Vec<u8>,
    key: Vec<u8>,
}

impl Handled for PublicationHandle {
    const KIND: u64 = 2;
    const WORD: &'static str = "publication";

    fn own(&self) -> &AtomicPtr<Self> {
        &self.own
    }
}

impl Belongs for PublicationHandle {
    fn domain(&self) -> &DomainHandle {
        &self.domain
    }
}

fn qos(options: &PublicationOptions, encoding: Encoding) -> Result<Qos, Failure> {
    let mut qos = Qos::writer();
    let (reliability, durability) = (options.reliability, options.durability);
    let (ownership, depth) = (options.ownership, options.depth);
    shared_qos(&mut qos, reliability, durability, ownership, depth)?;
    qos.strength = options.strength;
    qos.deadline = span(options.persistence_ns, "persistence_ns")?.or_never();
    qos.lifespan = span(options.lifespan_ns, "lifespan_ns")?.or_never();
    if !(0..=63).contains(&options.dscp) {
        let text = format!("dscp has no value {}", options.dscp);
        return Err(Failure::argument(text));
    }
    qos.transport_priority = options.dscp;
    qos.representations = vec![match encoding {
        Encoding::Xcdr1 => Representation::Xcdr1,
        Encoding::Xcdr2 => Representation::Xcdr2,
    }];
    // SAFETY: the caller of `rtether_publication_create` vouches for the array.
    qos.partitions = unsafe { texts(options.partitions, options.partitions_len, "partitions") }?;
    Ok(qos)
}

fn timer(options: &PublicationOptions, now: Instant) -> Result<Option<Timer>, Failure> {
    let period = span(options.period_ns, "period_ns")?;
    let Some(call) = options.on_send else {
        return Ok(None);
    };
    if period == Duration::ZERO || options.instance.is_null() {
        let text = "a send callback needs `period_ns` and `instance`";
        return Err(Failure::argument(text));
    }
    Ok(Some(Timer {
        call,
        user: options.user,
        period,
        next: Cell::new(now + period),
    }))
}

/// Finds a registered type.
pub(super) fn find_type(
    types: &[Arc<InstanceType>],
    name: &str,
) -> Result<Arc<InstanceType>, Failure> {
    let found = types.iter().find(|one| one.name == name);
    let unknown = || {
        let text = format!("no type `{name}` is registered; `rtether_type_register` does that");
        Failure::new(Status::UnknownType, text)
    };
    found.cloned().ok_or_else(unknown)
}

/// Fills in the defaults: reliable, volatile, the last sample kept, shared ownership, XCDR1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_publication_options_init(
    options: *mut PublicationOptions,
    size: usize,
) -> Status {
    // SAFETY: the caller has `size` octets there.
    guard(|| unsafe { init(options, size, DEFAULTS) })
}

/// Makes a publication and announces it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_publication_create(
    domain: *mut DomainHandle,
    options: *const PublicationOptions,
    publication: *mut *mut PublicationHandle,
) -> Status {
    let create = |handle: &DomainHandle, _: &DomainHandle| {
        // SAFETY: the caller's.
        unsafe { put(publication, std::ptr::null_mut()) }?;
        // SAFETY: the caller's.
        let made = unsafe { PublicationHandle::create(domain, handle, options) }?;
        let named = register(Arc::clone(&made));
        if named.is_err() {
            made.end(handle)?;
        }
        // SAFETY: the caller's.
        unsafe { put(publication, named?) }
    };
    on(domain, create)
}

impl PublicationHandle {
    /// # Safety
    /// As for `rtether_publication_create`; both name the same domain.
    unsafe fn create(
        domain: *const DomainHandle,
        handle: &DomainHandle,
        options: *const PublicationOptions,
    ) -> Result<Arc<Self>, Failure> {
        // SAFETY: the caller's.
        let options = unsafe { read(options, DEFAULTS) }?;
        // SAFETY: the caller's.
        let topic = unsafe { text(options.topic, "the topic") }?;
        // SAFETY: the caller's.
        let type_name = unsafe { text(options.type_name, "the name of the type") }?;
        let owner = find(domain)?;
        let encoding = encoding(options.encoding)?;
        let qos = qos(&options, encoding)?;
        let now = now();
        let timer = timer(&options, now)?;
        let mut core = handle.core()?;
        let kind = find_type(&core.types, type_name)?;
        let name = TopicName { topic, type_name };
        let live = core.live()?;
        let participant = live.participant_mut();
        let id = participant.create_writer(now, name, kind.key.is_some(), qos);
        let id = id.ok_or_else(no_room)?;
        live.flush()?;
        let this = Arc::new(Self {
            own: AtomicPtr::default(),
            domain: owner,
            id,
            kind,
            encoding,
            instance: options.instance,
            timer,
            mismatch: RefCell::default(),
            room: RefCell::default(),
        });
        core.publications.push(Arc::clone(&this));
        Ok(this)
    }

    /// Leaves the domain.
    fn end(&self, domain: &DomainHandle) -> Result<(), Failure> {
        let mut core = domain.core()?;
        core.publications.retain(|one| one.id != self.id);
        if let Ok(live) = core.live() {
            let now = live.now();
            live.participant_mut().delete_writer(now, self.id);
            live.flush()?;
        }
        Ok(())
    }

    /// Sends a value, or says that an instance has ended.
    fn write(&self, change: ChangeKind, value: *const c_void) -> Result<(), Failure> {
        if value.is_null() {
            return Err(Failure::argument("there is no value to send"));
        }
        let text = "the publication is being written to";
        let busy = |_| Failure::new(Status::Busy, text);
        let mut room = self.room.try_borrow_mut().map_err(busy)?;
        let Buffers { payload, key } = &mut *room;
        // Held while functions of the application write values: they cannot call back into the domain.
        let mut core = self.domain.core()?;
        let live = core.live()?;
        if change == ChangeKind::Alive {
            self.kind.write(value, self.encoding, payload)?;
        } else {
            let is_bare = live.participant_mut().wants_bare_keys(self.id);
            let encoding = self.encoding;
            self.kind
                .write_key_payload(value, encoding, is_bare, payload)?;
        }
        let key_hash = self.kind.write_key(value, self.encoding, key)?;
        let now = live.now();
        let sample = NewSample {
            kind: change,
            payload,
            key,
            key_hash,
        };
        live.participant_mut().write(now, self.id, &sample)?;
        Ok(live.flush()?)
    }

    /// Returns when the send callback is due.
    pub(super) fn due(&self) -> Instant {
        let timer = self.timer.as_ref();
        timer.map_or(Instant::NEVER, |timer| timer.next.get())
    }

    /// Calls the send callback if it is due, and sends. Periods that have passed without a call are
    /// left out: late values would only come closer together.
    pub(super) fn send_if_due(&self, now: Instant) -> Result<(), Failure> {
        let Some(timer) = &self.timer else {
            return Ok(());
        };
        let due = timer.next.get();
        if now < due {
            return Ok(());
        }
        let period = timer.period.as_ns();
        let passed = ((now - due).as_ns() / period).saturating_add(1);
        let step = Duration::from_ns(passed.saturating_mul(period));
        timer.next.set(due + step);
        // SAFETY: the application has given the function for this, and the instance lives as long as
        // the publication.
        let refused = unsafe { (timer.call)(self.instance, timer.user) };
        if refused != 0 {
            return Ok(());
        }
        self.write(ChangeKind::Alive, self.instance)
    }
}

/// No more endpoints.
pub(super) fn no_room() -> Failure {
    let text = "there are as many publications and subscriptions as the limits allow";
    Failure::new(Status::Limit, text)
}

/// Ends a publication, also after its domain has been destroyed or has panicked. NULL is nothing to
/// end. On any other status than `RTETHER_STATUS_OK` it is still there.
#[unsafe(no_mangle)]
pub extern "C" fn rtether_publication_destroy(publication: *mut PublicationHandle) -> Status {
    destroy(publication, |one| {
        one.domain.with_poisoned(|domain| one.end(domain))
    })
}

/// Sends what is in the instance of the publication now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_publication_send(publication: *mut PublicationHandle) -> Status {
    on(publication, |this, _| {
        this.write(ChangeKind::Alive, this.instance)
    })
}

/// Sends a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_publication_write(
    publication: *mut PublicationHandle,
    value: *const c_void,
) -> Status {
    on(publication, |this, _| this.write(ChangeKind::Alive, value))
}

/// Says that the instance to which the value belongs is gone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_publication_dispose(
    publication: *mut PublicationHandle,
    value: *const c_void,
) -> Status {
    on(publication, |this, _| {
        this.write(ChangeKind::Disposed, value)
    })
}

/// Says that the instance to which the value belongs is no longer written here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_publication_unregister(
    publication: *mut PublicationHandle,
    value: *const c_void,
) -> Status {
    on(publication, |this, _| {
        this.write(ChangeKind::Unregistered, value)
    })
}

/// Says how many subscriptions get what is sent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_publication_matched(
    publication: *mut PublicationHandle,
    count: *mut usize,
) -> Status {
    let tell = |this: &PublicationHandle, domain: &DomainHandle| {
        let matched = domain.core()?.live()?.participant().readers_of(this.id);
        // SAFETY: the caller's.
        unsafe { put(count, matched) }
    };
    on(publication, tell)
}

/// Steps the domain, callbacks included, until at least `count` subscriptions match, or `limit_ns` is
/// over (`RTETHER_STATUS_TIMEOUT`), or the domain is stopped (the same).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_publication_wait_matched(
    publication: *mut PublicationHandle,
    count: usize,
    limit_ns: i64,
) -> Status {
    let wait = |this: &PublicationHandle, domain: &DomainHandle| {
        domain.step_until(limit_ns, |core| {
            Ok(core.live()?.participant().readers_of(this.id) >= count)
        })
    };
    on(publication, wait)
}

/// Steps the domain, callbacks included, until all reliable subscriptions have everything, or
/// `limit_ns` is over (`RTETHER_STATUS_TIMEOUT`), or the domain is stopped (the same).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_publication_wait_acknowledged(
    publication: *mut PublicationHandle,
    limit_ns: i64,
) -> Status {
    let wait = |this: &PublicationHandle, domain: &DomainHandle| {
        domain.step_until(limit_ns, |core| {
            Ok(core.live()?.participant().is_acknowledged(this.id))
        })
    };
    on(publication, wait)
}

/// Copies words on why the last subscription of the same topic did not match into `buffer`, which has
/// `capacity` octets; empty if there was none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_publication_mismatch(
    publication: *mut PublicationHandle,
    buffer: *mut c_char,
    capacity: usize,
) -> Status {
    let tell = |this: &PublicationHandle, _: &DomainHandle| {
        let text = this.mismatch.borrow();
        // SAFETY: the caller's.
        unsafe { copy_text(&text, buffer, capacity) }
    };
    on(publication, tell)
}
