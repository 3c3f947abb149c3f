//! Release times of a flow.
//!
//! Gaps may exceed the representable time, about 106 days: sums saturate, and releases beyond that
//! never happen.

use alloc::boxed::Box;
use alloc::vec::Vec;

use rtether_model::flow::{Flow, Phase, Traffic};

use crate::agenda::NEVER;
use crate::random::{Draw, Purpose};

/// Determines when a flow releases next, and how many frames at once.
pub(crate) struct Source {
    traffic: Timing,
    stop: i64,
    /// Last point of the grid of a periodic flow; before the first release, the start of the flow.
    grid: i64,
    /// Boxed, since strictly periodic flows do not need it after the first release.
    chance: Box<Chance>,
}

/// What is drawn, and what is given instead.
struct Chance {
    draw: Draw,
    /// First releases, the next one last.
    given: Vec<i64>,
}

/// [`Traffic`] in picoseconds.
#[derive(Clone, Copy)]
enum Timing {
    Periodic { period: i64, jitter: i64, begin: Begin },
    Sporadic { min_gap: i64, extra: i64, burst: u32 },
    Poisson { mean: i64 },
    Adaptive { pause: i64, timeout: i64 },
    Idle,
}

/// How the grid of a periodic flow begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begin {
    Fixed,
    Drawn,
    /// Its first releases are given.
    Given,
}

impl Source {
    /// Creates the source of a flow; for a bulk flow one that never releases.
    pub(crate) fn new(flow: &Flow, seed: u64) -> Self {
        // Times that the traffic does not allow are refused where they are read.
        let given = flow.grid_of(&flow.releases).ok();
        let given = given.filter(|_| !flow.releases.is_empty());
        let begin = |is_random: bool| match given {
            Some(_) => Begin::Given,
            None if is_random => Begin::Drawn,
            None => Begin::Fixed,
        };
        let traffic = match flow.traffic {
            Traffic::Periodic { period, phase, release_jitter } => Timing::Periodic {
                period: period.as_ps(),
                jitter: release_jitter.as_ps(),
                begin: begin(phase == Phase::Random),
            },
            Traffic::Flood { interval } => {
                Timing::Periodic { period: interval.as_ps(), jitter: 0, begin: begin(true) }
            }
            Traffic::Sporadic { min_gap, mean_gap, burst } => Timing::Sporadic {
                min_gap: min_gap.as_ps(),
                extra: (mean_gap - min_gap).as_ps().max(0),
                burst,
            },
            Traffic::Poisson { mean_interval } => Timing::Poisson { mean: mean_interval.as_ps() },
            Traffic::Adaptive { pause, timeout } => {
                Timing::Adaptive { pause: pause.as_ps(), timeout: timeout.as_ps() }
            }
            Traffic::Bulk(_) => Timing::Idle,
        };
        let offset = match flow.traffic {
            Traffic::Periodic { phase: Phase::Fixed(offset), .. } => offset.as_ps(),
            Traffic::Periodic { .. }
            | Traffic::Sporadic { .. }
            | Traffic::Poisson { .. }
            | Traffic::Flood { .. }
            | Traffic::Adaptive { .. }
            | Traffic::Bulk(_) => 0,
        };
        let drawn = flow.start.as_ps().saturating_add(offset);
        Self {
            traffic,
            chance: Box::new(Chance {
                draw: Draw::new(seed, &flow.name, Purpose::Release),
                given: given.map_or_else(Vec::new, |_| {
                    let latest_first = flow.releases.iter().rev();
                    latest_first.map(|time| time.as_ps()).collect()
                }),
            }),
            stop: flow.stop.map_or(NEVER, rtether_model::quantity::Duration::as_ps),
            grid: given.map_or(drawn, rtether_model::quantity::Duration::as_ps),
        }
    }

    /// Returns whether it releases at the same times as another one, with nothing left to chance.
    pub(crate) fn is_in_step_with(&self, other: &Self) -> bool {
        let period = |own: &Self| {
            if let Timing::Periodic { period, jitter: 0, begin: Begin::Fixed } = own.traffic {
                return Some(period);
            }
            None
        };
        period(self).is_some()
            && period(self) == period(other)
            && (self.grid, self.stop) == (other.grid, other.stop)
    }

    /// Creates a source that never releases, for frames from outside.
    pub(crate) fn silent() -> Self {
        Self {
            traffic: Timing::Idle,
            stop: 0,
            grid: 0,
            chance: Box::new(Chance {
                draw: Draw::new(0, "", Purpose::Release),
                given: Vec::new(),
            }),
        }
    }

