//! Copies of frames that redundant networks send twice: those of HSR rings and PRP networks (IEC
//! 62439-3), which number the frames of each station.

use std::collections::BTreeMap;

use super::frame::{Mac, Numbered};

/// Most stations at points of capture; frames of further ones all count.
const MAX_STATIONS: usize = 20_000;
/// Frames back to which copies are known, in either direction of the numbers.
const KNOWN: u16 = 128;

/// Numbers that came from a station.
#[derive(Clone, Copy, Debug)]
struct Window {
    newest: u16,
    /// Bit `n`: the number that is `n` below the newest one has come.
    known: u128,
}

/// What has come, and how many copies.
#[derive(Debug, Default)]
pub(super) struct Copies {
    windows: BTreeMap<(usize, Mac), Window>,
    /// Copies of rings, and of two networks.
    pub(super) rings: u64,
    pub(super) twins: u64,
    /// Frames that have a number.
    pub(super) numbered: u64,
}

impl Copies {
    /// Takes a frame at a point; returns whether it is the copy of one that has come there.
    pub(super) fn is_copy(&mut self, interface: usize, from: Mac, own: Numbered) -> bool {
        self.numbered += 1;
        let key = (interface, from);
        if self.windows.len() >= MAX_STATIONS && !self.windows.contains_key(&key) {
            return false;
        }
        let first = Window {
            newest: own.sequence.wrapping_sub(1),
            known: 0,
        };
        let window = self.windows.entry(key).or_insert(first);
        let is_known = window.take(own.sequence);
        if is_known && own.is_ring {
            self.rings += 1;
        } else if is_known {
            self.twins += 1;
        }
        is_known
    }
}

impl Window {
    /// Returns whether a number has come before.
    fn take(&mut self, sequence: u16) -> bool {
        let [ahead, behind] = [
            sequence.wrapping_sub(self.newest),
            self.newest.wrapping_sub(sequence),
        ];
        if behind < KNOWN {
            let bit = 1 << behind;
            let is_known = self.known & bit != 0;
            self.known |= bit;
            return is_known;
        }
        // What is far away begins anew.
        let known = if ahead < KNOWN {
            self.known << ahead
        } else {
            0
        };
        *self = Self {
            newest: sequence,
            known: known | 1,
        };
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: how the numbers were made: each twice, out of order, over their end, and once after a
    /// restart.
    #[test]
    fn each_number_counts_once() {
        let station = [2, 0, 0, 0, 0, 1];
        let mut copies = Copies::default();
        let mut firsts = 0;
        let mut take = |number: u32| {
            let own = Numbered {
                sequence: u16::try_from(number % 65_536).expect("an octet or two"),
                is_ring: true,
            };
            firsts += u32::from(!copies.is_copy(0, station, own));
        };
        for number in 65_000..66_000 {
            for own in [number, number - 5, number] {
                take(own);
            }
        }
        take(3);
        take(3);
        assert_eq!(firsts, 1_000 + 5 + 1);
        assert_eq!(copies.rings, u64::from(3_002 - firsts));
    }
}
