//! Timed token as of RETHER: a cycle of at most `T`, reservations `H_i`, then ordinary frames in turn.
//!
//! `p` is the time for which the token is on its way, gap and response time included, and `c` that of
//! the largest frame with a gap.
//!
//! **Theorem.** (1) A station with the reservation `H_i` sends `n = floor(H_i / c_i)` real-time frames
//! in each cycle if `n` wait. If `n > 0`, their turns have the interval `T / n` and the latency
//! `T + J + G`, where `J` is the sum of `H_j + p` of the stations visited before. (2) Let `R` be the sum
//! of all `H_j + p`, `N` the number of stations, `c` the largest of the ordinary frames, and
//! `v = floor((T - R) / (p + c))`. If `v > 0`, the turns of ordinary frames have the interval `m T` and
//! the latency `(m + 1) T + G` with `m = ceil(N / v)`.
//!
//! *Proof.* A station passes the token on only while enough of the cycle is left for the way back, and
//! what is left falls with time, so the first station with a reservation has the token again within
//! `T`. (1) Within a cycle, the token comes to the station at most `J` after the first one, and its
//! first frame begins after a gap at most. Each frame takes `c_i`, so `n` fit into `H_i`. A frame that
//! comes just after the token has gone waits for the next visit, less than `T + J` later; frames `n + 1`
//! to `2 n` wait for the one after it, and so on. With `c_i <= T / n`, the line with this latency and
//! interval is above all of them. (2) The visits with reservations take `R` at most, and each further
//! one `p + c`. Visit number `v` still has room for a frame and the way back. So each cycle has `v`
//! ordinary visits, and in `m` cycles each station has one; the cycle in which the frame comes may have
//! no more of them. QED

use rtether_model::access::{Access, Domain, ORDINARY, REAL_TIME, TimedToken};
use rtether_model::quantity::{Bytes, Duration};

use super::Turns;
use crate::source::{add, times};

/// Returns the turns of a member for real-time frames; `None` without a reservation that has room
/// for its largest.
pub(super) fn real_time(
    token: &TimedToken,
    access: &Access,
    domain: &Domain,
    member: usize,
) -> Option<Turns> {
    let pass = TimedToken::pass(domain, access.response);
    let largest = access.members[member].largest[usize::from(REAL_TIME)];
    let cost = (domain.frame(largest) + domain.gap()).as_ps();
    let frames = token.reservations[member].as_ps() / cost;
    if frames == 0 {
        return None;
    }
    let before = token.reservations[..member].iter();
    let before = before.filter(|own| **own > Duration::ZERO);
    let spread: Duration = before.map(|own| *own + pass).sum();
    let cycle = token.cycle.as_ps();
    Some(Turns {
        latency: add(add(cycle, spread.as_ps()), domain.gap().as_ps()),
        interval: cycle / frames + 1,
    })
}

/// Returns the turns of any member for ordinary frames; `None` if a cycle has no room for one.
pub(super) fn ordinary(token: &TimedToken, access: &Access, domain: &Domain) -> Option<Turns> {
    let pass = TimedToken::pass(domain, access.response);
    let reserved = token.reservations.iter().filter(|own| **own > Duration::ZERO);
    let reserved: Duration = reserved.map(|own| *own + pass).sum();
    let largest = access.members.iter().map(|own| own.largest[usize::from(ORDINARY)]);
    let largest = largest.fold(Bytes::ZERO, Bytes::max);
    let visit = (pass + domain.frame(largest) + domain.gap()).as_ps();
    let visits = (token.cycle - reserved).as_ps() / visit;
    if visits <= 0 {
        return None;
    }
    let members = i64::try_from(access.members.len()).unwrap_or(i64::MAX);
    let cycles = (members + visits - 1) / visits;
    let cycle = token.cycle.as_ps();
    Some(Turns {
        latency: add(times(cycle, cycles + 1), domain.gap().as_ps()),
        interval: times(cycle, cycles),
    })
}
