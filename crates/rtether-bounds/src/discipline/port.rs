//! The queues of a server with their loads, as a discipline sees them.
//!
//! **Own work.** Where packets of a flow have two sizes, the smaller one is subtracted: a line
//! limits the work, not the number of packets, and the packet looked at may be a small one.

use alloc::vec::Vec;
use core::ops::Range;

use crate::curve::Load;
use crate::service_curve::ServiceCurve;
use crate::source::add;
use crate::wait::{Class, Unbounded, waits};

/// Largest number of distinct packet costs of one queue.
const COSTS_MAX: usize = 8;

/// What some disciplines need to know about a visit besides its load.
pub(crate) trait Visits {
    /// Octets of the smallest and of the largest frame without tag.
    fn sizes(&self, visit: u32) -> [i64; 2];

    /// Local deadline of the flow in picoseconds; [`crate::source::INFINITE`] without one.
    fn local_deadline(&self, visit: u32) -> i64;
}

/// The loads of a server by queue.
pub(crate) struct Port<'a> {
    pub(crate) visits: &'a dyn Visits,
    /// What the queues can count on.
    pub(crate) curve: ServiceCurve,
    pub(crate) loads: &'a [Load],
    /// Positions of each queue's members among the loads, in ascending order of queues.
    pub(crate) queues: &'a [(u8, Range<usize>)],
    /// As [`Class::is_whole`].
    pub(crate) is_whole: bool,
}

/// Waits, in the order of their loads.
pub(crate) type Waits = Result<Vec<i64>, Unbounded>;

impl Port<'_> {
    /// Returns the waits of `queue`, in load order, when `base` work is in front and the queues
    /// selected by `is_higher` go first.
    pub(crate) fn waits(&self, queue: u8, base: i64, is_higher: impl Fn(u8) -> bool) -> Waits {
        self.waits_with(queue, base, 0, is_higher)
    }

    /// The same if each frame of the queue brings `extra` work in addition to its own.
    pub(crate) fn waits_with(
        &self,
        queue: u8,
        base: i64,
        extra: i64,
        is_higher: impl Fn(u8) -> bool,
    ) -> Waits {
        self.waits_brought(queue, base, |_| (extra.into(), 1), is_higher)
    }

    /// The same with the work that each frame of a load brings, as a fraction.
    pub(crate) fn waits_brought(
        &self,
        queue: u8,
        base: i64,
        extra: impl Fn(&Load) -> (i128, i128),
        is_higher: impl Fn(u8) -> bool,
    ) -> Waits {
        let share = self.curve.share;
        let slow = |loads: Vec<Load>| -> Vec<Load> {
            loads.iter().map(|load| share.slow_down(load)).collect()
        };
        let own = self.of(|other| other == queue);
        let heavier = own.iter().map(|load| {
            let (work, of) = extra(load);
            load.with_part(work, of)
        });
        let heavier = heavier.collect();
        let (own, mut heavier) = (slow(own), slow(heavier));
        let mut higher = slow(self.of(is_higher));
        let base = add(share.time(base), self.curve.latency);
        waits_in(&own, base, &mut heavier, &mut higher, self.is_whole)
    }

    /// Returns the loads of the chosen queues.
    pub(crate) fn of(&self, chosen: impl Fn(u8) -> bool) -> Vec<Load> {
        let queues = self.queues.iter().filter(|(queue, _)| chosen(*queue));
        let loads = queues.flat_map(|(_, range)| &self.loads[range.clone()]);
        loads.copied().collect()
    }

    /// Returns the longest frame of the chosen queues.
    pub(crate) fn longest(&self, chosen: impl Fn(u8) -> bool) -> i64 {
        let own = self.of(chosen);
        own.iter().map(|load| load.cost).max().unwrap_or(0)
    }
}

