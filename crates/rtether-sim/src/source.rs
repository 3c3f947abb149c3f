//! Release times of a flow.

use alloc::boxed::Box;

use rtether_model::flow::{Flow, Phase, Traffic};

use crate::agenda::NEVER;
use crate::random::{Draw, Purpose};

/// Says when a flow releases next, and how many frames at once.
pub(crate) struct Source {
    traffic: Timing,
    stop: i64,
    /// Last point of the grid of a periodic flow; before the first release, when the flow starts.
    grid: i64,
    /// Out of the way, since strictly periodic flows do not need it after the first release.
    draw: Box<Draw>,
}

/// [`Traffic`] in picoseconds.
#[derive(Clone, Copy)]
enum Timing {
    Periodic {
        period: i64,
        jitter: i64,
        has_random_phase: bool,
    },
    Sporadic {
        min_gap: i64,
        extra: i64,
        burst: u32,
    },
    Poisson {
        mean: i64,
    },
    Adaptive {
        pause: i64,
        timeout: i64,
    },
    Idle,
}

impl Source {
    /// Creates the source of a flow; bulk flows have none.
    pub(crate) fn new(flow: &Flow, seed: u64) -> Self {
        let traffic = match flow.traffic {
            Traffic::Periodic {
                period,
                phase,
                release_jitter,
            } => Timing::Periodic {
                period: period.as_ps(),
                jitter: release_jitter.as_ps(),
                has_random_phase: phase == Phase::Random,
            },
            Traffic::Flood { interval } => Timing::Periodic {
                period: interval.as_ps(),
                jitter: 0,
                has_random_phase: true,
            },
            Traffic::Sporadic {
                min_gap,
                mean_gap,
                burst,
            } => Timing::Sporadic {
                min_gap: min_gap.as_ps(),
                extra: (mean_gap - min_gap).as_ps().max(0),
                burst,
            },
            Traffic::Poisson { mean_interval } => Timing::Poisson {
                mean: mean_interval.as_ps(),
            },
            Traffic::Adaptive { pause, timeout } => Timing::Adaptive {
                pause: pause.as_ps(),
                timeout: timeout.as_ps(),
            },
            Traffic::Bulk(_) => Timing::Idle,
        };
        let offset = match flow.traffic {
            Traffic::Periodic {
                phase: Phase::Fixed(offset),
                ..
            } => offset.as_ps(),
            Traffic::Periodic { .. }
            | Traffic::Sporadic { .. }
            | Traffic::Poisson { .. }
            | Traffic::Flood { .. }
            | Traffic::Adaptive { .. }
            | Traffic::Bulk(_) => 0,
        };
        Self {
            traffic,
            draw: Box::new(Draw::new(seed, &flow.name, Purpose::Release)),
            stop: flow
                .stop
                .map_or(NEVER, rtether_model::quantity::Duration::as_ps),
            grid: flow.start.as_ps() + offset,
        }
    }

    /// Returns the time of the first release, or [`NEVER`].
    pub(crate) fn first(&mut self) -> i64 {
        let at = match self.traffic {
            Timing::Periodic {
                period,
                jitter,
                has_random_phase,
            } => {
                if has_random_phase {
                    self.grid += self.draw.up_to(period - 1);
                }
                self.grid + self.draw_jitter(jitter)
            }
            Timing::Sporadic { min_gap, extra, .. } => {
                // Somewhere in the first mean gap, so that flows do not start in step.
                self.grid + self.draw.up_to(min_gap + extra)
            }
            Timing::Poisson { mean } => self.grid + self.draw.exponential(mean),
            Timing::Adaptive { .. } => self.grid,
            Timing::Idle => NEVER,
        };
        self.unless_stopped(at)
    }

    /// Returns the time of the release after the one at `now`, or [`NEVER`].
    #[inline]
    pub(crate) fn next(&mut self, now: i64) -> i64 {
        let at = match self.traffic {
            Timing::Periodic { period, jitter, .. } => {
                self.grid += period;
                // A late release does not overtake the next one.
                now.max(self.grid + self.draw_jitter(jitter))
            }
            Timing::Sporadic { min_gap, extra, .. } => {
                now + min_gap
                    + if extra > 0 {
                        self.draw.exponential(extra)
                    } else {
                        0
                    }
            }
            Timing::Poisson { mean } => now + self.draw.exponential(mean),
            // Unless the answer comes first.
            Timing::Adaptive { timeout, .. } => now + timeout,
            Timing::Idle => NEVER,
        };
        self.unless_stopped(at)
    }

    /// Returns the time of the next adaptive request after an answer at `now`, or [`NEVER`].
    pub(crate) const fn after_answer(&self, now: i64) -> i64 {
        match self.traffic {
            Timing::Adaptive { pause, .. } => self.unless_stopped(now + pause),
            Timing::Periodic { .. }
            | Timing::Sporadic { .. }
            | Timing::Poisson { .. }
            | Timing::Idle => NEVER,
        }
    }

    /// Returns whether requests wait for answers.
    #[inline]
    pub(crate) const fn is_adaptive(&self) -> bool {
        matches!(self.traffic, Timing::Adaptive { .. })
    }

    /// Returns how many frames a release has.
    #[inline]
    pub(crate) const fn burst(&self) -> u32 {
        match self.traffic {
            Timing::Sporadic { burst, .. } => burst,
            Timing::Periodic { .. }
            | Timing::Poisson { .. }
            | Timing::Adaptive { .. }
            | Timing::Idle => 1,
        }
    }

    fn draw_jitter(&mut self, jitter: i64) -> i64 {
        if jitter > 0 {
            self.draw.up_to(jitter)
        } else {
            0
        }
    }

    const fn unless_stopped(&self, at: i64) -> i64 {
        if at < self.stop { at } else { NEVER }
    }
}
