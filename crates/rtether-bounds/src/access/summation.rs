//! Summation frames: a cycle `T` in which process data go round, and then an ordinary frame.
//!
//! `B` is the time of the process data of a cycle, `a_i` the time from the master to station `i`,
//! and `a` the time until the same bit is back. `M_i` is the time of the mailbox of `i`.
//!
//! **Theorem.** (1) A station with `n` places has turns for real-time frames with the latency `T`
//! and the interval `T / n`. Its frame is at the master within `B + a` from its turn, that of the
//! master at any station as well; what the master passes on takes `T` more. (2) With `N` stations
//! that have ordinary frames, their turns have the interval `N T` and the latency `(N + 1) T`. Such a
//! frame takes `M_i + a`; passed on, the gap and the same again, or `2 T` more if the master does not
//! write it behind the mailbox that it has read.
//!
//! *Proof.* All that is sent in a cycle fits into it, with the way back
//! ([`rtether_model::access::Access::check`]), and only the master sends, so cycles begin every `T`,
//! and process data pass station `i` exactly `a_i` later. (1) A frame that waits is put in when the
//! next process data pass, `T` later at most, with `n - 1` others; frames `n + 1` to `2 n` go with
//! the ones after them, and so on: the line with this latency and interval is above all of them. The
//! last bit is back `B + a - a_i` after the turn; one for station `j` goes with the next cycle, and
//! is there `T + a_j + B - a_i` after the turn, with `a_j < a`. (2) Let a frame come to an empty
//! queue in cycle `c`. Its station tells so in the process data of `c + 1`, which are back before
//! the master chooses; it chooses in turn, so at most `N - 1` others have mailboxes before, one in
//! each cycle, and the frame is put in before cycle `c + N` ends. A station that has had its turn
//! tells in the next cycle that more wait, and has another one within `N` cycles. The mailbox is back
//! `M_i + a` after it began; what is passed on follows a gap later, at most, and is as long; without
//! that, it goes with the process data of the next cycle. QED

use rtether_model::access::{Access, CLASSES, Domain, Member, ORDINARY, REAL_TIME, Summation};
use rtether_model::quantity::Bytes;

use super::Turns;
use crate::source::{add, times};

/// How long frames are under way from their turn on, by class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carriage {
    pub(crate) least: [i64; CLASSES],
    /// To the master, or from it.
    pub(crate) most: [i64; CLASSES],
    /// More than that from one station to another; zero for the master.
    pub(crate) relay: [i64; CLASSES],
    pub(crate) is_master: bool,
}

/// Returns the turns of a member for real-time frames; `None` without places.
pub(super) fn real_time(summation: &Summation, member: usize) -> Option<Turns> {
    let places = i64::from(summation.places[member]);
    let cycle = summation.cycle.as_ps();
    (places > 0).then(|| Turns { latency: cycle, interval: (cycle - 1) / places + 1 })
}

/// Returns the turns of any member for ordinary frames.
pub(super) fn ordinary(summation: &Summation, access: &Access) -> Turns {
    let has_frames = |own: &&Member| own.largest[usize::from(ORDINARY)] > Bytes::ZERO;
    let stations = access.members.iter().filter(has_frames).count();
    let stations = i64::try_from(stations).unwrap_or(i64::MAX);
    let cycle = summation.cycle.as_ps();
    Turns { latency: times(cycle, stations.saturating_add(1)), interval: times(cycle, stations) }
}

/// Returns how long the frames of a member are under way.
pub(super) fn carriage(
    summation: &Summation,
    (access, domain): (&Access, &Domain),
    member: usize,
) -> Carriage {
    let (master, count) = (summation.master, access.members.len());
    let back = summation.way(domain, (master, count)).as_ps();
    let cycle = summation.cycle.as_ps();
    let largest = access.members[member].largest[usize::from(ORDINARY)];
    let mut least = [0; CLASSES];
    least[usize::from(REAL_TIME)] = domain.frame(summation.process()).as_ps();
    least[usize::from(ORDINARY)] = domain.frame(Summation::mailbox(largest)).as_ps();
    let most = least.map(|time| add(time, back));
    let is_master = member == master as usize;
    let mut relay = [0; CLASSES];
    if !is_master {
        relay[usize::from(REAL_TIME)] = cycle;
        relay[usize::from(ORDINARY)] = if summation.relays {
            add(most[usize::from(ORDINARY)], domain.gap().as_ps())
        } else {
            times(cycle, 2)
        };
    }
    Carriage { least, most, relay, is_master }
}
