//! Release times of a flow.

use rtether_model::flow::{Flow, Phase, Traffic};

use crate::agenda::NEVER;
use crate::random::{Draw, Purpose};

/// Says when a flow releases next, and how many frames at once.
pub(crate) struct Source {
    traffic: Timing,
    draw: Draw,
    start: i64,
    stop: i64,
    /// Last point of the grid of a periodic flow, start of the last burst of others.
    grid: i64,
}

/// [`Traffic`] in picoseconds.
#[derive(Clone, Copy)]
enum Timing {
    Periodic {
        period: i64,
        phase: Option<i64>,
        jitter: i64,
    },
    Sporadic {
        min_gap: i64,
        extra: i64,
        burst: u32,
    },
    Poisson {
        mean: i64,
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
                phase: match phase {
                    Phase::Fixed(offset) => Some(offset.as_ps()),
                    Phase::Random => None,
                },
                jitter: release_jitter.as_ps(),
            },
            Traffic::Flood { interval } => Timing::Periodic {
                period: interval.as_ps(),
                phase: None,
                jitter: 0,
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
            Traffic::Bulk(_) => Timing::Idle,
        };
        Self {
            traffic,
            draw: Draw::new(seed, &flow.name, Purpose::Release),
            start: flow.start.as_ps(),
            stop: flow
                .stop
                .map_or(NEVER, rtether_model::quantity::Duration::as_ps),
            grid: 0,
        }
    }

    /// Returns the time of the first release, or [`NEVER`].
    pub(crate) fn first(&mut self) -> i64 {
        let at = match self.traffic {
            Timing::Periodic {
                period,
                phase,
                jitter,
            } => {
                let offset = phase.unwrap_or_else(|| self.draw.up_to(period - 1));
                self.grid = self.start + offset;
                self.grid + self.draw_jitter(jitter)
            }
            Timing::Sporadic { min_gap, extra, .. } => {
                // Somewhere in the first mean gap, so that flows do not start in step.
                self.grid = self.start + self.draw.up_to(min_gap + extra);
                self.grid
            }
            Timing::Poisson { mean } => self.start + self.draw.exponential(mean),
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
            Timing::Idle => NEVER,
        };
        self.unless_stopped(at)
    }

    /// Returns how many frames a release has.
    #[inline]
    pub(crate) const fn burst(&self) -> u32 {
        match self.traffic {
            Timing::Sporadic { burst, .. } => burst,
            Timing::Periodic { .. } | Timing::Poisson { .. } | Timing::Idle => 1,
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
