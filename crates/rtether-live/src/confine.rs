//! What a service gives up once it has all it needs: its user, its capabilities, files, and system
//! calls it does not use.
//!
//! An attacker who takes over a service exposed to the network gains little. Everything is
//! permanent, and applies to the whole process where the system permits: existing threads keep
//! their access to files, so they should only wait.

use std::fmt;
use std::io;

use rustix::process::{Gid, Uid, geteuid};
use rustix::thread::{set_no_new_privs, set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use crate::privileges;

/// What to give up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confinement {
    /// User that root becomes; `None` keeps root. Without root the user stays the same.
    pub user: Option<User>,
    /// Whether a failure to change the user is an error; it fails in a container without other
    /// users, for example.
    pub is_required: bool,
}

impl Default for Confinement {
    fn default() -> Self {
        Self { user: Some(User::NOBODY), is_required: false }
    }
}

/// A user, and the group for its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
}

impl User {
    /// The user that owns nothing.
    pub const NOBODY: Self = Self { uid: 65_534, gid: 65_534 };

    /// Finds a user by name or number in `/etc/passwd`; a number need not be listed there.
    pub fn find(text: &str) -> Option<Self> {
        let known = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        Self::find_in(&known, text)
    }

    fn find_in(known: &str, text: &str) -> Option<Self> {
        let number = text.parse::<u32>().ok();
        let mut lines = known.lines().filter_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next()?;
            let uid = fields.nth(1)?.parse().ok()?;
            let gid = fields.next()?.parse().ok()?;
            Some((name, Self { uid, gid }))
        });
        let found = lines.find(|(name, user)| *name == text || Some(user.uid) == number);
        let other = number.map(|uid| Self { uid, gid: uid });
        found.map(|(_, user)| user).or(other)
    }
}

/// What was given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Confined {
    /// User that root became.
    pub user: Option<User>,
    /// Whether opening files is barred.
    pub files: bool,
    /// Number of system calls that fail; zero if the kernel has no filters.
    pub calls: usize,
}

impl fmt::Display for Confined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.user {
            Some(user) => write!(f, "as user {}, without rights", user.uid)?,
            None => f.write_str("without rights")?,
        }
        if self.files {
            f.write_str(", files barred")?;
        }
        if self.calls > 0 {
            write!(f, ", {} system calls barred", self.calls)?;
        }
        Ok(())
    }
}

/// Gives up user, capabilities, files and system calls. What is open stays open.
///
/// # Errors
/// If root cannot become another user and that is required, or if capabilities cannot be given up.
/// Files and system calls are barred where the kernel supports it.
pub fn confine(wish: &Confinement) -> io::Result<Confined> {
    let other = wish.user.filter(|user| geteuid().is_root() && user.uid != 0);
    let user = match other.map(|user| (become_user(user), user)) {
        None => None,
        Some((Ok(()), user)) => Some(user),
        Some((Err(error), _)) if wish.is_required => return Err(error),
        Some((Err(_), _)) => None,
    };
    privileges::keep(&[])?;
    Ok(Confined {
        user,
        files: bar_files().is_ok(),
        calls: bar_calls(libc::SECCOMP_FILTER_FLAG_TSYNC).unwrap_or(0),
    })
}

/// What a host permits of it.
#[derive(Debug)]
pub struct Allowed {
    /// Whether root may become another user; `None` without root.
    pub user: Option<io::Result<()>>,
    /// Whether files can be barred.
    pub files: io::Result<()>,
    /// Whether system calls can be barred, and their number.
    pub calls: io::Result<usize>,
}

/// Tries [`confine`] in a thread that ends afterwards; nothing changes for the process.
///
/// # Errors
/// If no thread can be started.
pub fn attempt() -> io::Result<Allowed> {
    let attempt = || {
        let is_root = geteuid().is_root();
        let user = is_root.then(|| change_thread(User::NOBODY));
        // The others need it without root; if it fails, so do they.
        let _ = set_no_new_privs(true);
        Allowed { user, files: bar_files(), calls: bar_calls(0) }
    };
    let thread = std::thread::Builder::new().spawn(attempt)?;
    thread.join().map_err(|_| io::Error::other("the thread has panicked"))
}

