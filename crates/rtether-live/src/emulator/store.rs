//! Octets of the frames under way, in a fixed number of places.

/// Octets per place: the longest frame without tag and check sequence has 1514.
pub(super) const PLACE: usize = 1_536;

/// All places. A frame without a place is dropped and counted by the caller.
#[derive(Debug)]
pub(super) struct Store {
    octets: Vec<u8>,
    lengths: Vec<usize>,
    free: Vec<u32>,
}

impl Store {
    /// Returns a store for `frames` frames; touches its memory now, since page faults later would
    /// take time.
    pub(super) fn new(frames: u32) -> Self {
        let count = usize::try_from(frames).unwrap_or(0);
        let mut octets = vec![0; count * PLACE];
        for page in octets.chunks_mut(4_096) {
            page[0] = 1;
        }
        Self { octets, lengths: vec![0; count], free: (0..frames).rev().collect() }
    }

    /// Returns the place of the next frame, to be filled by the caller.
    pub(super) fn next(&mut self) -> Option<&mut [u8]> {
        let place = *self.free.last()?;
        Some(&mut self.octets[range(place)])
    }

    /// Keeps the frame written to the next place.
    pub(super) fn keep(&mut self, length: usize) -> Option<u32> {
        let place = self.free.pop()?;
        self.lengths[place as usize] = length.min(PLACE);
        Some(place)
    }

    /// Returns the octets of a frame.
    pub(super) fn get(&self, place: u32) -> &[u8] {
        &self.octets[range(place)][..self.lengths[place as usize]]
    }

    /// Frees a place.
    pub(super) fn free(&mut self, place: u32) {
        debug_assert!(!self.free.contains(&place), "a frame ends once");
        self.free.push(place);
    }

    /// Returns the number of frames kept.
    #[cfg(test)]
    pub(super) fn used(&self) -> usize {
        self.lengths.len() - self.free.len()
    }
}

fn range(place: u32) -> std::ops::Range<usize> {
    let first = place as usize * PLACE;
    first..first + PLACE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again_and_end() {
        let mut store = Store::new(2);
        store.next().unwrap()[..3].copy_from_slice(b"one");
        let one = store.keep(3).unwrap();
        store.next().unwrap()[..5].copy_from_slice(b"other");
        let other = store.keep(5).unwrap();
        assert!(store.next().is_none() && store.keep(1).is_none());
        assert_eq!((store.get(one), store.get(other)), (&b"one"[..], &b"other"[..]));
        assert_eq!(store.used(), 2);
        store.free(one);
        assert!(store.next().is_some());
        assert_eq!(store.used(), 1);
    }
}
