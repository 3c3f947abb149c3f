//! Counts of received datagrams in a numbered sequence.

/// How many numbers below the highest are remembered, to tell duplicates from late datagrams.
const WINDOW: u64 = 64 * 64;

/// Counts datagrams of one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Distinct datagrams.
    pub received: u64,
    /// Octets of UDP payload in these.
    pub octets: u64,
    /// Duplicates.
    pub duplicates: u64,
    /// Datagrams overtaken by a later one.
    pub reordered: u64,
    /// Datagrams too late to be told from duplicates; not in `received`.
    pub stale: u64,
    /// One above the highest number.
    next: u64,
    /// One bit per number below `next`, indexed modulo the window.
    seen: [u64; 64],
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            received: 0,
            octets: 0,
            duplicates: 0,
            reordered: 0,
            stale: 0,
            next: 0,
            seen: [0; 64],
        }
    }
}

impl Tally {
    /// Records a datagram of `octets`.
    pub fn record(&mut self, sequence: u64, octets: u64) {
        let (word, bit) = place(sequence);
        if sequence < self.next {
            if self.next - sequence > WINDOW {
                self.stale += 1;
                return;
            }
            if self.seen[word] & bit != 0 {
                self.duplicates += 1;
                return;
            }
            self.reordered += 1;
        } else {
            self.forget_up_to(sequence);
            self.next = sequence.saturating_add(1);
        }
        self.seen[word] |= bit;
        self.received += 1;
        self.octets = self.octets.saturating_add(octets);
    }

    /// Clears the bits of the numbers from `next` to `sequence`.
    fn forget_up_to(&mut self, sequence: u64) {
        if sequence - self.next >= WINDOW {
            self.seen = [0; 64];
            return;
        }
        for number in self.next..=sequence {
            let (word, bit) = place(number);
            self.seen[word] &= !bit;
        }
    }
}

fn place(sequence: u64) -> (usize, u64) {
    let place = sequence % WINDOW;
    // At most 63.
    let word = usize::try_from(place / 64).unwrap_or(0);
    (word, 1 << (place % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::vec::Vec;

    proptest! {
        #[test]
        fn datagrams_are_counted_like_a_set(steps in prop::collection::vec(0_u64..6_000, 0..300)) {
            // Oracle: a set that remembers everything, for numbers within the window.
            let (mut tally, mut all) = (Tally::default(), BTreeSet::new());
            let (mut duplicates, mut reordered, mut stale) = (0, 0, 0);
            for sequence in steps {
                let highest = all.last().copied();
                match highest {
                    Some(highest) if highest + 1 > sequence + WINDOW => stale += 1,
                    _ if all.contains(&sequence) => duplicates += 1,
                    _ => {
                        reordered += u64::from(highest.is_some_and(|highest| highest > sequence));
                        all.insert(sequence);
                    }
                }
                tally.record(sequence, 10);
            }
            prop_assert_eq!(tally.received, all.len() as u64);
            prop_assert_eq!(tally.octets, 10 * all.len() as u64);
            prop_assert_eq!(
                [tally.duplicates, tally.reordered, tally.stale],
                [duplicates, reordered, stale]
            );
        }
    }

    #[test]
    fn the_highest_number_does_no_harm() {
        // Oracle: by hand; a hostile sender may choose any number.
        let mut tally = Tally::default();
        for sequence in [0, u64::MAX, u64::MAX, 1] {
            tally.record(sequence, 1);
        }
        let counts: Vec<u64> = [tally.received, tally.stale].into();
        assert_eq!(counts[1], 1);
    }
}
