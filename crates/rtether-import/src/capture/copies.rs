//! Copies of frames that redundant networks send twice: those of HSR rings and PRP networks (IEC
//! 62439-3), which number the frames of each station; and which stations send them.

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

/// How a station is in the network, by the frames that it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attached {
    /// To one network: its frames have no numbers.
    Once,
    /// To two networks (PRP).
    Twice,
    /// To a ring (HSR).
    Ring,
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
    /// Stations that have sent.
    senders: BTreeMap<Mac, Attached>,
}

impl Copies {
    /// Notes who has sent a frame, and how it is attached. One frame with a number says it.
    pub(super) fn note(&mut self, from: Mac, own: Option<Numbered>) {
        let attached = match own {
            None => Attached::Once,
            Some(own) if own.is_ring => Attached::Ring,
            Some(_) => Attached::Twice,
        };
        let is_full = self.senders.len() >= MAX_STATIONS;
        if is_full && !self.senders.contains_key(&from) {
            return;
        }
        let known = self.senders.entry(from).or_insert(attached);
        if attached != Attached::Once {
            *known = attached;
        }
    }

    /// Returns how a station is attached; `None` if it has sent nothing.
    pub(super) fn attached(&self, station: Mac) -> Option<Attached> {
        self.senders.get(&station).copied()
    }

    /// Returns whether all frames with numbers are of a ring; `None` if there are none.
    pub(super) fn is_ring(&self) -> Option<bool> {
        let has = |wanted| self.senders.values().any(|own| *own == wanted);
        let [twice, ring] = [Attached::Twice, Attached::Ring].map(has);
        (twice || ring).then_some(!twice)
    }

    /// Takes a frame at a point; returns whether it is the copy of one that has come there.
    pub(super) fn is_copy(&mut self, interface: usize, from: Mac, own: Numbered) -> bool {
        self.numbered += 1;
        let key = (interface, from);
        if self.windows.len() >= MAX_STATIONS && !self.windows.contains_key(&key) {
            return false;
        }
        let first = Window { newest: own.sequence.wrapping_sub(1), known: 0 };
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
        let [ahead, behind] =
            [sequence.wrapping_sub(self.newest), self.newest.wrapping_sub(sequence)];
        if behind < KNOWN {
            let bit = 1 << behind;
            let is_known = self.known & bit != 0;
            self.known |= bit;
            return is_known;
        }
        // What is far away begins anew.
        let known = if ahead < KNOWN { self.known << ahead } else { 0 };
        *self = Self { newest: sequence, known: known | 1 };
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
