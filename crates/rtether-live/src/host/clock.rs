//! Whether the system clock is synchronized.

use std::io;

use rtether_model::quantity::Duration;

/// State of the kernel's clock (`adjtimex`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Discipline {
    /// Whether a daemon reports that the clock follows a reference.
    pub is_synchronized: bool,
    /// Largest error stated by the daemon.
    pub error_max: Duration,
    /// Error estimated by the daemon.
    pub error_estimated: Duration,
}

/// The clock is not synchronized (`linux/timex.h`).
const STA_UNSYNC: i32 = 0x40;

/// Reads the state without changing it.
///
/// # Errors
/// The error of the system.
pub fn discipline() -> io::Result<Discipline> {
    // SAFETY: all fields are integers, for which zero is a value; mode zero changes nothing.
    let mut timex: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live value, which the kernel fills.
    let state = unsafe { libc::adjtimex(&raw mut timex) };
    if state < 0 {
        return Err(io::Error::last_os_error());
    }
    // The daemon's errors are in microseconds, regardless of the unit of the other fields.
    Ok(Discipline {
        is_synchronized: timex.status & STA_UNSYNC == 0 && state != libc::TIME_ERROR,
        error_max: Duration::from_us(timex.maxerror),
        error_estimated: Duration::from_us(timex.esterror),
    })
}
