//! What a domain tells the application besides samples.

use std::ffi::{CString, c_char};
use std::sync::atomic::Ordering;

use rtether_rtps::engine::Event;
use rtether_rtps::guid::{Guid, GuidPrefix};
use rtether_rtps::locator::Origin;
use rtether_rtps::matching::Mismatch;

use super::handle::{Core, DomainHandle};
use super::memory::User;
use super::publication::PublicationHandle;
use super::subscription::SubscriptionHandle;
use super::table::Handled;

/// What has happened.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// Another participant has announced itself; `text` is its name.
    ParticipantFound = 0,
    /// It has said good-bye.
    ParticipantLeft = 1,
    /// It has been silent for longer than its lease.
    ParticipantLost = 2,
    /// The publication or subscription has a counterpart, which `guid` names.
    Matched = 3,
    /// It no longer has.
    Unmatched = 4,
    /// A counterpart of the same topic asks for more than is offered, or offers less than is asked for;
    /// `text` says in what.
    Incompatible = 5,
    /// The publication that `guid` names has not said for longer than its lease that it is alive.
    Silent = 6,
    /// `count` instances of the subscription have had no sample within its deadline. Told again after
    /// each further deadline.
    DeadlineMissed = 7,
    /// `count` instances of the publication have not been written within its persistence.
    PersistenceOver = 8,
    /// What the send callback has left to be sent was not taken; `text` says why.
    SendFailed = 9,
    /// There was no room for a participant that announces itself from the address that `text` names; `count`
    /// were refused so far. Told at most once in ten seconds.
    Refused = 10,
    /// Data was not sent to the address that `text` names, since nobody has answered from there. Told at most
    /// once in ten seconds.
    Withheld = 11,
}

/// An event. It holds as long as the callback runs.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EventInfo {
    /// `sizeof(rtether_event)` of the library.
    pub size: usize,
    /// What has happened.
    pub kind: EventKind,
    /// Instances, where they are counted.
    pub count: u32,
    /// The publication of this program that is meant, or NULL.
    pub publication: *mut PublicationHandle,
    /// The subscription of this program that is meant, or NULL.
    pub subscription: *mut SubscriptionHandle,
    /// The name of the other side on the wire (RTPS 9.3.1): of a participant 12 octets, of a counterpart
    /// 16, otherwise zeros.
    pub guid: [u8; 16],
    /// Words for people; empty, but never NULL.
    pub text: *const c_char,
}

/// Is told of an event. It may call anything but what steps or destroys the domain.
pub type EventFn =
    Option<unsafe extern "C" fn(event: *const EventInfo, user: *mut std::ffi::c_void)>;

/// The same, where it is there.
pub(super) type EventCall = unsafe extern "C" fn(*const EventInfo, User);

/// An event before it is told.
pub(super) struct Told {
    pub(super) kind: EventKind,
    pub(super) count: u32,
    pub(super) publication: Option<usize>,
    pub(super) subscription: Option<usize>,
    pub(super) guid: [u8; 16],
    pub(super) text: String,
}

impl Told {
    pub(super) fn new(kind: EventKind) -> Self {
        Self {
            kind,
            count: 0,
            publication: None,
            subscription: None,
            guid: [0; 16],
            text: String::new(),
        }
    }

    fn of_participant(kind: EventKind, prefix: GuidPrefix) -> Self {
        let mut this = Self::new(kind);
        this.guid[..12].copy_from_slice(&prefix.0);
        this
    }

    fn of_counterpart(kind: EventKind, guid: Guid) -> Self {
        let guid = guid.octets();
        Self {
            guid,
            ..Self::new(kind)
        }
    }

    fn of_address(kind: EventKind, address: Origin) -> Self {
        Self {
            text: address.to_string(),
            ..Self::new(kind)
        }
    }

