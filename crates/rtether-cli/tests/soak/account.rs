//! Explains each datagram that did not arrive.
//!
//! A flow stays in order while its rules do, so a lost datagram was lost between its sending and
//! the arrival of the next one that arrived. If that time overlaps a window in which frames may be
//! lost, the window is its cause; otherwise the shim must have counted it as dropped.

use crate::flow::{Arrival, Kind};

/// Longer than any frame waits with the configurations of a soak; this is checked. A flow whose
/// queue changes may overtake itself, and an overtaken datagram is lost later than it seems.
pub(crate) const WAIT_MAX: u64 = 10_000_000_000;

/// Why frames may be lost for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// `kill -9`, until the device is restored.
    Kill,
    /// Another shim is set up, until frames get through it.
    Start,
    /// A shim ends in order.
    End,
    /// A device is down, until frames get through again.
    Link,
}

impl Cause {
    pub(crate) const ALL: [Self; 4] = [Self::Kill, Self::Start, Self::End, Self::Link];
}

/// A time in which frames may be lost, in nanoseconds since the soak began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) cause: Cause,
    pub(crate) from: u64,
    pub(crate) until: u64,
}

/// A datagram that did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    pub(crate) number: u64,
    /// When it was sent.
    pub(crate) from: u64,
    /// Latest time of its loss.
    pub(crate) until: u64,
}

impl Lost {
    pub(crate) fn cause(&self, windows: &[Window]) -> Option<Cause> {
        let touching = |window: &&Window| self.from <= window.until && self.until >= window.from;
        windows.iter().find(touching).map(|window| window.cause)
    }
}

/// Datagrams of a flow between two times at which nothing was under way.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) sent: u64,
    pub(crate) lost: Vec<Lost>,
    /// Datagrams that arrived twice.
    pub(crate) twice: u64,
    /// Datagrams that arrived although nothing was under way any more.
    pub(crate) late: u64,
    /// Longest delay of a datagram.
    pub(crate) longest: u64,
}

/// Accounts for the datagrams from number `first` on; `end` is the time of the account.
pub(crate) fn ledger(
    kind: Kind,
    first: u64,
    sent: &[u64],
    arrived: &[Arrival],
    end: u64,
) -> Ledger {
    let mut ledger = Ledger { sent: u64::try_from(sent.len()).unwrap(), ..Ledger::default() };
    let mut came: Vec<Option<u64>> = vec![None; sent.len()];
    for Arrival { number, at } in arrived {
        let index = number.checked_sub(first).and_then(|n| usize::try_from(n).ok());
        match index.and_then(|index| Some((came.get_mut(index)?, sent[index]))) {
            None => ledger.late += 1,
            Some((Some(_), _)) => ledger.twice += 1,
            Some((place, sent)) => {
                *place = Some(*at);
                ledger.longest = ledger.longest.max(at.saturating_sub(sent));
            }
        }
    }
    let slack = if kind == Kind::Mixed { WAIT_MAX } else { 0 };
    let (mut next, mut number) = (end, first + ledger.sent);
    for (&from, came) in sent.iter().zip(&came).rev() {
        number -= 1;
        match came {
            Some(at) => next = next.min(*at),
            None => ledger.lost.push(Lost { number, from, until: next + slack }),
        }
    }
    ledger.lost.reverse();
    ledger
}

/// Frames that the shim has counted as dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dropped {
    /// In the queues of each kind, in the order of [`Kind::ALL`].
    pub(crate) of_kind: [u64; 5],
    /// On the way out, not counted by any queue.
    pub(crate) out: u64,
    /// On the way in, not counted by any queue.
    pub(crate) into: u64,
}

impl Dropped {
    pub(crate) fn since(&self, before: &Self) -> Result<Self, String> {
        let less = |now: u64, before: u64| {
            now.checked_sub(before)
                .ok_or_else(|| format!("a counter went back from {before} to {now}"))
        };
        let mut since =
            Self { out: less(self.out, before.out)?, into: less(self.into, before.into)?, ..*self };
        for (count, before) in since.of_kind.iter_mut().zip(before.of_kind) {
            *count = less(*count, before)?;
        }
        Ok(since)
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.out += other.out;
        self.into += other.into;
        for (count, more) in self.of_kind.iter_mut().zip(other.of_kind) {
            *count += more;
        }
    }
}

/// Compares the datagrams of each kind lost outside of all windows with the counters of the shim;
/// the counts must be equal for kinds that have their queues to themselves if there was no window
/// (`is_calm`).
pub(crate) fn judge(outside: [u64; 5], dropped: &Dropped, is_calm: bool) -> Result<(), String> {
    let mut beyond = [0, 0];
    for ((kind, lost), counted) in Kind::ALL.into_iter().zip(outside).zip(dropped.of_kind) {
        let way = usize::from(kind.from() == crate::bed::Side::Far);
        beyond[way] += lost.saturating_sub(counted);
        if is_calm && kind != Kind::Mixed && counted > lost {
            return Err(format!(
                "{kind:?}: the shim counts {counted} dropped frames, and {lost} were lost"
            ));
        }
    }
    for (beyond, counted, way) in [(beyond[0], dropped.out, "out"), (beyond[1], dropped.into, "in")]
    {
        if beyond > counted {
            return Err(format!(
                "on the way {way} {beyond} more frames were lost than queues dropped; the shim \
                 counts {counted} others"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(all: &[(u64, u64)]) -> Vec<Arrival> {
        let one = |&(number, at)| Arrival { number, at };
        all.iter().map(one).collect()
    }

    #[test]
    fn lost_datagrams_have_a_time() {
        // By hand: 7 and 9 arrive, 8 and 10 do not; 9 arrives twice, 3 is of an earlier account.
        let sent = [100, 200, 300, 400];
        let came = arrivals(&[(7, 150), (3, 160), (9, 390), (9, 391)]);
        let ledger = ledger(Kind::BulkOut, 7, &sent, &came, 1_000);
        let lost = |number, from, until| Lost { number, from, until };
        assert_eq!(ledger.lost, [lost(8, 200, 390), lost(10, 400, 1_000)]);
        assert_eq!((ledger.sent, ledger.twice, ledger.late), (4, 1, 1));
        assert_eq!(ledger.longest, 90);
        let window = |from, until| Window { cause: Cause::Kill, from, until };
        let at = |from, until| ledger.lost[0].cause(&[window(from, until)]);
        assert_eq!(at(100, 199), None);
        assert_eq!(at(100, 200), Some(Cause::Kill));
        assert_eq!(at(390, 500), Some(Cause::Kill));
        assert_eq!(at(391, 500), None);
    }

    #[test]
    fn what_nobody_counts_is_a_defect() {
        // By hand: bulk queues dropped 5, and something else in transmit direction 2 more.
        let dropped = Dropped { of_kind: [0, 5, 9, 0, 0], out: 2, into: 0 };
        for (outside, is_calm, is_good) in [
            ([0, 5, 0, 0, 0], true, true),
            ([1, 6, 9, 0, 0], true, true),
            ([1, 7, 9, 0, 0], true, false),
            ([0, 5, 12, 0, 0], true, false),
            ([0, 5, 0, 1, 0], true, false),
            ([0, 4, 0, 0, 0], true, false),
            ([0, 4, 0, 0, 0], false, true),
        ] {
            let judged = judge(outside, &dropped, is_calm);
            assert_eq!(judged.is_ok(), is_good, "{outside:?}: {judged:?}");
        }
    }
}
