//! Departure errors, with and without the effect of stalls of the host.

use rtether_model::histogram::Histogram;
use rtether_model::quantity::{Duration, Instant};

/// Length of a window; windows with a stall are counted separately.
const WINDOW: Duration = Duration::from_ms(100);
/// Shortest gap of a spinning thread that counts as a stall by the host or the kernel.
const STALL_MIN: Duration = Duration::from_ms(1);
/// Windows spoiled by a stall: the one in which it ends, and the next, in which the backlog is
/// still cleared.
const SPOILED: u8 = 2;
/// Stalls kept; more are counted.
const STALLS_MAX: usize = 10_000;

/// A time in which the emulator's thread did not run although it was ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Last time it ran before.
    pub at: Instant,
    /// Time until it ran again.
    pub length: Duration,
}

/// Departure errors of a run: time of the call that sends a frame minus the time at which its last
/// bit is due. The host has the frame by the time the call returns, which is recorded as well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DepartureErrors {
    /// All frames.
    pub all: Histogram,
    /// Frames in windows of 100 ms in which no stall ended, nor in the window before.
    pub calm: Histogram,
    /// Frames in the same windows, at the return of the call.
    pub calm_returned: Histogram,
    /// Windows in which frames left or the thread stalled.
    pub windows: u64,
    /// Of these, windows spoiled by a stall.
    pub stalled: u64,
    /// Stalls of 1 ms or more, the first ten thousand.
    pub stalls: Vec<Stall>,
    /// Number of all stalls.
    pub stall_count: u64,
}

/// Records departure errors while the emulator runs.
#[derive(Debug)]
pub(super) struct Timing {
    errors: DepartureErrors,
    window: Histogram,
    window_returned: Histogram,
    window_end: Instant,
    /// Windows, from the current one on, spoiled by a stall.
    spoiled: u8,
    alive_at: Instant,
}

impl Timing {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            errors: DepartureErrors::default(),
            window: Histogram::default(),
            window_returned: Histogram::default(),
            window_end: now + WINDOW,
            spoiled: 0,
            alive_at: now,
        }
    }

    /// The thread starts to run.
    pub(super) fn resume(&mut self, now: Instant) {
        self.alive_at = now;
    }

    /// The thread runs, and has not slept since the last call.
    #[inline]
    pub(super) fn alive(&mut self, now: Instant) {
        self.alive_after(now, Duration::ZERO);
    }

    /// The thread runs, after a planned sleep of at most `planned`.
    pub(super) fn awake(&mut self, now: Instant, planned: Duration) {
        self.alive_after(now, planned);
    }

    #[inline]
    fn alive_after(&mut self, now: Instant, planned: Duration) {
        let gap = now - self.alive_at - planned;
        if gap >= STALL_MIN {
            self.note_stall(gap);
        }
        self.alive_at = now;
        if now >= self.window_end {
            self.close_window();
            self.window_end = now + WINDOW;
        }
    }

    fn note_stall(&mut self, length: Duration) {
        let at = self.alive_at;
        self.spoiled = SPOILED;
        self.errors.stall_count += 1;
        if self.errors.stalls.len() < STALLS_MAX {
            self.errors.stalls.push(Stall { at, length });
        }
    }

    #[inline]
    pub(super) fn departed(&mut self, called: Duration, returned: Duration) {
        self.window.record(called);
        self.window_returned.record(returned);
    }

    fn close_window(&mut self) {
        let has_stall = self.spoiled > 0;
        self.spoiled = self.spoiled.saturating_sub(1);
        let window = std::mem::take(&mut self.window);
        let returned = std::mem::take(&mut self.window_returned);
        if window.total() == 0 && !has_stall {
            return;
        }
        self.errors.windows += 1;
        self.errors.all.merge(&window);
        if has_stall {
            self.errors.stalled += 1;
        } else {
            self.errors.calm.merge(&window);
            self.errors.calm_returned.merge(&returned);
        }
    }

    pub(super) fn finish(mut self) -> DepartureErrors {
        self.close_window();
        self.errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: i64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    /// Oracle: a departure at the end of a stall counts with the stall, also in the next window.
    #[test]
    fn a_stall_over_the_end_of_a_window_spoils_both() {
        let mut timing = Timing::new(ms(0));
        timing.departed(Duration::ZERO, Duration::ZERO);
        timing.alive(ms(120));
        timing.departed(Duration::from_ms(119), Duration::from_ms(119));
        for now in 120..300 {
            timing.alive(ms(now));
            timing.awake(ms(now + 1), Duration::from_ms(1));
        }
        let errors = timing.finish();
        assert_eq!((errors.windows, errors.stalled), (2, 2));
        assert_eq!((errors.all.total(), errors.calm.total()), (2, 0));
    }

    /// Oracle: a sleep of 1 ms that takes 21 ms contains a stall of 20 ms.
    #[test]
    fn an_overlong_sleep_is_a_stall() {
        let mut timing = Timing::new(ms(0));
        timing.alive(ms(0));
        timing.awake(ms(21), Duration::from_ms(1));
        timing.awake(ms(22), Duration::from_ms(1));
        let stall = Stall { at: ms(0), length: Duration::from_ms(20) };
        assert_eq!(timing.finish().stalls, [stall]);
    }

    /// Oracle: three windows by hand, a stall of 30 ms in the second, a nap in the third.
    #[test]
    fn windows_with_a_stall_are_set_apart() {
        let mut timing = Timing::new(ms(0));
        let live = |timing: &mut Timing, from: i64, to: i64, us: i64| {
            for quarter in from * 4..to * 4 {
                timing.alive(ms(0) + Duration::from_us(quarter * 250));
                timing.departed(Duration::from_us(us), Duration::from_us(us + 5));
            }
        };
        live(&mut timing, 0, 100, 1);
        live(&mut timing, 100, 150, 2);
        live(&mut timing, 180, 200, 900);
        live(&mut timing, 200, 250, 3);
        timing.awake(ms(280), Duration::from_ms(35));
        live(&mut timing, 280, 300, 3);
        let errors = timing.finish();
        assert_eq!((errors.windows, errors.stalled, errors.stall_count), (3, 2, 1));
        let stall = errors.stalls[0];
        assert!(stall.at >= ms(149) && stall.length > Duration::from_ms(29), "{stall:?}");
        assert_eq!(errors.all.total(), 4 * 240);
        assert!(errors.calm.total() >= 4 * 98 && errors.calm.total() <= 4 * 102);
        assert!(errors.calm.quantile(1, 1) < Some(Duration::from_us(4)));
        assert!(errors.all.quantile(1, 1) >= Some(Duration::from_us(900)));
        assert_eq!(errors.calm_returned.total(), errors.calm.total());
        assert!(errors.calm_returned.quantile(1, 1) > Some(Duration::from_us(5)));
    }
}