    /// Says in the words of this interface what the engine tells; publications and subscriptions are
    /// named by their place in the lists of the domain.
    pub(super) fn of(event: Event, core: &Core) -> Self {
        let publication = |id| core.publications.iter().position(|one| one.id == id);
        let subscription = |id| core.subscriptions.iter().position(|one| one.id == id);
        match event {
            Event::ParticipantFound { prefix, name } => Self {
                text: name,
                ..Self::of_participant(EventKind::ParticipantFound, prefix)
            },
            Event::ParticipantLost { prefix, has_left } => {
                let kind = if has_left {
                    EventKind::ParticipantLeft
                } else {
                    EventKind::ParticipantLost
                };
                Self::of_participant(kind, prefix)
            }
            Event::ReaderMatched { writer, reader } => Self {
                publication: publication(writer),
                ..Self::of_counterpart(EventKind::Matched, reader)
            },
            Event::ReaderUnmatched { writer, reader } => Self {
                publication: publication(writer),
                ..Self::of_counterpart(EventKind::Unmatched, reader)
            },
            Event::WriterMatched { reader, writer } => Self {
                subscription: subscription(reader),
                ..Self::of_counterpart(EventKind::Matched, writer)
            },
            Event::WriterUnmatched { reader, writer } => Self {
                subscription: subscription(reader),
                ..Self::of_counterpart(EventKind::Unmatched, writer)
            },
            Event::OfferedIncompatible {
                writer,
                reader,
                policies,
            } => Self {
                publication: publication(writer),
                text: joined(&policies),
                ..Self::of_counterpart(EventKind::Incompatible, reader)
            },
            Event::RequestedIncompatible {
                reader,
                writer,
                policies,
            } => Self {
                subscription: subscription(reader),
                text: joined(&policies),
                ..Self::of_counterpart(EventKind::Incompatible, writer)
            },
            Event::WriterSilent { reader, writer } => Self {
                subscription: subscription(reader),
                ..Self::of_counterpart(EventKind::Silent, writer)
            },
            Event::DeadlineMissed { reader, overdue } => Self {
                subscription: subscription(reader),
                count: overdue,
                ..Self::new(EventKind::DeadlineMissed)
            },
            Event::Refused { origin, refused } => Self {
                count: u32::try_from(refused).unwrap_or(u32::MAX),
                ..Self::of_address(EventKind::Refused, origin)
            },
            Event::Withheld { to } => Self::of_address(EventKind::Withheld, to.origin()),
            Event::OfferedDeadlineMissed { writer, overdue } => Self {
                publication: publication(writer),
                count: overdue,
                ..Self::new(EventKind::PersistenceOver)
            },
        }
    }
}

fn joined(policies: &[Mismatch]) -> String {
    let all: Vec<String> = policies.iter().map(ToString::to_string).collect();
    all.join("; ")
}

impl DomainHandle {
    /// Tells the application.
    pub(super) fn tell(&self, told: &Told) {
        let Ok(core) = self.core() else {
            return;
        };
        let publication = told.publication.and_then(|at| core.publications.get(at));
        let publication = publication.cloned();
        let subscription = told.subscription.and_then(|at| core.subscriptions.get(at));
        let subscription = subscription.cloned();
        let on_event = core.on_event;
        drop(core);
        let text: Vec<u8> = told.text.bytes().filter(|octet| *octet != 0).collect();
        let text = CString::new(text).unwrap_or_default();
        if told.kind == EventKind::Incompatible {
            let place = publication.as_deref().map(|one| &one.mismatch);
            let place = place.or(subscription.as_deref().map(|one| &one.mismatch));
            if let Some(place) = place {
                place.replace(told.text.clone());
            }
        }
        if told.kind == EventKind::DeadlineMissed
            && let Some(subscription) = &subscription
        {
            subscription.tell_deadline(told.count);
        }
        let Some((call, user)) = on_event else {
            return;
        };
        let event = EventInfo {
            size: size_of::<EventInfo>(),
            kind: told.kind,
            count: told.count,
            publication: pointer(publication.as_ref()),
            subscription: pointer(subscription.as_ref()),
            guid: told.guid,
            text: text.as_ptr(),
        };
        call_event(call, &event, user);
    }
}

fn pointer<T: Handled>(handle: Option<&std::sync::Arc<T>>) -> *mut T {
    let own = handle.map(|one| one.own().load(Ordering::Relaxed));
    own.unwrap_or(std::ptr::null_mut())
}

fn call_event(call: EventCall, event: &EventInfo, user: User) {
    // SAFETY: the application has given the function for this, and the event lives until it returns.
    unsafe { call(event, user) };
}