/// Changes the user of the calling thread.
fn change_thread(User { uid, gid }: User) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    set_thread_groups(&[])?;
    set_thread_res_gid(gid, gid, gid)?;
    Ok(set_thread_res_uid(uid, uid, uid)?)
}

/// Changes the user of all threads of the process, without supplementary groups. This also drops
/// the capabilities of root.
fn become_user(User { uid, gid }: User) -> io::Result<()> {
    // The C library's wrappers, since the system calls change the calling thread only.
    // SAFETY: no group is named, so the pointer is not read.
    let grouped = unsafe { libc::setgroups(0, std::ptr::null()) };
    check(grouped)?;
    // SAFETY: no pointer is passed.
    check(unsafe { libc::setresgid(gid, gid, gid) })?;
    // SAFETY: no pointer is passed.
    check(unsafe { libc::setresuid(uid, uid, uid) })
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// `struct landlock_ruleset_attr` (`linux/landlock.h`) up to its second version.
#[repr(C)]
struct Ruleset {
    /// Handled accesses to files.
    files: u64,
    /// Handled accesses to ports.
    ports: u64,
}

/// Asks for the version instead of creating a rule set.
const VERSION: libc::c_ulong = 1;
/// Versions of Landlock, and the number of file accesses known since each.
const FILES: [(libc::c_long, u32); 4] = [(5, 16), (3, 15), (2, 14), (1, 13)];
/// Binding and connecting over TCP, since version 4.
const PORTS: u64 = 0b11;

/// Bars the thread, and those it starts, from opening files and, if the kernel supports it, from
/// TCP ports.
fn bar_files() -> io::Result<()> {
    // SAFETY: without a rule set, pointer and size must be zero.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<Ruleset>(),
            0_usize,
            VERSION,
        )
    };
    let known = FILES.iter().find(|(since, _)| version >= *since);
    let (_, ways) = known.ok_or(io::ErrorKind::Unsupported)?;
    let rules = Ruleset { files: (1 << ways) - 1, ports: if version >= 4 { PORTS } else { 0 } };
    // SAFETY: pointer and size are those of a live value, which the kernel only reads.
    let made = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, &raw const rules, size_of::<Ruleset>(), 0)
    };
    let file = libc::c_int::try_from(made).map_err(|_| io::ErrorKind::InvalidData)?;
    if file < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has returned a new descriptor that has no other owner.
    let file = unsafe { <std::os::fd::OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(file) };
    // SAFETY: no pointer is passed; the descriptor is open.
    let barred = unsafe {
        libc::syscall(libc::SYS_landlock_restrict_self, std::os::fd::AsRawFd::as_raw_fd(&file), 0)
    };
    if barred == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Architecture identifiers (`linux/audit.h`).
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: Option<u32> = Some(0xc000_003e);
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: Option<u32> = Some(0xc000_00b7);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURE: Option<u32> = None;

/// First number of the second table of system calls, on x86 only.
const SECOND_TABLE: u32 = 0x4000_0000;

/// System calls that a running service does not need: other programs and processes, namespaces,
/// mounts, kernel modules and programs, keys, the clock of the host, and new or large kernel
/// interfaces.
const BARRED: [libc::c_long; 57] = [
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_mount_setattr,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_personality,
    libc::SYS_syslog,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_mknodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_fanotify_init,
    libc::SYS_vhangup,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    libc::SYS_setuid,
    libc::SYS_setgid,
];

/// Makes these calls fail in the calling thread, or in all threads, as `flags` say; returns their
/// number.
fn bar_calls(flags: libc::c_ulong) -> io::Result<usize> {
    let architecture = ARCHITECTURE.ok_or(io::ErrorKind::Unsupported)?;
    let mut program = filter(architecture);
    let program = libc::sock_fprog {
        len: libc::c_ushort::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the pointer is to a live program of the stated length; the kernel copies it.
    let barred = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program)
    };
    if barred == 0 { Ok(BARRED.len()) } else { Err(io::Error::last_os_error()) }
}

