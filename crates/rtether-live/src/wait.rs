//! Waiting for a packet or a time.

use std::io;
use std::os::fd::BorrowedFd;

use rtether_model::quantity::{Duration, Instant};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::clock::{Clock, to_std};

pub use rtether_model::shim::Waiting;

/// How long before a known time a spinning thread wakes: longer than a wake-up takes.
pub(crate) const LEAD: Duration = Duration::from_us(100);
/// A real-time thread that never sleeps is stopped by the kernel for 50 ms of each second
/// (`sched_rt_runtime_us`), or starves others. Planned rests come at known times.
pub(crate) const SPIN_MAX: Duration = Duration::from_ms(800);
/// Rest after [`SPIN_MAX`].
pub(crate) const REST: Duration = Duration::from_ms(60);

/// Keeps track of how a thread waits.
#[derive(Clone, Debug)]
pub struct Waiter {
    waiting: Waiting,
    clock: Clock,
    /// Start of the current time without sleep.
    awake_since: Instant,
}

impl Waiter {
    /// Returns a waiter for a thread that starts now.
    pub fn new(waiting: Waiting, clock: Clock) -> Self {
        Self { waiting, clock, awake_since: clock.now() }
    }

    /// Returns how it waits.
    pub fn waiting(&self) -> Waiting {
        self.waiting
    }

    /// Returns whether the thread should not sleep now, since a packet is expected soon.
    pub fn is_busy(&self, is_awaited: bool) -> bool {
        self.waiting == Waiting::Spin && is_awaited
    }

    /// Waits until `socket` is readable or until about `until`, whichever comes first, and returns
    /// whether it slept. A spinning thread returns at once if `until` is near or `is_awaited`.
    pub fn wait(
        &mut self,
        socket: BorrowedFd<'_>,
        until: Option<Instant>,
        is_awaited: bool,
    ) -> io::Result<bool> {
        if self.is_busy(is_awaited) {
            return Ok(false);
        }
        let now = self.clock.now();
        let until = match self.waiting {
            Waiting::Block => until,
            Waiting::Spin => until.map(|until| until - LEAD),
        };
        let left = until.map(|until| until - now);
        if left.is_some_and(|left| left <= Duration::ZERO) {
            return Ok(false);
        }
        self.sleep(socket, left)?;
        Ok(true)
    }

    /// Returns whether a spinning thread must rest before it continues.
    pub fn is_rest_due(&self, now: Instant) -> bool {
        self.waiting == Waiting::Spin && now - self.awake_since > SPIN_MAX
    }

    /// Sleeps long enough that the kernel does not stop the thread.
    pub fn rest(&mut self) {
        std::thread::sleep(to_std(REST));
        self.awake_since = self.clock.now();
    }

    fn sleep(&mut self, socket: BorrowedFd<'_>, left: Option<Duration>) -> io::Result<()> {
        sleep_until_readable(socket, left)?;
        self.awake_since = self.clock.now();
        Ok(())
    }
}

/// Sleeps until `socket` is readable, `left` is over or a signal arrives.
pub(crate) fn sleep_until_readable(
    socket: BorrowedFd<'_>,
    left: Option<Duration>,
) -> io::Result<()> {
    let limit = left.map(|left| {
        let left = to_std(left);
        Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        }
    });
    let mut sockets = [PollFd::from_borrowed_fd(socket, PollFlags::IN)];
    match poll(&mut sockets, limit.as_ref()) {
        // A signal: the caller checks for a stop.
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
