//! FTT-Ethernet: elementary cycles `E` with a synchronous window `W`, then ordinary frames in turn.
//!
//! Message `i` takes `c_i` of the window, gap and the way there and back included, and is due once
//! in `P_i` cycles, at the first of them; `X` is the longest `c_i`. In each cycle the master lists
//! the messages that are due by the ends of their periods, until one does not fit.
//!
//! **Theorem.** If all `c_i` fit into `W`, or `sum c_i / P_i <= W - X`, each message is listed once
//! in each of its periods. (1) A station with a message for its largest real-time frame has turns
//! of the interval `P E` and the latency `2 P E`; the latency is `E` if every message is due in
//! every cycle. (2) Let `N` stations have ordinary frames, of which a visit takes at most `V`, and
//! let `A` be what is left of a cycle behind trigger message and window. If `v = floor(A / V) > 0`,
//! the turns of ordinary frames have the interval `m E` and the latency `(m + 1) E` with
//! `m = ceil(N / v)`.
//!
//! *Proof.* All that is sent in a cycle fits into it, and each station hears the trigger message
//! `reach` late at most, which `c_i` allows for twice, so cycles begin every `E` and no message
//! meets another. Where all fit, each is listed when it is due. Else let a message be left over at
//! the end of its period, before cycle `d`, and let `t < d` be the first cycle since the last one
//! that left over none of the messages with a period that ends by `d`. Each cycle from `t` to
//! `d - 1` has left over one of these, so it has listed more than `W - X` of them, since such a
//! message did not fit and those that end later stand behind it. In all, more than
//! `(d - t) (W - X)` of messages due at `t` or later with a period that ends by `d`; but there are
//! `sum floor((d - t) / P_i) c_i <= (d - t) (W - X)`.
//!
//! (1) The next period of the station's message begins within `P E`, and ends `P E` later, by when
//! a frame has been sent; another one has been at the end of each further period. Where every cycle
//! has all messages, each is at the same place of its cycle: turns come every `E`. (2) The master
//! asks while the largest frame of the next station fits into the cycle, so at least `v` stations
//! in each, and every station in `m` cycles; the cycle in which a frame comes may have no turn
//! left. QED

use rtether_model::access::{Access, Domain, Ftt, ORDINARY, REAL_TIME};
use rtether_model::quantity::Bytes;

use super::{Turns, every};
use crate::source::{add, times};

/// Returns the turns of a member for real-time frames; `None` without a message for its largest.
pub(super) fn real_time(ftt: &Ftt, access: &Access, member: usize) -> Option<Turns> {
    let largest = access.members[member].largest[usize::from(REAL_TIME)];
    let own = ftt.messages.iter();
    let own = own.filter(|own| own.member as usize == member && own.size >= largest);
    let period = own.map(|own| i64::from(own.every.max(1))).min()?;
    let cycle = ftt.cycle.as_ps();
    if ftt.is_whole() {
        return Some(every(cycle));
    }
    let interval = times(cycle, period);
    Some(Turns { latency: add(interval, interval), interval })
}

/// Returns the turns of any member for ordinary frames; `None` if a cycle has no room for one.
pub(super) fn ordinary(ftt: &Ftt, access: &Access, domain: &Domain) -> Option<Turns> {
    let members = access.members.iter();
    let count = members.filter(|own| own.largest[usize::from(ORDINARY)] > Bytes::ZERO);
    let count = i64::try_from(count.count()).unwrap_or(i64::MAX);
    let visit = ftt.visit(domain, (&access.members, access.response))?;
    let left = ftt.cycle - ftt.begins(domain, access.response);
    let visits = left.as_ps() / visit.as_ps().max(1);
    if visits <= 0 {
        return None;
    }
    let cycles = (count + visits - 1) / visits;
    let cycle = ftt.cycle.as_ps();
    Some(Turns { latency: times(cycle, cycles + 1), interval: times(cycle, cycles) })
}
