//! Limits that a place on the way puts on flows which have none of their own.
//!
//! A file that TCP moves at any rate, or Poisson arrivals, leave some places in good order: a
//! smoother lets bulk packets out by a curve, a processor that takes `s` for a packet lets one out
//! each `s`. From there on the flow is limited, however it was released.
//!
//! **Theorem.** If a closed window of length `t` holds at most `a(t)` packets as they leave a place,
//! and each of them takes at least `d` and at most `d + v` from there to another place, a closed
//! window of length `t` there holds at most `a(t + v)`. *Proof.* Those that arrive in `[u, u + t]`
//! left in `[u - d - v, u + t - d]`. So the *drift* `v` is handed on from place to place as jitter
//! is: it grows by each wait and by what each passage varies.
//!
//! **Processors.** Packets of one flow leave a place that serves one after the other without
//! interruption at least the shortest service apart: `floor(t / s) + 1` packets.
//!
//! **Smoothers.** With a bucket of `D` octets, refreshes at least `P` apart and packets of at most
//! `M` octets (IP datagrams), at most `2 D - 1 + M + D floor(t / P)` octets of bulk packets leave in
//! any window of length `t`. *Proof.* Of `floor(t / P) + 1` refreshes at most in the window each adds
//! at most `D` to at most `D` credits that are there at its beginning. Up to the last bulk packet
//! every octet took one, and before it one was left, so `D (floor(t / P) + 2) - 1` octets left before
//! it; it adds at most `M`. With `k = ceil(M / D)` this is at most `k D (floor(t / (k P)) + 3)`, a
//! staircase of steps `k D` each `k P` with the jitter `2 k P`: `D floor(t / P)` is at most
//! `k D floor(t / (k P)) + (k - 1) D`, and `2 D + k D + (k - 1) D <= 3 k D`. Mode `nt` releases at
//! most its largest depth at each service and carries nothing over: `D (floor(t / P) + 2)`. All bulk
//! flows of a smoother have the curve together. A smoother that forgives debt promises nothing.
//!
//! **Octets into work.** Packets of the flow lie between a smallest and a largest one; work and
//! octets both grow linearly in between (or with a kink where padding ends, to the lower side), so
//! that the work of an octet is largest at one end.
//!
//! **Acknowledgements.** A listener of TCP sends at most one for each segment that it gets, at the
//! latest after the delay of acknowledgements: at once for the one that makes it due, or as the
//! timer fires that this segment started. So the limit of the segments is one of the
//! acknowledgements too, with that delay added to the drift.

use alloc::vec::Vec;

use rtether_model::smoother::{Config, Mode};

use crate::curve::{JITTER_MAX, Load};
use crate::plant::{NONE, Plant, Visit, group_of};
use crate::source::{INFINITE, add};
use crate::stack::Service;

/// A limit on its way with a flow. Times in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    /// What comes at each point of the grid: octets of IP datagrams, or packets.
    pub(crate) amount: i64,
    /// Distance of the grid.
    pub(crate) period: i64,
    /// How far the first packets may be ahead of it.
    pub(crate) jitter: i64,
    /// What the smallest and the largest packet count; one where packets are counted.
    pub(crate) charge: [i64; 2],
    /// Place that limits all its flows together; [`NONE`] where each has a limit of its own.
    pub(crate) shared: u32,
    /// Whether the way to this visit begins where the limit does.
    pub(crate) begins: bool,
    /// By how much packets on their way to this visit may be later besides.
    pub(crate) delay: i64,
}

impl Limit {
    /// Returns what a processor lets through that takes at least so long for a packet.
    pub(crate) const fn spaced(service: i64) -> Self {
        Self {
            amount: 1,
            period: service,
            jitter: 0,
            charge: [1; 2],
            shared: NONE,
            begins: true,
            delay: 0,
        }
    }

