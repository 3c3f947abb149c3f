//! Demand priority: the hub grants high requests in turn, and normal ones if there is none.
//!
//! `h` is the time of the signalling, or the gap if that is longer, with the propagation there and
//! back. `V` is the sum of `F(L) + h` over all stations and classes that have frames, and `B` the
//! longest such frame.
//!
//! **Theorem.** (1) The turns of real-time frames have the interval `V` and the latency `B + V`.
//! (2) Those of ordinary frames have the interval and the latency `A + B + V`, where `A` is the
//! promotion time. (3) Without real-time frames on the medium, and if `V` is not longer than `A`, the
//! turns of ordinary frames have the interval `V` and the latency `B + V`.
//!
//! *Proof.* A station requests with its oldest frame of each class. (1) When a request comes, at most
//! one frame is being sent, or granted. High requests are granted in turn, among them those of
//! ordinary frames that have been promoted; each station has at most one of each kind at a time. So
//! at most one frame of every other station and class goes before. (2) Within `A` the frame at the head is
//! promoted, if it has not been sent; then (1) holds. (3) Normal requests are granted in turn as well,
//! so each is granted before a round has passed, and none gets as old as `A`. QED

use rtether_model::access::{Access, CLASSES, DemandPriority, Domain, ORDINARY, REAL_TIME};
use rtether_model::quantity::{Bytes, Duration};

use super::Turns;
use crate::source::add;

/// Returns the turns of any member, by class.
pub(super) fn turns(
    demand: &DemandPriority,
    access: &Access,
    domain: &Domain,
) -> [Option<Turns>; CLASSES] {
    let signalling = demand.signalling.max(domain.gap()) + domain.reach * 2;
    let sizes = access.members.iter().flat_map(|own| own.largest);
    let frames = sizes.filter(|size| *size > Bytes::ZERO);
    let costs = frames.map(|size| domain.frame(size) + signalling);
    let (round, longest) = costs
        .fold((Duration::ZERO, Duration::ZERO), |(sum, most), cost| (sum + cost, most.max(cost)));
    let (round, longest) = (round.as_ps(), longest.as_ps());
    let high = Turns { latency: add(longest, round), interval: round };
    let mut members = access.members.iter();
    let is_calm = members.all(|own| own.largest[usize::from(REAL_TIME)] == Bytes::ZERO);
    let promotion = demand.promotion.as_ps();
    let late = add(promotion, high.latency);
    let normal = if is_calm && high.latency <= promotion {
        high
    } else {
        Turns { latency: late, interval: late }
    };
    let mut turns = [None; CLASSES];
    turns[usize::from(ORDINARY)] = Some(normal);
    turns[usize::from(REAL_TIME)] = Some(high);
    turns
}
