//! Waits of a packet that comes to a place twice: as a request and as a reply, at either end.
//!
//! **Theorem.** Let a processor serve in order of arrival, let no packet stay there longer than `Y`,
//! and let a packet come at 0 and again at `t`, with the service `c` at its first visit and at least
//! `c + rest` from the beginning of that service to `t`. Let `n` count the others that come in a
//! closed window of length `Y + t`, and `w` their work. Then both waits together are at most the
//! larger of `w - rest` and `sup_z (sum_g min(w_g, 2 b_g + r_g z - own_g) - z)`, where `g` are
//! the groups of packets that come by a line `b_g + r_g z`, `w_g` is the part of `w` in a group and
//! `own_g` the packet's own work in it.
//! *Proof.* What is in front at the first visit is gone before its service, so it is not in front at
//! the second one; the packet is in front of itself at neither. All of it has come in the window:
//! at 0 nothing is there for longer than `Y`. So the waits are the work of different packets of
//! those counted by `w`. (1) If the processor is busy from 0 to `t`, then by the end of the second
//! wait it has done what was in front at 0, the packet's first service, and what came in between: so
//! the first wait, `c`, at least `rest`, and the second wait sum up to at most `c + w`. (2) Otherwise
//! the second wait ends a busy period that begins at `v`, after the first service. Let the first one
//! be in a busy period that begins at `-s`. Then the waits are at most the work of the others that
//! come in `[-s, 0]`, less `s`, plus the work of those that come in `[v, t]`, less `t - v`. These are
//! different windows, of the total length `z`: a line lets through at most `2 b_g + r_g z` in both,
//! the packet itself included.
//!
//! **Own packets.** The packet is one of those of its flow that come in the window, at each of its
//! two visits, and not another one. A flow that waits for its answers has no other packet there:
//! the answer before was delivered before this request was released.

use alloc::vec::Vec;

use crate::curve::{Affine, Group, Load, ONE, round_up};
use crate::plant::Plant;
use crate::source::INFINITE;

use super::least_delay;

/// The two visits of a packet to one place.
pub(super) struct Twice {
    first: u32,
    second: u32,
    /// Length of the window in which all that delays the packet arrives.
    reach: i64,
    /// Least time from the end of the first service to the second arrival.
    rest: i64,
    /// Whether no other packet of the flow comes to these visits in the window.
    is_alone: bool,
}

/// Work of the other packets of a group.
struct Others {
    /// In the whole window.
    work: i128,
    /// What the line lets through in two windows; zero without a line.
    line: Affine,
}

impl Others {
    /// Returns the work that the line does not let through in two windows of this total length.
    fn missing(&self, z: i64) -> i128 {
        (self.work - self.line.at(z)).max(0)
    }
}

impl Twice {
    pub(super) fn new(plant: &Plant, visits: [u32; 2], reach: i64, is_alone: bool) -> Self {
        let [first, second] = visits;
        let service = plant.visits[first as usize].service.min();
        Self { first, second, reach, rest: least_delay(plant, second, first) - service, is_alone }
    }

    /// Returns the longest wait at both visits together, from the loads of the place and their
    /// groups; `None` if it has no bound.
    pub(super) fn longest(&self, groups: &[Group], loads: &[Load]) -> Option<i64> {
        if self.reach >= INFINITE {
            return None;
        }
        let (mut all, mut held_back) = (0, Vec::new());
        for group in groups {
            let others = self.others(group, loads)?;
            all += others.work;
            if others.line.rate > 0 && others.line.burst < others.work {
                held_back.push(others);
            }
        }
        let missing = |z: i64| held_back.iter().map(|group| group.missing(z)).sum::<i128>();
        let busy = all - i128::from(self.rest) * ONE;
        // Between two of these the sum is straight.
        let bends = held_back.iter().filter_map(|group| {
            let z = (group.work - group.line.burst) / group.line.rate;
            i64::try_from(z).ok().filter(|&z| z < INFINITE)
        });
        let times = bends.flat_map(|z| [z, z + 1]).chain([0]);
        let idle = times.map(|z| all - missing(z) - i128::from(z) * ONE).max()?;
        Some(round_up(busy.max(idle).max(0))).filter(|&wait| wait < INFINITE)
    }

    fn others(&self, group: &Group, loads: &[Load]) -> Option<Others> {
        let loads = &loads[group.range.clone()];
        let is_own = |load: &&Load| load.visit == self.first || load.visit == self.second;
        let own = loads.iter().filter(is_own).map(|load| load.least);
        let own = i128::from(own.sum::<i64>()) * ONE;
        let line = group.line.map(|line| Affine { burst: (line.burst - own).max(0), ..line });
        let counted = group.bucket.map(|_| {
            let each = loads.iter().map(|load| self.work_of(load));
            each.sum::<i128>() * ONE
        });
        let passed = line.map(|line| line.at(self.reach));
        Some(Others {
            work: counted.into_iter().chain(passed).min()?,
            line: group.line.map_or_else(Affine::default, |line| Affine {
                burst: (2 * line.burst - own).max(0),
                ..line
            }),
        })
    }

    /// Returns the work of the other packets of a load in the window.
    fn work_of(&self, load: &Load) -> i128 {
        let is_own = load.visit == self.first || load.visit == self.second;
        if is_own && self.is_alone {
            return 0;
        }
        let points = (self.reach + load.jitter) / load.period + 1;
        let packets = i128::from(load.burst) * i128::from(points) - i128::from(is_own);
        packets * i128::from(load.cost)
    }
}
