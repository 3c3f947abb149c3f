//! Reassembly of samples in fragments.
//!
//! The announced length of a sample reserves nothing: room is reserved for the octets that have
//! arrived, and as much again.

use alloc::vec::Vec;

use super::pool::Share;
use crate::sequence::{NumberSet, SequenceNumber};
use crate::time::{Instant, WallTime};
use crate::wire::{DataFrag, InlineQos};
use crate::writer::PARTIALS_MAX;

/// Octets reserved before any have arrived.
const AHEAD: usize = 64 << 10;

/// An incomplete sample.
#[derive(Debug)]
pub(crate) struct Partial {
    pub(crate) sequence: SequenceNumber,
    /// Octets reserved so far; in the end the whole sample.
    pub(crate) octets: Vec<u8>,
    /// Share of these octets in the room shared by readers.
    share: Share,
    pub(crate) inline: InlineQos,
    pub(crate) is_key: bool,
    pub(crate) time: Option<WallTime>,
    /// Time of the last new fragment.
    pub(crate) touched_at: Instant,
    /// Octets that have arrived.
    pub(crate) arrived: usize,
    size: usize,
    fragment_size: usize,
    /// Bitmap of the fragments present, 64 per word.
    present: Vec<u64>,
    missing: u32,
    count: u32,
}

/// Incomplete samples of a writer.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    partials: Vec<Partial>,
}

/// Returns the end of fragments within the sample.
fn end(frag: &DataFrag<'_>) -> Option<usize> {
    let before = usize::try_from(frag.first_fragment.checked_sub(1)?).ok()?;
    let start = before.checked_mul(usize::from(frag.fragment_size))?;
    start.checked_add(frag.payload.len())
}

impl Partial {
    fn new(now: Instant, frag: &DataFrag<'_>, size: usize, share: Share) -> Self {
        let fragment_size = usize::from(frag.fragment_size.max(1));
        let fragments = u32::try_from(size.div_ceil(fragment_size)).unwrap_or(u32::MAX);
        Self {
            sequence: frag.sequence,
            octets: Vec::new(),
            share,
            inline: InlineQos::default(),
            is_key: frag.is_key,
            time: None,
            touched_at: now,
            arrived: 0,
            size,
            fragment_size,
            present: Vec::new(),
            missing: fragments,
            count: fragments,
        }
    }

    fn is_same(&self, frag: &DataFrag<'_>, size: usize) -> bool {
        self.size == size && self.fragment_size == usize::from(frag.fragment_size)
    }

    fn is_present(&self, index: u32) -> bool {
        let word = usize::try_from(index / 64).ok();
        let word = word.and_then(|word| self.present.get(word));
        word.is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    fn mark(&mut self, index: u32) {
        let Ok(word) = usize::try_from(index / 64) else {
            return;
        };
        if self.present.len() <= word {
            self.present.resize(word + 1, 0);
        }
        if let Some(word) = self.present.get_mut(word) {
            *word |= 1 << (index % 64);
            self.missing = self.missing.saturating_sub(1);
        }
    }

    /// Extends the buffer to the size of its share.
    fn grow(&mut self) {
        let len = self.share.octets().min(self.size);
        let more = len.saturating_sub(self.octets.len());
        if more > 0 {
            self.octets.reserve_exact(more);
            self.octets.resize(len, 0);
        }
    }

    /// Copies fragments into the sample.
    fn put(&mut self, frag: &DataFrag<'_>) {
        let mut payload = frag.payload;
        for index in 0..u32::from(frag.fragments) {
            let Some(index) = (frag.first_fragment - 1).checked_add(index) else {
                return;
            };
            let Ok(start) = usize::try_from(index).map(|index| index * self.fragment_size) else {
                return;
            };
            let len = self.size.saturating_sub(start).min(self.fragment_size);
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
            self.arrived += len;
            self.mark(index);
        }
    }

    fn first_missing(&self) -> u32 {
        let mut words = self.present.iter();
        let word = words.position(|word| *word != u64::MAX);
        let word = word.unwrap_or(self.present.len());
        let bits = self.present.get(word).map_or(0, |word| word.trailing_ones());
        let before = u32::try_from(word).unwrap_or(u32::MAX).saturating_mul(64);
        before.saturating_add(bits)
    }

    /// Returns the missing fragments, as far as one message can list them.
    pub(crate) fn missing(&self) -> NumberSet {
        let first = self.first_missing();
        let mut set = NumberSet::empty(i64::from(first) + 1);
        let end = self.count.min(first.saturating_add(NumberSet::LEN_MAX));
        for index in (first..end).filter(|index| !self.is_present(*index)) {
            set.insert(i64::from(index) + 1);
        }
        set
    }
}

impl Reassembly {
    /// Returns how many more octets fragments of a sample of `size` octets need; `None` if they lie
    /// beyond what may be reserved.
    pub(crate) fn growth(&self, frag: &DataFrag<'_>, size: usize) -> Option<usize> {
        let known = self.get(frag.sequence);
        let (len, arrived) = known
            .filter(|one| one.is_same(frag, size))
            .map_or((0, 0), |one| (one.octets.len(), one.arrived));
        let reach = arrived.saturating_mul(2).saturating_add(AHEAD).min(size);
        let end = end(frag).filter(|end| *end <= reach)?;
        Some(if end > len { reach - len } else { 0 })
    }