/// Returns the smaller of two waits for each packet.
pub(crate) fn smaller(one: Waits, other: Waits) -> Waits {
    match (one, other) {
        (Ok(a), Ok(b)) => Ok(a.into_iter().zip(b).map(|(a, b)| a.min(b)).collect()),
        (Ok(one), Err(_)) | (_, Ok(one)) => Ok(one),
        (_, Err(unbounded)) => Err(unbounded),
    }
}

/// Returns the waits of `own` packets in order of arrival behind `base`, where `all` are the
/// arrivals of their class and `higher` those ahead of them.
pub(crate) fn waits_behind(
    own: &[Load],
    base: i64,
    all: &mut [Load],
    higher: &mut [Load],
) -> Waits {
    waits_in(own, base, all, higher, false)
}

/// The same; `is_whole` as [`Class::is_whole`].
fn waits_in(
    own: &[Load],
    base: i64,
    all: &mut [Load],
    higher: &mut [Load],
    is_whole: bool,
) -> Waits {
    let mut costs: Vec<i64> = own.iter().map(|load| load.least).collect();
    costs.sort_unstable();
    costs.dedup();
    // A smaller own cost stands for larger ones. Let a packet with `d` more own work arrive at the
    // same time. Of `F(s)`, the work in front of the smaller one, it has `F(s) - d`, and `F` grows
    // with `s`: if `F(s) <= s`, then `F(s - d) - d <= s - d`. So its wait is shorter by `d`, or zero.
    let each = costs.len().div_ceil(COSTS_MAX).max(1);
    let costs: Vec<i64> = costs.into_iter().step_by(each).collect();
    let found = waits(&mut Class { base, own: all, higher, costs: &costs, is_whole })?;
    let wait_of = |load: &Load| {
        let place = costs.partition_point(|&cost| cost <= load.least) - 1;
        (found[place] - (load.least - costs[place])).max(0)
    };
    Ok(own.iter().map(wait_of).collect())
}

/// Visits of tests whose loads say all.
#[cfg(test)]
pub(super) struct Unasked;

#[cfg(test)]
impl Visits for Unasked {
    fn sizes(&self, _: u32) -> [i64; 2] {
        unreachable!("the loads say all")
    }

    fn local_deadline(&self, _: u32) -> i64 {
        unreachable!("the loads say all")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::ONE;
    use alloc::vec;

    /// Oracle: by hand. Packets of one link keep their spacing, so that there is at most 10 ps of
    /// work, of which a packet of 2 ps finds 8 in front, even if its flow also has packets of 10.
    #[test]
    fn the_small_packet_of_a_flow_waits_longest() {
        let load =
            |least| Load { least, group: 1, ratio: ONE, spacing: 10, ..Load::periodic(10, 1_000) };
        let port = Port {
            visits: &Unasked,
            curve: ServiceCurve::new(1, false),
            loads: &[load(10), load(2)],
            queues: &[(0, 0..2)],
            is_whole: false,
        };
        assert_eq!(port.waits(0, 0, |_| false), Ok(vec![0, 8]));
    }

    /// Oracle: by hand. All packets come at once, and each waits for all others; then with a longest
    /// one of 100 ps that comes again and goes first.
    #[test]
    fn packets_of_more_sizes_than_are_examined_wait_for_all_others() {
        let sizes = 11..=30;
        assert!(sizes.clone().count() > COSTS_MAX);
        let own: Vec<Load> = sizes.clone().map(|cost| Load::periodic(cost, 1_000_000)).collect();
        let sum: i64 = sizes.clone().sum();
        let alone = waits_behind(&own, 0, &mut own.clone(), &mut []);
        assert_eq!(alone, Ok(sizes.clone().map(|cost| sum - cost).collect()));
        let mut higher = [Load::periodic(100, 1_000)];
        let behind = waits_behind(&own, 0, &mut own.clone(), &mut higher).unwrap();
        for (wait, cost) in behind.into_iter().zip(sizes) {
            assert_eq!(wait, sum - cost + 100, "{cost}");
        }
    }
}
