//! Virtual token ring: the turn goes on at the end of each frame, or after the silence `t2`.
//!
//! **Theorem.** With `R` the sum over all stations of `max(F(L_j) + G + 2 tau, t2)`, the turns of each
//! have the interval `R` and the latency `R + G`.
//!
//! *Proof.* All stations count the same turns, each up to `tau` later than the sender of the last
//! frame, and since `t2` is longer than the gap and two propagations
//! ([`rtether_model::access::Access::check`]), each hears that a turn is used before it takes it for
//! unused. A used turn ends with the frame, which begins at most `G` after the turn; an unused one
//! after `t2`. So a turn of the station begins at most `R` after the one before. A frame that waits
//! when the turn begins is sent, after a gap at most; the `n`-th one in the queue in the `n`-th turn.
//! QED

use rtether_model::access::{Access, Domain, Member, VirtualToken};
use rtether_model::quantity::Duration;

use super::Turns;
use crate::source::add;

/// Returns the turns of any member.
pub(super) fn turns(token: &VirtualToken, access: &Access, domain: &Domain) -> Turns {
    let used = |own: &Member| {
        let frame = domain.frame(own.largest_of_all());
        (frame + domain.gap() + domain.reach * 2).max(token.silence)
    };
    let round: Duration = access.members.iter().map(used).sum();
    let round = round.as_ps();
    Turns { latency: add(round, domain.gap().as_ps()), interval: round }
}
