//! A sum of sending and receiving whose split is not known (`both`).
//!
//! **Theorem.** Let sending and receiving at a station take `y` and `x` more for every packet, with
//! `x + y = B`, and let a packet pass both, in either order. Take `B` more in each direction, as of
//! two costs that are not known ([`crate::gap`]). A bound on its delay less `B` is a bound, too.
//! *Proof.* A delay is a sum of waits and fixed times. A wait is the time at a place, or at a run of
//! places, up to the beginning of the service at the last one; where others interrupt that service,
//! the time of these counts as well. Bounds of waits hold for all `x` and `y` of `[0, B]`, since a
//! packet whose own service is shorter is not interrupted longer. No run begins with a stack or goes
//! on behind one, so both services of the packet itself are among the fixed times: `2 B` there
//! stands for `x + y = B`.
//!
//! A request and its answer pass the station that answers, and the one that has asked; a packet of
//! a station to itself passes its stack both ways. The streams of these end `B` earlier. All other
//! times keep `B` in each direction: what is behind a station sees its packets only.

use rtether_model::network::{EndStation, Stack};
use rtether_model::unknown::{CostName, stated};

use crate::classify::Way;
use crate::gap::Gap;
use crate::plant::Plant;
use crate::source::{INFINITE, add};

/// Returns the sum of a station in picoseconds; zero if it has none.
pub(crate) fn of(station: &EndStation) -> i64 {
    match station.stack {
        Stack::Linear(_) => stated(&station.unknown, CostName::Both).as_ps(),
        Stack::Zero | Stack::IpRate { .. } | Stack::Rtos(_) => 0,
    }
}

/// Returns whether a packet has passed a stack, or that which it answers has, before it passes it in
/// this direction: the sum of both directions is complete.
pub(crate) fn is_second(way: &Way<'_>, is_outbound: bool) -> bool {
    // A packet to its own station completes the sum on its way back, and so does its answer.
    if way.to == Some(way.from) { !is_outbound } else { way.is_answer }
}

/// Returns the end of a stream without what its packets cannot take twice.
pub(crate) fn end(plant: &Plant, (last, gap): (u32, Gap)) -> (u32, Gap) {
    let twice = twice(plant, last);
    let max = if gap.max < INFINITE { gap.max - twice } else { INFINITE };
    (last, Gap { max, ..gap })
}

/// Returns the time behind the last visit of a stream as it is shown: what it does not take twice is
/// shown at its stacks.
pub(crate) fn shown(plant: &Plant, last: u32, end: Gap) -> Gap {
    Gap { max: add(end.max, twice(plant, last)), ..end }
}

fn twice(plant: &Plant, last: u32) -> i64 {
    plant.way_to(last).map(|visit| visit.twice).fold(0, add)
}
