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

/// Fills in the value to be sent; returns 0, or another value to skip this time. May call any
/// function that does not step or destroy the domain.
pub type SendFn = Option<unsafe extern "C" fn(value: *mut c_void, user: *mut c_void) -> i32>;

type SendCall = unsafe extern "C" fn(*mut c_void, *mut c_void) -> i32;

/// Options of a publication.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PublicationOptions {
    /// `sizeof(rtether_publication_options)`.
    pub size: usize,
    /// Topic name.
    pub topic: *const c_char,
    /// Name of a registered type.
    pub type_name: *const c_char,
    /// Value sent by `rtether_publication_send` and the send callback; must live as long as the
    /// publication. NULL if neither is used.
    pub instance: *mut c_void,
    /// How long a sample keeps weaker publications away, in nanoseconds. It is announced as the
    /// offered deadline: subscriptions with a shorter one do not match.
    pub persistence_ns: i64,
    /// Strength among the publications of the topic.
    pub strength: i32,
    /// An `rtether_ownership`.
    pub ownership: i32,
    /// An `rtether_reliability`.
    pub reliability: i32,
    /// An `rtether_durability`.
    pub durability: i32,
    /// An `rtether_encoding`.
    pub encoding: i32,
    /// DSCP of the packets, 0 to 63; its upper three bits are the PCP of frames.
    pub dscp: i32,
    /// Samples kept per instance; 0 keeps all, and then slow subscriptions can fill a reliable
    /// publication.
    pub depth: u32,
    /// Time after which a sample expires, in nanoseconds; expired samples are not delivered.
    pub lifespan_ns: i64,
    /// Partition names; none means the empty name.
    pub partitions: *const *const c_char,
    /// Their number.
    pub partitions_len: usize,
    /// Called once per period; NULL if values are only sent explicitly.
    pub on_send: SendFn,
    /// Passed to it.
    pub user: *mut c_void,
    /// Period in nanoseconds; the first call is one period after the publication is created.
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

// SAFETY: as for its domain, which each of its functions enters first.
unsafe impl Send for PublicationHandle {}
// SAFETY: as above.
unsafe impl Sync for PublicationHandle {}

struct Timer {
    call: SendCall,
    user: User,
    period: Duration,
    next: Cell<Instant>,
}

/// Serialization buffers, kept so that sending allocates nothing.
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
    // SAFETY: the caller of `rtether_publication_create` guarantees the array.
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

/// Returns a registered type.
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

/// Fills in the defaults: reliable, volatile, history of one sample, shared ownership, XCDR1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_publication_options_init(
    options: *mut PublicationOptions,
    size: usize,
) -> Status {
    // SAFETY: the caller guarantees `size` octets there.
    guard(|| unsafe { init(options, size, DEFAULTS) })
}

/// Creates a publication and announces it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_publication_create(
    domain: *mut DomainHandle,
    options: *const PublicationOptions,
    publication: *mut *mut PublicationHandle,
) -> Status {
    let create = |handle: &DomainHandle, _: &DomainHandle| {
        // SAFETY: guaranteed by the caller.
        unsafe { put(publication, std::ptr::null_mut()) }?;
        // SAFETY: guaranteed by the caller.
        let made = unsafe { PublicationHandle::create(domain, handle, options) }?;
        let named = register(Arc::clone(&made));
        if named.is_err() {
            made.end(handle)?;
        }
        // SAFETY: guaranteed by the caller.
        unsafe { put(publication, named?) }
    };
    on(domain, create)
}

impl PublicationHandle {
    /// # Safety
    /// As for `rtether_publication_create`; both arguments are the same domain.
    unsafe fn create(
        domain: *const DomainHandle,
        handle: &DomainHandle,
        options: *const PublicationOptions,
    ) -> Result<Arc<Self>, Failure> {
        // SAFETY: guaranteed by the caller.
        let options = unsafe { read(options, DEFAULTS) }?;
        // SAFETY: guaranteed by the caller.
        let topic = unsafe { text(options.topic, "the topic") }?;
        // SAFETY: guaranteed by the caller.
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

    /// Removes the publication from the domain.
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

    /// Sends a value, or ends an instance.
    fn write(&self, change: ChangeKind, value: *const c_void) -> Result<(), Failure> {
        if value.is_null() {
            return Err(Failure::argument("there is no value to send"));
        }
        let text = "the publication is being written to";
        let busy = |_| Failure::new(Status::Busy, text);
        let mut room = self.room.try_borrow_mut().map_err(busy)?;
        let Buffers { payload, key } = &mut *room;
        // Borrowed while application functions serialize values: they cannot call back into the
        // domain.
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

    /// Calls the send callback if it is due, and sends. Missed periods are skipped: late values
    /// would only arrive closer together.
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
        // SAFETY: the application has provided the function for this, and the instance lives as
        // long as the publication.
        let refused = unsafe { (timer.call)(self.instance, timer.user) };
        if refused != 0 {
            return Ok(());
        }
        self.write(ChangeKind::Alive, self.instance)
    }
}

/// Error: the limit of endpoints is reached.
pub(super) fn no_room() -> Failure {
    let text = "the limit of publications and subscriptions is reached";
    Failure::new(Status::Limit, text)
}

/// Destroys a publication, also after its domain was destroyed or has panicked. NULL is ignored. On
/// any status other than `RTETHER_STATUS_OK` it remains.
#[unsafe(no_mangle)]
pub extern "C" fn rtether_publication_destroy(publication: *mut PublicationHandle) -> Status {
    destroy(publication, |one| {
        one.domain.with_poisoned(|domain| one.end(domain))
    })
}

/// Sends the current value of the publication's instance.
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

/// Disposes of the instance of the value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_publication_dispose(
    publication: *mut PublicationHandle,
    value: *const c_void,
) -> Status {
    on(publication, |this, _| {
        this.write(ChangeKind::Disposed, value)
    })
}

/// Unregisters the instance of the value: this publication no longer writes it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_publication_unregister(
    publication: *mut PublicationHandle,
    value: *const c_void,
) -> Status {
    on(publication, |this, _| {
        this.write(ChangeKind::Unregistered, value)
    })
}

/// Gets the number of matched subscriptions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_publication_matched(
    publication: *mut PublicationHandle,
    count: *mut usize,
) -> Status {
    let tell = |this: &PublicationHandle, domain: &DomainHandle| {
        let matched = domain.core()?.live()?.participant().readers_of(this.id);
        // SAFETY: guaranteed by the caller.
        unsafe { put(count, matched) }
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
    let wait = |this: &PublicationHandle, domain: &DomainHandle| {
        domain.step_until(limit_ns, |core| {
            Ok(core.live()?.participant().readers_of(this.id) >= count)
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
    let wait = |this: &PublicationHandle, domain: &DomainHandle| {
        domain.step_until(limit_ns, |core| {
            Ok(core.live()?.participant().is_acknowledged(this.id))
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
    let tell = |this: &PublicationHandle, _: &DomainHandle| {
        let text = this.mismatch.borrow();
        // SAFETY: guaranteed by the caller.
        unsafe { copy_text(&text, buffer, capacity) }
    };
    on(publication, tell)
}
