//! Whether the system clock follows another one.

use std::io;

use rtether_model::quantity::Duration;

/// What the kernel knows of its clock (`adjtimex`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Discipline {
    /// Whether a daemon says that the clock follows a reference.
    pub is_synchronized: bool,
    /// Largest error that the daemon states.
    pub error_max: Duration,
    /// Error that the daemon estimates.
    pub error_estimated: Duration,
}

/// The clock is not synchronized (`linux/timex.h`).
const STA_UNSYNC: i32 = 0x40;

/// Asks the kernel without changing anything.
///
/// # Errors
/// What the system says.
pub fn discipline() -> io::Result<Discipline> {
    // SAFETY: all fields are integers, for which zero is a value; no mode asks for no change.
    let mut timex: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live value, which the kernel fills.
    let state = unsafe { libc::adjtimex(&raw mut timex) };
    if state < 0 {
        return Err(io::Error::last_os_error());
    }
    // The daemon's errors are in microseconds whatever the unit of the rest.
    Ok(Discipline {
        is_synchronized: timex.status & STA_UNSYNC == 0 && state != libc::TIME_ERROR,
        error_max: Duration::from_us(timex.maxerror),
        error_estimated: Duration::from_us(timex.esterror),
    })
}
