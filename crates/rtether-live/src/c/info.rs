//! Metadata of samples.

use std::ffi::c_char;

use super::memory::Grows;

/// What a sample, or a call without a sample, reports.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InfoStatus {
    /// A new value.
    NewData = 0,
    /// A deadline was missed; reported again after each further deadline.
    Deadline = 1,
    /// The instance was disposed of; only the key of the value is known.
    Disposed = 2,
    /// No publication writes the instance any more; only the key of the value is known.
    NoPublication = 3,
}

/// Metadata of a sample.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// `sizeof(rtether_info)`; set by the caller where the library fills in the rest.
    pub size: usize,
    /// What is reported.
    pub status: InfoStatus,
    /// Number of overdue instances, with `RTETHER_INFO_STATUS_DEADLINE`.
    pub overdue: u32,
    /// 1 if the value, or the key of an instance that has ended, was filled in; otherwise 0.
    pub has_value: i32,
    /// GUID of the publication (RTPS 9.3.1).
    pub publication: [u8; 16],
    /// Sequence number of the sample.
    pub sequence: i64,
    /// Write time by the clock of the publication's host, in nanoseconds since 1970; -1 if unknown.
    pub source_time_ns: i64,
    /// Arrival time by `rtether_now`, in nanoseconds.
    pub received_ns: i64,
    /// Topic of the subscription.
    pub topic: *const c_char,
    /// Type of the subscription.
    pub type_name: *const c_char,
}

// SAFETY: `repr(C)`, the size first; only written by this library, never read from the application.
unsafe impl Grows for Info {
    const FIRST: usize = size_of::<Self>();
}

/// Counters of a subscription, in samples.
///
/// What publications have written is the sum of what was taken, `waiting`, `missing`, `lost`,
/// `not_owed`, `replaced`, `rejected`, `filtered`, `expired` and `malformed`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// `sizeof(rtether_counts)`, set by the caller.
    pub size: usize,
    /// Queued for the application.
    pub delivered: u64,
    /// Irrecoverably lost, of those that publications owed this subscription.
    pub lost: u64,
    /// Rejected for good for lack of room.
    pub rejected: u64,
    /// Malformed.
    pub malformed: u64,
    /// From weaker publications, or within the minimum separation.
    pub filtered: u64,
    /// Expired before they were taken.
    pub expired: u64,
    /// Received more than once.
    pub duplicates: u64,
    /// Deadlines missed.
    pub deadlines_missed: u64,
    /// Replaced in the queue by later ones of their instance before they were taken.
    pub replaced: u64,
    /// Written before the subscription was there, and not in the history that it asks for.
    pub not_owed: u64,
    /// Announced by reliable publications, and not received yet.
    pub missing: u64,
    /// Waiting to be taken.
    pub waiting: u64,
    /// Refused for lack of room, and sent again by a reliable publication; one sample may count more
    /// than once.
    pub deferred: u64,
    /// Declared gone in the name of a publication that never had them: another host speaks in its
    /// name, and what is lost may be wrong, too.
    pub contradicted: u64,
}

// SAFETY: `repr(C)`, the size first, and all members are numbers.
unsafe impl Grows for Counts {
    const FIRST: usize = std::mem::offset_of!(Self, replaced);
}
