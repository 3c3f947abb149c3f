//! Weighted round robin by frames, highest queue first in each round; maybe below a strict queue.

use super::Waiting;

#[derive(Clone, Debug)]
pub(super) struct RoundRobin {
    /// Frames per turn, by queue.
    weights: [u8; 8],
    /// Number of queues that take turns: the lowest ones.
    turns: u8,
    /// The queue that goes before all turns.
    strict: Option<u8>,
    /// Queue whose turn it is, and the frames it may still send.
    turn: u8,
    credit: u8,
}

impl RoundRobin {
    pub(super) const fn new(weights: [u8; 8], queues: u8) -> Self {
        Self {
            weights,
            turns: queues,
            strict: None,
            // The lowest queue has no credit left, so the round begins at the highest.
            turn: 0,
            credit: 0,
        }
    }

    /// The same with a strict queue above the others.
    pub(super) const fn below_strict(weights: [u8; 8], queues: u8) -> Self {
        Self { strict: Some(queues - 1), ..Self::new(weights, queues - 1) }
    }

    /// Returns the queue to send from.
    #[inline]
    pub(super) fn next(&mut self, waiting: &impl Waiting) -> Option<u8> {
        if let Some(strict) = self.strict.filter(|&queue| waiting.has_frame(queue)) {
            return Some(strict);
        }
        // Each queue gets its turn, and the current one a new turn at the end of the round.
        for _ in 0..=self.turns {
            if self.credit > 0 && waiting.has_frame(self.turn) {
                self.credit -= 1;
                return Some(self.turn);
            }
            self.turn = match self.turn {
                0 => self.turns.saturating_sub(1),
                turn => turn - 1,
            };
            self.credit = self.weights[usize::from(self.turn)];
        }
        // A queue without weight sends when no other has a frame.
        waiting.highest(self.turns)
    }
}
