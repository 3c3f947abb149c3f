//! Waiting for a packet or a time.

use std::io;
use std::os::fd::BorrowedFd;

use rtether_model::quantity::{Duration, Instant};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::clock::{Clock, to_std};

/// What a thread does while nothing is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waiting {
    /// Sleeps in the kernel until something is.
    #[default]
    Block,
    /// Keeps asking, which takes a whole core and saves the wake-up.
    Spin,
}

/// A spinning thread sleeps until so long before a known time: longer than a wake-up takes.
pub(crate) const LEAD: Duration = Duration::from_us(100);
/// A real-time thread that never sleeps is stopped by the kernel for 50 ms of each second
/// (`sched_rt_runtime_us`), or makes others starve. Rests of our own come at known times.
pub(crate) const SPIN_MAX: Duration = Duration::from_ms(800);
/// Rest after [`SPIN_MAX`].
pub(crate) const REST: Duration = Duration::from_ms(60);

/// Keeps track of how a thread waits.
#[derive(Clone, Debug)]
pub struct Waiter {
    waiting: Waiting,
    clock: Clock,
    /// Beginning of a time without any sleep.
    awake_since: Instant,
}

impl Waiter {
    /// Returns a waiter for a thread that begins now.
    pub fn new(waiting: Waiting, clock: Clock) -> Self {
        Self {
            waiting,
            clock,
            awake_since: clock.now(),
        }
    }

    /// Returns how it waits.
    pub fn waiting(&self) -> Waiting {
        self.waiting
    }

    /// Returns whether the thread is not to sleep now: a packet is expected soon.
    pub fn is_busy(&self, is_awaited: bool) -> bool {
        self.waiting == Waiting::Spin && is_awaited
    }

    /// Waits until `socket` can be read or until about `until`, whichever comes first, and returns
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

    /// Returns whether a spinning thread has to rest before it goes on.
    pub fn is_rest_due(&self, now: Instant) -> bool {
        self.waiting == Waiting::Spin && now - self.awake_since > SPIN_MAX
    }

    /// Sleeps for as long as keeps the kernel from stopping the thread.
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

/// Sleeps until `socket` can be read, `left` is over or a signal comes.
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
        // A signal: the caller looks whether it is to stop.
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
