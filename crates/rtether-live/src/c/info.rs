//! What is told of samples.

use std::ffi::c_char;

use super::memory::Grows;

/// What a sample, or a call without one, says.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InfoStatus {
    /// There is a new value.
    NewData = 0,
    /// The deadline is over without one; told again after each further deadline.
    Deadline = 1,
    /// The instance is gone; of the value only its key is known.
    Disposed = 2,
    /// Nobody writes the instance any more; of the value only its key is known.
    NoPublication = 3,
}

/// What is known of a sample.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// `sizeof(rtether_info)`; the caller says it where the library fills in the rest.
    pub size: usize,
    /// What the sample says.
    pub status: InfoStatus,
    /// Instances that are overdue, with `RTETHER_INFO_STATUS_DEADLINE`.
    pub overdue: u32,
    /// 1 if the value, or with an instance that has ended its key, has been filled in; otherwise 0.
    pub has_value: i32,
    /// The publication, by its name on the wire (RTPS 9.3.1).
    pub publication: [u8; 16],
    /// The number of the sample there.
    pub sequence: i64,
    /// When it was written by the clock of the publication's host, in nanoseconds since 1970; -1 if that
    /// is not known.
    pub source_time_ns: i64,
    /// When it came by `rtether_now`, in nanoseconds.
    pub received_ns: i64,
    /// The topic of the subscription.
    pub topic: *const c_char,
    /// The type of the subscription.
    pub type_name: *const c_char,
}

// SAFETY: `repr(C)`, the size first; it is only written by us, never read from the application.
unsafe impl Grows for Info {
    const FIRST: usize = size_of::<Self>();
}

/// What has happened at a subscription so far, in samples.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// `sizeof(rtether_counts)`, said by the caller.
    pub size: usize,
    /// Handed to the queue of the application.
    pub delivered: u64,
    /// Never came, and never will.
    pub lost: u64,
    /// Found no room.
    pub rejected: u64,
    /// Made no sense.
    pub malformed: u64,
    /// Of weaker publications, or too soon after another.
    pub filtered: u64,
    /// Worth nothing when they came to be taken.
    pub expired: u64,
    /// Came again.
    pub duplicates: u64,
    /// Deadlines missed.
    pub deadlines_missed: u64,
}

// SAFETY: `repr(C)`, the size first, and all members are numbers.
unsafe impl Grows for Counts {
    const FIRST: usize = size_of::<Self>();
}
