//! Readers of subscriptions: their options, and how samples are received.

use std::cell::{Cell, RefCell};
use std::ffi::{CString, c_char, c_void};
use std::sync::Arc;
use std::sync::atomic::AtomicPtr;

use rtether_rtps::engine::{Protocol, ReaderId, TopicName};
use rtether_rtps::qos::{Qos, Representation};
use rtether_rtps::reader::{InstanceState, SampleInfo};
use rtether_rtps::time::{Duration, Instant, WallTime};

use super::handle::SubscriptionHandle;
use super::info::{Counts, Info, InfoStatus};
use super::memory::{Grows, RTETHER_INFINITE, Room, User, choice, read, span, text, texts};
use super::policy::{DurabilityKind, OwnershipKind, ReliabilityKind, check_v1, shared_qos};
use super::status::Failure;
use super::values::InstanceType;
use crate::rtps::Domain;

/// How samples are passed to the application.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubscriptionMode {
    /// The receive callback is called with each sample.
    Immediate = 0,
    /// Samples wait for `rtether_subscription_take`.
    Pulled = 1,
}

/// Called with a sample, or when a deadline is missed; `value` is the instance of the subscription,
/// or memory of the library if it has none. May call any function that does not step or
/// destroy the domain.
pub type ReceiveFn =
    Option<unsafe extern "C" fn(info: *const Info, value: *mut c_void, user: *mut c_void)>;

type ReceiveCall = unsafe extern "C" fn(*const Info, *mut c_void, *mut c_void);

/// Options of a subscription.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SubscriptionOptions {
    /// `sizeof(rtether_subscription_options)`.
    pub size: usize,
    /// Topic name.
    pub topic: *const c_char,
    /// Name of a registered type.
    pub type_name: *const c_char,
    /// An `rtether_mode`.
    pub mode: i32,
    /// An `rtether_reliability`.
    pub reliability: i32,
    /// An `rtether_durability`.
    pub durability: i32,
    /// An `rtether_ownership`. In RTPS 1.0 the strongest publication is always taken.
    pub ownership: i32,
    /// Maximum number of waiting samples per instance, beyond which the oldest is dropped; 0 keeps
    /// all.
    pub depth: u32,
    /// Where values are stored before the receive callback is called; must live as long as the
    /// subscription. NULL to use memory of the library.
    pub instance: *mut c_void,
    /// Longest time between samples of an instance, and before the first one, in nanoseconds. In
    /// RTPS 2.5 publications that offer a longer one do not match.
    pub deadline_ns: i64,
    /// Shortest time between samples of an instance, in nanoseconds; not above the deadline. Of
    /// samples that arrive sooner only the last is kept.
    pub minimum_separation_ns: i64,
    /// Partition names, with `*`, `?` and `[]` as patterns; none means the empty name.
    pub partitions: *const *const c_char,
    /// Their number.
    pub partitions_len: usize,
    /// Called with samples in immediate mode, and on missed deadlines in both modes.
    pub on_receive: ReceiveFn,
    /// Passed to it.
    pub user: *mut c_void,
}

// SAFETY: `repr(C)`, the size first, and all members are numbers or pointers that may be NULL.
unsafe impl Grows for SubscriptionOptions {
    const FIRST: usize = size_of::<Self>();
}

