//! Deficit round robin: turns of a number of octets (Shreedhar and Varghese, SIGCOMM 1995).
//!
//! In its turn a queue gets its quantum and sends while its head is no longer than what it has. It
//! keeps the rest for its next turn, unless it is empty then. The highest queue is first in each
//! round.

use super::Waiting;

#[derive(Clone, Debug)]
pub(super) struct Deficit {
    /// Octets per turn, by queue.
    quanta: [u16; 8],
    queues: u8,
    /// Octets that each queue may still send.
    deficits: [u32; 8],
    /// Queue whose turn it is, and whether it has its quantum.
    turn: u8,
    has_quantum: bool,
}

impl Deficit {
    pub(super) fn new(quanta: [u16; 8], queues: u8) -> Self {
        Self {
            // A quantum of zero would never let a frame go.
            quanta: quanta.map(|quantum| quantum.max(1)),
            queues,
            deficits: [0; 8],
            turn: queues - 1,
            has_quantum: false,
        }
    }

    /// Returns the queue to send from.
    pub(super) fn next(&mut self, waiting: &impl Waiting) -> Option<u8> {
        waiting.highest(self.queues)?;
        loop {
            let turn = usize::from(self.turn);
            if waiting.has_frame(self.turn) {
                if !self.has_quantum {
                    self.deficits[turn] += u32::from(self.quanta[turn]);
                    self.has_quantum = true;
                }
                let size = waiting.head_size(self.turn);
                if let Some(rest) = self.deficits[turn].checked_sub(size) {
                    self.deficits[turn] = rest;
                    return Some(self.turn);
                }
            } else {
                self.deficits[turn] = 0;
            }
            self.turn = match self.turn {
                0 => self.queues - 1,
                turn => turn - 1,
            };
            self.has_quantum = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtether_model::quantity::Instant;
    use std::vec::Vec;

    struct Queues(Vec<Vec<u32>>);

    impl Waiting for Queues {
        fn has_frame(&self, queue: u8) -> bool {
            !self.0[usize::from(queue)].is_empty()
        }

        fn head_size(&self, queue: u8) -> u32 {
            self.0[usize::from(queue)].first().copied().unwrap_or(0)
        }

        fn head_since(&self, _: u8) -> Instant {
            unreachable!("turns do not look at the clock")
        }
    }

    /// Returns queue and size of each frame in the order in which they leave.
    fn order(quanta: [u16; 8], queues: &[&[u32]]) -> Vec<(u8, u32)> {
        let mut waiting = Queues(queues.iter().map(|sizes| sizes.to_vec()).collect());
        let mut engine = Deficit::new(quanta, u8::try_from(queues.len()).unwrap());
        let next = || {
            let queue = engine.next(&waiting)?;
            Some((queue, waiting.0[usize::from(queue)].remove(0)))
        };
        core::iter::from_fn(next).collect()
    }

    /// Oracle: the example of Shreedhar and Varghese 1995, figures 2 and 3: quantum 500; the first
    /// queue sends 200 and keeps 300, which is too little for 750; the second sends 500; the third
    /// keeps 500 for its 600 and so on. Their first queue is our highest.
    #[test]
    fn the_published_example() {
        let queues: [&[u32]; 4] = [&[50, 700, 180], &[600, 100, 100], &[500], &[200, 750, 20]];
        let sent = order([500; 8], &queues);
        let first_rounds = [
            (3, 200),
            (2, 500),
            (0, 50),
            // Second round: 300 + 500 for 750, 500 + 500 for 600 and 100s, 450 + 500 for 700.
            (3, 750),
            (3, 20),
            (1, 600),
            (1, 100),
            (1, 100),
            (0, 700),
            (0, 180),
        ];
        assert_eq!(sent, first_rounds);
    }

    /// Oracle: by hand. Octets are shared as 1 to 2 whatever the sizes, up to one frame.
    #[test]
    fn shares_are_those_of_the_quanta() {
        let long = [1_500; 30];
        let short = [100; 900];
        let sent = order([1_500, 3_000, 0, 0, 0, 0, 0, 0], &[&long, &short]);
        let mut octets = [0; 2];
        for (queue, size) in &sent[..600] {
            octets[usize::from(*queue)] += size;
            assert!(octets[1].abs_diff(2 * octets[0]) <= 2 * 1_500 + 3_000, "{octets:?}");
        }
    }

    /// Oracle: by hand. A quantum below the frame takes rounds; an empty queue keeps nothing.
    #[test]
    fn a_small_quantum_takes_rounds() {
        let sent = order([64, 1_500, 0, 0, 0, 0, 0, 0], &[&[128, 128], &[1_500; 4]]);
        let long = (1, 1_500);
        assert_eq!(sent, [long, long, (0, 128), long, long, (0, 128)]);
    }
}