    /// Returns what a smoother lets through of bulk packets between two sizes of IP datagrams;
    /// `None` if its mode promises nothing.
    pub(crate) fn of_smoother(config: &Config, sizes: [i64; 2], place: u32) -> Option<Self> {
        let octets = |size: rtether_model::quantity::Bytes| i64::try_from(size.get()).ok();
        let (depth, period) = match config.mode {
            Mode::None => return None,
            Mode::Adaptive(adaptive) if adaptive.forgive_debt => return None,
            Mode::Fixed(fixed) => (fixed.depth, fixed.period),
            Mode::Adaptive(adaptive) => (adaptive.depth, adaptive.period_min),
            Mode::Rtether(places) => (places.depth, places.period_min),
            Mode::Nt(nt) => (nt.depth_max, nt.period_min),
        };
        let (depth, period) = (octets(depth)?.max(1), period.as_ps().max(1));
        let (steps, ahead) = match config.mode {
            Mode::Nt(_) => (1, 1),
            Mode::None | Mode::Fixed(_) | Mode::Adaptive(_) | Mode::Rtether(_) => {
                ((octets(config.limits.mtu)?.max(1) - 1) / depth + 1, 2)
            }
        };
        let period = period.checked_mul(steps)?;
        Some(Self {
            amount: depth.checked_mul(steps)?,
            period,
            jitter: period.checked_mul(ahead)?,
            charge: sizes.map(|size| size.max(1)),
            shared: place,
            begins: true,
            delay: 0,
        })
    }

    /// Returns the time for each of the largest packets in the long run.
    pub(crate) fn distance(&self) -> i128 {
        i128::from(self.period) * i128::from(self.charge[1]) / i128::from(self.amount)
    }

    /// Returns the work and the packets at each point of the grid.
    fn step(&self, service: &Service) -> Option<(i64, i64)> {
        let most = |time: i64, charge: i64| {
            let work = i128::from(time) * i128::from(self.amount);
            (work + i128::from(charge) - 1) / i128::from(charge)
        };
        let small = most(service.small[1], self.charge[0]);
        let large = most(service.large[1], self.charge[1]);
        let work = i64::try_from(small.max(large)).ok()?;
        Some((work, (self.amount + self.charge[0] - 1) / self.charge[0]))
    }
}

/// Returns the drift of a visit whose parent has this drift and wait.
pub(crate) fn drift_after(plant: &Plant, visit: &Visit, drift: i64, wait: i64) -> i64 {
    let Some(limit) = plant.limits.get(visit.limit as usize) else {
        return 0;
    };
    if limit.begins {
        return limit.delay;
    }
    let varies = visit.gap.max - visit.gap.min + limit.delay;
    let sum = add(add(drift, wait), varies);
    if sum > JITTER_MAX { INFINITE } else { sum }
}

/// Puts the limits of the place's visits in place of arrivals that have none.
pub(crate) fn apply(plant: &Plant, drift: &[i64], loads: &mut [Load]) {
    // Of flows that share a limit the first stands for all.
    let mut first: Vec<([u32; 3], usize)> = Vec::new();
    for index in 0..loads.len() {
        let visit = &plant.visits[loads[index].visit as usize];
        let Some(limit) = plant.limits.get(visit.limit as usize) else {
            continue;
        };
        let jitter = add(limit.jitter, drift[loads[index].visit as usize]);
        let step = limit.step(&visit.service);
        let (Some((work, packets)), true) = (step, jitter < JITTER_MAX) else {
            continue;
        };
        if loads[index].jitter < JITTER_MAX {
            continue;
        }
        let key = [
            limit.shared,
            visit.queue.into(),
            group_of(&plant.visits, visit),
        ];
        let known = first.iter().find(|(other, _)| *other == key);
        let known = known.filter(|_| limit.shared != NONE).map(|found| found.1);
        let load = &mut loads[index];
        load.period = limit.period;
        load.jitter = jitter;
        if let Some(known) = known {
            (load.burst, load.packets) = (0, 0);
            let all = &mut loads[known];
            all.burst = all.burst.max(bundle(work, all.cost));
            all.packets = all.packets.max(packets).max(all.burst);
            all.jitter = all.jitter.max(jitter);
        } else {
            load.burst = bundle(work, load.cost);
            load.packets = packets.max(load.burst);
            first.push((key, index));
        }
    }
}

/// Returns how many packets of this cost are at least so much work.
fn bundle(work: i64, cost: i64) -> i64 {
    let cost = cost.max(1);
    (work / cost + i64::from(work % cost > 0)).max(1)
}
