//! The largest backlog of work at one place, in order of arrival.

use alloc::vec::Vec;

use super::{Class, STEPS_MAX, Unbounded, first_horizon, full, meeting, tails};
use crate::curve::{
    Affine, Change, Load, ONE, Stairs, affordable, changes, group, round_up, stepped,
};
use crate::source::INFINITE;

/// Returns the largest work present at once, including the packet that arrives: `sup (a(t) - t)` in
/// picoseconds, rounded up.
pub(crate) fn backlog(loads: &mut [Load]) -> Result<i64, Unbounded> {
    distance(loads, false, None).or_else(|reason| {
        // The packet that waits longest, less no work of its own, finds the most.
        let mut class =
            Class { base: 0, own: loads, higher: &mut [], costs: &[0], is_whole: false };
        let found = full::waits(&mut class).ok_or(reason)?;
        Ok(found[0])
    })
}

/// Returns the longest wait behind these loads of a packet of another flow that is the only one of
/// its flow there, has work `own` and comes from the place with number `group`.
///
/// The line from there limits the packets in front and the packet itself together; if any packet is
/// in front, this one is not the first. So the work in front is at most the line less `own`, or
/// zero.
pub(crate) fn wait_of_only(loads: &mut [Load], group: u32, own: i64) -> Result<i64, Unbounded> {
    distance(loads, true, Some((group, own)))
}

/// Returns the time by which all possible arrivals of these loads are served.
pub(crate) fn caught_up(loads: &mut [Load]) -> Result<i64, Unbounded> {
    let groups = group(loads);
    Ok(meeting(&tails(&groups, loads)?, 0))
}

/// Like [`backlog`]; with `is_whole`, over all times instead of one busy period; with `less`, with
/// the line of a group lowered by this work.
pub(super) fn distance(
    loads: &mut [Load],
    is_whole: bool,
    less: Option<(u32, i64)>,
) -> Result<i64, Unbounded> {
    if loads.is_empty() {
        return Ok(0);
    }
    let mut groups = group(loads);
    let tails = tails(&groups, loads)?;
    for group in &mut groups {
        let own = less.filter(|(number, _)| *number == group.number);
        if let (Some(line), Some((_, work))) = (&mut group.line, own) {
            line.burst = line.burst.saturating_sub(i128::from(work) * ONE);
        }
    }
    let least = if is_whole { meeting(&tails, 0) } else { 0 };
    let mut wanted = first_horizon(&groups, loads);
    loop {
        let horizon = affordable(&stepped(&groups, loads), wanted, STEPS_MAX);
        let mut all = Vec::new();
        for group in &groups {
            let own = &loads[group.range.clone()];
            let stairs = match group.bucket {
                Some(_) => Stairs::new(own, horizon),
                None => Stairs::default(),
            };
            changes(&stairs, group.line, &mut all);
        }
        all.sort_unstable_by_key(|change| change.time);
        let (most, is_over) = sweep(&all, least, horizon);
        if is_over {
            return Ok(round_up(most));
        }
        if horizon < wanted || horizon >= INFINITE {
            let tail = tails.iter().copied().fold(Affine::default(), Affine::plus);
            let left = tail.at(horizon).saturating_sub(i128::from(horizon) * ONE);
            return Ok(round_up(most.max(left)));
        }
        wanted = horizon.saturating_mul(4).min(INFINITE);
    }
}

/// Follows the sum of all changes up to `horizon`; returns its largest distance above time, and
/// whether the busy period ends by then, but not before `least`.
fn sweep(all: &[Change], least: i64, horizon: i64) -> (i128, bool) {
    let (mut offset, mut slope, mut most) = (0i128, 0i128, 0);
    let mut index = 0;
    while index < all.len() {
        let time = all[index].time;
        if time > horizon {
            break;
        }
        while all.get(index).is_some_and(|change| change.time == time) {
            offset += all[index].offset;
            slope += all[index].slope;
            index += 1;
        }
        let next = all.get(index).map_or(horizon, |change| change.time.min(horizon));
        let left = |at: i64| offset.saturating_add((slope - ONE).saturating_mul(at.into()));
        // Between two changes the distance is linear: its extremes are at the ends.
        most = most.max(left(time)).max(left((next - 1).max(time)));
        if next >= least && left(next) <= 0 {
            return (most, true);
        }
    }
    (most, false)
}
