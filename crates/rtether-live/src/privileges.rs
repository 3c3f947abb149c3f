//! Rights that a process gives up once it no longer needs them.
//!
//! Capabilities belong to threads: a thread never has those given up before it starts. The user
//! stays the same.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set,
    clear_ambient_capability_set, configure_capability_in_ambient_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

/// A right to keep (`capabilities(7)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// Configure devices, queues and filters.
    NetAdmin,
    /// Send and receive frames.
    NetRaw,
    /// Load programs into the kernel.
    Bpf,
    /// Load programs that the kernel does not check for information leaks.
    Perfmon,
    /// Set real-time priorities.
    SysNice,
    /// Keep memory resident.
    IpcLock,
}

impl Right {
    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NetAdmin => "CAP_NET_ADMIN",
            Self::NetRaw => "CAP_NET_RAW",
            Self::Bpf => "CAP_BPF",
            Self::Perfmon => "CAP_PERFMON",
            Self::SysNice => "CAP_SYS_NICE",
            Self::IpcLock => "CAP_IPC_LOCK",
        }
    }

    const fn capability(self) -> CapabilitySet {
        match self {
            Self::NetAdmin => CapabilitySet::NET_ADMIN,
            Self::NetRaw => CapabilitySet::NET_RAW,
            Self::Bpf => CapabilitySet::BPF,
            Self::Perfmon => CapabilitySet::PERFMON,
            Self::SysNice => CapabilitySet::SYS_NICE,
            Self::IpcLock => CapabilitySet::IPC_LOCK,
        }
    }
}

/// Gives up all rights of the calling thread except these, permanently. Threads and programs that
/// it starts from now on have no others and cannot gain any, not even as root.
///
/// A right that the thread lacks is not gained.
///
/// # Errors
/// The error of the system; some rights may be gone by then.
pub fn keep(rights: &[Right]) -> io::Result<()> {
    let wanted = rights.iter().fold(CapabilitySet::empty(), |all, right| all | right.capability());
    let kept = capabilities(None)?.permitted & wanted;
    limit(kept)?;
    clear_ambient_capability_set()?;
    set_capabilities(
        None,
        CapabilitySets {
            effective: kept,
            permitted: kept,
            // Programs of a user other than root get them through the ambient set, whose members
            // must be inheritable.
            inheritable: kept,
        },
    )?;
    for right in kept.iter() {
        configure_capability_in_ambient_set(right, true)?;
    }
    // A program of root gets everything in the bounding set, and narrowing that takes a right of
    // its own.
    set_no_new_privs(true)?;
    Ok(())
}

/// Lets this process set real-time priorities up to `priority` and keep its memory resident after
/// the rights for that are gone; call it before [`keep`]. Returns whether it may; if not,
/// [`Right::SysNice`] and [`Right::IpcLock`] must be kept.
pub fn allow_real_time(priority: u8) -> bool {
    let raise = |resource, limit: Option<u64>| {
        let present = getrlimit(resource).current;
        let is_enough = match (present, limit) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(present), Some(limit)) => present >= limit,
        };
        let wanted = Rlimit { current: limit, maximum: limit };
        is_enough || setrlimit(resource, wanted).is_ok()
    };
    let may_choose = raise(Resource::Rtprio, Some(priority.into()));
    may_choose & raise(Resource::Memlock, None)
}

/// Narrows the bounding set, which takes a separate right.
fn limit(kept: CapabilitySet) -> io::Result<()> {
    for right in CapabilitySet::all().difference(kept).iter() {
        // An error means that the kernel does not know the right, or that it is gone already.
        if !capability_is_in_bounding_set(right).unwrap_or(false) {
            continue;
        }
        match remove_capability_from_bounding_set(right) {
            Ok(()) => {}
            Err(rustix::io::Errno::PERM) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Parses a line such as `CapEff:\t0000000000003000`.
    fn mask(status: &str, name: &str) -> u64 {
        let line = status.lines().find(|line| line.starts_with(name));
        let digits = line.and_then(|line| line.split_whitespace().nth(1));
        u64::from_str_radix(digits.expect(name), 16).expect("hexadecimal")
    }

    #[test]
    fn other_rights_are_gone_for_the_thread_and_what_it_starts() {
        // Oracle: the kernel's report on the thread and on a program it starts. Bits 12, 13 and 39
        // (`linux/capability.h`).
        const KEPT: u64 = 1 << 12 | 1 << 13 | 1 << 39;
        let before = std::fs::read_to_string("/proc/thread-self/status").expect("readable");
        let had = mask(&before, "CapPrm:");
        let (thread, program) = std::thread::spawn(|| {
            keep(&[Right::NetAdmin, Right::NetRaw, Right::Bpf]).expect("giving up is allowed");
            let own = std::fs::read_to_string("/proc/thread-self/status").expect("readable");
            let child = Command::new("cat").arg("/proc/self/status").output();
            let child = String::from_utf8(child.expect("it runs").stdout).expect("text");
            (own, child)
        })
        .join()
        .expect("no panic");
        for status in [&thread, &program] {
            for name in ["CapPrm:", "CapEff:", "CapInh:", "CapAmb:"] {
                assert_eq!(mask(status, name), had & KEPT, "{name}");
            }
            assert!(status.contains("NoNewPrivs:\t1"));
        }
        // Narrowing the bounding set needs CAP_SETPCAP, bit 8.
        if had & 1 << 8 != 0 {
            assert_eq!(mask(&program, "CapBnd:"), had & KEPT);
        }
        let after = std::fs::read_to_string("/proc/thread-self/status").expect("readable");
        assert_eq!(mask(&after, "CapPrm:"), had, "of that thread alone");
    }
}
