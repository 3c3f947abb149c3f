//! Samples that come in fragments.
//!
//! What a fragment says of the length of its sample costs nothing: room is set aside for what has
//! come, and for as much again.

use alloc::vec::Vec;

use super::pool::Share;
use crate::sequence::{NumberSet, SequenceNumber};
use crate::time::{Instant, WallTime};
use crate::wire::{DataFrag, InlineQos};

/// Samples of one writer that are put together at the same time.
pub(crate) const PARTIALS_MAX: usize = 16;
/// Octets for which there is room before any have come.
const AHEAD: usize = 64 << 10;

/// A sample of which some fragments are there.
#[derive(Debug)]
pub(crate) struct Partial {
    pub(crate) sequence: SequenceNumber,
    /// Those for which there is room; in the end all.
    pub(crate) octets: Vec<u8>,
    /// What of the room that readers share these octets take.
    share: Share,
    pub(crate) inline: InlineQos,
    pub(crate) is_key: bool,
    pub(crate) time: Option<WallTime>,
    /// When a fragment came last.
    pub(crate) touched_at: Instant,
    /// Octets that have come.
    pub(crate) arrived: usize,
    size: usize,
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

/// Returns the place behind the last octet of fragments.
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

    /// Makes as much room as it has a share of.
    fn grow(&mut self) {
        let len = self.share.octets().min(self.size);
        let more = len.saturating_sub(self.octets.len());
        if more > 0 {
            self.octets.reserve_exact(more);
            self.octets.resize(len, 0);
        }
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
        let bits = self
            .present
            .get(word)
            .map_or(0, |word| word.trailing_ones());
        let before = u32::try_from(word).unwrap_or(u32::MAX).saturating_mul(64);
        before.saturating_add(bits)
    }

    /// Returns which fragments are missing, as far as one message can say.
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
    /// Returns for how many octets more fragments of a sample of `size` octets need room; `None` if
    /// they lie further ahead than there may be room.
    pub(crate) fn growth(&self, frag: &DataFrag<'_>, size: usize) -> Option<usize> {
        let known = self.get(frag.sequence);
        let (len, arrived) = known
            .filter(|one| one.is_same(frag, size))
            .map_or((0, 0), |one| (one.octets.len(), one.arrived));
        let reach = arrived.saturating_mul(2).saturating_add(AHEAD).min(size);
        let end = end(frag).filter(|end| *end <= reach)?;
        Some(if end > len { reach - len } else { 0 })
    }

    /// Takes in fragments of a sample of `size` octets, with a share of the room for as many more as it
    /// needs; returns it if there is a place for it.
    pub(crate) fn take_in(
        &mut self,
        now: Instant,
        frag: &DataFrag<'_>,
        size: usize,
        share: Share,
        is_reliable: bool,
    ) -> Option<&mut Partial> {
        let found = self.place(frag.sequence);
        // A writer never changes the size of a sample: what was there, or this, is not from it. If the
        // first that comes were believed, one forged fragment would block a sample for good.
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
        // What is said again keeps no place.
        if partial.arrived > before {
            partial.touched_at = now;
        }
        Some(partial)
    }

    /// Gives up a sample for that of number `sequence`: of a reliable writer the one furthest ahead,
    /// which is asked for again when its turn comes; of another the one of which nothing has come for
    /// longest, whatever its number says.
    fn make_place(&mut self, sequence: SequenceNumber, is_reliable: bool) -> bool {
        let given_up = if is_reliable {
            let numbers = self.partials.iter().map(|one| one.sequence);
            numbers.max().filter(|ahead| *ahead > sequence)
        } else {
            let ages = self
                .partials
                .iter()
                .map(|one| (one.touched_at, one.sequence));
            ages.min().map(|(_, sequence)| sequence)
        };
        given_up.is_some_and(|given_up| self.remove(given_up).is_some())
    }

    fn place(&self, sequence: SequenceNumber) -> Option<usize> {
        let mut partials = self.partials.iter();
        partials.position(|one| one.sequence == sequence)
    }

    /// Takes a sample out if it is whole.
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

    /// Returns how many more samples may be put together.
    pub(crate) fn free(&self) -> usize {
        PARTIALS_MAX.saturating_sub(self.partials.len())
    }

    /// Returns the samples that are not whole yet.
    pub(crate) fn partials(&self) -> &[Partial] {
        &self.partials
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
