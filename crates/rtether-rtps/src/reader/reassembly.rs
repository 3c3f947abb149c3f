//! Samples that come in fragments.

use alloc::vec;
use alloc::vec::Vec;

use crate::sequence::{NumberSet, SequenceNumber};
use crate::time::WallTime;
use crate::wire::{DataFrag, InlineQos};

/// Samples of one writer that are put together at the same time.
const PARTIALS_MAX: usize = 4;

/// A sample of which some fragments are there.
#[derive(Debug)]
pub(crate) struct Partial {
    pub(crate) sequence: SequenceNumber,
    pub(crate) octets: Vec<u8>,
    pub(crate) inline: InlineQos,
    pub(crate) is_key: bool,
    pub(crate) time: Option<WallTime>,
    fragment_size: usize,
    /// Which fragments are there, 64 in a word.
    present: Vec<u64>,
    missing: u32,
    count: u32,
}

/// The samples of a writer that are being put together.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    partials: Vec<Partial>,
}

impl Partial {
    fn new(frag: &DataFrag<'_>, size: usize, inline: InlineQos, time: Option<WallTime>) -> Self {
        let fragment_size = usize::from(frag.fragment_size.max(1));
        let count = size.div_ceil(fragment_size);
        let fragments = u32::try_from(count).unwrap_or(u32::MAX);
        Self {
            sequence: frag.sequence,
            octets: vec![0; size],
            inline,
            is_key: frag.is_key,
            time,
            fragment_size,
            present: vec![0; count.div_ceil(64)],
            missing: fragments,
            count: fragments,
        }
    }

    fn is_present(&self, index: u32) -> bool {
        let word = usize::try_from(index / 64).ok();
        let word = word.and_then(|word| self.present.get(word));
        word.is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// Puts fragments in.
    fn put(&mut self, frag: &DataFrag<'_>) {
        let mut payload = frag.payload;
        for index in 0..u32::from(frag.fragments) {
            let Some(index) = (frag.first_fragment - 1).checked_add(index) else {
                return;
            };
            let Ok(start) = usize::try_from(index).map(|index| index * self.fragment_size) else {
                return;
            };
            let len = self
                .octets
                .len()
                .saturating_sub(start)
                .min(self.fragment_size);
            let is_present = self.is_present(index);
            let (Some(octets), Some(room)) =
                (payload.get(..len), self.octets.get_mut(start..start + len))
            else {
                return;
            };
            payload = payload.get(len..).unwrap_or_default();
            if len == 0 || is_present {
                continue;
            }
            room.copy_from_slice(octets);
            let word = usize::try_from(index / 64).ok();
            if let Some(word) = word.and_then(|word| self.present.get_mut(word)) {
                *word |= 1 << (index % 64);
                self.missing -= 1;
            }
        }
    }

    /// Returns which fragments are missing, as far as one message can say.
    pub(crate) fn missing(&self) -> NumberSet {
        let mut missing = (0..self.count).filter(|index| !self.is_present(*index));
        let first = missing.next().unwrap_or(self.count);
        let mut set = NumberSet::empty(i64::from(first) + 1);
        for index in core::iter::once(first).chain(missing) {
            if index >= self.count || !set.insert(i64::from(index) + 1) {
                break;
            }
        }
        set
    }
}

impl Reassembly {
    /// Takes in fragments of a sample of at most `size_max` octets; returns it once it is whole.
    pub(crate) fn take_in(
        &mut self,
        frag: &DataFrag<'_>,
        inline: InlineQos,
        time: Option<WallTime>,
        size_max: usize,
    ) -> Option<Partial> {
        let size = usize::try_from(frag.sample_size).ok();
        let size = size.filter(|size| *size <= size_max)?;
        let known = self.partials.iter();
        let known = known
            .into_iter()
            .position(|one| one.sequence == frag.sequence);
        let index = if let Some(index) = known {
            index
        } else {
            if self.partials.len() >= PARTIALS_MAX {
                // The one furthest ahead is asked for again when its turn comes.
                let ahead = self.partials.iter().map(|one| one.sequence).max();
                if ahead.is_some_and(|ahead| ahead < frag.sequence) {
                    return None;
                }
                self.partials.retain(|one| Some(one.sequence) != ahead);
            }
            self.partials.push(Partial::new(frag, size, inline, time));
            self.partials.len() - 1
        };
        let partial = self.partials.get_mut(index)?;
        let is_same = partial.octets.len() == size
            && partial.fragment_size == usize::from(frag.fragment_size);
        if !is_same {
            return None;
        }
        partial.put(frag);
        (partial.missing == 0).then(|| self.partials.swap_remove(index))
    }

    /// Returns the sample of this number, if it is not whole yet.
    pub(crate) fn get(&self, sequence: SequenceNumber) -> Option<&Partial> {
        self.partials.iter().find(|one| one.sequence == sequence)
    }

    /// Forgets what lies before `next`.
    pub(crate) fn forget_before(&mut self, next: SequenceNumber) {
        self.partials.retain(|one| one.sequence >= next);
    }
}