    /// Returns the time of the first release, or [`NEVER`].
    pub(crate) fn first(&mut self) -> i64 {
        if let Some(at) = self.chance.given.pop() {
            return self.unless_stopped(at);
        }
        let at = match self.traffic {
            Timing::Periodic { period, jitter, begin } => {
                if begin == Begin::Drawn {
                    let phase = self.chance.draw.up_to(period - 1);
                    self.grid = self.grid.saturating_add(phase);
                }
                self.grid.saturating_add(self.draw_jitter(jitter))
            }
            Timing::Sporadic { min_gap, extra, .. } => {
                // Uniform in the first mean gap, so that flows do not start in step.
                let mean = min_gap.saturating_add(extra);
                self.grid.saturating_add(self.chance.draw.up_to(mean))
            }
            Timing::Poisson { mean } => {
                self.grid.saturating_add(self.chance.draw.exponential(mean))
            }
            Timing::Adaptive { .. } => self.grid,
            Timing::Idle => NEVER,
        };
        self.unless_stopped(at)
    }

    /// Returns the time of a first release at `now`, or [`NEVER`]; the grid begins there.
    pub(crate) const fn begin(&mut self, now: i64) -> i64 {
        self.grid = now;
        self.unless_stopped(now)
    }

    /// Returns the time of the release after the one at `now`, or [`NEVER`].
    #[inline]
    pub(crate) fn next(&mut self, now: i64) -> i64 {
        let at = match self.traffic {
            Timing::Periodic { period, jitter, begin } => {
                self.grid = self.grid.saturating_add(period);
                if begin == Begin::Given
                    && let Some(at) = self.chance.given.pop()
                {
                    return self.unless_stopped(at);
                }
                // A late release does not overtake the next one.
                now.max(self.grid.saturating_add(self.draw_jitter(jitter)))
            }
            Timing::Sporadic { .. } | Timing::Poisson { .. }
                if let Some(at) = self.chance.given.pop() =>
            {
                at
            }
            Timing::Sporadic { min_gap, extra, .. } => {
                let random = if extra > 0 { self.chance.draw.exponential(extra) } else { 0 };
                now.saturating_add(min_gap).saturating_add(random)
            }
            Timing::Poisson { mean } => now.saturating_add(self.chance.draw.exponential(mean)),
            // Release after the timeout, unless the answer comes first.
            Timing::Adaptive { timeout, .. } => now.saturating_add(timeout),
            Timing::Idle => NEVER,
        };
        self.unless_stopped(at)
    }

    /// Returns the time of the next adaptive request after an answer at `now`, or [`NEVER`].
    pub(crate) const fn after_answer(&self, now: i64) -> i64 {
        match self.traffic {
            Timing::Adaptive { pause, .. } => self.unless_stopped(now.saturating_add(pause)),
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
        if jitter > 0 { self.chance.draw.up_to(jitter) } else { 0 }
    }

    const fn unless_stopped(&self, at: i64) -> i64 {
        if at < self.stop { at } else { NEVER }
    }
}

#[cfg(test)]
mod tests {
    use rtether_model::network::NodeId;
    use rtether_model::quantity::{Bytes, Duration};

    use super::*;

    fn source(traffic: Traffic) -> Source {
        let flow = Flow {
            class: alloc::string::String::new(),
            start: DAYS * 90,
            ..Flow::new("f".into(), NodeId(0), [NodeId(1)].into(), Bytes::new(60), traffic)
        };
        Source::new(&flow, 1)
    }

    const DAYS: Duration = Duration::from_secs(86_400);

    #[test]
    fn long_gaps_do_not_overflow() {
        // Oracle: times only grow, up to the largest one. Scenarios may have means of 10 days, and
        // time ends after 106.
        let mean = DAYS * 10;
        for traffic in [
            Traffic::Poisson { mean_interval: mean },
            Traffic::Sporadic { min_gap: DAYS, mean_gap: mean, burst: 1 },
            Traffic::Periodic { period: mean, phase: Phase::Fixed(mean), release_jitter: mean },
            Traffic::Adaptive { pause: mean, timeout: mean },
        ] {
            let mut source = source(traffic);
            let mut last = source.first();
            for _ in 0..1_000 {
                if last == NEVER {
                    break;
                }
                let answer = source.after_answer(last);
                assert!(answer >= last);
                let next = source.next(last);
                assert!(next >= last);
                last = next;
            }
            assert_eq!(last, NEVER);
        }
    }
}
