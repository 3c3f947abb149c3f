//! What a scenario leaves open about when a flow releases its packets, and a choice within it.
//!
//! A choice is a list of first releases ([`Flow::releases`]), which the loader accepts only if the
//! traffic of the flow allows them.

use rtether_model::flow::{Flow, Phase, Traffic};
use rtether_model::network::Network;
use rtether_model::quantity::Duration;

use crate::dice::Dice;

/// Most releases of a flow that are chosen; what comes later is drawn.
const CHOSEN: usize = 64;

/// What may be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freedom {
    /// Nothing: fixed by the file, or by what arrives.
    None,
    /// Points of a grid, each late by at most `jitter`. All in picoseconds.
    Grid {
        /// The first point is not before this one, nor after `last`.
        first: i64,
        last: i64,
        period: i64,
        jitter: i64,
    },
    /// Releases at least `gap` apart, from `first` on.
    Gaps { first: i64, gap: i64 },
}

impl Freedom {
    /// Returns what a flow leaves open.
    pub(super) fn of(network: &Network, flow: &Flow) -> Self {
        let start = flow.start.as_ps();
        if flow.asks(network) || !flow.releases.is_empty() {
            return Self::None;
        }
        let grid = |period: Duration, phase: Phase, jitter: Duration| {
            let (first, last) = match phase {
                Phase::Fixed(phase) => (start + phase.as_ps(), start + phase.as_ps()),
                Phase::Random => (start, start + period.as_ps() - 1),
            };
            let (period, jitter) = (period.as_ps(), jitter.as_ps());
            if first == last && jitter == 0 {
                return Self::None;
            }
            Self::Grid { first, last, period, jitter }
        };
        match flow.traffic {
            Traffic::Periodic { period, phase, release_jitter } => {
                grid(period, phase, release_jitter)
            }
            Traffic::Flood { interval } => grid(interval, Phase::Random, Duration::ZERO),
            Traffic::Sporadic { min_gap, .. } => Self::Gaps { first: start, gap: min_gap.as_ps() },
            // Random by its nature: nothing bounds what it might do.
            Traffic::Poisson { .. } => Self::None,
            Traffic::Adaptive { .. } | Traffic::Bulk(_) => Self::None,
        }
    }

    /// Returns whether the whole pattern of releases may be moved.
    pub(super) const fn is_movable(self) -> bool {
        match self {
            Self::None => false,
            Self::Grid { first, last, .. } => first < last,
            Self::Gaps { .. } => true,
        }
    }

    /// Returns how often single releases are moved instead of all, in percent. Gaps may grow at will, but
    /// the worst is mostly that all are least.
    pub(super) const fn single_percent(self) -> u64 {
        match self {
            Self::Grid { jitter, .. } if jitter > 0 => 25,
            Self::None | Self::Grid { .. } => 0,
            Self::Gaps { .. } => 3,
        }
    }

    /// Returns the choice with a release at `time`, or as near as is allowed.
    pub(super) fn at(self, time: i64) -> Choice {
        let begin = match self {
            Self::None => 0,
            Self::Grid { first, last, period, .. } if first < last => {
                first + (time - first).rem_euclid(period)
            }
            Self::Grid { first, .. } => first,
            Self::Gaps { first, .. } => time.max(first),
        };
        Choice { begin, late: Vec::new() }
    }

    /// Moves a choice by this time.
    pub(super) fn shift(self, choice: &mut Choice, by: i64) {
        choice.begin = self.at(choice.begin.saturating_add(by)).begin;
    }

    /// Moves only the release with this number, as far as is allowed.
    pub(super) fn shift_one(self, choice: &mut Choice, number: usize, by: i64) {
        let most = match self {
            Self::None => return,
            Self::Grid { jitter, .. } => jitter,
            Self::Gaps { gap, .. } => gap.saturating_mul(8),
        };
        if most > 0 && number < CHOSEN {
            if choice.late.len() <= number {
                choice.late.resize(number + 1, 0);
            }
            let late = &mut choice.late[number];
            *late = late.saturating_add(by).clamp(0, most);
        }
    }

    /// Draws how late releases are: all those before one of them as late as possible and the others
    /// in time, so that they come close to each other, or any. Of gaps, that before one of them grows.
    pub(super) fn crowd(self, choice: &mut Choice, number: usize, dice: &mut Dice) {
        let jitter = match self {
            Self::Grid { jitter, .. } if jitter > 0 => jitter,
            Self::None | Self::Grid { .. } => return,
            Self::Gaps { gap, .. } => return self.shift_one(choice, number, dice.time(-gap, gap)),
        };
        let number = number.min(CHOSEN - 1);
        let kind = dice.index(3);
        let late = (0..=number + 8).map(|own| match kind {
            0 if own <= number => jitter,
            0 => 0,
            1 => jitter,
            _ => dice.time(0, jitter),
        });
        choice.late = late.take(CHOSEN).collect();
    }

    /// Returns the releases that a choice stands for, up to `until`; none for flows without a
    /// choice.
    pub(super) fn releases(self, choice: &Choice, until: i64) -> Vec<i64> {
        let late = |number: usize| choice.late.get(number).copied().unwrap_or(0);
        let mut times: Vec<i64> = Vec::new();
        match self {
            Self::None => {}
            Self::Grid { jitter: 0, .. } => times.push(choice.begin),
            Self::Grid { period, .. } => {
                let mut grid = choice.begin;
                while times.is_empty() || (times.len() < CHOSEN && grid < until) {
                    let before = times.last().copied().unwrap_or(0);
                    times.push((grid + late(times.len())).max(before));
                    grid = grid.saturating_add(period);
                }
            }
            Self::Gaps { gap, .. } => {
                let mut next = choice.begin;
                while times.is_empty() || (times.len() < CHOSEN && next < until) {
                    next = next.saturating_add(late(times.len()));
                    times.push(next);
                    next = next.saturating_add(gap);
                }
            }
        }
        times
    }
}

/// A choice: where the releases begin, and by how much each is later than it must be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) begin: i64,
    pub(super) late: Vec<i64>,
}
