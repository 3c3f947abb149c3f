//! Packets of one connection that are never in front of each other.
//!
//! The arrivals of a flow and of its acknowledgements are taken for independent of each other at a
//! place ([`crate::wait`]), though the same releases cause both: where an acknowledgement has long
//! passed when the next message comes, it delays no message, in any phase.
//!
//! **Theorem.** Let a place serve a class in order of arrival, maybe below higher ones, let `L` be its
//! longest busy period, and let packets of a flow come by two ways `v` and `u` in this class: at least
//! `v` and at most `v + V` after their release, and at least `u` and at most `u + U`. If for no two of
//! its releases, the one of `u` by `x` earlier than the one of `v`, `u - v - V <= x <= u + U - v + L`,
//! then no packet of the way `u` is in front of one of the way `v`, and its wait is that among all other
//! packets. *Proof.* A packet of `v` that comes at `t` waits for what its class has brought in the busy
//! period that began at most `L` before `t`. A packet of `u` among that came in `[t - L, t]`. With
//! releases at `r` and `r - x` it came in `[r - x + u, r - x + u + U]`, and `t` lies in
//! `[r + v, r + v + V]`: so `u - x <= v + V` and `u + U - x >= v - L`. QED
//!
//! **Releases.** On a grid of period `P` with the jitter `J < P`, the `m`-th release after another one is
//! `m P - J` to `m P + J` later; others are at least `m P` apart. For the same release `x = 0`: if the
//! way `u` goes on from `v`, and a single packet goes there, then it comes to the place again when it has
//! left it, so not before itself; and later releases come later still. If `v` goes on from `u`, it comes
//! at least the least time in between later.
//!
//! The largest delays are those of the same solution, and grow with its waits, so that fewer packets
//! are left out as these grow: the wait remains monotonic, and the proof of [`crate::solve`] holds.
//! What a higher class brings while a packet waits may have come later than that packet, so that it
//! always counts.

use alloc::vec::Vec;
use core::ops::Range;

use crate::curve::{JITTER_MAX, Load, ONE};
use crate::discipline::Discipline;
use crate::index::NONE;
use crate::plant::Plant;
use crate::service_curve::Share;
use crate::source::{INFINITE, Source, add};
use crate::wait::affine_limit;

