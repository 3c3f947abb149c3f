//! Events that a service waits for: signals, the end of another process, readable files.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, getpid, pidfd_open, pidfd_send_signal, setsid};

/// A request of a user or of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// Request to end in order.
    Terminate,
    /// The terminal is gone; services reload their configuration.
    HangUp,
}

impl Signal {
    const ALL: [Self; 3] = [Self::Interrupt, Self::Terminate, Self::HangUp];

    const fn number(self) -> libc::c_int {
        match self {
            Self::Interrupt => libc::SIGINT,
            Self::Terminate => libc::SIGTERM,
            Self::HangUp => libc::SIGHUP,
        }
    }
}

/// Signals that are read instead of interrupting.
#[derive(Debug)]
pub struct Signals(OwnedFd);

impl Signals {
    /// Blocks all [`Signal`]s for the calling thread and for threads and programs that it starts
    /// from now on; call it before any others are started.
    ///
    /// # Errors
    /// The error of the system.
    pub fn hold() -> io::Result<Self> {
        // SAFETY: a signal set is plain data, initialized by `sigemptyset`.
        let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer is to a live set.
        unsafe { libc::sigemptyset(&raw mut set) };
        for signal in Signal::ALL {
            // SAFETY: the pointer is to a live set, and the numbers are those of signals.
            unsafe { libc::sigaddset(&raw mut set, signal.number()) };
        }
        // SAFETY: the set is live; the old one is not requested.
        let result =
            unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
        if result != 0 {
            return Err(io::Error::from_raw_os_error(result));
        }
        let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
        // SAFETY: the set is live; -1 asks for a new descriptor.
        let raw = unsafe { libc::signalfd(-1, &raw const set, flags) };
        if raw < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call has returned a new descriptor that has no other owner.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(raw) }))
    }

    /// Returns the next signal, if there is one.
    ///
    /// # Errors
    /// The error of the system.
    pub fn next(&self) -> io::Result<Option<Signal>> {
        // SAFETY: the structure is plain data.
        let mut info: libc::signalfd_siginfo = unsafe { std::mem::zeroed() };
        let size = size_of_val(&info);
        // SAFETY: pointer and length are those of a live structure that takes any octets.
        let read = unsafe { libc::read(self.0.as_raw_fd(), (&raw mut info).cast(), size) };
        if read < 0 {
            let error = io::Error::last_os_error();
            let is_none = [io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted];
            return if is_none.contains(&error.kind()) { Ok(None) } else { Err(error) };
        }
        let number = info.ssi_signo.cast_signed();
        Ok(Signal::ALL.into_iter().find(|signal| signal.number() == number))
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Returns a descriptor of the calling process that becomes readable when the process ends for any
/// reason.
///
/// # Errors
/// The error of the system; unsupported before Linux 5.3.
pub fn own_end() -> io::Result<OwnedFd> {
    Ok(pidfd_open(getpid(), PidfdFlags::empty())?)
}

/// Kills process `pid` if `is_it` confirms it, which is called once the number can no longer be
/// reused unnoticed. A process that has gone is not an error.
///
/// # Errors
/// The error of the system.
pub fn kill(pid: u32, is_it: impl FnOnce() -> bool) -> io::Result<()> {
    let number = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let number = number.ok_or(io::ErrorKind::InvalidInput)?;
    let process = match pidfd_open(number, PidfdFlags::empty()) {
        Err(rustix::io::Errno::SRCH) => return Ok(()),
        process => process?,
    };
    if !is_it() {
        return Ok(());
    }
    match pidfd_send_signal(process, rustix::process::Signal::KILL) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Leaves the session and group of the parent, so that neither its Ctrl-C nor the end of its
/// terminal reaches this process.
///
/// # Errors
/// The error of the system: the leader of a group cannot leave.
pub fn leave_session() -> io::Result<()> {
    let _: Pid = setsid()?;
    Ok(())
}

/// Whether standard output was closed when the program began.
static IS_OUTPUT_CLOSED: AtomicBool = AtomicBool::new(false);

/// Runs before the standard library, which replaces a closed standard output by `/dev/null`, so
/// that it cannot be detected afterwards.
extern "C" fn look_at_output() {
    // SAFETY: no pointer is passed, and any descriptor number may be queried.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    IS_OUTPUT_CLOSED.store(flags < 0, Ordering::Relaxed);
}

#[used]
// SAFETY: the section holds addresses of functions that the C library calls before `main`, without
// arguments or with arguments that may be ignored; this one needs nothing initialized.
#[unsafe(link_section = ".init_array")]
static LOOK_AT_OUTPUT: extern "C" fn() = look_at_output;

/// Returns whether standard output was closed when the program began, so that output to it is lost.
pub fn is_output_closed() -> bool {
    IS_OUTPUT_CLOSED.load(Ordering::Relaxed)
}

/// What to wait for on a file. A close by the other side is always reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// The file is readable.
    Readable,
    /// The file is writable.
    Writable,
}

/// Waits until a file is readable or closed by the other side, or until the time is over. Returns
/// for each file whether it is.
///
/// A signal does not end the wait.
///
/// # Errors
/// The error of the system.
pub fn wait(files: &[BorrowedFd<'_>], time: Option<Duration>) -> io::Result<Vec<bool>> {
    let files = files.iter().map(|file| (*file, Interest::Readable));
    wait_for(&files.collect::<Vec<_>>(), time)
}

/// As [`wait`], with the event to wait for on each file.
///
/// # Errors
/// The error of the system.
pub fn wait_for(
    files: &[(BorrowedFd<'_>, Interest)],
    time: Option<Duration>,
) -> io::Result<Vec<bool>> {
    let begin = Instant::now();
    let flags = |interest| match interest {
        Interest::Readable => PollFlags::IN,
        Interest::Writable => PollFlags::OUT,
    };
    let mut polled: Vec<PollFd<'_>> = files
        .iter()
        .map(|(file, interest)| PollFd::from_borrowed_fd(*file, flags(*interest)))
        .collect();
    loop {
        let left = time.map(|time| time.saturating_sub(begin.elapsed()));
        let left = left.map(|left| Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        });
        match poll(&mut polled, left.as_ref()) {
            Ok(_) => break,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let is_ready = |file: &PollFd<'_>| !file.revents().is_empty();
    Ok(polled.iter().map(is_ready).collect())
}

/// Returns whether an error means that the process or the system has run out of descriptors or of
/// memory for them.
pub fn is_short_of_descriptors(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::ENOBUFS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    const LONG: Option<Duration> = Some(Duration::from_secs(10));

    #[test]
    fn signals_are_read_in_the_thread_that_holds_them() {
        // Oracle: a signal that would end the process does not, when sent to one thread.
        let read = std::thread::spawn(|| {
            let signals = Signals::hold().expect("allowed");
            assert_eq!(signals.next().expect("readable"), None);
            let mut read = Vec::new();
            for signal in Signal::ALL {
                // SAFETY: it names the calling thread, which is alive.
                let sent = unsafe { libc::pthread_kill(libc::pthread_self(), signal.number()) };
                assert_eq!(sent, 0);
                assert_eq!(wait(&[signals.as_fd()], LONG).expect("waits"), [true]);
                read.push(signals.next().expect("readable").expect("one came"));
            }
            read
        });
        assert_eq!(read.join().expect("no panic"), Signal::ALL);
    }

    #[test]
    fn the_end_of_a_process_is_seen() {
        // Oracle: a child that ends when its input is closed; until then its descriptor is not
        // readable.
        let mut child = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("it runs");
        let pid = Pid::from_child(&child);
        let end = pidfd_open(pid, PidfdFlags::empty()).expect("Linux 5.3");
        let moment = Some(Duration::from_millis(50));
        assert_eq!(wait(&[end.as_fd()], moment).expect("waits"), [false]);
        drop(child.stdin.take());
        assert_eq!(wait(&[end.as_fd()], LONG).expect("waits"), [true]);
        child.wait().expect("it has ended");
    }

    #[test]
    fn a_process_does_not_see_its_own_end() {
        let end = own_end().expect("Linux 5.3");
        let seen = wait(&[end.as_fd()], Some(Duration::ZERO)).expect("waits");
        assert_eq!(seen, [false]);
    }

    #[test]
    fn a_signal_cuts_no_wait_short() {
        // Oracle: the clock. The signal has a handler, so it interrupts the system call.
        extern "C" fn nothing(_: libc::c_int) {}
        let handler: extern "C" fn(libc::c_int) = nothing;
        // SAFETY: the handler does nothing, and nothing else uses this signal.
        unsafe { libc::signal(libc::SIGUSR2, handler as libc::sighandler_t) };
        let (silent, _end) = io::pipe().expect("a pipe");
        let (tell, told) = std::sync::mpsc::channel();
        let waiting = std::thread::spawn(move || {
            // SAFETY: it returns the identity of this thread.
            tell.send(unsafe { libc::pthread_self() }).expect("heard");
            let (begin, patience) = (Instant::now(), Duration::from_millis(500));
            let ready = wait(&[silent.as_fd()], Some(patience)).expect("waits");
            (ready, begin.elapsed() >= patience)
        });
        let thread = told.recv().expect("told");
        for _ in 0..4 {
            std::thread::sleep(Duration::from_millis(50));
            // SAFETY: the thread waits for longer than this takes, and is joined below.
            let sent = unsafe { libc::pthread_kill(thread, libc::SIGUSR2) };
            assert_eq!(sent, 0);
        }
        assert_eq!(waiting.join().expect("no panic"), (vec![false], true));
    }
}
