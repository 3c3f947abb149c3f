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

#[cfg(test)]
mod tests {
    use super::*;
    use rtether_model::quantity::{Bytes, Duration};
    use rtether_model::smoother::{Adaptive, Fixed, Limits, Nt};

    fn fixed(depth: u64, mtu: u64) -> Config {
        let period = Duration::from_ps(100);
        let mode = Mode::Fixed(Fixed {
            depth: Bytes::new(depth),
            period,
        });
        let limits = Limits {
            mtu: Bytes::new(mtu),
            ..Limits::default()
        };
        Config { mode, limits }
    }

    /// Oracle: the theorem in the documentation of the smoother, `2 D - 1 + M + D floor(t / P)`.
    #[test]
    fn a_staircase_is_above_the_curve_of_a_bucket() {
        for (depth, mtu) in [
            (1500, 1500),
            (1, 7),
            (4, 9),
            (5, 4),
            (700, 1500),
            (4000, 1500),
        ] {
            let config = fixed(depth, mtu);
            let limit = Limit::of_smoother(&config, [40, 1500], 3).unwrap();
            let [depth, mtu] = [depth, mtu].map(|size| i64::try_from(size).unwrap());
            for time in 0..5_000 {
                let steps = (time + limit.jitter) / limit.period + 1;
                let curve = 2 * depth - 1 + mtu + depth * (time / 100);
                let found = limit.amount * steps;
                assert!(found >= curve, "{depth} {mtu} {time}: {found} < {curve}");
                // And no further above than three steps.
                assert!(found <= curve + 3 * limit.amount, "{depth} {mtu} {time}");
            }
        }
    }

    /// Oracle: the documentation of the smoother, `D (floor(t / P) + 2)` for mode `nt`; literal debt
    /// promises nothing.
    #[test]
    fn modes_by_hand() {
        let nt = Config::new(Mode::Nt(Nt::paper(1)));
        let limit = Limit::of_smoother(&nt, [40, 1500], 3).unwrap();
        let period = Duration::from_ms(10).as_ps();
        assert_eq!(limit.amount, 4500);
        assert_eq!((limit.period, limit.jitter), (period, period));
        let literal = Mode::Adaptive(Adaptive {
            forgive_debt: true,
            ..Adaptive::HIMD
        });
        assert_eq!(Limit::of_smoother(&Config::new(literal), [40; 2], 3), None);
    }

    /// Oracle: by hand. 1500 octets are 37.5 of the smallest packets of 40, which take 2 ps each; one
    /// of 1500 takes 60 ps.
    #[test]
    fn octets_are_the_work_of_the_costliest_packets() {
        let limit = Limit::of_smoother(&fixed(1500, 1500), [40, 1500], 3).unwrap();
        assert_eq!(limit.step(&Service::fixed(2, 60)), Some((75, 38)));
        assert_eq!(limit.step(&Service::fixed(1, 60)), Some((60, 38)));
        assert_eq!(Limit::spaced(7).step(&Service::fixed(2, 60)), Some((60, 1)));
    }
}