/// Returns, for members of a place with loads that are never in front of them, the member and the
/// positions of the others; `queues` are those of the loads.
pub(crate) fn reduced(
    plant: &Plant,
    server: u32,
    loads: &[Load],
    queues: &[(u8, Range<usize>)],
) -> Vec<(usize, Vec<usize>)> {
    let own = &plant.servers[server as usize];
    let is_plain = own.curve.latency == 0 && own.curve.share == Share::WHOLE;
    if plant.connections.is_empty() || !own.discipline.is_by_priority() || !is_plain {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (queue, range) in queues {
        let companions = companions(plant, &loads[range.clone()]);
        if companions.is_empty() {
            continue;
        }
        let Some(busy) = busy_period(&own.discipline, *queue, loads, queues) else {
            continue;
        };
        for same in companions {
            for &member in &same {
                let member = range.start + member;
                let is_spared = |&other: &usize| {
                    let other = range.start + other;
                    other != member && never_in_front(plant, [&loads[member], &loads[other]], busy)
                };
                let spared: Vec<usize> = same.iter().copied().filter(is_spared).collect();
                if spared.is_empty() {
                    continue;
                }
                let spared = spared.into_iter().map(|other| range.start + other);
                let spared: Vec<usize> = spared.collect();
                let left = (0..loads.len()).filter(|other| !spared.contains(other));
                found.push((member, left.collect()));
            }
        }
    }
    found
}

/// Returns the positions of loads with the same flow, for connections with several of them whose
/// messages leave at once.
fn companions(plant: &Plant, loads: &[Load]) -> Vec<Vec<usize>> {
    let flow = |index: usize| plant.visits[loads[index].visit as usize].flow;
    let is_prompt = |&index: &usize| plant.is_prompt(flow(index));
    let mut all: Vec<usize> = (0..loads.len()).filter(is_prompt).collect();
    all.sort_by_key(|&index| flow(index));
    let same = all.chunk_by(|&one, &other| flow(one) == flow(other));
    same.filter(|same| same.len() > 1).map(<[usize]>::to_vec).collect()
}

/// Returns a bound on the longest busy period of a queue and higher ones.
fn busy_period(
    discipline: &Discipline,
    queue: u8,
    loads: &[Load],
    queues: &[(u8, Range<usize>)],
) -> Option<i64> {
    let is_strict = *discipline == Discipline::Strict;
    let of = |chosen: &dyn Fn(u8) -> bool| -> Vec<Load> {
        let chosen = queues.iter().filter(|(other, _)| chosen(*other));
        let all = chosen.flat_map(|(_, range)| &loads[range.clone()]);
        all.copied().collect()
    };
    let lower = of(&|other| is_strict && other < queue);
    let base = lower.iter().map(|load| load.cost).max().unwrap_or(0);
    let mut busy = of(&|other| other == queue || (is_strict && other > queue));
    let limit = affine_limit(&mut busy).ok()?;
    let work = (i128::from(base) * ONE).saturating_add(limit.burst);
    let end = i64::try_from(work / (ONE - limit.rate) + 1).ok()?;
    (end < INFINITE).then_some(end)
}

/// Returns whether no packet of the second load is in front of one of the first, in busy periods of at
/// most this length.
fn never_in_front(plant: &Plant, [own, other]: [&Load; 2], busy: i64) -> bool {
    let source = plant.source_of(own.visit);
    let is_regular = source.burst == 1 && source.is_limited() && source.closed.is_none();
    let [latest, latest_other] = [own.lateness, other.lateness];
    if !is_regular || source.jitter >= source.period || latest.max(latest_other) >= JITTER_MAX {
        return false;
    }
    // It may stand for other flows.
    let limit = plant.limit_of(&plant.visits[other.visit as usize]);
    if limit.is_some_and(|limit| limit.shared != NONE) {
        return false;
    }
    let [least, least_other] = [own, other].map(|load| arrives(plant, load.visit));
    let way = Offset {
        from: least_other - least - (latest - source.jitter),
        to: least_other + (latest_other - source.jitter) - least + busy,
    };
    let is_single = |load: &Load| plant.visits[load.visit as usize].frames == 1;
    let goes_on = |to: &Load, from: &Load| leads_to(plant, from.visit, to.visit);
    let comes_again = goes_on(other, own) && is_single(own);
    let comes_before = goes_on(own, other) && is_single(other);
    let meets_itself = if comes_again {
        false
    } else if comes_before {
        least - least_other <= busy
    } else {
        way.holds([0; 2])
    };
    !meets_itself && !way.meets_earlier(source) && (comes_again || !way.meets_later(source))
}

/// The release of another packet, as the time by which it is earlier than that of the one looked at.
struct Offset {
    from: i64,
    to: i64,
}

impl Offset {
    const fn holds(&self, [from, to]: [i64; 2]) -> bool {
        self.from <= to && from <= self.to
    }

    /// Returns whether a packet of an earlier release may be in front.
    fn meets_earlier(&self, source: &Source) -> bool {
        if !source.is_on_grid {
            return self.to >= source.period - source.jitter;
        }
        // The first release that is not too late.
        let steps = (self.from - source.jitter).max(source.period);
        let steps = (steps + source.period - 1) / source.period;
        steps * source.period - source.jitter <= self.to
    }

    /// Returns whether a packet of a later release may be in front.
    fn meets_later(&self, source: &Source) -> bool {
        let other = Self { from: -self.to, to: -self.from };
        other.meets_earlier(source)
    }
}

/// Returns the least time from the release to the arrival at a visit.
fn arrives(plant: &Plant, visit: u32) -> i64 {
    let gaps = plant.way_to(visit).map(|visit| visit.gap.min);
    gaps.fold(0, add)
}

/// Returns whether a way goes on from one visit to another.
fn leads_to(plant: &Plant, from: u32, to: u32) -> bool {
    let parent = |&at: &u32| {
        let parent = plant.visits[at as usize].parent;
        (parent != NONE && parent >= from).then_some(parent)
    };
    core::iter::successors(Some(to), parent).any(|at| at == from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    /// Oracle: all releases within reach, one by one.
    #[test]
    fn releases_that_meet_are_found() {
        let span =
            |range: [i64; 2], offset: &Offset| range[0] <= offset.to && offset.from <= range[1];
        let mut met = [0; 2];
        for (period, jitter) in [(1, 0), (7, 0), (7, 3), (10, 9), (10, 5)] {
            for from in -35..35 {
                for to in from..from + 25 {
                    let offset = Offset { from, to };
                    for is_on_grid in [true, false] {
                        let source = Source {
                            period,
                            jitter: if is_on_grid { jitter } else { 0 },
                            is_on_grid,
                            ..Source::UNLIMITED
                        };
                        let steps = 1..=100;
                        let apart = |sign: i64| {
                            steps.clone().any(|step: i64| {
                                // Without a grid any time from the first period on.
                                let ends = if is_on_grid {
                                    [step * period - jitter, step * period + jitter]
                                } else {
                                    [step * period, 10_000]
                                };
                                let [a, b] = ends.map(|end| sign * end);
                                span([a.min(b), a.max(b)], &offset)
                            })
                        };
                        let found = [offset.meets_earlier(&source), offset.meets_later(&source)];
                        assert_eq!(found, [apart(1), apart(-1)], "{period} {jitter} {from} {to}");
                        met[usize::from(found[0])] += 1;
                    }
                }
            }
        }
        assert!(met[0] > 1_000 && met[1] > 1_000, "{met:?}");
    }

    /// Oracle: by hand.
    #[test]
    fn a_busy_period_counts_one_lower_packet() {
        let loads = vec![Load::periodic(50, 1_000), Load::periodic(10, 100)];
        let queues = [(0, 0..1), (1, 1..2)];
        let of = |discipline, queue| busy_period(&discipline, queue, &loads, &queues).unwrap();
        // 60 and 10 more each 100: until 66.7, then 1 for rounding.
        assert_eq!(of(Discipline::Strict, 1), 67);
        assert!(of(Discipline::Strict, 0) >= 60);
        assert_eq!(of(Discipline::Fifo, 1), 12);
    }
}
