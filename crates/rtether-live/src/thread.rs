//! Where and how a measuring thread runs.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::sync::OnceLock;

use rustix::thread::{CpuSet, sched_setaffinity};

/// Placement of the calling thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// Run on this core only.
    pub core: Option<usize>,
    /// Run at this priority of `SCHED_FIFO`, 1 to 99.
    pub priority: Option<u8>,
    /// Keep all memory of the process resident.
    pub lock_memory: bool,
}

/// Keeps all cores out of deep sleep until the process ends, for any reason, by the kernel's
/// power-management quality of service (`/dev/cpu_dma_latency`).
///
/// A core that wakes from a deep state takes several times as long to receive a packet as one that
/// is only idle. The whole machine draws more power meanwhile. Further calls change nothing.
///
/// # Errors
/// If the system refuses.
pub fn keep_cores_awake() -> Result<(), &'static AwakeError> {
    static HELD: OnceLock<Result<File, AwakeError>> = OnceLock::new();
    let hold = || {
        let options = OpenOptions::new().write(true).open(LATENCY);
        let mut file = options.map_err(|source| AwakeError { source })?;
        // Longest wake-up latency tolerated, in microseconds.
        let written = file.write_all(&0i32.to_ne_bytes());
        written.map_err(|source| AwakeError { source })?;
        Ok(file)
    };
    HELD.get_or_init(hold).as_ref().map(|_| ())
}

/// The latency written here holds while the file is open.
const LATENCY: &str = "/dev/cpu_dma_latency";

/// Cores are not kept out of deep sleep.
#[derive(Debug, thiserror::Error)]
#[error("`{LATENCY}` cannot be held: {source}{}", remedy(.source))]
pub struct AwakeError {
    /// The error of the system.
    source: io::Error,
}

fn remedy(error: &io::Error) -> &'static str {
    let kind = error.kind();
    if kind == io::ErrorKind::PermissionDenied {
        "; run as root"
    } else if kind == io::ErrorKind::NotFound {
        "; it needs a kernel with CONFIG_CPU_IDLE, in a container also `--device` with this name"
    } else {
        ""
    }
}

/// A placement that the system refuses.
#[derive(Debug, thiserror::Error)]
pub enum PlacementError {
    /// The core does not exist or is not allowed.
    #[error(
        "cannot run on core {core}: {source}; `taskset -p $$` shows the cores that are allowed"
    )]
    Core {
        /// The core.
        core: usize,
        /// The error of the system.
        source: io::Error,
    },
    /// No right to a real-time priority.
    #[error(
        "cannot run at real-time priority {priority}: {source}; run as root, or \
         `sudo setcap cap_sys_nice,cap_ipc_lock,cap_net_raw+ep` on the program"
    )]
    Priority {
        /// The priority.
        priority: u8,
        /// The error of the system.
        source: io::Error,
    },
    /// No right to lock memory.
    #[error("cannot keep memory resident: {source}; raise `ulimit -l` or run as root")]
    Memory {
        /// The error of the system.
        source: io::Error,
    },
}

impl Placement {
    /// Applies the placement to the calling thread.
    pub fn apply(&self) -> Result<(), PlacementError> {
        if let Some(core) = self.core {
            let refused = |source| PlacementError::Core { core, source };
            if core >= CpuSet::MAX_CPU {
                return Err(refused(io::Error::from(io::ErrorKind::InvalidInput)));
            }
            let mut set = CpuSet::new();
            set.set(core);
            sched_setaffinity(None, &set).map_err(|error| refused(error.into()))?;
        }
        if self.lock_memory {
            use rustix::mm::{MlockAllFlags, mlockall};
            mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)
                .map_err(|error| PlacementError::Memory { source: error.into() })?;
        }
        if let Some(priority) = self.priority {
            let set = schedule(libc::SCHED_FIFO, priority);
            set.map_err(|source| PlacementError::Priority { priority, source })?;
        }
        Ok(())
    }
}

/// The calling thread, for calls of the scheduler.
const THIS: libc::c_long = 0;

/// Gives the calling thread a policy and a priority. Asks the kernel itself: musl refuses the
/// function of this name, which by POSIX is about processes.
pub(crate) fn schedule(policy: libc::c_int, priority: u8) -> io::Result<()> {
    let (call, policy) = (libc::SYS_sched_setscheduler, libc::c_long::from(policy));
    // The kernel's `sched_param` is this number.
    let parameter = libc::c_int::from(priority);
    // SAFETY: the pointer is to a live value, which the kernel only reads.
    let result = unsafe { libc::syscall(call, THIS, policy, &raw const parameter) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Returns whether the calling thread has a real-time priority, so that the kernel limits its share
/// of each second.
pub(crate) fn is_real_time() -> bool {
    // SAFETY: no pointer is passed.
    let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, THIS) };
    // This flag only concerns children.
    let policy = policy & !libc::c_long::from(libc::SCHED_RESET_ON_FORK);
    [libc::SCHED_FIFO, libc::SCHED_RR].map(libc::c_long::from).contains(&policy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_that_does_not_exist_is_named() {
        let placement = Placement { core: Some(CpuSet::MAX_CPU), ..Placement::default() };
        let message = placement.apply().expect_err("there is none").to_string();
        assert!(message.contains("core 1024"), "{message}");
    }
}
