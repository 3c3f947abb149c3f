//! Window of samples in fragments in flight to a reader, which has to reassemble them.
//!
//! A reader drops what it cannot keep and requests it again: sending more than it can reassemble is
//! wasted.

use crate::sequence::SequenceNumber;

/// Initial window, in samples.
const FIRST: u32 = 4;
/// Maximum window: as many samples as a reader of this implementation reassembles at a time.
const MAX: u32 = 16;
/// Octets of window per sample.
const OCTETS: usize = 64 << 10;

/// Limits the samples in fragments in flight to a reader.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    samples: u32,
    /// Last sample of the round: losses up to it count once.
    round: SequenceNumber,
}

impl Default for Window {
    fn default() -> Self {
        Self { samples: FIRST, round: SequenceNumber::ZERO }
    }
}

impl Window {
    /// Returns the window in samples.
    pub(super) const fn samples(self) -> u32 {
        self.samples
    }

    /// Returns whether a sample of `len` octets may follow `samples` in flight with `octets`.
    pub(super) fn admits(self, samples: u32, octets: usize, len: usize) -> bool {
        let max = usize::try_from(self.samples).unwrap_or(1) * OCTETS;
        samples == 0 || samples < self.samples && octets.saturating_add(len) <= max
    }

    /// Grows the window: all samples up to `acknowledged` have arrived, and none are requested.
    pub(super) fn on_clean(&mut self, acknowledged: SequenceNumber, sent: SequenceNumber) {
        if acknowledged > self.round {
            self.samples = (self.samples + 1).min(MAX);
            self.round = sent;
        }
    }

    /// Shrinks the window: samples or fragments are requested.
    pub(super) fn on_loss(&mut self, acknowledged: SequenceNumber, sent: SequenceNumber) {
        if acknowledged >= self.round {
            self.samples = (self.samples / 2).max(1);
            self.round = sent;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_by_one_a_clean_round_and_is_halved_once_a_round() {
        // Oracle: by hand.
        let number = SequenceNumber;
        let mut window = Window::default();
        for round in 1..=20 {
            window.on_clean(number(10 * round), number(10 * round + 9));
            window.on_clean(number(10 * round + 5), number(10 * round + 9));
        }
        assert_eq!(window.samples(), 16);
        for expected in [8, 8, 8] {
            window.on_loss(number(209), number(215));
            window.on_loss(number(212), number(215));
            assert_eq!(window.samples(), expected);
        }
        window.on_loss(number(215), number(220));
        assert_eq!(window.samples(), 4);
        assert!(window.admits(0, 0, 1 << 24), "one of any length");
        assert!(window.admits(3, 100, 1) && !window.admits(4, 100, 1));
        assert!(!window.admits(2, 200 << 10, 100 << 10));
    }
}
