//! Weighted round robin by frames.
//!
//! Queue `q` has weight `w`. While queue `q` has frames, the others are served for at most `Q = sum
//! w_k * L_k` (`L_k` the longest frame of queue `k`) between two turns of `q`, each turn of `q` has
//! `w` frames, and one further frame, which an idle port took without a turn, may be in front at
//! the beginning. The `n`-th frame therefore waits for `B + ceil(n / w) * Q` besides its own queue,
//! and with `ceil(n / w) <= (n - 1) / w + 1` this is a queue in order of arrival in which every
//! frame costs `Q / w` more, behind `B + Q - Q / w`. With a strict queue above, its frames count as
//! higher ones. (Boyer, Stea and Sofack 2012 argue similarly for deficits; what is proved here is
//! the text above, on frames.) A frame also leaves at the latest when the whole port runs empty, so
//! that the smaller of both bounds holds.

use super::port::{Port, Waits, smaller};
use crate::source::{INFINITE, add, times};

/// Weighted round robin, maybe below a strict queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RoundRobin {
    /// Frames per turn, by queue.
    pub(crate) weights: [u8; 8],
    /// The queue that goes before all turns.
    pub(crate) strict: Option<u8>,
}

impl RoundRobin {
    /// Returns the waits of a queue.
    pub(crate) fn waits(self, port: &Port<'_>, queue: u8) -> Waits {
        if self.strict == Some(queue) {
            return super::strict::waits(port, queue);
        }
        let until_empty = port.waits(queue, 0, |other| other != queue);
        let own = i64::from(self.weights[usize::from(queue)]);
        if own == 0 {
            return until_empty;
        }
        let takes_turns = |other: u8| other != queue && Some(other) != self.strict;
        let queues = port.queues.iter().map(|(other, _)| *other);
        let round: i64 = queues
            .filter(|&other| takes_turns(other))
            .map(|other| {
                let weight = i64::from(self.weights[usize::from(other)]);
                times(port.longest(|queue| queue == other), weight)
            })
            .fold(0, add);
        if round >= INFINITE {
            return until_empty;
        }
        let base = port.longest(takes_turns) + round - round / own;
        let extra = (i128::from(round), i128::from(own));
        let by_turns =
            port.waits_brought(queue, base, |_| extra, |other| Some(other) == self.strict);
        smaller(until_empty, by_turns)
    }
}
