//! Writers of publications: their options, and how values are sent.

use std::cell::{Cell, RefCell};
use std::ffi::{c_char, c_void};
use std::sync::Arc;
use std::sync::atomic::AtomicPtr;

use rtether_rtps::cdr::Encoding;
use rtether_rtps::engine::{NewSample, Protocol, TopicName, WriterId};
use rtether_rtps::qos::{Ownership, Qos, Representation};
use rtether_rtps::time::{Duration, Instant};
use rtether_rtps::writer::ChangeKind;

use super::handle::PublicationHandle;
use super::memory::{Grows, RTETHER_INFINITE, User, read, span, text, texts};
use super::policy::{
    DurabilityKind, EncodingKind, OwnershipKind, ReliabilityKind, check_v1, encoding, shared_qos,
};
use super::status::Failure;
use super::values::InstanceType;
use crate::rtps::Domain;

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
    /// How long a sample keeps weaker publications away, in nanoseconds. In RTPS 2.5 it is announced
    /// as the offered deadline: subscriptions with a shorter one do not match.
    pub persistence_ns: i64,
    /// Strength among the publications of the topic.
    pub strength: i32,
    /// An `rtether_ownership`. In RTPS 1.0 the strongest publication is always taken; a shared one
    /// has strength 1 and no persistence there.
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

pub(super) const DEFAULTS: PublicationOptions = PublicationOptions {
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

/// The writer of a publication, in its domain.
pub(super) struct Writer {
    pub(super) own: AtomicPtr<PublicationHandle>,
    pub(super) id: WriterId,
    kind: Arc<InstanceType>,
    encoding: Encoding,
    pub(super) instance: *mut c_void,
    timer: Option<Timer>,
    pub(super) mismatch: RefCell<String>,
    room: RefCell<Buffers>,
}

// SAFETY: as for its domain: only the thread inside calls its functions.
unsafe impl Send for Writer {}
// SAFETY: as above.
unsafe impl Sync for Writer {}

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

fn qos(
    options: &PublicationOptions,
    encoding: Encoding,
    protocol: Protocol,
) -> Result<Qos, Failure> {
    let mut qos = Qos::writer();
    let (reliability, durability) = (options.reliability, options.durability);
    let (ownership, depth) = (options.ownership, options.depth);
    shared_qos(&mut qos, reliability, durability, ownership, depth)?;
    qos.strength = options.strength;
    let persistence = span(options.persistence_ns, "persistence_ns")?;
    qos.deadline = persistence.or_never();
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
    if protocol != Protocol::Rtps2 {
        check_v1(&qos)?;
        qos.persistence = (qos.ownership == Ownership::Exclusive).then_some(persistence);
    }
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
    Ok(Some(Timer { call, user: options.user, period, next: Cell::new(now + period) }))
}

impl Writer {
    /// Creates a writer in a domain with these types.
    ///
    /// # Safety
    /// As for `rtether_publication_create`.
    pub(super) unsafe fn create(
        options: *const PublicationOptions,
        live: &mut Domain,
        types: &[Arc<InstanceType>],
    ) -> Result<Self, Failure> {
        // SAFETY: guaranteed by the caller.
        let options = unsafe { read(options, DEFAULTS) }?;
        // SAFETY: guaranteed by the caller.
        let topic = unsafe { text(options.topic, "the topic") }?;
        // SAFETY: guaranteed by the caller.
        let type_name = unsafe { text(options.type_name, "the name of the type") }?;
        let encoding = encoding(options.encoding)?;
        let qos = qos(&options, encoding, live.participant().protocol())?;
        let now = live.now();
        let timer = timer(&options, now)?;
        let kind = InstanceType::find(types, type_name)?;
        let name = TopicName { topic, type_name };
        let participant = live.participant_mut();
        let id = participant.create_writer(now, name, kind.key.is_some(), qos);
        let id = id.ok_or_else(Failure::no_room)?;
        live.flush()?;
        Ok(Self {
            own: AtomicPtr::default(),
            id,
            kind,
            encoding,
            instance: options.instance,
            timer,
            mismatch: RefCell::default(),
            room: RefCell::default(),
        })
    }

    /// Removes the writer from the participant.
    pub(super) fn end(&self, live: &mut Domain) -> Result<(), Failure> {
        let now = live.now();
        live.participant_mut().delete_writer(now, self.id);
        Ok(live.flush()?)
    }

    /// Sends a value, which is not NULL, or ends its instance.
    pub(super) fn write(
        &self,
        live: &mut Domain,
        change: ChangeKind,
        value: *const c_void,
    ) -> Result<(), Failure> {
        if change != ChangeKind::Alive && live.participant().protocol() != Protocol::Rtps2 {
            return Err(Failure::argument(
                "RTPS 1.0 has no keys, and so no instance that could end",
            ));
        }
        // Free: the domain is borrowed while application functions serialize values, so that they
        // cannot call back into it.
        let mut room = self.room.borrow_mut();
        let Buffers { payload, key } = &mut *room;
        if change == ChangeKind::Alive {
            self.kind.write(value, self.encoding, payload)?;
        } else {
            let is_bare = live.participant_mut().wants_bare_keys(self.id);
            let encoding = self.encoding;
            self.kind.write_key_payload(value, encoding, is_bare, payload)?;
        }
        let key_hash = self.kind.write_key(value, self.encoding, key)?;
        let now = live.now();
        let sample = NewSample { kind: change, payload, key, key_hash };
        live.participant_mut().write(now, self.id, &sample)?;
        Ok(live.flush()?)
    }

    /// Returns when the send callback is due.
    pub(super) fn due(&self) -> Instant {
        let timer = self.timer.as_ref();
        timer.map_or(Instant::NEVER, |timer| timer.next.get())
    }

    /// Calls the send callback if it is due; returns whether there is a value to send. Missed
    /// periods are skipped: late values would only arrive closer together.
    pub(super) fn fills_in(&self, now: Instant) -> bool {
        let Some(timer) = &self.timer else {
            return false;
        };
        let due = timer.next.get();
        if now < due {
            return false;
        }
        let period = timer.period.as_ns();
        let passed = ((now - due).as_ns() / period).saturating_add(1);
        let step = Duration::from_ns(passed.saturating_mul(period));
        timer.next.set(due + step);
        // SAFETY: the application has provided the function for this, and the instance lives as
        // long as the publication.
        let refused = unsafe { (timer.call)(self.instance, timer.user) };
        refused == 0
    }

    /// Sends the value of the instance.
    pub(super) fn send(&self, live: &mut Domain) -> Result<(), Failure> {
        self.write(live, ChangeKind::Alive, self.instance)
    }
}
