//! A timer that stays set while datagrams come and go.
//!
//! A time-out of each wait would set and cancel a timer of the kernel for each datagram, and where it
//! is the next one of its core, that programs the hardware twice: in a virtual machine the dearest
//! part of a round trip. The timers of a participant are milliseconds away and mostly move on
//! before they are due; so this one is set when it is too late, and else wakes up once too early.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rtether_rtps::time::Instant;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

/// A timer of the host's monotonic clock.
#[derive(Debug)]
pub(super) struct Alarm {
    timer: OwnedFd,
    /// When it wakes up; `None` if it is not set.
    set_to: Option<Instant>,
}

impl Alarm {
    /// Returns one that is not set.
    pub(super) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        Ok(Self { timer: timerfd_create(TimerfdClockId::Monotonic, flags)?, set_to: None })
    }

    /// Sees to it that it wakes up at `until`, or before.
    pub(super) fn wake_by(&mut self, until: Instant) -> io::Result<()> {
        if until == Instant::NEVER || self.set_to.is_some_and(|set_to| set_to <= until) {
            return Ok(());
        }
        // Zero would unset it.
        let ns = until.as_ns().max(1);
        let value = Timespec { tv_sec: ns / 1_000_000_000, tv_nsec: ns % 1_000_000_000 };
        let once = Itimerspec { it_interval: Timespec::default(), it_value: value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once)?;
        self.set_to = Some(until);
        Ok(())
    }

    /// Takes that it may have woken up by `now`: it is not set then.
    pub(super) fn pass(&mut self, now: Instant) {
        if self.set_to.is_some_and(|set_to| set_to <= now) {
            // It is readable until it is read, or set again, which comes to the same.
            let _ = rustix::io::read(&self.timer, &mut [0; 8]);
            self.set_to = None;
        }
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use rtether_rtps::time::Duration;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;
    use crate::clock::monotonic_ns;

    fn rings(alarm: &Alarm, within_ms: i64) -> bool {
        let limit = Timespec { tv_sec: 0, tv_nsec: within_ms * 1_000_000 };
        let mut fds = [PollFd::new(alarm, PollFlags::IN)];
        poll(&mut fds, Some(&limit)).unwrap() == 1
    }

    /// Oracle: the clock.
    #[test]
    fn an_alarm_rings_once_at_the_earliest_time_asked_for() {
        let mut alarm = Alarm::new().unwrap();
        assert!(!rings(&alarm, 1));
        let now = || Instant::from_ns(monotonic_ns());
        let begun = now();
        alarm.wake_by(begun + Duration::from_ms(40)).unwrap();
        alarm.wake_by(begun + Duration::from_ms(20)).unwrap();
        alarm.wake_by(begun + Duration::from_ms(90)).unwrap();
        alarm.wake_by(Instant::NEVER).unwrap();
        alarm.pass(now());
        assert!(rings(&alarm, 900));
        let rung = now() - begun;
        assert!(rung >= Duration::from_ms(20), "{rung:?}");
        alarm.pass(now());
        assert!(!rings(&alarm, 1));
        // A time that has passed rings at once.
        alarm.wake_by(begun).unwrap();
        assert!(rings(&alarm, 900));
    }
}