pub(super) const DEFAULTS: SubscriptionOptions = SubscriptionOptions {
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

/// The reader of a subscription, in its domain.
pub(super) struct Reader {
    pub(super) own: AtomicPtr<SubscriptionHandle>,
    pub(super) id: ReaderId,
    kind: Arc<InstanceType>,
    pub(super) mode: SubscriptionMode,
    on_receive: Option<(ReceiveCall, User)>,
    instance: *mut c_void,
    /// Used if the application gives no instance.
    _own: Option<Room>,
    /// Memory into which values are deserialized.
    room: RefCell<Room>,
    topic: CString,
    type_name: CString,
    deadline: Duration,
    /// When the first sample is overdue; after the first one the engine keeps the deadlines.
    first_due: Cell<Instant>,
    pub(super) mismatch: RefCell<String>,
    malformed: Cell<u64>,
    first_missed: Cell<u64>,
}

// SAFETY: as for its domain: only the thread inside calls its functions.
unsafe impl Send for Reader {}
// SAFETY: as above.
unsafe impl Sync for Reader {}

fn qos(options: &SubscriptionOptions, protocol: Protocol) -> Result<Qos, Failure> {
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
    // SAFETY: the caller of `rtether_subscription_create` guarantees the array.
    qos.partitions = unsafe { texts(options.partitions, options.partitions_len, "partitions") }?;
    if protocol != Protocol::Rtps2 {
        check_v1(&qos)?;
    }
    Ok(qos)
}

impl Reader {
    /// Creates a reader in a domain with these types.
    ///
    /// # Safety
    /// As for `rtether_subscription_create`.
    pub(super) unsafe fn create(
        options: *const SubscriptionOptions,
        live: &mut Domain,
        types: &[Arc<InstanceType>],
    ) -> Result<Self, Failure> {
        // SAFETY: guaranteed by the caller.
        let options = unsafe { read(options, DEFAULTS) }?;
        // SAFETY: guaranteed by the caller.
        let topic = unsafe { text(options.topic, "the topic") }?;
        // SAFETY: guaranteed by the caller.
        let type_name = unsafe { text(options.type_name, "the name of the type") }?;
        let all = [
            (SubscriptionMode::Immediate as i32, SubscriptionMode::Immediate),
            (SubscriptionMode::Pulled as i32, SubscriptionMode::Pulled),
        ];
        let mode = choice(options.mode, "mode", &all)?;
        if mode == SubscriptionMode::Immediate && options.on_receive.is_none() {
            let text = "an immediate subscription needs `on_receive`";
            return Err(Failure::argument(text));
        }
        let qos = qos(&options, live.participant().protocol())?;
        let deadline = qos.deadline;
        let now = live.now();
        let kind = InstanceType::find(types, type_name)?;
        let mut own = options.instance.is_null().then(|| Room::new(kind.value_size));
        let instance = own.as_mut().map_or(options.instance, Room::cleared);
        let room = RefCell::new(Room::new(kind.value_size));
        let name = TopicName { topic, type_name };
        let participant = live.participant_mut();
        let id = participant.create_reader(now, name, kind.keys(), qos);
        let id = id.ok_or_else(Failure::no_room)?;
        live.flush()?;
        Ok(Self {
            own: AtomicPtr::default(),
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
        })
    }

    /// Removes the reader from the participant.
    pub(super) fn end(&self, live: &mut Domain) -> Result<(), Failure> {
        let now = live.now();
        live.participant_mut().delete_reader(now, self.id);
        Ok(live.flush()?)
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

    /// Takes the next sample that is not malformed. Values are deserialized into memory of the
    /// library first, so that malformed ones leave no traces in a value of the application.
    pub(super) fn take(&self, live: &mut Domain, value: *mut c_void) -> Option<Info> {
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
                    // SAFETY: the application has provided as many octets, and the memory of the
                    // library does not overlap.
                    unsafe {
                        value.cast::<u8>().copy_from(place.cast(), self.kind.value_size);
                    };
                }
                return taken;
            }
            self.malformed.set(self.malformed.get() + 1);
        }
    }

    /// Takes the next sample into the instance.
    pub(super) fn next(&self, live: &mut Domain) -> Option<Info> {
        self.take(live, self.instance)
    }

    /// Calls the receive callback, if there is one.
    pub(super) fn receive(&self, info: &Info) {
        if let Some((call, user)) = self.on_receive {
            // SAFETY: the application has provided the function for this; the instance lives as
            // long as the subscription.
            unsafe { call(info, self.instance, user) };
        }
    }

    /// Reports a missed deadline.
    pub(super) fn tell_deadline(&self, overdue: u32) {
        let info = Info {
            overdue,
            received_ns: crate::clock::monotonic_ns(),
            ..self.info(InfoStatus::Deadline)
        };
        self.receive(&info);
    }

    /// Returns when the first sample is overdue.
    pub(super) fn due(&self) -> Instant {
        self.first_due.get()
    }

    /// Returns whether the first sample is overdue, again after each further deadline. Deadlines of
    /// the engine, as those of DDS, begin with the first sample of an instance; those of the paper
    /// begin with the subscription.
    pub(super) fn is_first_overdue(&self, live: &Domain, now: Instant) -> bool {
        if now < self.first_due.get() {
            return false;
        }
        if live.participant().reader_counters(self.id).delivered > 0 {
            self.first_due.set(Instant::NEVER);
            return false;
        }
        let passed = (now - self.first_due.get()).as_ns() / self.deadline.as_ns();
        let step = passed.saturating_add(1).saturating_mul(self.deadline.as_ns());
        self.first_due.set(self.first_due.get() + Duration::from_ns(step));
        self.first_missed.set(self.first_missed.get() + 1);
        true
    }

    /// Returns the counters.
    pub(super) fn counts(&self, live: &Domain) -> Counts {
        let now = live.participant().reader_counters(self.id);
        Counts {
            size: size_of::<Counts>(),
            delivered: now.delivered,
            lost: now.lost,
            rejected: now.rejected,
            malformed: now.malformed.saturating_add(self.malformed.get()),
            filtered: now.filtered,
            expired: now.expired,
            duplicates: now.duplicates,
            deadlines_missed: now.deadlines_missed.saturating_add(self.first_missed.get()),
            replaced: now.replaced,
            not_owed: now.not_owed,
            missing: live.participant().lacking(self.id),
            waiting: u64::try_from(live.participant().waiting(self.id)).unwrap_or(u64::MAX),
            deferred: now.deferred,
            contradicted: now.contradicted,
        }
    }
}
