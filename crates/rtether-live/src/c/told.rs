//! How the application is told of events.

use std::ffi::CString;
use std::sync::atomic::{AtomicPtr, Ordering};

use rtether_rtps::engine::{Event, Parting};
use rtether_rtps::guid::{Guid, GuidPrefix};
use rtether_rtps::locator::Origin;
use rtether_rtps::matching::Mismatch;

use super::event::{EventCall, EventInfo, EventKind};
use super::memory::User;
use super::monitor::{Core, Monitor};

/// An event before it is reported.
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
        Self { guid, ..Self::new(kind) }
    }

    fn of_address(kind: EventKind, address: Origin) -> Self {
        Self { text: address.to_string(), ..Self::new(kind) }
    }

    /// Converts an event of the engine; publications and subscriptions are identified by their
    /// index in the domain.
    pub(super) fn of(event: Event, core: &Core) -> Self {
        let publication = |id| core.writers.iter().position(|one| one.id == id);
        let subscription = |id| core.readers.iter().position(|one| one.id == id);
        match event {
            Event::ParticipantFound { prefix, name } => {
                Self { text: name, ..Self::of_participant(EventKind::ParticipantFound, prefix) }
            }
            Event::ParticipantLost { prefix, why } => {
                let kind = match why {
                    Parting::Left => EventKind::ParticipantLeft,
                    Parting::Silent
                    | Parting::Closed
                    | Parting::MadeRoom(_)
                    | Parting::Unanswered
                    | Parting::NoRoom
                    | Parting::Ignored => EventKind::ParticipantLost,
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
            Event::OfferedIncompatible { writer, reader, policies } => Self {
                publication: publication(writer),
                text: joined(&policies),
                ..Self::of_counterpart(EventKind::Incompatible, reader)
            },
            Event::RequestedIncompatible { reader, writer, policies } => Self {
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

impl Monitor {
    /// Reports an event to the application.
    pub(super) fn tell(&self, told: &Told) {
        let Ok(core) = self.core() else {
            return;
        };
        let publication = told.publication.and_then(|at| core.writers.get(at));
        let publication = publication.cloned();
        let subscription = told.subscription.and_then(|at| core.readers.get(at));
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
            publication: pointer(publication.as_deref().map(|one| &one.own)),
            subscription: pointer(subscription.as_deref().map(|one| &one.own)),
            guid: told.guid,
            text: text.as_ptr(),
        };
        call_event(call, &event, user);
    }
}

fn pointer<H>(own: Option<&AtomicPtr<H>>) -> *mut H {
    own.map_or(std::ptr::null_mut(), |own| own.load(Ordering::Relaxed))
}

fn call_event(call: EventCall, event: &EventInfo, user: User) {
    // SAFETY: the application has provided the function for this, and the event lives until it
    // returns.
    unsafe { call(event, user) };
}
