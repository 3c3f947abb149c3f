//! Events of a domain, other than samples.

use std::ffi::c_char;

use super::handle::{PublicationHandle, SubscriptionHandle};
use super::memory::User;

/// Kind of an event.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A participant was found; `text` is its name.
    ParticipantFound = 0,
    /// A participant has said good-bye.
    ParticipantLeft = 1,
    /// The lease of a participant has expired, nobody listens at its address, or it has made room for
    /// another.
    ParticipantLost = 2,
    /// The publication or subscription was matched with the endpoint `guid`.
    Matched = 3,
    /// It is no longer matched.
    Unmatched = 4,
    /// An endpoint of the same topic requests more than is offered, or offers less than is
    /// requested; `text` names the policies.
    Incompatible = 5,
    /// The liveliness lease of the publication `guid` has expired.
    Silent = 6,
    /// `count` instances of the subscription have had no sample within its deadline. Reported again
    /// after each further deadline.
    DeadlineMissed = 7,
    /// `count` instances of the publication have not been written within its persistence.
    PersistenceOver = 8,
    /// The value of a send callback could not be sent; `text` gives the reason.
    SendFailed = 9,
    /// There was no room for a participant that announced itself from the address in `text`;
    /// `count` have been refused so far. Reported at most once in ten seconds.
    Refused = 10,
    /// Data to the address in `text` was withheld because no participant has answered from there.
    /// Reported at most once in ten seconds.
    Withheld = 11,
}

/// An event; valid during the callback.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EventInfo {
    /// `sizeof(rtether_event)` of the library.
    pub size: usize,
    /// Kind of the event.
    pub kind: EventKind,
    /// Count of instances, where applicable.
    pub count: u32,
    /// Local publication concerned, or NULL.
    pub publication: *mut PublicationHandle,
    /// Local subscription concerned, or NULL.
    pub subscription: *mut SubscriptionHandle,
    /// GUID of the other side (RTPS 9.3.1): 12 octets for a participant, 16 for an endpoint,
    /// otherwise zeros.
    pub guid: [u8; 16],
    /// Human-readable text; may be empty, never NULL.
    pub text: *const c_char,
}

/// Called with an event. May call any function that does not step or destroy the domain.
pub type EventFn =
    Option<unsafe extern "C" fn(event: *const EventInfo, user: *mut std::ffi::c_void)>;

/// Such a function, not NULL.
pub(super) type EventCall = unsafe extern "C" fn(*const EventInfo, User);