    /// Adds fragments of a sample of `size` octets, with a share for the growth needed; returns the
    /// sample if there is a place for it.
    pub(crate) fn take_in(
        &mut self,
        now: Instant,
        frag: &DataFrag<'_>,
        size: usize,
        share: Share,
        is_reliable: bool,
    ) -> Option<&mut Partial> {
        let found = self.place(frag.sequence);
        // A writer never changes the size of a sample, so one of the two is forged. Keeping the
        // first would let one forged fragment block a sample forever.
        let found = found.filter(|index| {
            let known = self.partials.get(*index);
            known.is_some_and(|one| one.is_same(frag, size))
        });
        let index = if let Some(index) = found {
            self.partials.get_mut(index)?.share.add(share);
            index
        } else {
            self.remove(frag.sequence);
            if self.partials.len() >= PARTIALS_MAX && !self.make_place(frag.sequence, is_reliable) {
                return None;
            }
            self.partials.push(Partial::new(now, frag, size, share));
            self.partials.len() - 1
        };
        let partial = self.partials.get_mut(index)?;
        partial.grow();
        let before = partial.arrived;
        partial.put(frag);
        // Repeated fragments do not keep a sample fresh.
        if partial.arrived > before {
            partial.touched_at = now;
        }
        Some(partial)
    }

    /// Gives up a sample to make place for sample `sequence`: for a reliable writer the one
    /// furthest ahead, which is requested again in its turn; otherwise the one without progress for
    /// longest, regardless of its number.
    fn make_place(&mut self, sequence: SequenceNumber, is_reliable: bool) -> bool {
        let given_up = if is_reliable {
            let numbers = self.partials.iter().map(|one| one.sequence);
            numbers.max().filter(|ahead| *ahead > sequence)
        } else {
            let ages = self.partials.iter().map(|one| (one.touched_at, one.sequence));
            ages.min().map(|(_, sequence)| sequence)
        };
        given_up.is_some_and(|given_up| self.remove(given_up).is_some())
    }

    fn place(&self, sequence: SequenceNumber) -> Option<usize> {
        let mut partials = self.partials.iter();
        partials.position(|one| one.sequence == sequence)
    }

    /// Removes and returns a complete sample.
    pub(crate) fn take_whole(&mut self, sequence: SequenceNumber) -> Option<Partial> {
        let index = self.place(sequence)?;
        let is_whole = self.partials.get(index)?.missing == 0;
        is_whole.then(|| self.partials.swap_remove(index))
    }

    /// Gives up a sample.
    pub(crate) fn remove(&mut self, sequence: SequenceNumber) -> Option<Partial> {
        let index = self.place(sequence)?;
        Some(self.partials.swap_remove(index))
    }

    /// Returns how many more samples can be reassembled.
    pub(crate) fn free(&self) -> usize {
        PARTIALS_MAX.saturating_sub(self.partials.len())
    }

    /// Returns the incomplete samples.
    pub(crate) fn partials(&self) -> &[Partial] {
        &self.partials
    }

    /// Returns the incomplete sample with this number.
    pub(crate) fn get(&self, sequence: SequenceNumber) -> Option<&Partial> {
        self.partials.iter().find(|one| one.sequence == sequence)
    }

    /// Drops samples before `next`.
    pub(crate) fn forget_before(&mut self, next: SequenceNumber) {
        self.partials.retain(|one| one.sequence >= next);
    }
}