/// Returns the program that the kernel runs for each call (`seccomp(2)`).
fn filter(architecture: u32) -> Vec<libc::sock_filter> {
    // Offsets in `struct seccomp_data`.
    const NUMBER: u32 = 0;
    const ARCH: u32 = 4;
    let load = |offset| operation(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, 0);
    let skip_if = |test, value| operation(libc::BPF_JMP | test | libc::BPF_K, value, 1);
    let answer = |value| operation(libc::BPF_RET | libc::BPF_K, value, 0);
    let refuse = answer(libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned());
    let mut program = vec![load(ARCH), skip_if(libc::BPF_JEQ, architecture), refuse];
    program.push(load(NUMBER));
    // Jumps over the next operation if the number is below.
    let below = libc::sock_filter { jt: 0, jf: 1, ..skip_if(libc::BPF_JGE, SECOND_TABLE) };
    program.extend([below, refuse]);
    for call in BARRED {
        let is_it = libc::sock_filter {
            jt: 0,
            jf: 1,
            ..skip_if(libc::BPF_JEQ, u32::try_from(call).unwrap_or(u32::MAX))
        };
        program.extend([is_it, refuse]);
    }
    program.push(answer(libc::SECCOMP_RET_ALLOW));
    program
}

/// Returns an operation; a test skips `skipped` operations if it holds.
fn operation(code: u32, value: u32, skipped: u8) -> libc::sock_filter {
    libc::sock_filter { code: u16::try_from(code).unwrap_or(0), jt: skipped, jf: 0, k: value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Read;
    use std::process::Command;

    /// Set for the confined process.
    const HOSTED: &str = "RTETHER_CONFINED";

    #[test]
    fn users_are_found_by_name_and_number() {
        let known = "root:x:0:0::/:/bin/sh\nbroken\nplant:x:1001:1002::/:/bin/false\n";
        let plant = User { uid: 1_001, gid: 1_002 };
        assert_eq!(User::find_in(known, "plant"), Some(plant));
        assert_eq!(User::find_in(known, "1001"), Some(plant));
        let other = User { uid: 7, gid: 7 };
        assert_eq!(User::find_in(known, "7"), Some(other));
        assert_eq!(User::find_in(known, "nobody-of-this-name"), None);
    }

    /// The process of the next test.
    #[test]
    fn hosted() {
        if std::env::var_os(HOSTED).is_none() {
            return;
        }
        let mut open = File::open("/etc/passwd").expect("everybody may read it");
        let was_root = geteuid().is_root();
        let confined = confine(&Confinement::default()).expect("giving up is allowed");
        let mut text = String::new();
        open.read_to_string(&mut text).expect("what is open stays open");
        assert_eq!(geteuid().is_root(), was_root && confined.user.is_none());
        let sets = rustix::thread::capabilities(None).expect("readable");
        assert!(sets.permitted.is_empty() && sets.effective.is_empty());
        let why = |error: io::Error| error.kind();
        if confined.files {
            let opened = File::open("/etc/passwd").map(|_| ()).map_err(why);
            assert_eq!(opened, Err(io::ErrorKind::PermissionDenied));
        }
        if confined.calls > 0 {
            let run = Command::new("/bin/true").status().map(|_| ()).map_err(why);
            assert_eq!(run, Err(io::ErrorKind::PermissionDenied));
            // New threads and sockets still work.
            let bind = || std::net::UdpSocket::bind("127.0.0.1:0").map(|_| ());
            let bound = std::thread::spawn(bind).join().expect("no panic");
            bound.expect("sockets are not barred");
        }
        eprintln!("confined {confined}");
    }

    /// Oracle: what the kernel permits to a process after an attempt.
    #[test]
    fn an_attempt_changes_nothing_for_the_process() {
        let before = rustix::thread::capabilities(None).expect("readable");
        let was_root = geteuid().is_root();
        let allowed = attempt().expect("a thread");
        assert_eq!(allowed.user.is_some(), was_root);
        assert!(allowed.calls.is_err() || allowed.calls.is_ok_and(|calls| calls > 0));
        assert_eq!(geteuid().is_root(), was_root);
        assert_eq!(rustix::thread::capabilities(None).expect("readable"), before);
        assert!(File::open("/etc/passwd").is_ok());
        assert!(Command::new("/bin/true").status().is_ok_and(|s| s.success()));
    }

    /// Oracle: what the kernel permits to a confined process, in a separate process.
    #[test]
    fn what_is_given_up_is_gone() {
        let own = std::env::current_exe().expect("it runs");
        let mut host = Command::new(own);
        host.args(["--exact", "confine::tests::hosted", "--nocapture"]);
        let output = host.env(HOSTED, "1").output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert!(said.contains("confined "), "{said}");
    }
}
