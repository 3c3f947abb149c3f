//! Priority of the threads of a load.

use std::io;

use crate::thread;

/// Priority of a thread that generates load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Urgency {
    /// Nice 19: yields to ordinary tasks.
    #[default]
    Low,
    /// `SCHED_IDLE`: runs only when nothing else does.
    Idle,
    /// Unchanged from the start of the program.
    Normal,
}

/// Nice value of the least urgent ordinary task.
const NICE_MAX: i32 = 19;

impl Urgency {
    /// Applies it to the calling thread.
    ///
    /// # Errors
    /// The error of the system; it never refuses to lower the priority.
    pub fn apply(self) -> io::Result<()> {
        let result = match self {
            Self::Normal => 0,
            // SAFETY: no pointer is passed; on Linux 0 means the calling thread.
            Self::Low => unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE_MAX) },
            Self::Idle => return thread::schedule(libc::SCHED_IDLE, 0),
        };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}
