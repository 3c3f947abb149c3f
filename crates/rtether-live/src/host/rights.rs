//! Rights of this process.

use std::io;

use super::files::Files;
use crate::thread::{Placement, PlacementError};

/// Numbers of capabilities (`linux/capability.h`).
pub mod capability {
    /// Interfaces, routes, queueing disciplines.
    pub const NET_ADMIN: u32 = 12;
    /// Raw sockets.
    pub const NET_RAW: u32 = 13;
    /// Locked memory.
    pub const IPC_LOCK: u32 = 14;
    /// Namespaces, and much else.
    pub const SYS_ADMIN: u32 = 21;
    /// Real-time priorities.
    pub const SYS_NICE: u32 = 23;
    /// Loading of BPF programs.
    pub const BPF: u32 = 39;
}

/// Rights of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    /// Whether its effective user is root.
    pub is_root: bool,
    /// Effective capabilities, one bit each.
    pub effective: u64,
}

impl Rights {
    /// Reads the rights of this process; `None` if the kernel does not report them.
    pub fn read(files: &Files) -> Option<Self> {
        let status = files.text("proc/self/status")?;
        let field = |name: &str| {
            let mut lines = status.lines();
            lines.find_map(|line| line.strip_prefix(name))
        };
        // Real, effective, saved and file-system user.
        let user = field("Uid:")?.split_whitespace().nth(1)?;
        let effective = u64::from_str_radix(field("CapEff:")?.trim(), 16).ok()?;
        Some(Self { is_root: user == "0", effective })
    }

    /// Returns whether a capability is effective.
    pub const fn has(&self, capability: u32) -> bool {
        self.effective >> capability & 1 == 1
    }
}

/// Tries a real-time priority in a separate thread.
///
/// # Errors
/// The error of the system.
pub fn try_fifo(priority: u8) -> Result<(), PlacementError> {
    let placement = Placement { priority: Some(priority), ..Placement::default() };
    let tried = std::thread::spawn(move || placement.apply()).join();
    tried.unwrap_or_else(|_| {
        Err(PlacementError::Priority { priority, source: io::Error::other("the thread ended") })
    })
}

/// Returns the cores that this process may run on, in order.
pub fn cores() -> Vec<usize> {
    use rustix::thread::{CpuSet, sched_getaffinity};
    let Ok(set) = sched_getaffinity(None) else {
        return Vec::new();
    };
    (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect()
}

/// Returns how many octets this process may lock; `None` for no limit.
///
/// # Errors
/// The error of the system.
pub fn lockable() -> io::Result<Option<u64>> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is to a live value, which the kernel fills.
    let result = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut limit) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur))
}
