//! ETHERNET Powerlink: a cycle `T` with a real-time frame of each node, and one ordinary frame.
//!
//! **Theorem.** (1) The turns of real-time frames have the interval `T` and the latency `T + J + G`,
//! where `J` is what the exchanges before the node's may take longer than their shortest. (2) With
//! `N` nodes that have ordinary frames, the turns of these have the interval `N T` and the latency
//! `(N + 1) T`.
//!
//! *Proof.* All frames of a cycle fit into it ([`rtether_model::access::Access::check`]), nobody else
//! sends, and answers come before their timeout, so cycles begin every `T`. (1) As in
//! [`super::polling`] with a shortest cycle. (2) Let a frame come to an empty queue in cycle `c`. The
//! node tells so in its answer in cycle `c + 1` at the latest; the managing node knows of its own. It
//! grants in turn, so at most `N - 1` other nodes have a grant before, one in each cycle from `c + 1`
//! on: the frame begins before the end of cycle `c + N`, and cycle `c` had begun when it came. A node
//! that has had its grant in a cycle tells in the next one that more wait, and is granted within `N`
//! cycles from then. QED

use rtether_model::access::{Access, CONTROL, Domain, ORDINARY, Powerlink, REAL_TIME};
use rtether_model::quantity::{Bytes, Duration};

use super::Turns;
use crate::source::{add, times};

/// Returns the turns of a member for real-time frames.
pub(super) fn real_time(
    powerlink: &Powerlink,
    access: &Access,
    domain: &Domain,
    member: usize,
) -> Turns {
    let master = powerlink.master as usize;
    let gap = domain.gap();
    let answered = access.response.max(gap) + domain.reach * 2 + gap;
    // The managing node sends its own behind all others.
    let is_before = |own: usize| own != master && (own < member || member == master);
    let mut spread = Duration::ZERO;
    for (own, at) in access.members.iter().zip(0..) {
        if is_before(at) {
            let longest = domain.frame(own.largest[usize::from(REAL_TIME)]);
            spread += longest - domain.frame(CONTROL) + answered - gap * 2;
        }
    }
    let cycle = powerlink.cycle.as_ps();
    Turns {
        latency: add(add(cycle, spread.as_ps()), (gap + domain.reach).as_ps()),
        interval: cycle,
    }
}

/// Returns the turns of any member for ordinary frames.
pub(super) fn ordinary(powerlink: &Powerlink, access: &Access) -> Turns {
    let has_frames = |own: &Bytes| *own > Bytes::ZERO;
    let largest = access.members.iter().map(|own| own.largest[usize::from(ORDINARY)]);
    let nodes = largest.filter(has_frames).count();
    let nodes = i64::try_from(nodes).unwrap_or(i64::MAX);
    let cycle = powerlink.cycle.as_ps();
    Turns { latency: times(cycle, nodes.saturating_add(1)), interval: times(cycle, nodes) }
}
