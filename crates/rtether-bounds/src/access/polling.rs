//! Polling: a master asks its slaves in turn.
//!
//! `x` is the response time or the gap `G` if that is longer, `tau` the longest propagation, `F(L)`
//! the time of a frame, and a request has 64 octets. An exchange with slave `j` takes at most
//! `E_j = F(64) + tau + x + F(L_j) + tau + G`, since its answer is its largest frame or an empty one
//! of 64 octets; the master's own frame behind the last one takes `F(L_m) + G`.
//!
//! **Theorem.** Let `P` be the sum of all these, or the cycle if that is longer. The turns of a member
//! have the interval `P` and the latency `P + J + G`, where `J = 0` without a shortest cycle, and
//! otherwise what the exchanges before the member's may take longer than their shortest.
//!
//! *Proof.* Nobody else sends, so an answer always comes before the timeout, and the master goes on
//! when it has heard it. Without a shortest cycle, the time from one turn of a member to the next is
//! that of one exchange with every slave and one frame of the master: at most `P`. With one, a cycle
//! begins at most `P` after the one before, and the turn lies between the sum of the shortest and
//! that of the longest exchanges before it. A turn is decided when the response time is over, and the
//! gap may let the frame begin later, by at most `G`. A frame that comes just after such a decision
//! is sent in the next turn, the `n`-th frame from there in the `n`-th turn. QED

use alloc::vec::Vec;

use rtether_model::access::{Access, CONTROL, Domain, Polling};

use super::Turns;
use crate::source::{add, times};

/// Returns the turns of a member.
pub(super) fn turns(polling: &Polling, access: &Access, domain: &Domain, member: usize) -> Turns {
    let master = polling.master as usize;
    let gap = domain.gap();
    let answered = access.response.max(gap) + domain.reach * 2 + gap;
    let asked = domain.frame(CONTROL) + answered;
    let exchange = |own: usize| {
        let largest = domain.frame(access.members[own].largest_of_all());
        if own == master { (largest + gap).as_ps() } else { (asked + largest).as_ps() }
    };
    let all = (0..access.members.len()).map(exchange).fold(0, add);
    let period = all.max(polling.cycle.as_ps());
    let slaves = (0..access.members.len()).filter(|own| *own != master);
    let before: Vec<usize> = if member == master {
        slaves.collect()
    } else {
        slaves.take_while(|own| *own != member).collect()
    };
    let shortest = (domain.frame(CONTROL) * 2 + gap * 2).as_ps();
    let count = i64::try_from(before.len()).unwrap_or(i64::MAX);
    let latest = before.into_iter().map(exchange).fold(0, add);
    let spread =
        if polling.cycle.as_ps() == 0 { 0 } else { (latest - times(shortest, count)).max(0) };
    Turns { latency: add(add(period, spread), gap.as_ps()), interval: period }
}
